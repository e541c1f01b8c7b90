"""Data frames: the one place that makes them, and that knows one when it is given.

Results are frames of the library of the data where these are at hand; else of the one
that ``sklearn.set_config(transform_output=...)`` names; else of that of the data which
the result came from; else of pandas, or of polars where pandas is not installed. Frames
of other libraries come from narwhals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ParamSpec, TypeVar

import numpy as np
from sklearn import get_config

from .cross_validation import is_of_a_fold
from .extras import import_extra

_LIBRARIES = ("pandas", "polars")
_WHO = "a data frame"
_MEMORY = "_library_of_frames"

P = ParamSpec("P")
R = TypeVar("R")


def is_table(given: Any) -> bool:
    """Say whether this is a frame or a series of pandas or polars."""
    return hasattr(given, "iloc") or _library_of(given) == "polars"


def as_table(given: Any) -> Any:
    """Return a frame or series as it is, all else as an array."""
    return given if is_table(given) else np.asarray(given)


def opened(given: Any) -> Any:
    """Return a frame whose columns can be read by name, of any library."""
    if is_table(given) or not _narwhals_knows(given):
        return given
    return import_module("narwhals").from_native(given, eager_only=True)


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
    of: Any = None,  # what remembers the library of its data
    index: tuple[str, Sequence[Any]] | None = None,  # name and labels of the rows
    levels: tuple[str, str] | None = None,  # what pairs of names are
) -> Any:
    """Make a frame of columns.

    Row labels are the index in pandas, elsewhere a first column. Pairs of names are two
    levels in pandas, elsewhere ``first__second``, which the estimators read alike.
    """
    library = _library_for(like, of)
    found, names = list(columns), list(names)
    if library == "pandas":
        return _of_pandas(names, found, like, index, levels)
    pairs = zip(names, found, strict=True)
    table = {_flat(name): _plain(column) for name, column in pairs}
    if index is not None:
        table = {index[0] or "name": _plain(index[1]), **table}
    if library == "polars":
        return import_extra("polars", "frames", _WHO).DataFrame(table)
    narwhals = import_extra("narwhals", "frames", f"{_WHO} of {library}")
    return narwhals.from_dict(table, backend=library).to_native()


def remembers_frames(function: Callable[P, R]) -> Callable[P, R]:
    """Let what a function returns remember the library of the data that it is given."""

    @wraps(function)
    def remembering(*args: P.args, **kwargs: P.kwargs) -> R:
        found = function(*args, **kwargs)
        remember_frames(found, *args, *kwargs.values())
        return found

    return remembering


def remember_frames(holder: Any, *given: Any) -> None:
    """Let frames of an object be of the first library among what is given.

    That is data, or what remembers the library of its data: also a fitted estimator, or
    the last step of a pipeline, by its expansion.
    """
    found = next(filter(None, map(_library_behind, given)), "")
    if found:
        vars(holder)[_MEMORY] = found
        for table in getattr(holder, "tables", {}).values():
            vars(table)[_MEMORY] = found


def _library_behind(given: Any) -> str:
    """Return the library of frames of data, or of data that something came from."""
    if given is None or type(given) is np.ndarray:
        return ""
    library = _library_of(given)
    if library in _LIBRARIES or _narwhals_knows(given):
        return library
    last = getattr(given, "_final_estimator", given)
    holders = (last, getattr(last, "expansion_", None))
    found = (getattr(holder, "__dict__", {}).get(_MEMORY) for holder in holders)
    return str(next(filter(None, found), ""))


def _library_for(like: Any, of: Any) -> str:
    """Return the library of a new frame."""
    given = _library_of(like)
    if given in _LIBRARIES or _narwhals_knows(like):
        return given
    wanted = get_config()["transform_output"]
    if wanted in _LIBRARIES:
        return str(wanted)
    remembered = _library_behind(of)
    if remembered and _is_installed(remembered):
        return remembered
    installed = (name for name in _LIBRARIES if _is_installed(name))
    return next(installed, "pandas")


def _library_of(given: Any) -> str:
    """Return the library of a frame or series by the name of its package."""
    if given is None or isinstance(given, (np.ndarray, list, tuple)):
        return ""
    has_columns = hasattr(given, "columns") or hasattr(given, "to_frame")
    return type(given).__module__.partition(".")[0] if has_columns else ""


def _narwhals_knows(given: Any) -> bool:
    """Say whether narwhals is installed and can make such a frame."""
    if not _library_of(given) or not _is_installed("narwhals"):
        return False
    narwhals = import_module("narwhals")
    try:
        narwhals.from_native(given, eager_only=True)
    except TypeError:
        return False
    return True


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:  # it was taken out of sys.modules
        return False


def _of_pandas(
    names: list[Any],
    columns: list[Any],
    like: Any,
    index: tuple[str, Sequence[Any]] | None,
    levels: tuple[str, str] | None,
) -> Any:
    pandas = import_extra("pandas", "frames", _WHO)
    rows = getattr(like, "index", None) if isinstance(like, pandas.DataFrame) else None
    if index is not None:
        rows = pandas.Index(index[1], name=index[0] or None)
    frame = pandas.DataFrame(dict(enumerate(columns)))
    if rows is not None:
        frame.index = rows
    if any(isinstance(name, tuple) for name in names):
        frame.columns = pandas.MultiIndex.from_tuples(names, names=levels)
    else:
        frame.columns = pandas.Index(names)
    return frame


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
