"""Linear regressors of scikit-learn as solvers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.model_selection import KFold
from sklearn.utils.validation import has_fit_parameter

from .._checks import FloatArray, IndexArray
from .problem import (
    CoefficientSolver,
    Leverage,
    LeverageFactor,
    LinearFit,
    LinearProblem,
    weighted_mean,
)

_N_FOLDS = 5

# More rows than this are not entered one by one.
_MOST_COPIES = 1_000_000


class ExternalSolver(CoefficientSolver):
    """Fit the basis functions, without the constant, with any linear regressor."""

    def __init__(self, regressor: Any) -> None:
        self.regressor = regressor

    def fit(self, problem: LinearProblem) -> LinearFit:
        def predict(training: IndexArray, held_out: IndexArray) -> FloatArray:
            coefficients = self._coefficients(problem.of_rows(training))
            return problem.design[held_out] @ coefficients.T

        return cross_validated_fit(problem, self._coefficients(problem), predict)

    def refit(self, problem: LinearProblem, fit: LinearFit) -> FloatArray:
        return self._coefficients(problem)

    def resample(
        self, problem: LinearProblem, fit: LinearFit, counts: IndexArray
    ) -> FloatArray:
        """Refit on resamples in which a sample drawn twice enters twice, unweighted."""
        n_copies = int(counts[0].sum()) if len(counts) else 0
        if n_copies > _MOST_COPIES:
            raise ValueError(
                f"sample_weight adds up to {n_copies} samples, and a resample for a "
                "'regressor' enters each as often as it is drawn; expected at most "
                f"{_MOST_COPIES}. Divide the weights by a number."
            )
        alone = replace(problem, weights=np.ones(len(problem.weights)))
        samples = np.arange(len(problem.weights))
        drawn = (np.repeat(samples, row) for row in np.round(counts).astype(np.int64))
        return np.array([self.refit(alone.of_rows(rows), fit) for rows in drawn])

    def _coefficients(
        self, problem: LinearProblem
    ) -> FloatArray:  # shape: (n_targets, n_terms)
        design, targets = problem.design[:, 1:], problem.targets
        if design.shape[1] == 0:
            return weighted_mean(targets, problem.weights)[:, np.newaxis]
        options = {}
        if np.any(problem.weights != 1.0):
            require_weights(self.regressor, "samples")
            options["sample_weight"] = problem.weights
        try:
            fitted = [
                clone(self.regressor).fit(design, targets[:, k], **options)
                for k in range(targets.shape[1])
            ]
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"The 'regressor' parameter is {self.regressor!r}, which refuses "
                f"{len(design)} samples of {design.shape[1]} terms; expected one that "
                f"can be fitted to them. It says: {error}"
            ) from error
        return np.array([self._row_of(model, design) for model in fitted])

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


def cross_validated_fit(
    problem: LinearProblem,
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    predict: Callable[[IndexArray, IndexArray], FloatArray],  # (training, held out)
) -> LinearFit:
    """Return a fit whose residuals are those of folds, as no closed form is known."""
    residuals = np.full_like(problem.targets, np.nan)
    for training, held_out in folds_of(problem):
        predicted = predict(training, held_out)
        residuals[held_out] = problem.targets[held_out] - predicted
    total, nothing = problem.weights.sum(), np.zeros(len(coefficients))
    mean_square = problem.weights @ np.square(residuals) / total
    # The leverage of a model is not known: that of the mean alone.
    factor = LeverageFactor.of_constant(coefficients.shape[1], 1.0 / total)
    return LinearFit(
        coefficients,
        nothing,
        (coefficients != 0.0).astype(np.float64),
        Leverage.shared(factor, nothing),
        np.where(np.isnan(mean_square), np.inf, mean_square),
        residuals,
        residuals,
        mean_square,
    )


def require_weights(regressor: Any, what: str) -> None:
    """Raise ``ValueError`` for a regressor that takes no weights."""
    if not has_fit_parameter(regressor, "sample_weight"):
        raise ValueError(
            f"{type(regressor).__name__}.fit takes no sample_weight; expected a "
            f"'regressor' that does, or weights that are equal for all {what}."
        )


def folds_of(problem: LinearProblem) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield the training and the held-out rows of five folds; none for one sample."""
    n_samples = len(problem.design)
    if n_samples < 2:
        return
    # Random folds, the same for the same samples in whatever order.
    order = np.lexsort((*problem.targets.T, *problem.design.T))
    folds = KFold(min(_N_FOLDS, n_samples), shuffle=True, random_state=0)
    for training, held_out in folds.split(order):
        yield np.sort(order[training]), np.sort(order[held_out])


def check_regressor(owner: str, regressor: Any) -> None:
    """Raise ``ValueError`` unless ``regressor`` is an instance of a regressor."""
    usable = hasattr(regressor, "fit") and hasattr(regressor, "get_params")
    if not usable or isinstance(regressor, type) or not is_regressor(regressor):
        raise ValueError(
            f"The 'regressor' parameter of {owner} must be None or an instance of a "
            f"regressor of scikit-learn. Got {regressor!r} instead."
        )
