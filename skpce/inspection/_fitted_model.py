"""Call any fitted estimator at new rows, in the container that it was fitted on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from .._checks import FloatArray, check_option

#: What may be asked of an estimator.
RESPONSES = ("auto", "predict", "predict_proba", "decision_function", "transform")


@dataclass(frozen=True)
class Inputs:
    """A table of numbers that remembers its container.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features)
        The numbers.
    names : tuple of str
        Columns of the data frame, else ``x0, x1, ...``.
    container : type or None
        Class of the data frame; None for arrays.
    """

    values: FloatArray
    names: tuple[str, ...]
    container: Any

    def like(self, values: FloatArray) -> Any:
        """Put other rows into the same container."""
        if self.container is None:
            return values
        return self.container(dict(zip(self.names, values.T, strict=True)))


def read_inputs(X: Any, *, smallest: int = 2) -> Inputs:
    """Check X and remember its container and names.

    Raises
    ------
    ValueError
        If X is not a finite numeric table with at least ``smallest`` rows.
    """
    columns = getattr(X, "columns", None)
    values = check_array(X, dtype=np.float64, ensure_min_samples=smallest)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return Inputs(values, tuple(f"x{i}" for i in range(values.shape[1])), None)
    if len(set(columns)) < len(columns):
        raise ValueError(f"X has columns of one name: {list(columns)}.")
    return Inputs(values, tuple(columns), type(X))


@dataclass(frozen=True)
class FittedModel:
    """A function of rows of X with named targets.

    Parameters
    ----------
    call : callable
        Takes a table, returns predictions.
    inputs : Inputs
        The container to use.
    classes : tuple of str or None
        Names of the columns, where the model has classes.
    """

    call: Callable[[Any], Any]
    inputs: Inputs
    classes: tuple[str, ...] | None

    def __call__(self, values: FloatArray) -> FloatArray:
        """Return the predictions; shape (n_samples, n_targets)."""
        answer = self.call(self.inputs.like(values))
        if isinstance(answer, list):
            raise ValueError(
                f"The estimator answers with a list of {len(answer)} arrays; expected "
                "one array. Give a callable that returns one."
            )
        try:
            predictions = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                "The estimator predicts values that are not numbers, such as "
                f"{np.ravel(np.asarray(answer))[0]!r}; expected numbers. For a "
                "classifier use response='predict_proba'."
            ) from None
        if predictions.ndim not in (1, 2) or len(predictions) != len(values):
            raise ValueError(
                f"The estimator answers with shape {predictions.shape} for "
                f"{len(values)} rows; expected ({len(values)},) or "
                f"({len(values)}, n_targets)."
            )
        if not np.all(np.isfinite(predictions)):
            raise ValueError("The estimator predicts NaN or infinity; expected finite.")
        predictions = predictions.reshape(len(values), -1)
        two = self.classes is not None and len(self.classes) == 2
        return predictions[:, -1:] if two else predictions

    def target_names(self, n_targets: int) -> tuple[str, ...]:
        """Name the columns: classes, ``y``, or ``y0, y1, ...``."""
        if self.classes is not None and len(self.classes) == 2 and n_targets == 1:
            return self.classes[-1:]
        if self.classes is not None and len(self.classes) == n_targets:
            return self.classes
        return ("y",) if n_targets == 1 else tuple(f"y{k}" for k in range(n_targets))


def fitted_model(owner: str, estimator: Any, X: Any, response: Any) -> FittedModel:
    """Check an estimator and its inputs, and make it callable.

    Raises
    ------
    ValueError
        If the estimator cannot answer, or X has another number of features.
    NotFittedError
        If the estimator is not fitted.
    """
    check_option(owner, "response", response, RESPONSES)
    call, classes = _answer(owner, estimator, response)
    inputs = read_inputs(X)
    expected = getattr(estimator, "n_features_in_", None)
    if expected is not None and expected != inputs.values.shape[1]:
        raise ValueError(
            f"X has {inputs.values.shape[1]} features but the estimator was fitted on "
            f"{expected}."
        )
    return FittedModel(call, inputs, classes)


def _answer(
    owner: str, estimator: Any, response: str
) -> tuple[Callable[[Any], Any], tuple[str, ...] | None]:
    """Return the function to call and the names of the classes."""
    if not hasattr(estimator, "fit") and callable(estimator):
        return estimator, None
    if hasattr(estimator, "__sklearn_tags__"):
        check_is_fitted(estimator)
    if response == "auto":
        classifies = hasattr(estimator, "__sklearn_tags__") and is_classifier(estimator)
        response = "predict_proba" if classifies else "predict"
    call = getattr(estimator, response, None)
    if not callable(call):
        raise ValueError(
            f"{type(estimator).__name__} has no {response!r}; expected by {owner} with "
            f"response={response!r}. Give a fitted estimator or a callable."
        )
    probabilities = response == "predict_proba"
    classes = getattr(estimator, "classes_", None) if probabilities else None
    names = None if classes is None else tuple(str(name) for name in classes)
    return call, names
