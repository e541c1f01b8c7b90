"""The coefficient of prediction."""

from __future__ import annotations

import numpy as np

from ._checks import FloatArray

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
