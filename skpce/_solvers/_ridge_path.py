"""Fit a whole path of ridge penalties from one factorisation, and choose."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._base import LinearFit, LinearProblem
from ._decomposition import DesignDecomposition
from ._design_moments import DesignMoments, solve_moments
from ._fixed import GeneralizedRidgeSolver
from ._leverage import Leverage
from ._penalty_choice import best_penalties

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]

#: How a penalty is chosen.
CRITERIA = ("loo", "gcv")

# Residuals held at once while a path is scored: 512 KiB, which stays in the cache.
_LARGEST_PATH_BLOCK = 65_536


class RidgePathSolver(GeneralizedRidgeSolver):
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

    def fit(self, problem: LinearProblem) -> LinearFit:
        decomposition = DesignDecomposition.from_design(
            problem.design, problem.weights, free_intercept=self.free_intercept
        )
        return solve_path(
            decomposition, problem.targets, self.alphas, problem.groups, self.criterion
        )

    def fit_moments(
        self, moments: DesignMoments, groups: IndexArray, degrees: IndexArray
    ) -> LinearFit:
        """Fit from sums over the samples; generalised cross-validation chooses."""
        return solve_moments(moments, self.alphas, groups)


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
    _, centred = decomposition.center_targets(targets)
    loadings = decomposition.project(centred)
    scores = path_scores(decomposition, centred, loadings, alphas, criterion)
    best = best_penalties(scores, groups)
    chosen = np.take_along_axis(scores, best[np.newaxis], axis=0)[0]
    return fit_penalties(decomposition, targets, alphas[best], chosen)


def fit_penalties(
    decomposition: DesignDecomposition,
    targets: FloatArray,  # shape: (n_samples, n_targets)
    alpha: FloatArray,  # shape: (n_targets,)
    criterion: FloatArray | None = None,  # shape: (n_targets,)
) -> LinearFit:
    """Fit each target with its penalty; the criterion defaults to leave-one-out."""
    mean, centred = decomposition.center_targets(targets)
    loadings = decomposition.project(centred)
    loo, scaled = np.empty_like(centred), np.empty_like(centred)
    for value in np.unique(alpha):
        chosen = alpha == value
        loo[:, chosen] = decomposition.leave_one_out(
            centred[:, chosen], loadings[:, chosen], float(value)
        )
        complement = decomposition.leverage_complement(float(value))
        scaled[:, chosen] = loo[:, chosen] * np.sqrt(complement)[:, np.newaxis]
    weights = decomposition.weights
    if criterion is None:
        criterion = weights @ np.square(loo) / weights.sum()
    coefficients = decomposition.coefficients(mean, loadings, alpha)
    scales = np.zeros_like(coefficients)
    scales[:, 0] = 1.0
    scales[:, decomposition.used] = decomposition.scale
    return LinearFit(
        coefficients,
        alpha,
        scales,
        Leverage(
            (decomposition.leverage_factor,), np.zeros(len(alpha), np.int64), alpha
        ),
        np.where(np.isnan(criterion), np.inf, criterion),
        loo,
        scaled,
        weights @ np.square(scaled) / weights.sum(),
    )


def path_scores(
    decomposition: DesignDecomposition,
    centred: FloatArray,  # shape: (n_samples, n_targets)
    loadings: FloatArray,  # shape: (rank, n_targets)
    alphas: FloatArray,  # shape: (n_alphas,)
    criterion: str = "loo",
) -> FloatArray:  # shape: (n_alphas, n_targets)
    """Return the criterion, a mean square, of every penalty."""
    weights = decomposition.weights
    scores = np.empty((len(alphas), centred.shape[1]))
    step = max(1, _LARGEST_PATH_BLOCK // max(centred.size, 1))
    for start in range(0, len(alphas), step):
        some = alphas[start : start + step]
        residuals = decomposition.path_residuals(centred, loadings, some)
        complement = decomposition.path_complement(some)
        if criterion == "gcv":
            complement = np.average(complement, axis=0, weights=weights)[np.newaxis]
        safe = np.where(complement > 0.0, complement, np.nan)
        errors = np.square(residuals / safe[..., np.newaxis])
        scores[start : start + step] = np.tensordot(weights, errors, axes=1)
    return scores / weights.sum()
