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


def correlated_pairs(
    X: FloatArray, input_of: IndexArray | None = None
) -> list[tuple[float, int, int]]:
    """Return columns of two inputs, correlated beyond the limit and beyond chance."""
    sizes = np.minimum(_sizes(X, input_of), 1.0)
    n_samples, n_features = X.shape
    first, second = np.nonzero(sizes > _CORRELATED)
    found = sizes[first, second]
    with np.errstate(divide="ignore"):
        score = found * np.sqrt((n_samples - 2) / (1.0 - np.square(found)))
    n_pairs = n_features * (n_features - 1)  # of both signs: twice
    known = stats.t.sf(score, n_samples - 2) * n_pairs <= _CHANCE_LEVEL
    pairs = found[known], first[known], second[known]
    return list(zip(*(part.tolist() for part in pairs), strict=True))


def correlation_reason(
    X: FloatArray, names: Sequence[str], input_of: IndexArray | None = None
) -> tuple[str, ...]:
    """Name the columns of two inputs that are correlated most."""
    pairs = correlated_pairs(X, input_of)
    if not pairs:
        return ()
    largest, first, second = max(pairs, key=lambda pair: pair[0])
    return (
        f"{names[first]} and {names[second]} are correlated ({largest:.2f}, more than "
        f"{_CORRELATED:g}): the indices assume independent inputs",
    )


def largest_correlation(X: FloatArray, input_of: IndexArray | None = None) -> float:
    """Return the largest absolute Pearson correlation of columns of two inputs."""
    sizes = _sizes(X, input_of)
    return float("nan") if np.isnan(sizes).all() else min(float(np.nanmax(sizes)), 1.0)


def _sizes(X: FloatArray, input_of: IndexArray | None) -> FloatArray:
    """Return the sizes of correlations above the diagonal; NaN of one input."""
    own = np.arange(X.shape[1]) if input_of is None else input_of
    sizes = np.full((len(own),) * 2, np.nan)
    if len(X) > 2:
        sizes = np.triu(np.abs(correlations_of(X)), k=1)
        sizes[own[:, np.newaxis] == own] = np.nan
    return sizes
