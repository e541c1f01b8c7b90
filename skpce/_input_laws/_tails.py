"""How far out a law matters to its moments."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._checks import FloatArray
from ._tabulated import UnresolvedError

# Tails are left out where what they add to the largest moment is e**-45 of its peak.
_NEGLIGIBLE = -45.0

# Below this log-density, weights have too few digits or are 0 in double precision.
_UNDERFLOW = -690.0

# Distances tried, in standard deviations.
_DISTANCES = 1.1 ** np.arange(1500.0)


def tail_cut(
    log_density: Callable[[FloatArray], FloatArray],
    center: float,
    scale: float,  # positive: the upper tail; negative: the lower one
    degree: int,
) -> float:
    r"""Return where a tail stops to matter to the moments up to ``2 * degree``.

    In steps of a constant factor, :math:`|t|^{2p+1} f(t)` is what the tail adds to
    the moment of order :math:`2p`. It must fall for good before the density
    underflows.

    Raises
    ------
    UnresolvedError
        If it does not: the moment is infinite, or out of the range of numbers.
    """
    points = center + scale * _DISTANCES
    with np.errstate(all="ignore"):
        density = np.nan_to_num(log_density(points), nan=-np.inf)
        height = density + (2 * degree + 1) * np.log(_DISTANCES)
    matters = np.flatnonzero(height > height.max() + _NEGLIGIBLE)
    if not matters.size:  # the density is 0 from the first distance on
        return float(points[0])
    last = matters[-1]
    if last + 1 == len(points) or density[last] < _UNDERFLOW:
        raise UnresolvedError(
            f"its moment of order {2 * degree} is not finite or too large to resolve"
        )
    return float(points[last + 1])
