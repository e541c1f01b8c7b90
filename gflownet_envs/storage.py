"""Arrays, records and blocks on disk: atomic, checked on reading, never unpickled.

Arrays are stored as safetensors, which any language reads without this package;
what belongs to them is a JSON string in the header. Every file is written beside
its place and moved there, so that a reader finds the old file or the new one and
never half of one.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import math
import os
import platform
import re
import sys
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gflownet_envs.extras import import_extra

if TYPE_CHECKING:
    from gflownet_envs.records import ArraysRecord
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Protocol

__all__ = [
    "BlockStore",
    "DamagedBlockWarning",
    "environment_versions",
    "read_arrays",
    "write_arrays",
    "write_bytes",
    "write_json",
]

_FORMAT = "gflownet_envs.arrays"
_FORMAT_VERSION = 1
_HEADER_KEY = "record"  # one key only: safetensors writes several in random order
_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{32}\.tmp")
_OLD = 3600.0  # seconds after which a file that waits for its place is left over
_DTYPES = frozenset(
    np.dtype(code).name
    for code in "?bhiqBHIQefd"  # bool, integers, floats
)


def write_bytes(path: str | os.PathLike[str], payload: bytes) -> None:
    """Write a file so that it is complete or not there at all.

    What killed writers left in the folder is removed an hour later.
    """
    path = Path(path)
    write_together({path: payload}, last=path)


def write_together(
    payloads: Mapping[Path, bytes], *, last: Path, stale: Iterable[Path] = ()
) -> None:
    """Write files of which one says that the others belong together.

    All are written beside their places first, so that a full disk changes nothing.
    Then `last` is removed where it is there, the others and what is `stale` are
    replaced or removed, and `last` is put in its place: whoever finds it finds all.
    A link stays, and the file behind it is written.

    Raises
    ------
    OSError
        If a file cannot be written; the message names it.
    ValueError
        If a path is that of a device or a pipe; nothing is written.
    """
    payloads = {_behind_links(path): payload for path, payload in payloads.items()}
    last = _behind_links(last)
    for folder in {path.parent for path in payloads}:
        remove_leftovers(folder)
    waiting: dict[Path, Path] = {}
    with ExitStack() as stack:
        for path, payload in payloads.items():
            try:
                waiting[path] = stack.enter_context(_temporary_file(path, payload))
            except OSError as error:
                raise write_error(path, error) from error
        others = [path for path in payloads if path != last]
        try:
            if others:
                last.unlink(missing_ok=True)
            for path in stale:
                path.unlink(missing_ok=True)
            for path in (*others, last):
                os.replace(waiting[path], path)
        except OSError as error:
            raise write_error(last, error) from error
    for folder in {path.parent for path in payloads}:
        # renaming is durable where the system allows opening a folder
        with suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _behind_links(path: Path) -> Path:
    """Return where a file is; a device or a pipe would be replaced by a file."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ValueError(f"{path} is a device or a pipe; expected a path of a file")
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def check_writable(folder: Path) -> None:
    """Write an empty file in a folder and remove it; others may do so meanwhile.

    Raises
    ------
    OSError
        If the folder cannot be written; the message names it.
    """
    remove_leftovers(folder)
    try:
        with _temporary_file(folder / "empty", b""):
            pass
    except OSError as error:
        raise write_error(folder, error) from error


@contextmanager
def _temporary_file(path: Path, payload: bytes) -> Iterator[Path]:
    """Write a payload beside its place and wait until the disk has it."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(payload)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    finally:
        with suppress(OSError):  # after os.replace there is none left
            temporary.unlink()


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of writers that were killed, an hour ago or more."""
    for path in folder.glob(".*.tmp"):
        with suppress(OSError):
            is_old = time.time() - path.stat().st_mtime > _OLD
            if _TEMPORARY.fullmatch(path.name) and is_old:
                path.unlink()


def write_error(path: Path, error: OSError) -> OSError:
    """Return an error of the same kind that names the file meant."""
    reason = f"could not write {path}: {error.strerror or error}"
    reason += "; nothing was changed"
    return OSError(reason) if error.errno is None else OSError(error.errno, reason)


def write_json(path: str | os.PathLike[str], payload: Any) -> None:
    """Write a JSON file atomically and deterministically; see `json_bytes`."""
    write_bytes(path, json_bytes(payload))


def json_bytes(payload: Any) -> bytes:
    """Return a JSON text as it is written.

    Keys are sorted, so equal payloads give equal bytes. NumPy scalars and arrays
    become numbers and lists, paths become strings, and NaN, the mark of a value that
    does not exist, becomes ``null``. What has no place in JSON is a ValueError. A lone
    surrogate, which has no place in UTF-8, is replaced by its number.
    """
    plain = plain_json(payload, "payload", nan_as_null=True)
    text = json.dumps(
        plain, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False
    )
    return (text + "\n").encode("utf-8")


