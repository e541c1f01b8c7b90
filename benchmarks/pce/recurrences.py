"""Bare orthonormal polynomials: recurrences and products, nothing else.

The floor of the comparison and the truths of the random expansions stand on these
functions and not on ``skpce``, so neither depends on the code that is measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]

#: Rows evaluated at once where the design matrix is not stored.
BLOCK = 2048


def is_normal(law: Any) -> bool:
    """Say whether a frozen law is normal; the others here are uniform."""
    return law.dist.name == "norm"


@lru_cache
def _centre_and_scale(laws: tuple[Any, ...]) -> tuple[FloatArray, FloatArray]:
    """Of each law; cached, since scipy takes longer for it than a small fit does."""
    centre = np.array([law.mean() for law in laws])
    scale = np.array(
        [law.std() * (1.0 if is_normal(law) else np.sqrt(3.0)) for law in laws]
    )
    return centre, scale


def standardise(X: FloatArray, laws: Sequence[Any]) -> FloatArray:
    """Map normal inputs to mean 0 and variance 1, uniform ones to [-1, 1]."""
    centre, scale = _centre_and_scale(tuple(laws))
    return (X - centre) / scale


def univariate(x: FloatArray, normal: bool, degree: int) -> FloatArray:
    """Orthonormal Hermite or Legendre values; shape (degree + 1, n_samples)."""
    values = np.ones((degree + 1, x.shape[0]))
    if degree > 0:
        values[1] = x if normal else np.sqrt(3.0) * x
    for k in range(1, degree):
        if normal:
            following = x * values[k] - np.sqrt(k) * values[k - 1]
            values[k + 1] = following / np.sqrt(k + 1)
        else:
            down = np.sqrt((2 * k + 3) / (2 * k - 1)) * k / (k + 1)
            up = np.sqrt((2 * k + 3) * (2 * k + 1)) / (k + 1)
            values[k + 1] = up * x * values[k] - down * values[k - 1]
    return values


def _exponents(n_features: int, degree: int) -> Iterator[tuple[int, ...]]:
    """Exponents of total degree exactly ``degree``."""
    if n_features == 1:
        yield (degree,)
        return
    for first in range(degree, -1, -1):
        for rest in _exponents(n_features - 1, degree - first):
            yield (first, *rest)


@lru_cache
def total_degree_indices(n_features: int, degree: int) -> IndexArray:
    """Multi-indices up to ``degree``, by degree; row 0 is zero."""
    rows = [row for k in range(degree + 1) for row in _exponents(n_features, k)]
    return np.array(rows, dtype=np.int64)


@lru_cache
def _products(n_features: int, degree: int) -> tuple[tuple[int, int, int], ...]:
    """For each term but the constant: (term without its last input, input, power)."""
    rows = [tuple(row) for row in total_degree_indices(n_features, degree).tolist()]
    position = {row: term for term, row in enumerate(rows)}
    steps = []
    for row in rows[1:]:
        last = max(i for i, power in enumerate(row) if power)
        parent = (*row[:last], 0, *row[last + 1 :])
        steps.append((position[parent], last, row[last]))
    return tuple(steps)


def design_columns(X: FloatArray, laws: Sequence[Any], degree: int) -> FloatArray:
    """Values of all terms; shape (n_terms, n_samples), one contiguous row a term."""
    standardised = standardise(X, laws)
    values = [
        univariate(standardised[:, i], is_normal(law), degree)
        for i, law in enumerate(laws)
    ]
    steps = _products(len(laws), degree)
    columns = np.empty((len(steps) + 1, X.shape[0]))
    columns[0] = 1.0
    for term, (parent, i, power) in enumerate(steps, start=1):
        np.multiply(columns[parent], values[i][power], out=columns[term])
    return columns


def evaluate(
    X: FloatArray, laws: Sequence[Any], degree: int, coefficients: FloatArray
) -> FloatArray:
    """Values of expansions with coefficients (n_targets, n_terms), block by block."""
    values = np.empty((X.shape[0], coefficients.shape[0]))
    for start in range(0, X.shape[0], BLOCK):
        block = slice(start, start + BLOCK)
        columns = design_columns(X[block], laws, degree)
        np.matmul(columns.T, coefficients.T, out=values[block])
    return values
