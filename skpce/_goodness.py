"""The coefficient of prediction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


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


def weighted_spread(targets: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted sum of squares about the mean, 0 for rounding noise."""
    mean = np.average(targets, axis=0, weights=weights)
    spread = weights @ np.square(targets - mean)
    size = weights @ np.square(targets)
    return np.where(spread > (10 * np.finfo(float).eps) ** 2 * size, spread, 0.0)


def q2_from_sums(press: FloatArray, spread: FloatArray) -> FloatArray:
    """Return ``1 - press / spread``; NaN without spread, -inf without residuals."""
    safe = np.where(spread > 0, spread, 1.0)
    q2 = np.where(np.isnan(press), -np.inf, 1.0 - press / safe)
    return np.where(spread > 0, q2, np.nan)
