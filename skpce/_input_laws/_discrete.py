"""Discrete inputs of any frozen law: polynomials from the table of probabilities."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats

from .._checks import FloatArray
from ._frozen import describe, moments, parameters
from ._measure import FiniteMeasure
from ._tabulated import TOLERANCE, TabulatedLaw, UnresolvedError
from ._tails import tail_cut

# Supports up to this size are tabulated whole, larger ones where they matter.
_SMALL_SUPPORT = 2000

_LARGEST_TABLE = 500_000

# Cells of the chi-square test hold at least so many expected values.
_SMALLEST_CELL = 5.0

_MOST_CELLS = 20


@dataclass(frozen=True)
class DiscreteLaw(TabulatedLaw):
    """A frozen discrete law; polynomials by Lanczos on its probabilities.

    Gives the families of Krawtchouk (binomial), Charlier (Poisson), Meixner (negative
    binomial), Hahn (hypergeometric) and Chebyshev (equal probabilities) [1]_, and any
    other. Infinite tails end where they do not matter to moments of twice the degree.
    A law of ``k`` values carries degrees up to ``k - 1``. The germ has mean 0 and
    variance 1.

    Parameters
    ----------
    frozen : frozen scipy.stats law
        The law of the input.

    References
    ----------
    .. [1] R. Koekoek, P. A. Lesky and R. F. Swarttouw, "Hypergeometric Orthogonal
       Polynomials and Their q-Analogues", Springer, 2010, chapter 9.
    """

    frozen: Any = field(kw_only=True)

    polynomial = "D"

    @classmethod
    def learn(cls, column: FloatArray, weights: FloatArray) -> DiscreteLaw:
        raise TypeError("A general law is given frozen.")

    @classmethod
    def from_frozen(cls, frozen: Any) -> DiscreteLaw:
        mean, sd = moments(frozen)
        return cls(float(mean), float(sd), learned=False, frozen=frozen)

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

    def _describe(self) -> str:
        return f"the law {describe(self.frozen)}"

    def _advice(self) -> str:
        return "Lower the degree, or give a continuous law that is near."

    @property
    def largest_degree(self) -> float:
        if self._values is not None:
            return len(self._values) - 1
        low, high = self.support
        return high - low

    def quadrature(self, n_nodes: int) -> tuple[FloatArray, FloatArray]:
        if self._values is not None and n_nodes >= len(self._values):
            masses = self.frozen.pmf(self._values)
            return self._values.copy(), masses / masses.sum()
        return super().quadrature(n_nodes)

    def sample(self, size: int, generator: np.random.Generator) -> FloatArray:
        # scipy cuts draws to integers, even where loc is not one.
        shapes = parameters(self.frozen)
        loc = float(shapes.pop("loc"))
        draws = self.frozen.dist(**shapes).rvs(size=size, random_state=generator)
        return loc + np.asarray(draws, dtype=np.float64)

    def goodness_of_fit(self, column: FloatArray) -> float:
        """Chi-square test on cells of neighbouring values; 0 off the support."""
        if self.outside(column).any():
            return 0.0
        values, counts = np.unique(column, return_counts=True)
        edges = _cell_edges(self.frozen, len(column))
        if not edges.size:
            return float("nan")
        below = np.concatenate([[0.0], self.frozen.cdf(edges), [1.0]])
        cells = np.searchsorted(edges, values)
        observed = np.bincount(cells, weights=counts, minlength=len(edges) + 1)
        expected = len(column) * np.diff(below)
        statistic = np.sum((observed - expected) ** 2 / expected)
        return stats.chi2.sf(statistic, df=len(edges))

    @property
    def support(self) -> tuple[float, float]:
        low, high = self.frozen.support()
        return float(low), float(high)

    def outside(self, column: FloatArray) -> np.ndarray:
        if self._values is not None:
            after = np.searchsorted(self._values, column)
            neighbours = np.clip([after - 1, after], 0, len(self._values) - 1)
            return np.abs(self._values[neighbours] - column).min(axis=0) > 1e-9
        steps = column - float(parameters(self.frozen)["loc"])
        return super().outside(column) | (np.abs(steps - np.rint(steps)) > 1e-9)

    def _describe_outside(self, column: FloatArray) -> str:
        low, high = self.support
        where = f"the whole steps of [{low:.6g}, {high:.6g}]"
        if self._values is not None:
            shown = [f"{value:g}" for value in self._values]
            if len(shown) > 6:
                shown = [*shown[:3], "...", shown[-1]]
            where = "{" + ", ".join(shown) + "}"
        return (
            f"lie outside {where}, the support of its law; the expansion extrapolates "
            "there."
        )


def _cell_edges(frozen: Any, size: int) -> FloatArray:
    """Return the last values of all cells but the last, each cell large enough.

    They depend on the law and the sample size, never on the sample.
    """
    n_cells = int(min(size / _SMALLEST_CELL, _MOST_CELLS))
    candidates = np.unique(frozen.ppf(np.arange(1, n_cells) / n_cells))
    edges, filled = [], 0.0
    for value, count in zip(candidates, size * frozen.cdf(candidates), strict=True):
        if count - filled >= _SMALLEST_CELL and size - count >= _SMALLEST_CELL:
            edges.append(value)
            filled = count
    return np.asarray(edges)
