r"""Decays of many inputs, by the slope of the leave-one-out error.

With scaled, centred columns :math:`b_j` and left singular vectors :math:`U` of values
:math:`\sigma`, let :math:`F_j = \sqrt\lambda\,(\sigma^2 + \lambda)^{-1} U^T b_j`. The
residual is :math:`r = R y`, the complement of the leverage :math:`c_k = R_{kk}`, the
left-out residual :math:`e = r / c`. Changing the square of the scale of a term changes
:math:`R` by :math:`-R\, b_j b_j^T R / \lambda`, so that with :math:`u = e / c`

.. math:: \frac{\partial \sum_k e_k^2}{\partial \log s_j^2}
    = 2 \sum_k \frac{e_k r_k}{c_k^2} (U F_j)_k^2
    - 2\,(F_j^T U^T u)(F_j^T U^T y) .

All slopes come from one product of matrices, so that a step costs about as much as two
scores, however many inputs there are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from .._checks import FloatArray, IndexArray
from .problem import DesignDecomposition, best_penalties
from .ridge import path_scores

# The search ends when a step lowers the score by a smaller share, or after so many.
_SMALLEST_GAIN = 1e-3
_MOST_SCORES = 15

# Decays of 60 or 100 inputs lower the leave-one-out error by up to 2.8 times even where
# they make the fit worse (benchmarks/wide/many_decays.py): they must do better.
_LEAST_RATIO = 3.0


def score_and_slopes(
    decomposition: DesignDecomposition,
    columns: FloatArray,  # shape: (n_samples, n_used), centred and scaled
    centred: FloatArray,  # shape: (n_samples, n_targets)
    shares: FloatArray,  # shape: (n_targets,), of each target in the score
    groups: IndexArray,  # shape: (n_targets,)
    alphas: FloatArray,  # shape: (n_alphas,)
    criterion: str,
) -> tuple[float, FloatArray]:  # and shape: (n_used,)
    """Return the pooled error, and its slopes along logarithms of squared scales."""
    weights = decomposition.weights
    loadings = decomposition.project(centred)
    scores = path_scores(decomposition, centred, loadings, alphas, criterion)
    best, least = best_penalties(scores, groups)
    slopes = np.zeros(columns.shape[1])
    root = np.sqrt(weights)[:, np.newaxis]
    left = decomposition.left * root  # orthonormal
    inside = left.T @ (columns * root)
    left_out = np.minimum(weights, 1.0)[:, np.newaxis]
    squares = np.square(decomposition.factor.singular_values)
    for row in np.unique(best):
        mine, alpha = best == row, alphas[row : row + 1]
        filtered = (np.sqrt(alpha) / (squares + alpha))[:, np.newaxis] * inside
        complement = decomposition.path_complement(alpha)
        if criterion == "gcv":
            mean = np.average(complement[:, 0], weights=weights)
            complement = np.full_like(complement, mean)
        safe = np.where(complement > 0.0, complement, np.inf)
        residual = decomposition.residuals(
            centred[:, mine], loadings[:, mine], float(alpha[0])
        )
        outer = residual / np.square(safe)  # e / c
        along = left.T @ (root * outer * shares[mine])
        slopes -= ((filtered.T @ along) * (filtered.T @ loadings[:, mine])).sum(axis=1)
        # How the complement of each sample changes.
        pull = weights[:, np.newaxis] * outer * residual * shares[mine] / safe
        pull = pull.sum(axis=1, keepdims=True)
        each = left_out / weights[:, np.newaxis]
        if criterion == "gcv":  # all have the mean of the complements
            pull = pull.sum() * weights[:, np.newaxis] / weights.sum()
        slopes += (pull * each * np.square(left @ filtered)).sum(axis=0)
    return float(least @ shares), 2.0 * slopes / weights.sum()


def descend(
    score: Callable[[FloatArray], tuple[float, FloatArray]],  # and its slopes
    start: FloatArray,  # shape: (n_inputs,), decays
    largest: float,
) -> FloatArray:  # shape: (n_inputs,)
    """Return decays of at least 1 of a much smaller score, by L-BFGS on logarithms."""
    first = score(start)[0]

    def of_logarithms(logs: FloatArray) -> tuple[float, FloatArray]:
        value, slopes = score(np.exp(logs))
        if not 0.0 < value < np.inf:  # nothing to gain, or nowhere to go
            return (-np.inf if value == 0.0 else np.inf), np.zeros_like(slopes)
        return np.log(value), slopes / value

    found = minimize(
        of_logarithms,
        np.log(start),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, np.log(largest))] * len(start),
        options={"ftol": _SMALLEST_GAIN, "gtol": 0.0, "maxfun": _MOST_SCORES},
    )
    decays: FloatArray = np.exp(found.x)
    return decays if score(decays)[0] * _LEAST_RATIO < first else start
