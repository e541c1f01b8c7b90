"""Inputs known by their data alone: arbitrary polynomial chaos."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._checks import FloatArray
from ._measure import FiniteMeasure, measure_of_sample
from ._tabulated import TabulatedLaw


@dataclass(frozen=True)
class EmpiricalLaw(TabulatedLaw):
    """The law of the data; polynomials orthonormal under the sample.

    No family is assumed: the recurrence comes from the distinct values and their
    weighted frequencies [1]_. ``k`` distinct values carry degrees up to ``k - 1``.
    The germ has weighted mean 0 and weighted variance 1.

    Parameters
    ----------
    table : FiniteMeasure
        Distinct values, in the units of the input, and their frequencies.

    References
    ----------
    .. [1] S. Oladyshkin and W. Nowak, "Data-driven uncertainty quantification using
       the arbitrary polynomial chaos expansion", Reliability Engineering and System
       Safety 106 (2012), pp. 179-190.
    """

    table: FiniteMeasure = field(kw_only=True)

    polynomial = "E"

    @classmethod
    def learn(cls, column: FloatArray, weights: FloatArray) -> EmpiricalLaw:
        table = measure_of_sample(column, weights).without_rounding()
        return cls(*table.mean_and_deviation(), table=table)

    @classmethod
    def from_frozen(cls, frozen: Any) -> EmpiricalLaw:
        raise TypeError("An empirical law is learned from data.")

    def _tabulate(self, degree: int) -> tuple[FiniteMeasure, FiniteMeasure]:
        germ = FiniteMeasure(self.standardize(self.table.points), self.table.masses)
        return germ, germ

    def _describe(self) -> str:
        return f"the empirical law of {len(self.table)} distinct values"

    def _advice(self) -> str:
        return (
            "Values in tight groups carry few degrees more than there are groups. "
            "Lower the degree, or name a family."
        )

    @property
    def largest_degree(self) -> float:
        return len(self.table) - 1

    def quadrature(self, n_nodes: int) -> tuple[FloatArray, FloatArray]:
        if n_nodes >= len(self.table):
            return self.table.points.copy(), self.table.masses.copy()
        return super().quadrature(n_nodes)

    def sample(self, size: int, generator: np.random.Generator) -> FloatArray:
        return generator.choice(self.table.points, size=size, p=self.table.masses)

    def goodness_of_fit(self, column: FloatArray) -> float:
        """NaN: the law was read from the data."""
        return float("nan")

    @property
    def support(self) -> tuple[float, float]:
        return float(self.table.points[0]), float(self.table.points[-1])
