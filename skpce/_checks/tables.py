"""y as one table, its steps side by side: what is given as an array per step is not.

An array of shape (n_members, n_items, n_classes) is such a table, of which each item is
a step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .numbers import FloatArray, as_floats, floats_with_nan, refuse_no_numbers

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


def refuse_swapped(estimator: Any, X: Any, y: Any) -> None:
    """Refuse X and y of which each looks as the other should."""
    inputs, outputs = _shape(X), _shape(y)
    if len(inputs) == 1 and len(outputs) == 2 and outputs[1] > 1:
        raise ValueError(
            f"X has one dimension and y has {outputs[1]} columns: they seem to be "
            "swapped. Expected X, then y; give one input as X.reshape(-1, 1)."
        )
    laws = getattr(estimator, "distribution", None)
    if not isinstance(laws, (list, tuple, Mapping)) or len(outputs) != 2:
        return
    if isinstance(laws, Mapping):
        fits_y, fits_X = (
            set(laws) == set(getattr(table, "columns", ())) for table in (y, X)
        )
    else:
        are_bounds = all(isinstance(law, Real) for law in laws)
        fits_y = len(laws) == outputs[1] > 1 and not are_bounds
        fits_X = inputs[1:] == (len(laws),)
    if fits_y and not fits_X:
        raise ValueError(
            f"distribution is of {len(laws)} inputs, as y has columns, and X has "
            "others: they seem to be swapped. Expected X, then y."
        )


def _shape(table: Any) -> tuple[int, ...]:
    """Return the shape of a table; nothing where its rows are of different length."""
    try:
        return tuple(getattr(table, "shape", None) or np.asarray(table).shape)
    except ValueError:
        return ()


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
    n_dimensions = getattr(y, "ndim", None)
    if n_dimensions == 3:
        return _side_by_side(y, name)
    if isinstance(n_dimensions, int) and n_dimensions > 3:
        raise ValueError(f"{name} has {n_dimensions} dimensions; {EXPECTED_TABLE}.")
    _refuse_text(y, name)
    return y


def _side_by_side(y: Any, name: str) -> ItemTable:
    """Return the items of a 3-D array side by side."""
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


def _refuse_text(y: Any, name: str) -> None:
    """Raise ``ValueError`` for text, which is often the labels of a classifier."""
    try:
        values = np.asarray(y).ravel()
    except ValueError:
        raise ValueError(
            f"{name} has rows of different length; {EXPECTED_TABLE}."
        ) from None
    entries = values.tolist() if values.dtype.kind in "USO" else []
    text = [entry for entry in entries if isinstance(entry, (str, bytes))]
    if text:
        raise ValueError(
            f"{name} holds text such as {text[0]!r}; expected numbers, one row per "
            "member of the ensemble: probabilities such as the predict_proba of each "
            "member at one or several points, side by side, or scores or losses."
        )


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
    values = np.asarray(y)
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
