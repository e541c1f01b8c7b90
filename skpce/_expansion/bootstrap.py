r"""The bootstrap over samples, and bounds that contain the error of the expansion.

In the bootstrap, terms and penalties stay those of the full fit: copies of a sample in
a resample would leak into a leave-one-out error. So the spread of the resamples shows
the error of the coefficients, and with a ``RelearningSolver`` that of the input laws,
but neither the truncation of the expansion nor the search for its terms.

The other bounds contain these as well. Let :math:`f = \hat f + e` with the fitted
expansion :math:`\hat f = \sum_j \hat c_j \psi_j` and its error
:math:`e = \sum_j \delta_j \psi_j`: the error of the coefficients, the terms that are
missing and, in noisy data, the noise. For a set of terms, such as those of one input,
the variance is *exactly*

.. math:: V_i = \sum_{j \in i} (\hat c_j + \delta_j)^2
   = \hat V_i + 2 X_i + a_i R, \qquad
   X_i = E[e\, \hat f_i], \quad R = E[e^2], \quad 0 \le a_i \le 1,

with :math:`\hat f_i = \sum_{j \in i} \hat c_j \psi_j`. Of these three
quantities:

- :math:`\hat V_i` is known: the squares of the coefficients;
- :math:`X_i` and :math:`R`, means over new samples of :math:`e \hat f_i` and
  :math:`e^2`, are estimated by leave-one-out: sample :math:`k` is new to the fit
  without it. Their error is drawn by the Bayesian bootstrap over the samples [1]_,
  for both together;
- :math:`a_i`, the share of the error that belongs to the set, is *not* known and
  not estimated: the lower bound has :math:`a_i = 0`, the upper :math:`a_i = 1`.

So the index lies between :math:`K_i / (K_i + K_{-i} + R)` and
:math:`(K_i + R) / (K_i + K_{-i} + R)` with :math:`K = \max(\hat V + 2X, 0)` and
:math:`-i` all other terms. The interval joins the lower quantile of the first and the
upper quantile of the second. It is about as wide as the unexplained share or wider, and
nearly :math:`[0, 1]` for a fit at chance: there :math:`\hat V + 2 X` is about 0. The
term :math:`X_i` corrects both shrinkage (an error like :math:`\hat f_i`,
:math:`X_i > 0`) and fitted noise (:math:`X_i < 0`).

Leaving sample :math:`k` out changes the coefficients by
:math:`-e_k G \psi_k`, with :math:`G = (A^T A + \lambda S^{-2})^{-1}`, so that
:math:`\hat f_i^{(-k)}(x_k) = \hat f_i(x_k) - e_k h_{ki}` with the part :math:`h_{ki}`
of the leverage that belongs to the terms of the set: no refits are needed.

Leave-one-out errors of a fit that nearly interpolates depend on each other, and the
bootstrap ignores this. The spread of :math:`X_i` is therefore at least that of
:math:`\sum_{j \in i} \hat c_j \delta_j` when :math:`\delta` has the covariance
:math:`\sigma^2 G`: that of least squares, or the posterior one of a ridge.

The leave-one-out residuals of a fit that *searched* for its :math:`s` of :math:`P`
terms do not include the search. Their squares are multiplied by the price
:math:`P^{2 s / n}` of the risk inflation criterion [2]_, and the spread of
:math:`X_i` accordingly; a chosen penalty, and each decay of its weights, costs as
much as one term. Last, residual variances have an error of their own: both are drawn
with the factor :math:`\nu / \chi^2_\nu` of :math:`\nu` degrees of freedom.

A distribution that was *learned* has an error too. The index is that under the true
one, in whose functions :math:`\hat f` has other coefficients :math:`\hat c_j + d_j`:

.. math:: \hat V_i \quad\text{becomes}\quad
   \hat V_i + 2 \sum_{j \in i} \hat c_j d_j + \sum_{j \in i} d_j^2 .

The bootstrap that draws :math:`X_i` and :math:`R` draws :math:`d` as well: the laws are
learned anew from the samples with its weights, so the effect of a sample on both is
counted once. As squares of estimates are, :math:`\hat V_i` is too large, by about
:math:`\sum_{j \in i} \mathrm{Var}\, d_j`: the lower bound subtracts this sum from the
input, the upper one does not. The change of :math:`\hat f_i` in :math:`X_i` is a
product of two errors and neglected. Weights do not move the outermost samples, which
are the bounds of a learned law that has bounds: those are drawn by
:meth:`~skpce._expansion.relearned_laws.LearnedLaws.outer_bounds`.

References
----------
.. [1] D. B. Rubin, "The Bayesian bootstrap", Annals of Statistics 9 (1981).
.. [2] D. P. Foster and E. I. George, "The risk inflation criterion for multiple
   regression", Annals of Statistics 22 (1994), eq. (3).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._checks import FloatArray, IndexArray
from .._solvers import CoefficientSolver, LinearFit, LinearProblem
from .._solvers.external import folds_of
from .._solvers.problem import weighted_spread, without_slopes
from .._solvers.ridge import GeneralizedRidgeSolver
from .._solvers.sparse import correction
from .problem import FittedProblem
from .relearned_laws import LearnedLaws

#: Coefficients of resamples in memory at a time while indices are computed: 64 MiB.
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
    """Return the coefficients of every resample."""
    return solver.resample(problem, fit, counts)


def bootstrap_blocks(
    solver: CoefficientSolver,
    problem: LinearProblem,
    fit: LinearFit,
    counts: IndexArray,
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield coefficients of blocks of resamples, without slopes of constant targets."""
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
    masks: FloatArray,  # shape: (n_terms, n_masks), parts of the squares that count
) -> FloatArray:  # shape: (n_resamples, n_targets, n_masks)
    """Return shares of the variance in each resample; 0 where there is none."""
    shares = np.empty((len(counts), len(fit.coefficients), masks.shape[1]))
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


