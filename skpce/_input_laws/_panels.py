"""A density as a finite measure: Gauss-Legendre rules on panels that adapt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss, legvander

from .._checks import FloatArray
from ._measure import FiniteMeasure

# A panel is accepted when halving it changes its local moments by less than this,
# relative to its mass. Relative, because functions are large where masses are small.
_ACCURACY = 1e-12

# Panels narrower than this, in standard deviations, count as one point: no
# polynomial in use sees the difference. Jumps, kinks and infinite values end here.
_NARROWEST = 1e-13

# The same relative to the distance from 0, where points themselves are rounded.
_NARROWEST_RELATIVE = 1e5 * np.finfo(float).eps

# Densities near the smallest numbers have few digits.
_SUBNORMAL = 1e-290

# More unsettled panels than this mean noise in the density; they stay as they are,
# and the check on a finer rule decides.
_MOST_UNSETTLED = 4000

_LARGEST_LOCAL_DEGREE = 64


@dataclass(frozen=True)
class Panels:
    """Intervals that resolve a density, and narrow ones that count as points.

    Parameters
    ----------
    bounds : ndarray of shape (2, n_panels)
        Left and right ends.
    totals : ndarray of shape (n_panels,)
        Masses of panels whose density suffers from rounding; NaN for the others.
    points, masses : ndarray of shape (n_points,)
        Places and masses of the narrow ones.
    """

    bounds: FloatArray
    totals: FloatArray
    points: FloatArray
    masses: FloatArray

    def measure(
        self,
        density: Callable[[FloatArray], FloatArray],
        n_nodes: int,
        parts: int,
    ) -> FiniteMeasure:
        """Return the rule of ``n_nodes`` on each of ``parts`` equal parts."""
        left, right = self.bounds[:, :, np.newaxis]
        width = (right - left) / parts
        lefts = left + width * np.arange(parts)
        nodes, weights = leggauss(n_nodes)
        points = lefts[:, :, np.newaxis] + width[:, :, np.newaxis] * (nodes + 1.0) / 2.0
        masses = density(points) * weights * width[:, :, np.newaxis] / 2.0
        found = masses.sum(axis=(1, 2))
        known = ~np.isnan(self.totals) & (found > 0)
        masses[known] *= (self.totals[known] / found[known])[:, np.newaxis, np.newaxis]
        points = np.append(points.ravel(), self.points)
        masses = np.append(masses.ravel(), self.masses)
        order = np.argsort(points, kind="stable")
        order = order[masses[order] > 0]
        return FiniteMeasure(points[order], masses[order])


def _nodes(left: FloatArray, right: FloatArray, nodes: FloatArray) -> FloatArray:
    middle, half = (left + right) / 2.0, (right - left) / 2.0
    return middle[:, np.newaxis] + half[:, np.newaxis] * nodes


def adapt(
    frozen: Any,  # a continuous scipy.stats law
    breakpoints: FloatArray,  # increasing
    scale: float,
    n_nodes: int,
) -> Panels:
    """Halve the panels between break points until each resolves the density."""
    center = float(frozen.median())
    wide, thin = _settle(frozen.pdf, breakpoints, center, scale, n_nodes)
    totals = np.full(wide.shape[1], np.nan)
    rounded = _rounding(*wide) > _ACCURACY
    totals[rounded] = _mass_between(frozen, wide[:, rounded], center)
    return Panels(wide, totals, thin.mean(axis=0), _mass_between(frozen, thin, center))


def _settle(
    density: Callable[[FloatArray], FloatArray],
    breakpoints: FloatArray,
    center: float,
    scale: float,
    n_nodes: int,
) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of the panels that resolve the density, and of narrow ones."""
    local = _LocalMoments(density, n_nodes)
    left, right = breakpoints[:-1], breakpoints[1:]
    settled, narrow = [np.empty((2, 0))], [np.empty((2, 0))]
    while left.size:
        thin = right - left <= _narrowest(left, right, center, scale)
        bounds = np.stack([left, right])
        narrow.append(bounds[:, thin])
        bounds = bounds[:, ~thin]
        good = local.are_resolved(*bounds)
        if np.count_nonzero(~good) > _MOST_UNSETTLED:
            good[:] = True
        settled.append(bounds[:, good])
        left, right = bounds[:, ~good]
        middle = (left + right) / 2.0
        left, right = np.append(left, middle), np.append(middle, right)
    return np.concatenate(settled, axis=1), np.concatenate(narrow, axis=1)


def _narrowest(
    left: FloatArray, right: FloatArray, center: float, scale: float
) -> FloatArray:
    """Return the width below which a panel counts as one point."""
    size = np.maximum(np.abs(left), np.abs(right))
    # Neighbouring numbers are `spacing` apart: narrower than that, halving stalls.
    return np.maximum.reduce(
        [
            _NARROWEST * np.maximum(scale, np.abs(left - center)),
            _NARROWEST_RELATIVE * np.minimum(size, scale),
            4.0 * np.spacing(size),
        ]
    )


def _rounding(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the relative error that the rounding of points makes in a panel."""
    size = np.maximum(np.abs(left), np.abs(right))
    return 4.0 * np.finfo(float).eps * size / (right - left)


def _mass_between(
    frozen: Any,
    bounds: FloatArray,  # shape: (2, n_panels)
    center: float,
) -> FloatArray:  # shape: (n_panels,)
    low, high = bounds
    # The difference of the smaller tail areas keeps its digits on both sides.
    below = frozen.cdf(high) - frozen.cdf(low)
    above = frozen.sf(low) - frozen.sf(high)
    return np.maximum(np.where(high <= center, below, above), 0.0)


class _LocalMoments:
    """Integrals of a density times Legendre polynomials of a panel."""

    def __init__(self, density: Any, n_nodes: int) -> None:
        self.density = density
        self.nodes, self.weights = leggauss(n_nodes)
        degree = min(n_nodes, _LARGEST_LOCAL_DEGREE)
        halves = [(self.nodes - 1.0) / 2.0, (self.nodes + 1.0) / 2.0]
        weights = self.weights[:, np.newaxis]
        self.whole = weights * legvander(self.nodes, degree)
        self.halves = [weights / 2.0 * legvander(half, degree) for half in halves]

    def are_resolved(self, left: FloatArray, right: FloatArray) -> np.ndarray:
        """Tell which panels change little when halved."""
        middle = (left + right) / 2.0
        with np.errstate(all="ignore"):
            coarse = self.density(_nodes(left, right, self.nodes)) @ self.whole
            fine = self.density(_nodes(left, middle, self.nodes)) @ self.halves[0]
            fine += self.density(_nodes(middle, right, self.nodes)) @ self.halves[1]
            change = np.max(np.abs(coarse - fine), axis=1, initial=0.0)
        accuracy = _ACCURACY + _rounding(left, right)
        return change <= accuracy * fine[:, 0] + _SUBNORMAL
