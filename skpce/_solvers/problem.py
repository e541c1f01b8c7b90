r"""The linear problem of an expansion, the decomposition of its design, ridge fits.

A coefficient solver takes a design matrix and targets and returns coefficients.
Nearly every fit here is a *generalised ridge*: with the scale :math:`s_j` of each
term it minimises
:math:`\sum_i w_i (y_i - c^T \psi(x_i))^2 + \lambda \sum_j c_j^2/s_j^2`.
A plain ridge has :math:`s_j = 1`, degree weights have :math:`s_j = \gamma^{-|j|}`, a
sparse fit has :math:`\lambda = 0` and :math:`s_j = 0` for every term that is left out.
The scales and the penalty are therefore all that is needed to repeat a fit on other
samples.

One singular value decomposition serves all penalties and all targets, and gives the
residuals of leaving samples out ("Ridge with a free intercept" in the page
"Mathematics" of the documentation).

References
----------
.. [1] G. H. Golub, M. Heath and G. Wahba, "Generalized cross-validation as a method
   for choosing a good ridge parameter", Technometrics 21 (1979).
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, ClassVar

import numpy as np
from scipy.linalg.lapack import dpocon, dpotrf, dpotrs
from scipy.sparse import csr_array

from .._checks import FloatArray, IndexArray, state_of_fields


def weighted_squares(
    values: FloatArray,  # shape: (n_samples, n)
    weights: FloatArray,  # shape: (n_samples,)
    center: FloatArray | float = 0.0,  # shape: (n,)
) -> FloatArray:  # shape: (n,)
    """Return the weighted sum of squares about a center."""
    rest = values - center
    return np.asarray(weights @ np.square(rest, out=rest))


#: The Gram matrix squares the condition number; up to this ratio of its eigenvalues
#: the coefficients are accurate to ten digits.
SMALLEST_EIGENVALUE_RATIO = 1e-5


def factorize(
    matrix: FloatArray,  # shape: (n_samples, n_columns)
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the singular value decomposition without what is rounding."""
    n_samples, n_columns = matrix.shape
    if not matrix.size:
        return matrix[:, :0], np.zeros(0), np.zeros((0, n_columns))
    # The Gram matrix of the shorter side is two to three times as fast.
    short = matrix if n_samples < n_columns else matrix.T
    squares, vectors = np.linalg.eigh(short @ short.T)
    large = squares > SMALLEST_EIGENVALUE_RATIO * squares[-1]
    values, own = np.sqrt(squares[large]), vectors[:, large]
    # Centred rows have a direction of no length. What is short but has a length has no
    # digits here.
    length = np.sqrt(np.square(vectors[:, ~large].T @ short).sum(axis=1))
    rounding = max(matrix.shape) * np.finfo(float).eps  # of the largest value
    if large.any() and length.max(initial=0.0) <= rounding * values.max():
        other = (own / values).T @ short
        return (own, values, other) if short is matrix else (other.T, values, own.T)
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    rank = int(np.sum(values > rounding * values.max(initial=0.0)))
    return left[:, :rank], values[:rank], right[:rank]


@dataclass(frozen=True)
class LinearProblem:
    """The samples to which a solver fits the coefficients."""

    design: FloatArray  # shape: (n_samples, n_terms); column 0 is the constant
    targets: FloatArray  # shape: (n_samples, n_targets)
    weights: FloatArray  # shape: (n_samples,), positive frequencies
    groups: IndexArray  # shape: (n_targets,); a group may share its penalty and terms

    def resampled(self, counts: IndexArray) -> LinearProblem:
        """Take each sample as often as ``counts`` gives, without its weight."""
        drawn = np.flatnonzero(counts > 0)
        weights = counts[drawn].astype(np.float64)
        return replace(self.of_rows(drawn), weights=weights)

    def of_rows(self, rows: IndexArray) -> LinearProblem:
        """Select samples, which may be repeated."""
        return replace(
            self,
            design=self.design[rows],
            targets=self.targets[rows],
            weights=self.weights[rows],
        )