def visible(text: str) -> str:
    """Return a text that UTF-8 can hold: lone surrogates as their numbers."""
    return text.encode("utf-8", errors="backslashreplace").decode("utf-8")


def plain_json(value: Any, where: str, *, nan_as_null: bool) -> Any:
    """Return a value made of JSON's own types, or say what stands in the way."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if math.isnan(value) and nan_as_null:
            return None
        if not math.isfinite(value):
            raise ValueError(f"{where} is {value}; expected a finite number")
        return float(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, list | tuple):
        return [
            plain_json(item, f"{where}[{i}]", nan_as_null=nan_as_null)
            for i, item in enumerate(value)
        ]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise ValueError(f"{where} has the key {key!r}; expected a string")
        return {
            visible(key): plain_json(item, f"{where}[{key!r}]", nan_as_null=nan_as_null)
            for key, item in value.items()
        }
    raise ValueError(
        f"{where} is {value!r} of type {type(value).__name__}; expected a dict, "
        "list, tuple, string, number, boolean, None, or a NumPy array of these"
    )


def canonical_json(plain: Any) -> str:
    """Return the one JSON text of a plain value: sorted keys, no spaces."""
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)


def write_arrays(
    path: str | os.PathLike[str],
    arrays: dict[str, np.ndarray],
    metadata: dict[str, Any],
) -> None:
    """Write named arrays and their metadata to one safetensors file, atomically.

    Parameters
    ----------
    path : path-like
        Where the file goes; its folder must exist.
    arrays : dict of str to ndarray
        Booleans, integers or floats of any shape.
    metadata : dict
        What JSON can hold. NaN becomes None and tuples become lists, as in
        ``write_json``.

    Raises
    ------
    ValueError
        If an array or the metadata cannot be stored; nothing is written.
    OSError
        If the file cannot be written; see ``write_bytes``.

    See Also
    --------
    read_arrays : The inverse, which verifies the checksum.

    Notes
    -----
    The safetensors header carries one string, ``record``, a JSON object with
    ``format`` (``"gflownet_envs.arrays"``), ``format_version`` (1), ``metadata``
    and ``sha256``: the checksum of the metadata's canonical JSON followed by each
    array's name, type, shape and little-endian bytes, in the order of the names.
    Equal contents give equal bytes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from gflownet_envs.storage import read_arrays, write_arrays
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "ensemble.safetensors"
    ...     write_arrays(path, {"y": np.array([0.25, 0.75])}, {"task": "grid"})
    ...     arrays, metadata = read_arrays(path)
    >>> arrays["y"], metadata
    (array([0.25, 0.75]), {'task': 'grid'})
    """
    write_bytes(path, arrays_bytes(arrays, metadata))


def arrays_bytes(arrays: dict[str, np.ndarray], metadata: dict[str, Any]) -> bytes:
    """Return the content of a file of `write_arrays`."""
    if not isinstance(metadata, dict):
        raise ValueError(f"metadata is {metadata!r}; expected a dict")
    if not isinstance(arrays, dict):
        raise ValueError(f"arrays is of type {type(arrays).__name__}; expected a dict")
    storable = {}  # in native byte order and C order
    for name, array in arrays.items():
        if not isinstance(name, str) or name in ("", "__metadata__"):
            raise ValueError(f"an array is named {name!r}; expected a non-empty string")
        array = np.asarray(array, order="C")
        if array.dtype.name not in _DTYPES:
            raise ValueError(
                f"array {name!r} has dtype {array.dtype}; expected one of "
                f"{', '.join(sorted(_DTYPES))}"
            )
        storable[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
    try:
        plain = plain_json(metadata, "metadata", nan_as_null=True)
    except RecursionError:
        raise ValueError("metadata is nested too deeply to be stored") from None
    record = {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "metadata": plain,
        "sha256": _checksum(storable, plain),
    }
    header = {_HEADER_KEY: canonical_json(record)}
    payload: bytes = _safetensors().numpy.save(storable, metadata=header)
    return payload


def read_arrays(
    path: str | os.PathLike[str],
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read what ``write_arrays`` wrote and verify its checksum.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    arrays : dict of str to ndarray
        The arrays by name, writable and independent of the file.
    metadata : dict
        The metadata.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is damaged, or was not written by `write_arrays`; the message
        names it and says what was wrong.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from gflownet_envs.storage import read_arrays
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "other.safetensors"
    ...     _ = path.write_bytes(b"no arrays here")
    ...     try:
    ...         read_arrays(path)
    ...     except ValueError as error:
    ...         print("not a safetensors file" in str(error))
    True
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist or is not a file")
    safetensors = _safetensors()
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            arrays = {name: file.get_tensor(name) for name in sorted(file.keys())}
            header = file.metadata() or {}
    except (safetensors.SafetensorError, TypeError, AttributeError) as error:
        # The last two: types that numpy does not have (bfloat16, float8).
        raise ValueError(
            f"{path} is damaged or not a safetensors file of numpy types: {error}"
        ) from error
    record = _read_record(path, header)
    try:
        found = _checksum(arrays, record.metadata)
    except RecursionError:  # deeper than Python's own writer goes
        raise ValueError(
            f"{path} is damaged: its record is nested too deeply"
        ) from None
    if found != record.sha256:
        raise ValueError(
            f"{path} is damaged: the SHA-256 of its contents is {found}; "
            f"expected {record.sha256}"
        )
    return arrays, record.metadata


def _safetensors() -> Any:
    """Import safetensors, an extra; fetching data alone does without it."""
    import_extra("safetensors.numpy", "storing arrays")
    return import_extra("safetensors", "storing arrays")


def _read_record(path: Path, header: dict[str, str]) -> ArraysRecord:
    """Return the JSON object of a header that `write_arrays` wrote."""
    from gflownet_envs.records import ArraysRecord, FormatHeader, read_record

    if _HEADER_KEY not in header:
        raise ValueError(
            f"{path} is a foreign safetensors file: its header {sorted(header)} has "
            f"no record of format {_FORMAT!r}"
        )
    what = f"{path} is damaged: its header is no record of arrays"
    found = read_record(header[_HEADER_KEY], FormatHeader, what)
    if found.format != _FORMAT:
        raise ValueError(
            f"{path} is a foreign safetensors file: its record has format "
            f"{found.format!r}; expected {_FORMAT!r}"
        )
    if found.format_version != _FORMAT_VERSION:
        raise ValueError(
            f"{path} has format version {found.format_version!r}; "
            f"this version of the package reads {_FORMAT_VERSION}"
        )
    return read_record(header[_HEADER_KEY], ArraysRecord, what)


def _checksum(arrays: dict[str, np.ndarray], metadata: Any) -> str:
    digest = hashlib.sha256(canonical_json(metadata).encode("utf-8"))
    for name in sorted(arrays):
        array = arrays[name]
        head = json.dumps([name, array.dtype.name, list(array.shape)])
        digest.update(head.encode("utf-8"))
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        digest.update(little.tobytes())
    return digest.hexdigest()


def environment_versions() -> dict[str, str | None]:
    """Return the versions that a record of a run should name."""
    versions: dict[str, str | None] = {"python": platform.python_version()}
    for name in ("numpy", "scipy", "scikit-learn", "skpce"):
        versions[name] = None
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    if "torch" in sys.modules:  # never imported for the sake of its number
        versions["torch"] = str(sys.modules["torch"].__version__)
    return versions


class Store(Protocol):
    """Where finished blocks go; `gflownet_envs.storage` has one on disk."""

    def load_block(self, key: dict[str, Any]) -> dict[str, np.ndarray] | None:
        """Return the arrays saved under an equal key, or None."""
        ...

    def save_block(self, key: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Save arrays under a key made of JSON values."""
        ...


