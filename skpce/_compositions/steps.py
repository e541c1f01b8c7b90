"""Steps: blocks of columns that each sum to one.

One 2-D array of shape ``(n_members, sum of widths)`` holds the compositions of all
steps side by side, so that it flows through every scikit-learn tool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from .._checks import FloatArray, IndexArray

_SEPARATOR = "__"

_EXPECTED_SHAPE = (
    "expected one 2-D array of shape (n_members, sum of steps) with the steps side "
    "by side; skpce.pack_steps makes one from a list of arrays, a dict of arrays, or "
    "a 3-D array with a mask"
)


@dataclass(frozen=True)
class StepLayout:
    """Which columns belong to which step."""

    widths: tuple[int, ...]  # number of parts of each step
    step_names: tuple[str, ...]  # one per step
    part_names: tuple[str, ...]  # one per column

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """The columns of each step."""
        ends = np.cumsum(self.widths)
        return tuple(
            slice(int(end - width), int(end))
            for end, width in zip(ends, self.widths, strict=True)
        )

    @property
    def n_parts(self) -> int:
        """Number of columns."""
        return sum(self.widths)

    @property
    def n_steps(self) -> int:
        """Number of steps."""
        return len(self.widths)

    @cached_property
    def step_of_part(self) -> IndexArray:
        """The step of each column; shape (n_parts,)."""
        return np.repeat(np.arange(self.n_steps), self.widths)

    def describe_column(self, column: int) -> str:
        """Name a column in an error message."""
        step = self.step_names[self.step_of_part[column]]
        return f"part {self.part_names[column]!r} of step {step!r}"


def refuse_ragged(y: Any, name: str = "y") -> None:
    """Raise ``ValueError`` for y that cannot be read as one table of numbers."""
    if issparse(y):  # left to scikit-learn's own message; a DOK array is a dict
        return
    if isinstance(y, Mapping):
        raise ValueError(f"{name} is a dict; {_EXPECTED_SHAPE}.")
    if isinstance(y, (list, tuple)) and any(np.ndim(part) >= 2 for part in y):
        raise ValueError(
            f"{name} is a list of {len(y)} arrays, one per step; {_EXPECTED_SHAPE}."
        )
    n_dimensions = getattr(y, "ndim", None)
    if isinstance(n_dimensions, int) and n_dimensions > 2:
        raise ValueError(f"{name} has {n_dimensions} dimensions; {_EXPECTED_SHAPE}.")
    _refuse_text(y, name)


def _refuse_text(y: Any, name: str) -> None:
    """Raise ``ValueError`` for text, which is often the labels of a classifier."""
    try:
        values = np.asarray(y).ravel()
    except ValueError:  # rows of different length: left to scikit-learn's own message
        return
    if values.dtype.kind not in "USO":
        return
    text = [entry for entry in values.tolist() if isinstance(entry, (str, bytes))]
    if text:
        raise ValueError(
            f"{name} holds text such as {text[0]!r}; expected probabilities, one row "
            "per member of the ensemble, such as the predict_proba of each member at "
            "one or several points, side by side."
        )


def refuse_nan(y: Any, name: str = "y") -> None:
    """Raise ``ValueError`` for NaN, which is often the padding of ragged steps."""
    values = np.asarray(y)
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise ValueError(
            f"Input {name} contains NaN. Steps of different width are not padded: "
            f"{_EXPECTED_SHAPE}."
        )


def resolve_layout(y: Any, steps: Any, n_columns: int, owner: str) -> StepLayout:
    """Return the steps from the parameter, or from the columns of a data frame.

    ``steps`` gives widths, or groups of columns (their positions, or their names in a
    data frame), or a mapping from the name of a step to either. None takes them from
    two-level columns or from names such as ``step__action``; else all columns are
    one step.
    """
    labels = column_labels(y, n_columns)
    if steps is None:
        return _layout_from_labels(labels, n_columns)
    named = isinstance(steps, Mapping)
    values = list(steps.values()) if named else steps
    groups = _column_groups(values)
    if groups:
        _check_groups(groups, labels, n_columns, owner)
        values = [len(group) for group in groups]
    widths = _checked_widths(values, steps, owner)
    if sum(widths) != n_columns:
        raise ValueError(
            f"The 'steps' parameter of {owner} sums to {sum(widths)} columns "
            f"({' + '.join(map(str, widths))}) but y has {n_columns}."
        )
    if named:
        step_names = tuple(str(name) for name in steps)
    else:
        step_names = _step_names_for(labels, widths)
    parts = [label[1] for label in labels] if labels else _numbered_parts(widths)
    return StepLayout(widths, step_names, tuple(parts))


def _column_groups(values: Any) -> list[list[Any]]:
    """Return the groups of columns, or nothing for widths and other values."""
    kinds: tuple[Any, ...] = (list, tuple, range, np.ndarray)
    if not isinstance(values, kinds) or not len(values):
        return []
    if not all(isinstance(value, kinds) and np.ndim(value) == 1 for value in values):
        return []
    return [list(value) for value in values]


def _check_groups(
    groups: list[list[Any]], labels: list[tuple[str, str]], n_columns: int, owner: str
) -> None:
    """Raise ``ValueError`` unless the groups are all columns, in their order."""
    given = [column for group in groups for column in group]
    wanted: list[list[Any]] = [list(range(n_columns))]
    if labels:
        wanted += [list(labels), [label_text(label) for label in labels]]
        wanted.append([part for _, part in labels])
    elif all(isinstance(column, str) for column in given):
        wanted.append(given if len(given) == n_columns else [])  # no names to compare
    if given in wanted and all(groups):
        return
    columns = wanted[2] if labels else wanted[0]
    raise ValueError(
        f"The 'steps' parameter of {owner} groups the columns {given}, but y has the "
        f"columns {columns}: expected all of them, once and in their order, those of "
        "a step side by side."
    )


def _checked_widths(values: Any, given: Any, owner: str) -> tuple[int, ...]:
    try:
        widths = tuple(values)
    except TypeError:
        widths = ()
    valid = widths and all(
        isinstance(width, Integral) and not isinstance(width, bool) and int(width) > 0
        for width in widths
    )
    if not valid or isinstance(given, str):
        raise ValueError(
            f"The 'steps' parameter of {owner} must be None, a sequence of positive "
            f"ints (the width of each step), of groups of columns, or a dict of names "
            f"and either. Got {given!r} instead."
        )
    return tuple(int(width) for width in widths)


def label_text(label: tuple[str, str]) -> str:
    """Return a label of :func:`column_labels` as one name."""
    return _SEPARATOR.join(label) if label[0] else label[1]


def column_labels(y: Any, n_columns: int) -> list[tuple[str, str]]:
    """Return (step, part) per column of a data frame; empty when there are none."""
    columns = getattr(y, "columns", None)
    if columns is None:
        return []
    labels: list[tuple[str, str]] = []
    for column in columns:
        if isinstance(column, tuple) and len(column) == 2:
            labels.append((str(column[0]), str(column[1])))
        elif isinstance(column, str) and _SEPARATOR in column:
            step, part = column.split(_SEPARATOR, 1)
            labels.append((step, part))
        else:
            labels.append(("", str(column)))
    return labels if len(labels) == n_columns else []


def _layout_from_labels(labels: list[tuple[str, str]], n_columns: int) -> StepLayout:
    if not labels:
        return StepLayout((n_columns,), ("step0",), _numbered_parts((n_columns,)))
    names = [step for step, _ in labels]
    order = list(dict.fromkeys(names))
    widths = tuple(names.count(name) for name in order)
    if names != [name for name in order for _ in range(names.count(name))]:
        raise ValueError(
            "The columns of y that belong to one step must be side by side; got "
            f"the steps {names} in this order."
        )
    step_names = tuple(name or f"step{i}" for i, name in enumerate(order))
    return StepLayout(widths, step_names, tuple(part for _, part in labels))


def _step_names_for(
    labels: list[tuple[str, str]], widths: tuple[int, ...]
) -> tuple[str, ...]:
    """Name given widths after the labels when each step has one name of its own."""
    starts = np.cumsum((0, *widths[:-1]))
    names = [labels[start][0] if labels else "" for start in starts]
    if all(names) and len(set(names)) == len(names):
        return tuple(names)
    return tuple(f"step{i}" for i in range(len(widths)))


def _numbered_parts(widths: Sequence[int]) -> tuple[str, ...]:
    return tuple(str(part) for width in widths for part in range(width))


def pack_steps(
    policies: Any, mask: ArrayLike | None = None
) -> tuple[FloatArray, tuple[int, ...]]:
    """Put the compositions of several steps side by side.

    Parameters
    ----------
    policies : sequence of arrays, mapping of str to arrays, or 3-D array
        One array of shape (n_members, width) per step; or one array of shape
        (n_members, n_steps, largest width) with ``mask``.
    mask : array-like of bool of shape (n_steps, largest width) or None, default=None
        True where the padded array has a part; needed for a 3-D array, refused
        otherwise.

    Returns
    -------
    y : ndarray of shape (n_members, sum of widths)
        The table for the estimators.
    steps : tuple of int
        The widths, for ``steps=``.

    Raises
    ------
    ValueError
        If the arrays differ in their number of members, are not 2-D, or the mask
        does not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce import pack_steps
    >>> y, steps = pack_steps([np.full((5, 2), 1 / 2), np.full((5, 3), 1 / 3)])
    >>> y.shape, steps
    ((5, 5), (2, 3))
    """
    if isinstance(policies, np.ndarray) and policies.ndim == 3:
        if mask is None:
            raise ValueError(
                "A 3-D array needs mask=, of shape (n_steps, largest width), True "
                "where a part exists."
            )
        exists = np.asarray(mask, dtype=bool)
        if exists.shape != policies.shape[1:]:
            raise ValueError(
                f"mask has shape {exists.shape}, not {policies.shape[1:]}."
            )
        blocks = [policies[:, step, parts] for step, parts in enumerate(exists)]
    else:
        if mask is not None:
            raise ValueError("mask= goes with a 3-D array only.")
        values = policies.values() if isinstance(policies, Mapping) else policies
        blocks = [np.asarray(block, dtype=np.float64) for block in values]
    shapes = [block.shape for block in blocks]
    if not blocks or any(len(shape) != 2 for shape in shapes):
        raise ValueError(
            f"Each step must be a 2-D array (n_members, width). Got shapes {shapes}."
        )
    if len({shape[0] for shape in shapes}) > 1:
        raise ValueError(f"The steps differ in their number of members: {shapes}.")
    return np.hstack(blocks), tuple(shape[1] for shape in shapes)


def unpack_steps(y: ArrayLike, steps: Sequence[int]) -> list[FloatArray]:
    """Split a table of compositions into one array per step.

    Parameters
    ----------
    y : array-like of shape (n_members, sum of steps)
        The steps side by side.
    steps : sequence of int
        Width of each step.

    Returns
    -------
    policies : list of ndarray of shape (n_members, width)
        One per step.

    Raises
    ------
    ValueError
        If y is not 2-D or the widths do not add up to its number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce import unpack_steps
    >>> [part.shape for part in unpack_steps(np.ones((5, 5)), (2, 3))]
    [(5, 2), (5, 3)]
    """
    values = np.asarray(y, dtype=np.float64)
    if values.ndim != 2:
        raise ValueError(f"y must be 2-D, got shape {values.shape}.")
    layout = resolve_layout(values, tuple(steps), values.shape[1], "unpack_steps")
    return [values[:, columns] for columns in layout.slices]
