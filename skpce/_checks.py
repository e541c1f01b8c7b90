"""Checks of parameters, weights and names, and what every part of the package shares.

Checks of parameters have scikit-learn's wording: its own validator is private, so the
few rules that are needed are here. Every check happens in ``fit``; ``__init__`` only
stores.

On a busy machine a second BLAS thread costs a small factorisation one to two orders of
magnitude, so small fits use one. The limits of threadpoolctl, which comes with
scikit-learn, hold for the process: fits that overlap in several threads share one
limit, which the first sets and the last lifts. Since threadpoolctl 3.8 only the thread
that once set a limit of OpenBLAS may change it, and calls from others do nothing: each
thread takes that right before it sets or lifts the limit.
"""

from __future__ import annotations

import inspect
import math
import os
import re
import reprlib
import sys
import threading
import uuid
import warnings
from collections import Counter
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, fields
from datetime import date, timedelta
from decimal import Decimal
from functools import cache, cached_property
from html import escape
from importlib import import_module
from importlib.util import find_spec
from numbers import Integral, Real
from pathlib import Path
from traceback import walk_stack
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

import numpy as np
import threadpoolctl
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data
from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
R = TypeVar("R")


# Numbers that are given: read as floats, or refused where something would be lost.
#
# NumPy drops masks and imaginary parts, counts dates in days and reads text as numbers.
# Numbers whose squares are no numbers give variances of NaN or of 0.


FloatArray = NDArray[np.float64]

#: What draws: None for fresh entropy, a seed, or a generator of NumPy's old kind.
RandomState = int | np.random.RandomState | None
#: Widths of steps, by name or in order, or the columns of each; None reads the names.
Steps = Sequence[Any] | Mapping[str, Any] | None
#: Which parts are possible: an array of bool, or ``"infer"``.
Mask = ArrayLike | str | None
#: Columns of y that are one output: widths or columns by name; None for each alone.
OutputGroups = Sequence[Any] | Mapping[str, Any] | None


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
    if not all(isinstance(v, (Real, np.bool_, Decimal)) for v in entries):
        raise ValueError("some values are no numbers")
    return np.array(entries, dtype=np.float64).reshape(values.shape)


def as_numbers(values: NDArray[Any]) -> FloatArray | None:
    """Return a column as floats, of text too that reads so; None for labels."""
    numbers = numbers_of_text(values)
    try:
        return floats_with_nan(values if numbers is None else numbers)
    except ValueError:
        return None


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
    entries = values.tolist() if values.dtype.kind in "OUT" else []
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

#: The largest integer that is a float.
LARGEST_INTEGER = int(np.finfo(np.float64).max)

# Kinds of arrays that are no real numbers, and what is expected in their place.
_KINDS = {
    "c": ("complex numbers (Complex data not supported)", ""),
    "M": ("dates", ", such as days since the first"),
    "m": ("durations", ", such as seconds"),
    "V": ("records", ""),
}
_KINDS |= dict.fromkeys("UST", ("text", "; labels go in a column of a data frame"))

_KIND_OF_TYPES: tuple[tuple[tuple[type, ...], str], ...] = (
    ((str, bytes), "U"),
    ((complex, np.complexfloating), "c"),
    ((date, np.datetime64), "M"),
    ((timedelta, np.timedelta64), "m"),
)


def refuse_no_inputs(X: Any) -> None:
    """Refuse what no estimator takes as X; labels are for the estimator to read."""
    if not label_columns(X):
        refuse_no_numbers(X, "X")


def refuse_no_numbers(value: Any, name: str) -> None:
    """Refuse what NumPy would read as floats though something is lost: masks, dates.

    Sparse arrays are a ``TypeError``; masked entries, complex numbers, dates and text
    are a ``ValueError``. None and objects of other types are left to the caller.
    Arrays of other libraries, such as tensors, are read as those of NumPy, unless
    scikit-learn's ``array_api_dispatch`` promises their own kind.
    """
    if type(value) is np.ndarray and value.dtype.kind in "fiub":
        return
    if type(value).__name__ == "Ensemble":
        raise ValueError(
            f"{name} is an Ensemble, which holds X and y; expected a table. Give both, "
            "such as fit(runs.X, runs.y)."
        )
    # Arrays of another library that NumPy cannot stand for; torch has no namespace.
    is_other = hasattr(value, "__array_namespace__") or hasattr(value, "device")
    is_ours = isinstance(value, (np.ndarray, np.generic))
    if is_other and not is_ours and get_config()["array_api_dispatch"]:
        raise TypeError(
            f"{name} is a {type(value).__name__}, and array_api_dispatch is on, but "
            "skpce computes with NumPy; expected an array of NumPy, or "
            "sklearn.set_config(array_api_dispatch=False)."
        )
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
            what, instead = _KINDS[kind]
            if name == "y" and kind in "UST":
                instead = (
                    ", such as 1 and 0 for two labels, or probabilities such as the "
                    "predict_proba of each member at one or several points"
                )
            elif where and kind in "UST":
                instead = ": leave it out, or encode it, as OneHotEncoder does"
            raise ValueError(
                f"{name} holds {what}{where}, values of the type {described}; "
                f"expected real numbers{instead}."
            )


