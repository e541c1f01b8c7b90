r"""The linear problem of an expansion, its fit, and the decomposition of its design.

What a coefficient solver is: design matrix and targets in, coefficients out.

Nearly every fit here is a *generalised ridge*: with the scale :math:`s_j` of each
term it minimises
:math:`\sum_i w_i (y_i - c^T \psi(x_i))^2 + \lambda \sum_j c_j^2/s_j^2`.
A plain ridge has :math:`s_j = 1`, degree weights have :math:`s_j = \gamma^{-|j|}`, a
sparse fit has :math:`\lambda = 0` and :math:`s_j = 0` for every term that is left out.
So two things, the scales and the penalty, say how to repeat a fit on other samples.

One singular value decomposition serves all penalties and all targets.

With :math:`A = W^{1/2}(\Psi - \bar\Psi) = U S V^T` the ridge fit of penalty
:math:`\lambda` has the fitted values
:math:`W^{-1/2} U\, \mathrm{diag}(s^2/(s^2+\lambda))\, U^T W^{1/2}(y - \bar y)`
and copy :math:`i` has the leverage
:math:`h_i = 1/\sum w + \sum_k (U_{ik}^2/w_i)\, s_k^2/(s_k^2+\lambda)`, so that the
residual of leaving one copy out is :math:`e_i / (1 - h_i)`: exact for a penalised
least-squares fit with a free intercept [1]_.

References
----------
.. [1] G. H. Golub, M. Heath and G. Wahba, "Generalized cross-validation as a method
   for choosing a good ridge parameter", Technometrics 21 (1979), section 2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigh, svd

from .._checks import FloatArray, IndexArray


@dataclass(frozen=True)
class LinearProblem:
    """What a solver is given.

    Parameters
    ----------
    design : ndarray of shape (n_samples, n_terms)
        Basis at the inputs; column 0 is the constant.
    targets : ndarray of shape (n_samples, n_targets)
        One column per target.
    weights : ndarray of shape (n_samples,)
        Positive frequencies.
    groups : ndarray of shape (n_targets,)
        Targets that share one choice (a penalty, a set of terms).
    exponents : ndarray of shape (n_terms, n_inputs)
        Degree of each term in each input.
    """

    design: FloatArray
    targets: FloatArray
    weights: FloatArray
    groups: IndexArray
    exponents: IndexArray

    def permuted(self, order: IndexArray) -> LinearProblem:
        """Pair the targets with the inputs of other samples."""
        return replace(self, design=self.design[order])

    def resampled(self, counts: IndexArray) -> LinearProblem:
        """Take each sample as often as ``counts`` says; weights are not used."""
        drawn = counts > 0
        return replace(
            self,
            design=self.design[drawn],
            targets=self.targets[drawn],
            weights=counts[drawn].astype(np.float64),
        )

    def of_rows(self, rows: IndexArray) -> LinearProblem:
        """Keep some samples, which may come several times."""
        return replace(
            self,
            design=self.design[rows],
            targets=self.targets[rows],
            weights=self.weights[rows],
        )

    def of_targets(self, columns: IndexArray) -> LinearProblem:
        """Keep some targets."""
        return replace(
            self, targets=self.targets[:, columns], groups=self.groups[columns]
        )


@dataclass(frozen=True)
class LinearFit:
    """What a solver returns.

    Parameters
    ----------
    coefficients : ndarray of shape (n_targets, n_terms)
        One row per target.
    alpha : ndarray of shape (n_targets,)
        Penalty of each target, in units of the sum-of-squares loss.
    scales : ndarray of shape (n_targets, n_terms)
        Scale of each term; 0 where a term is left out.
    leverage : Leverage
        Of new samples.
    criterion : ndarray of shape (n_targets,)
        Mean squared error by which the fit was chosen, with its correction for the
        choice of terms; ``inf`` where it is not defined.
    loo_residuals : ndarray of shape (n_samples, n_targets) or None
        Residuals of leaving one copy out; NaN where a sample fits itself alone. None
        for a fit from accumulated sums, which has no samples.
    scaled_residuals : ndarray of shape (n_samples, n_targets) or None
        The same times the square root of one minus the leverage: alike in variance
        for all samples when the noise is.
    residual_variance : ndarray of shape (n_targets,)
        Mean square of the scaled residuals.
    solver_names : tuple of str or None
        Name of the solver of each target, when there was a choice.
    """

    coefficients: FloatArray
    alpha: FloatArray
    scales: FloatArray
    leverage: Leverage
    criterion: FloatArray
    loo_residuals: Any
    scaled_residuals: Any
    residual_variance: FloatArray
    solver_names: tuple[str, ...] | None = None

    def with_criterion(self, criterion: FloatArray) -> LinearFit:
        """Return the same fit, judged otherwise."""
        return replace(self, criterion=criterion)

    def prediction_scale(self, design: FloatArray) -> FloatArray:
        """Return ``sqrt(1 + leverage)`` of new samples; shape (n_new, n_targets).

        Times a scaled residual this is an error of prediction there.
        """
        return np.sqrt(1.0 + self.leverage.at(design))


class CoefficientSolver(ABC):
    """A way to estimate the coefficients of an expansion."""

    @abstractmethod
    def fit(self, problem: LinearProblem) -> LinearFit:
        """Choose what is to be chosen for each group and estimate the coefficients."""

    @abstractmethod
    def refit(self, problem: LinearProblem, fit: LinearFit) -> FloatArray:
        """Estimate coefficients on other samples with the choices of a fit.

        Resampling keeps the penalties and the terms of the full data: copies of a
        sample in a resample would leak into its leave-one-out error. Returns an array
        of shape (n_targets, n_terms).
        """

    @abstractmethod
    def resample(
        self, problem: LinearProblem, fit: LinearFit, counts: IndexArray
    ) -> FloatArray:
        """Refit on many resamples; counts are of shape (n_resamples, n_samples).

        Returns an array of shape (n_resamples, n_targets, n_terms).
        """


@dataclass(frozen=True)
class LeverageFactor:
    """Singular values and right singular vectors of one scaled design matrix.

    Parameters
    ----------
    right : ndarray of shape (rank, n_used)
        Right singular vectors.
    singular_values : ndarray of shape (rank,)
        Those above rounding.
    center : ndarray of shape (n_terms,)
        Weighted mean of the columns before scaling.
    used : ndarray of shape (n_used,)
        Columns that take part.
    scale : ndarray of shape (n_used,)
        Their scales.
    base : float
        Leverage of the free intercept; 0 where it is penalised.
    """

    right: FloatArray
    singular_values: FloatArray
    center: FloatArray
    used: IndexArray
    scale: FloatArray
    base: float

    def at(self, design: FloatArray, alpha: FloatArray) -> FloatArray:
        r"""Return the leverage of new samples, one column per penalty.

        :math:`h(x) = 1/\sum w + (\psi - \bar\psi)^T (A^T A + \lambda I)^{-1}
        (\psi - \bar\psi)`: ``1 + h`` is the variance of a prediction over that of
        the noise, and of a sample left out it is ``1 / (1 - leverage)``. Directions
        that no sample shows count in full where there is a penalty.
        """
        centred = (design[:, self.used] - self.center[self.used]) * self.scale
        inside = centred @ self.right.T
        length = np.square(centred).sum(axis=1)
        hidden = length - np.square(inside).sum(axis=1)
        hidden = np.where(hidden > 1e-9 * length, hidden, 0.0)
        leverage = np.full((len(design), len(alpha)), self.base)
        for column, penalty in enumerate(alpha):
            leverage[:, column] += np.square(inside) @ (
                1.0 / (self.singular_values**2 + penalty)
            )
            if penalty > 0:
                leverage[:, column] += hidden / penalty
        return leverage


@dataclass(frozen=True)
class Leverage:
    """The leverage of new samples for every target.

    Parameters
    ----------
    factors : sequence of LeverageFactor
        The distinct ones.
    factor_of_target : ndarray of shape (n_targets,)
        Which of them a target uses.
    alpha : ndarray of shape (n_targets,)
        Penalty of each target.
    """

    factors: Sequence[LeverageFactor]
    factor_of_target: IndexArray
    alpha: FloatArray

    def at(self, design: FloatArray) -> FloatArray:
        """Return leverages of shape (n_new, n_targets)."""
        leverage = np.empty((len(design), len(self.alpha)))
        for number, factor in enumerate(self.factors):
            mine = np.flatnonzero(self.factor_of_target == number)
            penalties, which = np.unique(self.alpha[mine], return_inverse=True)
            leverage[:, mine] = factor.at(design, penalties)[:, which]
        return leverage

    def of_targets(self, columns: IndexArray) -> Leverage:
        """Keep some targets."""
        return Leverage(
            self.factors, self.factor_of_target[columns], self.alpha[columns]
        )


def join_leverages(
    parts: Sequence[Leverage],
    positions: Sequence[IndexArray],  # the targets of each part
    n_targets: int,
) -> Leverage:
    """Put the leverages of groups of targets together; unused factors are dropped."""
    factors: list[LeverageFactor] = []
    factor_of_target = np.empty(n_targets, dtype=np.int64)
    alpha = np.empty(n_targets)
    for part, targets in zip(parts, positions, strict=True):
        used, number = np.unique(part.factor_of_target, return_inverse=True)
        factor_of_target[targets] = number + len(factors)
        factors.extend(part.factors[k] for k in used)
        alpha[targets] = part.alpha
    return Leverage(tuple(factors), factor_of_target, alpha)


#: Smallest deviation of a log-ratio that is not rounding: a relative error of 1e-13
#: in a probability is an absolute error of 1e-13 in its logarithm.
LOG_RATIO_FLOOR = 1e-13


def predictive_q2(
    residuals: FloatArray,  # shape: (n_samples, n_targets), of held-out samples
    targets: FloatArray,  # shape: (n_samples, n_targets)
    weights: FloatArray,  # shape: (n_samples,)
) -> tuple[FloatArray, FloatArray]:
    """Return the mean squared residual and Q² of each target.

    :math:`Q^2 = 1 - \\sum w r^2 / \\sum w (y - \\bar y)^2`. Residuals that are not
    defined (NaN) give an error of ``inf`` and a Q² of ``-inf``; a constant target
    has a Q² of NaN.
    """
    press = weights @ np.square(residuals)
    spread = weighted_spread(targets, weights)
    error = np.where(np.isnan(press), np.inf, press / weights.sum())
    return error, q2_from_sums(press, spread)


def weighted_spread(
    targets: FloatArray,  # shape: (n_samples, n_targets)
    weights: FloatArray,  # shape: (n_samples,)
    floor: float = 0.0,
) -> FloatArray:  # shape: (n_targets,)
    """Return the weighted sum of squares about the mean, 0 for rounding noise.

    Rounding is a deviation of ten units in the last place, or of ``floor`` where
    the values are the difference of larger ones.
    """
    mean = np.average(targets, axis=0, weights=weights)
    spread = weights @ np.square(targets - mean)
    rounding = np.square(10 * np.finfo(float).eps * targets) + floor**2
    return np.where(spread > weights @ rounding, spread, 0.0)


def without_slopes(coefficients: FloatArray, spread: FloatArray) -> FloatArray:
    """Leave only the constant to targets without spread.

    Their slopes are rounding noise, which indices would magnify to shares of one.
    """
    return np.where(
        (spread > 0)[:, np.newaxis] | (np.arange(coefficients.shape[1]) == 0),
        coefficients,
        0.0,
    )


def q2_from_sums(press: FloatArray, spread: FloatArray) -> FloatArray:
    """Return ``1 - press / spread``; NaN without spread, -inf without residuals."""
    safe = np.where(spread > 0, spread, 1.0)
    q2 = np.where(np.isnan(press), -np.inf, 1.0 - press / safe)
    return np.where(spread > 0, q2, np.nan)


# Below this value 1 - leverage is rounding: the sample is fitted by itself alone.
_SMALLEST_COMPLEMENT = 1e-12


# The Gram matrix squares the condition number; up to this ratio of its eigenvalues
# the coefficients keep ten digits.
_SMALLEST_EIGENVALUE_RATIO = 1e-5


@dataclass(frozen=True)
class DesignDecomposition:
    """The weighted design matrix, its columns scaled, factorised once.

    Parameters
    ----------
    left : ndarray of shape (n_samples, rank)
        Left singular vectors, divided by the square root of the weights.
    singular_values : ndarray of shape (rank,)
        Those above rounding.
    right : ndarray of shape (rank, n_used)
        Right singular vectors.
    center : ndarray of shape (n_terms,)
        Weighted mean of the columns; zero where the intercept is penalised.
    used : ndarray of shape (n_used,)
        Columns that take part.
    scale : ndarray of shape (n_used,)
        Factors of these columns: a penalty on a scaled coefficient is one of
        ``alpha / scale**2`` on the coefficient.
    weights : ndarray of shape (n_samples,)
        Positive frequencies.
    free_intercept : bool
        Whether column 0 is left out of the penalty.
    """

    left: FloatArray
    singular_values: FloatArray
    right: FloatArray
    center: FloatArray
    used: IndexArray
    scale: FloatArray
    weights: FloatArray
    free_intercept: bool

    @classmethod
    def from_design(
        cls,
        design: FloatArray,
        weights: FloatArray,
        *,
        free_intercept: bool = True,
        scale: FloatArray | None = None,
        for_scores: bool = False,
    ) -> DesignDecomposition:
        """Factorise a design matrix of shape (n_samples, n_terms).

        Columns of scale 0 are left out, and column 0 where the intercept is free.
        With ``for_scores`` the right singular vectors may be missing: enough for
        residuals and leverages, and quicker where there are few samples.
        """
        center = np.zeros(design.shape[1])
        if free_intercept:
            center = np.average(design, axis=0, weights=weights)
        scale = np.ones(design.shape[1]) if scale is None else scale
        used = np.flatnonzero(scale)
        if free_intercept:
            used = used[used > 0]
        scale = scale[used]
        root = np.sqrt(weights)[:, np.newaxis]
        scaled = (design[:, used] - center[used]) * scale
        factorize = _factorize_rows if for_scores else _factorize
        left, values, right = factorize(root * scaled)
        return cls(
            left / root, values, right, center, used, scale, weights, free_intercept
        )

    @property
    def leverage_factor(self) -> LeverageFactor:
        """What the leverage of new samples needs."""
        base = 1.0 / self.weights.sum() if self.free_intercept else 0.0
        return LeverageFactor(
            self.right, self.singular_values, self.center, self.used, self.scale, base
        )

    def center_targets(self, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weighted mean of the targets and what is left."""
        mean = np.zeros(targets.shape[1])
        if self.free_intercept:
            mean = np.average(targets, axis=0, weights=self.weights)
        return mean, targets - mean

    def project(self, targets: FloatArray) -> FloatArray:
        """Return the loadings of centred targets; shape (rank, n_targets)."""
        return self.left.T @ (self.weights[:, np.newaxis] * targets)

    @cached_property
    def _left_out(self) -> FloatArray:
        """The weight that is left out: one copy, or the sample if it has less."""
        return np.minimum(self.weights, 1.0)

    @cached_property
    def _unpenalized_complement(self) -> FloatArray:
        """``1 - leverage`` at penalty 0; exactly 0 for samples that are saturated."""
        leverage = np.square(self.left).sum(axis=1)
        if self.free_intercept:
            leverage += 1.0 / self.weights.sum()
        base = 1.0 - self._left_out * leverage
        return np.where(base > _SMALLEST_COMPLEMENT, base, 0.0)

    def path_complement(
        self, alphas: FloatArray
    ) -> FloatArray:  # shape: (n_samples, n_alphas)
        """Return ``1 - leverage`` of one copy of each sample, for each penalty.

        A sample of weight below one, as when weights are normalised, has no whole
        copy: it is left out as it is. Arranged so that nothing cancels when the
        penalty is small.
        """
        penalized = np.square(self.left) @ self._complement(alphas)
        base, left_out = self._unpenalized_complement, self._left_out
        return base[:, np.newaxis] + left_out[:, np.newaxis] * penalized

    def path_residuals(
        self,
        centred: FloatArray,  # shape: (n_samples, n_targets)
        loadings: FloatArray,  # shape: (rank, n_targets)
        alphas: FloatArray,  # shape: (n_alphas,)
    ) -> FloatArray:  # shape: (n_samples, n_alphas, n_targets)
        """Return the residuals of each penalty."""
        outside = centred - self.left @ loadings
        outside[self._unpenalized_complement == 0.0] = 0.0
        shrunk = self._complement(alphas)[:, :, np.newaxis] * loadings[:, np.newaxis]
        n_targets = centred.shape[1]
        inside = self.left @ shrunk.reshape(len(loadings), len(alphas) * n_targets)
        inside = inside.reshape(len(centred), len(alphas), n_targets)
        inside += outside[:, np.newaxis]
        return inside

    def leverage_complement(self, alpha: float) -> FloatArray:
        """Return ``1 - leverage`` for one penalty; shape (n_samples,)."""
        return self.path_complement(np.array([alpha]))[:, 0]

    def residuals(
        self, centred: FloatArray, loadings: FloatArray, alpha: float
    ) -> FloatArray:
        """Return residuals of shape (n_samples, n_targets)."""
        return self.path_residuals(centred, loadings, np.array([alpha]))[:, 0]

    def leave_one_out(
        self, centred: FloatArray, loadings: FloatArray, alpha: float
    ) -> FloatArray:
        """Return leave-one-out residuals; NaN where a sample fits itself alone."""
        complement = self.leverage_complement(alpha)
        safe = np.where(complement > 0.0, complement, np.nan)
        return self.residuals(centred, loadings, alpha) / safe[:, np.newaxis]

    def coefficients(
        self, mean: FloatArray, loadings: FloatArray, alpha: FloatArray
    ) -> FloatArray:
        """Return coefficients of shape (n_targets, n_terms); one alpha per target."""
        values = self.singular_values[:, np.newaxis]
        slopes = (values / (values**2 + alpha)) * loadings
        coefficients = np.zeros((len(mean), len(self.center)))
        coefficients[:, self.used] = (slopes.T @ self.right) * self.scale
        if self.free_intercept:
            coefficients[:, 0] = mean - coefficients @ self.center
        return coefficients

    def _complement(self, alphas: FloatArray) -> FloatArray:  # (rank, n_alphas)
        return alphas / (self.singular_values[:, np.newaxis] ** 2 + alphas)


