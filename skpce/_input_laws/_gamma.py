"""Exponential and gamma inputs and Laguerre polynomials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from .._checks import FloatArray
from ._base import InputLaw, positive_scale
from ._frozen import family_name, parameters


@dataclass(frozen=True)
class GammaLaw(InputLaw):
    r"""Gamma input; orthonormal generalised Laguerre polynomials.

    The germ :math:`t = (x - \text{location}) / \text{scale}` has the density
    :math:`t^{\alpha} e^{-t} / \Gamma(\alpha + 1)` with :math:`\alpha` = ``shape`` - 1,
    and [1]_

    .. math:: a_k = 2k + 1 + \alpha, \qquad b_k = k\,(k + \alpha).

    Learned are the location, which is the smallest value of positive weight, and
    shape and scale, from the weighted mean and variance above it.

    References
    ----------
    .. [1] W. Gautschi, "Orthogonal Polynomials: Computation and Approximation",
       Oxford University Press, 2004, table 1.1.
    """

    shape: float = 1.0

    polynomial = "L"

    @classmethod
    def learn(cls, column: FloatArray, weights: FloatArray) -> GammaLaw:
        low, mean, variance = _moments_above_smallest(column, weights)
        deviation = float(np.sqrt(variance))
        if positive_scale(deviation, column[weights > 0]) != deviation:  # constant
            return cls(low, 1.0)
        return cls(low, variance / mean, shape=mean**2 / variance)

    @classmethod
    def from_frozen(cls, frozen: Any) -> GammaLaw:
        given = parameters(frozen)
        loc, scale = float(given["loc"]), float(given["scale"])
        if family_name(frozen) == "chi2":
            return cls(loc, 2.0 * scale, learned=False, shape=float(given["df"]) / 2.0)
        return cls(loc, scale, learned=False, shape=float(given.get("a", 1.0)))

    def recurrence(self, degree: int) -> tuple[FloatArray, FloatArray]:
        k = np.arange(degree + 1.0)
        alpha = self.shape - 1.0
        return 2.0 * k[:-1] + 1.0 + alpha, k[1:] * (k[1:] + alpha)

    def sample(self, size: int, generator: np.random.Generator) -> FloatArray:
        return self.location + self.scale * generator.gamma(self.shape, size=size)

    def goodness_of_fit(self, column: FloatArray) -> float:
        """Kolmogorov-Smirnov against the law, learned parameters taken as given."""
        germ = self.standardize(column)
        return stats.kstest(germ, stats.gamma(self.shape).cdf).pvalue

    @property
    def support(self) -> tuple[float, float]:
        return self.location, np.inf


class ExponentialLaw(GammaLaw):
    """Exponential input: a gamma one of shape 1.

    Learned are the location, which is the smallest value of positive weight, and the
    scale, which is the weighted mean above it.
    """

    @classmethod
    def learn(cls, column: FloatArray, weights: FloatArray) -> ExponentialLaw:
        low, mean, _ = _moments_above_smallest(column, weights)
        return cls(low, positive_scale(mean, column[weights > 0]))


def _moments_above_smallest(
    column: FloatArray, weights: FloatArray
) -> tuple[float, float, float]:
    """Return the smallest value, and mean and variance of the rise above it."""
    low = float(column[weights > 0].min())
    mean = float(np.average(column - low, weights=weights))
    variance = float(np.average((column - low - mean) ** 2, weights=weights))
    return low, mean, variance


#: Families of ``scipy.stats`` that are gamma laws.
GAMMA_FAMILIES: Mapping[str, type[GammaLaw]] = {
    "expon": ExponentialLaw,
    "gamma": GammaLaw,
    "erlang": GammaLaw,
    "chi2": GammaLaw,
}
