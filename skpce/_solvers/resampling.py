"""Refits of a ridge on many resamples at once.

A resample gives each sample a count. Where there are clearly fewer terms than samples
the Gram matrices of all resamples are one product, otherwise the kernel matrix of the
samples is computed once and each resample scales its rows and columns. Both square
the condition number, so resamples that are close to singular are marked and refitted
one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpocon, dpotrf, dpotrs

from .._checks import BoolArray, FloatArray, IndexArray
from .problem import LinearProblem


def distinct_scales(
    scales: FloatArray,  # shape: (n_targets, n_terms)
) -> list[tuple[FloatArray, IndexArray]]:
    """Return each distinct row with the targets that have it."""
    rows, row_of = np.unique(scales, axis=0, return_inverse=True)
    row_of = row_of.ravel()
    return [(row, np.flatnonzero(row_of == k)) for k, row in enumerate(rows)]


#: Memory for the matrices of the resamples that are solved together: 256 MiB.
LARGEST_BATCH = 268_435_456

# A resample contains about 63 % of the samples: with more terms the kernel is regular
# where the Gram matrix is not.
_SHARE_DRAWN = 0.6

# Smallest ratio of eigenvalues at which a solution has nine digits.
_SMALLEST_RATIO = 1e-7

# From this number of distinct penalties an eigendecomposition is quicker.
_MANY_PENALTIES = 6

# From this order on a call per matrix costs nothing beside its arithmetic.
_LARGE_ORDER = 150


def resample_group(
    problem: LinearProblem,
    counts: NDArray[Any],  # shape: (n_resamples, n_samples)
    scale: FloatArray,  # shape: (n_terms,)
    targets: IndexArray,  # shape: (n_chosen,)
    alpha: FloatArray,  # shape: (n_chosen,)
    free_intercept: bool,
) -> tuple[FloatArray, BoolArray]:  # the first: (n_resamples, n_chosen, n_terms)
    """Refit the targets of one scale, and mark the resamples that are accurate."""
    used = np.flatnonzero(scale)
    if free_intercept:
        used = used[used > 0]
    columns, values = problem.design[:, used], problem.targets[:, targets]
    column_mean, value_mean = np.zeros(len(used)), np.zeros(len(targets))
    if free_intercept:
        # Centring at the mean of all samples leaves little to cancel in a resample.
        column_mean, value_mean = columns.mean(axis=0), values.mean(axis=0)
    columns, values = (columns - column_mean) * scale[used], values - value_mean
    n_terms = problem.design.shape[1]
    coefficients = np.zeros((len(counts), len(targets), n_terms))
    accurate = np.ones(len(counts), dtype=bool)
    dual = columns.shape[1] > _SHARE_DRAWN * len(columns)
    solve = _solve_kernel if dual else _solve_gram
    for rows in _batches(len(counts), columns.shape, len(targets), dual):
        weights = counts[rows].astype(np.float64)
        means = _Means.of(weights, columns, values, free_intercept)
        slopes, accurate[rows] = solve(columns, values, weights, means, alpha)
        block = coefficients[rows]
        block[:, :, used] = slopes * scale[used]
        if free_intercept:
            inner = np.einsum("btp,bp->bt", slopes, means.columns)
            block[:, :, 0] = (
                value_mean + means.values - inner - block[:, :, used] @ column_mean
            )
    return coefficients, accurate


@dataclass(frozen=True)
class _Means:
    """Weighted means of each resample; zero where the intercept is penalised."""

    free: bool
    total: FloatArray  # shape: (n_resamples,)
    columns: FloatArray  # shape: (n_resamples, n_columns)
    values: FloatArray  # shape: (n_resamples, n_targets)

    @classmethod
    def of(
        cls, weights: FloatArray, columns: FloatArray, values: FloatArray, free: bool
    ) -> _Means:
        total = weights.sum(axis=1)
        share = weights / total[:, np.newaxis] if free else np.zeros_like(weights)
        return cls(free, total, share @ columns, share @ values)


def _batches(
    n_resamples: int, shape: tuple[int, ...], n_targets: int, dual: bool
) -> Iterator[slice]:
    n_samples, n_columns = shape
    order = n_samples if dual else n_columns
    entries = 4 * order**2 + n_samples * (n_columns + n_targets)
    entries += 4 * (n_columns + order) * n_targets
    step = max(1, LARGEST_BATCH // (8 * max(entries, 1)))
    for start in range(0, n_resamples, step):
        yield slice(start, start + step)


def _solve_gram(
    columns: FloatArray,  # shape: (n_samples, n_columns)
    values: FloatArray,  # shape: (n_samples, n_targets)
    weights: FloatArray,  # shape: (n_resamples, n_samples)
    means: _Means,
    alpha: FloatArray,  # shape: (n_targets,)
) -> tuple[FloatArray, BoolArray]:
    """Solve ``(X' W X + alpha) b = X' W y`` about the means of each resample."""
    weighted = weights[:, np.newaxis] * columns.T
    gram, right = weighted @ columns, weighted @ values
    scaled = means.total[:, np.newaxis] * means.columns
    gram -= scaled[:, :, np.newaxis] * means.columns[:, np.newaxis]
    right -= scaled[:, :, np.newaxis] * means.values[:, np.newaxis]
    slopes, accurate = _solve_penalized(gram, right, alpha)
    return slopes.swapaxes(1, 2), accurate


def _solve_kernel(
    columns: FloatArray,
    values: FloatArray,
    weights: FloatArray,
    means: _Means,
    alpha: FloatArray,
) -> tuple[FloatArray, BoolArray]:
    """Solve in the space of the samples: ``b = X' W^(1/2) (K + alpha)^(-1) W^(1/2) y``.

    Samples that are not drawn, and the direction of the intercept, are null vectors
    of the kernel and orthogonal to the right-hand side. A positive eigenvalue for them
    leaves the solution as it is: the one of least norm when the penalty is 0.
    """
    kernel = columns @ columns.T
    root = np.sqrt(weights)
    batch = np.repeat(kernel[np.newaxis], len(weights), axis=0)
    if means.free:
        inner = means.columns @ columns.T
        batch -= inner[:, :, np.newaxis] + inner[:, np.newaxis]
        batch += np.square(means.columns).sum(axis=1)[:, np.newaxis, np.newaxis]
    batch *= root[:, :, np.newaxis]
    batch *= root[:, np.newaxis]
    diagonal = np.einsum("bii->bi", batch)
    # Of equal rows rounding remains, which may be negative.
    total = np.maximum(diagonal.sum(axis=1), 0.0)
    typical = total / np.maximum((weights > 0).sum(axis=1), 1)
    diagonal += np.where(weights > 0, 0.0, typical[:, np.newaxis])
    if means.free:
        unit = root * np.sqrt(typical / means.total)[:, np.newaxis]
        batch += unit[:, :, np.newaxis] * unit[:, np.newaxis]
    right = root[:, :, np.newaxis] * (values - means.values[:, np.newaxis])
    dual, accurate = _solve_penalized(batch, right, alpha)
    dual *= root[:, :, np.newaxis]
    return dual.swapaxes(1, 2) @ columns, accurate


def _solve_penalized(
    matrices: FloatArray,  # shape: (n_resamples, order, order)
    right: FloatArray,  # shape: (n_resamples, order, n_targets)
    alpha: FloatArray,  # shape: (n_targets,)
) -> tuple[FloatArray, BoolArray]:
    """Solve with the penalty of each target, and mark where that is accurate."""
    if matrices.shape[1] == 0:
        return right, np.ones(len(matrices), dtype=bool)
    penalties, which = np.unique(alpha, return_inverse=True)
    if matrices.shape[1] > _LARGE_ORDER:
        return _solve_one_by_one(matrices, right, penalties, which)
    if len(penalties) >= _MANY_PENALTIES:
        values, vectors = np.linalg.eigh(matrices)
        accurate = _well_conditioned(values, penalties[0])
        values = np.where(accurate[:, np.newaxis], values, 1.0)
        rotated = vectors.swapaxes(1, 2) @ right
        rotated /= values[:, :, np.newaxis] + alpha
        return vectors @ rotated, accurate
    accurate = _is_accurate(matrices, penalties[0])
    identity = np.eye(matrices.shape[1])
    matrices[~accurate] = identity
    solution = np.empty_like(right)
    for number, penalty in enumerate(penalties):
        mine = np.flatnonzero(which == number)
        shifted = matrices + penalty * identity
        solution[:, :, mine] = np.linalg.solve(shifted, right[:, :, mine])
    return solution, accurate


def _solve_one_by_one(
    matrices: FloatArray, right: FloatArray, penalties: FloatArray, which: IndexArray
) -> tuple[FloatArray, BoolArray]:
    """Solve large matrices by Cholesky, whose condition estimate is cheap."""
    accurate = np.ones(len(matrices), dtype=bool)
    solution = np.zeros_like(right)
    columns = [np.flatnonzero(which == k) for k in range(len(penalties))]
    for row, matrix in enumerate(matrices):
        size = np.abs(matrix).sum(axis=0).max()
        for penalty, mine in zip(penalties, columns, strict=True):
            shifted = matrix.copy()
            shifted.flat[:: len(matrix) + 1] += penalty
            # The transpose is the same matrix in the memory order of LAPACK.
            factor, failed = dpotrf(shifted.T, lower=1, overwrite_a=1)
            ratio = 0.0 if failed else dpocon(factor, size + penalty, uplo="L")[0]
            if not ratio > _SMALLEST_RATIO:
                accurate[row] = False
                break
            solution[row][:, mine] = dpotrs(factor, right[row][:, mine], lower=1)[0]
    return solution, accurate


def _is_accurate(matrices: FloatArray, penalty: float) -> BoolArray:
    """Check the condition by a cheap bound, then by eigenvalues where it fails."""
    trace = np.abs(np.einsum("bii->bi", matrices)).sum(axis=1)  # rounding has any sign
    accurate = penalty > _SMALLEST_RATIO * (trace + penalty)
    doubtful = np.flatnonzero(~accurate)
    if len(doubtful):
        values = np.linalg.eigvalsh(matrices[doubtful])
        accurate[doubtful] = _well_conditioned(values, penalty)
    return accurate


def _well_conditioned(values: NDArray[np.floating[Any]], penalty: float) -> BoolArray:
    """Compare the smallest eigenvalue, penalty included, with the largest."""
    low, high = values[:, 0] + penalty, values[:, -1] + penalty
    return (low > _SMALLEST_RATIO * high) & (low > 0)