@dataclass(frozen=True)
class DesignMoments:
    """A problem as sums over its weighted samples, about their means."""

    total_weight: float
    mean: FloatArray  # shape: (n_terms,), of the columns of the design matrix
    target_mean: FloatArray  # shape: (n_targets,)
    gram: FloatArray  # shape: (n_terms, n_terms), products of centred columns
    cross: FloatArray  # shape: (n_terms, n_targets), products with centred targets
    target_square: FloatArray  # shape: (n_targets,), of the centred targets

    @classmethod
    def of_block(
        cls, design: FloatArray, targets: FloatArray, weights: FloatArray
    ) -> DesignMoments:
        """Sum over the samples of one block."""
        mean = weighted_mean(design, weights)
        target_mean = weighted_mean(targets, weights)
        centred, rest = design - mean, targets - target_mean
        left = weighted_mean(rest, weights)  # of equal targets, rounding would be left
        rest -= left
        target_mean += left
        if (weights != 1.0).any():
            root = np.sqrt(weights)[:, np.newaxis]
            centred *= root
            rest *= root
        gram, cross = centred.T @ centred, centred.T @ rest
        square = np.einsum("ik,ik->k", rest, rest)
        return cls(float(weights.sum()), mean, target_mean, gram, cross, square)

    def __add__(self, other: DesignMoments) -> DesignMoments:
        """Join two sets of samples (Chan, Golub and LeVeque's pairwise update).

        Exact but for rounding: ``partial_fit_exact``, checked in ``lean/Core``.
        """
        total = self.total_weight + other.total_weight
        share = other.total_weight / total
        factor = self.total_weight * share
        step, jump = other.mean - self.mean, other.target_mean - self.target_mean
        return DesignMoments(
            total,
            self.mean + share * step,
            self.target_mean + share * jump,
            self.gram + other.gram + np.outer(factor * step, step),
            self.cross + other.cross + np.outer(factor * step, jump),
            self.target_square + other.target_square + factor * np.square(jump),
        )

    def of_targets(self, columns: IndexArray) -> DesignMoments:
        """Select targets."""
        mean, square = self.target_mean[columns], self.target_square[columns]
        cross = self.cross[:, columns]
        return replace(self, target_mean=mean, target_square=square, cross=cross)

    @property
    def target_spread(self) -> FloatArray:
        """Sum of squares of the targets about their mean, 0 for rounding noise."""
        offset = self.total_weight * np.square(self.target_mean)
        rounding = np.square(10 * np.finfo(float).eps) * (self.target_square + offset)
        return np.where(self.target_square > rounding, self.target_square, 0.0)


def sum_moments(blocks: Iterable[DesignMoments]) -> DesignMoments:
    """Join blocks of samples."""
    return reduce(operator.add, blocks)


@dataclass(frozen=True)
class LinearFit:
    """The coefficients of every target, and what repeats or judges the fit."""

    coefficients: FloatArray  # shape: (n_targets, n_terms)
    alpha: FloatArray  # shape: (n_targets,), in units of the sum-of-squares loss
    scales: FloatArray  # shape: (n_targets, n_terms); 0 where a term is left out
    leverage: Leverage  # of new samples
    # The mean squared error by which the penalty was chosen.
    criterion: FloatArray  # shape: (n_targets,); inf where it is not defined
    # Of leaving one copy out, NaN where a sample alone determines its fit; times the
    # root of 1 - leverage they vary alike for all samples. None for a fit from sums.
    loo_residuals: Any  # shape: (n_samples, n_targets), or None
    scaled_residuals: Any  # shape: (n_samples, n_targets), or None
    residual_variance: FloatArray  # shape: (n_targets,), mean square of the scaled ones

    __getstate__ = state_of_fields

    def of_targets(self, columns: IndexArray) -> LinearFit:
        """Select targets."""
        some: dict[str, Any] = {name: getattr(self, name)[columns] for name in _ROWS}
        if self.loo_residuals is not None:
            some |= {name: getattr(self, name)[:, columns] for name in _COLUMNS}
        return replace(self, leverage=self.leverage.of_targets(columns), **some)

    def of_samples(self, rows: IndexArray) -> LinearFit:
        """Select samples."""
        return replace(self, **{name: getattr(self, name)[rows] for name in _COLUMNS})

    def among(self, rows: IndexArray, n_samples: int) -> LinearFit:
        """Place the samples among others, which have no residuals (NaN)."""
        placed: dict[str, Any] = {}
        for name in _COLUMNS:
            values = getattr(self, name)
            placed[name] = np.full((n_samples, values.shape[1]), np.nan)
            placed[name][rows] = values
        return replace(self, **placed)

    def loo_error(self, weights: FloatArray) -> FloatArray:  # shape: (n_targets,)
        """Return the mean squared leave-one-out residual, NaN where it is undefined.

        The weights are those of the samples of the fit. That a residual over one less
        its leverage is that of the only fit without the sample, of the same terms and
        penalty, is checked in ``lean/Core`` (``leave_one_out``) where the fit has a
        penalty or a design of full rank.
        """
        return weighted_squares(self.loo_residuals, weights) / weights.sum()


# Arrays of a fit with a row for each target, and those with a column for each.
_ROWS = ("coefficients", "alpha", "scales", "criterion", "residual_variance")
_COLUMNS = ("loo_residuals", "scaled_residuals")


