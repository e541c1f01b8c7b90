"""The estimator of the paper, kept whole for comparison."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._base import LinearFit
from ._ridge_path import RidgePathSolver

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]

#: Penalties of the paper, eq. (4): 1e-8, 10^-7.5, ..., 1.
PAPER_ALPHAS = np.logspace(-8, 0, 17)


class PaperSolver(RidgePathSolver):
    """Ridge that penalises the intercept too, one penalty per target by GCV.

    The paper's eq. (4). Targets whose mean is far from zero are shrunk towards
    zero, and with penalties of at most 1 it cannot return the mean alone. Kept to
    reproduce the paper's numbers; prefer ``"ridge"``.
    """

    def __init__(self) -> None:
        super().__init__(PAPER_ALPHAS, free_intercept=False, criterion="gcv")

    def fit(
        self,
        design: FloatArray,
        targets: FloatArray,
        weights: FloatArray,
        groups: IndexArray,
    ) -> LinearFit:
        each_alone = np.arange(targets.shape[1])
        return super().fit(design, targets, weights, each_alone)
