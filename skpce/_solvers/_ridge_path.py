"""Fit a whole path of ridge penalties from one factorisation, and choose."""

from __future__ import annotations

import numpy as np

from .._checks import FloatArray, IndexArray
from ._base import LinearFit, LinearProblem
from ._decomposition import DesignDecomposition
from ._design_moments import DesignMoments, solve_moments
from ._fixed import GeneralizedRidgeSolver
from ._leverage import Leverage
from ._penalty_choice import best_penalties

#: How a penalty is chosen.
CRITERIA = ("loo", "gcv")

# Residuals held at once while a path is scored: 512 KiB, which stays in the cache.
_LARGEST_PATH_BLOCK = 65_536

# With more residuals than this on a path none of them is formed.
_LARGE_PATH = 16_777_216

# Below this share of the sum of squares of the targets that way loses too many digits.
_SMALLEST_SUM = 1e-9


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
        self, moments: DesignMoments, groups: IndexArray, exponents: IndexArray
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
    projected = _project(decomposition, targets)
    scores = path_scores(decomposition, *projected[1:], alphas, criterion)
    best = best_penalties(scores, groups)
    chosen = np.take_along_axis(scores, best[np.newaxis], axis=0)[0]
    return _fit_projected(decomposition, *projected, alphas[best], chosen)


def fit_penalties(
    decomposition: DesignDecomposition,
    targets: FloatArray,  # shape: (n_samples, n_targets)
    alpha: FloatArray,  # shape: (n_targets,)
    criterion: FloatArray | None = None,  # shape: (n_targets,)
) -> LinearFit:
    """Fit each target with its penalty; the criterion defaults to leave-one-out."""
    projected = _project(decomposition, targets)
    return _fit_projected(decomposition, *projected, alpha, criterion)


def _project(
    decomposition: DesignDecomposition, targets: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the means, the centred targets and their loadings."""
    mean, centred = decomposition.center_targets(targets)
    return mean, centred, decomposition.project(centred)


def _fit_projected(
    decomposition: DesignDecomposition,
    mean: FloatArray,
    centred: FloatArray,
    loadings: FloatArray,
    alpha: FloatArray,
    criterion: FloatArray | None,
) -> LinearFit:
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
    complement = decomposition.path_complement(alphas)
    if criterion == "gcv":
        complement = np.average(complement, axis=0, weights=weights)[np.newaxis]
    safe = np.where(complement > 0.0, complement, np.nan)
    factors = weights[:, np.newaxis] / np.square(safe)  # (n_samples, n_alphas)
    if len(alphas) * centred.size > _LARGE_PATH:
        scores = _sums_of_squares(decomposition, centred, loadings, alphas, factors)
        exact = scores.min(axis=0) > _SMALLEST_SUM * (weights @ np.square(centred))
        if exact.all():
            return scores / weights.sum()
    scores = np.empty((len(alphas), centred.shape[1]))
    step = max(1, _LARGEST_PATH_BLOCK // max(centred.size, 1))
    for start in range(0, len(alphas), step):
        some = slice(start, start + step)
        errors = np.square(
            decomposition.path_residuals(centred, loadings, alphas[some])
        )
        scores[some] = np.einsum("ia,iat->at", factors[:, some], errors)
    return scores / weights.sum()


def _sums_of_squares(
    decomposition: DesignDecomposition,
    centred: FloatArray,  # shape: (n_samples, n_targets)
    loadings: FloatArray,  # shape: (rank, n_targets)
    alphas: FloatArray,  # shape: (n_alphas,)
    factors: FloatArray,  # shape: (n_samples, n_alphas)
) -> FloatArray:  # shape: (n_alphas, n_targets)
    """Expand the squares of the residuals, so that products of matrices do the work.

    No residual is formed. What is left of the sum of squares of the targets loses
    digits where it is tiny.
    """
    left = decomposition.left
    scores = factors.T @ np.square(centred)
    squares = decomposition.singular_values[:, np.newaxis] ** 2
    for row, (alpha, factor) in enumerate(zip(alphas, factors.T, strict=True)):
        fitted = (squares / (squares + alpha)) * loadings
        scaled = left * factor[:, np.newaxis]
        scores[row] -= 2.0 * np.einsum("kt,kt->t", fitted, scaled.T @ centred)
        scores[row] += np.einsum("kt,kt->t", fitted, (left.T @ scaled) @ fitted)
    return scores
