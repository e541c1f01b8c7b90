"""How well members that no fit has seen are predicted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._checks import FloatArray
from .._compositions.log_ratio import LogRatioGeometry, clr_of, sum_by_step
from .._goodness import LOG_RATIO_FLOOR, q2_from_sums, weighted_spread


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
