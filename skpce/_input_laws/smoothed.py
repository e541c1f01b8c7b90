"""The distribution of the data, smoothed, for an input of no known family."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy import stats
from scipy.interpolate import CubicHermiteSpline

from .._checks import FloatArray, IndexArray, state_of_fields
from .families import FiniteMeasure, measure_of_sample, positive_scale
from .tabulated import TabulatedLaw, gauss_rule

# About so many groups of values at most.
_MOST_GROUPS = 40

_QUARTERS = np.array([0.25, 0.5, 0.75])
# Of a normal distribution, in standard deviations.
_INTERQUARTILE_RANGE = 1.349

# Ratio of quantiles from which an axis may be logarithmic.
_WIDE = 30.0

# Halvings that leave no digit of a double.
_MOST_STEPS = 60

# More than the rounding of a probability, by which a step changes nothing.
_ROUNDING = 4e-15


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
    advice = "Lower the degree, or name a family."
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

    def to_scipy(self) -> Any:
        return _Smoothed(self._curve)()

    def goodness_of_fit(self, column: FloatArray) -> float:
        """Return NaN: it is the distribution of the data."""
        return float("nan")

    def describe(self) -> str:
        low, high = self.table.points[[0, -1]]
        return f"as observed, smoothed ({low:.4g} to {high:.4g})"


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
    slopes: FloatArray  # shape: (n_points,), its derivative

    __getstate__ = state_of_fields

    @classmethod
    def through(cls, table: FiniteMeasure) -> _Curve:
        """Go through the middle of each step."""
        points, masses = table.points, table.masses
        if len(points) == 1:  # a constant column has any scale
            points = points + positive_scale(0.0, points) * np.array([-1.0, 1.0])
            masses = np.array([0.5, 0.5])
        below = np.cumsum(masses) - masses / 2.0
        width = np.diff(points)
        secant = (masses[1:] + masses[:-1]) / 2.0 / width
        share = (width[:-1] + 2.0 * width[1:]) / (3.0 * (width[:-1] + width[1:]))
        inner = 1.0 / (share / secant[:-1] + (1.0 - share) / secant[1:])
        return cls(points, below, np.r_[secant[0], inner, secant[-1]])

    @cached_property
    def _inner(self) -> CubicHermiteSpline:
        return CubicHermiteSpline(self.points, self.below, self.slopes)

    @cached_property
    def _tails(self) -> tuple[float, float, float, float]:
        """Probability of the lower tail and of the upper one, and their lengths."""
        lower, upper = float(self.below[0]), float(1.0 - self.below[-1])
        return lower, upper, lower / self.slopes[0], upper / self.slopes[-1]

    def _place(self, column: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return where values are, or the nearer end, and how far beyond the ends.

        Distances are in lengths of the tails.
        """
        _, _, before, after = self._tails
        low, high = self.points[0], self.points[-1]
        beyond = np.maximum(low - column, 0.0) / before
        above = np.maximum(column - high, 0.0) / after
        return np.clip(column, low, high), beyond, above

    def tails(self, column: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the probabilities below and above values."""
        inner, low, high = self._place(column)
        inside = self._inner(inner)
        below, above = inside * np.exp(-low), (1.0 - inside) * np.exp(-high)
        return np.where(high > 0, 1.0 - above, below), np.where(
            low > 0, 1 - below, above
        )

    def density(self, column: FloatArray) -> FloatArray:
        inner, low, high = self._place(column)
        return np.asarray(self._inner(inner, 1) * np.exp(-low - high))

    def quantile(self, below: FloatArray, above: FloatArray) -> FloatArray:
        """Return values from the probabilities below and above them."""
        lower, upper, before, after = self._tails
        with np.errstate(divide="ignore"):
            low = np.log(below / lower) * before
            high = -np.log(above / upper) * after
        found = np.where(
            below < lower,
            self.points[0] + np.minimum(low, 0.0),
            self.points[-1] + np.maximum(high, 0.0),
        )
        inside = (below >= lower) & (above > upper)
        if inside.any():
            found[inside] = self._invert(below[inside])
        return found

    def _invert(self, below: FloatArray) -> FloatArray:
        """Solve the cubics by Newton's method, kept between halved bounds."""
        last = len(self.points) - 2
        piece = np.clip(np.searchsorted(self.below, below, "right") - 1, 0, last)
        low, high = self.points[piece], self.points[piece + 1]
        x = np.interp(below, self.below, self.points)
        for _ in range(_MOST_STEPS):
            error = self._inner(x) - below
            if np.abs(error).max() <= _ROUNDING:
                break
            low, high = np.where(error <= 0, x, low), np.where(error >= 0, x, high)
            with np.errstate(divide="ignore", invalid="ignore"):
                new = x - error / self._inner(x, 1)
            x = np.where((new >= low) & (new <= high), new, 0.5 * (low + high))
        return np.asarray(x)

    def evened(self) -> _Curve:
        """Return the mean of this and of an even distribution over the range."""
        _, _, before, after = self._tails
        rate = 1.0 / (before + (self.points[-1] - self.points[0]) + after)
        even = rate * (before + self.points - self.points[0])
        return _Curve(
            self.points, (self.below + even) / 2.0, (self.slopes + rate) / 2.0
        )

    def rule(self, n_nodes: int) -> tuple[FloatArray, FloatArray]:
        """Return Gauss' rule for each piece, under this distribution."""
        nodes, weights = gauss_rule(n_nodes)
        nodes, weights = (nodes + 1.0) / 2.0, weights / 2.0
        width = np.diff(self.points)[:, np.newaxis]
        inner = (self.points[:-1, np.newaxis] + width * nodes).ravel()
        masses = self.density(inner) * (width * weights).ravel()
        lower, upper, *_ = self._tails
        first, last = lower * nodes, upper * nodes[::-1]
        before, after = self.quantile(first, 1.0 - first), self.quantile(1 - last, last)
        masses = np.concatenate([lower * weights, masses, upper * weights[::-1]])
        return np.concatenate([before, inner, after]), masses


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
