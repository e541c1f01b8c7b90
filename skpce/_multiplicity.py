"""P-values of many hypotheses, adjusted."""

from __future__ import annotations

import numpy as np
from scipy import stats

from ._checks import FloatArray


def holm(p_values: FloatArray) -> FloatArray:
    """Adjust p-values of any shape by Holm's step-down method; NaN takes no part."""
    flat = np.ravel(p_values)
    adjusted = np.full(len(flat), np.nan)
    tested = np.flatnonzero(~np.isnan(flat))
    order = tested[np.argsort(flat[tested], kind="stable")]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * flat[order]), 1.0)
    return adjusted.reshape(np.shape(p_values))


def benjamini_hochberg(p_values: FloatArray) -> FloatArray:
    """Adjust p-values of any shape by the procedure of Benjamini and Hochberg."""
    flat = stats.false_discovery_control(np.ravel(p_values))
    return np.asarray(flat).reshape(np.shape(p_values))