def join_fits(parts: Sequence[LinearFit], positions: Sequence[IndexArray]) -> LinearFit:
    """Join the fits of groups of targets, each given with the positions of its own."""
    if len(parts) == 1:
        return parts[0]
    order = np.argsort(np.concatenate(positions))
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])[order]
        for name in _ROWS
    }
    for name in _COLUMNS if parts[0].loo_residuals is not None else ():
        joined[name] = np.hstack([getattr(part, name) for part in parts])[:, order]
    factors: list[LeverageFactor] = []
    numbers = []
    for part in parts:
        numbers.append(part.leverage.factor_of_target + len(factors))
        factors.extend(part.leverage.factors)
    leverage = Leverage(tuple(factors), np.concatenate(numbers)[order], joined["alpha"])
    return replace(parts[0], leverage=leverage, **joined)


class CoefficientSolver(ABC):
    """A way to estimate the coefficients of an expansion."""

    #: Whether its design is the inputs themselves, not the basis at them.
    sees_inputs: ClassVar[bool] = False

    #: Whether few of the terms are chosen, so that there may be more than samples.
    chooses_terms: ClassVar[bool] = False

    #: Whether the penalty is chosen among ``alphas``; the others accept none.
    takes_alphas: ClassVar[bool] = False

    #: Whether ``fit_moments`` fits from sums over the samples, without a design matrix.
    fits_moments: ClassVar[bool] = False

    @abstractmethod
    def fit(self, problem: LinearProblem) -> LinearFit:
        """Choose penalties and terms and estimate the coefficients.

        One choice for each group of targets, such as the coordinates of a step, makes
        the fit of the group independent of the coordinates that it is given in.
        """

    @abstractmethod
    def refit(
        self, problem: LinearProblem, fit: LinearFit
    ) -> FloatArray:  # shape: (n_targets, n_terms)
        """Estimate coefficients on other samples with the penalties and terms of a fit.

        None is chosen anew: copies of a sample would leak into its leave-one-out error.
        """

    def resample(
        self,
        problem: LinearProblem,
        fit: LinearFit,
        counts: IndexArray,  # shape: (n_resamples, n_samples)
    ) -> FloatArray:  # shape: (n_resamples, n_targets, n_terms)
        """Return ``refit(problem.resampled(row), fit)`` for each row of counts."""
        return np.array([self.refit(problem.resampled(row), fit) for row in counts])


@dataclass(frozen=True)
class LeverageFactor:
    """Singular values and right singular vectors of one scaled design matrix."""

    right: FloatArray  # shape: (rank, n_used), right singular vectors
    singular_values: FloatArray  # shape: (rank,), those above rounding
    center: FloatArray  # shape: (n_terms,), weighted mean of the columns before scaling
    used: IndexArray  # shape: (n_used,), columns that take part
    scale: FloatArray  # shape: (n_used,), their scales
    base: float  # leverage of the free intercept; 0 where it is penalised

    @classmethod
    def of_constant(cls, n_terms: int, base: float) -> LeverageFactor:
        """Return the factor of a fit whose terms are not looked at."""
        nothing = np.zeros(0)
        center, used = np.zeros(n_terms), np.zeros(0, dtype=np.int64)
        return cls(np.zeros((0, 0)), nothing, center, used, nothing, base)

    def kept(self, alphas: FloatArray) -> FloatArray:  # (rank, n_alphas)
        """Return the share of each loading that a penalty leaves in the residuals."""
        return alphas / (self.singular_values[:, np.newaxis] ** 2 + alphas)

    def coefficients(
        self,
        mean: FloatArray,  # shape: (n_targets,), of the targets
        loadings: FloatArray,  # shape: (rank, n_targets), on the left singular vectors
        alpha: FloatArray,  # shape: (n_targets,)
    ) -> FloatArray:  # shape: (n_targets, n_terms)
        """Return the coefficients of the terms, with the intercept where it is free."""
        values = self.singular_values[:, np.newaxis]
        slopes = (values / (values**2 + alpha)) * loadings
        coefficients = np.zeros((len(mean), len(self.center)))
        coefficients[:, self.used] = (slopes.T @ self.right) * self.scale
        if self.base > 0:
            coefficients[:, 0] = mean - coefficients @ self.center
        return coefficients

    def scales(self, n_targets: int) -> FloatArray:
        """Return the scales of all terms, the same for each target."""
        scales = np.zeros((n_targets, len(self.center)))
        scales[:, 0] = 1.0
        scales[:, self.used] = self.scale
        return scales

    def scaled(self, design: FloatArray) -> FloatArray:  # shape: (n_samples, n_used)
        """Return the columns that take part, about their means."""
        return (design[:, self.used] - self.center[self.used]) * self.scale

    def lengths(self, rows: FloatArray, alpha: FloatArray) -> FloatArray:
        """Return ``r^T (A^T A + alpha I)^-1 r`` of rows r; (n_rows, n_alphas)."""
        squares = np.square(rows @ self.right.T)
        length = np.square(rows).sum(axis=1)
        hidden = length - squares.sum(axis=1)
        hidden = np.where(hidden > 1e-9 * length, hidden, 0.0)
        found = squares @ (1.0 / (self.singular_values[:, np.newaxis] ** 2 + alpha))
        return found + hidden[:, np.newaxis] / np.where(alpha > 0, alpha, np.inf)


