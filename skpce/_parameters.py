"""Checks of estimator parameters, with scikit-learn's wording.

scikit-learn's own validator is private, so the few rules that are needed live
here. Every check happens in ``fit``: ``__init__`` only stores.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray


def fail(owner: str, name: str, expected: str, value: Any) -> ValueError:
    return ValueError(
        f"The {name!r} parameter of {owner} must be {expected}. Got {value!r} instead."
    )


def check_integer(
    owner: str, name: str, value: Any, *, low: int = 0, none_allowed: bool = False
) -> None:
    """Raise ``ValueError`` unless ``value`` is an int in ``[low, inf)``."""
    if value is None and none_allowed:
        return
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_integer or value < low:
        suffix = " or None" if none_allowed else ""
        raise fail(owner, name, f"an int in the range [{low}, inf){suffix}", value)


def check_real(
    owner: str,
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    closed: str = "neither",
) -> None:
    """Raise ``ValueError`` unless ``value`` is a real number in the interval.

    ``closed`` is one of ``"left"``, ``"right"``, ``"both"``, ``"neither"``.
    """
    left, right = closed in ("left", "both"), closed in ("right", "both")
    is_real = isinstance(value, Real) and not isinstance(value, bool)
    valid = (
        is_real
        and (value >= low if left else value > low)
        and (value <= high if right else value < high)
    )
    if not valid:
        interval = f"{'[' if left else '('}{low}, {high}{']' if right else ')'}"
        raise fail(owner, name, f"a float in the range {interval}", value)


def check_option(owner: str, name: str, value: Any, options: Collection[str]) -> None:
    """Raise ``ValueError`` unless ``value`` is one of the named options."""
    if not isinstance(value, str) or value not in options:
        listed = ", ".join(repr(option) for option in sorted(options))
        raise fail(owner, name, f"one of {listed}", value)


def check_boolean(owner: str, name: str, value: Any) -> None:
    """Raise ``ValueError`` unless ``value`` is a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise fail(owner, name, "a bool", value)


def check_alphas(owner: str, value: Any) -> None:
    """Raise ``ValueError`` unless ``value`` is None or positive finite numbers."""
    if value is None:
        return
    expected = "None or an array-like of positive finite floats"
    try:
        alphas = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise fail(owner, "alphas", expected, value) from None
    valid = alphas.ndim == 1 and alphas.size and np.all(np.isfinite(alphas))
    if not valid or np.any(alphas <= 0):
        raise fail(owner, "alphas", expected, value)


def check_positive_weights(
    owner: str, name: str, value: Any, n_features: int
) -> NDArray[np.float64]:
    """Return one positive finite weight per feature; ones for None.

    Raises
    ------
    ValueError
        If the value is no array of positive finite floats, one per feature.
    """
    if value is None:
        return np.ones(n_features)
    expected = "None or an array-like of positive finite floats, one per feature"
    try:
        weights = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise fail(owner, name, expected, value) from None
    if weights.ndim == 1 and len(weights) != n_features:
        raise ValueError(
            f"The {name!r} parameter of {owner} has {len(weights)} entries but there "
            f"are {n_features} features. Give one weight per feature."
        )
    if weights.ndim != 1 or not np.all((weights > 0) & np.isfinite(weights)):
        raise fail(owner, name, expected, value)
    return weights
