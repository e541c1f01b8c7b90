"""Compositions of several steps: their columns, log-ratio coordinates, transformer.

One 2-D array of shape ``(n_members, sum of widths)`` holds the compositions of all
steps side by side, so that it flows through every scikit-learn tool. Masked parts have
no coordinates, nor has a step with one possible part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .._checks import (
    EXPECTED_TABLE,
    BoolArray,
    Fitted,
    FloatArray,
    IndexArray,
    Mask,
    Steps,
    as_floats,
    check_option,
    check_real,
    fail,
    group_and_column,
    input_names,
    listed,
    method_of,
    one_table,
    refuse_class_labels,
    refuse_extremes,
    refuse_nan,
    refuse_not_finite,
    refuse_other_items,
    refuse_unsplit,
    validated,
    warn_outside_folds,
)
from .._version import DOC_LINK_TEMPLATE

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


LOG_RATIOS = ("alr", "clr", "ilr")


def transformer_of(estimator: Any) -> LogRatioTransformer:
    """Return how an estimator takes log-ratios: by its ``log_ratio``."""
    given = estimator.log_ratio
    if not isinstance(given, LogRatioTransformer):
        return LogRatioTransformer(given)
    has_mask = not (isinstance(given.mask, str) and given.mask == "infer")
    if given.steps is not None or has_mask:
        expected = (
            "a LogRatioTransformer without steps and mask, given to the estimator"
        )
        raise fail(type(estimator).__name__, "log_ratio", expected, given)
    return given


def read_geometry(
    y: Any,  # may have names of columns
    values: FloatArray,  # shape: (n_members, n_parts)
    steps: Steps,
    mask: Mask,
    owner: str,
    name: str,
    how: LogRatioTransformer | None = None,  # whose coordinates; None: centred ones
) -> LogRatioGeometry:
    """Read the steps and the mask of a table of numbers."""
    layout = resolve_layout(y, steps, values.shape[1], owner, name=name)
    if not np.isfinite(values).all():
        refuse_failed_in_part(values, layout, name)
        count = (~layout.failed(values)).sum(axis=0)
        if count.min() < 2:
            step = layout.step_names[int(count.argmin())]
            raise ValueError(
                f"{count.min()} of {len(values)} members have step {step!r} of {name}, "
                "which is NaN for the others; expected two or more. Leave the step out."
            )
    flags = resolve_mask(mask, values, layout, owner, name)
    if how is None:
        return LogRatioGeometry(layout, flags, "clr", -1)
    how._check_parameters(owner, layout)
    return LogRatioGeometry(layout, flags, how.log_ratio, int(how.reference))


def inverse_transform(geometry: LogRatioGeometry, X: ArrayLike) -> FloatArray:
    """Map coordinates back to probabilities.

    Parameters
    ----------
    X : array-like of shape (n_members, n_coordinates)
        Log-ratio coordinates; any real values.

    Returns
    -------
    y : ndarray of shape (n_members, n_parts)
        Each step on its simplex; masked parts exactly 0.

    Raises
    ------
    ValueError
        If the number of columns is not the number of coordinates.
    """
    coordinates = as_floats(X, "X")
    refuse_not_finite(coordinates, "X")
    refuse_extremes(coordinates, "X")
    if coordinates.ndim != 2 or coordinates.shape[1] != geometry.n_coordinates:
        raise ValueError(
            f"X has shape {coordinates.shape}; expected (n_members, "
            f"{geometry.n_coordinates}) {geometry.log_ratio} coordinates."
        )
    return geometry.compositions(geometry.from_coordinates(coordinates))


def get_feature_names_out(
    self: Any, input_features: ArrayLike | None = None
) -> NDArray[np.object_]:
    """Return names such as ``catalyst:L1/L4``.

    Parameters
    ----------
    input_features : array-like of str or None, default=None
        Only checked against the names seen in ``fit``.

    Returns
    -------
    names : ndarray of str of shape (n_coordinates,)
        One per coordinate.
    """
    check_is_fitted(self)
    input_names(self, input_features)
    return np.asarray(self.geometry_.coordinate_names, dtype=object)


class LogRatioTransformer(TransformerMixin, BaseEstimator):
    r"""Log-ratio coordinates of probabilities, step by step.

    Each step is a block of columns that sums to one. Rows are closed, zeros are
    replaced, and every step is mapped to unconstrained coordinates: additive
    (``"alr"``), centred (``"clr"``) or isometric (``"ilr"``) log-ratios. All are linear
    images of :math:`\mathrm{clr}_k = \log p_k - K^{-1} \sum_l \log p_l` [1]_: alr is
    :math:`\mathrm{clr}_k - \mathrm{clr}_r` for a reference part :math:`r`, and ilr
    :math:`H\,\mathrm{clr}` with the Helmert matrix :math:`H`, an isometry [2]_.

    In exact arithmetic, and but for zeros that are replaced, coordinates (clr that sum
    to zero) and probabilities are inverse, masks included; the variances of all
    coordinates of a step sum to the same in every isometry, and to this and :math:`K`
    times that of the reference in alr; and logits whose differences have the range r
    have probabilities that are at most :math:`2\tanh(r/4)` apart in the sum of absolute
    values. Checked in ``lean/Core``: ``softmax_simplex``, ``softmax_of_log_ratio``,
    ``log_ratio_of_softmax``, ``softmax_eq_iff``, ``masked_softmax``, ``ilr_inverse``,
    ``ilr_total``, ``alr_total``, ``softmax_lipschitz``.

    Parameters
    ----------
    log_ratio : {"alr", "clr", "ilr"}, default="ilr"
        Kind of the coordinates. ilr is an isometry: distances do not depend on the
        order of the parts. alr values and variances depend on the reference.
    steps : sequence, dict, or None, default=None
        The blocks of columns, as in :class:`CompositionalPCESurrogate`.
    reference : int, default=-1
        Position of the reference part of alr in each step. Where it is masked, the
        last possible part takes its place.
    mask : "infer" or array-like of bool of shape (n_parts,), default="infer"
        True where a part is possible. ``"infer"`` masks the columns that are 0 for
        every member; give the mask itself when columns may vanish by chance (in
        cross-validation) or by underflow.
    zero_replacement : float, default=1e-12
        Probability put in place of a zero of a possible part.

    Attributes
    ----------
    steps_ : tuple of int
        Width of each step.
    step_names_, part_names_ : tuple of str
        One name per step and per column.
    mask_ : ndarray of bool of shape (n_parts,)
        True where a part is possible.
    coordinate_steps_ : ndarray of int of shape (n_coordinates,)
        Step of each coordinate.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, when all of them are strings.

    See Also
    --------
    CompositionalPCESurrogate : Predicts such probabilities from inputs.

    References
    ----------
    .. [1] J. Aitchison, "The Statistical Analysis of Compositional Data", Journal
       of the Royal Statistical Society B 44 (1982).
    .. [2] J. J. Egozcue, V. Pawlowsky-Glahn, G. Mateu-Figueras and C. Barceló-Vidal,
       "Isometric logratio transformations for compositional data analysis",
       Mathematical Geology 35 (2003).

    Examples
    --------
    >>> import numpy as np
    >>> from skpce import LogRatioTransformer
    >>> y = np.array([[0.5, 0.25, 0.25, 0.9, 0.1], [0.2, 0.2, 0.6, 0.5, 0.5]])
    >>> alr = LogRatioTransformer("alr", steps=(3, 2)).fit(y)
    >>> alr.transform(y).round(3) + 0.0
    array([[ 0.693,  0.   ,  2.197],
           [-1.099, -1.099,  0.   ]])
    >>> np.allclose(alr.inverse_transform(alr.transform(y)), y)
    True
    """

    _doc_link_module = "skpce"
    _doc_link_template = DOC_LINK_TEMPLATE

    def __init__(
        self,
        log_ratio: str = "ilr",
        *,
        steps: Steps = None,
        reference: int = -1,
        mask: Mask = "infer",
        zero_replacement: float = 1e-12,
    ) -> None:
        self.log_ratio = log_ratio
        self.steps = steps
        self.reference = reference
        self.mask = mask
        self.zero_replacement = zero_replacement

    def _check_parameters(self, owner: str, layout: StepLayout | None = None) -> None:
        """Raise ``ValueError`` for a bad parameter, of ``owner`` in words."""
        check_option(owner, "log_ratio", self.log_ratio, LOG_RATIOS)
        reference = self.reference
        is_integer = isinstance(reference, (int, np.integer))
        if not is_integer or isinstance(reference, bool):
            expected = "an int: the position of the reference part in each step"
            raise fail(owner, "reference", expected, reference)
        check_real(owner, "zero_replacement", self.zero_replacement, low=0, high=1)
        if layout is None:
            return
        narrowest, widest = min(layout.widths), max(layout.widths)
        if not -narrowest <= reference < narrowest:
            expected = f"in [-{narrowest}, {narrowest}), a part of the narrowest step"
            raise fail(owner, "reference", expected, reference)
        if self.zero_replacement * widest >= 1:
            expected = (
                f"below 1/{widest}, so that a step with zeros retains a positive part"
            )
            raise fail(owner, "zero_replacement", expected, self.zero_replacement)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def fit(self, X: ArrayLike, y: Any = None) -> LogRatioTransformer:
        """Learn the layout of the steps and the mask.

        Parameters
        ----------
        X : array-like of shape (n_members, n_parts)
            Probabilities, the steps side by side.
        y : None
            Ignored.

        Returns
        -------
        self : LogRatioTransformer
            The fitted transformer.

        Raises
        ------
        ValueError
            For a bad parameter, or rows that are no compositions.
        """
        owner = type(self).__name__
        self._check_parameters(owner)
        X = one_table(X, "X")
        values = validated(self, X)
        geometry = read_geometry(X, values, self.steps, self.mask, owner, "X", self)
        log_ratios_of(values, geometry, self, "X", zero_rows_to=geometry.mask)
        self.geometry_: LogRatioGeometry = geometry
        self._n_features_out = geometry.n_coordinates
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return log-ratio coordinates.

        Parameters
        ----------
        X : array-like of shape (n_members, n_parts)
            Probabilities.

        Returns
        -------
        coordinates : ndarray of shape (n_members, n_coordinates)
            The steps side by side.
        """
        check_is_fitted(self)
        values = validated(self, one_table(X, "X"), reset=False)
        clr = log_ratios_of(values, self.geometry_, self, "X", zero_rows_to=self.mask_)
        return self.geometry_.to_coordinates(clr)

    get_feature_names_out = get_feature_names_out
    inverse_transform = method_of("geometry_", inverse_transform, inputs=None)

    steps_: Fitted[tuple[int, ...]] = Fitted("geometry_", lambda g: g.layout.widths)
    step_names_: Fitted[tuple[str, ...]] = Fitted(
        "geometry_", lambda g: g.layout.step_names
    )
    part_names_: Fitted[tuple[str, ...]] = Fitted(
        "geometry_", lambda g: g.layout.part_names
    )
    mask_: Fitted[BoolArray] = Fitted("geometry_", lambda g: g.mask)
    coordinate_steps_: Fitted[IndexArray] = Fitted(
        "geometry_", lambda g: g.step_of_coordinate
    )


