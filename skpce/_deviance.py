"""The Kullback-Leibler deviance between compositions."""

from __future__ import annotations

import numpy as np
from scipy.special import rel_entr

from ._checks import FloatArray


def mean_kl_divergence(
    y_true: FloatArray,  # shape: (n_members, n_parts), steps closed to one
    y_pred: FloatArray,  # shape: (n_members, n_parts)
    weights: FloatArray,  # shape: (n_members,)
) -> float:
    """Return the weighted mean over members of ``KL(true || predicted)``, in nats.

    Summed over the steps. A prediction that underflows to 0 counts as the smallest
    positive float.
    """
    floor = np.where(y_true > 0, np.finfo(np.float64).tiny, 0.0)
    divergence = rel_entr(y_true, np.maximum(y_pred, floor)).sum(axis=1)
    return float(np.average(divergence, weights=weights))


def d2_kl_deviance(
    y_true: FloatArray,  # shape: (n_members, n_parts), steps closed to one
    y_pred: FloatArray,  # shape: (n_members, n_parts)
    weights: FloatArray,  # shape: (n_members,)
) -> float:
    """Return ``1 - KL(y || prediction) / KL(y || mean of y)``.

    1 is perfect, 0 is the mean composition of ``y_true``; where all members are
    alike, 1 for a perfect prediction and 0 otherwise.
    """
    mean = np.average(y_true, axis=0, weights=weights)
    baseline = mean_kl_divergence(y_true, np.broadcast_to(mean, y_true.shape), weights)
    deviance = mean_kl_divergence(y_true, y_pred, weights)
    rounding = 10 * np.finfo(np.float64).eps * y_true.shape[1]
    if baseline > rounding:
        return 1.0 - deviance / baseline
    return 1.0 if deviance <= rounding else 0.0
