"""Blocks of members: how they are shared out, and where finished ones are stored."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from gflownet_envs.storage import (
    canonical_json,
    environment_versions,
    plain_json,
    read_arrays,
    write_arrays,
    write_error,
)

__all__ = ["BlockStore", "DamagedBlockWarning"]


class Store(Protocol):
    """Where finished blocks go; `gflownet_envs.block_store` has one on disk."""

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
    >>> from gflownet_envs.block_store import DamagedBlockWarning
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
    >>> from gflownet_envs.block_store import BlockStore
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
