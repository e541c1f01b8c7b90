"""What the JSON records on disk hold, checked once, where they are read.

One schema for each kind of file. Who reads a record afterwards reads fields of known
types and checks nothing again.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from gflownet_envs.extras import missing

try:
    from msgspec import Meta, MsgspecError, Struct, convert
    from msgspec.json import decode
except ImportError as error:
    raise ImportError(missing(["msgspec"], "reading stored records")) from error

__all__ = [
    "ArraysRecord",
    "BlockRecord",
    "DatasetRecord",
    "FormatHeader",
    "PaperRow",
    "PieceRecord",
    "ResultsRecord",
    "read_record",
]

Record = TypeVar("Record", bound=Struct)


class FormatHeader(Struct):
    """What says whose file a record belongs to, whatever else it holds."""

    format: Any = None
    format_version: Any = None


class ArraysRecord(Struct):
    """The JSON string in the header of a file of arrays; see `write_arrays`."""

    format: str
    format_version: int
    sha256: str
    metadata: dict[str, Any]


class BlockRecord(Struct):
    """The metadata of a block of members; see `BlockStore`."""

    key_json: str
    versions: dict[str, str | None]


class DatasetRecord(Struct):
    """The metadata of a data set of policies; see `PolicyDataset`."""

    step_names: tuple[str, ...]
    action_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    trajectory: tuple[str, ...]
    source: Literal["exact", "trained"]
    metadata: dict[str, Any]


class PieceRecord(Struct):
    """A finished piece of the page of the paper, and what it was made with."""

    key: dict[str, Any]
    piece: dict[str, Any]


class PaperRow(Struct):
    """One claim of a paper beside the figures of a run."""

    claim: str
    paper: str
    trained: str = ""
    exact: str = ""


class ResultsRecord(Struct):
    """What ``report`` and ``compare`` read of ``results.json``."""

    task: str
    preset: str
    seed: Annotated[int, Meta(ge=0, lt=2**32)]
    policies: Annotated[
        dict[Literal["exact", "trained"], dict[str, Any]], Meta(min_length=1)
    ]
    beside_the_paper: list[PaperRow]
    n_replicates: Annotated[int, Meta(ge=1)] = 1
    n_control: Annotated[int, Meta(ge=0)] = 0


def read_record(record: Any, kind: type[Record], what: str) -> Record:
    """Read JSON, a text or values; raise ValueError where it is no record of a kind.

    `what` begins the message: the file, and what it should have been.
    """
    try:
        if isinstance(record, bytes | str):
            return decode(record, type=kind)
        return convert(record, type=kind)
    except RecursionError as error:
        raise ValueError(f"{what}: it is nested too deeply") from error
    except (MsgspecError, UnicodeError) as error:
        raise ValueError(f"{what}: {error}") from error
