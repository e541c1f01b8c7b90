"""What is true of every result, as iterators over what is not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

#: Rounding of shares, which are sums of squares over their sum.
ROUNDING = 1e-8

Faults = Iterator[str]


def finite(name: str, values: ArrayLike) -> Faults:
    """Nothing is NaN or infinite."""
    array = np.asarray(values, dtype=float)
    if not np.isfinite(array).all():
        bad = array[~np.isfinite(array)].ravel()[:3].tolist()
        yield f"{name} is not finite: {bad}"


def between(
    name: str, values: ArrayLike, low: float = 0.0, high: float = 1.0, nan: bool = False
) -> Faults:
    """Everything lies in an interval, up to rounding."""
    array = np.asarray(values, dtype=float)
    array = array[~np.isnan(array)] if nan else array
    inside = (array >= low - ROUNDING) & (array <= high + ROUNDING)
    if not inside.all():
        yield f"{name} outside [{low}, {high}]: {array[~inside].ravel()[:3].tolist()}"


def ordered(name: str, low: ArrayLike, high: ArrayLike, nan: bool = False) -> Faults:
    """The first is at most the second."""
    first, second = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    rounding = ROUNDING * np.maximum(1.0, np.abs(second))
    bad = ~(first <= second + rounding)
    if nan:
        bad &= ~(np.isnan(first) & np.isnan(second))
    if bad.any():
        yield f"{name} not ordered: {first[bad][:3]} > {second[bad][:3]}"


def shares(name: str, first: ArrayLike, total: ArrayLike, nan: bool = False) -> Faults:
    """0 <= S <= T <= 1, and first-order indices add up to at most 1."""
    yield from between(f"{name} first", first, nan=nan)
    yield from between(f"{name} total", total, nan=nan)
    yield from ordered(f"{name} first and total", first, total, nan=nan)
    sums = np.nansum(np.asarray(first, dtype=float), axis=-1)
    yield from between(f"{name} sum of first", sums)


def closed(name: str, values: ArrayLike, nan: bool = False) -> Faults:
    """Rows add up to 1, or are all 0 where there is no variance."""
    sums = np.asarray(values, dtype=float).sum(axis=-1)
    sums = sums[~np.isnan(sums)] if nan else sums
    bad = ~((np.abs(sums - 1.0) < 1e-6) | (np.abs(sums) < 1e-12))
    if bad.any():
        yield f"{name} adds up to {sums[bad][:3].tolist()}"


def simplex(name: str, values: ArrayLike, widths: tuple[int, ...]) -> Faults:
    """Each step is non-negative and adds up to 1."""
    table = np.asarray(values, dtype=float)
    if not table.size:
        return
    table = table.reshape(*table.shape[: max(table.ndim - 1, 1)], -1)
    yield from between(name, table)
    for block in np.split(table, np.cumsum(widths)[:-1], axis=-1):
        yield from between(f"sum of {name}", block.sum(axis=-1), 1.0, 1.0)


def intervals(name: str, low: ArrayLike, high: ArrayLike) -> Faults:
    """Bounds are finite and ordered."""
    yield from finite(f"{name} low", low)
    yield from finite(f"{name} high", high)
    yield from ordered(name, low, high)


def q2(name: str, values: ArrayLike) -> Faults:
    """Q2 is at most 1; NaN where nothing varies, -inf without residuals."""
    array = np.asarray(values, dtype=float)
    if (array > 1.0 + ROUNDING).any():
        yield f"{name} above 1: {array.tolist()}"


def nothing(_: Any) -> Faults:
    """Any result will do."""
    return iter(())
