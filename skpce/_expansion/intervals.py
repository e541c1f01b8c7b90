r"""Intervals of Sobol indices, by the bootstrap or from leave-one-out residuals.

In the bootstrap, terms and penalties stay those of the full fit: copies of a sample in
a resample would leak into a leave-one-out error. So the spread of the resamples shows
the error of the coefficients and of the input distributions, but neither the truncation
of the expansion nor the search for its terms.

The bounds from residuals contain these as well. ``sobol_interval`` says which
expectations they rest on, the page "How sure are the indices?" of the user guide why
they are corrected, also for learned distributions. With
:math:`\hat f_i = \sum_{j \in i} \hat c_j \psi_j` for a set of terms, such as those
of one input, the error :math:`e`, :math:`X_i = E[e \hat f_i]` and :math:`R = E[e^2]`,
the index lies between :math:`K_i / (K_i + K_{-i} + R)` and
:math:`(K_i + R) / (K_i + K_{-i} + R)`, where :math:`K = \max(\hat V + 2X, 0)` and
:math:`-i` are all other terms. The interval joins the lower quantile of the first and
the upper quantile of the second. The term :math:`X_i` corrects both shrinkage (an error
like :math:`\hat f_i`, :math:`X_i > 0`) and fitted noise (:math:`X_i < 0`).

Leaving sample :math:`k` out changes the coefficients by :math:`-e_k G \psi_k`, with
:math:`G = (A^T A + \lambda S^{-2})^{-1}`, so that
:math:`\hat f_i^{(-k)}(x_k) = \hat f_i(x_k) - e_k h_{ki}` with the part :math:`h_{ki}`
of the leverage that belongs to the terms of the set: no refits are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._basis.basis import index_masks
from .._checks import (
    FloatArray,
    RandomState,
    check_draws,
    check_option,
    check_real,
    make_generator,
    one_thread_if_small,
)
from .._learned.ridge import LearnedRidgeSolver
from .._result import Result, Shown
from .._solvers.external import folds_of
from .._solvers.problem import (
    CoefficientSolver,
    GeneralizedRidgeSolver,
    LinearFit,
    LinearProblem,
    weighted_spread,
)
from .._solvers.sparse import correction
from .problem import (
    EACH_TARGET,
    LARGEST_BLOCK,
    FittedProblem,
    RowSums,
    dirichlet_shares,
    law_errors,
    percentile_bounds,
    posterior_squares,
    resample_counts,
)

# Quantiles of draws are too near: their distances from the median, as angles whose
# squared sines are the shares, are this much larger. What 90 % intervals contain is
# measured by ``benchmarks.pce.learned_coverage``.
_REACH = 1.2

#: How an interval is made.
INTERVAL_METHODS = ("posterior", "residual", "bootstrap")


@dataclass(frozen=True)
class SobolInterval(Shown):
    """Lower and upper bounds of sensitivity indices.

    Parameters
    ----------
    first_order, total_order, shapley : ndarray of shape (2, n_targets, n_features)
        Bounds of the first-order indices, the total indices and the Shapley effects;
        row 0 is the lower one.
    confidence_level : float
        Nominal probability, one index at a time.
    method : str
        ``"posterior"``, ``"residual"`` or ``"bootstrap"``.
    """

    first_order: FloatArray
    total_order: FloatArray
    shapley: FloatArray
    confidence_level: float
    method: str

    def _table(self) -> Result:
        outputs, inputs = self._labels(*self.first_order.shape[1:])
        columns = {
            f"{name}_{end}": getattr(self, name)[place]
            for name in ("first_order", "total_order", "shapley")
            for place, end in enumerate(("low", "high"))
        }
        title = (
            f"{self.confidence_level:.0%} intervals, one index at a time "
            f"({self.method})."
        )
        return Result({"target": outputs, "input": inputs}, columns, title=title)

    def plot(self, ax: Any = None) -> Any:
        """Draw the intervals of first-order and total indices, on bars to their middle.

        Parameters
        ----------
        ax : matplotlib axes, sequence of axes, or None, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        axes : matplotlib axes, or list of axes
            As :meth:`skpce.inspection.Result.plot`.
        """
        table = self._table()
        names = ("total_order", "first_order")
        middle = {name: getattr(self, name).mean(axis=0) for name in names}
        return Result(table.keys, {**table.columns, **middle}, printed=names).plot(ax)


def sobol_interval(
    problem: FittedProblem,
    confidence_level: float = 0.9,
    *,
    method: str | None = None,
    n_resamples: int = 200,
    random_state: RandomState = None,
) -> SobolInterval:
    r"""Return intervals of the Sobol indices and Shapley effects.

    Parameters
    ----------
    confidence_level : float, default=0.9
        Nominal probability that an interval contains the index of the true
        function under the true distributions of the inputs; each index on its own.
    method : {"posterior", "residual", "bootstrap"} or None, default=None
        None is ``"posterior"`` for a fit without settings, ``"residual"`` for one with
        a solver, a degree or ``interaction_order=1``.

        - ``"posterior"``: from the posterior of the coefficients and of the prior that
          was learned, and of learned distributions of the inputs. An index that may be
          0 by the evidence has the lower end 0. It ignores terms beyond a degree or an
          order that were given. See Notes.
        - ``"residual"``: from leave-one-out residuals. Contains the error of the
          coefficients and of learned distributions, shrinkage, missing terms and the
          price of a search for terms, see Notes.
        - ``"bootstrap"``: percentiles over resamples of the samples, with the
          terms and penalties of the fit; learned distributions are learned anew. **It
          ignores truncation, shrinkage and the search for terms**: a poor fit can
          have narrow intervals. Squares of noisy coefficients are too large: the lower
          end of an input that does nothing lies above 0.
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

    ``"posterior"`` draws the parameters of the prior, from Laplace's approximation,
    then the coefficients. The squares of a draw are too large by the variance of the
    coefficients, which is taken off. The distances of quantiles from the median, as
    angles whose squared sines are the shares, are taken 1.2 times. An input, or its
    effect alone, without which the log evidence falls by less than 2 may have none.

    A distribution that was learned, such as ``distribution="normal"``, is an estimate;
    its error is drawn by the Bayesian bootstrap and is often the larger one. For the
    index under the distribution *as learned* give that distribution as a frozen one.
    ``"bootstrap"`` leaves the frequencies of categories as they are.

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
    method = checked_method(owner, method, problem.solver, "residual")
    check_draws(owner, "n_resamples", n_resamples, each=len(problem.basis.laws))
    problem.require_samples(owner)
    parts = [(part, EACH_TARGET, targets) for part, targets in problem.parts]
    shape = len(problem.spread), len(problem.basis.laws)
    draws = n_resamples, confidence_level, make_generator(random_state)
    return interval_of_parts(parts, shape, method, *draws)


