"""Finite measures: the recurrence they give, and densities that become one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss, legvander

from .._checks import FloatArray
from .families import evaluate_recurrence, positive_scale


@dataclass(frozen=True, eq=False)
class FiniteMeasure:
    """Masses on distinct points."""

    points: FloatArray  # shape: (n_points,), distinct, increasing
    masses: FloatArray  # shape: (n_points,), positive, of sum 1

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, FiniteMeasure)
            and np.array_equal(self.points, other.points)
            and np.array_equal(self.masses, other.masses)
        )

    def __hash__(self) -> int:
        return hash((self.points.tobytes(), self.masses.tobytes()))

    def __len__(self) -> int:
        return len(self.points)

    def mean_and_deviation(self) -> tuple[float, float]:
        """Return mean and standard deviation, 1 in place of a deviation of 0."""
        mean = float(self.masses @ self.points)
        sd = float(np.sqrt(self.masses @ (self.points - mean) ** 2))
        return mean, positive_scale(sd, self.points)

    def without_rounding(self) -> FiniteMeasure:
        """Join points that differ by rounding alone, at the first of them."""
        rounding = 10 * np.finfo(float).eps * np.max(np.abs(self.points))
        starts = np.flatnonzero(np.diff(self.points, prepend=-np.inf) > rounding)
        return FiniteMeasure(self.points[starts], np.add.reduceat(self.masses, starts))

    def recurrence(self, degree: int) -> tuple[FloatArray, FloatArray]:
        r"""Return ``a_0 .. a_{degree-1}`` and ``b_1 .. b_degree`` by Lanczos.

        The vectors :math:`q_k = \sqrt{w}\,\psi_k(t)` are Lanczos' vectors of the
        diagonal matrix of the points, started at :math:`\sqrt{w}` (Gautschi, 2004,
        section 2.2.3). They are orthogonalised twice against all before them. A
        measure on :math:`n` points ends the recurrence with :math:`b_n = 0`.
        """
        if degree > len(self):
            raise ValueError(
                f"A measure on {len(self)} points has no recurrence of degree {degree}."
            )
        a, root = np.zeros(degree), np.zeros(degree)
        vectors = np.empty((min(degree + 1, len(self)), len(self)))
        vectors[0] = np.sqrt(self.masses / self.masses.sum())
        for k in range(degree):
            image = self.points * vectors[k]
            a[k] = vectors[k] @ image
            if k + 1 == len(self):
                break
            for _ in range(2):
                image -= (vectors[: k + 1] @ image) @ vectors[: k + 1]
            root[k] = np.linalg.norm(image)
            with np.errstate(all="ignore"):  # `defect` finds points that coincide
                vectors[k + 1] = image / root[k]
        return a, root**2

    def defect(self, a: FloatArray, b: FloatArray) -> float:
        """Return the largest deviation of a recurrence from orthonormality, or NaN."""
        with np.errstate(all="ignore"):
            values = evaluate_recurrence(self.points, a, np.sqrt(b))
            values *= np.sqrt(self.masses)
            gram = values @ values.T
        return float(np.max(np.abs(gram - np.eye(len(gram)))))


def measure_of_sample(column: FloatArray, weights: FloatArray) -> FiniteMeasure:
    """Return the distinct values of positive weight and their frequencies."""
    present = weights > 0
    points, position = np.unique(column[present], return_inverse=True)
    masses = np.bincount(position.ravel(), weights=weights[present])
    return FiniteMeasure(points, masses / masses.sum())


# A panel is accepted when halving it changes its local moments by less than this,
# relative to its mass, because functions are large where masses are small.
_ACCURACY = 1e-12

# Panels narrower than this, in standard deviations, count as one point: no
# polynomial in use sees the difference. Jumps, kinks and infinite values end here.
_NARROWEST = 1e-13

# The same relative to the distance from 0, where points themselves are rounded.
_NARROWEST_RELATIVE = 1e5 * np.finfo(float).eps

# Densities near the smallest numbers have few digits.
_SUBNORMAL = 1e-290

# More panels to halve than this mean noise in the density; they stay as they are, and
# the check on a finer rule decides.
_MOST_TO_HALVE = 4000

_LARGEST_LOCAL_DEGREE = 64


@dataclass(frozen=True)
class Panels:
    """Intervals that resolve a density, and narrow ones that count as points."""

    bounds: FloatArray  # shape: (2, n_panels), left and right ends
    totals: FloatArray  # shape: (n_panels,), masses where rounding matters, else NaN
    points: FloatArray  # shape: (n_points,), of the narrow ones
    masses: FloatArray  # shape: (n_points,)

    def measure(
        self, density: Callable[[FloatArray], FloatArray], n_nodes: int, parts: int
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
        if np.count_nonzero(~good) > _MOST_TO_HALVE:
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
    # The difference of the smaller tail areas has all its digits on both sides.
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
        """Mark the panels that change little when halved."""
        middle = (left + right) / 2.0
        with np.errstate(all="ignore"):
            coarse = self._values(left, right) @ self.whole
            fine = self._values(left, middle) @ self.halves[0]
            fine += self._values(middle, right) @ self.halves[1]
            change = np.max(np.abs(coarse - fine), axis=1, initial=0.0)
        accuracy = _ACCURACY + _rounding(left, right)
        return change <= accuracy * fine[:, 0] + _SUBNORMAL

    def _values(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return the density at the nodes of each panel."""
        middle, half = (left + right) / 2.0, (right - left) / 2.0
        return self.density(middle[:, np.newaxis] + half[:, np.newaxis] * self.nodes)


class UnresolvedError(ValueError):
    """The table of a distribution cannot be made for a degree."""


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
    """Return where a tail no longer matters to the moments up to ``2 * degree``."""
    # In steps of a constant factor |t|^(2p + 1) f(t) is what the tail adds to the
    # moment of order 2p. It must fall for good before the density underflows.
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
