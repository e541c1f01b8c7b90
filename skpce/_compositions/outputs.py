"""Columns of y in groups, each measured on its own scale.

A *composition* (the probabilities of one step) is measured by its centred log-ratios,
in Aitchison geometry. A *real* output (a score, logits, a loss) is measured as it is,
or in units of its standard deviation, in Euclidean geometry. A group of columns is
judged as a whole: its squares are added up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from .._checks import (
    BoolArray,
    FloatArray,
    IndexArray,
    Mask,
    OutputGroups,
    Steps,
    as_floats,
    check_boolean,
    fail,
    is_table,
    one_table,
    refuse_other_items,
    refuse_unsplit,
    take_columns,
    warn_outside_folds,
)
from .._expansion.expansion import numbered_outputs, output_labels, read_numbers
from .._expansion.problem import sum_coordinates
from .._solvers.problem import LOG_RATIO_FLOOR, weighted_spread
from .log_ratio import (
    LogRatioGeometry,
    StepLayout,
    clr_of,
    composition_geometry,
    layout_from_labels,
    replace_zeros,
    resolve_layout,
)

# Sums of rows of probabilities differ from one by less than this.
_CLOSED = 1e-3


@dataclass(frozen=True, eq=False)
class Outputs:
    """Which columns of y belong together, and how a group is measured.

    Compositions come first, real outputs after them.
    """

    geometry: LogRatioGeometry | None  # of the compositions; None without any
    real: StepLayout | None  # of the real outputs; None without any
    scales: FloatArray  # shape: (n_real,), units of the real columns
    zero_replacement: float = 1e-12
    is_scaled: bool = False

    @cached_property
    def layout(self) -> StepLayout:
        """Columns of y in their groups."""
        none = StepLayout((), (), ())
        parts = none if self.geometry is None else self.geometry.layout
        return parts if self.real is None else parts + self.real

    @property
    def n_columns(self) -> int:
        """Number of columns of y."""
        return self.layout.n_parts

    @property
    def n_parts(self) -> int:
        """Number of columns that are parts of compositions."""
        return self.n_columns - len(self.scales)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the groups."""
        return self.layout.step_names

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return self.layout.n_steps

    @property
    def n_steps(self) -> int:
        """Number of groups that are compositions."""
        return 0 if self.geometry is None else self.geometry.layout.n_steps

    @property
    def noun(self) -> str:
        """What a group is called in tables: a step of a policy, or an output."""
        return "step" if self.are_compositions else "output"

    @property
    def are_compositions(self) -> bool:
        """Whether no group is a real output."""
        return self.real is None

    @cached_property
    def column_of_coordinate(self) -> IndexArray:
        """The column of y behind each coordinate; shape (n_coordinates,)."""
        active = [] if self.geometry is None else [self.geometry.active_parts]
        return np.concatenate([*active, np.arange(self.n_parts, self.n_columns)])

    @cached_property
    def group_of_coordinate(self) -> IndexArray:
        """The group of each coordinate; shape (n_coordinates,)."""
        return self.layout.step_of_part[self.column_of_coordinate]

    @cached_property
    def has_choice(self) -> BoolArray:
        """Whether a group can vary at all; shape (n_groups,)."""
        return np.isin(np.arange(self.n_groups), self.group_of_coordinate)

    def coordinates(
        self, y: Any, name: str = "y"
    ) -> FloatArray:  # shape: (n_members, n_coordinates)
        """Return centred log-ratios of the compositions, then the real columns."""
        values = as_floats(y, name)
        if self.real is not None:
            values = values.reshape(len(values), -1)
        if values.ndim != 2 or values.shape[1] != self.n_columns:
            raise ValueError(
                f"{name} has shape {np.shape(y)}; expected (n_members, "
                f"{self.n_columns})."
            )
        real = values[:, self.n_parts :] / self.scales
        if self.geometry is None:
            return real
        parts = values[:, : self.n_parts]
        clr = clr_of(parts, self.geometry, self.zero_replacement, name)
        return clr if self.real is None else np.hstack([clr, real])

    def member_coordinates(
        self, y: Any
    ) -> FloatArray:  # shape: (n_members, n_coordinates)
        """Return the coordinates of y, NaN where a member failed in the group."""
        values = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        found = self.coordinates(values)
        found[~self._complete(values)[:, self.group_of_coordinate]] = np.nan
        return found

    def _complete(self, values: FloatArray) -> BoolArray:
        """Return which members have which groups; shape (n_members, n_groups)."""
        starts = np.cumsum((0, *self.layout.widths[:-1]))
        return ~np.logical_or.reduceat(np.isnan(values), starts, axis=1)

    def blocks(self, y: Any) -> list[tuple[IndexArray, IndexArray]]:
        """Return groups that the same members have, with these members: (rows, groups).

        A member that failed in a column (NaN) does not count in its group.
        """
        has = self._complete(np.asarray(y, dtype=np.float64).reshape(len(y), -1))
        # A step without choice is judged beside the first group that has one.
        has[:, ~self.has_choice] = has[:, [self.has_choice.argmax()]]
        patterns, block = np.unique(has, axis=1, return_inverse=True)
        order = np.argsort(-patterns.sum(axis=0), kind="stable")
        return [
            (np.flatnonzero(patterns[:, k]), np.flatnonzero(block.ravel() == k))
            for k in order
        ]

    def sum_by_group(
        self,
        values: FloatArray,  # shape: (..., n_coordinates)
    ) -> FloatArray:  # shape: (..., n_groups)
        """Add up what belongs to the coordinates of each group."""
        return sum_coordinates(values, self.group_of_coordinate, self.n_groups)

    def spread(
        self,
        coordinates: FloatArray,  # shape: (n_members, n_coordinates)
        weights: FloatArray | None = None,  # shape: (n_members,)
    ) -> FloatArray:  # shape: (n_coordinates,)
        """Return sums of squares about the mean; 0 where they are rounding."""
        if weights is None:
            weights = np.ones(len(coordinates))
        n_clr = coordinates.shape[1] - len(self.scales)
        clr = weighted_spread(coordinates[:, :n_clr], weights, LOG_RATIO_FLOOR)
        return np.concatenate([clr, weighted_spread(coordinates[:, n_clr:], weights)])

    def __str__(self) -> str:
        if self.real is None:
            return "compositions, in Aitchison geometry"
        real = "real values, as given"
        if self.is_scaled:
            real = "real values, in units of their standard deviations"
        if max(self.real.widths) > 1:
            real += "; the columns of an output are added up"
        if self.geometry is None:
            return real
        return f"{self.n_steps} compositions, in Aitchison geometry, and {real}"

    def of_groups(self, groups: IndexArray) -> tuple[Outputs, IndexArray]:
        """Return some of the groups, in their order, and their columns of y."""
        columns = np.flatnonzero(np.isin(self.layout.step_of_part, groups))
        steps, of_real = groups[groups < self.n_steps], groups[groups >= self.n_steps]
        geometry, real = None, None
        if self.geometry is not None and steps.size:
            geometry = self.geometry.of_steps(steps)
        if self.real is not None and of_real.size:
            real = self.real.of_steps(of_real - self.n_steps)
        scales = self.scales[columns[columns >= self.n_parts] - self.n_parts]
        return replace(self, geometry=geometry, real=real, scales=scales), columns


