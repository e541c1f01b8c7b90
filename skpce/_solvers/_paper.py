"""The estimator of the paper, kept whole for comparison."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._base import CoefficientSolver, LinearFit, solve_path
from ._decomposition import DesignDecomposition

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]

#: Penalties of the paper, eq. (4): 1e-8, 10^-7.5, ..., 1.
PAPER_ALPHAS = np.logspace(-8, 0, 17)


class PaperSolver(CoefficientSolver):
    """Ridge that penalises the intercept too, one penalty per target by GCV.

    The paper's eq. (4). Targets whose mean is far from zero are shrunk towards
    zero, and with penalties of at most 1 it cannot return the mean alone. Kept to
    reproduce the paper's numbers; prefer ``"ridge"``.
    """

    def fit(
        self,
        design: FloatArray,
        targets: FloatArray,
        weights: FloatArray,
        groups: IndexArray,
    ) -> LinearFit:
        decomposition = self._decompose(design, weights)
        each_alone = np.arange(targets.shape[1])
        return solve_path(decomposition, targets, PAPER_ALPHAS, each_alone, "gcv")

    def refit(
        self,
        design: FloatArray,
        targets: FloatArray,
        weights: FloatArray,
        alpha: FloatArray,
    ) -> FloatArray:
        decomposition = self._decompose(design, weights)
        mean, centred = decomposition.center_targets(targets)
        return decomposition.coefficients(mean, decomposition.project(centred), alpha)

    def _decompose(
        self, design: FloatArray, weights: FloatArray
    ) -> DesignDecomposition:
        return DesignDecomposition.from_design(design, weights, free_intercept=False)
