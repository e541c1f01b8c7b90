"""Numbers that are given: read as floats, or refused where something would be lost.

NumPy drops masks and imaginary parts, counts dates in days and reads text as numbers.
Numbers whose squares are no numbers give variances of NaN or of 0.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterator
from datetime import date, timedelta
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.utils.validation import check_array

FloatArray = NDArray[np.float64]


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or the NA of pandas."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # NA has no truth value, an array has several
        return type(value).__name__ == "NAType"


def floats_with_nan(values: NDArray[Any]) -> FloatArray:
    """Return numbers as floats, NaN for missing ones; ``ValueError`` for others."""
    if values.dtype.kind in "cmMSU":
        raise ValueError(f"values of {values.dtype} are no numbers")
    if values.dtype.kind != "O":
        return values.astype(np.float64)
    entries = [np.nan if is_missing(v) else v for v in values.ravel().tolist()]
    if not all(isinstance(v, (Real, np.bool_)) for v in entries):
        raise ValueError("some values are no numbers")
    return np.array(entries, dtype=np.float64).reshape(values.shape)


# As programs write numbers; "007", "0x1f" and "1_000" are labels.
_NUMBER = re.compile(
    r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
)
_NO_NUMBERS = {"", "nan", "none", "null", "na", "n/a", "<na>"}
_INFINITE = {"inf", "+inf", "-inf", "infinity", "-infinity"}


def numbers_of_text(values: NDArray[Any]) -> FloatArray | None:
    """Return text that reads as numbers as floats, and None for labels and numbers.

    What stands for a missing number, such as "" and "None", becomes NaN.
    """
    entries = values.tolist()
    if not any(isinstance(entry, str) for entry in entries):
        return None
    found = [_number_of(entry) for entry in entries]
    numbers = [number for number in found if number is not None]
    if len(numbers) < len(found) or not np.isfinite(numbers).any():
        return None
    return np.array(numbers)


def _number_of(entry: Any) -> float | None:
    """Return what an entry of a table is as a number; None for a label."""
    if isinstance(entry, str):
        text = entry.strip()
        if _NUMBER.fullmatch(text) or text.lower() in _INFINITE:
            return float(text)
        return np.nan if text.lower() in _NO_NUMBERS else None
    if is_missing(entry):
        return np.nan
    is_number = isinstance(entry, Real) and not isinstance(entry, bool)
    return float(entry) if is_number else None


#: Larger numbers are refused: their fourth powers must be numbers too.
LARGEST_NUMBER = 1e70

#: Columns that vary by less are refused: the squares of their variance would be 0.
SMALLEST_SPREAD = 1e-70

# Up to so many columns are looked at one by one, which is quicker.
_FEW_COLUMNS = 64

#: The largest integer that is a float.
LARGEST_INTEGER = int(np.finfo(np.float64).max)

_KINDS = {
    "c": "complex numbers (Complex data not supported)",
    "M": "dates",
    "m": "durations",
    "V": "records",
}
_KINDS |= dict.fromkeys("UST", "text")

_KIND_OF_TYPES: tuple[tuple[tuple[type, ...], str], ...] = (
    ((str, bytes), "U"),
    ((complex, np.complexfloating), "c"),
    ((date, np.datetime64), "M"),
    ((timedelta, np.timedelta64), "m"),
)


def refuse_no_numbers(value: Any, name: str) -> None:
    """Refuse what NumPy would read as floats though something is lost: masks, dates.

    Sparse arrays are a ``TypeError``; masked entries, complex numbers, dates and text
    are a ``ValueError``. None and objects of other types are left to the caller.
    Arrays of other libraries, such as tensors, are read as those of NumPy, unless they
    hold a gradient, or scikit-learn's ``array_api_dispatch`` promises their own kind.
    """
    if type(value) is np.ndarray and value.dtype.kind in "fiub":
        return
    if type(value).__name__ == "Ensemble":
        raise ValueError(
            f"{name} is an Ensemble, which holds X and y; expected a table. Give both, "
            "such as fit(runs.X, runs.y)."
        )
    _refuse_other_arrays(value, name)
    if issparse(value):
        raise TypeError(
            f"{name} is a sparse array; expected a dense one, {name}.toarray()."
        )
    rows = value if isinstance(value, (list, tuple)) else ()
    if np.ma.is_masked(value) or any(np.ma.is_masked(row) for row in rows):
        raise ValueError(
            f"{name} is a masked array, and its mask would be lost; expected an array "
            "without masked entries: leave their rows out, or fill them in."
        )
    for label, kind, described in _types_of(value, name):
        if kind in _KINDS:
            where = "" if label is None else f" in the column {label!r}"
            raise ValueError(
                f"{name} holds {_KINDS[kind]}{where}, values of the type {described}; "
                "expected real numbers."
            )


def _refuse_other_arrays(value: Any, name: str) -> None:
    """Raise ``TypeError`` for arrays of another library that NumPy cannot stand for."""
    if isinstance(value, (np.ndarray, np.generic)):
        return
    if getattr(value, "requires_grad", False) is True:
        raise TypeError(
            f"{name} is a tensor with a gradient, which would be lost; expected "
            f"{name}.detach()."
        )
    kinds = ("__array_namespace__", "device")  # torch has no namespace of its own
    if get_config()["array_api_dispatch"] and any(hasattr(value, k) for k in kinds):
        raise TypeError(
            f"{name} is a {type(value).__name__}, and array_api_dispatch is on, but "
            "skpce computes with NumPy; expected an array of NumPy, or "
            "sklearn.set_config(array_api_dispatch=False)."
        )


def _types_of(value: Any, name: str) -> Iterator[tuple[Any, str, Any]]:
    """Yield the kind of entries by its letter, before it their column, then a type."""
    if hasattr(value, "columns") and hasattr(value, "dtypes"):
        kinds = [getattr(dtype, "kind", "O") for dtype in value.dtypes]
        if not {"O", "V"} & set(kinds):
            columns = zip(list(value.columns), kinds, value.dtypes, strict=True)
            yield from columns
            return
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):  # rows of different length
        raise ValueError(
            f"{name} has rows of different length; expected an array, whose rows have "
            "the same."
        ) from None
    if array.dtype.kind != "O":
        yield None, array.dtype.kind, array.dtype
        return
    for entry in array.ravel().tolist():
        if isinstance(entry, int) and abs(entry) > LARGEST_INTEGER:
            raise ValueError(
                f"{name} holds an integer that is no float: it has about "
                f"{entry.bit_length() * 0.30103:.0f} digits."
            )
        for types, kind in _KIND_OF_TYPES:
            if isinstance(entry, types):
                yield None, kind, type(entry).__name__


def listed(value: Any, name: str, expected: str = "a sequence") -> list[Any]:
    """Return the entries of a sequence; refuse text, and what has no entries."""
    if not isinstance(value, (str, bytes)):
        try:
            return list(value)
        except TypeError:
            pass
    raise ValueError(f"{name} must be {expected}. Got {value!r} instead.")


def as_floats(value: Any, name: str) -> FloatArray:
    """Return an array of floats, which may be NaN or infinite."""
    refuse_no_numbers(value, name)
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{name} must be an array of numbers. Got {reprlib.repr(value)} instead."
        ) from None


def refuse_not_finite(values: FloatArray, name: str) -> None:
    """Refuse NaN and infinity."""
    if not np.isfinite(values).all():
        raise ValueError(
            f"Input {name} contains NaN or infinity; expected finite numbers."
        )


def refuse_extremes(values: FloatArray, name: str, *, varying: bool = False) -> None:
    """Refuse numbers whose squares overflow, and columns whose variance underflows."""
    if not values.size:
        return
    limit = np.float64(LARGEST_NUMBER)
    lowest, highest = _ends_without_nan(values) if varying else (values, values)
    if (
        np.fmin.reduce(lowest, axis=None) < -limit
        or np.fmax.reduce(highest, axis=None) > limit
    ):
        large = np.abs(values) > limit
        place = tuple(np.argwhere(large)[0].tolist())
        raise ValueError(
            f"{name} has {float(values[place])!r} in row {place[0]}"
            + (f", column {place[1]}" if len(place) > 1 else "")
            + f"; expected numbers up to {LARGEST_NUMBER:g}, whose variance and its "
            "square are numbers too. Rescale it."
        )
    if not varying or values.dtype.kind != "f":  # others differ by 1 or more
        return
    spread = np.atleast_1d(highest - lowest)
    faint = (spread > 0) & (spread < SMALLEST_SPREAD)
    if faint.any():
        column = int(np.argmax(faint))
        raise ValueError(
            f"{name} varies by {float(spread[column])!r} in column {column}; expected "
            "at "
            f"least {SMALLEST_SPREAD:g}, so that no square of a variance is 0. "
            "Rescale it."
        )


def _ends_without_nan(values: NDArray[Any]) -> tuple[Any, Any]:
    """Return the smallest and largest number of each column; NaN where all are."""
    if values.ndim == 2 and values.shape[1] < _FEW_COLUMNS:
        rows = np.ascontiguousarray(values.T)
        return np.fmin.reduce(rows, axis=1), np.fmax.reduce(rows, axis=1)
    return np.fmin.reduce(values), np.fmax.reduce(values)


def binary_scales(values: FloatArray) -> FloatArray:
    """Return a power of two of the size of each column: division changes no digit."""
    largest = np.abs(values).max(axis=0, initial=0.0)
    return np.exp2(np.frexp(largest)[1].astype(np.float64))


def correlations_of(values: FloatArray) -> FloatArray:
    """Return the correlations of columns that vary, whatever their units are."""
    return np.atleast_2d(np.corrcoef(values / binary_scales(values), rowvar=False))


def validated_array(values: Any, name: str, **options: Any) -> FloatArray:
    """Return a table as scikit-learn's ``check_array`` does, in floats."""
    refuse_no_numbers(values, name)
    options = {"ensure_all_finite": False, "input_name": name} | options
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # of sums of huge numbers
            table = check_array(values, dtype=np.float64, **options)
    except (TypeError, ValueError) as error:
        shape = np.shape(values)
        raise ValueError(
            f"{name} must be a table of numbers. Got {type(values).__name__} of shape "
            f"{shape}: {error}"
        ) from None
    refuse_not_finite(table, name)
    refuse_extremes(table, name)
    return table
