"""skpce, one method for each solver; ``learned`` is the fit without settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import Bootstrap, Fit, Fitted, Method, NotSupportedError

FloatArray = NDArray[np.float64]

LEARNED = "learned"
SOLVERS = (
    LEARNED,
    "ridge",
    "subspace_pursuit",
    "lars",
    "ols",
    "paper",
)


def make(solver: str) -> Fit:
    """Return the fit with one solver; refuse a solver that does not exist yet."""
    from skpce import PolynomialChaosRegressor
    from skpce._expansion.expansion import indices_of_terms

    try:
        named = None if solver == LEARNED else solver
        probe = PolynomialChaosRegressor(1, solver=named, distribution="normal")
        probe.fit(np.linspace(-1, 1, 12)[:, None], np.linspace(-1, 1, 12) ** 3)
    except ValueError as error:
        if "'solver'" not in str(error):
            raise
        raise NotSupportedError("not there yet") from error

    def fit(X: FloatArray, Y: FloatArray, laws: Sequence[Any], degree: int) -> Fitted:
        settings = {} if solver == LEARNED else {"degree": degree, "solver": solver}
        estimator = PolynomialChaosRegressor(distribution=list(laws), **settings)
        estimator.fit(X, Y)

        def total_indices() -> FloatArray:
            if solver == LEARNED:  # may have no list of terms
                return estimator.total_sobol_indices_
            found = indices_of_terms(estimator.coefficients_, estimator.multi_indices_)
            return found.total_order

        return Fitted(estimator.predict, total_indices)

    return fit


def bootstrap(solver: str) -> Bootstrap:
    """Return the batched bootstrap of a solver: one fit, penalties and terms fixed."""

    def resample(
        X: FloatArray,
        Y: FloatArray,
        laws: Sequence[Any],
        degree: int,
        rows: NDArray[np.int64],
    ) -> FloatArray:
        from skpce import PolynomialChaosRegressor
        from skpce._expansion.expansion import indices_of_terms

        estimator = PolynomialChaosRegressor(
            degree,
            distribution=list(laws),
            solver=None if solver == LEARNED else solver,
        ).fit(X, Y)
        counts = np.array([np.bincount(row, minlength=len(X)) for row in rows])
        problem = estimator._problem
        coefficients = problem.solver.resample(problem.linear, problem.fit, counts)
        return indices_of_terms(coefficients, estimator.multi_indices_).total_order

    return resample


METHODS = tuple(
    Method(
        f"skpce {solver}",
        "ours",
        "skpce",
        lambda solver=solver: make(solver),
        bootstrap=bootstrap(solver),
    )
    for solver in SOLVERS
)
