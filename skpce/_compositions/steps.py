"""Steps: blocks of columns that each sum to one, their closure, masks and zeros.

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

from .._checks import (
    EXPECTED_TABLE,
    BoolArray,
    FloatArray,
    IndexArray,
    Mask,
    Steps,
    as_floats,
    fail,
    group_and_column,
    listed,
    refuse_other_items,
    refuse_unsplit,
    warn_outside_folds,
)

# Rows further than this from one are renormalised with a warning.
_WARNING_TOLERANCE = 1e-3


@dataclass(frozen=True)
class StepLayout:
    """Which columns belong to which step."""

    widths: tuple[int, ...]  # number of parts of each step
    step_names: tuple[str, ...]  # one per step
    part_names: tuple[str, ...]  # one per column

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """The columns of each step."""
        ends = np.cumsum((0, *self.widths)).tolist()
        return tuple(map(slice, ends[:-1], ends[1:]))

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

    def __add__(self, other: StepLayout) -> StepLayout:
        return StepLayout(
            self.widths + other.widths,
            self.step_names + other.step_names,
            self.part_names + other.part_names,
        )

    def of_steps(self, steps: IndexArray) -> StepLayout:
        """Return some of the steps, which are ascending."""
        columns = np.flatnonzero(np.isin(self.step_of_part, steps))
        return StepLayout(
            tuple(self.widths[step] for step in steps),
            tuple(self.step_names[step] for step in steps),
            tuple(self.part_names[column] for column in columns),
        )

    def failed(
        self,
        values: FloatArray,  # shape: (n_members, n_parts)
    ) -> BoolArray:  # shape: (n_members, n_steps)
        """Return in which steps a member failed: NaN in all of their parts."""
        missing = np.isnan(values)
        return np.stack([missing[:, own].all(axis=1) for own in self.slices], axis=1)

    def describe_column(self, column: int) -> str:
        """Name a column in an error message."""
        step = self.step_names[self.step_of_part[column]]
        return f"part {self.part_names[column]!r} of step {step!r}"


def resolve_layout(
    y: Any,
    steps: Steps,
    n_columns: int,
    owner: str,
    parameter: str = "steps",
    name: str = "y",
) -> StepLayout:
    """Return the steps from the parameter, or from the columns of a data frame.

    ``steps`` gives widths, or groups of columns (their positions, or their names in a
    data frame), or a mapping from the name of a step to either. None takes them from
    two-level columns or from names such as ``step__action``; else all columns are
    one step.
    """
    labels = column_labels(y, n_columns)
    if steps is None and labels:
        return layout_from_labels(labels)
    widths: tuple[int, ...] = (n_columns,)
    if steps is not None:
        widths = _widths_of(steps, labels, n_columns, owner, parameter)
    if sum(widths) != n_columns:
        raise ValueError(
            f"The {parameter!r} parameter of {owner} sums to {sum(widths)} columns "
            f"({' + '.join(map(str, widths))}); expected {n_columns}, the number of "
            f"columns of {name}."
        )
    refuse_other_items(y, widths, f"{parameter!r} of {owner}", name)
    names, parts = list[str](), [part for _, part in labels]
    if isinstance(steps, Mapping):
        names = list(map(str, steps))
        if len(set(names)) < len(names):
            raise fail(owner, parameter, "a dict of names that differ as text", steps)
    elif labels:
        names = [labels[i][0] for i in np.cumsum((0, *widths[:-1])).tolist()]
    each_has_one = all(names) and len(set(names)) == len(widths)
    if not (each_has_one or isinstance(steps, Mapping)):
        noun = parameter.removesuffix("s")
        names = [f"{noun}{i}" for i in range(len(widths))]
    if not labels:
        parts = [str(part) for width in widths for part in range(width)]
    return StepLayout(widths, tuple(names), tuple(parts))


def _widths_of(
    given: Any,
    labels: list[tuple[str, str]],
    n_columns: int,
    owner: str,
    parameter: str,
) -> tuple[int, ...]:
    """Return widths as they are given, or those of groups of all columns."""
    try:
        entries = list(given.values() if isinstance(given, Mapping) else given)
    except TypeError:
        entries = []
    noun = parameter.removesuffix("s")
    are_widths = [
        isinstance(entry, Integral) and not isinstance(entry, bool) and int(entry) > 0
        for entry in entries
    ]
    if entries and all(are_widths):
        return tuple(map(int, entries))
    are_columns = [
        isinstance(entry, (list, tuple, range, np.ndarray)) and np.ndim(entry) == 1
        for entry in entries
    ]
    if not entries or not all(are_columns):
        expected = (
            f"None, a sequence of positive ints (the width of each {noun}), of groups "
            "of columns, or a dict of names and either"
        )
        raise fail(owner, parameter, expected, given)
    # The groups are all columns, in their order, by position or by name.
    found = [column for group in entries for column in group]
    wanted: list[list[Any]] = [list(range(n_columns))]
    if labels:
        wanted += [list(labels), [label_text(label) for label in labels]]
        wanted.append([part for _, part in labels])
    elif all(isinstance(column, str) for column in found):
        wanted.append(found if len(found) == n_columns else [])  # no names to compare
    if found not in wanted or not all(map(len, entries)):
        columns = wanted[2] if labels else wanted[0]
        raise ValueError(
            f"The {parameter!r} parameter of {owner} groups the columns {found}, but y "
            f"has the columns {columns}: expected all of them, once and in their "
            f"order, those of one {noun} side by side."
        )
    return tuple(map(len, entries))


def label_text(label: tuple[str, str]) -> str:
    """Return a label of :func:`column_labels` as one name."""
    return "__".join(label) if label[0] else label[1]


def column_labels(y: Any, n_columns: int) -> list[tuple[str, str]]:
    """Return (step, part) per column of a data frame; empty when there are none."""
    columns = getattr(y, "columns", None)
    if columns is None:
        return []
    labels = [group_and_column(column) for column in columns]
    return labels if len(labels) == n_columns else []


def layout_from_labels(
    labels: Sequence[tuple[str, str]], noun: str = "step"
) -> StepLayout:
    """Return steps, or outputs, from (step, part) of each column, side by side."""
    names = [step for step, _ in labels]
    order = list(dict.fromkeys(names))
    widths = tuple(names.count(name) for name in order)
    if names != [name for name in order for _ in range(names.count(name))]:
        raise ValueError(
            f"The columns of y that belong to one {noun} must be side by side; got "
            f"the {noun}s {names} in this order."
        )
    step_names = tuple(name or f"{noun}{i}" for i, name in enumerate(order))
    return StepLayout(widths, step_names, tuple(part for _, part in labels))


def pack_steps(
    policies: Any, mask: ArrayLike | None = None
) -> tuple[FloatArray, tuple[int, ...] | dict[str, int]]:
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
    steps : tuple of int, or dict of str to int
        The widths, for ``steps=``; by name for a mapping.

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
    >>> pack_steps({"cat": np.full((5, 2), 1 / 2), "dog": np.full((5, 3), 1 / 3)})[1]
    {'cat': 2, 'dog': 3}
    """
    if isinstance(policies, np.ndarray) and policies.ndim == 3:
        if mask is None:
            raise ValueError(
                "A 3-D array needs mask=, of shape (n_steps, largest width), True "
                "where a part exists."
            )
        exists = np.asarray(mask, dtype=bool)
        if exists.shape != policies.shape[1:]:
            expected = policies.shape[1:]
            raise ValueError(f"mask has shape {exists.shape}; expected {expected}.")
        blocks = [policies[:, step, parts] for step, parts in enumerate(exists)]
    else:
        if mask is not None:
            raise ValueError(
                "mask must be None unless policies is a 3-D array. "
                f"Got mask={mask!r} instead."
            )
        values = policies.values() if isinstance(policies, Mapping) else policies
        blocks = [as_floats(b, "policies") for b in listed(values, "policies")]
    shapes = [block.shape for block in blocks]
    if {len(shape) for shape in shapes} != {2} or len({n for n, _ in shapes}) > 1:
        raise ValueError(
            "policies must have a 2-D array (n_members, width) of the same members for "
            f"each step. Got the shapes {shapes}."
        )
    widths = tuple(shape[1] for shape in shapes)
    if isinstance(policies, Mapping):
        names = map(str, policies)
        return np.hstack(blocks), dict(zip(names, widths, strict=True))
    return np.hstack(blocks), widths


