r"""Intervals for Sobol indices, and indices without the bias of noise.

A square of an estimated coefficient is too large by its variance:
:math:`E \hat c_j^2 = (E \hat c_j)^2 + \mathrm{Var}\,\hat c_j`. Two remedies:

- *halves*: coefficients :math:`\hat c^A, \hat c^B` of disjoint halves of the samples
  have independent errors, so :math:`E[\hat c_j^A \hat c_j^B] = E \hat c_j^A\,
  E \hat c_j^B`. The mean over random splits steadies the estimate.
- *variance-subtracted least squares*: :math:`\hat c_j^2 -
  \hat\sigma^2 [(A^T A)^{-1}]_{jj}` with :math:`\hat\sigma^2 = \mathrm{RSS}/(n - P)`.

In a half each sample counts twice, so that a penalty, which is in units of the sum of
squares, shrinks as it does in the full fit. Penalties and degree weights stay: chosen
anew from half the samples they are heavier and shrink more, and one number chosen from
all samples couples the halves little. Terms that were *searched for* are searched for
anew: a term that noise has made large in all samples is large in both halves, and the
product would be positive by selection alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import (
    BoolArray,
    FloatArray,
    IndexArray,
    check_integer,
    check_option,
    check_real,
    make_generator,
    one_thread_if_small,
)
from .._solvers import CoefficientSolver, DesignDecomposition, LinearFit, LinearProblem
from .._solvers.problem import weighted_spread
from .._solvers.ridge import GeneralizedRidgeSolver
from .bootstrap import (
    bootstrap_shares,
    percentile_bounds,
    resample_counts,
    residual_bounds,
)
from .problem import FittedProblem
from .relearned_laws import LearnedLaws, RelearningSolver

#: How an interval is made.
INTERVAL_METHODS = ("residual", "bootstrap")

#: How noise is taken out of an index.
CORRECTION_METHODS = ("auto", "halves", "ols")


@dataclass(frozen=True)
class SobolInterval:
    """Lower and upper bounds of sensitivity indices.

    Parameters
    ----------
    first_order, total_order, shapley : ndarray of shape (2, n_targets, n_features)
        Bounds of the first-order indices, the total indices and the Shapley effects;
        row 0 is the lower one.
    confidence_level : float
        Nominal probability, one index at a time.
    method : str
        ``"residual"`` or ``"bootstrap"``.
    """

    first_order: FloatArray
    total_order: FloatArray
    shapley: FloatArray
    confidence_level: float
    method: str


def sobol_interval(
    problem: FittedProblem,
    confidence_level: float = 0.9,
    *,
    method: str = "residual",
    n_resamples: int = 200,
    random_state: Any = None,
) -> SobolInterval:
    r"""Return intervals of the Sobol indices and Shapley effects.

    Parameters
    ----------
    confidence_level : float, default=0.9
        Nominal probability that an interval contains the index of the true
        function under the true laws of the inputs; each index on its own.
    method : {"residual", "bootstrap"}, default="residual"
        - ``"residual"``: from leave-one-out residuals. Contains the error of the
          coefficients and of learned laws, shrinkage, missing terms and the price
          of a search for terms, see Notes.
        - ``"bootstrap"``: percentiles over resamples of the samples, with the
          terms and penalties of the fit; learned laws are learned anew. **It
          ignores truncation, shrinkage and the search for terms**: a poor fit can
          have narrow intervals.
    n_resamples : int, default=200
        Number of draws.
    random_state : int, RandomState instance or None, default=None
        Of the draws; an int gives the same interval each time.

    Returns
    -------
    interval : SobolInterval
        ``first_order``, ``total_order`` and ``shapley`` of shape
        (2, n_targets, n_features), lower bounds first.

    Raises
    ------
    ValueError
        For a bad argument, or a fit from accumulated sums, which has no samples.

    See Also
    --------
    noise_corrected_sobol_indices : Estimates without the bias of noise.

    Notes
    -----
    Let :math:`e = f - \hat f` and :math:`\hat f_i` the part of the expansion of
    input :math:`i`. Then exactly

    .. math:: V_i = \hat V_i + 2 E[e \hat f_i] + a_i E[e^2],
       \qquad 0 \le a_i \le 1.

    Both expectations are estimated by leave-one-out and drawn by the Bayesian
    bootstrap [1]_. The share :math:`a_i` of the error that belongs to the input
    is unknown: it is 0 in the lower bound and 1 in the upper. An interval is
    therefore about as wide as the unexplained share or wider, and nearly [0, 1]
    for a fit at chance. Noise in y counts as unexplained.

    A law that was learned, such as ``distribution="normal"``, is an estimate; its
    error is drawn by the same bootstrap and is often the larger one. For the
    index under the law *as learned* give that law as a frozen one. Contrasts of a
    categorical input have the frequencies of the fit.

    With ``regressor=`` the residuals are those of five refits without a fold. A
    target whose leave-one-out residuals are not defined (least squares with more
    terms than samples) has the interval [0, 1]; a constant target has [0, 0].

    References
    ----------
    .. [1] D. B. Rubin, "The Bayesian bootstrap", Annals of Statistics 9 (1981).

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import uniform
    >>> from skpce import PolynomialChaosRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(60, 2))
    >>> y = np.exp(X[:, 0]) + X[:, 0] * X[:, 1]
    >>> pce = PolynomialChaosRegressor(2, distribution=uniform(-1, 2))
    >>> interval = pce.fit(X, y).sobol_interval(random_state=0)
    >>> interval.total_order.shape
    (2, 1, 2)
    >>> low, high = interval.total_order[:, 0]
    >>> total = pce.total_sobol_indices_[0]
    >>> bool(np.all((low < total) & (total < high)))
    True
    """
    owner = "sobol_interval"
    check_real(owner, "confidence_level", confidence_level, low=0, high=1)
    check_option(owner, "method", method, INTERVAL_METHODS)
    check_integer(owner, "n_resamples", n_resamples, low=1)
    inputs = problem.require_samples(owner).inputs
    generator = make_generator(random_state)
    linear = problem.linear
    laws = LearnedLaws(problem.basis, inputs)
    masks = index_masks(laws.multi_indices)
    with one_thread_if_small(linear.design.size):
        if method == "bootstrap":
            counts = resample_counts(linear.weights, n_resamples, generator)
            solver = RelearningSolver(problem.solver, laws.basis, laws.X, generator)
            draws = bootstrap_shares(solver, linear, problem.fit, counts, masks)
            bounds = percentile_bounds(draws, confidence_level)
        else:
            bounds = residual_bounds(
                problem, linear, laws, masks, n_resamples, confidence_level, generator
            )
    first, total, shapley = np.split(np.clip(bounds, 0.0, 1.0), 3, axis=2)
    # An index is at most the Shapley effect, which is at most the total index.
    low = np.maximum.accumulate([first[0], shapley[0], total[0]])
    high = np.minimum.accumulate([total[1], shapley[1], first[1]])[::-1]
    first, shapley, total = np.stack([low, high], axis=1)
    return SobolInterval(first, total, shapley, confidence_level, method)


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
    linear = problem.linear
    if method == "auto":
        method = "ols" if _enough_for_least_squares(linear) else "halves"
    with one_thread_if_small(linear.design.size):
        if method == "ols":
            return _corrected_least_squares(linear, problem.basis.multi_indices)
        generator = make_generator(random_state)
        return _corrected_by_halves(problem, linear, n_splits, generator)


def index_masks(
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
) -> FloatArray:  # shape: (n_terms, 3 * n_features)
    """Return which part of each square belongs to an index.

    Columns: first-order indices, total indices and Shapley effects of the inputs.
    """
    active = multi_indices > 0
    size = active.sum(axis=1, keepdims=True)
    alone = active & (size == 1)
    return np.hstack([alone, active, active / np.maximum(size, 1)])


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
    freedom = problem.weights.sum() - 1.0 - len(decomposition.singular_values)
    noise = problem.weights @ np.square(residuals) / freedom
    factors = decomposition.right / decomposition.singular_values[:, np.newaxis]
    squares = np.square(coefficients)
    squares[:, decomposition.used] -= np.outer(noise, np.square(factors).sum(axis=0))
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
    for _ in range(n_splits):
        order = generator.permutation(n_samples)
        in_first = np.zeros(n_samples, dtype=bool)
        in_first[order[: n_samples // 2]] = True
        halves = np.array([in_first, ~in_first])
        first, second = half_coefficients(fitted.solver, problem, fitted.fit, halves)
        products += first * second
    products = _without_spread(products / n_splits, problem)
    return signed_indices(products, fitted.basis.multi_indices)


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
    if not isinstance(solver, GeneralizedRidgeSolver):
        rows = [np.flatnonzero(half) for half in halves]
        return np.array([solver.refit(problem.of_rows(some), fit) for some in rows])
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
    """Return indices from estimates of squared coefficients, which may be negative."""
    active = multi_indices[1:] > 0
    alone = active & (active.sum(axis=1, keepdims=True) == 1)
    first, total = products[:, 1:] @ alone, products[:, 1:] @ active
    variance = products[:, 1:].sum(axis=1)
    return NoiseCorrectedIndices(first, total, variance)
