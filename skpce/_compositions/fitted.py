"""A fitted surrogate of compositions: expansion, data, coordinates and residuals.

It is fitted with a coefficient solver, or with any regressor of the inputs, such as a
forest or a Gaussian process. That one has no coefficients: they are then those of least
squares on its predictions at draws of the input distributions, a surrogate of the
surrogate. Predictions are those of the regressor; the share of their variance that the
expansion explains is its *fidelity*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils import get_tags

from .._basis.basis import (
    PolynomialBasis,
)
from .._checks import (
    FloatArray,
    IndexArray,
    Samples,
    state_of_fields,
)
from .._expansion.expansion import Expansion
from .._expansion.problem import (
    FittedProblem,
    are_stated,
    map_rows,
    spread_of_targets,
)
from .._learned.ridge import LearnedRidgeSolver
from .._solvers import FROM_MOMENTS
from .._solvers.external import ExternalSolver, cross_validated_fit, require_weights
from .._solvers.problem import (
    LOG_RATIO_FLOOR,
    LinearFit,
    LinearProblem,
    q2_from_sums,
    weighted_spread,
)
from .log_ratio import (
    LogRatioGeometry,
    sum_by_step,
)

# Smallest probability that has a logit; the largest is one rounding below 1.
_SMALLEST = 1e-300

# Draws of the expansion: this many for each term, and not fewer than the second.
_DRAWS_A_TERM = 10
_FEWEST_DRAWS = 1000


#: Fitted regressors of the inputs, each with its columns of the coordinates.
Models = Sequence[tuple[IndexArray, Any]]


@dataclass(frozen=True)
class InputModelFit(LinearFit):
    """A fit whose coefficients expand models of the inputs."""

    models: Models = ()

    def predict(self, X: FloatArray) -> FloatArray:
        """Return fitted coordinates of shape (n_members, n_fitted)."""
        return _predict(self.models, X, len(self.coefficients))


def _predict(models: Models, X: FloatArray, n_fitted: int) -> FloatArray:
    values = np.empty((len(X), n_fitted))
    for columns, model in models:
        values[:, columns] = model.predict(X).reshape(len(X), -1)
    return values


class InputModelSolver(ExternalSolver):
    """Fit clones of a regressor to the inputs and expand them.

    The design of its problems is the inputs themselves. Where the regressor takes
    several targets, one model serves all coordinates of a step. Residuals are those of
    five-fold cross-validation.
    """

    sees_inputs = True

    def __init__(
        self, regressor: Any, basis: PolynomialBasis, generator: np.random.Generator
    ) -> None:
        super().__init__(regressor)
        self.basis = basis
        n_draws = max(_FEWEST_DRAWS, _DRAWS_A_TERM * len(basis.multi_indices))
        self.draws = basis.sample(n_draws, generator)
        self.held_out = basis.sample(n_draws, generator)

    def fit(self, problem: LinearProblem) -> InputModelFit:
        def predict(training: IndexArray, held_out: IndexArray) -> FloatArray:
            models = self._fit_models(problem, training)
            return _predict(models, problem.design[held_out], problem.targets.shape[1])

        models = self._fit_models(problem)
        fit = cross_validated_fit(problem, self._expand(problem, models), predict)
        scales = np.ones_like(fit.coefficients)
        return InputModelFit(**(vars(fit) | {"scales": scales}), models=models)

    def refit(self, problem: LinearProblem, fit: LinearFit) -> FloatArray:
        return self._expand(problem, self._fit_models(problem))

    def _expand(self, problem: LinearProblem, models: Models) -> FloatArray:
        design = self.basis.evaluate(self.draws)
        values = _predict(models, self.draws, problem.targets.shape[1])
        coefficients: Any = np.linalg.lstsq(design, values, rcond=None)[0]
        return coefficients.T

    def _fit_models(
        self, problem: LinearProblem, rows: IndexArray | slice = slice(None)
    ) -> Models:
        options = {}
        if np.ptp(problem.weights) > 0:
            require_weights(self.regressor, "members")
            options["sample_weight"] = problem.weights[rows]
        inputs = problem.design[rows]
        parts = []
        for columns in self._columns(problem.groups):
            targets = problem.targets[rows][:, columns]
            if len(columns) == 1:
                targets = targets[:, 0]
            model = clone(self.regressor).fit(inputs, targets, **options)
            parts.append((columns, model))
        return tuple(parts)

    def _columns(self, groups: IndexArray) -> list[IndexArray]:
        """Return the columns that one model predicts."""
        if get_tags(self.regressor).target_tags.multi_output:
            return [np.flatnonzero(groups == group) for group in np.unique(groups)]
        return [np.array([column]) for column in range(len(groups))]


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedCompositions(FittedProblem):
    """A fit whose targets are coordinates of log-ratios, and how results are given.

    Indices, draws, intervals and modes are functions of it.
    """

    geometry: LogRatioGeometry  # coordinates of the results
    fitted_geometry: LogRatioGeometry  # coordinates of the targets
    input_names: Sequence[str]

    remedy = "It was fitted by partial_fit: use fit, which keeps the members."

    @classmethod
    def of(
        cls,
        problem: FittedProblem,
        geometry: LogRatioGeometry,
        fitted_geometry: LogRatioGeometry,
        input_names: Sequence[str],
    ) -> Self:
        """Return a fit whose targets vary where the log-ratios of their step do."""
        spread: Any
        if problem.samples is None:
            spread = np.bincount(problem.groups, problem.spread)[problem.groups]
        else:
            clr = fitted_geometry.from_coordinates(problem.samples.targets)
            weights = problem.samples.weights
            by_part = spread_of_targets(clr, weights, LOG_RATIO_FLOOR)
            by_step = sum_by_step(by_part, fitted_geometry)
            spread = by_step[fitted_geometry.step_of_coordinate]
        known = {**state_of_fields(problem), "spread": spread}
        own: Any = {"geometry": geometry, "fitted_geometry": fitted_geometry}
        return cls(**known, **own, input_names=input_names)

    @cached_property
    def expansion(self) -> Expansion:
        """Centred log-ratios, grouped by step."""
        return Expansion(
            self.basis,
            map_rows(self.fitted_geometry.from_coordinates, self.coefficients),
            self.input_names,
            self.geometry.active_names,
            groups=self.geometry.step_of_active,
            group_names=self.geometry.layout.step_names,
            q2=q2_from_sums(*self.press_and_spread),
        )

    @property
    def from_models(self) -> bool:
        """Whether models of the inputs predict in place of the expansion."""
        return isinstance(self.fit, InputModelFit)

    @property
    def members(self) -> Samples:
        """Inputs, targets and frequencies of the members."""
        return self.require_samples("The surrogate")

    @cached_property
    def clr(self) -> FloatArray:
        """Centred log-ratios of the members; shape (n_members, n_active)."""
        return self.fitted_geometry.from_coordinates(self.members.targets)

    def predicted(self, X: FloatArray, design: FloatArray | None = None) -> FloatArray:
        """Evaluate the centred log-ratios: of the models, or of the expansion."""
        if isinstance(self.fit, InputModelFit):
            return self.fitted_geometry.from_coordinates(self.fit.predict(X))
        if design is None:
            return self.basis.combine(X, self.expansion.coefficients)
        return design @ self.expansion.coefficients.T

    def policies_at(self, X: FloatArray) -> FloatArray:
        """Evaluate the probabilities; shape (n_members, n_parts)."""
        return self.values(self.predicted(X))

    def step_press(self, residuals: FloatArray) -> FloatArray:
        """Sum squared clr residuals of the members that have a step; (n_steps,)."""
        members = self.require_samples("The surrogate")
        if self.lacks_targets:
            residuals = np.where(np.isnan(members.targets), 0.0, residuals)
        squares = np.square(self.fitted_geometry.from_coordinates(residuals))
        return sum_by_step(members.weights @ squares, self.fitted_geometry)

    @cached_property
    def step_weights(self) -> FloatArray:
        """Number of members that have each step; shape (n_steps,)."""
        weights = np.full(self.geometry.layout.n_steps, self.total_weight)
        weights[self.fitted_geometry.step_of_coordinate] = self.weight_of_targets
        return weights

    # Compositions; the scores are logits of the active parts.

    joint = ("step", "trajectory")
    what_is_lacking = "steps"

    @property
    def n_values(self) -> int:
        return self.geometry.mask.size

    def columns_of(self, targets: IndexArray) -> IndexArray:
        step_of_part = self.geometry.layout.step_of_part
        return np.flatnonzero(np.isin(step_of_part, self.steps_of(targets)))

    @property
    def noise_groups(self) -> IndexArray:
        return self.fitted_geometry.step_of_coordinate

    def image(self, targets: FloatArray) -> FloatArray:
        return self.fitted_geometry.from_coordinates(targets)

    def values(self, image: FloatArray) -> FloatArray:
        return self.geometry.compositions(image)

    def scores(self, values: FloatArray) -> FloatArray:
        active = values[..., self.geometry.active_parts]
        inside = np.clip(active, _SMALLEST, 1.0 - np.finfo(float).epsneg)
        return np.log(inside) - np.log1p(-inside)

    def bounds(
        self, lower: FloatArray, upper: FloatArray, like: FloatArray
    ) -> FloatArray:
        found = np.stack([like, like])  # parts that do not vary
        # Wider by the rounding of logit and back, so that an edge is inside.
        wider = expit(lower) * (1.0 - 1e-12), expit(upper) * (1.0 + 1e-12)
        found[..., self.geometry.active_parts] = np.clip(wider, 0.0, 1.0)
        return found

    def score_scale(self, scale: FloatArray) -> FloatArray:
        """Return the root mean square over the coordinates of the step of each part."""
        steps = self.fitted_geometry.step_of_coordinate
        same = steps[:, np.newaxis] == self.geometry.step_of_active
        return np.sqrt(np.square(scale) @ (same / same.sum(axis=0)))

    def score_deviation(self) -> FloatArray:
        targets = self.members.targets
        observed, predicted = (
            self.scores(self.values(self.image(one)))
            for one in (targets, targets - self.fit.loo_residuals)
        )
        squares = np.square(observed - predicted)
        return np.sqrt(np.average(squares, axis=0, weights=self.members.weights))

    def score_groups(self, joint: str) -> IndexArray:
        steps = self.geometry.step_of_active
        return np.zeros_like(steps) if joint == "trajectory" else steps

    def steps_of(self, targets: IndexArray) -> IndexArray:
        """Return the steps of some coordinates, and those without a choice."""
        steps = self.fitted_geometry.step_of_coordinate[targets]
        return np.union1d(steps, np.flatnonzero(~self.geometry.has_choice))

    def _of_part(self, rows: IndexArray, targets: IndexArray) -> Self:
        steps, solver = self.steps_of(targets), self.solver
        fitted_geometry = self.fitted_geometry.of_steps(steps)
        groups = np.arange(len(targets))
        if self._is_pooled:
            groups = fitted_geometry.step_of_coordinate
        if isinstance(solver, LearnedRidgeSolver):
            solver = solver.renumbered(self.groups[targets], groups)
        return replace(
            super()._of_part(rows, targets),
            solver=solver,
            groups=groups,
            geometry=self.geometry.of_steps(steps),
            fitted_geometry=fitted_geometry,
        )

    @property
    def press_and_spread(self) -> tuple[FloatArray, FloatArray]:
        """Squares left out and squares about the mean; each of shape (n_steps,).

        Of steps that some members lack they stand for all members.
        """
        spread = self.step_spread
        if self.samples is not None:
            share = self.step_weights / self.total_weight
            return self.step_press(self.fit.loo_residuals) / share, spread / share
        # Of sums over the members, by generalised cross-validation.
        criterion = self.fit.criterion * self.total_weight
        press: Any = np.bincount(self.groups, criterion, len(spread))
        return press, spread

    @property
    def step_spread(self) -> FloatArray:
        """Squares about the mean, 0 for rounding, NaN without choice; (n_steps,)."""
        spread = np.full(self.geometry.layout.n_steps, np.nan)
        spread[self.fitted_geometry.step_of_coordinate] = self.spread
        if self.samples is None:
            rounding = np.square(LOG_RATIO_FLOOR) * self.total_weight
            spread[spread <= rounding] = 0.0
        return spread

    @property
    def alpha(self) -> FloatArray:
        """Penalty of each step, or of each fitted coordinate without pooling."""
        if not self._is_pooled:
            return self.fit.alpha
        by_step = np.full(self.geometry.layout.n_steps, np.nan)
        by_step[self.groups] = self.fit.alpha
        return by_step

    @property
    def _is_pooled(self) -> bool:
        """Whether the coordinates of a step share a penalty."""
        return np.array_equal(self.groups, self.fitted_geometry.step_of_coordinate)

    @cached_property
    def fidelity(self) -> FloatArray:
        """Q² of the expansion as a copy of the predictions; shape (n_steps,)."""
        solver, geometry = self.solver, self.fitted_geometry
        if not isinstance(solver, InputModelSolver):
            return np.where(self.expansion.total_variance > 0, 1.0, np.nan)
        inputs = solver.held_out
        predicted = self.predicted(inputs)
        expanded = self.basis.combine(inputs, self.expansion.coefficients)
        spread = weighted_spread(predicted, np.ones(len(inputs)), LOG_RATIO_FLOOR)
        press = sum_by_step(np.square(predicted - expanded).sum(axis=0), geometry)
        q2 = q2_from_sums(press, sum_by_step(spread, geometry))
        return np.where(geometry.has_choice, q2, np.nan)


def isometric(geometry: LogRatioGeometry) -> LogRatioGeometry:
    """Return isometric coordinates of the same steps."""
    if geometry.log_ratio == "ilr":
        return geometry
    return replace(geometry, log_ratio="ilr", reference=-1)


def adds_members(surrogate: Any) -> bool:
    """Raise ``AttributeError`` with the reason where ``partial_fit`` is not exact."""
    exact = (
        surrogate.regressor is None
        and surrogate.solver in FROM_MOMENTS
        and are_stated(surrogate.distribution)
        and not isinstance(surrogate.mask, str)
        and surrogate.amalgamate is None
    )
    if not exact:
        raise AttributeError(
            "partial_fit is exact, and exists, only with frozen distributions, a mask "
            f"of bools, one of {', '.join(map(repr, sorted(FROM_MOMENTS)))}, without "
            "regressor and amalgamate."
        )
    return True
