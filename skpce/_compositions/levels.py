"""The levels of sensitivity indices: a coordinate, a step or the trajectory.

All follow from one set of clr coefficients :math:`c_{kj}`. A *coordinate* is a linear
image of them. A *step* adds the squares of its parts, which is its Aitchison variance
[1]_: the same in every orthonormal basis of the log-ratios, and free of a reference.
The *trajectory* adds all steps.

References
----------
.. [1] F. Gamboa, A. Janon, T. Klein and A. Lagnoux, "Sensitivity analysis for
   multidimensional and functional outputs", Electronic Journal of Statistics 8 (2014),
   section 2.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from .._checks import FloatArray, IndexArray, one_thread_if_small
from .._expansion.indices import SobolIndices, partial_variances, shapley_variances
from .._expansion.intervals import SobolInterval
from .._expansion.problem import (
    RelearningSolver,
    percentile_bounds,
    resample_counts,
)
from .._solvers import LinearFit, LinearProblem
from .._solvers.problem import LOG_RATIO_FLOOR, weighted_spread
from .fitted import FittedCompositions, clr_rows
from .log_ratio import LogRatioGeometry

#: Levels at which indices are given.
LEVELS = ("coordinate", "step", "trajectory")

#: Step of a row that belongs to all steps.
ALL_STEPS = -1

# Resamples that are refitted together, whatever n_jobs, so that the intervals do not
# depend on it.
_RESAMPLES_A_BLOCK = 64

# Coefficients in memory at a time while indices are computed: 64 MiB.
_LARGEST_BLOCK = 8_388_608


@dataclass(frozen=True)
class IndexLevel:
    """How clr coefficients make up the rows of a level."""

    geometry: LogRatioGeometry | None  # None leaves the coefficients as they are
    #: shape: (n_targets,), sum of squares; 0 where slopes are rounding
    spread: FloatArray
    groups: IndexArray  # shape: (n_targets,), row for which a target counts
    steps: IndexArray  # shape: (n_rows,); -1 for all steps
    names: tuple[str, ...]  # one per row

    @property
    def member(self) -> FloatArray:
        """Ones where a target counts for a row; shape (n_rows, n_targets)."""
        return (np.arange(len(self.steps))[:, np.newaxis] == self.groups).astype(float)

    def coefficients(
        self,
        clr_coefficients: FloatArray,  # shape: (..., n_active, n_terms)
    ) -> FloatArray:  # shape: (..., n_targets, n_terms)
        """Map to the targets, without slopes where there is no spread."""
        values = clr_coefficients
        if self.geometry is not None:
            swapped = self.geometry.to_coordinates(np.swapaxes(values, -1, -2))
            values = np.swapaxes(swapped, -1, -2)
        slopes = (self.spread > 0)[:, np.newaxis]
        constant = np.arange(values.shape[-1]) == 0
        return np.where(slopes | constant, values, 0.0)

    def indices(
        self,
        clr_coefficients: FloatArray,  # shape: (..., n_active, n_terms)
        multi_indices: IndexArray,  # shape: (n_terms, n_features)
    ) -> SobolIndices:
        """Add up the squares of each row and divide by its variance."""
        values = self.coefficients(clr_coefficients)
        first, total, variance = partial_variances(values, multi_indices)
        shapley = shapley_variances(values, multi_indices)
        member = self.member
        whole = (member @ variance[..., np.newaxis])[..., 0]
        safe = np.where(whole > 0, whole, 1.0)[..., np.newaxis]
        first, total, shapley = (
            member @ part / safe for part in (first, total, shapley)
        )
        return SobolIndices(first, total, whole, shapley)


def make_level(
    level: str,
    geometry: LogRatioGeometry,
    clr: FloatArray,  # shape: (n_members, n_active)
    weights: FloatArray,  # shape: (n_members,)
) -> IndexLevel:
    """Return the rows of a level, coordinates being those of ``geometry``."""
    if level == "coordinate":
        spread = weighted_spread(geometry.to_coordinates(clr), weights, LOG_RATIO_FLOOR)
        return IndexLevel(
            geometry,
            spread,
            np.arange(geometry.n_coordinates),
            geometry.step_of_coordinate,
            tuple(geometry.coordinate_names),
        )
    layout, step_of_active = geometry.layout, geometry.step_of_active
    spread = weighted_spread(clr, weights, LOG_RATIO_FLOOR)
    by_step: Any = np.bincount(step_of_active, spread, layout.n_steps)
    spread = by_step[step_of_active]
    if level == "step":
        steps, names = np.arange(layout.n_steps), layout.step_names
        return IndexLevel(None, spread, step_of_active, steps, tuple(names))
    nowhere = np.zeros_like(step_of_active)
    return IndexLevel(None, spread, nowhere, np.array([ALL_STEPS]), ("trajectory",))


def check_copies(owner: str, weights: FloatArray, n_resamples: int, name: str) -> None:
    """Refuse to resample fewer than two copies of members."""
    if len(weights) > 1 and weights.sum() < 2:
        raise ValueError(
            f"{name} sums to {weights.sum():.3g} copies; with n_resamples="
            f"{n_resamples} {owner} needs at least 2. Weights are frequencies: "
            "multiply them up to the number of members."
        )


def bootstrap_indices(
    fitted: FittedCompositions,
    level: IndexLevel,
    n_resamples: int,
    confidence_level: float,
    generator: np.random.Generator,
) -> SobolInterval:
    """Return percentile intervals of first-order, total and Shapley shares.

    Members are resampled, learned input laws are learned anew, and the penalties stay
    those of the full data. The intervals ignore the truncation error of the expansion.
    """
    problem = fitted.problem
    linear, n_terms = problem.linear, len(fitted.basis.multi_indices)
    solver = RelearningSolver(problem.solver, fitted.basis, fitted.inputs)
    counts = resample_counts(linear.weights, n_resamples, generator)
    size = n_terms * max(fitted.geometry.active_parts.size, 1)
    step = max(1, min(_RESAMPLES_A_BLOCK, _LARGEST_BLOCK // size))
    blocks = [counts[start : start + step] for start in range(0, len(counts), step)]
    draws = Parallel(n_jobs=fitted.n_jobs)(
        delayed(_resampled_indices)(
            solver, linear, fitted.fit, fitted.fitted_geometry, level, block
        )
        for block in blocks
    )
    first, total, shapley = (
        percentile_bounds(
            np.concatenate([getattr(draw, name) for draw in draws]), confidence_level
        )
        for name in ("first_order", "total_order", "shapley")
    )
    return SobolInterval(first, total, shapley, float(confidence_level), "bootstrap")


def _resampled_indices(
    solver: RelearningSolver,
    linear: LinearProblem,
    fit: LinearFit,
    geometry: LogRatioGeometry,
    level: IndexLevel,
    counts: IndexArray,
) -> SobolIndices:
    """Return the indices of some resamples."""
    with one_thread_if_small(linear.design.size):
        coefficients = solver.resample(linear, fit, counts)
        clr_coefficients = clr_rows(coefficients, geometry)
        return level.indices(clr_coefficients, solver.laws.basis.multi_indices)


def permutation_p_values(
    fitted: FittedCompositions, n_permutations: int, generator: np.random.Generator
) -> FloatArray:  # shape: (n_steps,)
    """Return how often permuted members leave no larger prediction error."""
    observed = fitted.step_press(fitted.fit.loo_residuals)
    linear = fitted.problem.linear
    orders = [generator.permutation(len(linear.design)) for _ in range(n_permutations)]
    residuals = Parallel(n_jobs=fitted.n_jobs)(
        delayed(_permuted_press)(fitted, linear, order) for order in orders
    )
    exceed = np.sum(np.asarray(residuals) <= observed, axis=0)
    p_values = (1.0 + exceed) / (1.0 + n_permutations)
    return np.where(fitted.geometry.has_choice, p_values, np.nan)


def _permuted_press(
    fitted: FittedCompositions, linear: LinearProblem, order: IndexArray
) -> FloatArray:  # shape: (n_steps,)
    """Return the prediction error of each step with the inputs permuted."""
    fit = fitted.problem.solver.fit(linear.permuted(order))
    return fitted.step_press(fit.loo_residuals)
