"""Bootstrap intervals and permutation p-values, conditional on X as given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from ._goodness import without_slopes
from ._log_ratio_geometry import LogRatioGeometry
from ._sobol import SobolIndices, aggregate_sobol_indices
from ._solvers import CoefficientSolver, LinearFit, LinearProblem

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]


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

    def step_indices(self, coefficients: FloatArray) -> SobolIndices:
        """Aggregate the indices of fitted coordinates by step."""
        coefficients = without_slopes(coefficients, self.spread)
        clr = self.geometry.from_coordinates(coefficients.T).T
        return aggregate_sobol_indices(
            clr,
            self.multi_indices,
            self.geometry.step_of_active,
            self.geometry.layout.n_steps,
        )

    def step_press(self, residuals: FloatArray) -> FloatArray:
        """Sum squared clr residuals by step; shape (n_steps,)."""
        clr = self.geometry.from_coordinates(residuals)
        return sum_by_step(self.linear.weights @ np.square(clr), self.geometry)


def sum_by_step(per_active: FloatArray, geometry: LogRatioGeometry) -> FloatArray:
    """Add up values of active parts; NaN for a step without choice."""
    sums = np.zeros(geometry.layout.n_steps)
    np.add.at(sums, geometry.step_of_active, per_active)
    return np.where(geometry.has_choice, sums, np.nan)


def bootstrap_step_indices(
    problem: FitProblem,
    fit: LinearFit,
    n_resamples: int,
    confidence_level: float,
    generator: np.random.Generator,
    n_jobs: int | None,
) -> tuple[FloatArray, FloatArray]:  # each shape: (2, n_steps, n_features)
    """Return percentile intervals of the first-order and total step indices.

    Members are resampled; the input laws and the penalties stay those of the full
    data. The intervals ignore the truncation error of the expansion.
    """
    weights = problem.linear.weights
    copies = round(float(weights.sum()))
    share = weights / weights.sum()
    counts = generator.multinomial(copies, share, size=n_resamples)
    draws = Parallel(n_jobs=n_jobs)(
        delayed(_resampled_indices)(problem, fit, count) for count in counts
    )
    tail = (1.0 - confidence_level) / 2.0
    first = np.quantile([d.first_order for d in draws], [tail, 1.0 - tail], axis=0)
    total = np.quantile([d.total_order for d in draws], [tail, 1.0 - tail], axis=0)
    return first, total


def _resampled_indices(
    problem: FitProblem, fit: LinearFit, counts: IndexArray
) -> SobolIndices:
    resampled = problem.linear.resampled(counts)
    return problem.step_indices(problem.solver.refit(resampled, fit))


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
