"""Storing finished blocks of members, so that an interrupted run resumes."""

import hashlib
import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Protocol

import numpy as np


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
    """Return the stored arrays of a block, or compute and store them.

    Examples
    --------
    >>> load_or_run(None, {}, lambda: {"x": np.zeros(1)})
    {'x': array([0.])}
    """
    arrays = None if store is None else store.load_block(key)
    if arrays is None:
        arrays = run()
        if store is not None:
            store.save_block(key, arrays)
    return arrays


def block_ticker(
    progress: Progress | None,
    block: int,
    n_blocks: int,
    length: int,
) -> Callable[[int], None]:
    """Return a callback for one block that reports over all blocks.

    Examples
    --------
    >>> seen = []
    >>> tick = block_ticker(lambda *done: seen.append(done), 1, 3, length=10)
    >>> tick(4)
    >>> seen
    [(14, 30)]
    """
    if progress is None:
        return lambda done: None
    return lambda done: progress(block * length + done, n_blocks * length)


def array_digest(array: np.ndarray) -> str:
    """Return the SHA-256 of an array's type, shape and bytes.

    Examples
    --------
    >>> array_digest(np.zeros(3)) == array_digest(np.zeros(3))
    True
    >>> array_digest(np.zeros(3)) == array_digest(np.zeros((3, 1)))
    False
    """
    array = np.ascontiguousarray(array)
    head = f"{array.dtype.str}{array.shape}".encode()
    return hashlib.sha256(head + array.tobytes()).hexdigest()


def json_values(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record as it comes back from JSON: tuples become lists.

    Examples
    --------
    >>> json_values({"hidden": (64, 64)})
    {'hidden': [64, 64]}
    """
    return json.loads(json.dumps(record))


def share_out(n_members: int, block_size: int) -> list[slice]:
    """Return blocks of nearly equal size, at most `block_size`; one, or an even number.

    An even number shares out among two or four processes. The blocks do not depend on
    how many processes there are, so that a run can be resumed with another number.

    Examples
    --------
    >>> [block.stop - block.start for block in share_out(150, 50)]
    [38, 38, 37, 37]
    >>> share_out(50, 50)
    [slice(0, 50, None)]
    """
    n_blocks = -(-n_members // block_size)
    if n_blocks > 1 and n_blocks % 2 and n_blocks < n_members:
        n_blocks += 1
    size, n_larger = divmod(n_members, n_blocks)
    ends = [size * i + min(i, n_larger) for i in range(n_blocks + 1)]
    return [slice(start, stop) for start, stop in pairwise(ends)]


def split_into_blocks(n_members: int, block_size: int) -> list[slice]:
    """Return slices of at most `block_size` rows that cover all members.

    Examples
    --------
    >>> split_into_blocks(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    starts = range(0, n_members, block_size)
    return [slice(start, min(start + block_size, n_members)) for start in starts]