def residual_bounds(
    fitted: FittedProblem,
    problem: LinearProblem,
    laws: LearnedLaws,
    masks: FloatArray,  # shape: (n_terms of ``laws``, n_masks)
    n_resamples: int,
    confidence_level: float,
    generator: np.random.Generator,
) -> FloatArray:  # shape: (2, n_targets, n_masks)
    """Return bounds of the shares of the variance.

    A target without leave-one-out residuals has the bounds 0 and 1, a constant one 0
    and 0.
    """
    weights, fit, coefficients = problem.weights, fitted.fit, fitted.coefficients
    below, masks = masks, masks[: coefficients.shape[1]]
    rows = _bayesian_bootstrap(weights, n_resamples, generator)
    price = search_price(problem, fit)
    residuals, components = _held_out(fitted.solver, problem, fit, coefficients, masks)
    defined = np.isfinite(residuals).all(axis=0)
    residuals = np.where(defined, residuals, 0.0)
    factor = _variance_factor(fit, weights, n_resamples, generator)
    unresolved = price * factor * (rows @ np.square(residuals))
    changes, excess = _law_errors(laws, coefficients, weights, rows, below, generator)
    whole = np.arange(len(masks)) > 0
    share = weights / weights.sum()

    def known(mask: FloatArray, component: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the square of the coefficients, and twice the cross term."""
        product = residuals * component
        center = share @ product
        spread = rows @ product - center
        seen = spread.var(axis=0)
        expected = regression_variance(fit, coefficients, mask)
        ratio = expected / np.where(seen > 0, seen, np.inf)
        cross = center + spread * np.sqrt(price * factor * np.maximum(ratio, 1.0))
        return np.square(coefficients) @ mask, 2.0 * cross

    parts = ((mask, component) for mask, component in components)
    _, component = next(parts)
    all_squares, all_cross = known(whole.astype(np.float64), component)
    bounds = np.empty((2, len(coefficients), masks.shape[1]))
    tail = (1.0 - confidence_level) / 2.0
    for number, (mask, component) in enumerate(parts):
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
    bounds[0, ~defined], bounds[1, ~defined] = 0.0, 1.0
    bounds[:, weighted_spread(problem.targets, weights) == 0] = 0.0
    return bounds


def _law_errors(
    laws: LearnedLaws,
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    weights: FloatArray,  # shape: (n_samples,)
    rows: FloatArray,  # shape: (n_resamples, n_samples)
    masks: FloatArray,  # shape: (n_terms or more, n_masks)
    generator: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:  # ([n_resamples,] n_targets, n_masks + 1)
    """Return how squares change with the laws, and by how much they are too large.

    For each set of terms, and last for all of them: the change of the sum of squares
    under the laws of each resample, and the sum of the variances of the coefficients
    over the resamples. Both are 0 where no law was learned.
    """
    n_resamples, shape = len(rows), (len(coefficients), masks.shape[1] + 1)
    if not laws.features:
        return np.zeros((1, *shape)), np.zeros(shape)
    n_copies = max(round(float(weights.sum())), 1)
    bounds = laws.outer_bounds(n_copies, n_resamples, generator)
    matrices = laws.changes(rows, bounds)
    every = np.column_stack([masks, np.ones(len(masks))])[1:]
    given = np.pad(coefficients, ((0, 0), (0, len(masks) - coefficients.shape[1])))
    given = given[:, 1:]
    changes = np.empty((n_resamples, *shape))
    mean, square = np.zeros((2, *given.shape))
    step = max(1, LARGEST_BLOCK // max(given.size, 1))
    for start in range(0, n_resamples, step):
        block = slice(start, start + step)
        part = {i: matrix[block] for i, matrix in matrices.items()}
        change = laws.relearned(coefficients[np.newaxis], part)[:, :, 1:] - given
        changes[block] = (change * (2.0 * given + change)) @ every
        mean += change.sum(axis=0) / n_resamples
        square += np.square(change).sum(axis=0) / n_resamples
    return changes, np.maximum(square - np.square(mean), 0.0) @ every


def search_price(
    problem: LinearProblem, fit: LinearFit
) -> FloatArray:  # shape: (n_targets,)
    """Return the factor on squared residuals for a search.

    Every term that was searched for is one choice; without such a search the penalty
    and every decay of the weights are.
    """
    n_copies = max(float(problem.weights.sum()), float(len(problem.weights)))
    n_terms = fit.scales.shape[1] - 1
    sizes = np.count_nonzero(fit.scales[:, 1:], axis=1)
    choices = np.where(sizes < n_terms, sizes, _penalty_choices(problem, fit))
    return np.array([correction(size, n_terms, n_copies) for size in choices])


def _penalty_choices(problem: LinearProblem, fit: LinearFit) -> IndexArray:
    """Count the penalty and the distinct decays that differ from 1."""
    linear = fit.scales[:, problem.exponents.sum(axis=1) == 1]
    choices = []
    for row, penalty in zip(np.round(linear, 12), fit.alpha, strict=True):
        decays = np.unique(row[row != 1.0]).size
        searched_each = np.unique(row).size > 1
        choices.append(
            (penalty > 0) * (1 + (len(row) if searched_each else min(decays, 1)))
        )
    return np.array(choices, dtype=np.int64)


def _variance_factor(
    fit: LinearFit,
    weights: FloatArray,  # shape: (n_samples,)
    n_resamples: int,
    generator: np.random.Generator,
) -> FloatArray:  # shape: (n_resamples, n_targets)
    """Draw the error of the residual variance: degrees of freedom over chi-squared.

    Least squares leaves as many degrees of freedom as samples exceed terms, a penalty
    all of them.
    """
    n_copies = max(float(weights.sum()), float(len(weights)))
    sizes = np.count_nonzero(fit.scales[:, 1:], axis=1)
    lost = 1.0 + np.where(fit.alpha > 0, 0, sizes)
    freedom, which = np.unique(np.maximum(n_copies - lost, 1.0), return_inverse=True)
    drawn = generator.chisquare(freedom, size=(n_resamples, len(freedom)))
    return (freedom / drawn)[:, which]


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
    for number, factor in enumerate(fit.leverage.factors):
        mine = np.flatnonzero(fit.leverage.factor_of_target == number)
        part = coefficients[np.ix_(mine, factor.used)]
        part = part * (mask[factor.used] * factor.scale)
        shown = np.square(part @ factor.right.T)
        length = np.square(part).sum(axis=1)
        hidden = length - shown.sum(axis=1)
        hidden = np.where(hidden > 1e-9 * length, hidden, 0.0)
        penalty = fit.leverage.alpha[mine]
        squares = factor.singular_values**2 + penalty[:, np.newaxis]
        size = (shown / squares).sum(axis=1)
        size += hidden / np.where(penalty > 0, penalty, np.inf)
        variance[mine] = fit.residual_variance[mine] * size
    return np.nan_to_num(variance)


def _bayesian_bootstrap(
    weights: FloatArray, n_resamples: int, generator: np.random.Generator
) -> FloatArray:  # shape: (n_resamples, n_samples)
    """Draw Dirichlet shares; a weight of at least 1 is a number of copies."""
    copies = weights * max(1.0, len(weights) / weights.sum())
    drawn = generator.standard_gamma(copies, size=(n_resamples, len(weights)))
    return drawn / drawn.sum(axis=1, keepdims=True)


Components = Iterator[tuple[FloatArray, FloatArray]]


def _held_out(
    solver: CoefficientSolver,
    problem: LinearProblem,
    fit: LinearFit,
    coefficients: FloatArray,
    masks: FloatArray,
) -> tuple[FloatArray, Components]:
    """Return held-out residuals, and components: of all terms, then of each mask."""
    whole = (np.arange(len(masks)) > 0).astype(np.float64)
    every = [whole, *masks.T]
    if isinstance(solver, GeneralizedRidgeSolver):
        return fit.loo_residuals, _left_out(problem, fit, coefficients, every)
    return _of_folds(solver, problem, fit, every)


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
    groups = [
        ((design * influence) @ every, targets)
        for influence, targets in _influences(design, fit)
    ]
    for number, mask in enumerate(masks):
        used = np.flatnonzero(mask)
        part = design[:, used] * mask[used]
        component = part @ coefficients[:, used].T
        for leverages, targets in groups:
            component[:, targets] -= change[:, targets] * leverages[:, [number]]
        yield mask, component


def _influences(
    design: FloatArray, fit: LinearFit
) -> Iterator[tuple[FloatArray, IndexArray]]:
    """Yield ``G psi_k`` for each sample, once for all targets that share it."""
    for number, factor in enumerate(fit.leverage.factors):
        mine = np.flatnonzero(fit.leverage.factor_of_target == number)
        penalties, which = np.unique(fit.leverage.alpha[mine], return_inverse=True)
        centred = (design[:, factor.used] - factor.center[factor.used]) * factor.scale
        inside = centred @ factor.right.T
        for position, penalty in enumerate(penalties):
            influence = np.zeros_like(design)
            shrunk = inside / (factor.singular_values**2 + penalty)
            influence[:, factor.used] = (shrunk @ factor.right) * factor.scale
            yield influence, mine[which == position]


def _of_folds(
    solver: CoefficientSolver,
    problem: LinearProblem,
    fit: LinearFit,
    masks: list[FloatArray],
) -> tuple[FloatArray, Components]:
    """Refit without one fold after another; for a regressor that is not known."""
    n_samples, n_targets = problem.targets.shape
    residuals = np.full((n_samples, n_targets), np.nan)
    components = np.zeros((len(masks), n_samples, n_targets))
    for training, held_out in folds_of(problem):
        coefficients = solver.refit(problem.of_rows(training), fit)
        design = problem.design[held_out]
        residuals[held_out] = problem.targets[held_out] - design @ coefficients.T
        for number, mask in enumerate(masks):
            components[number, held_out] = (design * mask) @ coefficients.T
    return residuals, zip(masks, components, strict=True)
