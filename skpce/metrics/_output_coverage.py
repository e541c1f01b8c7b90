"""Coverage of intervals of real outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import FloatArray, IndexArray
from ._coverage import CoverageInterval, wilson


def output_coverage(
    y: FloatArray,  # shape: (n_members, n_columns); NaN where a member failed
    lower: Any,  # shape: (n_members or 1, n_columns)
    upper: Any,
    groups: IndexArray,  # shape: (n_columns,), the output of each column
    kind: str = "marginal",
) -> CoverageInterval:
    """Return the share of values, or of members with all columns, inside."""
    shape = -1, y.shape[1]
    low, high = (np.reshape(bound, shape) for bound in (lower, upper))
    inside, failed = (y >= low) & (y <= high), np.isnan(y)
    n_groups = int(groups.max()) + 1
    coverage, n_members = np.full(n_groups, np.nan), np.zeros(n_groups)
    for group in range(n_groups):
        columns = groups == group
        rows = ~failed[:, columns].any(axis=1)
        hits = inside[np.ix_(rows, columns)]
        n_members[group] = len(hits)
        if len(hits):
            coverage[group] = (hits if kind == "marginal" else hits.all(axis=1)).mean()
    bounds = wilson(coverage, np.maximum(n_members, 1.0), 0.025)
    return CoverageInterval(coverage, *bounds, len(y))
