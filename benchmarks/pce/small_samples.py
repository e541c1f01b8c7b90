"""Relative errors of solvers when there are fewer samples than terms.

The relative error is the mean squared error on fresh points over the variance of the
truth there; the table holds medians over independent Monte-Carlo designs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .functions import BOREHOLE, ISHIGAMI, BenchmarkFunction
from .peers.base import Fit, Fitted

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class SmallSample:
    """One function, degree and number of samples."""

    function: BenchmarkFunction
    degree: int
    n_samples: int

    @property
    def name(self) -> str:
        """The name in the table."""
        return f"{self.function.name} n={self.n_samples}"


SMALL_SAMPLES = tuple(
    SmallSample(function, degree, n_samples)
    for function, degree in ((ISHIGAMI, 10), (BOREHOLE, 4))
    for n_samples in (50, 100, 200)
)
N_TEST = 10_000
TEST_SEED = 987_654
#: The first of the designs; those from 0 and from 100 were looked at before.
FIRST_SEED = 1000


@lru_cache
def _test_data(function: BenchmarkFunction) -> tuple[FloatArray, FloatArray]:
    return function.data(N_TEST, TEST_SEED)


def relative_error(fit: Fit, case: SmallSample, seed: int) -> float:
    """Return the relative mean squared error with the design of one seed."""
    X, y = case.function.data(case.n_samples, seed)
    X_test, y_test = _test_data(case.function)
    fitted = fit(X, y[:, None], case.function.laws, case.degree)
    misfit = np.ravel(fitted.predict(X_test)) - y_test
    return float(np.mean(misfit**2) / y_test.var())


def relative_errors(
    fit: Fit, case: SmallSample, n_seeds: int = 10, first_seed: int = FIRST_SEED
) -> FloatArray:
    """Return the relative mean squared error of each design, shape (n_seeds,)."""
    seeds = range(first_seed, first_seed + n_seeds)
    return np.array([relative_error(fit, case, seed) for seed in seeds])


def our_fit(solver: str, **parameters: Any) -> Fit:
    """Return the fit of one of our solvers, with other parameters of the estimator."""
    from skpce import PolynomialChaosRegressor

    def fit(X: FloatArray, Y: FloatArray, laws: Sequence[Any], degree: int) -> Fitted:
        estimator = PolynomialChaosRegressor(
            degree, distribution=list(laws), solver=solver, **parameters
        )
        return Fitted(estimator.fit(X, Y).predict)

    return fit