class ClosureWarning(UserWarning):
    """Rows of a step were not closed to one and had to be renormalised visibly."""


def close_compositions(
    values: FloatArray,  # shape: (n_members, n_parts)
    layout: StepLayout,
    name: str = "y",
    *,
    zero_rows_to: BoolArray | None = None,  # shape: (n_parts,)
) -> FloatArray:  # shape: (n_members, n_parts)
    """Return the table with every step of every row summing to one.

    A row of zeros is refused; with ``zero_rows_to`` it becomes uniform over the
    possible parts instead. Warns of a row further than 1e-3 from one.
    """
    refuse_negative(values, layout, name)
    missing = np.isnan(values)
    if missing.any():  # nothing below refuses equal parts, which become NaN in the end
        refuse_failed_in_part(values, layout, name)
        equal = 1.0 / np.array(layout.widths)[layout.step_of_part]
        values = np.where(missing, equal, values)
    closed, away = np.empty_like(values), []
    for step, columns in enumerate(layout.slices):
        block, where = values[:, columns], f"step {layout.step_names[step]!r} of "
        with np.errstate(over="ignore"):
            total = block.sum(axis=1)
        if np.isinf(total).any():
            raise ValueError(
                f"Row {int(np.argmax(np.isinf(total)))} of {where}{name} adds up to "
                "infinity; expected probabilities."
            )
        if layout.widths[step] == 1:  # the only part: 1, whatever its value
            apart, most = 1.0 - block, block.max()
            if ((block > 0) & (apart > _WARNING_TOLERANCE)).any() and most <= 1:
                raise ValueError(
                    f"The only column of {where}{name} has values between 0 and 1, "
                    f"such as {float(block[np.argmax(apart), 0]):.3g}; expected ones, "
                    "as the only part of a composition is. If they are the "
                    "probabilities of one of two classes, give those of both: "
                    "np.column_stack([1 - p, p])."
                )
            block = np.ones_like(block)
        elif zero_rows_to is not None:
            block = np.where(total[:, np.newaxis] == 0, zero_rows_to[columns], block)
        elif np.any(total == 0):
            raise ValueError(
                f"Row {int(np.argmin(total))} of {where}{name} is all zero; each row "
                "must be a composition with a positive sum."
            )
        refuse_unsplit(values[~missing[:, columns.start], columns], name, where)
        away.append(total - 1.0)
        closed[:, columns] = block / block.sum(axis=1, keepdims=True)
    furthest = int(np.argmax(np.abs(away)))
    step, row = divmod(furthest, len(values))
    distance = float(away[step][row])
    where = f"step {layout.step_names[step]!r} of {name}"
    beside = np.abs(values.sum(axis=1) - len(layout.widths)).max(initial=0.0)
    if abs(distance) > _WARNING_TOLERANCE > beside:
        raise ValueError(
            f"Row {row} of {where} sums to {1.0 + distance:.6g}, and all rows of "
            f"{name} to {len(layout.widths)}, the number of steps: the widths "
            f"{list(layout.widths)} are in another order than the columns; expected "
            "those of the columns, side by side."
        )
    if abs(distance) > _WARNING_TOLERANCE:
        only = (
            " Its only part is 1 for every member: if these are class labels, give the "
            "predict_proba of each member in place of its predict."
        )
        warn_outside_folds(
            f"Row {row} of {where} sums to {1.0 + distance:.6g}, not to 1; rows were "
            f"divided by their sum.{only if layout.widths[step] == 1 else ''}",
            ClosureWarning,
        )
    closed[missing] = np.nan
    return closed


