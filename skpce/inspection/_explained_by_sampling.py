r"""The variance that one variable explains, from samples.

The samples are cut into bins of equal count along the variable, with a cubic in each
(lines lose the tails of a polynomial: a tenth of the variance of a degree-4 Hermite
polynomial, where cubics lose less than 1e-4). The residual variance has its degrees
of freedom taken off, so that a variable without effect has an expected share of about
0.
"""

from __future__ import annotations

import numpy as np

from .._checks import FloatArray

_BINS = 16
_PARAMETERS = 4  # of a cubic


def explained_share(
    variable: FloatArray,  # shape: (n_samples,)
    values: FloatArray,  # shape: (n_samples, n_targets)
    group: FloatArray,  # shape: (n_groups, n_targets), zeros and ones
) -> FloatArray:  # shape: (n_groups,)
    """Return the share of the summed variance of each group; 0 without variance."""
    n_samples = len(variable) // _BINS * _BINS
    order = np.argsort(variable[:n_samples], kind="stable")
    x = variable[order].reshape(_BINS, -1)
    y = values[order].reshape(_BINS, -1, values.shape[1])
    spread = x.std(axis=1, keepdims=True)
    x = (x - x.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0)
    frame, _ = np.linalg.qr(x[:, :, np.newaxis] ** np.arange(_PARAMETERS))
    residual = y - frame @ (np.swapaxes(frame, 1, 2) @ y)
    error = np.square(residual).sum(axis=(0, 1)) / (n_samples - _PARAMETERS * _BINS)
    whole = group @ values[order].var(axis=0, ddof=1)
    safe = np.where(whole > 0, whole, 1.0)
    return np.where(whole > 0, 1.0 - (group @ error) / safe, 0.0)