def interval_of_parts(
    parts: Iterable[tuple[FittedProblem, RowSums, Any]],  # and their places in the rows
    shape: tuple[int, int],  # (n_rows, n_features)
    method: str,
    n_resamples: int,
    confidence_level: float,
    generator: np.random.Generator,
) -> SobolInterval:
    """Return an interval of the rows of parts, each of complete targets."""
    bounds = np.empty((2, shape[0], 3 * shape[1]))  # of first, total, Shapley shares
    draws = n_resamples, confidence_level, generator
    for problem, rows, places in parts:
        if method == "posterior":
            bounds[:, places] = posterior_bounds(problem, *draws, rows)
            continue
        linear = problem.linear
        with one_thread_if_small(linear.design.size):
            if method == "residual":
                bounds[:, places] = residual_bounds(problem, linear, *draws, rows)
                continue
            # Percentiles of shares over resamples; 0 where there is no variance.
            laws, found = problem.learned_laws(), []
            counts = resample_counts(linear.weights, n_resamples, generator)
            step = max(1, LARGEST_BLOCK // max(problem.fit.coefficients.size, 1))
            # Of a surrogate distributions end at the resample.
            ends = generator if rows is EACH_TARGET else None
            masks = index_masks(laws.multi_indices)[1:]
            for start in range(0, n_resamples, step):
                known = linear, problem.fit, counts[start : start + step], ends
                drawn = laws.resample(problem.solver, *known)
                squares = rows.squares(drawn, problem.spread)[..., 1:]
                variance = squares.sum(axis=-1, keepdims=True)
                found.append(squares @ masks / np.where(variance > 0, variance, 1.0))
            every = np.concatenate(found)
            bounds[:, places] = percentile_bounds(every, confidence_level)
    first, total, shapley = np.split(np.clip(bounds, 0.0, 1.0), 3, axis=2)
    # An index is at most the Shapley effect, which is at most the total index.
    low = np.maximum.accumulate([first[0], shapley[0], total[0]])
    high = np.minimum.accumulate([total[1], shapley[1], first[1]])[::-1]
    first, shapley, total = np.stack([low, high], axis=1)
    return SobolInterval(first, total, shapley, float(confidence_level), method)


def checked_method(
    owner: str, method: Any, solver: CoefficientSolver, default: str
) -> str:
    """Return the method of an interval; None is the best for the solver.

    The posterior knows nothing of terms that were cut off.
    """
    if method is None:
        is_whole = isinstance(solver, LearnedRidgeSolver) and not solver.is_cut
        return "posterior" if is_whole else default
    check_option(owner, "method", method, INTERVAL_METHODS)
    if method == "posterior" and not isinstance(solver, LearnedRidgeSolver):
        raise ValueError(
            f"{owner} has method='posterior' for fits that learned a prior (without a "
            "solver or regressor); expected 'residual' or 'bootstrap'."
        )
    return str(method)


def posterior_bounds(
    problem: FittedProblem,
    n_draws: int,
    confidence_level: float,
    generator: np.random.Generator,
    rows: RowSums,
) -> FloatArray:  # shape: (2, n_rows, 3 * n_features)
    """Return quantiles of shares over draws of the coefficients; 0 below if unsettled.

    The squares of a draw exceed those of the coefficients by their variance on average.
    """
    squares, known = posterior_squares(
        problem, n_draws, generator, rows, spread=1.0, relearns=True
    )
    whole = squares[:, :, -1:]
    assert isinstance(problem.solver, LearnedRidgeSolver)  # see ``checked_method``
    varies = np.tile(problem.solver.priors[0].n_functions > 0, 3)
    with np.errstate(over="ignore"):
        shares = squares[:, :, :-1] / np.maximum(whole, 1e-300)
    bounds = np.empty((2, *shares.shape[1:]))
    # Where nothing varies an input may have any share.
    for end, of_nothing in enumerate(np.outer([0.0, 1.0], varies)):
        own = np.where(whole > 0, np.minimum(shares, 1.0), of_nothing)
        angles = np.arcsin(np.sqrt(own))
        middle = np.median(angles, axis=0)
        reach = _REACH * (percentile_bounds(angles, confidence_level)[end] - middle)
        bounds[end] = np.square(np.sin(np.clip(middle + reach, 0.0, np.pi / 2)))
    alone, any_order = np.split(known, 2, axis=1)
    bounds[0] *= np.hstack([alone, any_order, any_order])
    outputs_vary = rows.largest((problem.spread > 0).astype(np.float64)) > 0
    bounds[:, ~outputs_vary] = 0.0
    return bounds


def residual_bounds(
    fitted: FittedProblem,
    problem: LinearProblem,
    n_resamples: int,
    confidence_level: float,
    generator: np.random.Generator,
    rows: RowSums,
) -> FloatArray:  # shape: (2, n_rows, n_masks)
    """Return bounds of the shares of the variance."""
    weights, fit, coefficients = problem.weights, fitted.fit, fitted.coefficients
    laws = fitted.learned_laws(whole=True)
    below = index_masks(laws.multi_indices)
    masks = below[: coefficients.shape[1]]
    shares = dirichlet_shares(weights, n_resamples, generator)
    # Of held-out samples: of all terms, then of each mask.
    every = [(np.arange(len(masks)) > 0).astype(np.float64), *masks.T]
    if isinstance(fitted.solver, GeneralizedRidgeSolver):
        components = _left_out(problem, fit, coefficients, every)
    else:
        components = _left_out_by_refits(problem, fitted, every)
    residuals = np.asarray(fit.loo_residuals)
    missing = np.asarray(~np.isfinite(residuals).all(axis=0))
    residuals = rows.image(np.where(missing, 0.0, residuals))
    undefined = rows.largest(missing.astype(np.float64)) > 0
    price, factor = _factors(fit, weights, n_resamples, generator)
    price, factor = rows.largest(price), rows.largest(factor)
    unresolved = price * factor * rows.add(shares @ np.square(residuals))
    given = rows.image(coefficients.T).T
    changes, excess = law_errors(laws, given, weights, shares, below, generator)
    changes = np.swapaxes(rows.add(np.swapaxes(changes, 1, 2)), 1, 2)
    excess = rows.add(excess.T).T
    share = weights / weights.sum()

    def known(mask: FloatArray, component: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the square of the coefficients, and twice the cross term."""
        product = rows.add(residuals * rows.image(component))
        center = share @ product
        spread = shares @ product - center
        seen = spread.var(axis=0)
        expected = rows.variance(regression_variance(fit, coefficients, mask))
        ratio = expected / np.where(seen > 0, seen, np.inf)
        cross = center + spread * np.sqrt(price * factor * np.maximum(ratio, 1.0))
        return rows.add(np.square(given) @ mask), 2.0 * cross

    all_squares, all_cross = known(*next(components))
    bounds = np.empty((2, len(all_squares), masks.shape[1]))
    tail = (1.0 - confidence_level) / 2.0
    for number, (mask, component) in enumerate(components):
        squares, cross = known(mask, component)
        change = changes[..., number]
        inside = squares + cross + change
        outside = all_squares - squares + all_cross - cross + changes[..., -1] - change
        surely = np.maximum(inside - excess[:, number], 0.0)
        inside, outside = np.maximum(inside, 0.0), np.maximum(outside, 0.0)
        variance = inside + outside + unresolved
        safe = np.where(variance > 0, variance, 1.0)
        bounds[0, :, number] = np.quantile(surely / safe, tail, axis=0)
        upper = (inside + unresolved) / safe
        bounds[1, :, number] = np.quantile(upper, 1.0 - tail, axis=0)
    bounds[0, undefined], bounds[1, undefined] = 0.0, 1.0
    spread_of_targets = weighted_spread(problem.targets, weights)
    bounds[:, rows.largest(spread_of_targets) == 0] = 0.0
    return bounds


def _factors(
    fit: LinearFit,
    weights: FloatArray,
    n_resamples: int,
    generator: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:  # shapes: (n_targets,), (n_resamples, n_targets)
    """Return factors on squared residuals: of what was chosen, and of their own error.

    The first is the price of the terms or the penalty that were chosen. The second,
    drawn, is degrees of freedom over chi-squared: least squares leaves as many of them
    as samples exceed terms, a penalty all of them.
    """
    n_copies = max(float(weights.sum()), float(len(weights)))
    n_terms, is_shrunk = fit.scales.shape[1] - 1, fit.alpha > 0
    sizes = np.count_nonzero(fit.scales[:, 1:], axis=1)
    choices = np.where(sizes < n_terms, sizes, is_shrunk.astype(np.int64))
    price = np.array([correction(size, n_terms, n_copies) for size in choices])
    lost = 1.0 + np.where(is_shrunk, 0, sizes)
    freedom, which = np.unique(np.maximum(n_copies - lost, 1.0), return_inverse=True)
    drawn = generator.chisquare(freedom, size=(n_resamples, len(freedom)))
    return price, (freedom / drawn)[:, which]


def regression_variance(
    fit: LinearFit,
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    mask: FloatArray,  # shape: (n_terms,)
) -> FloatArray:  # shape: (n_targets,)
    """Return the variance of ``sum_j mask_j c_j delta_j`` for known ``c``.

    ``delta`` has the covariance ``sigma^2 (A'A + alpha S^-2)^-1``: that of least
    squares, or with a penalty that of the posterior whose mean is the fit.
    """
    variance = np.zeros(len(coefficients))
    for factor, mine, penalties, which in fit.leverage.groups():
        part = coefficients[np.ix_(mine, factor.used)]
        part = part * (mask[factor.used] * factor.scale)
        size = factor.lengths(part, penalties)[np.arange(len(mine)), which]
        variance[mine] = fit.residual_variance[mine] * size
    return np.nan_to_num(variance)


Components = Iterator[tuple[FloatArray, FloatArray]]


def _left_out(
    problem: LinearProblem,
    fit: LinearFit,
    coefficients: FloatArray,
    masks: list[FloatArray],
) -> Components:
    """Yield the components at each sample of the fit without one copy of it."""
    design, removed = problem.design, np.minimum(problem.weights, 1.0)
    change = removed[:, np.newaxis] * np.nan_to_num(fit.loo_residuals)
    every = np.column_stack(masks)
    groups = []  # of targets with one penalty: leverages of each mask
    for factor, mine, penalties, which in fit.leverage.groups():
        inside = factor.scaled(design) @ factor.right.T
        for position, penalty in enumerate(penalties):
            influence = np.zeros_like(design)  # G psi_k of each sample
            shrunk = inside / (factor.singular_values**2 + penalty)
            influence[:, factor.used] = (shrunk @ factor.right) * factor.scale
            groups.append(((design * influence) @ every, mine[which == position]))
    for number, mask in enumerate(masks):
        used = np.flatnonzero(mask)
        part = design[:, used] * mask[used]
        component = part @ coefficients[:, used].T
        for leverages, targets in groups:
            component[:, targets] -= change[:, targets] * leverages[:, [number]]
        yield mask, component


def _left_out_by_refits(
    problem: LinearProblem, fitted: FittedProblem, masks: list[FloatArray]
) -> Components:
    """Yield the same of a regressor that is not known, fitted without each fold."""
    left_out = np.zeros((len(masks), *problem.targets.shape))
    for training, held_out in folds_of(problem):
        again = fitted.solver.refit(problem.of_rows(training), fitted.fit)
        for number, mask in enumerate(masks):
            left_out[number, held_out] = problem.design[held_out] * mask @ again.T
    yield from zip(masks, left_out, strict=True)
