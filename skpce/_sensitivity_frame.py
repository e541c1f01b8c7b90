"""The table of sensitivity indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._checks import FloatArray, import_pandas
from ._sobol import InteractionIndices


def sensitivity_frame(
    indices: InteractionIndices,
    shapley: FloatArray,  # shape: (n_targets, n_features)
    names: Sequence[str],
    unexplained: FloatArray | None,  # shape: (n_targets,)
    interval: Any = None,  # first_order, total_order: (2, n_targets, n_features)
) -> Any:
    """Return one row per target and set of inputs; NaN where a number is not defined.

    Every input has a row, also one that no term of the expansion holds.
    """
    pandas = import_pandas()
    n_targets, n_features = shapley.shape
    subsets = _with_every_input(indices.subsets, n_features)
    column = {subset: i for i, subset in enumerate(indices.subsets)}
    places = np.array([column.get(subset, -1) for subset in subsets])
    if unexplained is None:
        unexplained = np.full(n_targets, np.nan)
    labels = ["*".join(str(names[i]) for i in subset) for subset in subsets]
    columns: dict[str, Any] = {
        "target": np.repeat(np.arange(n_targets), len(subsets)),
        "input": np.tile(np.array(labels, dtype=object), n_targets),
        "order": np.tile([len(subset) for subset in subsets], n_targets),
        "first_order": _taken(indices.values, places).ravel(),
        "total_order": _taken(indices.superset_values, places).ravel(),
        "shapley": _padded(shapley, len(subsets)).ravel(),
        "loo_unexplained": np.repeat(unexplained, len(subsets)),
    }
    if interval is not None:
        pairs = (("", interval.total_order), ("first_", interval.first_order))
        for prefix, bounds in pairs:
            for name, bound in zip(("low", "high"), bounds, strict=True):
                columns[prefix + name] = _padded(bound, len(subsets)).ravel()
    return pandas.DataFrame(columns)


def _with_every_input(
    subsets: Sequence[tuple[int, ...]], n_features: int
) -> list[tuple[int, ...]]:
    """Put all single inputs first, in order."""
    return [(i,) for i in range(n_features)] + [s for s in subsets if len(s) > 1]


def _taken(values: FloatArray, places: NDArray[np.int64]) -> FloatArray:
    """Take columns by position; 0 where the position is -1."""
    with_zero = np.pad(values, ((0, 0), (0, 1)))
    return with_zero[:, places]


def _padded(values: FloatArray, width: int) -> FloatArray:
    """Widen with NaN to one column per set; single inputs come first."""
    missing = width - values.shape[1]
    return np.pad(values, ((0, 0), (0, missing)), constant_values=np.nan)
