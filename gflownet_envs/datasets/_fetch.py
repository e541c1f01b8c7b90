"""Where a data set lies: a folder of the user, the cache, a public address."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from gflownet_envs.extras import import_extra
from gflownet_envs.storage import write_bytes

DATA_VARIABLE = "SKPCE_DATA"


@dataclass(frozen=True)
class Source:
    """A data set's tidy file, and the public raw file that it is made from."""

    # file name and checksum of the tidy file, the only one that is parsed
    tidy_name: str
    tidy_sha256: str
    # file name, checksum and pinned address of the file at its publisher's; None where
    # there is no address to pin, but a command that gets the file
    raw_name: str
    raw_sha256: str
    # takes the raw file's bytes, returns the tidy file's
    convert: Callable[[bytes], bytes]
    raw_url: str | None = None
    command: str = ""

    @property
    def origin(self) -> str:
        """Where the raw file is from, for messages."""
        return self.raw_url or f"the command `{self.command}`"


def source_of(name: str, convert: Callable[[bytes], bytes]) -> Source:
    """Return where a data set comes from."""
    known = tomllib.loads(
        files(__package__).joinpath("sources.toml").read_text("utf-8")
    )
    return Source(convert=convert, **known[name])


def bunch_of(
    name: str, path: Path, data: Any, target: Any, return_X_y: bool, **rest: Any
) -> Any:
    """Return data and target alone, or all that is known of a data set."""
    if return_X_y:
        return data, target
    known = {"DESCR": description(name), "filename": str(path)}
    return Bunch(data=data, target=target, **rest, **known)


def fetch_table(
    name: str,
    source: Source,
    where: tuple[Any, ...],  # of `fetch_tidy`
    columns: Sequence[str],
    target: str | None,
    read: Callable[[list[dict[str, str]]], dict[str, Any]],
    *,
    return_X_y: bool,
    as_frame: bool,
) -> Any:
    """Return a table; `read` gives its ``data`` and what else is known of its rows."""
    pandas = import_extra("pandas", "as_frame=True") if as_frame else None
    path, tidy = fetch_tidy(source, *where)
    rows = list(rows_of(tidy))
    known = {"frame": None, **read(rows)}
    known["feature_names"], values = list(columns), None
    if target is not None:
        known["target_names"] = [target]
        values = np.array([row[target] for row in rows], dtype=np.float64)
    if pandas is not None and target is None:
        known["data"] = known["frame"] = pandas.DataFrame(
            known["data"], columns=columns
        )
    elif pandas is not None:
        frame = known["frame"] = pandas.read_csv(io.BytesIO(tidy))
        known["data"], values = frame[list(columns)], frame[target]
    data = known.pop("data")
    return bunch_of(name, path, data, values, return_X_y, **known)


def fetch_tidy(
    source: Source,
    data_home: str | os.PathLike[str] | None,
    download_if_missing: bool,
    n_retries: int,
) -> tuple[Path, bytes]:
    """Return the path and the verified contents of a data set's tidy file.

    The order is: ``$SKPCE_DATA``, the cache, a raw file that somebody put in the
    cache, the public address. What comes from a raw file is written to the cache.
    """
    if isinstance(n_retries, bool) or not (
        isinstance(n_retries, Integral) and n_retries >= 0
    ):
        raise ValueError(f"n_retries is {n_retries!r}; expected an integer ≥ 0")
    given = os.environ.get(DATA_VARIABLE)
    if given and (path := Path(given).expanduser() / source.tidy_name).is_file():
        advice = f"Replace the file or unset {DATA_VARIABLE}."
        return path, read_verified(path, source.tidy_sha256, advice)
    cache = _cache_folder(data_home)
    path = cache / source.tidy_name
    if path.is_file():
        advice = "Delete the file and call again: it is then made afresh."
        return path, read_verified(path, source.tidy_sha256, advice)
    raw = _find_raw(source, cache, download_if_missing, n_retries)
    tidy = source.convert(raw)
    _verify(tidy, source.tidy_sha256, f"what {source.raw_name} was converted to", "")
    cache.mkdir(parents=True, exist_ok=True)
    write_bytes(path, tidy)
    return path, tidy