def _types_of(value: Any, name: str) -> Iterator[tuple[Any, str, Any]]:
    """Yield the kind of entries by its letter, before it their column, then a type."""
    if hasattr(value, "columns") and hasattr(value, "dtypes"):
        columns = zip(list(value.columns), value.dtypes, strict=True)
        for place, (label, dtype) in enumerate(columns):
            kind = getattr(dtype, "kind", "O")
            if kind not in "OV":
                yield label, kind, dtype
                continue
            entries = np.asarray(take_columns(value, [place]))
            for _, of_entry, described in _types_of(entries, name):
                yield label, of_entry, described
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
    large = np.abs(values) > np.float64(LARGEST_NUMBER)
    if large.any():
        place = tuple(np.argwhere(large)[0].tolist())
        raise ValueError(
            f"{name} has {float(values[place])!r} in row {place[0]}"
            + (f", column {place[1]}" if len(place) > 1 else "")
            + f"; expected numbers up to {LARGEST_NUMBER:g}, whose variance and its "
            "square are numbers too. Rescale it."
        )
    if not varying or values.dtype.kind != "f":  # others differ by 1 or more
        return
    spread = np.atleast_1d(np.fmax.reduce(values) - np.fmin.reduce(values))
    faint = (spread > 0) & (spread < SMALLEST_SPREAD)
    if faint.any():
        column = int(np.argmax(faint))
        raise ValueError(
            f"{name} varies by {float(spread[column])!r} in column {column}; expected "
            f"at least {SMALLEST_SPREAD:g}, so that no square of a variance is 0. "
            "Rescale it."
        )


def binary_scales(values: FloatArray) -> FloatArray:
    """Return a power of two of the size of each column: division changes no digit."""
    largest = np.abs(values).max(axis=0, initial=0.0)
    return np.exp2(np.frexp(largest)[1].astype(np.float64))


def correlations_of(values: FloatArray) -> FloatArray:
    """Return correlations of columns in any units; NaN of those that do not vary."""
    varying = np.ptp(values, axis=0) > 0
    found = np.full((len(varying), len(varying)), np.nan)
    if varying.any():
        some = values[:, varying]
        between = np.corrcoef(some / binary_scales(some), rowvar=False)
        found[np.ix_(varying, varying)] = between
    return found


def validated_array(values: Any, name: str, **options: Any) -> FloatArray:
    """Return a table as scikit-learn's ``check_array`` does, in floats."""
    refuse_no_numbers(values, name)
    options = {"ensure_all_finite": False, "input_name": name} | options
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # of sums of huge numbers
            table = check_array(values, dtype=np.float64, **options)
    except (TypeError, ValueError) as error:
        shape, why = np.shape(values), " ".join(str(error).split())
        raise ValueError(
            f"{name} must be a table of numbers. Got {type(values).__name__} of shape "
            f"{shape}: {why}"
        ) from None
    refuse_not_finite(table, name)
    refuse_extremes(table, name)
    return table


# Optional libraries, imported where they are used.


#: The build that is tested, installed first: any other may bring CUDA along.
TORCH = "torch==2.13.0"


def import_extra(module: str, extra: str, user: str) -> Any:
    """Return an optional module; without it the error names the extra."""
    library = module.partition(".")[0]
    try:
        import_module(library)
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != library:
            raise  # the library is there, and something that it needs is not
        first = f"{TORCH} " if library == "torch" else ""
        raise ImportError(
            f'{user} needs {library}: pip install {first}".[{extra}]", in a copy of '
            "the repository"
        ) from error


# What may be used of the memory, and the refusal of what takes more.


# The share of the physical memory that they may take.
_SHARE = 0.75


def refuse_memory(owner: str, needed: float, what: str) -> None:
    """Raise ``ValueError`` when so many bytes are more than may be used."""
    if needed > available_memory():
        raise ValueError(
            f"{owner} needs about {needed / 2**30:.3g} GiB for {what}, more than the "
            f"{available_memory() / 2**30:.3g} GiB that it may use here; expected less."
        )


def available_memory() -> float:
    """Return the bytes that a fit may use, of 8 GiB where the system reports none."""
    try:
        return _SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return _SHARE * 8.0 * 2**30


# Whether a fit or a prediction is one of the many of a cross-validation.

# The package of scikit-learn, and the file in it, that fit and score the folds of every
# search and score.
_PACKAGE, _FILE = "sklearn.model_selection", "_validation.py"
# Whose lines no user can change.
_OURS = frozenset({"skpce", "sklearn", "gflownet_envs"})


def is_of_a_fold() -> bool:
    """Return whether the caller was called to fit or to score a fold.

    scikit-learn gives an estimator no information about this, so that the frames of the
    callers are the only sign. It is looked for where a warning is due, and only there.
    """
    return any(
        str(frame.f_globals.get("__name__")).startswith(_PACKAGE)
        and frame.f_code.co_filename.endswith(_FILE)
        for frame, _ in walk_stack(sys._getframe(1))
    )


def warn_outside_folds(message: str, category: type[Warning]) -> None:
    """Warn of the user's line, except in a fold of a cross-validation.

    A search of scikit-learn resets the record of what was warned of at every fold, so
    that hundreds of fits would say the same. Its scores measure what the warning is
    about, and the refit on all rows warns once.
    """
    if not is_of_a_fold():
        level = 0
        for frame, _ in walk_stack(sys._getframe()):
            level += 1
            if str(frame.f_globals.get("__name__")).partition(".")[0] not in _OURS:
                break
        warnings.warn(message, category, stacklevel=level)


# Data frames: the one place that makes them, and that knows one when it is given.
#
# Results are frames of the library of the data where these are at hand; else of the one
# that ``sklearn.set_config(transform_output=...)`` names; else of pandas, or of polars
# where only that is installed. Frames of other libraries are read by narwhals.


_LIBRARIES = ("pandas", "polars")


