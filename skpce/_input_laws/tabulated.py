"""Distributions whose polynomials are computed from a table of points and masses.

All but a categorical one are standardised to mean 0 and variance 1. One on ``k`` values
has polynomials up to degree ``k - 1``.

References
----------
.. [1] W. Gautschi, "Orthogonal Polynomials: Computation and Approximation", Oxford
   University Press, 2004.
.. [2] O. G. Ernst, A. Mugler, H.-J. Starkloff and E. Ullmann, "On the convergence of
   generalized polynomial chaos expansions", ESAIM: M2AN 46 (2012).
.. [3] R. Koekoek, P. A. Lesky and R. F. Swarttouw, "Hypergeometric Orthogonal
   Polynomials and Their q-Analogues", Springer, 2010, chapter 9.
.. [4] S. Oladyshkin and W. Nowak, "Data-driven uncertainty quantification using the
   arbitrary polynomial chaos expansion", Reliability Engineering and System Safety 106
   (2012).
.. [5] W. N. Venables and B. D. Ripley, "Modern Applied Statistics with S", 4th
   edition, Springer, 2002, section 6.2.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.polynomial.legendre import leggauss, legvander
from scipy import stats
from scipy.interpolate import CubicHermiteSpline

from .._checks import BoolArray, FloatArray, IndexArray, state_of_fields
from .families import (
    MAP_TO_NORMAL,
    FiniteMeasure,
    InputLaw,
    LogNormalLaw,
    LogUniformLaw,
    describe,
    family_name,
    measure_of_sample,
    moments,
    of_logarithm,
    parameters,
    positive_scale,
)

#: Gauss-Legendre nodes and weights.
gauss_rule = lru_cache(maxsize=64)(leggauss)

# Largest deviation from orthonormality that passes.
TOLERANCE = 1e-8

# Of a value between two steps.
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


class UnresolvedError(ValueError):
    """The table of a distribution cannot be made for a degree."""


@dataclass(frozen=True)
class TabulatedLaw(InputLaw):
    """A distribution known by a table of points and masses, made for each degree."""

    @abstractmethod
    def _tabulate(self, degree: int) -> tuple[FiniteMeasure, FiniteMeasure]:
        """Return a standardised table, and one to check it; or ``UnresolvedError``."""

    @abstractmethod
    def _describe(self) -> str:
        """Return the name of the distribution for messages."""

    #: What to do about a degree that is too high, as a sentence.
    advice: ClassVar[str]

    # By degree, so that they do not depend on earlier degrees.
    @cached_property
    def _recurrences(self) -> dict[int, tuple[FloatArray, FloatArray, float]]:
        return {}

    def _solve(self, degree: int) -> tuple[FloatArray, FloatArray, float]:
        """Return the recurrence and how far it is from orthonormal."""
        if degree not in self._recurrences:
            table, check = self._tabulate(degree)
            if degree > len(table):
                raise UnresolvedError(f"it has {len(table)} values that matter")
            a, b = table.recurrence(degree)
            last = int(min(degree, self.largest_degree))
            defect = check.defect(a[:last], b[:last])
            self._recurrences[degree] = a, b, defect
        return self._recurrences[degree]

    def recurrence(self, degree: int) -> tuple[FloatArray, FloatArray]:
        a, b, _ = self._solve(degree)
        return a, b

    def check_degree(self, owner: str, name: str, degree: int) -> None:
        degree = int(min(degree, self.largest_degree))
        if degree < 1:
            return
        try:
            _, _, defect = self._solve(degree)
        except UnresolvedError as error:
            reason = str(error)
        else:
            if defect <= TOLERANCE:
                return
            reason = (
                f"its polynomials are orthonormal only up to {defect:.1e}, and "
                f"{TOLERANCE:.0e} is required"
                if np.isfinite(defect)
                else "its polynomials cannot be computed"
            )
        raise ValueError(
            f"The 'distribution' parameter of {owner} gives {name} "
            f"{self._describe()}, which does not carry degree {degree}: {reason}. "
            f"{self.advice}"
        )


@dataclass(frozen=True)
class GeneralFrozenLaw(TabulatedLaw):
    """A frozen distribution of ``scipy.stats`` without a classical family."""

    frozen: Any = field(kw_only=True)

    @classmethod
    def from_frozen(cls, frozen: Any) -> GeneralFrozenLaw:
        mean, sd = moments(frozen)
        return cls(float(mean), float(sd), learned=False, frozen=frozen)

    def _describe(self) -> str:
        return f"the distribution {self.describe()}"

    def describe(self) -> str:
        return describe(self.frozen)

    @property
    def support(self) -> tuple[float, float]:
        low, high = self.frozen.support()
        return float(low), float(high)


# Families that spread over many orders of magnitude, such as a lognormal one.
_LOGARITHMIC = frozenset({"lognorm", "fisk", "pareto"})


@dataclass(frozen=True)
class ContinuousLaw(GeneralFrozenLaw):
    """A frozen continuous distribution; polynomials by the discretised Lanczos method.

    The density becomes a composite Gauss-Legendre rule ([1]_, section 2.2.4). Its
    panels start at quantiles, are halved until kinks, jumps and infinite values are
    resolved, and end where :math:`|t|^{2p} f(t)` is negligible. A degree passes when
    the polynomials are orthonormal under a rule three times as fine, the density has
    mass 1 and moments of order :math:`2p` are finite. That does not make polynomials
    dense: those of a lognormal variable do not come near every function of it [2]_.
    """

    polynomial = "A"

    @property
    def is_logarithmic(self) -> bool:
        return family_name(self.frozen) in ("lognorm", "loguniform", "reciprocal")

    def _tabulate(self, degree: int) -> tuple[FiniteMeasure, FiniteMeasure]:
        panels = Panels.of(self.frozen, degree)

        def standardised(parts: int) -> FiniteMeasure:
            unit = panels.measure(parts)
            total = float(unit.masses.sum())
            if not abs(total - 1.0) <= TOLERANCE:
                raise UnresolvedError(f"its density integrates to {total:.10g}")
            shift = self.location - panels.loc
            points = (unit.points * panels.scale - shift) / self.scale
            return FiniteMeasure(points, unit.masses / total)

        return standardised(1), standardised(3)

    def for_degree(self, degree: int | None) -> InputLaw:
        if degree is not None or of_logarithm(self.frozen) is None:
            return self
        kind = LogNormalLaw if family_name(self.frozen) == "lognorm" else LogUniformLaw
        return kind.from_frozen(self.frozen)

    @property
    def advice(self) -> str:  # type: ignore[override]
        wide = family_name(self.frozen) in _LOGARITHMIC
        logarithm = "take the logarithm of the input, or " if wide else ""
        return (
            f"Lower the degree, {logarithm}map the input to a normal one, "
            f"{MAP_TO_NORMAL}"
        )

    def to_scipy(self) -> Any:
        return self.frozen


# Quantiles that the first panels start from.
_PROBABILITIES = (1e-3, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)

# Between these lies what distances are measured in.
_QUARTILES = (0.25, 0.75)

# Nodes of a panel beyond the degree.
_SPARE_NODES = 16

# A density is smooth on a panel where its Legendre coefficients of these degrees, or of
# as many below the number of nodes, are less than this share of its mass.
_LAST_DEGREES, _ACCURACY = (28, 32), 1e-12

# Panels narrower than this, in spreads and relative to the distance from 0, count as
# one point: no polynomial in use sees the difference. Jumps, kinks and
# infinite values end here.
_NARROWEST, _NARROWEST_RELATIVE = 1e-13, 1e-11

# Points are rounded, and densities near the smallest numbers have few digits.
_EPSILON = 4.0 * np.finfo(float).eps
_SUBNORMAL = 1e-290

# More panels to halve than this mean noise in the density; they stay as they are, and
# the check on a finer rule decides.
_MOST_TO_HALVE = 4000


_NO_EDGES = np.empty(0)


@dataclass(frozen=True)
class Panels:
    """Intervals on which a density is smooth, and narrow ones that count as points."""

    unit: Any  # the distribution with loc=0 and scale=1
    loc: float
    scale: float
    wide: FloatArray  # shape: (2, n_panels), left and right ends, both increasing
    points: FloatArray  # shape: (n_points,), of the narrow ones
    masses: FloatArray  # shape: (n_points,)
    n_nodes: int  # of each panel

    @classmethod
    def of(
        cls,
        frozen: Any,  # a continuous law of scipy.stats
        degree: int,
    ) -> Panels:
        """Halve panels until each is narrow, or the density is smooth on it."""
        # A density that is infinite at its bound needs the small steps near 0.
        shapes = parameters(frozen)
        loc, scale = float(shapes.pop("loc")), float(shapes.pop("scale"))
        unit = frozen.dist(**shapes)
        spread = float(np.diff(unit.ppf(_QUARTILES))[0])
        ends = _start_points(unit, spread, degree)
        nodes, weights = gauss_rule(degree + _SPARE_NODES)
        first, last = np.minimum(_LAST_DEGREES, len(nodes) + np.array([-4, 0]))
        series = legvander(nodes, last - 1)[:, first:] * weights[:, np.newaxis]
        panels = np.stack([ends[:-1], ends[1:]])
        wide, narrow = [], []
        while panels.size:
            width = np.diff(panels, axis=0)[0]
            size = np.abs(panels).max(axis=0)
            thin = width <= _NARROWEST * spread + _NARROWEST_RELATIVE * size
            narrow.append(panels[:, thin])
            panels, rounding = panels[:, ~thin], _EPSILON * (size / width)[~thin]
            with np.errstate(all="ignore"):
                values = unit.pdf(_points_of(panels, nodes))
                rough = np.abs(values @ series).max(axis=1, initial=0.0)
                share = _ACCURACY + rounding
                smooth = rough <= share * (values @ weights) + _SUBNORMAL
            if np.count_nonzero(~smooth) > _MOST_TO_HALVE:
                smooth[:] = True
            wide.append(panels[:, smooth])
            left, right = panels[:, ~smooth]
            middle = (left + right) / 2.0
            panels = np.stack([np.append(left, middle), np.append(middle, right)])
        low, high = points = np.hstack(narrow)
        # The difference of the smaller tail areas has all its digits on both sides.
        below = unit.cdf(high) - unit.cdf(low)
        above = unit.sf(low) - unit.sf(high)
        masses = np.where(unit.cdf(high) < 0.5, below, above)
        settled = np.sort(np.hstack(wide), axis=1)
        given = unit, loc, scale, settled, points.mean(axis=0), masses
        return cls(*given, len(nodes))

    def measure(self, parts: int = 1, edges: FloatArray = _NO_EDGES) -> FiniteMeasure:
        """Return Gauss' rule on so many equal parts of the panels, cut at the edges."""
        nodes, weights = gauss_rule(self.n_nodes)
        left, right = self.wide
        edges = (edges - self.loc) / self.scale
        place = np.searchsorted(left, edges) - 1
        edges = edges[(place >= 0) & (edges < right[place])]
        left, right = np.union1d(left, edges), np.union1d(right, edges)
        cuts = np.linspace(left, right, parts + 1)
        panels = np.stack([cuts[:-1].ravel(), cuts[1:].ravel()])
        points = _points_of(panels, nodes)
        half = np.diff(panels, axis=0).T / 2.0
        masses = (self.unit.pdf(points) * weights * half).ravel()
        points = np.append(points.ravel(), self.points)
        masses = np.append(masses, self.masses)
        order = np.argsort(points, kind="stable")
        order = order[masses[order] > 0]
        return FiniteMeasure(points[order], masses[order])


