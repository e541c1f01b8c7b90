"""Bootstrap intervals and permutation p-values, conditional on X as given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed

from ._bootstrap import percentile_bounds, resample_counts
from ._checks import FloatArray, IndexArray, one_thread_if_small
from ._index_levels import IndexLevel, LevelIndices
from ._log_ratio_geometry import LogRatioGeometry
from ._solvers import CoefficientSolver, LinearFit, LinearProblem

# Resamples that are refitted together. A number of its own, so that the intervals do
# not depend on n_jobs.
_RESAMPLES_A_BLOCK = 64

# Coefficients held at once while indices are computed: 64 MiB.
_LARGEST_BLOCK = 8_388_608


@dataclass(frozen=True)
class FitProblem:
    """Everything a refit on other members needs.

    Parameters
    ----------
    solver : CoefficientSolver
        With its penalties.
    linear : LinearProblem
        Basis at the inputs of each member, and the log-ratio coordinates in which
        the solver fits, grouped by the choices they share.
    geometry : LogRatioGeometry
        Of the fitted coordinates.
    multi_indices : ndarray of shape (n_terms, n_features)
        The index set.
    spread : ndarray of shape (n_fitted,)
        Sum of squares of the step of each target; 0 for a step without variance.
    """

    solver: CoefficientSolver
    linear: LinearProblem
    geometry: LogRatioGeometry
    multi_indices: IndexArray
    spread: FloatArray

    @property
    def clr(self) -> FloatArray:
        """Centred log-ratios of the members; shape (n_members, n_active)."""
        return self.geometry.from_coordinates(self.linear.targets)

    def clr_coefficients(
        self,
        coefficients: FloatArray,  # shape: (..., n_fitted, n_terms)
    ) -> FloatArray:  # shape: (..., n_active, n_terms)
        """Map coefficients of fitted coordinates to those of clr."""
        swapped = self.geometry.from_coordinates(np.swapaxes(coefficients, -1, -2))
        return np.swapaxes(swapped, -1, -2)

    def step_press(self, residuals: FloatArray) -> FloatArray:
        """Sum squared clr residuals by step; shape (n_steps,)."""
        clr = self.geometry.from_coordinates(residuals)
        return sum_by_step(self.linear.weights @ np.square(clr), self.geometry)


def sum_by_step(per_active: FloatArray, geometry: LogRatioGeometry) -> FloatArray:
    """Add up values of active parts; NaN for a step without choice."""
    sums = np.zeros(geometry.layout.n_steps)
    np.add.at(sums, geometry.step_of_active, per_active)
    return np.where(geometry.has_choice, sums, np.nan)


def bootstrap_indices(
    problem: FitProblem,
    fit: LinearFit,
    level: IndexLevel,
    n_resamples: int,
    confidence_level: float,
    generator: np.random.Generator,
    n_jobs: int | None,
) -> tuple[FloatArray, FloatArray, FloatArray]:  # each: (2, n_rows, n_features)
    """Return percentile intervals of first-order, total and Shapley shares.

    Members are resampled; the input laws and the penalties stay those of the full
    data. The intervals ignore the truncation error of the expansion. Blocks of
    resamples are refitted together, ``n_jobs`` blocks at a time.
    """
    counts = resample_counts(problem.linear.weights, n_resamples, generator)
    size = len(problem.multi_indices) * max(problem.geometry.active_parts.size, 1)
    step = max(1, min(_RESAMPLES_A_BLOCK, _LARGEST_BLOCK // size))
    blocks = [counts[start : start + step] for start in range(0, len(counts), step)]
    draws = Parallel(n_jobs=n_jobs)(
        delayed(_resampled_indices)(problem, fit, level, block) for block in blocks
    )
    first, total, shapley = (
        percentile_bounds(
            np.concatenate([getattr(draw, name) for draw in draws]), confidence_level
        )
        for name in ("first_order", "total_order", "shapley")
    )
    return first, total, shapley


def _resampled_indices(
    problem: FitProblem, fit: LinearFit, level: IndexLevel, counts: IndexArray
) -> LevelIndices:
    with one_thread_if_small(problem.linear.design.size):
        coefficients = problem.solver.resample(problem.linear, fit, counts)
        clr_coefficients = problem.clr_coefficients(coefficients)
        return level.indices(clr_coefficients, problem.multi_indices)


def permutation_p_values(
    problem: FitProblem,
    observed_press: FloatArray,  # shape: (n_steps,)
    n_permutations: int,
    generator: np.random.Generator,
    n_jobs: int | None,
) -> FloatArray:  # shape: (n_steps,)
    """Return how often permuted members leave no larger prediction error."""
    orders = [
        generator.permutation(len(problem.linear.design)) for _ in range(n_permutations)
    ]
    presses = Parallel(n_jobs=n_jobs)(
        delayed(_permuted_press)(problem, order) for order in orders
    )
    exceed = np.sum(np.asarray(presses) <= observed_press, axis=0)
    p_values = (1.0 + exceed) / (1.0 + n_permutations)
    return np.where(problem.geometry.has_choice, p_values, np.nan)


def _permuted_press(problem: FitProblem, order: IndexArray) -> FloatArray:
    fit = problem.solver.fit(problem.linear.permuted(order))
    return problem.step_press(fit.loo_residuals)