def is_table(given: Any) -> bool:
    """Say whether this is a frame or a series of pandas or polars."""
    return hasattr(given, "iloc") or _library_of(given) == "polars"


def as_table(given: Any) -> Any:
    """Return a frame or series as it is, all else as an array."""
    return given if is_table(given) else np.asarray(given)


def at_hand(given: Any) -> Any:
    """Return a dataset of xarray as a data frame, and a lazy frame of polars as one.

    Each value of a dataset is a row, with its coordinates; a dimension without
    coordinates only numbers the rows.
    """
    if hasattr(given, "data_vars") and hasattr(given, "to_dataframe"):
        frame = given.to_dataframe().reset_index()
        counts = [name for name in given.sizes if name not in given.coords]
        return frame.drop(columns=counts)
    if type(given).__name__ == "LazyFrame":
        return given.collect()
    return given


def opened(given: Any) -> Any:
    """Return a frame whose columns can be read by name, of any library."""
    if isinstance(given, (np.ndarray, list, tuple, Mapping)) or is_table(given):
        return given
    with suppress(ImportError, TypeError):  # narwhals is not installed, or reads none
        return import_module("narwhals").from_native(given, eager_only=True)
    return given


def refuse_other_rows(**tables: Any) -> None:
    """Refuse row labels of the first table in another order; rows pair by position.

    Other labels, such as none, say nothing. Folds of scikit-learn are left alone: a
    permutation test gives each row the y of another one on purpose.
    """
    (first, table), *others = tables.items()
    rows: Any = getattr(table, "index", None)
    for name, table in others:
        index: Any = getattr(table, "index", None)
        if not hasattr(rows, "isin") or not hasattr(index, "isin"):
            continue
        if len(rows) != len(index) or rows.nlevels != index.nlevels:
            continue
        if rows.equals(index) or not (rows.isin(index) & index.isin(rows)).all():
            continue
        pairs = enumerate(zip(rows, index, strict=True))
        moved = [(row, ours, theirs) for row, (ours, theirs) in pairs if ours != theirs]
        if moved and not is_of_a_fold():
            row, ours, theirs = moved[0]
            remedy = f"{name}.loc[{first}.index]" if index.is_unique else "them sorted"
            raise ValueError(
                f"{first} and {name} have the same row labels in another order: row "
                f"{row} is {ours!r} in {first} and {theirs!r} in {name}. Rows are "
                f"paired by position; give {remedy}, or {name}.to_numpy() if they "
                "belong together as they stand."
            )


def take(table: Any, rows: Any) -> Any:
    """Take rows of an array, frame or series."""
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def take_columns(table: Any, columns: Any) -> Any:
    """Take columns of an array or frame, by their positions."""
    return table.iloc[:, columns] if hasattr(table, "iloc") else table[:, columns]


def make_frame(
    names: Iterable[Any],
    columns: Iterable[Any],  # each of shape (n_rows,)
    *,
    like: Any = None,  # the data, whose library is used where it is one of frames
    index: tuple[str, Sequence[Any]] | None = None,  # name and labels of the rows
    levels: tuple[str, str] | None = None,  # what pairs of names are
) -> Any:
    """Make a frame of columns.

    Row labels are the index in pandas, elsewhere a first column. Pairs of names are two
    levels in pandas, elsewhere ``first__second``, which the estimators read alike.
    """
    library = _library_of(like) or str(get_config()["transform_output"])
    if library == "default":
        has_pandas, has_polars = map(find_spec, _LIBRARIES)
        library = "polars" if has_polars and not has_pandas else "pandas"
    frames = import_extra(library, "frames", "a data frame")
    found, names = list(columns), list(names)
    if library != "pandas":
        pairs = zip(names, found, strict=True)
        table = {_flat(name): _plain(column) for name, column in pairs}
        if index is not None:
            table = {index[0] or "name": _plain(index[1]), **table}
        return frames.DataFrame(table)
    frame = frames.DataFrame(dict(enumerate(found)))
    if index is not None:
        frame.index = frames.Index(index[1], name=index[0] or None)
    elif isinstance(like, frames.DataFrame):
        frame.index = like.index
    if any(isinstance(name, tuple) for name in names):
        frame.columns = frames.MultiIndex.from_tuples(names, names=levels)
    else:
        frame.columns = frames.Index(names)
    return frame


def _library_of(given: Any) -> str:
    """Return the library of a frame or series of which frames can be made, or ""."""
    if type(given).__name__ == "LazyFrame":
        raise ValueError(
            "A LazyFrame has no values yet; expected a data frame, as collect() gives."
        )
    library = type(given).__module__.partition(".")[0]
    is_frame = hasattr(given, "columns") or hasattr(given, "to_frame")
    return library if is_frame and library in _LIBRARIES else ""


def _flat(name: Any) -> str:
    """Return the name of a column as text, a pair as the estimators read it."""
    return "__".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _plain(column: Any) -> Any:
    """Return values of one type: where Python's differ, as texts."""
    values = np.asarray(column)
    if values.dtype.kind != "O":
        return values if values.dtype.kind in "biuf" else values.tolist()
    entries = values.tolist()
    kinds = {type(entry) for entry in entries if entry is not None}
    if len(kinds) <= 1 and not kinds & {tuple, list, dict}:
        return entries
    return [None if entry is None else str(entry) for entry in entries]


# Columns of labels: text and categories of a data frame, read as codes of levels.
#
# Codes count the levels from 0, in the order of a category of pandas or an enumeration
# of polars, else sorted. Categories that are numbers are their own codes.


