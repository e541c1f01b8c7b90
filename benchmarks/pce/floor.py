"""The floor: the arithmetic of a ridge expansion in bare NumPy and LAPACK.

One symmetric eigendecomposition (of the smaller of the two Gram matrices), 17 penalties
by generalised cross-validation for every output, products of matrices to predict. The
intercept is free. The index set is given; nothing is validated and nothing is stored
but the coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.linalg.blas import dsyrk

from .peers.base import Fitted
from .recurrences import BLOCK, design_columns, evaluate, total_degree_indices

FloatArray = NDArray[np.float64]

ALPHAS = np.logspace(-8, 4, 17)


def fit(X: FloatArray, Y: FloatArray, laws: Sequence[Any], degree: int) -> Fitted:
    """Fit all outputs and return the predictor and the total indices."""
    n_terms = len(total_degree_indices(len(laws), degree))
    solve = _solve_dual if X.shape[0] < n_terms else _solve_primal
    coefficients = solve(X, Y, laws, degree)
    return Fitted(
        predict=lambda points: evaluate(points, laws, degree, coefficients),
        total_indices=lambda: total_indices(coefficients, len(laws), degree),
    )


def total_indices(coefficients: FloatArray, n_features: int, degree: int) -> FloatArray:
    """Total Sobol indices from coefficients of shape (..., n_terms)."""
    squares = coefficients[..., 1:] ** 2
    active = (total_degree_indices(n_features, degree)[1:] > 0).astype(float)
    return (squares @ active) / squares.sum(axis=-1, keepdims=True)


def _solve_primal(
    X: FloatArray, Y: FloatArray, laws: Sequence[Any], degree: int
) -> FloatArray:
    """Accumulate the Gram matrix of the terms over blocks of rows."""
    n_samples = X.shape[0]
    n_terms = len(total_degree_indices(len(laws), degree))
    gram = np.zeros((n_terms, n_terms), order="F")
    moment = np.zeros((n_terms, Y.shape[1]))
    for start in range(0, n_samples, BLOCK):
        block = slice(start, start + BLOCK)
        columns = design_columns(X[block], laws, degree)
        gram = dsyrk(1.0, columns.T, trans=1, beta=1.0, c=gram, overwrite_c=1, lower=0)
        moment += columns @ Y[block]
    # Column 0 is one: its row of the Gram matrix holds the sums of the others.
    sums, y_mean = gram[0, 1:].copy(), moment[0] / n_samples
    moment = moment[1:] - np.outer(sums, y_mean)
    centred = gram[1:, 1:] - np.outer(sums, sums / n_samples)
    values, vectors = eigh(
        centred, lower=False, overwrite_a=True, check_finite=False, driver="evd"
    )
    values = np.maximum(values, 0.0)
    rotated = vectors.T @ moment
    # Accumulated about the mean: the sums of squares of the outputs.
    total = np.sum((Y - y_mean) ** 2, axis=0)
    chosen = _choose(values, rotated, total, n_samples)
    slopes = vectors @ (rotated / (values[:, None] + chosen))
    return _with_intercept(slopes, y_mean, sums / n_samples)


def _choose(
    values: FloatArray, rotated: FloatArray, total: FloatArray, n_samples: int
) -> FloatArray:
    """The penalty of each output from eigenvalues and rotated moments."""
    shrunk = values + ALPHAS[:, None]
    squares = rotated**2
    explained = (2 / shrunk - values / shrunk**2) @ squares
    freedom = n_samples - 1 - np.sum(values / shrunk, axis=1)
    scores = (total - explained) / freedom[:, None] ** 2
    return ALPHAS[np.argmin(scores, axis=0)]


def _centred_columns(
    X: FloatArray, laws: Sequence[Any], degree: int
) -> tuple[FloatArray, FloatArray]:
    """The terms but the constant, shape (n_terms - 1, n_samples), and their means."""
    columns = design_columns(X, laws, degree)[1:]
    means = columns.mean(axis=1)
    columns -= means[:, None]
    return columns, means


def _solve_dual(
    X: FloatArray, Y: FloatArray, laws: Sequence[Any], degree: int
) -> FloatArray:
    """Decompose the Gram matrix of the samples."""
    columns, x_mean = _centred_columns(X, laws, degree)
    y_mean = Y.mean(axis=0)
    values, vectors = eigh(columns.T @ columns, check_finite=False, driver="evd")
    values = np.maximum(values, 0.0)
    rotated = vectors.T @ (Y - y_mean)
    chosen = _choose_dual(values, rotated**2)
    dual = vectors @ (rotated / (values[:, None] + chosen))
    return _with_intercept(columns @ dual, y_mean, x_mean)


def _choose_dual(values: FloatArray, squares: FloatArray) -> FloatArray:
    """The penalty of each output; axes before the last two are batches.

    The direction of the ones has the eigenvalue 0 after centring and no data: it takes
    no part in the residual, and one degree of freedom is the intercept's.
    """
    kept = ALPHAS[:, None] / (values[..., None, :] + ALPHAS[:, None])
    scores = (kept**2 @ squares) / (kept.sum(axis=-1) - 1)[..., None] ** 2
    return ALPHAS[np.argmin(scores, axis=-2)]


def _with_intercept(
    slopes: FloatArray, y_mean: FloatArray, x_mean: FloatArray
) -> FloatArray:
    """Coefficients of shape (n_targets, n_terms)."""
    return np.column_stack([y_mean - x_mean @ slopes, slopes.T])


def bootstrap(
    X: FloatArray, Y: FloatArray, laws: Sequence[Any], degree: int, rows: NDArray
) -> FloatArray:
    """Total indices of every resample, all resamples in one batch.

    ``rows`` has the shape (n_resamples, n_samples); needs fewer samples than terms.
    """
    columns = design_columns(X, laws, degree)[1:]
    gram = columns.T @ columns
    gram = gram[rows[:, :, None], rows[:, None, :]]
    means = gram.mean(axis=1)
    gram -= means[:, :, None] + means[:, None, :] - means.mean(axis=1)[:, None, None]
    values, vectors = np.linalg.eigh(gram)
    values = np.maximum(values, 0.0)
    resampled = Y[rows]
    resampled = resampled - resampled.mean(axis=1, keepdims=True)
    rotated = np.swapaxes(vectors, 1, 2) @ resampled
    chosen = _choose_dual(values, rotated**2)
    dual = vectors @ (rotated / (values[:, :, None] + chosen[:, None, :]))
    # The duals sum to zero over a resample, so the terms need no centring here.
    slopes = np.swapaxes(dual, 1, 2) @ np.ascontiguousarray(columns.T)[rows]
    padded = np.concatenate([np.zeros((*slopes.shape[:2], 1)), slopes], axis=2)
    return total_indices(padded, len(laws), degree)
