"""What a fitted pipeline or search ends in, and what reaches its last estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ._checks import input_names


def is_surrogate(estimator: Any) -> bool:
    """Whether an estimator explains compositions step by step."""
    return hasattr(estimator, "step_sobol_indices_")


def last_estimator(
    pipeline: Any, input_features: Sequence[str] | None = None
) -> tuple[Any, list[str]]:
    """Return the last estimator of a fitted pipeline and the names of its inputs.

    Transformers that give no names leave those of the estimator, ``x0``, ``x1``, ...

    Raises
    ------
    ValueError
        If ``input_features`` has another length than the inputs.
    """
    last, names = _descend(pipeline, None)
    return last, renamed("input_features", input_features, names)


def _descend(pipeline: Any, names: Sequence[str] | None) -> tuple[Any, list[str]]:
    if not hasattr(pipeline, "fit") or isinstance(pipeline, type):
        raise unknown_estimator(pipeline)
    check_is_fitted(pipeline)
    pipeline = unwrapped(pipeline)
    if not isinstance(pipeline, Pipeline):
        if not hasattr(pipeline, "n_features_in_"):
            raise unknown_estimator(pipeline)
        return pipeline, input_names(pipeline) if names is None else list(names)
    if len(pipeline) > 1:
        try:
            found = pipeline[:-1].get_feature_names_out(names)
            names = None if found is None else list(found)
        except AttributeError:
            names = None
    return _descend(pipeline[-1], names)


def unwrapped(estimator: Any) -> Any:
    """Return the best estimator of a fitted search, or the estimator as it is."""
    return getattr(estimator, "best_estimator_", estimator)


def surrogate_of(
    pipeline: Any, input_features: Sequence[str] | None = None
) -> tuple[Any, list[str]]:
    """Return the fitted surrogate of a pipeline and the names of its inputs.

    Raises
    ------
    ValueError
        If the last estimator is no surrogate of compositions.
    """
    last, names = last_estimator(pipeline, input_features)
    if not is_surrogate(last):
        raise ValueError(
            f"The last estimator is {last!r}; expected a fitted "
            "CompositionalPCESurrogate, alone or as the last step of a Pipeline."
        )
    return last, names


def last_and_inputs(pipeline: Any, X: ArrayLike) -> tuple[Any, Any]:
    """Return the last estimator of a fitted pipeline and what it gets for X."""
    pipeline = unwrapped(pipeline)
    if not isinstance(pipeline, Pipeline):
        return pipeline, X
    inner = pipeline[:-1].transform(X) if len(pipeline) > 1 else X
    return last_and_inputs(pipeline[-1], inner)


def surrogate_inputs(pipeline: Any, X: ArrayLike) -> Any:
    """Return what the last estimator of a pipeline gets for X."""
    return last_and_inputs(pipeline, X)[1]


def renamed(name: str, given: Sequence[str] | None, names: list[str]) -> list[str]:
    """Return the given names in place of others; None keeps them.

    Raises
    ------
    ValueError
        If their number is another one.
    """
    if given is None:
        return names
    if isinstance(given, str) or len(given) != len(names):
        raise ValueError(
            f"{name}={given!r} must be {len(names)} names, one for each of "
            f"{', '.join(map(str, names[:5]))}{', ...' if len(names) > 5 else ''}."
        )
    return [str(entry) for entry in given]


def unknown_estimator(estimator: Any) -> ValueError:
    """Return the error for an estimator without an expansion."""
    return ValueError(
        f"Got {estimator!r}; expected a fitted PolynomialChaosRegressor or "
        "CompositionalPCESurrogate, alone, as the last step of a Pipeline, or as the "
        "best estimator of a search."
    )