def refuse_twice(names: Sequence[Any], what: str) -> None:
    """Refuse columns of one name."""
    counts = Counter(names)
    twice = next((name for name in counts if counts[name] > 1), None)
    if twice is not None:
        raise ValueError(
            f"{what} has {counts[twice]} columns {twice!r}; expected names that differ."
        )


def label_columns(X: Any) -> dict[Any, NDArray[Any]]:
    """Return the columns of a data frame that hold text or categories, by name."""
    if not is_table(X) or not hasattr(X, "columns"):
        return {}
    names = list(X.columns)
    refuse_twice(names, "X")
    found = {}
    for name, dtype in zip(names, list(X.dtypes), strict=True):
        if getattr(dtype, "kind", "O") in "OUT" or is_category(dtype):
            values = np.asarray(X[name], dtype=object)
            if is_category(dtype) or any(isinstance(v, str) for v in values):
                found[name] = values
    return found


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
    if not labels or not (reset or hasattr(estimator, "levels_")):
        return X
    names = list(X.columns)
    if reset:
        inputs = names_of_inputs(names)
        _refuse_numbers(estimator.distribution, X, labels, inputs)
        input_of = dict(zip(names, inputs, strict=True))
        estimator.levels_ = {
            input_of[name]: _levels(name, values, X[name].dtype)
            for name, values in labels.items()
        }
    else:  # other names are refused before other types, and warned of once
        validate_data(estimator, X, reset=False, skip_check_array=True)
        inputs = input_names(estimator)
        names = list(getattr(estimator, "feature_names_in_", range(len(names))))
    return codes_by_level(X, [estimator.levels_.get(n, ()) for n in inputs], names)


def codes_by_level(X: Any, levels: Sequence[Sequence[Any]], names: Any = None) -> Any:
    """Return X with codes in place of labels, under other names where they are given.

    Columns without levels, and a table of another width, are left as they are.
    """
    labels, columns = label_columns(X), list(getattr(X, "columns", ()))
    if not labels or len(levels) != len(columns):
        return X
    coded = [
        _codes(labels[name], own) if name in labels and own else X[name]
        for name, own in zip(columns, levels, strict=True)
    ]
    return make_frame(columns if names is None else names, coded, like=X)


def label_codes(X: Any) -> tuple[Any, dict[int, Any]]:
    """Return X with codes in place of labels, and by column the label of each code.

    The labels have the type of their column.
    """
    labels, columns = label_columns(X), list(getattr(X, "columns", ()))
    coded, label_of = {name: X[name] for name in columns if labels}, {}
    for name, values in labels.items():
        codes = _codes(values, _levels(name, values, X[name].dtype))
        _, first, code = np.unique(codes, return_index=True, return_inverse=True)
        entries = getattr(X[name], "array", X[name])
        label_of[columns.index(name)] = entries[first]
        coded[name] = code.astype(np.float64)
    return (make_frame(coded, coded.values(), like=X) if labels else X), label_of


def _refuse_numbers(
    given: Any, X: Any, labels: Mapping[Any, NDArray[Any]], inputs: Sequence[str]
) -> None:
    """Refuse text that reads as numbers, unless it is said to be categorical."""
    for name, values in labels.items():
        stated, place = given, list(X.columns).index(name)
        if isinstance(given, Mapping):
            stated = given.get(inputs[place])
        elif isinstance(given, (list, tuple)) and len(given) == len(X.columns):
            stated = given[place]
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


def _codes(column: NDArray[Any], levels: Sequence[Any]) -> FloatArray:
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
        X = with_codes(estimator, X, reset=options.get("reset", True))
        for value, name in zip((X, *y), ("X", "y"), strict=False):
            refuse_no_numbers(value, name)
            refuse_twice(list(getattr(value, "columns", ())), name)
        found = validate_data(estimator, X, *y, dtype=np.float64, **options)
    for values, name in zip(found if y else (found,), ("X", "y"), strict=False):
        refuse_extremes(values, name, varying=name == varying)
    return found


# y as one table, its steps side by side: what is given as an array per step is not.
#
# An array of shape (n_members, n_items, n_classes) is such a table, of which each item
# is a step.


#: How y is given.
EXPECTED_TABLE = (
    "expected one 2-D array of shape (n_members, sum of steps) with the steps side "
    "by side, or a 3-D array of shape (n_members, n_items, n_classes); "
    "skpce.pack_steps makes one from a list of arrays, a dict of arrays, or a 3-D "
    "array with a mask"
)


class ItemTable(np.ndarray):
    """A 2-D array with the names of its columns, as a data frame has them."""

    columns: list[tuple[str, str]]

    def __array_finalize__(self, parent: Any) -> None:
        self.columns = getattr(parent, "columns", [])

    @property
    def steps(self) -> dict[str, int]:
        """The width of each step by its name."""
        names = [step for step, _ in self.columns]
        return {name: names.count(name) for name in dict.fromkeys(names)}


def refuse_other_items(
    y: Any, widths: Sequence[int], given_by: str, name: str = "y"
) -> None:
    """Refuse widths that are not those of the items of a 3-D array."""
    if isinstance(y, ItemTable) and tuple(y.steps.values()) != tuple(widths):
        items = tuple(y.steps.values())
        raise ValueError(
            f"{name} has {len(items)} items of {items[0]} columns each, as a 3-D "
            f"array, but {given_by} gives the widths {tuple(widths)}; expected "
            f"{items}. If {name} has others, give "
            f"{name}.reshape(len({name}), -1)."
        )


