"""Members that no fit has seen: their table, and how well they are predicted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._composition import close_compositions, refuse_masked
from .._goodness import LOG_RATIO_FLOOR, q2_from_sums, weighted_spread
from .._log_ratio_geometry import LogRatioGeometry
from .._resampling import sum_by_step
from .._step_log_ratios import clr_of
from .._steps import refuse_nan, refuse_ragged, resolve_layout

FloatArray = NDArray[np.float64]


def checked_policies(
    y: Any, surrogate: Any, n_members: int | None = None, name: str = "y"
) -> FloatArray:  # shape: (n_members, n_parts)
    """Return policies that a fitted surrogate can be compared with, closed to one.

    Raises
    ------
    ValueError
        If they have another shape or other columns than in ``fit``, are not finite,
        are no compositions, or are positive on a masked part.
    """
    refuse_ragged(y, name)
    refuse_nan(y, name)
    values = np.asarray(y, dtype=np.float64)
    if values.ndim == 1:
        values = values[:, np.newaxis]
    layout = surrogate.geometry_.layout
    n_rows = len(values) if n_members is None else n_members
    if values.shape != (n_rows, layout.n_parts):
        raise ValueError(
            f"{name} has shape {values.shape}; expected {(n_rows, layout.n_parts)}: "
            "the members of X and the parts seen in fit."
        )
    if np.isinf(values).any():
        raise ValueError(f"{name} has infinite entries; expected probabilities.")
    _refuse_other_columns(y, surrogate, name)
    refuse_masked(values, surrogate.mask_, layout, name)
    return close_compositions(values, layout, surrogate.closure, name)


def _refuse_other_columns(y: Any, surrogate: Any, name: str) -> None:
    """Raise ``ValueError`` for a data frame whose columns are not those of ``fit``."""
    fitted = surrogate.geometry_.layout
    owner = type(surrogate).__name__
    nameless = resolve_layout(None, fitted.widths, fitted.n_parts, owner)
    if not hasattr(y, "columns") or fitted.part_names == nameless.part_names:
        return  # one of the two has no names to compare
    found = resolve_layout(y, surrogate.steps, fitted.n_parts, owner)
    names, expected = (
        [
            f"{layout.step_names[step]}__{part}"
            for step, part in zip(layout.step_of_part, layout.part_names, strict=True)
        ]
        for layout in (found, fitted)
    )
    for position, (given, wanted) in enumerate(zip(names, expected, strict=True)):
        if given != wanted:
            raise ValueError(
                f"Column {position} of {name} is {given!r}; expected {wanted!r}: the "
                "columns that fit has seen, in the same order."
            )


def composition_q2(
    y: ArrayLike,
    predicted: ArrayLike,
    geometry: LogRatioGeometry,
    zero_replacement: float,
) -> FloatArray:  # shape: (n_steps,)
    """Return Q² per step in Aitchison geometry, about the mean of these members.

    NaN for a step without choice, and where the members do not differ.
    """
    observed = clr_of(y, geometry, zero_replacement, "y")
    clr = clr_of(predicted, geometry, zero_replacement, "prediction")
    press = sum_by_step(np.square(observed - clr).sum(axis=0), geometry)
    spread = weighted_spread(observed, np.ones(len(observed)), LOG_RATIO_FLOOR)
    q2 = q2_from_sums(press, sum_by_step(spread, geometry))
    return np.where(geometry.has_choice, q2, np.nan)


def target_q2(y: ArrayLike, predicted: ArrayLike) -> FloatArray:  # (n_targets,)
    """Return Q² per target of a regressor, about the mean of these samples."""
    observed = np.asarray(y, dtype=np.float64)
    observed = observed.reshape(len(observed), -1)
    values = np.asarray(predicted, dtype=np.float64).reshape(observed.shape)
    press = np.square(observed - values).sum(axis=0)
    return q2_from_sums(press, weighted_spread(observed, np.ones(len(observed))))


def surrogate_q2(surrogate: Any, inputs: Any, y: ArrayLike) -> FloatArray:
    """Return Q² per step of a fitted surrogate."""
    predicted = np.asarray(surrogate.predict(inputs), dtype=np.float64)
    values = np.asarray(y, dtype=np.float64)
    return composition_q2(
        values,
        predicted.reshape(values.shape),
        surrogate.geometry_,
        surrogate.zero_replacement,
    )
