"""What was observed, and how the inputs would have made it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import FloatArray, fail, import_pandas, refuse_other_names

#: Takes inputs (n, n_features), returns one log-likelihood each.
LogLikelihood = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Observation:
    """Outcomes that are a function of the inputs plus normal noise.

    Parameters
    ----------
    values : ndarray of shape (n_outcomes,)
        What was observed.
    noise_variance : ndarray of shape (n_outcomes,)
        Of the independent noise of each.
    outcome : callable
        Inputs (n, n_features) to the outcomes (n, n_outcomes) without noise.
    """

    values: FloatArray
    noise_variance: FloatArray
    outcome: Callable[[FloatArray], FloatArray]

    def log_likelihood(self, inputs: FloatArray) -> FloatArray:
        """Return the log-density of the values at each row, up to a constant."""
        errors = np.square(self.values - self.outcome(inputs))
        return -0.5 * (errors / self.noise_variance).sum(axis=1)


def read_observation(
    owner: str,
    observed: Any,
    outcome: Any,
    noise_sd: Any,
    which: Any,
    names: Sequence[str] | None = None,
) -> Observation:
    """Check what the user says of an observation of inputs with these names.

    Raises
    ------
    ValueError
        If a value is missing, not finite or of another length, or the outcome is
        neither a fitted regressor of the same inputs nor a callable.
    """
    values = _numbers(owner, "observed", observed, "a finite number, or several")
    expected = f"a positive finite float, or one for each of {len(values)} outcomes"
    noise = _numbers(owner, "noise_sd", noise_sd, expected)
    if len(noise) not in (1, len(values)) or np.any(noise <= 0):
        raise fail(owner, "noise_sd", expected, noise_sd)
    predict = _as_function(owner, outcome, names)
    columns = None if which is None else _columns(owner, which, len(values))

    def outcome_at(inputs: FloatArray) -> FloatArray:
        predicted = np.asarray(predict(inputs), dtype=np.float64)
        return _chosen(owner, predicted.reshape(len(predicted), -1), columns, inputs)

    def checked(inputs: FloatArray) -> FloatArray:
        found = outcome_at(inputs)
        if found.shape[1] != len(values):
            raise ValueError(
                f"{owner}: the outcome has {found.shape[1]} columns but "
                f"{len(values)} values were observed; which= picks columns."
            )
        if not np.isfinite(found).all():
            raise ValueError(f"{owner}: the outcome is not finite at some inputs.")
        return found

    return Observation(values, np.broadcast_to(noise**2, values.shape), checked)


def checked_log_likelihood(owner: str, log_likelihood: Any) -> LogLikelihood:
    """Wrap a user's function so that its values are checked.

    Raises
    ------
    ValueError
        If it is no callable.
    """
    if not callable(log_likelihood):
        raise fail(owner, "log_likelihood", "a callable of the inputs", log_likelihood)

    def checked(inputs: FloatArray) -> FloatArray:
        found = np.asarray(log_likelihood(inputs), dtype=np.float64)
        if found.shape != (len(inputs),):
            raise ValueError(
                f"{owner}: log_likelihood returned shape {found.shape} for inputs of "
                f"shape {inputs.shape}; expected {(len(inputs),)}, one value a row."
            )
        if np.isnan(found).any() or np.any(found == np.inf):
            raise ValueError(f"{owner}: log_likelihood returned NaN or inf.")
        return found

    return checked


def _numbers(owner: str, name: str, value: Any, expected: str) -> FloatArray:
    """Return a number or a list of numbers as a vector."""
    try:
        numbers = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError):
        raise fail(owner, name, expected, value) from None
    if numbers.ndim != 1 or not numbers.size or not np.isfinite(numbers).all():
        raise fail(owner, name, expected, value)
    return numbers


def _as_function(
    owner: str, outcome: Any, inputs: Sequence[str] | None
) -> Callable[[FloatArray], Any]:
    """Return the ``predict`` of a regressor, or the callable itself."""
    if not hasattr(outcome, "predict") or isinstance(outcome, type):
        if not callable(outcome) or isinstance(outcome, type):
            expected = "a fitted regressor or a callable of the inputs"
            raise fail(owner, "outcome", expected, outcome)
        return outcome
    names = getattr(outcome, "feature_names_in_", None)
    if names is None:
        return outcome.predict
    refuse_other_names(f"{owner}: the outcome", names, inputs)
    frame = import_pandas().DataFrame
    return lambda inputs: outcome.predict(frame(inputs, columns=names))


def _columns(owner: str, which: Any, n_values: int) -> NDArray[np.int64]:
    columns = np.atleast_1d(np.asarray(which))
    expected = f"{n_values} column positions of the outcome, or None"
    if columns.dtype.kind not in "iu" or columns.shape != (n_values,):
        raise fail(owner, "which", expected, which)
    return columns.astype(np.int64)


def _chosen(
    owner: str, predicted: FloatArray, columns: Any, inputs: FloatArray
) -> FloatArray:
    if len(predicted) != len(inputs):
        raise ValueError(
            f"{owner}: the outcome returned {len(predicted)} rows for {len(inputs)} "
            "rows of inputs."
        )
    if columns is None:
        return predicted
    width = predicted.shape[1]
    if np.any((columns < -width) | (columns >= width)):
        raise fail(owner, "which", f"columns in [0, {width})", columns.tolist())
    return predicted[:, columns]
