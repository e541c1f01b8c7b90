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
from typing import Any

import numpy as np

from .._checks import BoolArray, FloatArray, IndexArray
from .._solvers.problem import LOG_RATIO_FLOOR, weighted_spread
from .log_ratio import LogRatioGeometry, clr_of, composition_geometry
from .steps import StepLayout, refuse_ragged, resolve_layout

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

    @property
    def n_parts(self) -> int:
        """Number of columns that are parts of compositions."""
        return 0 if self.geometry is None else self.geometry.layout.n_parts

    @property
    def n_columns(self) -> int:
        """Number of columns of y."""
        return self.n_parts + len(self.scales)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the groups."""
        layouts = (self.geometry and self.geometry.layout, self.real)
        return tuple(name for one in layouts if one for name in one.step_names)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.names)

    @property
    def n_steps(self) -> int:
        """Number of groups that are compositions."""
        return 0 if self.geometry is None else self.geometry.layout.n_steps

    @property
    def are_compositions(self) -> bool:
        """Whether no group is a real output."""
        return self.real is None

    @cached_property
    def group_of_coordinate(self) -> IndexArray:
        """The group of each coordinate; shape (n_coordinates,)."""
        of_steps = np.zeros(0, dtype=np.int64)
        if self.geometry is not None:
            of_steps = self.geometry.step_of_active
        if self.real is None:
            return of_steps
        return np.concatenate([of_steps, self.n_steps + self.real.step_of_part])

    @cached_property
    def has_choice(self) -> BoolArray:
        """Whether a group can vary at all; shape (n_groups,)."""
        varies = np.ones(self.n_groups, dtype=bool)
        if self.geometry is not None:
            varies[: self.n_steps] = self.geometry.has_choice
        return varies

    def coordinates(
        self, y: Any, name: str = "y"
    ) -> FloatArray:  # shape: (n_members, n_coordinates)
        """Return centred log-ratios of the compositions, then the real columns."""
        values = np.asarray(y, dtype=np.float64)
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

    def sum_by_group(
        self,
        values: FloatArray,  # shape: (..., n_coordinates)
    ) -> FloatArray:  # shape: (..., n_groups)
        """Add up the coordinates of each group."""
        member = self.group_of_coordinate[:, np.newaxis] == np.arange(self.n_groups)
        return values @ member.astype(np.float64)

    def spread(
        self,
        coordinates: FloatArray,  # shape: (n_members, n_coordinates)
    ) -> FloatArray:  # shape: (n_coordinates,)
        """Return sums of squares about the mean; 0 where they are rounding."""
        once = np.ones(len(coordinates))
        if self.real is None:
            return weighted_spread(coordinates, once, LOG_RATIO_FLOOR)
        n_real = len(self.scales)
        n_clr = coordinates.shape[1] - n_real
        clr = weighted_spread(coordinates[:, :n_clr], once, LOG_RATIO_FLOOR)
        return np.concatenate([clr, weighted_spread(coordinates[:, n_clr:], once)])

    def of_columns(self, real: BoolArray) -> Outputs:
        """Return the outputs without some real groups; shape of the mask (n_real_groups,)."""
        assert self.real is not None  # only real groups can be missing
        kept = np.flatnonzero(real)
        widths = tuple(self.real.widths[i] for i in kept)
        names = tuple(self.real.step_names[i] for i in kept)
        columns = np.isin(self.real.step_of_part, kept)
        parts = tuple(
            part for part, used in zip(self.real.part_names, columns, strict=True) if used
        )
        layout = StepLayout(widths, names, parts) if widths else None
        return replace(self, real=layout, scales=self.scales[columns])


def read_outputs(
    y: Any,
    owner: str,
    *,
    steps: Any = None,
    outputs: Any = None,
    mask: Any = "infer",
    zero_replacement: float = 1e-12,
    standardize: bool = False,
    of_compositions: bool = False,
) -> Outputs:
    """Read which columns of y are compositions, and which are real outputs.

    Without ``steps`` and ``outputs`` the columns are compositions where the rows of
    each step are probabilities that add up to one, and real outputs otherwise; with
    ``of_compositions`` they have to be compositions.
    """
    refuse_ragged(y)
    if outputs is None and (
        of_compositions or steps is not None or not isinstance(mask, str)
    ):
        geometry = composition_geometry(y, steps, mask, owner)
        return Outputs(geometry, None, np.zeros(0), zero_replacement)
    values = _numbers(y)
    if outputs is None and _are_compositions(y, values, owner):
        geometry = composition_geometry(y, None, mask, owner)
        return Outputs(geometry, None, np.zeros(0), zero_replacement)
    geometry, n_parts = None, 0
    table = values.reshape(len(values), -1)
    if steps is not None:
        n_parts = table.shape[1] - _n_columns(outputs)
        geometry = composition_geometry(table[:, :n_parts], steps, mask, owner)
    real = _real_layout(y, outputs, table.shape[1] - n_parts, owner)
    scales = np.ones(real.n_parts)
    if standardize:
        deviation = np.nanstd(table[:, n_parts:], axis=0)
        scales = np.where(deviation > 0, deviation, 1.0)
    return Outputs(geometry, real, scales, zero_replacement, standardize)


def _numbers(y: Any) -> FloatArray:
    """Return y as floats; NaN stands for a failed member."""
    values = np.asarray(y, dtype=np.float64)
    if values.ndim not in (1, 2):
        raise ValueError(f"y must be 1-D or 2-D, got shape {values.shape}.")
    if np.isinf(values).any():
        raise ValueError(
            f"y has {np.isinf(values).sum()} infinite values; expected finite ones, "
            "NaN where a member failed."
        )
    return values


def _are_compositions(y: Any, values: FloatArray, owner: str) -> bool:
    """Return whether the rows of each step are probabilities."""
    if values.ndim != 2 or not (values >= 0).all():
        return False
    layout = resolve_layout(y, None, values.shape[1], owner)
    sums = np.stack([values[:, columns].sum(axis=1) for columns in layout.slices])
    return bool((np.abs(sums - 1.0) < _CLOSED).all())


def _n_columns(outputs: Any) -> int:
    sizes = outputs.values() if isinstance(outputs, Mapping) else outputs
    return sum(size if isinstance(size, int) else len(size) for size in sizes)


def _real_layout(y: Any, outputs: Any, n_columns: int, owner: str) -> StepLayout:
    """Return the groups of the real columns, each column alone without names."""
    ...