def refuse_failed_in_part(values: FloatArray, layout: StepLayout, name: str) -> None:
    """Raise ``ValueError`` for infinity, and a step that is NaN in some of its parts.

    A member that failed in a step has NaN in all parts of it.
    """
    lost = ~np.isfinite(values) & ~layout.failed(values)[:, layout.step_of_part]
    if not lost.any():
        return
    row, column = np.unravel_index(int(np.argmax(lost)), values.shape)
    entry, wanted, padded = float(values[row, column]), "probabilities", ""
    if np.isnan(entry):
        wanted = "a number, as in other parts of this step"
        padded = f" Steps of different width are not padded: {EXPECTED_TABLE}."
    raise ValueError(
        f"Input {name} contains {'infinity' if np.isinf(entry) else 'NaN'}: {entry} in "
        f"row {row}, {layout.describe_column(int(column))}; expected {wanted}. Where a "
        "member failed, such as in a training that diverged, give NaN in all parts of "
        f"the step: the member counts in its other steps.{padded}"
    )


def refuse_negative(values: FloatArray, layout: StepLayout, name: str) -> None:
    """Raise ``ValueError`` for a negative entry, naming it."""
    if np.fmin.reduce(values, axis=None, initial=0.0) < 0:
        row, column = np.unravel_index(int(np.nanargmin(values)), values.shape)
        lowest, advice = float(values[row, column]), ""
        sums = np.stack([values[:, own].sum(axis=1) for own in layout.slices])
        if not np.fmax.reduce(np.abs(sums - 1.0), axis=None) <= _WARNING_TOLERANCE:
            advice = " If these are logits, take the softmax of each step; if "
            advice += "log-ratio coordinates, LogRatioTransformer.inverse_transform "
            advice += "gives probabilities."
        raise ValueError(
            f"Negative values in data: {name} has {lowest!r} in row "
            f"{row}, {layout.describe_column(int(column))}; probabilities must be "
            f"non-negative.{advice}"
        )


