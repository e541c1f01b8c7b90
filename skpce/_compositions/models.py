"""Any regressor of the inputs as a solver, expanded on draws of the input laws.

A forest or a Gaussian process has no coefficients. It is fitted to the inputs
directly, and the coefficients are those of least squares on its predictions at draws
of the input laws: a surrogate of the surrogate. Predictions are those of the
regressor; the share of their variance that the expansion explains is its *fidelity*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from .._basis.basis import PolynomialBasis
from .._checks import FloatArray, IndexArray, Samples, make_generator
from .._solvers import CoefficientSolver, LinearFit, LinearProblem
from .._solvers.external import folds_of, require_weights
from .._solvers.problem import Leverage, LeverageFactor
from .._solvers.ridge import LeastSquaresSolver
from .log_ratio import LogRatioGeometry

# Draws of the expansion: this many for each term, and not fewer than the second.
_DRAWS_A_TERM = 10
_FEWEST_DRAWS = 1000


@dataclass(frozen=True)
class InputModels:
    """Fitted regressors of the inputs, each with its columns of the coordinates."""

    parts: tuple[tuple[IndexArray, Any], ...]
    n_fitted: int  # number of fitted coordinates

    def predict(self, X: FloatArray) -> FloatArray:
        """Return fitted coordinates of shape (n_members, n_fitted)."""
        values = np.empty((len(X), self.n_fitted))
        for columns, model in self.parts:
            values[:, columns] = model.predict(X).reshape(len(X), -1)
        return values


@dataclass(frozen=True)
class InputModelFit(LinearFit):
    """A fit whose coefficients expand models of the inputs."""

    models: InputModels | None = None  # never None


class InputModelSolver(CoefficientSolver):
    """Fit clones of a regressor to the inputs and expand them.

    The design of its problems is the inputs themselves. Where the regressor takes
    several targets, one model serves all coordinates of a step. Residuals are those of
    five-fold cross-validation.
    """

    def __init__(
        self, regressor: Any, basis: PolynomialBasis, generator: np.random.Generator
    ) -> None:
        self.regressor = regressor
        self.basis = basis
        n_draws = max(_FEWEST_DRAWS, _DRAWS_A_TERM * len(basis.multi_indices))
        self.draws = basis.sample(n_draws, generator)
        self.held_out = basis.sample(n_draws, generator)

    def fit(self, problem: LinearProblem) -> InputModelFit:
        models = self._fit_models(problem)
        residuals = self._held_out_residuals(problem)
        n_targets = problem.targets.shape[1]
        total = problem.weights.sum()
        mean_square = problem.weights @ np.square(residuals) / total
        coefficients = self._expand(models)
        nothing = np.zeros(n_targets)
        return InputModelFit(
            coefficients,
            nothing,
            np.ones_like(coefficients),
            # The leverage of a model is not known: that of the mean alone.
            Leverage.shared(LeverageFactor.of_constant(0, 1.0 / total), nothing),
            np.where(np.isnan(mean_square), np.inf, mean_square),
            residuals,
            residuals,
            mean_square,
            models=models,
        )

    def refit(self, problem: LinearProblem, fit: LinearFit) -> FloatArray:
        return self._expand(self._fit_models(problem))

    def resample(
        self, problem: LinearProblem, fit: LinearFit, counts: IndexArray
    ) -> FloatArray:
        """Refit the models on one resample after another.

        Members drawn twice enter twice, so that no regressor needs weights.
        """
        return np.array([self._expand(self._on_copies(problem, row)) for row in counts])

    def _on_copies(self, problem: LinearProblem, counts: IndexArray) -> InputModels:
        rows = np.repeat(np.arange(len(counts)), counts)
        return self._fit_models(problem, rows, weighted=False)

    def fidelity_residuals(
        self, fit: InputModelFit
    ) -> tuple[FloatArray, FloatArray]:  # each shape: (n_draws, n_targets)
        """Return predictions at fresh draws and the error of the expansion there."""
        assert fit.models is not None
        predicted = fit.models.predict(self.held_out)
        expanded = self.basis.combine(self.held_out, fit.coefficients)
        return predicted, predicted - expanded

    def _expand(self, models: InputModels) -> FloatArray:
        design = self.basis.evaluate(self.draws)
        values = models.predict(self.draws)
        coefficients: Any = np.linalg.lstsq(design, values, rcond=None)[0]
        return coefficients.T

    def _held_out_residuals(self, problem: LinearProblem) -> FloatArray:
        residuals = np.full_like(problem.targets, np.nan)
        for training, held_out in folds_of(problem):
            models = self._fit_models(problem, training)
            predicted = models.predict(problem.design[held_out])
            residuals[held_out] = problem.targets[held_out] - predicted
        return residuals

    def _fit_models(
        self,
        problem: LinearProblem,
        rows: IndexArray | slice = slice(None),
        *,
        weighted: bool = True,
    ) -> InputModels:
        options = {}
        if weighted and np.ptp(problem.weights) > 0:
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
        return InputModels(tuple(parts), problem.targets.shape[1])

    def _columns(self, groups: IndexArray) -> list[IndexArray]:
        """Return the columns that one model predicts."""
        if get_tags(self.regressor).target_tags.multi_output:
            return [np.flatnonzero(groups == group) for group in np.unique(groups)]
        return [np.array([column]) for column in range(len(groups))]


def is_linear(regressor: Any, X: FloatArray, target: FloatArray) -> bool:
    """Return whether a regressor has ``coef_`` after ``fit``."""
    return hasattr(clone(regressor).fit(X, target), "coef_")


def solver_of(
    solver: CoefficientSolver,
    regressor: Any,
    basis: PolynomialBasis,
    samples: Samples,  # with centred log-ratios as targets
    coordinates: LogRatioGeometry,
    random_state: Any,
) -> CoefficientSolver:
    """Let a regressor that has no coefficients see the inputs themselves."""
    targets = coordinates.to_coordinates(samples.targets)
    if not targets.shape[1]:
        return LeastSquaresSolver()
    if is_linear(regressor, samples.inputs, targets[:, 0]):
        return solver
    return InputModelSolver(regressor, basis, make_generator(random_state))