def _points_of(panels: FloatArray, nodes: FloatArray) -> FloatArray:
    """Return the nodes of each panel; shape (n_panels, n_nodes)."""
    left, right = panels[:, :, np.newaxis]
    return (left + right) / 2.0 + (right - left) / 2.0 * nodes


def _start_points(unit: Any, spread: float, degree: int) -> FloatArray:
    """Return quantiles, joined to the end of each tail by doubling distances."""
    low, high = unit.support()
    center = float(unit.median())
    if not np.isfinite(low):
        low = tail_cut(unit.logpdf, center, -spread, degree)
    if not np.isfinite(high):
        high = tail_cut(unit.logpdf, center, spread, degree)
    body = unit.ppf(_PROBABILITIES)
    outward = spread * 2.0 ** np.arange(200.0)
    jumps = getattr(unit.dist, "_hbins", [])  # edges of a histogram
    every = np.concatenate([center - outward, body, center + outward, jumps])
    inside = every[(every > low) & (every < high)]
    return np.unique(np.concatenate([[low], inside, [high]]))


# Tails are left out where what they add to the largest moment is e**-45 of its peak.
_NEGLIGIBLE = -45.0

# Below this log-density, weights have too few digits or are 0 in double precision.
_UNDERFLOW = -690.0

# Distances tried, in scales.
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