def resolve_mask(
    mask: Mask,
    values: FloatArray,  # shape: (n_members, n_parts)
    layout: StepLayout,
    owner: str,
    name: str = "y",
) -> BoolArray:  # shape: (n_parts,)
    """Return which parts are possible: given, or inferred from columns of zeros."""
    if isinstance(mask, str) and mask == "infer":
        refuse_negative(values, layout, name)
        flags = np.asarray(np.any(values > 0, axis=0))
    else:
        expected = f"'infer' or {layout.n_parts} bools, True where a part is possible"
        try:
            flags = np.asarray(mask)
        except ValueError:  # rows of different length
            raise fail(owner, "mask", expected, mask) from None
        if flags.dtype != bool or flags.ndim not in (1, 2):
            raise fail(owner, "mask", expected, mask)
        if flags.ndim == 2:
            if np.any(flags != flags[:1]):
                raise ValueError(
                    f"The 'mask' parameter of {owner} differs between members; "
                    "expected the same for all. Members with other possible parts are "
                    "on other simplices. Fit them separately."
                )
            flags = flags[0]
        if flags.shape != (layout.n_parts,):
            raise ValueError(
                f"The 'mask' parameter of {owner} has {flags.size} entries; expected "
                f"{layout.n_parts}, one for each column of y."
            )
    for step, columns in enumerate(layout.slices):
        if not flags[columns].any():
            raise ValueError(
                f"No part of step {layout.step_names[step]!r} is possible: the mask "
                f"is False for each, or every row of {name} is zero there; expected at "
                "least one part that is possible."
            )
    return flags


def refuse_masked(
    values: FloatArray,  # shape: (n_members, n_parts)
    mask: BoolArray,  # shape: (n_parts,)
    layout: StepLayout,
    name: str = "y",
) -> None:
    """Raise ``ValueError`` when a masked part has a positive value."""
    offending = (values > 0) & ~mask
    if offending.any():
        row, column = np.unravel_index(int(np.argmax(offending)), values.shape)
        raise ValueError(
            f"{name} has {float(values[row, column])!r} in row {row}, "
            f"{layout.describe_column(int(column))}, which is masked; expected 0."
        )


def replace_zeros(
    closed: FloatArray,  # shape: (n_members, n_parts), each step sums to one
    mask: BoolArray,  # shape: (n_parts,)
    layout: StepLayout,
    zero_replacement: float,
) -> FloatArray:  # shape: (n_members, n_parts)
    """Replace zeros of possible parts; the ratios of positive parts are preserved."""
    # J. A. Martín-Fernández et al., "Dealing with zeros and missing values in
    # compositional data sets", Mathematical Geology 35 (2003), eq. (4).
    zero = (closed == 0) & mask
    if not zero.any():
        return closed
    replaced = np.where(zero, zero_replacement, closed)
    for columns in layout.slices:
        added = zero_replacement * zero[:, columns].sum(axis=1, keepdims=True)
        replaced[:, columns] = np.where(
            zero[:, columns], zero_replacement, closed[:, columns] * (1.0 - added)
        )
    return replaced