def refuse_swapped(X: Any, y: Any) -> None:
    """Refuse one column as X and several as y, each as the other should look."""
    is_column, columns = getattr(X, "ndim", 0) == 1, getattr(y, "shape", ())[1:]
    if is_column and columns and columns[0] > 1:
        raise ValueError(
            f"X has one dimension and y has {columns[0]} columns: they seem to be "
            "swapped. Expected X, then y; give one input as X.reshape(-1, 1)."
        )


def one_table(y: Any, name: str = "y") -> Any:
    """Return y as one table; ``ValueError`` for what cannot be read as one.

    Of a 3-D array each item becomes a step ``step0``, ``step1``, ...
    """
    if issparse(y):  # left to scikit-learn's own message; a DOK array is a dict
        return y
    if isinstance(y, Mapping):
        raise ValueError(f"{name} is a dict; {EXPECTED_TABLE}.")
    if isinstance(y, (list, tuple)) and any(np.ndim(part) >= 2 for part in y):
        raise ValueError(
            f"{name} is a list of {len(y)} arrays, one per step; {EXPECTED_TABLE}."
        )
    n_dimensions = getattr(y, "ndim", 0)
    if n_dimensions > 3:
        raise ValueError(f"{name} has {n_dimensions} dimensions; {EXPECTED_TABLE}.")
    if n_dimensions == 3:
        refuse_no_numbers(y, name)
        values = np.asarray(y)
        n_members, n_items, n_classes = values.shape
        table = values.reshape(n_members, n_items * n_classes).view(ItemTable)
        table.columns = [
            (f"step{item}", str(part))
            for item in range(n_items)
            for part in range(n_classes)
        ]
        return table
    return y


def group_and_column(name: Any) -> tuple[str, str]:
    """Read names such as ``logits__3``, or of two levels; others have no group."""
    if isinstance(name, tuple):
        group, column = str(name[0]), ":".join(map(str, name[1:]))
    else:
        group, _, column = str(name).partition("__")
    if group and column:
        return group, column
    return "", group or column or str(name)


def refuse_nan(y: Any, name: str = "y") -> None:
    """Raise ``ValueError`` for NaN, which is often the padding of ragged steps."""
    values = as_floats(y, name) if isinstance(y, (list, tuple)) else np.asarray(y)
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise ValueError(
            f"Input {name} contains NaN; expected numbers: leave members that failed "
            f"out. Steps of different width are not padded: {EXPECTED_TABLE}."
        )


def finite_table(y: Any) -> tuple[Any, FloatArray | None]:
    """Return y with 0 in place of NaN and infinity, and these, 0 elsewhere; or None."""
    try:
        values = np.asarray(y)
    except ValueError:
        raise ValueError(
            "y has rows of different lengths; expected as many values in each. Got "
            f"{reprlib.repr(y)}."
        ) from None
    if values.dtype.kind == "O" and values.ndim:  # nullable types of pandas, None
        with suppress(ValueError):
            values = floats_with_nan(values)
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return y, None
    finite = np.isfinite(values)
    return np.where(finite, values, 0.0), np.where(finite, 0.0, values)


def refuse_class_labels(values: FloatArray, name: str = "y") -> None:
    """Raise ``ValueError`` for integers whose rows have different sums.

    Such numbers are the classes that a classifier predicts, or counts.
    """
    if values.ndim != 2 or values.shape[1] < 2:
        return
    if not np.isfinite(values).all():
        values = values[np.isfinite(values).all(axis=1)]
    if not len(values):
        return
    if not (values == np.rint(values)).all() or values.max() <= 1:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        sums = values.sum(axis=1)
        differ = np.ptp(sums) > 0
    if differ:
        raise ValueError(
            f"{name} holds integers, rows of which add up to {sums.min():g} to "
            f"{sums.max():g}; expected probabilities. If these are class labels, give "
            "the predict_proba of each member in place of its predict; if they are "
            "counts, divide each step by its sum."
        )


def refuse_unsplit(
    values: FloatArray,  # shape: (n_members, n_parts), of one step
    name: str,
    where: str = "",
    remedy: str = "",
) -> None:
    """Raise ``ValueError`` for steps side by side that are taken for one."""
    total = values.sum(axis=1)
    n_steps = float(np.rint(total[0])) if len(total) else 0.0
    several = 2 <= n_steps < values.shape[1] and values.max() <= 1.0 + _CLOSED
    if several and np.abs(total - n_steps).max() <= _CLOSED:
        raise ValueError(
            f"Each row of {where}{name} sums to {n_steps:g}, so that it seems to be "
            f"{n_steps:g} steps side by side. Give steps=, the width of each, such as "
            "steps={'first': 3, 'second': 4}, or a data frame with the columns "
            f"step__part, or an array of shape (n_members, n_items, n_classes).{remedy}"
        )


# Sums of rows of probabilities differ from a whole number by less than this.
_CLOSED = 1e-3


IndexArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: Members that a verdict needs. An input that explains 90 % of the variance has a Q²
#: below 0.25 in 5 % of ensembles of 8 members, in 10 % of 7, in 23 % of 5.
FEWEST_MEMBERS = 8

#: More samples than this are no whole numbers of a double.
LARGEST_COUNT = 2.0**53


def fail(owner: str, name: str, expected: str, value: Any) -> ValueError:
    return ValueError(
        f"The {name!r} parameter of {owner} must be {expected}. Got {value!r} instead."
    )


def finite_floats(owner: str, name: str, value: Any, expected: str) -> FloatArray:
    """Return a copy as an array of finite floats, or raise ``ValueError``."""
    try:
        refuse_no_numbers(value, name)
        values = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise fail(owner, name, expected, value) from None
    if not values.size or not np.isfinite(values).all():
        raise fail(owner, name, expected, value)
    return values


