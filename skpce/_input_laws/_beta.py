"""Beta inputs and Jacobi polynomials."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from .._checks import FloatArray
from ._base import InputLaw, positive_scale
from ._frozen import family_name, parameters

# Moments of a column that takes its two extremes alone ask for shapes of 0.
_SMALLEST_SHAPE = 1e-3


@dataclass(frozen=True)
class BetaLaw(InputLaw):
    r"""Beta input; orthonormal Jacobi polynomials. The germ is on [-1, 1].

    The density of the germ is proportional to :math:`(1-t)^\alpha (1+t)^\beta` with
    :math:`\alpha` = ``shapes[1]`` - 1 and :math:`\beta` = ``shapes[0]`` - 1, the shapes
    in the order of :data:`scipy.stats.beta`. With :math:`s_k = 2k + \alpha + \beta`
    [1]_

    .. math:: a_k = \frac{\beta^2 - \alpha^2}{s_k (s_k + 2)}, \qquad
       b_k = \frac{4k (k+\alpha)(k+\beta)(k+\alpha+\beta)}{s_k^2 (s_k+1)(s_k-1)}.

    Learned are the bounds, which are the smallest and the largest value of positive
    weight, and the shapes, from the weighted mean and variance between them.

    References
    ----------
    .. [1] W. Gautschi, "Orthogonal Polynomials: Computation and Approximation",
       Oxford University Press, 2004, table 1.1.
    """

    shapes: tuple[float, float] = (1.0, 1.0)

    polynomial = "J"

    @classmethod
    def learn(cls, column: FloatArray, weights: FloatArray) -> BetaLaw:
        present = column[weights > 0]
        low, high = float(present.min()), float(present.max())
        half = (high - low) / 2.0
        middle = (low + high) / 2.0
        if positive_scale(half, present) != half:  # constant
            return cls(middle, 1.0)
        share = (column - low) / (high - low)
        mean = float(np.average(share, weights=weights))
        variance = float(np.average((share - mean) ** 2, weights=weights))
        total = mean * (1.0 - mean) / variance - 1.0
        first = max(mean * total, _SMALLEST_SHAPE)
        second = max((1.0 - mean) * total, _SMALLEST_SHAPE)
        return cls(middle, half, shapes=(first, second))

    @classmethod
    def from_frozen(cls, frozen: Any) -> BetaLaw:
        low, high = (float(bound) for bound in frozen.support())
        shapes = BETA_FAMILIES[family_name(frozen) or ""](parameters(frozen))
        return cls((low + high) / 2.0, (high - low) / 2.0, learned=False, shapes=shapes)

    def recurrence(self, degree: int) -> tuple[FloatArray, FloatArray]:
        alpha, beta = self.shapes[1] - 1.0, self.shapes[0] - 1.0
        total = alpha + beta
        a, b = np.empty(degree), np.empty(degree)
        # The general terms are 0/0 at k = 0 and k = 1 for some shapes.
        a[:1] = (beta - alpha) / (total + 2.0)
        b[:1] = 4 * (1 + alpha) * (1 + beta) / ((total + 2) ** 2 * (total + 3))
        k = np.arange(1.0, degree)
        s = 2.0 * k + total
        a[1:] = (beta - alpha) * total / (s * (s + 2.0))
        k = np.arange(2.0, degree + 1.0)
        s = 2.0 * k + total
        b[1:] = 4 * k * (k + alpha) * (k + beta) * (k + total)
        b[1:] /= s**2 * (s + 1.0) * (s - 1.0)
        return a, b

    def sample(self, size: int, generator: np.random.Generator) -> FloatArray:
        low, high = self.support
        return low + (high - low) * generator.beta(*self.shapes, size=size)

    def goodness_of_fit(self, column: FloatArray) -> float:
        """Kolmogorov-Smirnov against the law, learned parameters taken as given."""
        share = (self.standardize(column) + 1.0) / 2.0
        return stats.kstest(share, stats.beta(*self.shapes).cdf).pvalue

    @property
    def support(self) -> tuple[float, float]:
        return self.location - self.scale, self.location + self.scale


def _symmetric(shape: float) -> tuple[float, float]:
    return float(shape), float(shape)


#: Families of ``scipy.stats`` that are beta laws on their support, with the shapes.
BETA_FAMILIES: Mapping[str, Callable[[dict[str, Any]], tuple[float, float]]] = {
    "beta": lambda given: (float(given["a"]), float(given["b"])),
    "powerlaw": lambda given: (float(given["a"]), 1.0),
    "arcsine": lambda given: _symmetric(0.5),
    "semicircular": lambda given: _symmetric(1.5),
    "rdist": lambda given: _symmetric(given["c"] / 2.0),
}