def log_ratios_of(
    values: FloatArray,  # shape: (n_members, n_parts)
    geometry: LogRatioGeometry,
    how: LogRatioTransformer,
    name: str,
    *,
    zero_rows_to: BoolArray | None = None,
) -> FloatArray:  # shape: (n_members, n_active)
    """Close, refuse masked parts, replace zeros, and take centred log-ratios."""
    layout = geometry.layout
    closed = close_compositions(values, layout, name, zero_rows_to=zero_rows_to)
    refuse_masked(closed, geometry.mask, layout, name)
    positive = replace_zeros(closed, geometry.mask, layout, how.zero_replacement)
    return geometry.clr(positive)


def composition_geometry(
    y: Any,
    steps: Steps,
    mask: Mask,
    owner: str,
    name: str = "y",
    *,
    may_fail: bool = False,  # whether members may have NaN in a whole step
) -> LogRatioGeometry:
    """Read the steps and the mask of a table of compositions."""
    y = one_table(y, name)
    if not may_fail:
        refuse_nan(y, name)
    values = as_floats(y, name)
    refuse_class_labels(values, name)
    if values.ndim != 2:
        raise ValueError(
            f"{name} must be 2-D, (n_members, n_parts): the probabilities of each "
            f"member, its steps side by side. Got shape {values.shape}. If these are "
            "class labels, give the predict_proba of each member; if they are the "
            "probabilities of one of two classes, np.column_stack([1 - y, y])."
        )
    refuse_extremes(np.where(np.isfinite(values), values, 0.0), name)
    return read_geometry(y, values, steps, mask, owner, name)