# Supports up to this size are tabulated whole, larger ones where they matter.
_SMALL_SUPPORT = 2000

_LARGEST_TABLE = 500_000


@dataclass(frozen=True)
class DiscreteLaw(GeneralFrozenLaw):
    """A frozen discrete distribution; polynomials by Lanczos on its probabilities.

    Gives the families of Krawtchouk (binomial), Charlier (Poisson), Meixner (negative
    binomial), Hahn (hypergeometric) and Chebyshev (equal probabilities) [3]_, and any
    other. Infinite tails end where they do not matter to moments of twice the degree.
    """

    polynomial = "D"
    advice = "Lower the degree, or give a continuous distribution that is close."

    @cached_property
    def _values(self) -> FloatArray | None:
        """All values of positive probability; None when there are too many."""
        listed = getattr(self.frozen.dist, "xk", None)
        low, high = self.support
        if listed is not None:
            values = np.unique(np.ravel(listed)) + float(parameters(self.frozen)["loc"])
        elif high - low < _SMALL_SUPPORT:
            values = np.arange(low, high + 1.0)
        else:
            return None
        return values[self.frozen.pmf(values) > 0]

    def _tabulate(self, degree: int) -> tuple[FiniteMeasure, FiniteMeasure]:
        values = self._values
        if values is None:
            values = self._window(degree)
        masses = self.frozen.pmf(values)
        values, masses = values[masses > 0], masses[masses > 0]
        total = float(masses.sum())
        if not abs(total - 1.0) <= TOLERANCE:
            raise UnresolvedError(f"its probabilities add up to {total:.10g}")
        table = FiniteMeasure(self.standardize(values), masses / total)
        return table, table

    def _window(self, degree: int) -> FloatArray:
        """Return the values that matter to moments of twice the degree."""
        low, high = self.support
        # Values are whole steps from loc, which need not be whole itself.
        loc = float(parameters(self.frozen)["loc"])
        center = loc + np.rint(self.location - loc)
        step = max(self.scale, 1.0)

        def log_density(points: FloatArray) -> FloatArray:
            return self.frozen.logpmf(loc + np.rint(points - loc))

        low = max(low, np.floor(tail_cut(log_density, center, -step, degree)))
        high = min(high, np.ceil(tail_cut(log_density, center, step, degree)))
        first, last = np.rint(low - loc), np.rint(high - loc)
        if last - first > _LARGEST_TABLE:
            raise UnresolvedError(
                f"it needs a table of more than {_LARGEST_TABLE} values"
            )
        return loc + np.arange(first, last + 1.0)

    @property
    def largest_degree(self) -> float:
        if self._values is not None:
            return len(self._values) - 1
        low, high = self.support
        return high - low

    def atoms(self, degree: int) -> tuple[FloatArray, FloatArray] | None:
        table, _ = self._tabulate(degree)
        return self.location + self.scale * table.points, table.masses

    def sample(self, size: int, generator: np.random.Generator) -> FloatArray:
        # scipy cuts draws to integers, even where loc is not one.
        shapes = parameters(self.frozen)
        loc = float(shapes.pop("loc"))
        draws = self.frozen.dist(**shapes).rvs(size=size, random_state=generator)
        return loc + np.asarray(draws, dtype=np.float64)

    def outside(self, column: FloatArray) -> BoolArray:
        if self._values is not None:
            after = np.searchsorted(self._values, column)
            neighbours = np.clip([after - 1, after], 0, len(self._values) - 1)
            return np.abs(self._values[neighbours] - column).min(axis=0) > 1e-9
        steps = column - float(parameters(self.frozen)["loc"])
        return super().outside(column) | (np.abs(steps - np.rint(steps)) > 1e-9)

    def _support_in_words(self) -> str:
        if self._values is None:
            return f"the whole steps of {super()._support_in_words()}"
        shown = [f"{value:g}" for value in self._values]
        if len(shown) > 6:
            shown = [*shown[:3], "...", shown[-1]]
        return "{" + ", ".join(shown) + "}"


