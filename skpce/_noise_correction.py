r"""Partial variances whose expectation holds no noise.

A square of an estimated coefficient is too large by its variance:
:math:`E \hat c_j^2 = (E \hat c_j)^2 + \mathrm{Var}\,\hat c_j`. Two remedies:

- *halves*: coefficients :math:`\hat c^A, \hat c^B` of disjoint halves of the samples
  have independent errors, so :math:`E[\hat c_j^A \hat c_j^B] = E \hat c_j^A\,
  E \hat c_j^B`. The mean over random splits steadies the estimate.
- *variance-subtracted least squares*: :math:`\hat c_j^2 -
  \hat\sigma^2 [(A^T A)^{-1}]_{jj}` with :math:`\hat\sigma^2 = \mathrm{RSS}/(n - P)`.

In a half each sample counts twice, so that a penalty, which is in units of the sum of
squares, shrinks as it does in the full fit. Penalties and degree weights are kept:
chosen anew from half the samples they are heavier and shrink more, and one number
chosen from all samples couples the halves little. Terms that were *searched for* are
searched for anew: a term that noise has made large in all samples is large in both
halves, and the product would be positive by selection alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._checks import FloatArray, IndexArray
from ._solvers import (
    CoefficientSolver,
    DesignDecomposition,
    LinearFit,
    LinearProblem,
)
from ._solvers.problem import weighted_spread
from ._solvers.ridge import GeneralizedRidgeSolver

#: Samples a term that variance-subtracted least squares needs.
SAMPLES_PER_TERM = 3

_FEWEST_SAMPLES = 4


@dataclass(frozen=True)
class NoiseCorrectedIndices:
    """Sobol indices from estimates of squares without the bias of noise.

    Parameters
    ----------
    first_order, total_order : ndarray of shape (n_targets, n_features)
        Shares of the total variance. Not clipped, so they may be negative; NaN where
        the total variance is not positive.
    total_variance : ndarray of shape (n_targets,)
        May be negative.
    first_order_variance, total_order_variance : ndarray (n_targets, n_features)
        The numerators, which are defined for every target.
    """

    first_order: FloatArray
    total_order: FloatArray
    total_variance: FloatArray
    first_order_variance: FloatArray
    total_order_variance: FloatArray


def enough_for_least_squares(problem: LinearProblem) -> bool:
    """Whether there are three samples a term."""
    n_samples, n_terms = problem.design.shape
    return n_samples >= SAMPLES_PER_TERM * n_terms


def corrected_least_squares(
    problem: LinearProblem, multi_indices: IndexArray
) -> NoiseCorrectedIndices:
    """Subtract the variance of least-squares coefficients from their squares.

    Raises
    ------
    ValueError
        If there are fewer than three samples a term.
    """
    if not enough_for_least_squares(problem):
        n_samples, n_terms = problem.design.shape
        raise ValueError(
            f"method='ols' needs at least {SAMPLES_PER_TERM} samples a term. Got "
            f"{n_samples} samples and {n_terms} terms: use method='halves'."
        )
    decomposition = DesignDecomposition.from_design(problem.design, problem.weights)
    mean, centred = decomposition.center_targets(problem.targets)
    loadings = decomposition.project(centred)
    zeros = np.zeros(problem.targets.shape[1])
    coefficients = decomposition.coefficients(mean, loadings, zeros)
    residuals = decomposition.residuals(centred, loadings, 0.0)
    freedom = problem.weights.sum() - 1.0 - len(decomposition.singular_values)
    noise = problem.weights @ np.square(residuals) / freedom
    spread_of = decomposition.right / decomposition.singular_values[:, np.newaxis]
    variances = np.zeros_like(coefficients)
    variances[:, decomposition.used] = noise[:, np.newaxis] * np.sum(
        np.square(spread_of), axis=0
    )
    squares = np.square(coefficients) - variances
    return signed_indices(_without_spread(squares, problem), multi_indices)


def corrected_by_halves(
    solver: CoefficientSolver,
    problem: LinearProblem,
    fit: LinearFit,
    multi_indices: IndexArray,
    n_splits: int,
    generator: np.random.Generator,
) -> NoiseCorrectedIndices:
    """Average products of coefficients from disjoint halves of the samples.

    Raises
    ------
    ValueError
        If there are fewer than four samples.
    """
    n_samples = len(problem.design)
    if n_samples < _FEWEST_SAMPLES:
        raise ValueError(
            f"method='halves' needs at least {_FEWEST_SAMPLES} samples. "
            f"Got {n_samples}."
        )
    products = np.zeros_like(fit.coefficients)
    for _ in range(n_splits):
        order = generator.permutation(n_samples)
        in_first = np.zeros(n_samples, dtype=bool)
        in_first[order[: n_samples // 2]] = True
        halves = np.array([in_first, ~in_first])
        first, second = half_coefficients(solver, problem, fit, halves)
        products += first * second
    return signed_indices(_without_spread(products / n_splits, problem), multi_indices)


def half_coefficients(
    solver: CoefficientSolver,
    problem: LinearProblem,
    fit: LinearFit,
    halves: NDArray[np.bool_],  # shape: (n_halves, n_samples)
) -> FloatArray:  # shape: (n_halves, n_targets, n_terms)
    """Fit each half; terms anew where they were searched for."""
    searched = bool(np.any(fit.scales[:, 1:] == 0.0))
    if isinstance(solver, GeneralizedRidgeSolver) and not searched:
        total = problem.weights.sum()
        counts = halves * problem.weights
        counts *= total / counts.sum(axis=1, keepdims=True)
        return solver.resample(problem, fit, counts)
    if not isinstance(solver, GeneralizedRidgeSolver):
        rows = [np.flatnonzero(half) for half in halves]
        return np.array([solver.refit(problem.of_rows(kept), fit) for kept in rows])
    return np.array(
        [solver.fit(problem.of_rows(np.flatnonzero(h))).coefficients for h in halves]
    )


def _without_spread(products: FloatArray, problem: LinearProblem) -> FloatArray:
    """Set products of constant targets, which are rounding, to 0."""
    spread = weighted_spread(problem.targets, problem.weights)
    return np.where((spread > 0)[:, np.newaxis], products, 0.0)


def signed_indices(
    products: FloatArray,  # shape: (n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
) -> NoiseCorrectedIndices:
    """Return indices from estimates of squared coefficients, which may be negative.

    NaN where the total variance is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._noise_correction import signed_indices
    >>> multi_indices = np.array([[0, 0], [1, 0], [0, 1]])
    >>> signed_indices(np.array([[9.0, 1.25, -0.25]]), multi_indices).total_order
    array([[ 1.25, -0.25]])
    """
    active = multi_indices[1:] > 0
    alone = active & (active.sum(axis=1, keepdims=True) == 1)
    first, total = products[:, 1:] @ alone, products[:, 1:] @ active
    variance = products[:, 1:].sum(axis=1)
    safe = np.where(variance > 0, variance, np.nan)[:, np.newaxis]
    return NoiseCorrectedIndices(first / safe, total / safe, variance, first, total)
