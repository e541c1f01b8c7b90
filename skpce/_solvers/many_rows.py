"""Sums and decompositions of many rows, in blocks that stay in the cache.

A second array of the size of the data costs more than the arithmetic on it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._checks import FloatArray

# Numbers that are in use at once: 512 KiB, which stay in the cache.
_BLOCK = 65_536

#: Of fewer rows a product of matrices takes longer than its block saves.
FEWEST_ROWS = 256


def weighted_squares(
    values: FloatArray,  # shape: (n_samples, n)
    weights: FloatArray,  # shape: (n_samples,)
    center: FloatArray | float = 0.0,  # shape: (n,)
) -> FloatArray:  # shape: (n,)
    """Return the weighted sum of squares about a center, without a second array."""
    sums = np.zeros(values.shape[1])
    for rows in blocks_of_rows(values.shape):
        rest = values[rows] - center
        sums += weights[rows] @ np.square(rest, out=rest)
    return sums


def blocks_of_rows(shape: tuple[int, int], at_least: int = 1) -> Iterator[slice]:
    """Yield rows whose numbers stay in the cache, or at least so many."""
    size = max(at_least, _BLOCK // max(shape[1], 1))
    yield from (slice(k, k + size) for k in range(0, shape[0], size))


#: The Gram matrix squares the condition number; up to this ratio of its eigenvalues
#: the coefficients are accurate to ten digits.
SMALLEST_EIGENVALUE_RATIO = 1e-5


def factorize(
    matrix: FloatArray,  # shape: (n_samples, n_columns)
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the singular value decomposition without what is rounding.

    The matrix may be overwritten.
    """
    n_samples, n_columns = matrix.shape
    if not matrix.size:
        return matrix[:, :0], np.zeros(0), np.zeros((0, n_columns))
    if n_samples >= n_columns:  # the Gram matrix is two to three times as fast
        squares, vectors = np.linalg.eigh(matrix.T @ matrix)
        if squares[0] > SMALLEST_EIGENVALUE_RATIO * squares[-1]:
            values = np.sqrt(squares)
            scaled = vectors / values
            for rows in blocks_of_rows(matrix.shape, FEWEST_ROWS):
                matrix[rows] = matrix[rows] @ scaled
            return matrix, values, vectors.T
    else:
        squares, vectors = np.linalg.eigh(matrix @ matrix.T)
        large = squares > SMALLEST_EIGENVALUE_RATIO * squares[-1]
        # Centred rows have a direction of no length. What is short but has a length
        # has no digits here.
        length = np.sqrt(np.square(vectors[:, ~large].T @ matrix).sum(axis=1))
        values, left = np.sqrt(squares[large]), vectors[:, large]
        if large.any() and length.max(initial=0.0) <= _rounding(matrix, values):
            return left, values, (left / values).T @ matrix
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    rank = int(np.sum(values > _rounding(matrix, values)))
    return left[:, :rank], values[:rank], right[:rank]


def _rounding(matrix: FloatArray, values: FloatArray) -> float:
    """Return up to where singular values are rounding."""
    largest = values.max(initial=0.0)
    return float(max(matrix.shape) * np.finfo(float).eps * largest)


def factorize_rows(
    matrix: FloatArray,  # shape: (n_samples, n_columns)
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return left singular vectors and singular values, without the smallest ones."""
    n_samples, n_columns = matrix.shape
    if n_samples >= n_columns:
        return factorize(matrix)
    squares, vectors = np.linalg.eigh(matrix @ matrix.T)
    # Squares below rounding are lost; penalties are far above them.
    large = squares > 10 * n_columns * np.finfo(float).eps * max(squares[-1], 0.0)
    return vectors[:, large], np.sqrt(squares[large]), np.zeros((0, 0))