@dataclass(frozen=True)
class Leverage:
    """The leverage of new samples for every target."""

    factors: Sequence[LeverageFactor]  # the distinct ones
    factor_of_target: IndexArray  # shape: (n_targets,)
    alpha: FloatArray  # shape: (n_targets,)

    @classmethod
    def shared(cls, factor: LeverageFactor, alpha: FloatArray) -> Leverage:
        """Return the leverage of targets that have one factor in common."""
        return cls((factor,), np.zeros(len(alpha), dtype=np.int64), alpha)

    def at(self, design: FloatArray) -> FloatArray:  # shape: (n_new, n_targets)
        r"""Return the leverage of new samples.

        :math:`h(x) = 1/\sum w + (\psi - \bar\psi)^T (A^T A + \lambda I)^{-1}
        (\psi - \bar\psi)`: ``1 + h`` is the variance of a prediction over that of
        the noise, and of a sample left out it is ``1 / (1 - leverage)``. Directions
        in which no sample varies count in full where there is a penalty.
        """
        leverage = np.empty((len(design), len(self.alpha)))
        for factor, mine, penalties, which in self.groups():
            lengths = factor.lengths(factor.scaled(design), penalties)
            leverage[:, mine] = (factor.base + lengths)[:, which]
        return leverage

    def groups(
        self,
    ) -> Iterator[tuple[LeverageFactor, IndexArray, FloatArray, IndexArray]]:
        """Yield each factor, its targets, their penalties, and which one each has."""
        for number, factor in enumerate(self.factors):
            mine = np.flatnonzero(self.factor_of_target == number)
            penalties, which = np.unique(self.alpha[mine], return_inverse=True)
            yield factor, mine, penalties, which

    def of_targets(self, columns: IndexArray) -> Leverage:
        """Select targets, and the factors that they use."""
        used, number = np.unique(self.factor_of_target[columns], return_inverse=True)
        factors = tuple(self.factors[k] for k in used)
        return Leverage(factors, number, self.alpha[columns])


#: Smallest deviation of a log-ratio that is not rounding: a relative error of 1e-13
#: in a probability is an absolute error of 1e-13 in its logarithm.
LOG_RATIO_FLOOR = 1e-13


def weighted_mean(
    values: FloatArray,  # shape: (n_samples, n)
    weights: FloatArray,  # shape: (n_samples,), of a positive sum
) -> FloatArray:  # shape: (n,)
    """Return the mean of each column, without a copy where all weights are 1."""
    if (weights == 1.0).all():
        return np.asarray(np.add.reduce(values, axis=0) / len(values))
    return np.asarray(np.average(values, axis=0, weights=weights))


def weighted_spread(
    targets: FloatArray,  # shape: (n_samples, n_targets)
    weights: FloatArray,  # shape: (n_samples,)
    floor: float = 0.0,
) -> FloatArray:  # shape: (n_targets,)
    """Return the weighted sum of squares about the mean, 0 for rounding noise."""
    # A deviation of ten units in the last place, or of the floor for a difference.
    mean = weighted_mean(targets, weights)
    spread, total = weighted_squares(targets, weights, mean), weights.sum()
    size = spread + total * np.square(mean)  # sum of squares about 0
    unit = np.finfo(float).eps
    # The error of a mean grows with the samples: of equal numbers, it is all there is.
    close = spread <= np.square((10 + len(targets)) * unit) * size
    if close.any():
        some, center = targets[:, close], mean[close]
        center = center + weighted_mean(some - center, weights)
        spread[close] = weighted_squares(some, weights, center)
    rounding = np.square(10 * unit) * size + total * floor**2
    return np.where(spread > rounding, spread, 0.0)


