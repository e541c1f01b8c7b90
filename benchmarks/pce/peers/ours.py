"""skpce, one method for each solver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import Bootstrap, Fit, Fitted, Method, NotSupportedError

FloatArray = NDArray[np.float64]

SOLVERS = (
    "ridge",
    "weighted_ridge",
    "anisotropic_ridge",
    "auto",
    "omp",
    "subspace_pursuit",
    "lars",
    "ard",
    "ols",
    "paper",
)
#: Not entered in the table of small samples.
DENSE = ("ols", "paper")


def make(solver: str) -> Fit:
    """Return the fit with one solver; refuse a solver that does not exist yet."""
    from skpce import PolynomialChaosRegressor
    from skpce._expansion.indices import sobol_indices

    try:
        probe = PolynomialChaosRegressor(1, solver=solver)
        probe.fit(np.linspace(-1, 1, 12)[:, None], np.linspace(-1, 1, 12) ** 3)
    except ValueError as error:
        if "'solver'" not in str(error):
            raise
        raise NotSupportedError("not there yet") from error

    def fit(X: FloatArray, Y: FloatArray, laws: Sequence[Any], degree: int) -> Fitted:
        estimator = PolynomialChaosRegressor(
            degree, distribution=list(laws), solver=solver
        ).fit(X, Y)

        def total_indices() -> FloatArray:
            found = sobol_indices(estimator.coefficients_, estimator.multi_indices_)
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
        from skpce._expansion.indices import sobol_indices

        estimator = PolynomialChaosRegressor(
            degree, distribution=list(laws), solver=solver
        ).fit(X, Y)
        counts = np.array([np.bincount(row, minlength=len(X)) for row in rows])
        problem = estimator._problem
        coefficients = problem.solver.resample(problem.linear, problem.fit, counts)
        return sobol_indices(coefficients, estimator.multi_indices_).total_order

    return resample


METHODS = tuple(
    Method(
        f"skpce {solver}",
        "ours",
        "skpce",
        lambda solver=solver: make(solver),
        adaptive=solver not in DENSE,
        bootstrap=bootstrap(solver),
    )
    for solver in SOLVERS
)