@dataclass(frozen=True)
class LevelsLaw(InputLaw):
    """The distribution of the data: values, and how often each is seen."""

    table: FiniteMeasure = field(kw_only=True)  # in the units of the input

    learns_bounds = False

    @property
    def largest_degree(self) -> float:
        return len(self.table) - 1

    @property
    def support(self) -> tuple[float, float]:
        return float(self.table.points[0]), float(self.table.points[-1])

    def atoms(self, degree: int) -> tuple[FloatArray, FloatArray]:
        return self.table.points, self.table.masses

    def quadrature(self, n_nodes: int) -> tuple[FloatArray, FloatArray]:
        return self.atoms(n_nodes)

    def sample(self, size: int, generator: np.random.Generator) -> FloatArray:
        return generator.choice(self.table.points, size=size, p=self.table.masses)


@dataclass(frozen=True)
class EmpiricalLaw(LevelsLaw, TabulatedLaw):
    """The distribution of the data; polynomials orthonormal under the sample [4]_.

    Those of high degree are large between its values, and say nothing about what lies
    there. Where a basis has one that is larger there than at all values, functions are
    the polynomials at the values, and linear between them.
    """

    is_linear: bool = field(default=False, kw_only=True)  # between the values

    polynomial = "E"
    advice = (
        "Values in tight groups carry few degrees more than there are groups. "
        "Lower the degree, or name a family."
    )

    @classmethod
    def learn(cls, column: FloatArray, weights: FloatArray) -> EmpiricalLaw:
        table = measure_of_sample(column, weights).without_rounding()
        return cls(*table.mean_and_deviation(), table=table)

    def for_degree(self, degree: int | None) -> EmpiricalLaw:
        degree = int(min(degree or 0, self.largest_degree))
        if degree < 2:  # a straight line
            return self
        points = self.table.points
        every = np.concatenate([points, (points[1:] + points[:-1]) / 2.0])
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.abs(super().evaluate(every, degree))
        largest = (1.0 + 1e-9) * values[:, : len(points)].max(axis=1)
        tame = (values[:, len(points) :] <= largest[:, np.newaxis]).all()
        return self if tame else replace(self, is_linear=True)

    def evaluate(self, column: FloatArray, degree: int) -> FloatArray:
        if not self.is_linear:
            return super().evaluate(column, degree)
        points, where = map(self.standardize, (self.table.points, column))
        at_points = super().evaluate(self.table.points, degree)
        return np.stack([np.interp(where, points, values) for values in at_points])

    def differentiate(self, column: FloatArray, degree: int) -> FloatArray:
        if not self.is_linear:
            return super().differentiate(column, degree)
        points, where = map(self.standardize, (self.table.points, column))
        at_points = super().evaluate(self.table.points, degree)
        slopes = np.diff(at_points) / (np.diff(points) * self.scale)
        slopes = np.pad(slopes, ((0, 0), (1, 1)), mode="edge")
        before, after = (np.searchsorted(points, where, side) for side in _SIDES)
        beyond = (where < points[0]) | (where > points[-1])
        return np.where(beyond, 0.0, (slopes[:, before] + slopes[:, after]) / 2.0)

    def _tabulate(self, degree: int) -> tuple[FiniteMeasure, FiniteMeasure]:
        points = self.standardize(self.table.points)
        standardised = FiniteMeasure(points, self.table.masses)
        return standardised, standardised

    def _describe(self) -> str:
        return f"the empirical distribution of {len(self.table)} distinct values"

    def describe(self) -> str:
        return describe_levels(self.table.points)


