"""Columns of labels: text and categories of a data frame, read as codes of levels.

Codes count the levels from 0, in the order of a category of pandas or an enumeration of
polars, else sorted.
Categories that are numbers are their own codes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from .frames import is_table, make_frame
from .numbers import (
    FloatArray,
    is_missing,
    numbers_of_text,
    refuse_extremes,
    refuse_no_numbers,
)

_DOUBLES = np.dtype(np.float64)


def label_columns(X: Any) -> dict[Any, NDArray[Any]]:
    """Return the columns of a data frame that hold text or categories, by name."""
    if not is_table(X) or not hasattr(X, "columns"):
        return {}
    dtypes = zip(list(X.columns), list(X.dtypes), strict=True)
    candidates = [name for name, dtype in dtypes if _may_hold_labels(dtype)]
    found = {name: np.asarray(X[name], dtype=object) for name in candidates}
    return {
        name: values
        for name, values in found.items()
        if is_category(X[name].dtype) or any(isinstance(v, str) for v in values)
    }


def _may_hold_labels(dtype: Any) -> bool:
    return getattr(dtype, "kind", "O") in "OUT" or is_category(dtype)


def is_category(dtype: Any) -> bool:
    """Say whether a column of a frame is declared to hold categories."""
    return type(dtype).__name__ in ("CategoricalDtype", "Categorical", "Enum")


def stated_order(dtype: Any) -> list[Any]:
    """Return the categories of a column in the order that was given to them.

    Those of ``polars.Categorical`` have none but that in which the process met them.
    """
    has_order = type(dtype).__name__ in ("CategoricalDtype", "Enum")
    return list(dtype.categories) if has_order else []


def levels_in_order(values: NDArray[Any], order: Sequence[Any] = ()) -> tuple[Any, ...]:
    """Return the levels that occur: in a stated order, else sorted if possible."""
    entries = (v.item() if isinstance(v, np.generic) else v for v in values.tolist())
    present = dict.fromkeys(entries)
    if all(level in order for level in present):
        return tuple(level for level in order if level in present)
    with suppress(TypeError):  # else in the order of the table
        return tuple(sorted(present, key=lambda value: (str(type(value)), value)))
    return tuple(present)


def with_codes(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return X with codes in place of labels; an estimator learns them as ``levels_``.

    Labels that are not among the levels get codes of their own, after the others.
    """
    if not hasattr(estimator, "distribution"):
        return X
    labels = label_columns(X)
    if reset:
        vars(estimator).pop("levels_", None)
        if labels:
            _refuse_numbers(estimator, X, labels)
            estimator.levels_ = {
                str(name): _levels(name, values, X[name].dtype)
                for name, values in labels.items()
            }
    levels: Mapping[str, tuple[Any, ...]] = getattr(estimator, "levels_", {})
    if not levels:
        return X
    known = [str(name) for name in getattr(X, "columns", ())]
    if not set(levels) <= set(known):
        return X  # refused for its names, or as codes of an array
    columns = [
        _codes(labels[name], levels[str(name)])
        if name in labels and str(name) in levels
        else X[name]
        for name in X.columns
    ]
    return make_frame(list(X.columns), columns, like=X)


def _refuse_numbers(estimator: Any, X: Any, labels: Mapping[Any, NDArray[Any]]) -> None:
    """Refuse text that reads as numbers, unless it is said to be categorical."""
    given = estimator.distribution
    for name, values in labels.items():
        stated = given
        if isinstance(given, Mapping):
            stated = given.get(name)
        elif isinstance(given, (list, tuple)) and len(given) == len(X.columns):
            stated = given[list(X.columns).index(name)]
        if is_category(X[name].dtype) or numbers_of_text(values) is None:
            continue
        if not isinstance(stated, str) or stated != "categorical":
            raise ValueError(
                f"X holds numbers as text in the column {name!r}, such as "
                f"{str(values[0])!r}; expected numbers, as float() or "
                "skpce.ensembles.from_frame reads them, or for labels the distribution "
                "'categorical'."
            )


def _levels(name: Any, values: NDArray[Any], dtype: Any) -> tuple[Any, ...]:
    """Return the levels of a column, without those that no row has."""
    missing = sum(map(is_missing, values.tolist()))
    if missing:
        raise ValueError(
            f"X has no label in {missing} of {len(values)} rows of the column "
            f"{name!r}; expected a level in each."
        )
    return levels_in_order(values, stated_order(dtype))


def _codes(column: NDArray[Any], levels: tuple[Any, ...]) -> FloatArray:
    """Return the number of the level of each row."""
    values = column.tolist()
    if all(isinstance(level, Real) for level in levels):
        return np.array(values, dtype=np.float64)
    code = {level: number for number, level in enumerate(levels)}
    for value in values:
        code.setdefault(value, len(code))
    return np.array([code[value] for value in values], dtype=np.float64)


def validated(
    estimator: Any, X: Any, *y: Any, varying: str = "", **options: Any
) -> Any:
    """Return X, or X and y, as scikit-learn's ``validate_data`` does, in floats.

    Labels in columns of a data frame become codes where the estimator has distributions
    of inputs. What would lose a mask, an imaginary part or a date is refused, and so
    are numbers whose squares overflow, and in what is ``varying`` underflow.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # of sums of huge numbers
        if _passes_as_it_is(estimator, X, *y, **options):
            found = (X, *y) if y else X
        else:
            X = with_codes(estimator, X, reset=options.get("reset", True))
            for value, name in zip((X, *y), ("X", "y"), strict=False):
                refuse_no_numbers(value, name)
            found = validate_data(estimator, X, *y, dtype=np.float64, **options)
    for values, name in zip(found if y else (found,), ("X", "y"), strict=False):
        refuse_extremes(values, name, varying=name == varying)
    return found


def _passes_as_it_is(
    estimator: Any,
    X: Any,
    *y: Any,
    reset: bool = True,
    multi_output: bool = False,
    y_numeric: bool = False,
    **others: Any,
) -> bool:
    """Whether ``validate_data`` would return the arrays unchanged, which takes longer.

    Then the estimator learns of X what it would learn there. All else is left to
    scikit-learn, whose messages users know.
    """
    if others or not all(map(_are_finite_floats, (X, *y))) or X.ndim != 2:
        return False
    for values in y:
        if values.ndim not in (1, 1 + multi_output) or len(values) != len(X):
            return False
    known = vars(estimator)
    if reset:
        known.pop("feature_names_in_", None)
        known.pop("levels_", None)
        estimator.n_features_in_ = X.shape[1]
    return (
        known.get("n_features_in_") == X.shape[1] and "feature_names_in_" not in known
    )


def _are_finite_floats(values: Any) -> bool:
    """Whether this is an array of NumPy, of doubles, of which there are some."""
    is_plain = type(values) is np.ndarray and values.dtype == _DOUBLES and values.size
    return bool(is_plain and np.isfinite(np.add.reduce(values, axis=None)))
