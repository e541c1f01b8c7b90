"""Six functions with known total Sobol indices.

Ishigami, Sobol's g-function and the borehole are those of ``benchmarks.pce``. Here are
a product with one categorical input, an additive function and one with a threshold, in
closed form too. The borehole has none: its indices are a pick-freeze estimate with a
Sobol sequence of 2^17 points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.pce.functions import (
    BOREHOLE,
    ISHIGAMI,
    SOBOL_G,
    BenchmarkFunction,
    between,
    pick_freeze,
)

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Levels:
    """A categorical input: codes 0, 1, ... with equal probability."""

    count: int

    def ppf(self, u: FloatArray) -> FloatArray:
        return np.minimum(np.floor(u * self.count), self.count - 1)

    def cdf(self, codes: FloatArray) -> FloatArray:
        """Return where a code lies in [0, 1], for tools that know only numbers."""
        return codes / (self.count - 1)


@dataclass(frozen=True)
class Problem:
    """A function, the distributions of its inputs, and its total indices."""

    name: str
    laws: tuple[Any, ...]
    evaluate: Callable[[FloatArray], FloatArray]
    closed_form: tuple[float, ...] | None = None

    @cached_property
    def truth(self) -> tuple[FloatArray, float]:
        """Total indices and the variance; the variance is a pick-freeze estimate."""
        found = pick_freeze(self.evaluate, self.laws, 17)
        closed = self.closed_form
        return found.total if closed is None else np.array(closed), found.variance

    def data(
        self, n: int, noise: float, seed: int
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Draw inputs, their places in [0, 1], and outputs with noise.

        ``noise`` is the variance of the normal noise in units of the function's.
        """
        rng = np.random.default_rng(seed)
        X = self.at(rng.uniform(size=(n, len(self.laws))))
        places = np.column_stack(
            [law.cdf(column) for law, column in zip(self.laws, X.T, strict=True)]
        )
        _, variance = self.truth
        y = self.evaluate(X) + np.sqrt(noise * variance) * rng.normal(size=n)
        return X, places, y

    def at(self, u: FloatArray) -> FloatArray:
        """Return inputs at places of the unit cube."""
        return np.column_stack(
            [law.ppf(column) for law, column in zip(self.laws, u.T, strict=True)]
        )


FACTORS = np.array([0.2, 1.0, 2.0])  # of the levels of the categorical input


def product(X: FloatArray) -> FloatArray:
    """Factor of the level, times two linear factors; the last input does nothing."""
    return FACTORS[X[:, 0].astype(int)] * (1 + X[:, 1]) * (1 + X[:, 2] / 2)


def product_total_indices() -> tuple[float, ...]:
    """Variance of a factor times the second moments of the others."""
    means = np.array([FACTORS.mean(), 1.0, 1.0])
    variances = np.array([FACTORS.var(), 1 / 3, 1 / 12])
    seconds = means**2 + variances
    total = seconds.prod() - np.prod(means**2)
    return (*(variances * seconds.prod() / seconds / total), 0.0)


def additive(X: FloatArray) -> FloatArray:
    """Linear, square, sine and exponential parts; the last input does nothing."""
    return (
        X[:, 0]
        + 0.8 * X[:, 1] ** 2
        + 0.5 * np.sin(np.pi * X[:, 2])
        + 0.3 * np.exp(X[:, 3])
    )


def additive_total_indices() -> tuple[float, ...]:
    """Shares of the variances of the parts."""
    exponential = np.sinh(2) / 2 - np.sinh(1) ** 2
    parts = np.array([1 / 3, 0.64 * 4 / 45, 0.25 / 2, 0.09 * exponential, 0.0])
    return tuple(parts / parts.sum())


THRESHOLD = 0.2


def threshold(X: FloatArray) -> FloatArray:
    """Nothing below the threshold, a line above it; and another line."""
    return (X[:, 0] > THRESHOLD) * (1 + X[:, 1]) + 0.3 * X[:, 2]


def threshold_total_indices() -> tuple[float, ...]:
    """With p the probability to be above: E(1 + x)² = 4/3, Var x = 1/3."""
    p = (1 - THRESHOLD) / 2
    variance = p * 4 / 3 - p**2 + 0.09 / 3
    parts = np.array([p * (1 - p) * 4 / 3, p / 3, 0.09 / 3, 0.0])
    return tuple(parts / variance)


def _known(function: BenchmarkFunction) -> Problem:
    return Problem(
        function.name, function.laws, function.evaluate, function.total_indices
    )


SYMMETRIC = between(-1, 1)
PROBLEMS = (
    _known(ISHIGAMI),
    _known(SOBOL_G),
    _known(BOREHOLE),
    Problem(
        "product, one categorical",
        (Levels(len(FACTORS)), SYMMETRIC, SYMMETRIC, SYMMETRIC),
        product,
        product_total_indices(),
    ),
    Problem("additive", (SYMMETRIC,) * 5, additive, additive_total_indices()),
    Problem("threshold", (SYMMETRIC,) * 4, threshold, threshold_total_indices()),
)
