"""How much the members of an ensemble disagree about real outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._checks import FloatArray, IndexArray
from ..._result import Result


def output_spread(
    y: Any,  # shape: (n_members,) or (n_members, n_columns); NaN where a member failed
    groups: IndexArray,  # shape: (n_columns,), the output of each column
    names: Sequence[str],
) -> Result:
    """Return the variance of each output; a group's columns are added up."""
    values = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
    rows = [_spread_of(values[:, groups == k]) for k in range(len(names))]
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    figures = {"step_names": tuple(names)}
    return Result({"output": tuple(names)}, columns, figures=figures)


def _spread_of(values: FloatArray) -> dict[str, Any]:
    """Return figures of the columns of one output, of the members that have it."""
    values = values[~np.isnan(values).any(axis=1)]
    n_members, n_columns = values.shape
    if not n_members:
        values = np.full((1, n_columns), np.nan)
    variance = float(values.var(axis=0).sum())
    if (np.ptp(values, axis=0) == 0).all():
        variance = 0.0  # the rest is rounding
    return {
        "members": n_members,
        "columns": n_columns,
        "variance": variance,
        "variance_per_column": variance / n_columns,
        "standard_deviation": float(np.sqrt(variance / n_columns)),
        "minimum": float(values.min()),
        "maximum": float(values.max()),
    }
