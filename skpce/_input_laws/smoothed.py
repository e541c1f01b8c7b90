"""The distribution of the data, smoothed, for an input of no known family."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy import stats

from .._checks import FloatArray, IndexArray
from .families import positive_scale
from .measures import FiniteMeasure, measure_of_sample
from .tabulated import TabulatedLaw

# About so many groups of values at most.
_MOST_GROUPS = 40

_QUARTERS = np.array([0.25, 0.5, 0.75])
# Of a normal distribution, in standard deviations.
_INTERQUARTILE_RANGE = 1.349

# Ratio of quantiles from which an axis may be logarithmic.
_WIDE = 30.0

# Halvings that leave no digit of a double.
_MOST_STEPS = 60


@dataclass(frozen=True)
class SmoothedLaw(TabulatedLaw):
    r"""As observed, smoothed: for an input of no known family.

    Neighbouring values are joined to groups, of 1, 1, 2, 4, ... values from either end
    and of about :math:`n^{2/3} / 2` values in the middle. The distribution function
    :math:`F` goes through the middle of the step of each group by monotone cubics
    ([1]_, their weighted harmonic mean of slopes) and ends in exponential tails, so
    that its derivative is continuous.

    The functions are polynomials of :math:`t = F(x) + U(x) - 1`, where :math:`U` is
    linear over the range of the data and ends in the same tails. This is bounded, so
    that neither a long tail nor an outlier makes a function large; :math:`F` keeps
    apart what an outlier crowds together, and :math:`U` keeps smooth what a gap in the
    data makes steep (``benchmarks/pce/learned_laws.py``). Between the groups :math:`t`
    is a cubic of :math:`x`, beyond them linear in :math:`F`, so that Gauss' rules give
    orthonormal polynomials of any degree.

    Location is the median, scale that of a normal distribution of the same
    interquartile range; both serve messages and checks alone.

    References
    ----------
    .. [1] F. N. Fritsch and J. Butland, "A method for constructing local monotone
       piecewise cubic interpolants", SIAM Journal on Scientific and Statistical
       Computing 5 (1984).
    """

    table: FiniteMeasure = field(kw_only=True)  # means and masses of the groups

    polynomial = "S"
    learns_bounds = False
    same_function = False

    @classmethod
    def learn(cls, column: FloatArray, weights: FloatArray) -> SmoothedLaw:
        values = measure_of_sample(column, weights)
        starts = group_starts(len(values))
        masses = np.add.reduceat(values.masses, starts)
        means = np.add.reduceat(values.masses * values.points, starts) / masses
        table = FiniteMeasure(means, masses).without_rounding()
        middles = np.cumsum(table.masses) - table.masses / 2.0
        low, middle, high = np.interp(_QUARTERS, middles, table.points).tolist()
        scale = positive_scale((high - low) / _INTERQUARTILE_RANGE, table.points)
        return cls(middle, scale, table=table)

    @cached_property
    def _curve(self) -> _Curve:
        return _Curve.through(self.table)

    @cached_property
    def _coordinate(self) -> _Curve:
        return self._curve.evened()

    @property
    def is_logarithmic(self) -> bool:
        """Whether the logarithm of the values lies more evenly about its middle."""
        points, masses = self.table.points, self.table.masses
        if points[0] <= 0:
            return False
        middles = np.cumsum(masses) - masses / 2.0
        quantiles = np.interp((0.05, 0.5, 0.95), middles, points)
        (_, plain, _), (_, log, _) = (
            (q - q[0]) / np.ptp(q) for q in (quantiles, np.log(quantiles))
        )
        is_wide = quantiles[2] > _WIDE * quantiles[0]
        return bool(is_wide and abs(log - 0.5) < abs(plain - 0.5))

    def standardize(self, column: FloatArray) -> FloatArray:
        below, above = self._coordinate.tails(column)
        return below - above

    def in_units(self, standardised: FloatArray) -> FloatArray:
        t = standardised
        return self._coordinate.quantile((1.0 + t) / 2.0, (1.0 - t) / 2.0)

    def differentiate(self, column: FloatArray, degree: int) -> FloatArray:
        slope = 2.0 * self.scale * self._coordinate.density(column)
        return super().differentiate(column, degree) * slope

    def _tabulate(self, degree: int) -> tuple[FiniteMeasure, FiniteMeasure]:
        # Products of two polynomials and a density are of degree 3 (2 degree) + 2.
        points, masses = self._curve.rule(3 * degree + 2)
        below, above = self._coordinate.tails(points)
        table = FiniteMeasure(below - above, masses)
        return table, table

    def _describe(self) -> str:
        return f"the smoothed distribution of {len(self.table)} groups of values"

    def _advice(self) -> str:
        return "Lower the degree, or name a family."

    def sample(self, size: int, generator: np.random.Generator) -> FloatArray:
        below = generator.random(size=size)
        return self._curve.quantile(below, 1.0 - below)

    def to_scipy(self) -> Any:
        return _Smoothed(self._curve)()

    def goodness_of_fit(self, column: FloatArray) -> float:
        """Return NaN: it is the distribution of the data."""
        return float("nan")

    def describe(self) -> str:
        low, high = self.table.points[[0, -1]]
        return f"as observed, smoothed ({low:.4g} to {high:.4g})"


@lru_cache(maxsize=64)
def _gauss(n_nodes: int) -> tuple[FloatArray, FloatArray]:
    """Return Gauss-Legendre nodes within [0, 1], and weights that sum to 1."""
    nodes, weights = leggauss(n_nodes)
    return (nodes + 1.0) / 2.0, weights / 2.0


@lru_cache(maxsize=64)
def group_starts(n_values: int) -> IndexArray:
    """Return the first of the values of each group: few values at the ends."""
    largest = max(n_values ** (2.0 / 3.0) / 2.0, n_values / _MOST_GROUPS)
    edges, step = [0, 1], 1.0
    while edges[-1] + step <= n_values / 2:
        edges.append(int(edges[-1] + step))
        step = min(2.0 * step, max(largest, 1.0))
    left = np.array(edges)
    found = np.union1d(left[left < n_values], (n_values - left)[left > 0])
    return found[(found >= 0) & (found < n_values)]


@dataclass(frozen=True)
class _Curve:
    """A distribution function: monotone cubics between points, exponential tails."""

    points: FloatArray  # shape: (n_points,), increasing
    below: FloatArray  # shape: (n_points,), the distribution function
    above: FloatArray  # shape: (n_points,), 1 minus it
    slopes: FloatArray  # shape: (n_points,), its derivative

    @classmethod
    def through(cls, table: FiniteMeasure) -> _Curve:
        """Go through the middle of each step."""
        points, masses = table.points, table.masses
        if len(points) == 1:  # a constant column has any scale
            points = points + positive_scale(0.0, points) * np.array([-1.0, 1.0])
            masses = np.array([0.5, 0.5])
        below = np.cumsum(masses) - masses / 2.0
        above = np.cumsum(masses[::-1])[::-1] - masses / 2.0
        width = np.diff(points)
        secant = (masses[1:] + masses[:-1]) / 2.0 / width
        share = (width[:-1] + 2.0 * width[1:]) / (3.0 * (width[:-1] + width[1:]))
        inner = 1.0 / (share / secant[:-1] + (1.0 - share) / secant[1:])
        return cls(points, below, above, np.r_[secant[0], inner, secant[-1]])

    def _cubics(self, piece: IndexArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the coefficients of s, s² and s³, where s goes from 0 to 1."""
        width = self.points[piece + 1] - self.points[piece]
        rise = self.below[piece + 1] - self.below[piece]
        first, last = width * self.slopes[piece], width * self.slopes[piece + 1]
        return first, 3.0 * rise - 2.0 * first - last, first + last - 2.0 * rise

    def _place(self, column: FloatArray) -> tuple[IndexArray, FloatArray]:
        """Return the piece of each value, and where in it."""
        last = len(self.points) - 2
        piece = np.clip(np.searchsorted(self.points, column) - 1, 0, last)
        start, end = self.points[piece], self.points[piece + 1]
        return piece, np.clip((column - start) / (end - start), 0.0, 1.0)

    def _beyond(self, column: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the distances beyond both ends, in units of the tails; at least 0."""
        low = (self.points[0] - column) * (self.slopes[0] / self.below[0])
        high = (column - self.points[-1]) * (self.slopes[-1] / self.above[-1])
        return np.maximum(low, 0.0), np.maximum(high, 0.0)

    def tails(self, column: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the probabilities below and above values."""
        low, high = self._beyond(column)
        lower, upper = self.below[0] * np.exp(-low), self.above[-1] * np.exp(-high)
        piece, s = self._place(column)
        first, second, third = self._cubics(piece)
        rise = s * (first + s * (second + s * third))
        below, above = self.below[piece] + rise, self.above[piece] - rise
        below = np.where(low > 0, lower, np.where(high > 0, 1.0 - upper, below))
        above = np.where(low > 0, 1.0 - lower, np.where(high > 0, upper, above))
        return below, above

    def density(self, column: FloatArray) -> FloatArray:
        low, high = self._beyond(column)
        ends = np.where(low > 0, self.slopes[0], self.slopes[-1]) * np.exp(-low - high)
        piece, s = self._place(column)
        first, second, third = self._cubics(piece)
        width = self.points[piece + 1] - self.points[piece]
        inside = (first + s * (2.0 * second + 3.0 * s * third)) / width
        return np.where((low > 0) | (high > 0), ends, inside)

    def quantile(self, below: FloatArray, above: FloatArray) -> FloatArray:
        """Return values from the probabilities below and above them."""
        with np.errstate(divide="ignore"):
            low = np.log(below / self.below[0]) * (self.below[0] / self.slopes[0])
            high = -np.log(above / self.above[-1]) * (self.above[-1] / self.slopes[-1])
        found = np.where(
            below < self.below[0],
            self.points[0] + np.minimum(low, 0.0),
            self.points[-1] + np.maximum(high, 0.0),
        )
        inside = (below >= self.below[0]) & (above > self.above[-1])
        if inside.any():
            found[inside] = self._invert(below[inside])
        return found

    def _invert(self, below: FloatArray) -> FloatArray:
        """Solve the cubics by Newton's method, kept between halved bounds."""
        last = len(self.points) - 2
        piece = np.clip(np.searchsorted(self.below, below, "right") - 1, 0, last)
        first, second, third = self._cubics(piece)
        target = below - self.below[piece]
        low, high = np.zeros_like(target), np.ones_like(target)
        s = np.clip(target / (self.below[piece + 1] - self.below[piece]), 0.0, 1.0)
        for _ in range(_MOST_STEPS):
            error = s * (first + s * (second + s * third)) - target
            low, high = np.where(error <= 0, s, low), np.where(error >= 0, s, high)
            slope = first + s * (2.0 * second + 3.0 * s * third)
            with np.errstate(divide="ignore", invalid="ignore"):
                new = s - error / slope
            inner = (new >= low) & (new <= high)
            new = np.where(inner, new, 0.5 * (low + high))
            moved, s = np.abs(new - s).max(), new
            if moved < 1e-16:
                break
        start = self.points[piece]
        return start + s * (self.points[piece + 1] - start)

    def evened(self) -> _Curve:
        """Return the mean of this and of an even distribution over the range."""
        low, high = self.below[0] / self.slopes[0], self.above[-1] / self.slopes[-1]
        rate = 1.0 / (low + (self.points[-1] - self.points[0]) + high)
        return _Curve(
            self.points,
            (self.below + rate * (low + self.points - self.points[0])) / 2.0,
            (self.above + rate * (high + self.points[-1] - self.points)) / 2.0,
            (self.slopes + rate) / 2.0,
        )

    def rule(self, n_nodes: int) -> tuple[FloatArray, FloatArray]:
        """Return Gauss' rule for each piece, under this distribution."""
        nodes, weights = _gauss(n_nodes)
        width = np.diff(self.points)[:, np.newaxis]
        inner = (self.points[:-1, np.newaxis] + width * nodes).ravel()
        masses = self.density(inner) * (width * weights).ravel()
        ends = self.below[0] * nodes[::-1], self.above[-1] * nodes
        points = [
            self.quantile(ends[0][::-1], 1.0 - ends[0][::-1]),
            inner,
            self.quantile(1.0 - ends[1][::-1], ends[1][::-1]),
        ]
        tails = self.below[0] * weights, self.above[-1] * weights[::-1]
        return np.concatenate(points), np.concatenate([tails[0], masses, tails[1]])

    def moments(self) -> tuple[float, float]:
        """Return mean and variance; those of the tails have a closed form."""
        points, masses = self.rule(4)
        low, high = self.below[0] / self.slopes[0], self.above[-1] / self.slopes[-1]
        points = np.r_[self.points[0] - low, points[4:-4], self.points[-1] + high]
        masses = np.r_[self.below[0], masses[4:-4], self.above[-1]]
        mean = float(masses @ points)
        spread = self.below[0] * low**2 + self.above[-1] * high**2
        return mean, float(masses @ np.square(points - mean) + spread)


class _Smoothed(stats.rv_continuous):
    """A smoothed distribution as one of ``scipy.stats``."""

    def __init__(self, curve: _Curve) -> None:
        super().__init__(name="smoothed")
        self.curve = curve

    def _updated_ctor_param(self) -> dict[str, Any]:
        return {"curve": self.curve}  # scipy makes a copy to freeze

    def _pdf(self, x: FloatArray) -> FloatArray:
        return self.curve.density(x)

    def _cdf(self, x: FloatArray) -> FloatArray:
        return self.curve.tails(x)[0]

    def _sf(self, x: FloatArray) -> FloatArray:
        return self.curve.tails(x)[1]

    def _ppf(self, q: FloatArray) -> FloatArray:
        return self.curve.quantile(q, 1.0 - q)

    def _isf(self, q: FloatArray) -> FloatArray:
        return self.curve.quantile(1.0 - q, q)

    def _stats(self) -> tuple[float, float, None, None]:
        return *self.curve.moments(), None, None
