"""Of what an index is a share, and how sure it is: coordinate, step or trajectory.

Of what a sensitivity index is a share: a coordinate, a step or the trajectory.

All are read off one set of clr coefficients :math:`c_{kj}`. A *coordinate* is a linear
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

import numpy as np
from joblib import Parallel, delayed

from .._checks import FloatArray, IndexArray, one_thread_if_small
from .._expansion.bootstrap import percentile_bounds, resample_counts
from .._expansion.indices import partial_variances, shapley_variances
from .._solvers import CoefficientSolver, LinearFit, LinearProblem
from .._solvers.problem import LOG_RATIO_FLOOR, weighted_spread
from .log_ratio import LogRatioGeometry, sum_by_step

#: Levels at which indices are given.
LEVELS = ("coordinate", "step", "trajectory")

#: Step of a row that belongs to all steps.
ALL_STEPS = -1


@dataclass(frozen=True)
class LevelIndices:
    """Indices of the rows of a level.

    Parameters
    ----------
    first_order, total_order, shapley : ndarray of shape (..., n_rows, n_features)
        Shares of the variance; 0 without variance.
    total_variance : ndarray of shape (..., n_rows)
        Variance of each row.
    """

    first_order: FloatArray
    total_order: FloatArray
    shapley: FloatArray
    total_variance: FloatArray


@dataclass(frozen=True)
class IndexLevel:
    """How clr coefficients make up the rows of a level.

    Parameters
    ----------
    geometry : LogRatioGeometry or None
        Coordinates that the coefficients are mapped to; None leaves them as they are.
    spread : ndarray of shape (n_targets,)
        Sum of squares behind each target; 0 where slopes are rounding noise.
    member : ndarray of shape (n_rows, n_targets)
        Ones where a target counts for a row.
    steps : ndarray of int of shape (n_rows,)
        Step of each row; -1 for all steps.
    names : tuple of str
        One per row.
    """

    geometry: LogRatioGeometry | None
    spread: FloatArray
    member: FloatArray
    steps: IndexArray
    names: tuple[str, ...]

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
    ) -> LevelIndices:
        """Add up the squares of each row and divide by its variance."""
        values = self.coefficients(clr_coefficients)
        first, total, variance = partial_variances(values, multi_indices)
        shapley = shapley_variances(values, multi_indices)
        whole = (self.member @ variance[..., np.newaxis])[..., 0]
        safe = np.where(whole > 0, whole, 1.0)[..., np.newaxis]
        first, total, shapley = (
            self.member @ part / safe for part in (first, total, shapley)
        )
        return LevelIndices(first, total, shapley, whole)


def make_level(
    level: str,
    geometry: LogRatioGeometry,
    clr: FloatArray,  # shape: (n_members, n_active)
    weights: FloatArray,  # shape: (n_members,)
) -> IndexLevel:
    """Return the rows of a level; ``geometry`` says which coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._compositions.levels import make_level
    >>> from skpce._compositions.log_ratio import LogRatioGeometry
    >>> from skpce._compositions.steps import StepLayout
    >>> layout = StepLayout((2, 2), ("a", "b"), ("0", "1", "0", "1"))
    >>> geometry = LogRatioGeometry(layout, np.ones(4, bool), "ilr", -1)
    >>> level = make_level("step", geometry, np.eye(4), np.ones(4))
    >>> level.member
    array([[1., 1., 0., 0.],
           [0., 0., 1., 1.]])
    """
    if level == "coordinate":
        spread = weighted_spread(geometry.to_coordinates(clr), weights, LOG_RATIO_FLOOR)
        return IndexLevel(
            geometry,
            spread,
            np.eye(geometry.n_coordinates),
            geometry.step_of_coordinate,
            tuple(geometry.coordinate_names),
        )
    layout, step_of_active = geometry.layout, geometry.step_of_active
    by_step = (np.arange(layout.n_steps)[:, np.newaxis] == step_of_active).astype(float)
    spread = by_step @ weighted_spread(clr, weights, LOG_RATIO_FLOOR)
    if level == "step":
        member, steps = by_step, np.arange(layout.n_steps)
        names = layout.step_names
    else:
        member, steps = np.ones((1, len(step_of_active))), np.array([ALL_STEPS])
        names = ("trajectory",)
    return IndexLevel(None, spread[step_of_active], member, steps, tuple(names))


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
