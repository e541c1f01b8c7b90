"""The columns of a basis as products of blocks of columns.

A term is its first univariate function times its tail. In graded order the terms that
begin with one function have consecutive tails, so that few products of whole blocks
make all columns.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .._checks import BoolArray, IndexArray
from .index_sets import LARGEST_KEPT


class Run(NamedTuple):
    """Consecutive columns that are one function times consecutive columns."""

    start: int
    stop: int
    parent: int  # first of the other columns; 0, the constant, for a single one
    feature: int
    exponent: int


class Products(NamedTuple):
    """What fills the columns of a basis, and what its terms are made of."""

    n_columns: int  # those of the terms, then those of their tails
    runs: list[Run]  # in order
    most_factors: int  # number of inputs in the largest product of a term, at least 1
    largest: list[int]  # exponent of each input


def products_of(
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    polynomial: BoolArray,  # shape: (n_features,)
) -> Products:
    """Return the products that fill the columns; those of a small set are made once."""
    if multi_indices.size > LARGEST_KEPT:
        return _made(multi_indices, polynomial)
    rows = np.ascontiguousarray(multi_indices, dtype=np.int64)
    return _kept(rows.tobytes(), polynomial.tobytes())


def _made(
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    polynomial: BoolArray,  # shape: (n_features,)
) -> Products:
    """Make the products; tails that are no terms get columns after the terms."""
    keys = sparse_rows(multi_indices)
    position = {key: column for column, key in enumerate(keys)}
    for key in keys[: len(multi_indices)]:
        tail = key[1:]
        while tail not in position:
            position[tail] = len(keys)
            keys.append(tail)
            tail = tail[1:]
    degrees = [sum(k if polynomial[i] else 1 for i, k in key) for key in keys]
    runs: list[Run] = []
    for column in np.argsort(degrees, kind="stable").tolist():
        if keys[column]:
            head, tail = keys[column][0], keys[column][1:]
            _append_run(runs, Run(column, column + 1, position[tail], *head))
    largest = multi_indices.max(axis=0, initial=0).tolist()
    return Products(len(keys), runs, max([1, *map(len, keys)]), largest)


@lru_cache(maxsize=32)
def _kept(multi_indices: bytes, polynomial: bytes) -> Products:
    """Return the products of a small set; arrays are given by their bytes."""
    inputs = np.frombuffer(polynomial, dtype=bool)
    rows = np.frombuffer(multi_indices, dtype=np.int64).reshape(-1, len(inputs))
    return _made(rows, inputs)


def sparse_rows(multi_indices: IndexArray) -> list[tuple[tuple[int, int], ...]]:
    """Return, for each term, its (feature, exponent) pairs."""
    terms, features = np.nonzero(multi_indices)
    exponents = multi_indices[terms, features]
    pairs = list(zip(features.tolist(), exponents.tolist(), strict=True))
    ends = np.searchsorted(terms, np.arange(len(multi_indices)), "right")
    starts = [0, *ends[:-1].tolist()]
    return [tuple(pairs[a:b]) for a, b in zip(starts, ends.tolist(), strict=True)]


def _append_run(runs: list[Run], new: Run) -> None:
    """Append one column, or extend the last run by it."""
    if runs and new.parent:
        last = runs[-1]
        follows = (last.stop, last.parent + last.stop - last.start)
        same_factor = last[3:] == new[3:]
        if last.parent and same_factor and follows == (new.start, new.parent):
            runs[-1] = last._replace(stop=new.stop)
            return
    runs.append(new)