def is_position(value: Any, size: float) -> bool:
    """Return whether a value is an int from 0 to ``size - 1``."""
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    return is_integer and 0 <= int(value) < size


def position_of(value: Any, names: Sequence[str]) -> int | None:
    """Return the position that a name or an int stands for; None for all else."""
    if isinstance(value, str):
        return list(names).index(value) if value in names else None
    return int(value) if is_position(value, len(names)) else None


def check_integer(
    owner: str,
    name: str,
    value: Any,
    *,
    low: int = 0,
    high: int = sys.maxsize,
    none_allowed: bool = False,
) -> None:
    """Raise ``ValueError`` unless ``value`` is an int from ``low`` to ``high``."""
    if value is None and none_allowed:
        return
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_integer or value < low or value > high:
        end = "inf)" if high == sys.maxsize else f"{high}]"
        suffix = " or None" if none_allowed else ""
        raise fail(owner, name, f"an int in the range [{low}, {end}{suffix}", value)


#: More permutations, resamples or repeated fits than this take hours.
MOST_REPEATS = 200_000


def check_real(
    owner: str,
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    closed: str = "neither",
) -> None:
    """Raise ``ValueError`` unless ``value`` is a real number in the interval.

    ``closed`` is one of ``"left"``, ``"right"``, ``"both"``, ``"neither"``.
    """
    left, right = closed in ("left", "both"), closed in ("right", "both")
    is_real = isinstance(value, Real) and not isinstance(value, bool)
    if isinstance(value, int):
        is_real &= abs(value) <= LARGEST_INTEGER
    valid = (
        is_real
        and (value >= low if left else value > low)
        and (value <= high if right else value < high)
    )
    if not valid:
        interval = f"{'[' if left else '('}{low}, {high}{']' if right else ')'}"
        raise fail(owner, name, f"a float in the range {interval}", value)


def check_draws(
    owner: str, name: str, value: Any, *, low: int = 1, each: int = 1
) -> None:
    """Refuse what is no number of draws, and draws that exceed the memory.

    Each draw takes ``each`` numbers, of which a few copies are in use.
    """
    check_integer(owner, name, value, low=low)
    refuse_memory(owner, 32.0 * min(int(value), 10**30) * each, f"{name}={value}")


def check_option(
    owner: str,
    name: str,
    value: Any,
    options: Collection[str],
    *,
    none_allowed: bool = False,
) -> None:
    """Raise ``ValueError`` unless ``value`` is one of the named options."""
    if value is None and none_allowed:
        return
    if not isinstance(value, str) or value not in options:
        listed = ", ".join(repr(option) for option in sorted(options))
        suffix = " or None" if none_allowed else ""
        raise fail(owner, name, f"one of {listed}{suffix}", value)


def check_boolean(owner: str, name: str, value: Any) -> None:
    """Raise ``ValueError`` unless ``value`` is a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise fail(owner, name, "a bool", value)


def check_rows(owner: str, name: str, value: Any, *, dense: bool = True) -> None:
    """Raise ``ValueError`` unless ``value`` has rows; of what is left to others."""
    if dense and issparse(value):
        raise fail(owner, name, "a dense table", value)
    has_rows = hasattr(value, "__len__") and getattr(value, "ndim", 1) != 0
    if isinstance(value, str) or not has_rows:
        raise fail(owner, name, "a table with a row for each member", value)


def check_alphas(owner: str, value: Any) -> None:
    """Raise ``ValueError`` unless ``value`` is positive finite numbers."""
    expected = "None or an array-like of positive finite floats"
    alphas = finite_floats(owner, "alphas", value, expected)
    if alphas.ndim != 1 or np.any(alphas <= 0):
        raise fail(owner, "alphas", expected, value)


@dataclass(frozen=True)
class Samples:
    """Samples of positive weight."""

    inputs: FloatArray  # shape: (n_samples, n_features)
    targets: FloatArray  # shape: (n_samples, n_targets)
    weights: FloatArray  # shape: (n_samples,)

    @cached_property
    def lacks_targets(self) -> bool:
        """Whether some samples lack a target (NaN)."""
        return bool(np.isnan(self.targets).any())

    def of(self, rows: IndexArray, targets: IndexArray | None = None) -> Samples:
        """Select rows and targets, all targets for None."""
        chosen = self.targets[rows]
        if targets is not None:
            chosen = chosen[:, targets]
        return Samples(self.inputs[rows], chosen, self.weights[rows])


def at_least_one_copy(weights: FloatArray) -> FloatArray:
    """Scale frequencies that were normalised so that a row counts once on average."""
    total, count = float(weights.sum()), float(np.count_nonzero(weights))
    return weights if total >= count * (1.0 - 1e-9) else weights * (count / total)


def checked_sample_weight(
    sample_weight: ArrayLike | None,
    X: FloatArray,
    name: str = "sample_weight",
    largest: float = LARGEST_COUNT,
) -> FloatArray:
    """Return float weights of shape (n_samples,); None means one copy of each row."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    if isinstance(sample_weight, Real):
        sample_weight = np.full(X.shape[0], sample_weight)
    weights = as_floats(sample_weight, name)
    if weights.shape != (X.shape[0],):
        raise ValueError(
            f"{name}.shape == {weights.shape}, expected {(X.shape[0],)}, a weight for "
            "each row of X or y!"
        )
    refuse_not_finite(weights, name)
    if np.any(weights < 0):
        raise ValueError(
            f"{name} must be non-negative; the smallest is {float(weights.min())!r}."
        )
    if not np.any(weights > 0):
        raise ValueError(f"{name} must not be all zero: no sample is left.")
    if np.isfinite(largest) and weights.sum() > largest:
        raise ValueError(
            f"{name} adds up to {float(weights.sum())!r}; weights are frequencies, of "
            f"which at most {largest:g} are expected. Rescale them."
        )
    return weights


