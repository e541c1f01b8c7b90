"""Correlations between many inputs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from .._checks import FloatArray, IndexArray, correlations_of

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
        p_value = stats.pearsonr(X[:, first], X[:, second]).pvalue
        if p_value * n_features * (n_features - 1) / 2 > _CHANCE_LEVEL:
            return ()
    return (
        f"{names[first]} and {names[second]} are correlated ({largest:.2f}, more than "
        f"{_CORRELATED:g}): the indices assume independent inputs",
    )


def largest_correlation(X: FloatArray, input_of: IndexArray | None = None) -> float:
    """Return the largest absolute Pearson correlation of columns of two inputs."""
    return _most_correlated(X, input_of)[0]


def _most_correlated(
    X: FloatArray, input_of: IndexArray | None
) -> tuple[float, int, int]:
    """Return the largest size of a correlation, and the columns; NaN without a pair."""
    own = np.arange(X.shape[1]) if input_of is None else input_of
    sizes = np.full((len(own),) * 2, np.nan)
    if len(X) > 2:
        sizes = np.triu(np.abs(correlations_of(X)), k=1)
        sizes[own[:, np.newaxis] == own] = np.nan
    if np.isnan(sizes).all():
        return float("nan"), 0, 0
    first, second = np.unravel_index(np.nanargmax(sizes), sizes.shape)
    return min(float(sizes[first, second]), 1.0), int(first), int(second)
