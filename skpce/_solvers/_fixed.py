"""Generalised ridge fits whose scales and penalties are given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import FloatArray, IndexArray
from ._base import CoefficientSolver, LinearFit, LinearProblem
from ._batched import resample_group
from ._decomposition import DesignDecomposition


class GeneralizedRidgeSolver(CoefficientSolver):
    """A solver whose fits are told by scales and penalties."""

    free_intercept: bool = True

    def refit(self, problem: LinearProblem, fit: LinearFit) -> FloatArray:
        coefficients = np.empty((problem.targets.shape[1], problem.design.shape[1]))
        for scale, targets in distinct_scales(fit.scales):
            coefficients[targets] = self._refit_group(problem, fit, scale, targets)
        return coefficients

    def resample(
        self, problem: LinearProblem, fit: LinearFit, counts: NDArray[Any]
    ) -> FloatArray:
        """Refit on many resamples at once, with the choices of a fit.

        The same as ``refit(problem.resampled(row), fit)`` for each row of counts, of
        shape (n_resamples, n_samples). Returns an array of shape
        (n_resamples, n_targets, n_terms).
        """
        shape = (len(counts), problem.targets.shape[1], problem.design.shape[1])
        coefficients = np.empty(shape)
        for scale, targets in distinct_scales(fit.scales):
            group, accurate = resample_group(
                problem, counts, scale, targets, fit.alpha[targets], self.free_intercept
            )
            for row in np.flatnonzero(~accurate):
                resampled = problem.resampled(counts[row])
                group[row] = self._refit_group(resampled, fit, scale, targets)
            coefficients[:, targets] = group
        return coefficients

    def _refit_group(
        self,
        problem: LinearProblem,
        fit: LinearFit,
        scale: FloatArray,
        targets: IndexArray,
    ) -> FloatArray:
        """Refit the targets of one scale; shape (n_chosen, n_terms)."""
        decomposition = DesignDecomposition.from_design(
            problem.design,
            problem.weights,
            free_intercept=self.free_intercept,
            scale=scale,
        )
        mean, centred = decomposition.center_targets(problem.targets[:, targets])
        loadings = decomposition.project(centred)
        return decomposition.coefficients(mean, loadings, fit.alpha[targets])


def distinct_scales(
    scales: FloatArray,  # shape: (n_targets, n_terms)
) -> list[tuple[FloatArray, IndexArray]]:
    """Return each distinct row with the targets that have it."""
    rows, row_of = np.unique(scales, axis=0, return_inverse=True)
    row_of = row_of.ravel()
    return [(row, np.flatnonzero(row_of == k)) for k, row in enumerate(rows)]
