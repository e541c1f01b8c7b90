"""Steps, mask and centred log-ratios of a table of compositions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._checks import FloatArray
from ._composition import resolve_mask
from ._log_ratio import log_ratios_of
from ._log_ratio_geometry import LogRatioGeometry
from ._steps import refuse_nan, refuse_ragged, resolve_layout


def composition_geometry(y: Any, steps: Any, mask: Any, owner: str) -> LogRatioGeometry:
    """Read the steps and the mask of a table of compositions."""
    refuse_ragged(y)
    refuse_nan(y)
    values = np.asarray(y, dtype=np.float64)
    if values.ndim != 2:
        raise ValueError(f"y must be 2-D, got shape {values.shape}.")
    layout = resolve_layout(y, steps, values.shape[1], owner)
    return LogRatioGeometry(
        layout, resolve_mask(mask, values, layout, owner), "clr", -1
    )


def clr_of(
    y: Any, geometry: LogRatioGeometry, zero_replacement: float, name: str
) -> FloatArray:
    """Return the centred log-ratios of a table of compositions.

    Raises
    ------
    ValueError
        If the table has another width, or rows that are no compositions.
    """
    values = np.asarray(y, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != geometry.layout.n_parts:
        raise ValueError(
            f"{name} has shape {values.shape}; expected (n_members, "
            f"{geometry.layout.n_parts})."
        )
    return log_ratios_of(
        values,
        geometry,
        closure="renormalize",
        zero_replacement=zero_replacement,
        name=name,
    )
