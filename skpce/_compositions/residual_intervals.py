"""Intervals of the indices of steps from leave-one-out residuals."""

from __future__ import annotations

import numpy as np

from .._checks import FloatArray, one_thread_if_small
from .._expansion.indices import index_masks
from .._expansion.intervals import (
    RowSums,
    SobolInterval,
    ordered_interval,
    residual_bounds,
)
from .._expansion.problem import LearnedLaws
from .._solvers.problem import sum_rows
from .fitted import FittedCompositions

#: Levels that have such intervals: sums of squares of centred log-ratios.
RESIDUAL_LEVELS = ("step", "trajectory")


def residual_indices(
    fitted: FittedCompositions,
    level: str,
    n_resamples: int,
    confidence_level: float,
    generator: np.random.Generator,
) -> SobolInterval:
    """Return the bounds of ``sobol_interval`` of a regressor, for sums over parts."""
    problem = fitted.problem
    linear, laws = problem.linear, LearnedLaws(fitted.basis, fitted.inputs)
    with one_thread_if_small(linear.design.size):
        bounds = residual_bounds(
            problem,
            linear,
            laws,
            index_masks(laws.multi_indices),
            n_resamples,
            confidence_level,
            generator,
            _rows_of(fitted, level),
        )
    return ordered_interval(bounds, float(confidence_level), "residual")


def _rows_of(fitted: FittedCompositions, level: str) -> RowSums:
    """Return what adds centred log-ratios up to steps, or to the trajectory."""
    coordinates = fitted.fitted_geometry
    targets, parts = coordinates.step_of_coordinate, coordinates.step_of_active
    n_rows = coordinates.layout.n_steps
    if level == "trajectory":
        targets, parts, n_rows = np.zeros_like(targets), np.zeros_like(parts), 1

    def add(values: FloatArray) -> FloatArray:
        sums = sum_rows(np.moveaxis(values, -1, 0), parts, n_rows)
        return np.moveaxis(sums, 0, -1)

    def largest(values: FloatArray) -> FloatArray:
        found = np.zeros((*values.shape[:-1], n_rows))
        for row in np.unique(targets):
            found[..., row] = values[..., targets == row].max(axis=-1)
        return found

    def variance(values: FloatArray) -> FloatArray:
        # Variances of additive log-ratios are not those of the step: only the spread
        # over the resamples is known of them.
        known = values if coordinates.log_ratio != "alr" else np.zeros_like(values)
        return sum_rows(known, targets, n_rows)

    return RowSums(coordinates.from_coordinates, add, largest, variance)
