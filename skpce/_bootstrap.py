"""The bootstrap over samples: coefficients and indices of all resamples.

The terms and the penalties stay those of the full fit: copies of a sample in a
resample would leak into a leave-one-out error. So the spread of the resamples shows
the error of the coefficients, and with a ``RelearningSolver`` that of the input laws,
but neither the truncation of the expansion nor the search for its terms.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ._checks import FloatArray, IndexArray
from ._solvers import CoefficientSolver, LinearFit, LinearProblem
from ._solvers.problem import weighted_spread, without_slopes

#: Coefficients of resamples held at once while indices are computed: 64 MiB.
LARGEST_BLOCK = 8_388_608


def resample_counts(
    weights: FloatArray,  # shape: (n_samples,)
    n_resamples: int,
    generator: np.random.Generator,
) -> IndexArray:  # shape: (n_resamples, n_samples)
    """Draw how often each sample comes; a weight is a number of copies."""
    copies = max(round(float(weights.sum())), 1)
    return generator.multinomial(copies, weights / weights.sum(), size=n_resamples)


def bootstrap_coefficients(
    solver: CoefficientSolver,
    problem: LinearProblem,
    fit: LinearFit,
    counts: IndexArray,  # shape: (n_resamples, n_samples)
) -> FloatArray:  # shape: (n_resamples, n_targets, n_terms)
    """Return the coefficients of every resample.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce import PolynomialChaosRegressor
    >>> from skpce._bootstrap import bootstrap_coefficients, resample_counts
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> pce = PolynomialChaosRegressor(2, solver="ols").fit(X, X)
    >>> counts = resample_counts(np.ones(30), 5, np.random.default_rng(0))
    >>> bootstrap_coefficients(
    ...     pce._make_solver(), pce._linear_problem(), pce._fit, counts
    ... ).shape
    (5, 2, 6)
    """
    return solver.resample(problem, fit, counts)


def bootstrap_blocks(
    solver: CoefficientSolver,
    problem: LinearProblem,
    fit: LinearFit,
    counts: IndexArray,
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield coefficients of some resamples after another, in bounded memory.

    Targets without spread have no slopes, as in the fit itself.
    """
    spread = weighted_spread(problem.targets, problem.weights)
    size = fit.coefficients.size
    step = max(1, LARGEST_BLOCK // max(size, 1))
    for start in range(0, len(counts), step):
        rows = slice(start, start + step)
        coefficients = bootstrap_coefficients(solver, problem, fit, counts[rows])
        flat = coefficients.reshape(-1, coefficients.shape[2])
        spreads = np.tile(spread, len(coefficients))
        yield rows, without_slopes(flat, spreads).reshape(coefficients.shape)


def bootstrap_shares(
    solver: CoefficientSolver,
    problem: LinearProblem,
    fit: LinearFit,
    counts: IndexArray,  # shape: (n_resamples, n_samples)
    masks: FloatArray,  # shape: (n_terms, n_masks)
) -> FloatArray:  # shape: (n_resamples, n_targets, n_masks)
    """Return shares of the variance in each resample; 0 where there is none.

    A column of ``masks`` says which part of the square of each coefficient counts.
    """
    shape = (len(counts), len(fit.coefficients), masks.shape[1])
    shares = np.empty(shape)
    for rows, coefficients in bootstrap_blocks(solver, problem, fit, counts):
        squares = np.square(coefficients[:, :, 1:], out=coefficients[:, :, 1:])
        variance = squares.sum(axis=2, keepdims=True)
        n_rows = squares.shape[0] * squares.shape[1]
        parts = squares.reshape(n_rows, squares.shape[2]) @ masks[1:]
        safe = np.where(variance > 0, variance, 1.0)
        shares[rows] = parts.reshape(*squares.shape[:2], masks.shape[1]) / safe
    return shares


def percentile_bounds(
    draws: FloatArray,  # shape: (n_resamples, ...)
    confidence_level: float,
) -> FloatArray:  # shape: (2, ...)
    """Return the two equal-tailed quantiles."""
    tail = (1.0 - confidence_level) / 2.0
    return np.quantile(draws, [tail, 1.0 - tail], axis=0)
