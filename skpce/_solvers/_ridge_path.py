"""Fit a whole path of ridge penalties from one factorisation, and choose."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from ._base import CoefficientSolver, LinearFit
from ._decomposition import DesignDecomposition

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]

# Scores that differ by less, relatively, are a tie: the heavier penalty wins.
_TIE_TOLERANCE = 1e-6


class RidgePathSolver(CoefficientSolver):
    """Minimise ``sum w (y - c Psi)^2 + alpha |c|^2`` for the best of some penalties.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Penalties, ascending.
    free_intercept : bool, default=True
        Whether the constant is left out of the penalty.
    criterion : {"loo", "gcv"}, default="loo"
        Closed-form leave-one-out, or generalised cross-validation.
    """

    def __init__(
        self, alphas: FloatArray, *, free_intercept: bool = True, criterion: str = "loo"
    ) -> None:
        self.alphas = alphas
        self.free_intercept = free_intercept
        self.criterion = criterion

    def fit(
        self,
        design: FloatArray,
        targets: FloatArray,
        weights: FloatArray,
        groups: IndexArray,
    ) -> LinearFit:
        decomposition = self._decompose(design, weights)
        return solve_path(decomposition, targets, self.alphas, groups, self.criterion)

    def refit(
        self,
        design: FloatArray,
        targets: FloatArray,
        weights: FloatArray,
        alpha: FloatArray,
    ) -> FloatArray:
        decomposition = self._decompose(design, weights)
        mean, centred = decomposition.center_targets(targets)
        return decomposition.coefficients(mean, decomposition.project(centred), alpha)

    def _decompose(
        self, design: FloatArray, weights: FloatArray
    ) -> DesignDecomposition:
        return DesignDecomposition.from_design(
            design, weights, free_intercept=self.free_intercept
        )


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
    leverage_at = partial(decomposition.leverage_at, alpha=alpha)
    return LinearFit(coefficients, alpha, loo, scaled, leverage_at)


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
