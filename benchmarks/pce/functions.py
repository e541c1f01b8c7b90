"""Test functions with known laws: Ishigami, Sobol's g-function and the borehole.

Every function is a frozen specification: the laws of its inputs (frozen laws of
scipy), the function itself and, where a closed form exists, its total Sobol indices.
The radius of influence of the borehole is lognormal; its input here is the normal
variable whose exponential it is, so that all laws are normal or uniform.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, uniform

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class BenchmarkFunction:
    """A function of independent inputs with known laws."""

    name: str
    laws: tuple[Any, ...]
    evaluate: Callable[[FloatArray], FloatArray]
    total_indices: tuple[float, ...] | None = None

    def sample(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """Draw a Monte-Carlo design of shape (n_samples, n_features)."""
        return np.column_stack(
            [law.rvs(size=n_samples, random_state=rng) for law in self.laws]
        )

    def data(self, n_samples: int, seed: int) -> tuple[FloatArray, FloatArray]:
        """Draw a design and the values of the function, without noise."""
        X = self.sample(n_samples, np.random.default_rng(seed))
        return X, self.evaluate(X)


def between(low: float, high: float) -> Any:
    """Return the uniform law on [low, high]."""
    return uniform(low, high - low)


def ishigami(X: FloatArray, a: float = 7.0, b: float = 0.1) -> FloatArray:
    """Sin x1 + a sin² x2 + b x3⁴ sin x1."""
    return np.sin(X[:, 0]) * (1 + b * X[:, 2] ** 4) + a * np.sin(X[:, 1]) ** 2


def ishigami_total_indices(a: float = 7.0, b: float = 0.1) -> tuple[float, ...]:
    """Total indices in closed form."""
    first = (1 + b * np.pi**4 / 5) ** 2 / 2
    second = a**2 / 8
    interaction = b**2 * np.pi**8 * (1 / 18 - 1 / 50)
    variance = first + second + interaction
    return tuple(
        float(part / variance) for part in (first + interaction, second, interaction)
    )


G_WEIGHTS = np.array([0.0, 1.0, 4.5, 9.0, 99.0, 99.0])


def sobol_g(X: FloatArray) -> FloatArray:
    """Product of (|4 x - 2| + a) / (1 + a) over the inputs."""
    return np.prod((np.abs(4 * X - 2) + G_WEIGHTS) / (1 + G_WEIGHTS), axis=1)


def sobol_g_total_indices() -> tuple[float, ...]:
    """Total indices in closed form."""
    variances = 1 / (3 * (1 + G_WEIGHTS) ** 2)
    everything = np.prod(1 + variances)
    totals = variances * everything / (1 + variances) / (everything - 1)
    return tuple(float(value) for value in totals)


LOG_RADIUS = (7.71, 1.0056)


def borehole(X: FloatArray) -> FloatArray:
    """Water flow through a borehole; column 1 is the standardised input of r."""
    radius = np.exp(LOG_RADIUS[0] + LOG_RADIUS[1] * X[:, 1])
    rw, _, t_upper, h_upper, t_lower, h_lower, length, conductivity = X.T
    log_ratio = np.log(radius / rw)
    leakage = 2 * length * t_upper / (log_ratio * rw**2 * conductivity)
    flow = 2 * np.pi * t_upper * (h_upper - h_lower)
    return flow / (log_ratio * (1 + leakage + t_upper / t_lower))


ISHIGAMI = BenchmarkFunction(
    "Ishigami", (between(-np.pi, np.pi),) * 3, ishigami, ishigami_total_indices()
)
SOBOL_G = BenchmarkFunction(
    "Sobol g", (between(0, 1),) * 6, sobol_g, sobol_g_total_indices()
)
BOREHOLE = BenchmarkFunction(
    "borehole",
    (
        norm(0.10, 0.0161812),
        norm(0, 1),
        between(63070, 115600),
        between(990, 1110),
        between(63.1, 116),
        between(700, 820),
        between(1120, 1680),
        between(9855, 12045),
    ),
    borehole,
)
FUNCTIONS = (ISHIGAMI, SOBOL_G, BOREHOLE)
