"""The correlation of normal scores: learned, shrunk, checked, and its roots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._checks import FloatArray

# Below this eigenvalue of the correlation one column is a function of the others.
_SMALLEST_EIGENVALUE = 1e-8


def standardized(scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Return scores of mean 0 and variance 1; zeros for a constant column."""
    centred = scores - np.average(scores, axis=0, weights=weights)
    spread = np.sqrt(np.average(np.square(centred), axis=0, weights=weights))
    varies = np.ptp(scores[weights > 0], axis=0) > 0  # a mean of copies is rounded
    return np.where(varies, centred / np.where(varies, spread, 1.0), 0.0)


def best_shrinkage(
    standard: FloatArray,  # shape: (n_samples, n_features)
    weights: FloatArray,  # shape: (n_samples,)
    correlation: FloatArray,  # shape: (n_features, n_features)
) -> float:
    """Return the estimated variance of the correlations over their square."""
    n = float(weights.sum())
    if n <= 1.0:
        return 1.0
    squared = np.square(standard)
    products = (squared * weights[:, np.newaxis]).T @ squared / n
    variance = np.maximum(products - np.square(correlation), 0.0) / (n - 1.0)
    pairs = ~np.eye(len(correlation), dtype=bool)
    whole = float(np.square(correlation)[pairs].sum())
    if whole == 0.0:
        return 0.0
    return float(min(variance[pairs].sum() / whole, 1.0))


def checked_correlation(
    owner: str, correlation: FloatArray, names: Sequence[str]
) -> FloatArray:
    values, vectors = np.linalg.eigh(correlation)
    if values[0] < _SMALLEST_EIGENVALUE:
        involved = np.argsort(-np.abs(vectors[:, 0]))[:2]
        first, second = (names[i] for i in sorted(involved))
        raise ValueError(
            f"{owner} found scores with a singular correlation (smallest eigenvalue "
            f"{values[0]:.2g}; {first} and {second} take part most); expected a "
            "positive definite one. Give a larger shrinkage, leave columns out, or put "
            "a PCA before."
        )
    return correlation


def correlation_root(correlation: FloatArray, kind: str) -> FloatArray:
    if kind == "cholesky":
        root: Any = np.linalg.cholesky(correlation)
        return root
    values, vectors = np.linalg.eigh(correlation)
    return (vectors * np.sqrt(values)) @ vectors.T
