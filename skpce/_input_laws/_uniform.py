"""Uniform inputs and Legendre polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from .._checks import FloatArray
from ._base import InputLaw, positive_scale


class UniformLaw(InputLaw):
    """Uniform input; orthonormal Legendre polynomials. The germ is on [-1, 1]."""

    polynomial = "P"

    @classmethod
    def learn(cls, column: FloatArray, weights: FloatArray) -> UniformLaw:
        present = column[weights > 0]
        low, high = float(present.min()), float(present.max())
        return cls((low + high) / 2.0, positive_scale((high - low) / 2.0, present))

    @classmethod
    def from_frozen(cls, frozen: Any) -> UniformLaw:
        low, high = (float(bound) for bound in frozen.support())
        return cls((low + high) / 2.0, (high - low) / 2.0, learned=False)

    def recurrence(self, degree: int) -> tuple[FloatArray, FloatArray]:
        k = np.arange(1.0, degree + 1.0)
        return np.zeros(degree), k**2 / (4.0 * k**2 - 1.0)

    def sample(self, size: int, generator: np.random.Generator) -> FloatArray:
        return generator.uniform(*self.support, size=size)

    def goodness_of_fit(self, column: FloatArray) -> float:
        """Kolmogorov-Smirnov against the law, learned bounds taken as given."""
        return stats.kstest((self.standardize(column) + 1.0) / 2.0, "uniform").pvalue

    @property
    def support(self) -> tuple[float, float]:
        return self.location - self.scale, self.location + self.scale
