"""Monotone maps of one column to a standard normal score and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import ndtr, ndtri

from ._checks import FloatArray
from ._input_laws import (
    BetaLaw,
    ContinuousLaw,
    EmpiricalLaw,
    GammaLaw,
    InputLaw,
    NormalLaw,
    UniformLaw,
)

# Score of the end of a support that is known: beyond it lies 6e-16 of the law.
_FARTHEST = 8.0


class MarginalMap(ABC):
    """A strictly increasing map between a column and its normal score."""

    @abstractmethod
    def to_normal(self, column: FloatArray) -> FloatArray:
        """Return the scores of values."""

    @abstractmethod
    def from_normal(self, scores: FloatArray) -> FloatArray:
        """Return the values of scores."""


@dataclass(frozen=True)
class ConstantMap(MarginalMap):
    """A column that never varied: every score maps back to its value.

    Parameters
    ----------
    value : float
        What the column held.
    """

    value: float

    def to_normal(self, column: FloatArray) -> FloatArray:
        return column - self.value

    def from_normal(self, scores: FloatArray) -> FloatArray:
        return np.full_like(scores, self.value)


@dataclass(frozen=True)
class NormalMap(MarginalMap):
    """A normal column: standardised.

    Parameters
    ----------
    location, scale : float
        Mean and standard deviation.
    """

    location: float
    scale: float

    def to_normal(self, column: FloatArray) -> FloatArray:
        return (column - self.location) / self.scale

    def from_normal(self, scores: FloatArray) -> FloatArray:
        return self.location + self.scale * scores


@dataclass(frozen=True)
class DistributionMap(MarginalMap):
    r"""A column of a continuous law: :math:`z = \Phi^{-1}(F(x))`.

    Parameters
    ----------
    frozen : frozen scipy.stats law
        With distribution function F.
    lowest, highest : float
        Scores of the ends of the support and of what lies beyond them.
    """

    frozen: Any
    lowest: float
    highest: float

    def to_normal(self, column: FloatArray) -> FloatArray:
        below, above = self.frozen.cdf(column), self.frozen.sf(column)
        with np.errstate(divide="ignore"):
            scores = np.where(below < 0.5, ndtri(below), -ndtri(above))
        return np.clip(scores, self.lowest, self.highest)

    def from_normal(self, scores: FloatArray) -> FloatArray:
        tail = ndtr(-np.abs(scores))
        return np.where(scores < 0, self.frozen.ppf(tail), self.frozen.isf(tail))


@dataclass(frozen=True, eq=False)
class EmpiricalMap(MarginalMap):
    """A column known by its data: normal scores of the distinct values [1]_.

    A value has the score of the middle of its step of the distribution function.
    Between values the map is linear; beyond them it goes on with the standard
    deviation of the column for each unit of the score, a normal tail.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        Distinct, increasing, at least two.
    scores : ndarray of shape (n_values,)
        Of the values.
    slope : float
        Standard deviation of the column.

    References
    ----------
    .. [1] B. L. van der Waerden, "Order tests for the two-sample problem and their
       power", Indagationes Mathematicae 14 (1952).
    """

    values: FloatArray
    scores: FloatArray
    slope: float

    def to_normal(self, column: FloatArray) -> FloatArray:
        beyond = column - np.clip(column, self.values[0], self.values[-1])
        return np.interp(column, self.values, self.scores) + beyond / self.slope

    def from_normal(self, scores: FloatArray) -> FloatArray:
        beyond = scores - np.clip(scores, self.scores[0], self.scores[-1])
        return np.interp(scores, self.scores, self.values) + beyond * self.slope


def marginal_map(
    owner: str,
    name: str,
    law: InputLaw,
    column: FloatArray,  # shape: (n_samples,), of the fit
    weights: FloatArray,  # shape: (n_samples,)
) -> MarginalMap:
    """Return the map of a law.

    The finite ends of a support that was learned are values of the column. They get
    the score that half a row of the data lies beyond, as with an empirical law, or
    that of the farthest other row, not an infinite one.

    Raises
    ------
    ValueError
        If the law is not continuous, naming the input.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._input_laws import UniformLaw
    >>> from skpce._marginal_maps import marginal_map
    >>> column, law = np.array([0.0, 0.3, 1.0]), UniformLaw(0.5, 0.5)
    >>> found = marginal_map("Nataf", "x0", law, column, np.ones(3))
    >>> found.to_normal(column).round(2)
    array([-0.97, -0.52,  0.97])
    """
    present = column[weights > 0]
    if law.learned and np.ptp(present) <= 1e-14 * np.abs(present).max():
        return ConstantMap(float(present[0]))
    if isinstance(law, NormalLaw):
        return NormalMap(law.location, law.scale)
    if isinstance(law, EmpiricalLaw):
        masses = law.table.masses
        middles = np.cumsum(masses) - masses / 2.0
        return EmpiricalMap(law.table.points, ndtri(middles), law.scale)
    frozen = _frozen(owner, name, law)
    found = DistributionMap(frozen, -_FARTHEST, _FARTHEST)
    if not law.learned:
        return found
    sizes = np.abs(found.to_normal(present))
    half_a_row = -float(ndtri(0.5 / max(weights.sum(), 2.0)))
    farthest = max(half_a_row, float(sizes[sizes < _FARTHEST].max(initial=0.0)))
    low, high = frozen.support()
    return replace(
        found,
        lowest=-farthest if np.isfinite(low) else -_FARTHEST,
        highest=farthest if np.isfinite(high) else _FARTHEST,
    )


def _frozen(owner: str, name: str, law: InputLaw) -> Any:
    low, scale = law.location, law.scale
    if isinstance(law, UniformLaw):
        return stats.uniform(low - scale, 2.0 * scale)
    if isinstance(law, GammaLaw):
        return stats.gamma(law.shape, low, scale)
    if isinstance(law, BetaLaw):
        return stats.beta(*law.shapes, low - scale, 2.0 * scale)
    if isinstance(law, ContinuousLaw):
        return law.frozen
    raise ValueError(
        f"The 'distribution' parameter of {owner} gives {name} a {type(law).__name__}; "
        "expected a continuous law: categories and counts have no map to a normal "
        "variable that can be undone."
    )
