r"""Bands that hold a whole policy with a given probability.

Marginal intervals hold each probability apart; all parts of a step lie inside together
less often. A *simultaneous* band scales the distances of all parts from their centres
by one number: with the logit :math:`z_k` of each part, its median :math:`m_k` and its
spread :math:`s_k` on either side,

.. math:: M = \max_k \frac{|z_k - m_k|}{s_k}, \qquad
          [\,m_k - c\,s_k^-,\; m_k + c\,s_k^+\,], \qquad P(M \le c) = \gamma,

and :math:`c` is the quantile of :math:`M` over the draws [1]_. It is one quantile of
one number, so that few draws suffice where the extremes of each part would not.

Median and spread of few residuals are close to each of them, and :math:`M` is then too
small. So the distance of a draw is measured from the median of the *other* draws, in
units of their spread, as that of a new member will be.

References
----------
.. [1] J. L. Montiel Olea and M. Plagborg-Moller, "Simultaneous confidence bands:
   theory, implementation, and an application to SVARs", Journal of Applied
   Econometrics 34 (2019), section 2 (the sup-t band).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import expit, ndtr

from ._checks import FloatArray, IndexArray
from ._residual_law import QUANTILE

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
    >>> float(inside.mean().round(2))
    0.9
    """
    logits = _logit(draws)
    low, centre, high = np.quantile(logits, _LEVELS, axis=0)
    deviation = logits.std(axis=0)
    below = _spread(centre - low, deviation)
    above = _spread(high - centre, deviation)
    distance = _distance_from_others(logits, deviation)
    lower, upper = centre.copy(), centre.copy()
    for group in np.unique(groups):
        parts = groups == group
        largest = distance[:, :, parts].max(axis=2)
        factor = np.quantile(largest, confidence_level, axis=0, method=QUANTILE)
        lower[:, parts] -= factor[:, np.newaxis] * below[:, parts]
        upper[:, parts] += factor[:, np.newaxis] * above[:, parts]
    return _widened(expit(lower), -1), _widened(expit(upper), 1)


def _logit(p: FloatArray) -> FloatArray:
    inside = np.clip(p, _SMALLEST, 1.0 - np.finfo(float).epsneg)
    return np.log(inside) - np.log1p(-inside)


def _distance_from_others(
    logits: FloatArray,  # shape: (n_draws, n_members, n_parts)
    deviation: FloatArray,  # shape: (n_members, n_parts)
) -> FloatArray:  # shape: (n_draws, n_members, n_parts)
    """Measure each draw from the median of the others, in units of their spread."""
    low, centre, high = _quantiles_of_others(logits)
    spread = np.where(logits < centre, centre - low, high - centre)
    return np.abs(logits - centre) / _spread(spread, deviation)


def _quantiles_of_others(values: FloatArray) -> Iterator[FloatArray]:
    """Yield, for each draw, quantiles of the draws without it.

    Without a draw at or below the order statistic :math:`j` the next one takes its
    place. A single draw has no others and stands for them.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._joint_bands import _quantiles_of_others
    >>> low, centre, high = _quantiles_of_others(np.array([1.0, 2.0, 4.0, 8.0]))
    >>> centre
    array([4., 4., 2., 2.])
    """
    last = len(values) - 1
    positions = [max(last - 1, 0) * level for level in _LEVELS]
    needed = {min(int(at) + k, last) for at in positions for k in range(3)}
    ordered = np.partition(values, sorted(needed), axis=0)
    for at in positions:
        first, second, third = (ordered[min(int(at) + k, last)] for k in range(3))
        left = np.where(values <= first, second, first)
        right = np.where(values <= second, third, second)
        yield left + (at - int(at)) * (right - left)


def _spread(distance: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return distances, with the standard deviation where quantiles coincide."""
    safe = np.where(deviation > 0, deviation, 1.0)
    return np.where(distance > 1e-9 * safe, distance, safe)


def _widened(bounds: FloatArray, sign: int) -> FloatArray:
    """Move by the rounding of logit and back, so that an edge is inside."""
    return np.clip(bounds * (1.0 + sign * 1e-12), 0.0, 1.0)
