"""Ridge regression with a free intercept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._base import CoefficientSolver, LinearFit, solve_path
from ._decomposition import DesignDecomposition

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]

#: Penalties tried by default, in units of the sum-of-squares loss. The upper end
#: lets the ridge return the mean: "nothing here".
DEFAULT_ALPHAS = np.logspace(-8, 4, 25)


class RidgeSolver(CoefficientSolver):
    """Minimise ``sum w (y - c Psi)^2 + alpha |c|^2``, the constant not penalised.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Penalties among which closed-form leave-one-out chooses.
    """

    def __init__(self, alphas: FloatArray) -> None:
        self.alphas = alphas

    def fit(
        self,
        design: FloatArray,
        targets: FloatArray,
        weights: FloatArray,
        groups: IndexArray,
    ) -> LinearFit:
        decomposition = DesignDecomposition.from_design(
            design, weights, free_intercept=True
        )
        return solve_path(decomposition, targets, self.alphas, groups)

    def refit(
        self,
        design: FloatArray,
        targets: FloatArray,
        weights: FloatArray,
        alpha: FloatArray,
    ) -> FloatArray:
        decomposition = DesignDecomposition.from_design(
            design, weights, free_intercept=True
        )
        mean, centred = decomposition.center_targets(targets)
        return decomposition.coefficients(mean, decomposition.project(centred), alpha)


class LeastSquaresSolver(RidgeSolver):
    """Ordinary least squares; the solution of least norm where it is not unique."""

    def __init__(self) -> None:
        super().__init__(np.zeros(1))
