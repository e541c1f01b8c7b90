"""Generalised ridge fits whose scales and penalties are given."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._base import CoefficientSolver, LinearFit, LinearProblem
from ._decomposition import DesignDecomposition

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]


class GeneralizedRidgeSolver(CoefficientSolver):
    """A solver whose fits are told by scales and penalties."""

    free_intercept: bool = True

    def refit(self, problem: LinearProblem, fit: LinearFit) -> FloatArray:
        coefficients = np.empty((problem.targets.shape[1], problem.design.shape[1]))
        for scale, targets in distinct_scales(fit.scales):
            decomposition = DesignDecomposition.from_design(
                problem.design,
                problem.weights,
                free_intercept=self.free_intercept,
                scale=scale,
            )
            mean, centred = decomposition.center_targets(problem.targets[:, targets])
            loadings = decomposition.project(centred)
            coefficients[targets] = decomposition.coefficients(
                mean, loadings, fit.alpha[targets]
            )
        return coefficients


def distinct_scales(
    scales: FloatArray,  # shape: (n_targets, n_terms)
) -> list[tuple[FloatArray, IndexArray]]:
    """Return each distinct row with the targets that have it."""
    rows, row_of = np.unique(scales, axis=0, return_inverse=True)
    row_of = row_of.ravel()
    return [(row, np.flatnonzero(row_of == k)) for k, row in enumerate(rows)]