def read_outputs(
    y: Any,
    owner: str,
    *,
    steps: Steps = None,
    outputs: OutputGroups = None,
    mask: Mask = "infer",
    zero_replacement: float = 1e-12,
    standardize: bool = False,
    of_compositions: bool = False,
    may_fail: bool = False,
) -> Outputs:
    """Read which columns of y are compositions, and which are real outputs.

    Without ``steps`` and ``outputs`` the columns are compositions where the rows of
    each step are probabilities that add up to one, and real outputs otherwise; with
    ``of_compositions`` they have to be compositions. With ``may_fail`` members may have
    NaN in whole steps of compositions, as in real outputs.
    """
    y = one_table(y)
    check_boolean(owner, "standardize", standardize)
    stated = of_compositions or steps is not None or not isinstance(mask, str)
    if outputs is None and (stated or _are_compositions(y, read_numbers(y), owner)):
        found = composition_geometry(y, steps, mask, owner, may_fail=may_fail)
        return Outputs(found, None, np.zeros(0), zero_replacement)
    values = read_numbers(y)
    if outputs is None and (values >= 0).all() and values.ndim == 2:
        remedy = " If these are real numbers, say so by outputs=."
        refuse_unsplit(values, "y", remedy=remedy)
    table = values.reshape(len(values), -1)
    geometry: LogRatioGeometry | None = None
    n_parts, of_real = 0, y
    if steps is not None:
        groups: Any = outputs.values() if isinstance(outputs, Mapping) else outputs
        try:
            sizes = [int(g) if isinstance(g, Integral) else len(g) for g in groups]
        except TypeError:
            raise fail(owner, "outputs", _EXPECTED, outputs) from None
        n_parts = table.shape[1] - sum(sizes)
        if not 0 < n_parts < table.shape[1]:
            raise ValueError(
                f"The 'outputs' parameter of {owner} has {sum(sizes)} of "
                f"{table.shape[1]} columns of y; expected those after the "
                "compositions, which steps= names."
            )
        every, given = np.arange(table.shape[1]), y if is_table(y) else table
        of_real = take_columns(given, every[n_parts:])
        of_steps = take_columns(given, every[:n_parts]), steps, mask, owner
        name = "y without its outputs"
        geometry = composition_geometry(*of_steps, name, may_fail=may_fail)
    real = _real_layout(of_real, outputs, table.shape[1] - n_parts, owner)
    if geometry is not None:
        widths = (*geometry.layout.widths, *real.widths)
        refuse_other_items(y, widths, f"'steps' with 'outputs' of {owner}")
    scales = np.ones(real.n_parts)
    if standardize:  # over the members that have the output; 1 for 0
        for columns in real.slices:
            own = table[:, n_parts:][:, columns]
            complete = own[~np.isnan(own).any(axis=1)]
            scales[columns] = complete.std(axis=0) if len(complete) else 1.0
        scales = np.where(scales > 0, scales, 1.0)
    return Outputs(geometry, real, scales, zero_replacement, standardize)


