"""Categorical inputs and contrasts of their levels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._checks import FloatArray
from ._base import InputLaw
from ._measure import FiniteMeasure, measure_of_sample


@dataclass(frozen=True)
class CategoricalLaw(InputLaw):
    r"""Levels given by numeric codes; contrasts orthonormal under their frequencies.

    With the levels in increasing order, :math:`p_i` the frequencies and
    :math:`P_j = \sum_{i<j} p_i`, function :math:`j = 1 .. K-1` compares level
    :math:`j` with all levels before it (Helmert's contrasts [1]_, weighted):

    .. math:: \psi_j(i) = \begin{cases}
       -\sqrt{p_j / (P_j P_{j+1})} & i < j, \\
       \sqrt{P_j / (p_j P_{j+1})} & i = j, \\ 0 & i > j. \end{cases}

    All of them together span every function of the level, so indices do not depend on
    the choice of contrasts. They are no polynomials: each counts as of degree one. A
    level not seen in ``fit`` has all functions 0, which is the average level.

    Parameters
    ----------
    table : FiniteMeasure
        Levels of positive weight, and their weighted frequencies.

    References
    ----------
    .. [1] W. N. Venables and B. D. Ripley, "Modern Applied Statistics with S",
       4th edition, Springer, 2002, section 6.2.
    """

    table: FiniteMeasure = field(kw_only=True)

    polynomial = "C"
    is_polynomial = False

    @classmethod
    def learn(cls, column: FloatArray, weights: FloatArray) -> CategoricalLaw:
        return cls(0.0, 1.0, table=measure_of_sample(column, weights))

    @classmethod
    def from_frozen(cls, frozen: Any) -> CategoricalLaw:
        raise TypeError("A categorical law is learned from data.")

    def recurrence(self, degree: int) -> tuple[FloatArray, FloatArray]:
        raise ValueError("The functions of a categorical input have no recurrence.")

    def evaluate(
        self,
        column: FloatArray,  # shape: (n_samples,), codes
        degree: int,
    ) -> FloatArray:  # shape: (degree + 1, n_samples)
        if degree > self.largest_degree:
            raise ValueError(
                f"{len(self.table)} levels have {len(self.table) - 1} contrasts, not "
                f"{degree}."
            )
        position = self._position(column)
        before, own = np.cumsum(self.table.masses), self.table.masses
        values = np.zeros((degree + 1, len(column)))
        values[0] = 1.0
        for j in range(1, degree + 1):
            earlier = (position >= 0) & (position < j)
            values[j, earlier] = -np.sqrt(own[j] / (before[j - 1] * before[j]))
            values[j, position == j] = np.sqrt(before[j - 1] / (own[j] * before[j]))
        return values

    def _position(self, column: FloatArray) -> np.ndarray:
        """Return the index of each level, -1 for an unseen one."""
        levels = self.table.points
        position = np.minimum(np.searchsorted(levels, column), len(levels) - 1)
        return np.where(levels[position] == column, position, -1)

    def differentiate(self, column: FloatArray, degree: int) -> FloatArray:
        raise ValueError("A categorical input has no derivative.")

    def quadrature(self, n_nodes: int) -> tuple[FloatArray, FloatArray]:
        """Return the levels and their frequencies, whatever is asked."""
        return self.table.points.copy(), self.table.masses.copy()

    @property
    def largest_degree(self) -> float:
        return len(self.table) - 1

    def sample(self, size: int, generator: np.random.Generator) -> FloatArray:
        return generator.choice(self.table.points, size=size, p=self.table.masses)

    def goodness_of_fit(self, column: FloatArray) -> float:
        """NaN: the frequencies were read from the data."""
        return float("nan")

    @property
    def support(self) -> tuple[float, float]:
        return float(self.table.points[0]), float(self.table.points[-1])

    def outside(self, column: FloatArray) -> np.ndarray:
        return self._position(column) < 0

    def _describe_outside(self, column: FloatArray) -> str:
        unseen = np.unique(column)
        shown = ", ".join(f"{level:g}" for level in unseen[:6])
        more = ", ..." if len(unseen) > 6 else ""
        return (
            f"are levels not seen in fit ({shown}{more}); the expansion takes the "
            "average level there."
        )
