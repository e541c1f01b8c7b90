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

_LARGEST_CODE = 2**62


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
    terms, features = np.nonzero(multi_indices)
    factors = np.column_stack([features, multi_indices[terms, features]])
    base = int(multi_indices.max(initial=0)) + 1
    codes, number = np.unique(factors @ [base, 1], return_inverse=True)
    distinct = np.column_stack(np.divmod(codes, base))
    counts = np.bincount(terms, minlength=len(multi_indices))
    most = max(int(counts.max(initial=0)), 1)
    keys = np.zeros((len(multi_indices), most), dtype=np.int64)  # 0 after the last one
    slots = np.arange(len(terms)) - (np.cumsum(counts) - counts)[terms]
    keys[terms, slots] = number.ravel() + 1
    keys, parents = _with_tails(keys)
    order = np.argsort((keys > 0).sum(axis=1), kind="stable")
    order = order[keys[order, 0] > 0]  # without the constant
    heads, tails = keys[order, 0] - 1, parents[order]
    follows = np.zeros(len(order), dtype=bool)
    follows[1:] = (
        (np.diff(order) == 1)
        & (np.diff(heads) == 0)
        & (np.diff(tails) == 1)
        & (tails[:-1] > 0)
    )
    starts = np.flatnonzero(~follows)
    ends = np.append(starts[1:], len(order))
    columns = order[starts]
    runs = zip(
        columns.tolist(),
        (columns + ends - starts).tolist(),
        tails[starts].tolist(),
        *distinct[heads[starts]].T.tolist(),
        strict=True,
    )
    largest = multi_indices.max(axis=0, initial=0).tolist()
    return Products(len(keys), [Run(*run) for run in runs], most, largest)


def _with_tails(
    keys: IndexArray,  # shape: (n_columns, most_factors), 0 after the last factor
) -> tuple[IndexArray, IndexArray]:
    """Append the tails that are no columns; return all, and where each tail is."""
    while True:
        tails = np.pad(keys[:, 1:], ((0, 0), (0, 1)))
        codes = _codes(np.vstack([keys, tails]))
        _, first, number = np.unique(codes, return_index=True, return_inverse=True)
        places = first[number[len(keys) :]]  # of each tail
        missing = np.unique(places[places >= len(keys)])
        if not len(missing):
            return keys, places
        keys = np.vstack([keys, tails[missing - len(keys)]])


def _codes(rows: IndexArray) -> IndexArray:  # shape: (n_rows,)
    """Return one number for each row, equal for equal rows."""
    base = int(rows.max(initial=0)) + 1
    codes, largest = np.zeros(len(rows), dtype=np.int64), 0
    for column in rows.T:
        if largest > (_LARGEST_CODE - base) // base:
            codes = np.unique(codes, return_inverse=True)[1]
            largest = int(codes.max(initial=0))
        codes = codes * base + column
        largest = largest * base + base - 1
    return codes


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