def input_names(estimator: Any, input_features: ArrayLike | None = None) -> list[str]:
    """Return the names of the inputs of a fitted estimator."""
    seen = getattr(estimator, "feature_names_in_", None)
    names = numbered_names(estimator.n_features_in_) if seen is None else list(seen)
    return names if input_features is None else chosen_names(input_features, names)


def chosen_names(input_features: ArrayLike | None, seen: Sequence[str]) -> list[str]:
    """Return the names given, or those seen in ``fit`` for None.

    Names that are only positions (``x0, x1, ...``) are replaced by any others.
    """
    if input_features is None:
        return list(seen)
    names = [str(name) for name in np.asarray(input_features, dtype=object)]
    if list(seen) not in (numbered_names(len(seen)), names):
        raise ValueError(
            "input_features is not equal to feature_names_in_; expected "
            f"{list(seen)}. Got {names}."
        )
    if len(names) != len(seen):
        raise ValueError(
            "input_features should have length equal to number of features "
            f"({len(seen)}), got {len(names)}"
        )
    return names


def renamed(name: str, given: Sequence[str] | None, names: list[str]) -> list[str]:
    """Return the given names in place of as many others; None retains these."""
    if given is None:
        return names
    first = ", ".join(map(str, names[:5])) + (", ..." if len(names) > 5 else "")
    expected = f"{len(names)} names, one for each of {first}"
    new = listed(given, name, expected)
    if len(new) != len(names):
        raise ValueError(f"{name}={given!r} must be {expected}.")
    return [str(entry) for entry in new]


def alone(
    what: str, groups: Mapping[str, Sequence[int]], names: Sequence[str]
) -> dict[str, list[int]]:
    """Return the positions of the names in no group; refuse those in several."""
    taken: dict[int, str] = {}
    for group, places in groups.items():
        for place in places:
            if place in taken:
                raise ValueError(
                    f"{what} has {names[place]!r} in {taken[place]!r} and in "
                    f"{group!r}; expected each input in one group."
                )
            taken[place] = group
    found = {name: [i] for i, name in enumerate(names) if i not in taken}
    clash = next((name for name in groups if name in found), None)
    if clash is not None:
        raise ValueError(
            f"{what} has the name {clash!r}, which is that of an input outside of the "
            "group; expected another."
        )
    return found


def refuse_other_names(
    what: str, given: Sequence[str] | None, names: Sequence[str] | None
) -> None:
    """Refuse inputs that have other names than expected, or another order.

    Names that are only positions (``x0, x1, ...``) or unknown (None) match any.
    """
    if given is None or names is None:
        return
    first, second = ([str(name) for name in some] for some in (given, names))
    if numbered_names(len(first)) == first or numbered_names(len(second)) == second:
        return
    if first != second:
        raise ValueError(
            f"{what} has the inputs {first}; expected {second}, in this order."
        )


def numbered_names(n_features: int) -> list[str]:
    """Return the names of inputs that have none."""
    return list(map("x{}".format, range(n_features)))


def names_of_inputs(columns: Sequence[Any]) -> list[str]:
    """Return the names of columns; scikit-learn ignores those that are no text."""
    are_text = all(isinstance(name, str) for name in columns)
    return list(columns) if are_text else numbered_names(len(columns))


def checked_random_state(random_state: RandomState) -> np.random.RandomState:
    """Return scikit-learn's ``random_state``, or raise ``ValueError`` by its name."""
    try:
        return check_random_state(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            "random_state must be None, an int from 0 to 4294967295 or a "
            f"numpy.random.RandomState. Got {random_state!r} instead."
        ) from None


def make_generator(random_state: RandomState) -> np.random.Generator:
    """Return a NumPy generator from scikit-learn's ``random_state``."""
    seed = checked_random_state(random_state).randint(np.iinfo(np.int32).max)
    return np.random.default_rng(seed)


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """Undo every attribute that was set inside, if an exception leaves it."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


# Design matrices with fewer entries are small: a second thread gains nothing.
_SMALL = 4_000_000


@cache
def _controller() -> ThreadpoolController:
    """Find the thread pools of BLAS once, as this takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


