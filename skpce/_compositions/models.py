"""Any regressor of the inputs as a solver, expanded on draws of the input laws.

A forest or a Gaussian process has no coefficients. It is fitted to the inputs
directly, and the coefficients are those of least squares on its predictions at draws
of the input laws: a surrogate of the surrogate. Its predictions stay its own; how much
of their variance the expansion shares is its *fidelity*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from .._basis.basis import PolynomialBasis
from .._checks import FloatArray, IndexArray
from .._solvers import CoefficientSolver, LinearFit, LinearProblem
from .._solvers.external import folds_of
from .._solvers.problem import Leverage, LeverageFactor

# Draws of the expansion: this many for each term, and not fewer than the second.
_DRAWS_A_TERM = 10
_FEWEST_DRAWS = 1000


@dataclass(frozen=True)
class InputModels:
    """Fitted regressors of the inputs.

    Parameters
    ----------
    parts : tuple of (ndarray of int, estimator)
        Columns of the fitted coordinates and the model that predicts them.
    n_fitted : int
        Number of fitted coordinates.
    """

    parts: tuple[tuple[IndexArray, Any], ...]
    n_fitted: int

    def predict(self, X: FloatArray) -> FloatArray:
        """Return fitted coordinates of shape (n_members, n_fitted)."""
        values = np.empty((len(X), self.n_fitted))
        for columns, model in self.parts:
            values[:, columns] = model.predict(X).reshape(len(X), -1)
        return values


@dataclass(frozen=True)
class InputModelFit(LinearFit):
    """A fit whose coefficients expand models of the inputs.

    Parameters
    ----------
    models : InputModels or None, default=None
        The models; None never occurs.
    """

    models: InputModels | None = None


class InputModelSolver(CoefficientSolver):
    """Fit a regressor to the inputs and expand it.

    The design of its problems holds the inputs themselves. Residuals are those of
    five-fold cross-validation.

    Parameters
    ----------
    regressor : estimator
        Cloned, never changed. Where it takes several targets, one model serves all
        coordinates of a step.
    basis : PolynomialBasis
        Of the expansion.
    generator : numpy.random.Generator
        Of the draws of the input laws.
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
            _constant_leverage(1.0 / total, n_targets),
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

        Members drawn twice are given twice, so that no regressor needs weights.
        Returns an array of shape (n_resamples, n_targets, n_terms).
        """
        return np.array([self._expand(self._on_copies(problem, row)) for row in counts])

    def _on_copies(self, problem: LinearProblem, counts: IndexArray) -> InputModels:
        rows = np.repeat(np.arange(len(counts)), counts)
        return self._fit_models(problem, rows, weighted=False)

    def fidelity_residuals(
        self, fit: InputModelFit
    ) -> tuple[FloatArray, FloatArray]:  # each shape: (n_draws, n_targets)
        """Return predictions at fresh draws and what the expansion misses there."""
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
        for kept, held_out in folds_of(problem):
            predicted = self._fit_models(problem, kept).predict(
                problem.design[held_out]
            )
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
            self._require_weights()
            options["sample_weight"] = problem.weights[rows]
        inputs = problem.design[rows]
        parts = []
        for columns in self._columns(problem.groups):
            targets = problem.targets[rows][:, columns]
            if len(columns) == 1:
                targets = targets[:, 0]
            parts.append(
                (columns, clone(self.regressor).fit(inputs, targets, **options))
            )
        return InputModels(tuple(parts), problem.targets.shape[1])

    def _columns(self, groups: IndexArray) -> list[IndexArray]:
        """Return the columns that one model predicts."""
        if get_tags(self.regressor).target_tags.multi_output:
            return [np.flatnonzero(groups == group) for group in np.unique(groups)]
        return [np.array([column]) for column in range(len(groups))]

    def _require_weights(self) -> None:
        if not has_fit_parameter(self.regressor, "sample_weight"):
            raise ValueError(
                f"{type(self.regressor).__name__}.fit takes no sample_weight; got "
                "weights that differ between members."
            )


def _constant_leverage(base: float, n_targets: int) -> Leverage:
    """Return the leverage of the mean alone: that of a model is not known."""
    nothing, nowhere = np.zeros(0), np.zeros(0, dtype=np.int64)
    factor = LeverageFactor(np.zeros((0, 0)), nothing, nothing, nowhere, nothing, base)
    return Leverage((factor,), np.zeros(n_targets, dtype=np.int64), np.zeros(n_targets))


def is_linear(regressor: Any, X: FloatArray, target: FloatArray) -> bool:
    """Whether a regressor has ``coef_`` after ``fit``, found out by a fit.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Lasso
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from skpce._compositions.models import is_linear
    >>> X = np.arange(8.0)[:, np.newaxis]
    >>> is_linear(Lasso(), X, X[:, 0]), is_linear(DecisionTreeRegressor(), X, X[:, 0])
    (True, False)
    """
    return hasattr(clone(regressor).fit(X, target), "coef_")