def read_verified(path: Path, sha256: str, advice: str) -> bytes:
    """Read a file and refuse it where its checksum is another."""
    payload = path.read_bytes()
    _verify(payload, sha256, str(path), advice)
    return payload


def _verify(payload: bytes, sha256: str, name: str, advice: str) -> None:
    found = hashlib.sha256(payload).hexdigest()
    if found != sha256:
        raise ValueError(
            f"{name} is damaged or another version: its SHA-256 is {found}; "
            f"expected {sha256}. {advice}".rstrip()
        )


def _cache_folder(data_home: str | os.PathLike[str] | None) -> Path:
    if data_home is not None:
        return Path(data_home).expanduser()
    return Path(_pooch().os_cache("skpce"))


def _pooch() -> Any:
    """Import pooch, an extra, only when the cache or the network is needed."""
    user = (
        "data_home=None and downloading (no cache is needed where "
        f"{DATA_VARIABLE} is set to a folder that has the data)"
    )
    return import_extra("pooch", user)


def _find_raw(
    source: Source, cache: Path, download_if_missing: bool, n_retries: int
) -> bytes:
    path = cache / source.raw_name
    if path.is_file():
        advice = f"Delete the file, or fetch it again from {source.origin}."
        return read_verified(path, source.raw_sha256, advice)
    if not download_if_missing or source.raw_url is None:
        reason = "download_if_missing is False"
        if source.raw_url is None:
            reason = "its raw file has no address to download from"
        raise FileNotFoundError(
            f"{source.tidy_name} was not found and {reason}. "
            + _what_to_do(source, cache)
        )
    return _download(source, cache, n_retries)


def _download(source: Source, cache: Path, n_retries: int) -> bytes:
    """Download the raw file to a folder of its own, which is removed again."""
    pooch = _pooch()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=".download-") as folder:
            fetcher = pooch.create(
                path=folder,
                base_url="",
                registry={source.raw_name: f"sha256:{source.raw_sha256}"},
                urls={source.raw_name: source.raw_url},
                retry_if_failed=n_retries,
            )
            return Path(fetcher.fetch(source.raw_name)).read_bytes()
    except OSError as error:  # the exceptions of requests are OSErrors
        raise OSError(
            f"could not download {source.raw_url} to {cache} ({error}). "
            + _what_to_do(source, cache)
        ) from error
    except ValueError as error:  # pooch: another checksum, after all retries
        raise ValueError(
            f"{source.raw_url} came damaged or is another version: {error} "
            + _what_to_do(source, cache)
        ) from error


def _what_to_do(source: Source, cache: Path) -> str:
    given = os.environ.get(DATA_VARIABLE)
    state = f"which is {given!r}" if given else "which is not set"
    return (
        f"Without network: set {DATA_VARIABLE} ({state}) to a folder that contains "
        f"{source.tidy_name}, or put the file {source.raw_name} from "
        f"{source.origin} in the folder {cache}."
    )


def rows_of(
    payload: bytes | io.TextIOWrapper, delimiter: str = ","
) -> Iterator[dict[str, str]]:
    """Read a table whose checksum is known: what is in it needs no check."""
    if isinstance(payload, bytes):
        text: Iterable[str] = io.StringIO(payload.decode("utf-8"), newline="")
    else:
        text = payload
    return csv.DictReader(text, delimiter=delimiter)


def table_bytes(*rows: Iterable[Any]) -> bytes:
    """Return a tidy table."""
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().encode("utf-8")


def description(name: str) -> str:
    """Return what is to be known of a data set."""
    return files(__package__).joinpath("descr", f"{name}.rst").read_text("utf-8")