def without_slopes(coefficients: FloatArray, spread: FloatArray) -> FloatArray:
    """Set the slopes of targets without spread, which are rounding, to 0."""
    kept = (spread > 0)[:, np.newaxis] | (np.arange(coefficients.shape[1]) == 0)
    return np.where(kept, coefficients, 0.0)


def q2_from_sums(press: FloatArray, spread: FloatArray) -> FloatArray:
    """Return ``1 - press / spread``; NaN without spread, -inf without residuals."""
    safe = np.where(spread > 0, spread, 1.0)
    q2 = np.where(np.isnan(press), -np.inf, 1.0 - press / safe)
    return np.where(spread > 0, q2, np.nan)


#: Below this value 1 - leverage is rounding: the sample alone determines its own fit.
SMALLEST_FREEDOM = 1e-12


@dataclass(frozen=True)
class DesignDecomposition:
    """The weighted design matrix, its columns scaled, factorised once.

    A penalty on a scaled coefficient is one of ``alpha / scale**2`` on the coefficient.
    """

    left: FloatArray  # shape: (n_samples, rank), over the root of the weights
    factor: LeverageFactor  # singular values and right singular vectors
    weights: FloatArray  # shape: (n_samples,), positive frequencies

    @classmethod
    def from_design(
        cls,
        design: FloatArray,  # shape: (n_samples, n_terms)
        weights: FloatArray,  # shape: (n_samples,)
        *,
        free_intercept: bool = True,
        scale: FloatArray | None = None,  # columns of scale 0 are left out
    ) -> DesignDecomposition:
        """Factorise a design matrix, without column 0 where the intercept is free."""
        given = np.ones(design.shape[1]) if scale is None else scale
        used, center, base = np.flatnonzero(given), np.zeros(design.shape[1]), 0.0
        if free_intercept:
            center = weighted_mean(design, weights)
            used, base = used[used > 0], 1.0 / weights.sum()
        scaled = (design[:, used] - center[used]) * given[used]
        root = np.sqrt(weights)[:, np.newaxis]
        left, values, right = factorize(scaled * root)
        factor = LeverageFactor(right, values, center, used, given[used], base)
        return cls(left / root, factor, weights)

    def project(self, targets: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return means of targets, loadings, and what no penalty changes of residuals.

        Of shape (n_targets,), 0 for a penalised intercept; (rank, n_targets); and
        (n_samples, n_targets), 0 for saturated samples.
        """
        mean = np.zeros(targets.shape[1])
        if self.factor.base > 0:
            mean = weighted_mean(targets, self.weights)
        centred = targets - mean
        loadings = self.left.T @ (centred * self.weights[:, np.newaxis])
        outside = centred - self.left @ loadings
        outside[self._unpenalized_complement == 0.0] = 0.0
        return mean, loadings, outside

    @cached_property
    def _unpenalized_complement(self) -> FloatArray:
        """``1 - leverage`` at penalty 0; exactly 0 for saturated samples."""
        leverage = np.einsum("ik,ik->i", self.left, self.left) + self.factor.base
        base = 1.0 - np.minimum(self.weights, 1.0) * leverage
        return np.where(base > SMALLEST_FREEDOM, base, 0.0)

    def path_complement(self, alphas: FloatArray) -> FloatArray:
        """Return ``1 - leverage`` of one copy of each; (n_samples, n_alphas)."""
        # In this form nothing cancels when the penalty is small.
        # Left out is one copy, or the sample if it has less weight.
        shrunk = np.minimum(self.weights, 1.0)[:, np.newaxis] * np.square(self.left)
        return (
            shrunk @ self.factor.kept(alphas)
            + self._unpenalized_complement[:, np.newaxis]
        )

    def mean_complement(self, alphas: FloatArray) -> FloatArray:  # (n_alphas,)
        """Return the weighted mean of ``path_complement`` over the samples."""
        copies = self.weights * np.minimum(self.weights, 1.0)
        sums = np.square(self.left).T @ copies  # (rank,)
        base = self.weights @ self._unpenalized_complement
        return np.asarray(base + sums @ self.factor.kept(alphas)) / self.weights.sum()


def sum_rows(
    values: FloatArray,  # shape: (n, ...)
    groups: IndexArray,  # shape: (n,), from 0 to n_groups - 1
    n_groups: int,
) -> FloatArray:  # shape: (n_groups, ...)
    """Add up the rows of each group."""
    places = groups, np.arange(len(groups))
    member = csr_array((np.ones(len(groups)), places), shape=(n_groups, len(groups)))
    if not values.size:  # no step has a choice
        return np.zeros((n_groups, *values.shape[1:]))
    sums: FloatArray = member @ values.reshape(len(groups), -1)
    return sums.reshape(n_groups, *values.shape[1:])


#: Scores that differ by less, relatively, are a tie: the heavier penalty wins.
TIE_TOLERANCE = 1e-6


def best_penalties(
    scores: FloatArray,  # shape: (n_alphas, n_targets), alphas ascending
    groups: IndexArray,  # shape: (n_targets,)
) -> tuple[IndexArray, FloatArray]:  # both of shape (n_targets,)
    """Return the row of the smallest score pooled over a group, and its scores."""
    pooled, group_of = scores, np.arange(len(groups))
    if (groups[1:] <= groups[:-1]).any():  # else each target is a group, in this order
        labels, group_of = np.unique(groups, return_inverse=True)
        pooled = sum_rows(scores.T, group_of, len(labels)).T
    least = np.fmin.reduce(pooled, axis=0)  # the least that is a number
    # A score that rounding made negative is tied with itself too.
    tied = pooled <= least * (1.0 + np.copysign(TIE_TOLERANCE, least))
    best = len(pooled) - 1 - np.argmax(tied[::-1], axis=0)  # the last that is tied
    best = best[group_of]
    return best, scores[best, np.arange(len(groups))]


def distinct_scales(
    scales: FloatArray,  # shape: (n_targets, n_terms)
) -> list[tuple[FloatArray, IndexArray]]:
    """Return each distinct row with the targets that have it."""
    if len(scales) and (scales == scales[0]).all():
        return [(scales[0], np.arange(len(scales)))]
    rows, row_of = np.unique(scales, axis=0, return_inverse=True)
    row_of = row_of.ravel()
    return [(row, np.flatnonzero(row_of == k)) for k, row in enumerate(rows)]


# Smallest estimate of the condition at which a solution has nine digits.
_SMALLEST_RATIO = 1e-7


def slopes_by_normal_equations(
    columns: FloatArray,  # shape: (n_samples, n_columns)
    targets: FloatArray,  # shape: (n_samples, n_targets)
    weights: FloatArray,  # shape: (n_samples,)
    alpha: FloatArray,  # shape: (n_targets,)
) -> FloatArray | None:  # shape: (n_columns, n_targets)
    """Return ``(X' W X + alpha)^(-1) X' W y``; None where digits would be lost."""
    root = np.sqrt(weights)[:, np.newaxis]
    rows = columns * root
    if len(rows) < rows.shape[1]:
        return None
    gram, right = rows.T @ rows, rows.T @ (targets * root)
    if not gram.size:
        return right
    penalties, which = np.unique(alpha, return_inverse=True)
    size = np.abs(gram).sum(axis=0).max()
    solved = np.empty_like(right)
    for number, penalty in enumerate(penalties):
        shifted = gram.copy()
        shifted.flat[:: len(gram) + 1] += penalty
        factor, failed = dpotrf(shifted.T, lower=1, overwrite_a=1)
        ratio = 0.0 if failed else dpocon(factor, size + penalty, uplo="L")[0]
        if not ratio > _SMALLEST_RATIO:
            return None
        mine = which == number
        solved[:, mine] = dpotrs(factor, right[:, mine], lower=1)[0]
    return solved


#: Penalties tried by default, in units of the sum-of-squares loss. The upper end
#: lets the ridge return the mean where the inputs explain nothing.
DEFAULT_ALPHAS = np.logspace(-8, 4, 25)


class GeneralizedRidgeSolver(CoefficientSolver):
    """A solver whose fits are determined by scales and penalties."""

    free_intercept: bool = True

    def refit(self, problem: LinearProblem, fit: LinearFit) -> FloatArray:
        coefficients = np.zeros_like(fit.scales)
        for scale, targets in distinct_scales(fit.scales):
            some, alpha = problem.targets[:, targets], fit.alpha[targets]
            coefficients[targets] = self._refitted(problem, some, scale, alpha)
        return coefficients

    def _refitted(
        self,
        problem: LinearProblem,
        targets: FloatArray,  # shape: (n_samples, n_chosen)
        scale: FloatArray,  # shape: (n_terms,)
        alpha: FloatArray,  # shape: (n_chosen,)
    ) -> FloatArray:  # shape: (n_chosen, n_terms)
        """Refit by the normal equations, unless digits would be lost."""
        design, weights, used = problem.design, problem.weights, np.flatnonzero(scale)
        center, mean = np.zeros(len(scale)), np.zeros(len(alpha))
        if self.free_intercept:
            used = used[used > 0]
            share = weights / weights.sum()
            center, mean = share @ design, share @ targets
        columns = (design[:, used] - center[used]) * scale[used]
        slopes = slopes_by_normal_equations(columns, targets - mean, weights, alpha)
        if slopes is None:
            free = self.free_intercept
            decomposition = DesignDecomposition.from_design(
                design, weights, free_intercept=free, scale=scale
            )
            mean, loadings, _ = decomposition.project(targets)
            return decomposition.factor.coefficients(mean, loadings, alpha)
        coefficients = np.zeros((len(alpha), len(scale)))
        coefficients[:, used] = slopes.T * scale[used]
        if self.free_intercept:
            coefficients[:, 0] = mean - coefficients @ center
        return coefficients


class RidgePathSolver(GeneralizedRidgeSolver):
    """Minimise ``sum w (y - c Psi)^2 + alpha |c|^2`` for the best of some penalties."""

    takes_alphas = fits_moments = True

    def __init__(
        self,
        alphas: FloatArray,  # shape: (n_alphas,), ascending
        criterion: str = "loo",
        *,
        free_intercept: bool = True,
    ) -> None:
        self.alphas = alphas
        self.free_intercept = free_intercept
        self.criterion = criterion

    def fit(self, problem: LinearProblem) -> LinearFit:
        decomposition = DesignDecomposition.from_design(
            problem.design, problem.weights, free_intercept=self.free_intercept
        )
        return solve_path(
            decomposition, problem.targets, self.alphas, problem.groups, self.criterion
        )

    def fit_moments(self, moments: DesignMoments, groups: IndexArray) -> LinearFit:
        """Fit from sums over the samples; generalised cross-validation chooses."""
        return solve_moments(moments, self.alphas, groups)


class LeastSquaresSolver(RidgePathSolver):
    """Ordinary least squares; the solution of least norm where it is not unique."""

    takes_alphas = False

    def __init__(self) -> None:
        super().__init__(np.zeros(1))


#: Penalties of the paper, eq. (4): 1e-8, 10^-7.5, ..., 1.
PAPER_ALPHAS = np.logspace(-8, 0, 17)


class PaperSolver(RidgePathSolver):
    """The paper's eq. (4): the intercept penalised too, one penalty a target by GCV."""

    takes_alphas = fits_moments = False

    def __init__(self) -> None:
        super().__init__(PAPER_ALPHAS, free_intercept=False, criterion="gcv")

    def fit(self, problem: LinearProblem) -> LinearFit:
        each_alone = np.arange(problem.targets.shape[1])
        return super().fit(replace(problem, groups=each_alone))


#: How a penalty is chosen: closed-form leave-one-out, generalised cross-validation.
CRITERIA = ("loo", "gcv")

# Residuals of a path that are held at once, but for so many rows: 512 KiB.
_LARGEST_BLOCK, _FEWEST_ROWS = 262144, 256


def solve_path(
    decomposition: DesignDecomposition,
    targets: FloatArray,  # shape: (n_samples, n_targets)
    alphas: FloatArray,  # shape: (n_alphas,)
    groups: IndexArray,  # shape: (n_targets,)
    criterion: str = "loo",
) -> LinearFit:
    """Fit every penalty and select the best of each group by the criterion."""
    scores = path_scores(decomposition, targets, alphas, criterion)
    best, least = best_penalties(scores, groups)
    return fit_penalties(decomposition, targets, alphas[best], least)


def fit_penalties(
    decomposition: DesignDecomposition,
    targets: FloatArray,  # shape: (n_samples, n_targets)
    alpha: FloatArray,  # shape: (n_targets,)
    scores: FloatArray | None = None,  # shape: (n_targets,); None: leave-one-out
) -> LinearFit:
    """Fit targets with given penalties."""
    factor, weights = decomposition.factor, decomposition.weights
    mean, loadings, outside = decomposition.project(targets)
    values, value_of = np.unique(alpha, return_inverse=True)
    root = np.sqrt(decomposition.path_complement(values))
    root[root == 0.0] = np.nan
    own = root.take(value_of, axis=1)
    residuals = decomposition.left @ (factor.kept(alpha) * loadings)
    scaled = (residuals + outside) / own
    loo = scaled / own
    if scores is None:
        scores = weighted_squares(loo, weights) / weights.sum()
    return LinearFit(
        factor.coefficients(mean, loadings, alpha),
        alpha,
        factor.scales(len(alpha)),
        Leverage.shared(factor, alpha),
        np.where(np.isnan(scores), np.inf, scores),
        loo,
        scaled,
        weighted_squares(scaled, weights) / weights.sum(),
    )


def path_scores(
    decomposition: DesignDecomposition,
    targets: FloatArray,  # shape: (n_samples, n_targets)
    alphas: FloatArray,  # shape: (n_alphas,)
    criterion: str = "loo",
) -> FloatArray:  # shape: (n_alphas, n_targets)
    """Return the criterion, a mean square, of every penalty."""
    factor, total = decomposition.factor, decomposition.weights.sum()
    _, loadings, outside = decomposition.project(targets)
    if criterion == "gcv":
        mean = decomposition.mean_complement(alphas)
        freedom = np.where(mean > 0.0, mean, np.nan)
        squares = decomposition.weights @ np.square(outside)
        return _gcv(factor, loadings, alphas, squares / total, freedom, total)
    complement = decomposition.path_complement(alphas)
    complement[complement <= 0.0] = np.nan
    n_samples, n_targets = targets.shape
    scores = np.zeros((len(alphas), n_targets))
    step = max(1, _LARGEST_BLOCK // max(n_targets, 1))
    for start in range(0, len(alphas), step):
        some = slice(start, start + step)
        kept = factor.kept(alphas[some])[:, :, np.newaxis]
        size = kept.shape[1] * n_targets
        shrunk = (kept * loadings[:, np.newaxis]).reshape(len(kept), size)
        n_rows = max(_FEWEST_ROWS, _LARGEST_BLOCK // max(size, 1))
        for first in range(0, n_samples, n_rows):
            rows = slice(first, first + n_rows)
            flat = decomposition.left[rows] @ shrunk
            errors = flat.reshape(len(flat), kept.shape[1], n_targets)
            errors += outside[rows, np.newaxis]
            errors /= complement[rows, some, np.newaxis]
            sums = decomposition.weights[rows] @ np.square(flat, out=flat)
            scores[some] += sums.reshape(scores[some].shape)
    return scores / total


def solve_moments(
    moments: DesignMoments,
    alphas: FloatArray,  # shape: (n_alphas,), ascending
    groups: IndexArray,  # shape: (n_targets,)
    scale: FloatArray | None = None,  # shape: (n_terms,)
) -> LinearFit:
    """Fit every penalty from the sums and select the best of each group by GCV.

    Leverages need a second pass over the samples, generalised cross-validation does not
    [1]_. It differs from leave-one-out by the spread of the leverages, which is small
    where there are many samples for every term.
    """
    if scale is None:
        scale = np.ones(len(moments.mean))
    used = np.flatnonzero(scale)
    used = used[used > 0]
    scale = scale[used]
    gram = moments.gram[np.ix_(used, used)] * np.outer(scale, scale)
    squares, vectors = np.linalg.eigh(gram)
    large = squares > len(gram) * np.finfo(float).eps * squares.max(initial=0.0)
    vectors, values = vectors[:, large], np.sqrt(squares[large])
    total = moments.total_weight
    given = vectors.T, values, moments.mean, used, scale, 1.0 / total
    factor = LeverageFactor(*given)
    cross = vectors.T @ (scale[:, np.newaxis] * moments.cross[used])
    loadings = cross / values[:, np.newaxis]
    outside = moments.target_square - np.square(loadings).sum(axis=0)
    outside = np.where(outside > 1e-13 * moments.target_square, outside, 0.0)
    free = max(total - 1.0 - len(values), 0.0)  # without a penalty
    freedom = (free + factor.kept(alphas).sum(axis=0)) / total
    freedom = np.where(freedom > 1e-12, freedom, np.nan)
    scores = _gcv(factor, loadings, alphas, outside / total, freedom, total)
    best, criterion = best_penalties(scores, groups)
    alpha = alphas[best]
    return LinearFit(
        factor.coefficients(moments.target_mean, loadings, alpha),
        alpha,
        factor.scales(len(alpha)),
        Leverage.shared(factor, alpha),
        np.where(np.isnan(criterion), np.inf, criterion),
        None,
        None,
        criterion * freedom[best],
    )


def _gcv(
    factor: LeverageFactor,
    loadings: FloatArray,  # shape: (rank, n_targets)
    alphas: FloatArray,  # shape: (n_alphas,)
    outside: FloatArray,  # shape: (n_targets,), mean square that no penalty changes
    freedom: FloatArray,  # shape: (n_alphas,), share that is left
    total: float,
) -> FloatArray:  # shape: (n_alphas, n_targets)
    r"""Return the scores of generalised cross-validation, of all penalties.

    :math:`\mathrm{GCV}(\lambda) = \frac{\mathrm{RSS}/\sum w}{(1 - \mathrm{df}/\sum
    w)^2}` with :math:`\mathrm{df} = 1 + \sum_k s_k^2/(s_k^2+\lambda)` ([1]_, eq. 1.4).
    """
    inside = np.square(factor.kept(alphas)).T @ np.square(loadings) / total
    return (outside + inside) / np.square(freedom)[:, np.newaxis]
