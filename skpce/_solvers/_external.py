"""Any linear regressor of scikit-learn as a solver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.model_selection import KFold
from sklearn.utils.validation import has_fit_parameter

from .._checks import FloatArray, IndexArray
from ._base import CoefficientSolver, LinearFit, LinearProblem
from ._leverage import Leverage, LeverageFactor

_N_FOLDS = 5


class ExternalSolver(CoefficientSolver):
    """Fit the basis functions with a linear regressor.

    Residuals are those of five-fold cross-validation with refits of the whole
    regressor: there is no closed form for an estimator that is not known.

    Parameters
    ----------
    regressor : estimator
        With ``coef_`` and ``intercept_`` after ``fit``; cloned, never changed. It
        sees the basis without the constant.
    """

    def __init__(self, regressor: Any) -> None:
        self.regressor = regressor

    def fit(self, problem: LinearProblem) -> LinearFit:
        coefficients = self._coefficients(problem, np.arange(len(problem.design)))
        residuals = self._held_out_residuals(problem)
        weights, n_targets = problem.weights, problem.targets.shape[1]
        mean_square = weights @ np.square(residuals) / weights.sum()
        base = LeverageFactor(
            np.zeros((0, 0)),
            np.zeros(0),
            np.zeros(problem.design.shape[1]),
            np.zeros(0, dtype=np.int64),
            np.zeros(0),
            1.0 / weights.sum(),
        )
        nothing = np.zeros(n_targets)
        return LinearFit(
            coefficients,
            nothing,
            (coefficients != 0.0).astype(np.float64),
            Leverage((base,), np.zeros(n_targets, dtype=np.int64), nothing),
            np.where(np.isnan(mean_square), np.inf, mean_square),
            residuals,
            residuals,
            mean_square,
        )

    def refit(self, problem: LinearProblem, fit: LinearFit) -> FloatArray:
        return self._coefficients(problem, np.arange(len(problem.design)))

    def resample(
        self, problem: LinearProblem, fit: LinearFit, counts: IndexArray
    ) -> FloatArray:
        """Refit the regressor on one resample after another.

        Returns an array of shape (n_resamples, n_targets, n_terms).
        """
        alone = replace(problem, weights=np.ones(len(problem.weights)))
        copies = np.round(counts).astype(np.int64)
        drawn = [np.repeat(np.arange(len(row)), row) for row in copies]
        return np.array([self.refit(alone.of_rows(rows), fit) for rows in drawn])

    def _held_out_residuals(self, problem: LinearProblem) -> FloatArray:
        residuals = np.full_like(problem.targets, np.nan)
        for kept, held_out in folds_of(problem):
            coefficients = self._coefficients(problem, kept)
            predicted = problem.design[held_out] @ coefficients.T
            residuals[held_out] = problem.targets[held_out] - predicted
        return residuals

    def _coefficients(self, problem: LinearProblem, rows: IndexArray) -> FloatArray:
        """Fit on some rows; shape (n_targets, n_terms)."""
        design, targets = problem.design[rows, 1:], problem.targets[rows]
        if design.shape[1] == 0:
            mean = np.average(targets, axis=0, weights=problem.weights[rows])
            return mean[:, np.newaxis]
        options = {}
        if np.any(problem.weights != 1.0):
            self._require_weights()
            options["sample_weight"] = problem.weights[rows]
        fitted = [
            clone(self.regressor).fit(design, targets[:, k], **options)
            for k in range(targets.shape[1])
        ]
        return np.array([self._row_of(model, design) for model in fitted])

    def _require_weights(self) -> None:
        if not has_fit_parameter(self.regressor, "sample_weight"):
            raise ValueError(
                f"{type(self.regressor).__name__}.fit takes no sample_weight; got "
                "weights that differ between samples."
            )

    def _row_of(self, model: Any, design: FloatArray) -> FloatArray:
        if not hasattr(model, "coef_"):
            raise ValueError(
                f"The 'regressor' parameter must be a linear regressor with coef_ "
                f"after fit. Got {self.regressor!r} instead."
            )
        slopes = np.ravel(model.coef_)
        intercept = np.ravel(model.intercept_)[:1]
        given = np.ravel(model.predict(design))
        linear = design @ slopes + intercept if len(slopes) == design.shape[1] else None
        if linear is None or not np.allclose(
            given, linear, rtol=1e-6, atol=1e-6 * np.ptp(given)
        ):
            raise ValueError(
                "The 'regressor' parameter must predict X @ coef_ + intercept_; "
                f"{self.regressor!r} predicts something else."
            )
        return np.concatenate([intercept, slopes])


def folds_of(problem: LinearProblem) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield the kept and the held-out rows of five folds; none for one sample.

    The folds are drawn at random, and always the same for the same samples in
    whatever order.
    """
    n_samples = len(problem.design)
    if n_samples < 2:
        return
    order = np.lexsort((*problem.targets.T, *problem.design.T))
    folds = KFold(min(_N_FOLDS, n_samples), shuffle=True, random_state=0)
    for kept, held_out in folds.split(order):
        yield np.sort(order[kept]), np.sort(order[held_out])


def check_regressor(owner: str, regressor: Any) -> None:
    """Raise ``ValueError`` unless ``regressor`` is None or a regressor instance."""
    if regressor is None:
        return
    usable = hasattr(regressor, "fit") and not isinstance(regressor, type)
    if not usable or not is_regressor(regressor):
        raise ValueError(
            f"The 'regressor' parameter of {owner} must be None or an instance of a "
            f"regressor of scikit-learn. Got {regressor!r} instead."
        )