Progress = Callable[[int, int], None]


def load_or_run(
    store: Store | None,
    key: dict[str, Any],
    run: Callable[[], dict[str, np.ndarray]],
) -> dict[str, np.ndarray]:
    """Return the stored arrays of a block, or compute and store them."""
    arrays = None if store is None else store.load_block(key)
    if arrays is None:
        arrays = run()
        if store is not None:
            store.save_block(key, arrays)
    return arrays


def block_ticker(
    progress: Progress | None, block: int, n_blocks: int, length: int
) -> Callable[[int], None]:
    """Return a callback for one block that reports over all blocks."""
    if progress is None:
        return lambda done: None
    return lambda done: progress(block * length + done, n_blocks * length)


def array_digest(array: np.ndarray) -> str:
    """Return the SHA-256 of an array's type, shape and bytes."""
    array = np.ascontiguousarray(array)
    head = f"{array.dtype.str}{array.shape}".encode()
    return hashlib.sha256(head + array.tobytes()).hexdigest()


def json_values(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record as it comes back from JSON: tuples become lists."""
    return json.loads(json.dumps(record))


def share_out(n_members: int, block_size: int) -> list[slice]:
    """Return blocks of nearly equal size, at most `block_size`; one, or an even number.

    An even number shares out among two or four processes. The blocks do not depend on
    how many processes there are, so that a run can be resumed with another number.
    """
    n_blocks = -(-n_members // block_size)
    if n_blocks > 1 and n_blocks % 2 and n_blocks < n_members:
        n_blocks += 1
    size, n_larger = divmod(n_members, n_blocks)
    ends = [size * i + min(i, n_larger) for i in range(n_blocks + 1)]
    return [slice(start, stop) for start, stop in pairwise(ends)]


def split_into_blocks(n_members: int, block_size: int) -> list[slice]:
    """Return slices of at most `block_size` rows that cover all members."""
    starts = range(0, n_members, block_size)
    return [slice(start, min(start + block_size, n_members)) for start in starts]


class DamagedBlockWarning(UserWarning):
    """A stored block could not be used and was set aside.

    Examples
    --------
    >>> import warnings
    >>> from gflownet_envs.storage import DamagedBlockWarning
    >>> warnings.simplefilter("error", DamagedBlockWarning)  # stop instead
    """


class BlockStore:
    """Finished blocks of a long computation, so that a stopped run resumes.

    A block is a dictionary of arrays under a key: a dictionary that says
    everything its numbers depend on (specification, seeds, members, rewards). Its file
    is named by the SHA-256 of the key's canonical JSON; the key itself is stored beside
    the arrays and compared on loading. The versions of Python and of the libraries
    are stored too, and not compared.

    Parameters
    ----------
    folder : path-like
        Where the blocks lie. It is made when the first block is saved.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from gflownet_envs.storage import BlockStore
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = BlockStore(folder)
    ...     key = {"task": "grid", "first_member": 0}
    ...     print(store.load_block(key))
    ...     store.save_block(key, {"log_z": np.array([1.0, 2.0])})
    ...     store.load_block(key)["log_z"]
    None
    array([1., 2.])
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"folder must be that of a store, got the file {folder}")

    def __repr__(self) -> str:
        return f"BlockStore({str(self.folder)!r})"

    def block_path(self, key: dict[str, Any]) -> Path:
        """Return where the block of a key lies, whether it is there or not.

        Parameters
        ----------
        key : dict
            The key; what JSON can hold, without NaN.

        Returns
        -------
        pathlib.Path
            The file's path.
        """
        name = hashlib.sha256(_key_text(key).encode("utf-8")).hexdigest()
        return self.folder / f"{name}.safetensors"

    def load_block(self, key: dict[str, Any]) -> dict[str, np.ndarray] | None:
        """Return the arrays saved under a key, or None.

        Parameters
        ----------
        key : dict
            The key under which they were saved.

        Returns
        -------
        dict of str to ndarray, or None
            None where there is no such block, or where its file is damaged or
            holds something else. Such a file is renamed ``*.damaged`` (in place of
            an earlier one of that name), with a `DamagedBlockWarning`.
        """
        from gflownet_envs.records import BlockRecord, read_record

        path = self.block_path(key)
        if not path.exists():
            return None
        try:
            arrays, metadata = read_arrays(path)
            record = read_record(metadata, BlockRecord, "it is no block")
        except (ValueError, FileNotFoundError) as error:  # the latter: a folder
            self._set_aside(path, str(error))
            return None
        if record.key_json != _key_text(key):
            self._set_aside(path, f"its key is {record.key_json!r}, not {key!r}")
            return None
        return arrays

    def save_block(self, key: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Save arrays under a key, in place of what was there.

        Parameters
        ----------
        key : dict
            Everything the numbers depend on; what JSON can hold, without NaN.
        arrays : dict of str to ndarray
            The block.

        Raises
        ------
        ValueError
            If the key or an array cannot be stored.
        OSError
            If the folder cannot be made or written, or the disk is full. Nothing
            half-written stays.
        """
        path = self.block_path(key)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_error(self.folder, error) from error
        metadata = {"key_json": _key_text(key), "versions": environment_versions()}
        write_arrays(path, arrays, metadata)

    def _set_aside(self, path: Path, reason: str) -> None:
        aside = path.with_name(path.name + ".damaged")
        try:
            os.replace(path, aside)
        except FileNotFoundError:
            pass  # another run was faster
        except OSError as error:
            raise write_error(aside, error) from error
        warnings.warn(
            f"the block {path} cannot be used and will be computed again; it was "
            f"set aside as {aside.name}: {reason}",
            DamagedBlockWarning,
            stacklevel=3,
        )


def _key_text(key: dict[str, Any]) -> str:
    if not isinstance(key, dict):
        raise ValueError(f"key is {key!r}; expected a dict")
    return canonical_json(plain_json(key, "key", nan_as_null=False))
