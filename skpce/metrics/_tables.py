"""Reading and checking the tables of compositions that the metrics compare."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import FloatArray
from .._compositions.composition import (
    close_compositions,
    refuse_masked,
    refuse_negative,
)
from .._compositions.log_ratio import LogRatioGeometry
from .._compositions.steps import StepLayout, refuse_nan, refuse_ragged, resolve_layout
from ._calibration import _read


def read_table(values: Any, name: str) -> FloatArray:
    """Return a finite 2-D table of floats with at least one row.

    Raises
    ------
    ValueError
        If it is not 2-D, is empty, or has NaN or infinite entries.
    """
    refuse_ragged(values, name)
    refuse_nan(values, name)
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or not table.size:
        raise ValueError(
            f"{name} has shape {table.shape}; expected (n_members, n_parts) with at "
            "least one member and one part."
        )
    if np.isinf(table).any():
        raise ValueError(f"{name} has infinite entries.")
    return table


def read_pair(
    p: Any, q: Any, names: tuple[str, str], steps: Any, owner: str
) -> tuple[StepLayout, FloatArray, FloatArray]:
    """Return the steps and two closed tables of one width; one row is broadcast.

    Raises
    ------
    ValueError
        If the widths differ, or the numbers of rows do and neither is 1.
    """
    first, second = read_table(p, names[0]), read_table(q, names[1])
    rows = {len(first), len(second)}
    if first.shape[1] != second.shape[1] or (len(rows) > 1 and 1 not in rows):
        raise ValueError(
            f"{names[0]} has shape {first.shape} but {names[1]} has {second.shape}; "
            "expected the same shape, or one row."
        )
    layout = resolve_layout(p, steps, first.shape[1], owner)
    tables = zip((first, second), names, strict=True)
    closed = [close_compositions(t, layout, "renormalize", name) for t, name in tables]
    first, second = np.broadcast_arrays(*closed)
    return layout, first, second


def read_draws(
    owner: str, y_true: Any, draws: Any, steps: Any, mask: Any
) -> tuple[LogRatioGeometry, FloatArray, FloatArray]:
    """Return the geometry, held-out members and draws; ``"infer"`` looks at both.

    Raises
    ------
    ValueError
        If the shapes do not agree, or an entry is negative or on a masked part.
    """
    observed, drawn = np.asarray(y_true), np.asarray(draws)
    geometry, _, _ = _read(owner, y_true, steps, mask, draws=draws)
    tables = []
    for values, name in ((observed, "y_true"), (drawn, "draws")):
        table = np.asarray(values, dtype=np.float64)
        rows = table.reshape(-1, table.shape[-1])
        refuse_negative(rows, geometry.layout, name)
        refuse_masked(rows, geometry.mask, geometry.layout, name)
        tables.append(table)
    return geometry, tables[0], tables[1]


def scatter(values: FloatArray, geometry: LogRatioGeometry) -> FloatArray:
    """Put values of active parts (..., n_active) in all columns; NaN elsewhere."""
    columns = np.full((*values.shape[:-1], geometry.layout.n_parts), np.nan)
    columns[..., geometry.active_parts] = values
    return columns
