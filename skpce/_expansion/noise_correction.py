r"""Sobol indices without the bias of noise in the coefficients.

In a half each sample counts twice, so that a penalty, which is in units of the sum of
squares, shrinks as it does in the full fit. Penalties and degree weights stay: chosen
anew from half the samples they are heavier and shrink more, and one number chosen from
all samples couples the halves little. Terms that were *searched for* are searched for
anew: a term that noise has made large in all samples is large in both halves, and the
product would be positive by selection alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import (
    BoolArray,
    FloatArray,
    IndexArray,
    check_integer,
    check_option,
    make_generator,
    one_thread_if_small,
)
from .._solvers import CoefficientSolver, DesignDecomposition, LinearFit, LinearProblem
from .._solvers.problem import weighted_spread
from .._solvers.ridge import GeneralizedRidgeSolver
from .expansion import terms_of_inputs
from .problem import FittedProblem

#: How noise is taken out of an index.
CORRECTION_METHODS = ("auto", "halves", "ols")

#: Samples a term that variance-subtracted least squares needs.
SAMPLES_PER_TERM = 3

_FEWEST_SAMPLES = 4


@dataclass(frozen=True)
class NoiseCorrectedIndices:
    """Sobol indices from estimates of squares without the bias of noise.

    Parameters
    ----------
    first_order_variance, total_order_variance : ndarray (n_targets, n_features)
        Partial variances, which are defined for every target.
    total_variance : ndarray of shape (n_targets,)
        May be negative.

    Notes
    -----
    ``first_order`` and ``total_order`` are shares of the total variance. They are not
    clipped, so they may be negative, and NaN where the total variance is not positive.
    """

    first_order_variance: FloatArray
    total_order_variance: FloatArray
    total_variance: FloatArray

    @property
    def first_order(self) -> FloatArray:
        """First-order shares; shape (n_targets, n_features)."""
        return self.first_order_variance / self._positive

    @property
    def total_order(self) -> FloatArray:
        """Total shares; shape (n_targets, n_features)."""
        return self.total_order_variance / self._positive

    @property
    def _positive(self) -> FloatArray:
        variance = self.total_variance
        return np.where(variance > 0, variance, np.nan)[:, np.newaxis]


def noise_corrected_sobol_indices(
    problem: FittedProblem,
    *,
    method: str = "auto",
    n_splits: int = 20,
    random_state: Any = None,
) -> NoiseCorrectedIndices:
    r"""Return Sobol indices without the bias of noise in the coefficients.

    A square :math:`\hat c_j^2` has the expectation
    :math:`(E \hat c_j)^2 + \mathrm{Var}\,\hat c_j`, so noise looks like variance
    of the inputs.

    Parameters
    ----------
    method : {"auto", "halves", "ols"}, default="auto"
        - ``"halves"``: squares are replaced by products
          :math:`\hat c_j^A \hat c_j^B` of coefficients from disjoint halves of
          the samples, averaged over random splits. Terms that were searched for
          are searched for anew in each half; penalties stay, in proportion to
          the number of samples, and so does shrinkage.
        - ``"ols"``: least squares on all terms, and
          :math:`\hat c_j^2 - \hat\sigma^2 [(A^T A)^{-1}]_{jj}`. Needs three
          samples a term.
        - ``"auto"``: ``"ols"`` where there are three samples a term.
    n_splits : int, default=20
        Number of random splits into halves.
    random_state : int, RandomState instance or None, default=None
        Of the splits.

    Returns
    -------
    indices : NoiseCorrectedIndices
        ``first_order``, ``total_order`` (n_targets, n_features) and
        ``total_variance`` (n_targets,). Not clipped: they may be negative. Indices
        are NaN where the corrected total variance is not positive; the partial
        variances ``first_order_variance`` and ``total_order_variance`` are not.

    Raises
    ------
    ValueError
        For a bad argument, a fit from accumulated sums, fewer than four samples
        for halves, or fewer than three samples a term for ``"ols"``.

    Notes
    -----
    Given the inputs and penalties that do not depend on y, both are free of bias
    for the variance of the expectation of the coefficients when the noise is
    independent between samples: the errors of disjoint halves are independent
    [1]_. Chosen penalties leave a small bias, ratios one of higher order.

    References
    ----------
    .. [1] A. B. Owen, "Better estimation of small Sobol' sensitivity indices",
       ACM Transactions on Modeling and Computer Simulation 23 (2013), for the
       same idea with sampled functions.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from skpce import PolynomialChaosRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> y = X[:, 0] + rng.normal(size=60)
    >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
    >>> pce.fit(X, y).total_sobol_indices_.round(2)  # the second is 0 in truth
    array([[0.95, 0.05]])
    >>> pce.noise_corrected_sobol_indices().total_order.round(2)
    array([[ 1.  , -0.03]])
    """
    owner = "noise_corrected_sobol_indices"
    check_option(owner, "method", method, CORRECTION_METHODS)
    check_integer(owner, "n_splits", n_splits, low=1)
    problem.require_samples(owner)
    shape = len(problem.spread), len(problem.basis.laws)
    first, total, variance = np.empty(shape), np.empty(shape), np.empty(shape[0])
    for part, targets in problem.parts:
        found = _corrected(part, method, n_splits, make_generator(random_state))
        first[targets] = found.first_order_variance
        total[targets] = found.total_order_variance
        variance[targets] = found.total_variance
    return NoiseCorrectedIndices(first, total, variance)


def _corrected(
    problem: FittedProblem, method: str, n_splits: int, generator: np.random.Generator
) -> NoiseCorrectedIndices:
    """Correct the indices of targets that no sample lacks."""
    linear = problem.linear
    if method == "auto":
        method = "ols" if _enough_for_least_squares(linear) else "halves"
    with one_thread_if_small(linear.design.size):
        if method == "ols":
            return _corrected_least_squares(linear, problem.basis.multi_indices)
        return _corrected_by_halves(problem, linear, n_splits, generator)


def _enough_for_least_squares(problem: LinearProblem) -> bool:
    """Return whether there are three samples a term."""
    n_samples, n_terms = problem.design.shape
    return n_samples >= SAMPLES_PER_TERM * n_terms


def _corrected_least_squares(
    problem: LinearProblem, multi_indices: IndexArray
) -> NoiseCorrectedIndices:
    """Subtract the variance of least-squares coefficients from their squares."""
    if not _enough_for_least_squares(problem):
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
    factor = decomposition.factor
    freedom = problem.weights.sum() - 1.0 - len(factor.singular_values)
    noise = problem.weights @ np.square(residuals) / freedom
    inverse = factor.right / factor.singular_values[:, np.newaxis]
    squares = np.square(coefficients)
    squares[:, factor.used] -= np.outer(noise, np.square(inverse).sum(axis=0))
    return signed_indices(_without_spread(squares, problem), multi_indices)


def _corrected_by_halves(
    fitted: FittedProblem,
    problem: LinearProblem,
    n_splits: int,
    generator: np.random.Generator,
) -> NoiseCorrectedIndices:
    """Average products of coefficients from disjoint halves of the samples."""
    n_samples = len(problem.design)
    if n_samples < _FEWEST_SAMPLES:
        raise ValueError(
            f"method='halves' needs at least {_FEWEST_SAMPLES} samples. "
            f"Got {n_samples}."
        )
    products = np.zeros_like(fitted.fit.coefficients)
    for first, second in coefficients_of_halves(fitted, problem, n_splits, generator):
        products += first * second
    products = _without_spread(products / n_splits, problem)
    return signed_indices(products, fitted.basis.multi_indices)


def coefficients_of_halves(
    fitted: FittedProblem,
    problem: LinearProblem,
    n_splits: int,
    generator: np.random.Generator,
) -> Iterator[FloatArray]:  # of shape (2, n_targets, n_terms)
    """Yield the coefficients from two disjoint halves of the samples."""
    n_samples = len(problem.design)
    for _ in range(n_splits):
        in_first = np.zeros(n_samples, dtype=bool)
        in_first[generator.permutation(n_samples)[: n_samples // 2]] = True
        halves = np.array([in_first, ~in_first])
        yield half_coefficients(fitted.solver, problem, fitted.fit, halves)


def half_coefficients(
    solver: CoefficientSolver,
    problem: LinearProblem,
    fit: LinearFit,
    halves: BoolArray,  # shape: (n_halves, n_samples)
) -> FloatArray:  # shape: (n_halves, n_targets, n_terms)
    """Fit each half; terms anew where they were searched for."""
    searched = bool(np.any(fit.scales[:, 1:] == 0.0))
    if isinstance(solver, GeneralizedRidgeSolver) and not searched:
        total = problem.weights.sum()
        counts = halves * problem.weights
        counts *= total / counts.sum(axis=1, keepdims=True)
        return solver.resample(problem, fit, counts)
    parts = [problem.of_rows(np.flatnonzero(half)) for half in halves]
    if isinstance(solver, GeneralizedRidgeSolver):
        return np.array([solver.fit(part).coefficients for part in parts])
    return np.array([solver.refit(part, fit) for part in parts])


def _without_spread(products: FloatArray, problem: LinearProblem) -> FloatArray:
    """Set products of constant targets, which are rounding, to 0."""
    spread = weighted_spread(problem.targets, problem.weights)
    return np.where((spread > 0)[:, np.newaxis], products, 0.0)


def signed_indices(
    products: FloatArray,  # shape: (n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
) -> NoiseCorrectedIndices:
    """Return indices from estimates of squared coefficients, which may be negative."""
    alone, active, _ = terms_of_inputs(multi_indices[1:])
    first, total = products[:, 1:] @ alone, products[:, 1:] @ active
    variance = products[:, 1:].sum(axis=1)
    return NoiseCorrectedIndices(first, total, variance)