# More levels than this are not listed.
_MOST_LISTED = 5


def describe_levels(levels: FloatArray, word: str = "levels") -> str:
    """Return the levels in words."""
    if len(levels) == 1:
        return f"constant at {levels[0]:.6g}"
    if len(levels) > _MOST_LISTED:
        return f"{len(levels)} {word}, {levels[0]:.4g} to {levels[-1]:.4g}"
    return f"{len(levels)} {word}: " + ", ".join(f"{level:.4g}" for level in levels)


@dataclass(frozen=True)
class OrdinalLaw(EmpiricalLaw):
    r"""Levels of which the order counts and the distances do not.

    The distribution of the data, with the polynomials of :math:`s`, which goes up by
    one from each level to the next and is linear between them; beyond the outermost
    levels it goes on as between the last two. Levels such as 1e-5, 1e-4, ..., 0.1 are
    as far from each other as 1, 2, ..., 5. Location and scale are those of :math:`s`.
    """

    polynomial = "O"
    same_function = False

    @classmethod
    def learn(cls, column: FloatArray, weights: FloatArray) -> OrdinalLaw:
        table = measure_of_sample(column, weights).without_rounding()
        steps = FiniteMeasure(np.arange(float(len(table))), table.masses)
        return cls(*steps.mean_and_deviation(), table=table)

    def standardize(self, column: FloatArray) -> FloatArray:
        return (self._steps(column)[0] - self.location) / self.scale

    def _steps(self, column: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the number of steps of values, and its derivative."""
        levels = self.table.points
        if len(levels) == 1:
            return np.zeros_like(column), np.zeros_like(column)
        below = np.clip(np.searchsorted(levels, column) - 1, 0, len(levels) - 2)
        slope = 1.0 / np.diff(levels)[below]
        return below + (column - levels[below]) * slope, slope

    def in_units(self, standardised: FloatArray) -> FloatArray:
        levels, steps = self.table.points, super().in_units(standardised)
        if len(levels) == 1:
            return np.full_like(steps, levels[0])
        below = np.clip(np.floor(steps).astype(np.int64), 0, len(levels) - 2)
        return levels[below] + (steps - below) * np.diff(levels)[below]

    def differentiate(self, column: FloatArray, degree: int) -> FloatArray:
        return super().differentiate(column, degree) * self._steps(column)[1]

    def describe(self) -> str:
        return describe_levels(self.table.points, "ordered levels")

    def outside(self, column: FloatArray) -> BoolArray:
        steps, _ = self._steps(column)
        return (steps < -1e-9) | (steps > len(self.table) - 1 + 1e-9)


@dataclass(frozen=True)
class CategoricalLaw(LevelsLaw):
    r"""Levels given by numeric codes; contrasts orthonormal under their frequencies.

    With the levels in increasing order, :math:`p_i` their weighted frequencies and
    :math:`P_j = \sum_{i<j} p_i`, function :math:`j = 1 .. K-1` compares level
    :math:`j` with all levels before it (Helmert's contrasts [5]_, weighted):

    .. math:: \psi_j(i) = \begin{cases}
       -\sqrt{p_j / (P_j P_{j+1})} & i < j, \\
       \sqrt{P_j / (p_j P_{j+1})} & i = j, \\ 0 & i > j. \end{cases}

    All of them together span every function of the level, so indices do not depend on
    the choice of contrasts. They are no polynomials: each counts as of degree one. A
    level not seen in ``fit`` has all functions 0, which is the average level.
    """

    #: What was given in the place of the codes, where that were labels.
    levels: tuple[Any, ...] = field(default=(), kw_only=True)

    polynomial = "C"
    is_polynomial = False

    @classmethod
    def learn(cls, column: FloatArray, weights: FloatArray) -> CategoricalLaw:
        return cls(0.0, 1.0, table=measure_of_sample(column, weights))

    def describe(self) -> str:
        return f"{len(self.table)} categories"

    def recurrence(self, degree: int) -> tuple[FloatArray, FloatArray]:
        raise ValueError("The functions of a categorical input have no recurrence.")

    def evaluate(
        self,
        column: FloatArray,  # shape: (n_samples,), codes
        degree: int,
    ) -> FloatArray:  # shape: (degree + 1, n_samples)
        position = self._position(column)
        before, own = np.cumsum(self.table.masses), self.table.masses
        values = np.zeros((degree + 1, len(column)))
        values[0] = 1.0
        for j in range(1, degree + 1):
            earlier = (position >= 0) & (position < j)
            values[j, earlier] = -np.sqrt(own[j] / (before[j - 1] * before[j]))
            values[j, position == j] = np.sqrt(before[j - 1] / (own[j] * before[j]))
        return values

    def _position(self, column: FloatArray) -> IndexArray:
        """Return the index of each level, -1 for an unseen one."""
        levels = self.table.points
        position = np.minimum(np.searchsorted(levels, column), len(levels) - 1)
        return np.where(levels[position] == column, position, -1)

    def differentiate(self, column: FloatArray, degree: int) -> FloatArray:
        raise ValueError(
            "An input with distribution='categorical' has no derivative; expected "
            "inputs that are numbers."
        )

    def outside(self, column: FloatArray) -> BoolArray:
        return self._position(column) < 0

    def _describe_outside(self, column: FloatArray) -> str:
        unseen = np.unique(column)
        shown = ", ".join(f"{level:g}" for level in unseen[:6])
        more = ", ..." if len(unseen) > 6 else ""
        return (
            f"are levels not seen in fit ({shown}{more}); the expansion takes the "
            "average level there."
        )


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
