"""What a coefficient solver is: design matrix and targets in, coefficients out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._decomposition import DesignDecomposition

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]


# Scores that differ by less, relatively, are a tie: the heavier penalty wins.
_TIE_TOLERANCE = 1e-6


@dataclass(frozen=True)
class LinearFit:
    """What a solver returns.

    Parameters
    ----------
    coefficients : ndarray of shape (n_targets, n_terms)
        One row per target.
    alpha : ndarray of shape (n_targets,)
        Penalty of each target, in units of the sum-of-squares loss.
    loo_residuals : ndarray of shape (n_samples, n_targets)
        Residuals of leaving one copy out; NaN where a sample fits itself alone.
    scaled_residuals : ndarray of shape (n_samples, n_targets)
        The same times the square root of one minus the leverage: alike in variance
        for all samples when the noise is.
    decomposition : DesignDecomposition
        For the leverage of new samples.
    """

    coefficients: FloatArray
    alpha: FloatArray
    loo_residuals: FloatArray
    scaled_residuals: FloatArray
    decomposition: DesignDecomposition

    def prediction_scale(self, design: FloatArray) -> FloatArray:
        """Return ``sqrt(1 + leverage)`` of new samples; shape (n_new, n_targets).

        Times a scaled residual this is an error of prediction there.
        """
        return np.sqrt(1.0 + self.decomposition.leverage_at(design, self.alpha))


class CoefficientSolver(ABC):
    """A way to estimate the coefficients of an expansion.

    Column 0 of every design matrix is the constant.
    """

    @abstractmethod
    def fit(
        self,
        design: FloatArray,  # shape: (n_samples, n_terms)
        targets: FloatArray,  # shape: (n_samples, n_targets)
        weights: FloatArray,  # shape: (n_samples,), positive
        groups: IndexArray,  # shape: (n_targets,), targets that share a penalty
    ) -> LinearFit:
        """Choose the penalty of each group and estimate the coefficients."""

    @abstractmethod
    def refit(
        self,
        design: FloatArray,  # shape: (n_samples, n_terms)
        targets: FloatArray,  # shape: (n_samples, n_targets)
        weights: FloatArray,  # shape: (n_samples,), positive
        alpha: FloatArray,  # shape: (n_targets,), penalties kept from a fit
    ) -> FloatArray:  # shape: (n_targets, n_terms)
        """Estimate coefficients on other samples with penalties already chosen.

        Resampling keeps the penalties of the full data: copies of a sample in a
        resample would leak into its leave-one-out error.
        """


def solve_path(
    decomposition: DesignDecomposition,
    targets: FloatArray,  # shape: (n_samples, n_targets)
    alphas: FloatArray,  # shape: (n_alphas,)
    groups: IndexArray,  # shape: (n_targets,)
    criterion: str = "loo",
) -> LinearFit:
    """Fit every penalty, keep for each group the one with the smallest criterion.

    ``criterion`` is ``"loo"`` (mean squared leave-one-out residual, pooled over the
    targets of a group) or ``"gcv"`` (generalised cross-validation).
    """
    mean, centred = decomposition.center_targets(targets)
    loadings = decomposition.project(centred)
    score = _path_scores(decomposition, centred, loadings, alphas, criterion)
    labels, group_of = np.unique(groups, return_inverse=True)
    pooled = np.zeros((len(alphas), len(labels)))
    np.add.at(pooled.T, group_of, score.T)
    best = _largest_of_the_best(np.where(np.isnan(pooled), np.inf, pooled))
    alpha = alphas[best][group_of]
    loo, scaled = np.empty_like(centred), np.empty_like(centred)
    for value in np.unique(alpha):
        chosen = alpha == value
        loo[:, chosen] = decomposition.leave_one_out(
            centred[:, chosen], loadings[:, chosen], float(value)
        )
        complement = decomposition.leverage_complement(float(value))
        scaled[:, chosen] = loo[:, chosen] * np.sqrt(complement)[:, np.newaxis]
    coefficients = decomposition.coefficients(mean, loadings, alpha)
    return LinearFit(coefficients, alpha, loo, scaled, decomposition)


def _largest_of_the_best(
    scores: FloatArray,  # shape: (n_alphas, n_groups), alphas ascending
) -> IndexArray:  # shape: (n_groups,)
    """Return the last row whose score equals the smallest one up to rounding."""
    tied = scores <= scores.min(axis=0) * (1.0 + _TIE_TOLERANCE)
    return len(scores) - 1 - np.argmax(tied[::-1], axis=0)


def _path_scores(
    decomposition: DesignDecomposition,
    centred: FloatArray,
    loadings: FloatArray,
    alphas: FloatArray,
    criterion: str,
) -> FloatArray:
    """Return the criterion, shape (n_alphas, n_targets)."""
    weights = decomposition.weights
    scores = np.empty((len(alphas), centred.shape[1]))
    for row, alpha in enumerate(alphas):
        if criterion == "loo":
            errors = decomposition.leave_one_out(centred, loadings, float(alpha))
        else:
            residuals = decomposition.residuals(centred, loadings, float(alpha))
            complement = decomposition.leverage_complement(float(alpha))
            errors = residuals / np.average(complement, weights=weights)
        scores[row] = weights @ np.square(errors)
    return scores