def clr_of(
    y: Any, geometry: LogRatioGeometry, zero_replacement: float, name: str
) -> FloatArray:
    """Return the centred log-ratios of a table of compositions."""
    values = as_floats(one_table(y, name), name)
    if values.ndim != 2 or values.shape[1] != geometry.layout.n_parts:
        raise ValueError(
            f"{name} has shape {values.shape}; expected (n_members, "
            f"{geometry.layout.n_parts})."
        )
    how = LogRatioTransformer(zero_replacement=zero_replacement)
    return log_ratios_of(values, geometry, how, name)


def sum_by_step(per_active: FloatArray, geometry: LogRatioGeometry) -> FloatArray:
    """Add up values of active parts; NaN for a step without choice."""
    n_steps = geometry.layout.n_steps
    sums = np.bincount(geometry.step_of_active, per_active, n_steps)
    return np.where(geometry.has_choice, sums, np.nan)


_SHOWN = 12  # steps that are printed


@dataclass(frozen=True)
class LogRatioGeometry:
    """The coordinates of one kind for a layout of steps.

    ``reference`` is the reference part of alr within each step; where it is masked, the
    last possible part takes its place. Both maps are inverse for every matrix of
    orthonormal contrasts: ``ilr_inverse``, checked in ``lean/Core``.
    """

    layout: StepLayout
    mask: BoolArray  # shape: (n_parts,), True where a part is possible
    log_ratio: str  # one of ``LOG_RATIOS``
    reference: int

    def __str__(self) -> str:
        pairs = zip(self.layout.step_names, self.layout.widths, strict=True)
        steps = [f"{name} ({width})" for name, width in pairs]
        more = ["..."] if len(steps) > _SHOWN else []
        shown = ", ".join([*steps[:_SHOWN], *more])
        return f"{self.log_ratio} coordinates of the steps {shown}."

    def of_steps(self, steps: IndexArray) -> LogRatioGeometry:
        """Return some of the steps, which are ascending."""
        mask = self.mask[np.isin(self.layout.step_of_part, steps)]
        return replace(self, layout=self.layout.of_steps(steps), mask=mask)

    @cached_property
    def has_choice(self) -> BoolArray:
        """Whether a step has at least two possible parts; shape (n_steps,)."""
        steps, n_steps = self.layout.step_of_part, self.layout.n_steps
        return np.asarray(np.bincount(steps[self.mask], minlength=n_steps) > 1)

    @cached_property
    def active_parts(self) -> IndexArray:
        """Columns that enter a log-ratio; shape (n_active,)."""
        return np.flatnonzero(self.mask & self.has_choice[self.layout.step_of_part])

    @cached_property
    def step_of_active(self) -> IndexArray:
        """Step of each active part; shape (n_active,)."""
        return self.layout.step_of_part[self.active_parts]

    @cached_property
    def step_of_coordinate(self) -> IndexArray:
        """Step of each coordinate; shape (n_coordinates,)."""
        steps = self.step_of_active
        if self.log_ratio == "clr":
            return steps
        return steps[1:][steps[1:] == steps[:-1]]  # one less than the parts of a step

    @cached_property
    def _maps(self) -> list[tuple[slice, slice, int]]:
        """Of each step with a choice its active parts, coordinates, and reference."""
        maps, n_active, n_coordinates = [], 0, 0
        for step in np.flatnonzero(self.has_choice).tolist():
            size = int(np.sum(self.step_of_active == step))
            active = slice(n_active, n_active + size)
            size = int(np.sum(self.step_of_coordinate == step))
            own = slice(n_coordinates, n_coordinates + size)
            columns = self.layout.slices[step]
            wanted = columns.stop if self.reference < 0 else columns.start
            same = self.active_parts[active] == wanted + self.reference
            place = int(same.argmax()) if same.any() else len(same) - 1
            maps.append((active, own, place))
            n_active, n_coordinates = active.stop, own.stop
        return maps

    @property
    def n_coordinates(self) -> int:
        """Number of coordinates over all steps."""
        return len(self.step_of_coordinate)

    def clr(self, compositions: FloatArray) -> FloatArray:
        """Return centred log-ratios; shape (n_members, n_active)."""
        are_all = self.active_parts.size == compositions.shape[1]
        some = compositions if are_all else compositions[:, self.active_parts]
        logs = np.log(some, order="C")  # also of a frame: the same sums
        for columns, _, _ in self._maps:
            logs[:, columns] -= logs[:, columns].mean(axis=1, keepdims=True)
        return logs

    @property
    def active_slices(self) -> list[slice]:
        """Columns of the active parts of each step that has a choice."""
        return [active for active, _, _ in self._maps]

    def to_coordinates(self, clr: FloatArray) -> FloatArray:
        """Map clr values (..., n_active) to coordinates (..., n_coordinates).

        The isometric coordinates are those of a Helmert matrix: each part against the
        geometric mean of those before it. Cumulative sums need no matrix.
        """
        if self.log_ratio == "clr":
            return clr
        found = np.empty((*clr.shape[:-1], self.n_coordinates))
        for active, own, place in self._maps:
            values = clr[..., active]
            if self.log_ratio == "alr":
                against = values - values[..., place, np.newaxis]
                found[..., own] = np.delete(against, place, axis=-1)
                continue
            k = np.arange(1.0, values.shape[-1])
            before = np.cumsum(values[..., :-1], axis=-1)
            found[..., own] = (before - k * values[..., 1:]) / np.sqrt(k * (k + 1.0))
        return found

    def from_coordinates(self, coordinates: FloatArray) -> FloatArray:
        """Map coordinates (..., n_coordinates) to clr values (..., n_active)."""
        shape = self.active_parts.size, *coordinates.shape[:-1]
        found = np.moveaxis(np.zeros(shape), 0, -1)
        for active, own, place in self._maps:
            values, clr = coordinates[..., own], found[..., active]
            if self.log_ratio == "ilr":
                k = np.arange(1.0, values.shape[-1] + 1.0)
                scaled = values / np.sqrt(k * (k + 1.0))
                np.cumsum(scaled[..., ::-1], axis=-1, out=clr[..., -2::-1])
                clr[..., 1:] -= k * scaled
                continue
            if self.log_ratio == "alr":
                values = np.insert(values, place, 0.0, axis=-1)
            np.subtract(values, values.mean(axis=-1, keepdims=True), out=clr)
        return found

    def compositions(self, clr: FloatArray) -> FloatArray:
        """Return the softmax of clr values (..., n_active); shape (..., n_parts).

        Masked parts are exactly 0, the only part of a step exactly 1.
        """
        by_part = np.zeros((self.mask.size, *clr.shape[:-1]))  # a sum over rows is fast
        by_part[self.mask] = 1.0
        log_ratios = clr.transpose(-1, *range(clr.ndim - 1))
        for columns, _, _ in self._maps:
            parts = self.active_parts[columns]
            by_part[parts] = softmax(log_ratios[columns], axis=0)
        return np.ascontiguousarray(by_part.transpose(*range(1, clr.ndim), 0))

    @cached_property
    def active_names(self) -> list[str]:
        """Names of the active parts, such as ``catalyst:L1``."""
        steps, parts = self.layout.step_names, self.layout.part_names
        pairs = zip(self.step_of_active, self.active_parts, strict=True)
        return [f"{steps[step]}:{parts[part]}" for step, part in pairs]

    @cached_property
    def coordinate_names(self) -> list[str]:
        """Names such as ``catalyst:L1/L4``, ``catalyst:L1`` or ``catalyst:ilr0``."""
        names: list[str] = []
        for active, own, place in self._maps:
            parts = self.active_parts[active]
            prefix = self.layout.step_names[self.layout.step_of_part[parts[0]]]
            tails = [self.layout.part_names[part] for part in parts]
            if self.log_ratio == "ilr":
                tails = [f"ilr{i}" for i in range(own.stop - own.start)]
            elif self.log_ratio == "alr":
                reference = tails.pop(place)
                tails = [f"{tail}/{reference}" for tail in tails]
            names += [f"{prefix}:{tail}" for tail in tails]
        return names
