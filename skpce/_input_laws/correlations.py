"""Correlations between many inputs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from .._checks import FloatArray, IndexArray, binary_scales

# Correlation beyond which two columns depend on each other.
_CORRELATED = 0.3

# Level below which a correlation is not explained by chance.
_CHANCE_LEVEL = 0.01


def correlation_reason(
    X: FloatArray, names: Sequence[str], input_of: IndexArray | None = None
) -> tuple[str, ...]:
    """Name columns of two inputs, correlated beyond the limit and beyond chance."""
    n_samples, n_features = X.shape
    largest, first, second = _most_correlated(X, input_of)
    if not largest > _CORRELATED:
        return ()
    if n_samples > 3:
        ratio = np.sqrt((n_samples - 2) / max(1 - largest**2, 1e-12))
        p_value = 2 * stats.t.sf(largest * ratio, n_samples - 2)
        if p_value * n_features * (n_features - 1) / 2 > _CHANCE_LEVEL:
            return ()
    return (
        f"{names[first]} and {names[second]} are correlated ({largest:.2f}, more than "
        f"{_CORRELATED:g}): the indices assume independent inputs",
    )


def largest_correlation(X: FloatArray, input_of: IndexArray | None = None) -> float:
    """Return the largest absolute Pearson correlation of columns of two inputs."""
    return _most_correlated(X, input_of)[0]


# Columns whose correlations with all others are in memory at once.
_CORRELATED_AT_ONCE = 1000


def _most_correlated(
    X: FloatArray, input_of: IndexArray | None
) -> tuple[float, int, int]:
    """Return the largest size of a correlation, and the columns; NaN without a pair."""
    varying = np.flatnonzero(np.ptp(X, axis=0) > 0) if len(X) > 2 else np.arange(0)
    own = varying if input_of is None else input_of[varying]
    if len(np.unique(own)) < 2:
        return float("nan"), 0, 0
    values = X[:, varying] / binary_scales(X[:, varying])
    values -= values.mean(axis=0)
    values /= np.sqrt(np.square(values).sum(axis=0))
    largest, pair = -1.0, (0, 0)
    for start in range(0, len(varying), _CORRELATED_AT_ONCE):
        block = values[:, start : start + _CORRELATED_AT_ONCE]
        sizes = np.triu(np.abs(block.T @ values[:, start:]), k=1)
        sizes *= own[start : start + len(sizes), np.newaxis] != own[start:]
        if sizes.max() > largest:
            largest = float(sizes.max())
            first, second = np.unravel_index(sizes.argmax(), sizes.shape)
            pair = start + int(first), start + int(second)
    return min(largest, 1.0), int(varying[pair[0]]), int(varying[pair[1]])
