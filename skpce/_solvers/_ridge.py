"""Ridge regression with a free intercept, and least squares as its limit."""

from __future__ import annotations

import numpy as np

from ._ridge_path import RidgePathSolver

#: Penalties tried by default, in units of the sum-of-squares loss. The upper end
#: lets the ridge return the mean: "nothing here".
DEFAULT_ALPHAS = np.logspace(-8, 4, 25)


class RidgeSolver(RidgePathSolver):
    """Ridge with a free intercept; leave-one-out chooses the penalty."""


class LeastSquaresSolver(RidgePathSolver):
    """Ordinary least squares; the solution of least norm where it is not unique."""

    def __init__(self) -> None:
        super().__init__(np.zeros(1))
