"""Normal inputs and Hermite polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from .._checks import FloatArray
from ._base import InputLaw, positive_scale

# Above this size the p-value of Shapiro and Wilk's test is not accurate.
_LARGEST_SHAPIRO = 5000


class NormalLaw(InputLaw):
    """Normal input; orthonormal (probabilists') Hermite polynomials."""

    polynomial = "He"

    @classmethod
    def learn(cls, column: FloatArray, weights: FloatArray) -> NormalLaw:
        mean = float(np.average(column, weights=weights))
        variance = float(np.average((column - mean) ** 2, weights=weights))
        return cls(mean, positive_scale(np.sqrt(variance), column))

    @classmethod
    def from_frozen(cls, frozen: Any) -> NormalLaw:
        return cls(float(frozen.mean()), float(frozen.std()), learned=False)

    def recurrence(self, degree: int) -> tuple[FloatArray, FloatArray]:
        return np.zeros(degree), np.arange(1.0, degree + 1.0)

    def sample(self, size: int, generator: np.random.Generator) -> FloatArray:
        return generator.normal(self.location, self.scale, size=size)

    def goodness_of_fit(self, column: FloatArray) -> float:
        """Kolmogorov-Smirnov when frozen; when learned, a test of the shape alone:
        Shapiro-Wilk, or D'Agostino-Pearson above 5000 values.
        """
        if not self.learned:
            return stats.kstest(self.standardize(column), "norm").pvalue
        test = stats.shapiro if len(column) <= _LARGEST_SHAPIRO else stats.normaltest
        return test(column).pvalue
