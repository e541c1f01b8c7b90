"""Problems with many inputs: a sample, test points, and the inputs to be judged.

The 100-dimensional function is that of UQLab's manual for sparse expansions
(S. Marelli, N. Lüthen and B. Sudret, "UQLab user manual - Polynomial chaos
expansions", 2022): inputs uniform on [1, 2], input 20 on [1, 3].
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
class Problem:
    """A function of independent inputs, with noise."""

    name: str
    laws: tuple[Any, ...]
    evaluate: Callable[[FloatArray], FloatArray]
    judged: tuple[int, ...]  # inputs whose total indices are compared
    degree: int
    noise: float = 0.0  # standard deviation, as a share of that of the function

    def draw(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw inputs of shape (size, n_inputs)."""
        columns = {
            id(law): law.rvs((size, self.laws.count(law)), random_state=rng)
            for law in dict.fromkeys(self.laws)
        }
        used = dict.fromkeys(columns, 0)
        X = np.empty((size, len(self.laws)))
        for i, law in enumerate(self.laws):
            X[:, i] = columns[id(law)][:, used[id(law)]]
            used[id(law)] += 1
        return X

    def sample(self, size: int, seed: int) -> tuple[FloatArray, FloatArray]:
        """Return inputs and noisy values."""
        rng = np.random.default_rng(seed)
        X = self.draw(size, rng)
        values = self.evaluate(X)
        spread = self.evaluate(self.draw(2000, np.random.default_rng(7))).std()
        return X, values + self.noise * spread * rng.normal(size=size)


def hundred(X: FloatArray) -> FloatArray:
    """Return the 100-dimensional function."""
    k = np.arange(1, 101)
    value = 3 - 0.05 * X @ k + 0.01 * X**3 @ k + np.log(X**2 + X**4) @ k / 300
    x = X.T
    value += x[0] * x[1] ** 2 + x[1] * x[3] - x[2] * x[4] + x[50] + x[49] * x[53] ** 2
    return np.asarray(value)


_NORMAL = norm(0, 1)
_SPARSE = np.linspace(1.0, 0.3, 10) * (-1.0) ** np.arange(10)
_DENSE = np.random.default_rng(1).normal(size=200)
_ONE_TO_TWO, _ONE_TO_THREE = uniform(1, 1), uniform(1, 2)

PROBLEMS = (
    Problem(
        "100-dimensional function",
        (*[_ONE_TO_TWO] * 19, _ONE_TO_THREE, *[_ONE_TO_TWO] * 80),
        hundred,
        (0, 1, 3, 19, 49, 50, 53, 60, 80, 99),
        3,
    ),
    Problem(
        "sparse linear, 10 of 1,000",
        (_NORMAL,) * 1000,
        lambda X: X[:, :10] @ _SPARSE,
        (*range(10), 20, 30),
        2,
        noise=0.3,
    ),
    Problem(
        "dense linear, 200",
        (_NORMAL,) * 200,
        lambda X: X @ _DENSE,
        (*np.argsort(-np.abs(_DENSE))[:5].tolist(), 0, 1, 2),
        2,
        noise=0.3,
    ),
    Problem(
        "product of 2 of 1,000",
        (_NORMAL,) * 1000,
        lambda X: X[:, 0] * X[:, 1],
        (0, 1, 20, 30),
        2,
        noise=0.1,
    ),
)


def total_indices(
    problem: Problem, predict: Callable[[FloatArray], FloatArray], size: int = 500
) -> FloatArray:  # shape: (n_judged,)
    """Return total indices by Jansen's estimator; the same draws for all functions."""
    rng = np.random.default_rng(11)
    X, other = problem.draw(size, rng), problem.draw(size, rng)
    values = predict(X)
    variance = values.var()
    found = []
    for i in problem.judged:
        moved = X.copy()
        moved[:, i] = other[:, i]
        found.append(np.mean((values - predict(moved)) ** 2) / 2 / max(variance, 1e-30))
    return np.array(found)
