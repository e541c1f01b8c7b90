r"""Bands that hold a whole policy with a given probability.

Marginal intervals hold each probability apart; all parts of a step lie inside together
less often. A *simultaneous* band scales the distances of all parts from their centres
by one number: with the logit :math:`z_k` of each part, its median :math:`m_k` and its
spread :math:`s_k` on either side,

.. math:: M = \max_k \frac{|z_k - m_k|}{s_k}, \qquad
          [\,m_k - c\,s_k^-,\; m_k + c\,s_k^+\,], \qquad P(M \le c) = \gamma,

and :math:`c` is the quantile of :math:`M` over the draws [1]_. It is one quantile of
one number, so that few draws suffice where the extremes of each part would not.

References
----------
.. [1] J. L. Montiel Olea and M. Plagborg-Moller, "Simultaneous confidence bands:
   theory, implementation, and an application to SVARs", Journal of Applied
   Econometrics 34 (2019), section 2 (the sup-t band).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]

# Quantiles whose distance from the median is the spread: one standard deviation.
_LEVELS = (float(ndtr(-1.0)), 0.5, float(ndtr(1.0)))

# Smallest probability that has a logit; the largest is one rounding below 1.
_SMALLEST = 1e-300


def simultaneous_bands(
    draws: FloatArray,  # shape: (n_draws, n_members, n_parts), probabilities
    groups: IndexArray,  # shape: (n_parts,), parts to be held together
    confidence_level: float,
) -> tuple[FloatArray, FloatArray]:  # each shape: (n_members, n_parts)
    """Return lower and upper bounds; parts that do not vary have no width.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._joint_bands import simultaneous_bands
    >>> draws = np.random.default_rng(0).dirichlet([2, 3, 4], size=(1000, 1))
    >>> low, high = simultaneous_bands(draws, np.zeros(3, int), 0.9)
    >>> inside = np.all((low <= draws) & (draws <= high), axis=2)
    >>> float(inside.mean())
    0.9
    """
    logits = _logit(draws)
    low, centre, high = np.quantile(logits, _LEVELS, axis=0)
    below = _spread(centre - low, logits)
    above = _spread(high - centre, logits)
    deviations = logits - centre
    distance = np.abs(deviations) / np.where(deviations < 0, below, above)
    lower, upper = centre.copy(), centre.copy()
    for group in np.unique(groups):
        parts = groups == group
        largest = distance[:, :, parts].max(axis=2)
        factor = np.quantile(largest, confidence_level, axis=0, method="hazen")
        lower[:, parts] -= factor[:, np.newaxis] * below[:, parts]
        upper[:, parts] += factor[:, np.newaxis] * above[:, parts]
    return _widened(expit(lower), -1), _widened(expit(upper), 1)


def _logit(p: FloatArray) -> FloatArray:
    inside = np.clip(p, _SMALLEST, 1.0 - np.finfo(float).epsneg)
    return np.log(inside) - np.log1p(-inside)


def _spread(distance: FloatArray, logits: FloatArray) -> FloatArray:
    """Return distances, with the standard deviation where quantiles coincide."""
    deviation = logits.std(axis=0)
    safe = np.where(deviation > 0, deviation, 1.0)
    return np.where(distance > 1e-9 * safe, distance, safe)


def _widened(bounds: FloatArray, sign: int) -> FloatArray:
    """Move by the rounding of logit and back, so that an edge is inside."""
    return np.clip(bounds * (1.0 + sign * 1e-12), 0.0, 1.0)