def _factorize(
    matrix: FloatArray,  # shape: (n_samples, n_columns)
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the singular value decomposition without what is rounding.

    Through the Gram matrix where that is as accurate: twice to thrice as fast.
    """
    n_samples, n_columns = matrix.shape
    if n_columns == 0:
        return matrix, np.zeros(0), np.zeros((0, 0))
    if n_samples >= n_columns:
        squares, vectors = eigh(matrix.T @ matrix)
        if squares[0] > _SMALLEST_EIGENVALUE_RATIO * squares[-1]:
            values = np.sqrt(squares)
            return (matrix @ vectors) / values, values, vectors.T
    left, values, right = svd(matrix, full_matrices=False)
    rounding = max(matrix.shape) * np.finfo(float).eps * values.max(initial=0.0)
    rank = int(np.sum(values > rounding))
    return left[:, :rank], values[:rank], right[:rank]


def _factorize_rows(
    matrix: FloatArray,  # shape: (n_samples, n_columns)
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return left singular vectors and singular values, of few samples from products.

    Squares below rounding are lost; penalties are far above them.
    """
    n_samples, n_columns = matrix.shape
    if n_samples >= n_columns:
        return _factorize(matrix)
    squares, vectors = eigh(matrix @ matrix.T)
    kept = squares > 10 * n_columns * np.finfo(float).eps * max(squares[-1], 0.0)
    return vectors[:, kept], np.sqrt(squares[kept]), np.zeros((0, 0))


# Scores that differ by less, relatively, are a tie: the heavier penalty wins.
_TIE_TOLERANCE = 1e-6


def best_penalties(
    scores: FloatArray,  # shape: (n_alphas, n_targets)
    groups: IndexArray,  # shape: (n_targets,)
) -> IndexArray:  # shape: (n_targets,)
    """Return the row with the smallest score, pooled over the targets of a group."""
    labels, group_of = np.unique(groups, return_inverse=True)
    if len(labels) == len(groups):
        pooled = scores[:, np.argsort(group_of)]
    else:
        pooled = np.zeros((len(scores), len(labels)))
        np.add.at(pooled.T, group_of, scores.T)
    best = _largest_of_the_best(np.where(np.isnan(pooled), np.inf, pooled))
    return best[group_of]


def _largest_of_the_best(
    scores: FloatArray,  # shape: (n_alphas, n_groups), alphas ascending
) -> IndexArray:  # shape: (n_groups,)
    """Return the last row whose score equals the smallest one up to rounding."""
    tied = scores <= scores.min(axis=0) * (1.0 + _TIE_TOLERANCE)
    return len(scores) - 1 - np.argmax(tied[::-1], axis=0)