def _are_compositions(y: Any, values: FloatArray, owner: str) -> bool:
    """Return whether the rows of each step are probabilities."""
    if values.ndim != 2 or (values < 0).any() or np.isnan(values).all():
        return False
    layout = resolve_layout(y, None, values.shape[1], owner)
    sums = np.stack([values[:, own].sum(axis=1) for own in layout.slices], axis=1)
    return bool(((np.abs(sums - 1.0) < _CLOSED) | layout.failed(values)).all())


_EXPECTED = (
    "a dict of names to numbers of columns, or to columns, or a sequence of these"
)


def _real_layout(
    y: Any, outputs: OutputGroups, n_columns: int, owner: str
) -> StepLayout:
    """Return the groups of real columns; a column alone where nothing groups them."""
    if outputs is not None:
        return resolve_layout(y, outputs, n_columns, owner, parameter="outputs")
    names, labels = numbered_outputs(n_columns), output_labels(y, n_columns)
    if labels:
        names = tuple(column for _, column in labels)
        found = layout_from_labels(labels, "output")
        if any(output != column for output, column in labels):
            return found
    return StepLayout((1,) * n_columns, names, names)


# In place of a zero where nothing else is given.
_DEFAULT_REPLACEMENT = 1e-12


class ZeroReplacedWarning(UserWarning):
    """Zeros of some members were replaced by a small probability."""


def zeros_among(
    values: FloatArray,  # shape: (n_members, n_parts)
    geometry: LogRatioGeometry,
) -> BoolArray:  # shape: (n_members, n_parts)
    """Return the zeros of parts that are possible."""
    zero = (values[:, : len(geometry.mask)] == 0) & geometry.mask
    zero[:, np.setdiff1d(np.arange(zero.shape[1]), geometry.active_parts)] = False
    return np.asarray(zero)


def warn_of_zeros(
    values: FloatArray,  # shape: (n_members, n_parts)
    geometry: LogRatioGeometry,
    zero_replacement: float,
) -> None:
    """Warn of zeros that other members do not have, and of their share of variance."""
    if zero_replacement != _DEFAULT_REPLACEMENT:
        return  # somebody has thought about it
    zero = zeros_among(values, geometry)
    if not zero.any():
        return
    layout = geometry.layout
    step = int(layout.step_of_part[zero.sum(axis=0).argmax()])
    columns = layout.slices[step]
    part = geometry.of_steps(np.array([step]))
    has = ~np.isnan(values[:, columns.start])
    known = part.mask, part.layout, zero_replacement
    positive = replace_zeros(values[has, columns], *known)
    clr = part.clr(positive)
    others = clr[~zero[has, columns].any(axis=1)]
    members, count = int(zero.any(axis=1).sum()), int(zero.sum())
    zeros = "1 zero" if count == 1 else f"{count} zeros"
    variances = f"{clr.var(axis=0).sum():.3g} with such members"
    if len(others) > 1:
        variances += f" and {others.var(axis=0).sum():.3g} without them"
    warn_outside_folds(
        f"y has {zeros}, in {members} of {len(values)} members, which "
        f"{zero_replacement:g} replaces: the variance of the log-ratios of step "
        f"{layout.step_names[step]!r} is {variances}. Put "
        "about half of the smallest probability that could be seen in place of zeros "
        "(zero_replacement=, of a surrogate log_ratio=LogRatioTransformer("
        "zero_replacement=...)), or leave these members out.",
        ZeroReplacedWarning,
    )
