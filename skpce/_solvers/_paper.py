"""The estimator of the paper, kept whole for comparison."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ._base import LinearFit, LinearProblem
from ._ridge_path import RidgePathSolver

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

    def fit(self, problem: LinearProblem) -> LinearFit:
        each_alone = np.arange(problem.targets.shape[1])
        return super().fit(replace(problem, groups=each_alone))