def _clear_controlling_thread() -> None:
    """Let this thread, and later any other, set limits; no-op before 3.8."""
    openblas = getattr(threadpoolctl, "OpenBLASController", None)
    clear = getattr(openblas, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


class _SharedLimit:
    """One thread for as long as any fit is inside."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._holders == 0 and any(
                pool.get_num_threads() != 1 for pool in _controller().lib_controllers
            ):
                _clear_controlling_thread()
                self._limit = _controller().limit(limits=1)
            self._holders += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0 and self._limit is not None:
                _clear_controlling_thread()
                self._limit.restore_original_limits()
                _clear_controlling_thread()
                self._limit = None


_SHARED_LIMIT = _SharedLimit()


def one_thread_if_small(n_entries: int) -> AbstractContextManager[None]:
    """Use one BLAS thread inside, when a design matrix has few entries."""
    return nullcontext() if n_entries >= _SMALL else _SHARED_LIMIT


def one_thread_for(n_rows: int) -> AbstractContextManager[None]:
    """Do so in tests of inputs, whose matrices have at most some hundred columns."""
    return one_thread_if_small(n_rows * min(n_rows, 600))


def state_of_fields(noun: Any) -> dict[str, Any]:
    """Return the fields of a dataclass without what was computed from them.

    To be its ``__getstate__``, so that pickles and copies are small.
    """
    return {entry.name: getattr(noun, entry.name) for entry in fields(noun)}


def check_path(owner: str, path: Any) -> None:
    """Raise ``TypeError`` or ``ValueError`` unless this can be the path of a file."""
    error = fail(owner, "path", "the path of a file", path)
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(str(error))
    if not Path(path).name:
        raise error


def check_target(
    what: str, path: Any, endings: Sequence[str] = (".html", ".htm")
) -> None:
    """Refuse what could not be written, a page unless others end so."""
    if not isinstance(path, (str, os.PathLike)):
        raise ValueError(f"{what}{path!r} must be a str or a path.")
    target, shown = Path(path), f"{what}{str(path)!r}"
    if target.is_dir():
        raise ValueError(f"{shown} is a folder; expected that of a file.")
    if not target.parent.is_dir():
        raise ValueError(f"{shown} must be in a folder that exists.")
    if not os.access(target.parent, os.W_OK):
        raise ValueError(f"{shown} must be in a folder that can be written.")
    if target.suffix.lower() not in endings:
        raise ValueError(f"{shown} must end in {' or '.join(endings)}.")


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file in one piece, so that no reader finds half of it.

    A link stays, and the file behind it is written.
    """
    target = Path(path)
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise ValueError(f"{target} is a device or a pipe; expected a path of a file.")
    if target.is_symlink():
        target = Path(os.path.realpath(target))
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        temporary.write_bytes(content)  # with the rights of umask
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def format_cell(value: Any, digits: int = 3) -> str:
    """Return a short text: three digits, yes/no, a dash for NaN."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        return "–" if np.isnan(value) else f"{value + 0.0:.{digits}g}"
    if isinstance(value, tuple):
        return "; ".join(str(part) for part in value)
    return str(value)


def html_table(
    columns: Iterable[str],
    rows: Iterable[Iterable[Any]],
    caption: str = "",
    digits: int = 3,
) -> str:
    """Return an HTML table whose cells are short texts."""
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in columns)
    cells = (
        "".join(f"<td>{escape(format_cell(cell, digits))}</td>" for cell in row)
        for row in rows
    )
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def method_of(
    attribute: str,
    function: Callable[Concatenate[Any, P], R],
    *,
    inputs: str | None = "X",
) -> Callable[Concatenate[Any, P], R]:
    """Return a method that calls a function of an attribute of a fitted estimator.

    The method has the name, the signature and the documentation of the function. The
    argument named ``inputs`` is first checked for the number and the names of its
    features; what is missing or infinite in it is left to the function. Without a
    ``random_state`` that of the estimator is taken, where it has one.
    """
    signature = inspect.signature(function)
    first, *others = signature.parameters.values()

    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        check_is_fitted(self)
        source = getattr(self, attribute)
        # What is missing is left to the function, which reports it.
        try:
            call: Any = signature.bind_partial(source, *args, **kwargs)
        except TypeError as error:
            owner = f"{type(self).__name__}.{function.__name__}()"
            raise TypeError(f"{owner} {error}") from None
        given = call.arguments.get("random_state")
        if "random_state" in signature.parameters and given is None:
            call.arguments["random_state"] = getattr(self, "random_state", None)
        if call.arguments.get(inputs) is not None:
            call.arguments[inputs] = validated(
                self, call.arguments[inputs], reset=False, ensure_all_finite=False
            )
        found = function(*call.args, **call.kwargs)
        if hasattr(found, "_named"):  # its table has the names of the fit
            expansion = getattr(self, "expansion_", None)
            if expansion is not None and "_names" not in vars(found):
                found._named(expansion.group_names, expansion.input_names)
        return found

    for name in ("__name__", "__qualname__", "__doc__"):
        setattr(method, name, getattr(function, name, None))
    method.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[first.replace(name="self"), *others]
    )
    return method


class Fitted(property, Generic[R]):
    """A fitted attribute that is read from another one, of type ``R``.

    Its absence before ``fit`` is reported under its own name.
    """

    def __init__(self, attribute: str, read: Callable[[Any], R]) -> None:
        super().__init__(self._value)
        self._attribute, self._read, self._name = attribute, read, attribute

    if TYPE_CHECKING:

        def __get__(  # type: ignore[override]
            self, instance: Any, owner: Any = None
        ) -> R: ...

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def _value(self, estimator: Any) -> R:
        try:
            source = getattr(estimator, self._attribute)
        except AttributeError:
            raise AttributeError(
                f"{type(estimator).__name__!r} object has no attribute {self._name!r}",
                name=self._name,
                obj=estimator,
            ) from None
        return self._read(source)


# The progress of functions that refit, and callbacks of scikit-learn, since 1.9.


try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # before 1.9
    CallbackSupportMixin = None


def check_progress(owner: str, progress: Any) -> None:
    """Refuse what is no callback."""
    if progress is not None and not callable(progress):
        raise fail(owner, "progress", "a callable or None", progress)


def without_callbacks(estimator: Any) -> Any:
    """Take the callbacks from an estimator and all that are inside it; return it."""
    if CallbackSupportMixin is not None:
        for part in (estimator, *estimator.get_params(deep=True).values()):
            if isinstance(part, CallbackSupportMixin):
                part.set_callbacks()
    return estimator
