"""How far a design with independent inputs lies from the data it was learned from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats
from sklearn.neighbors import NearestNeighbors

from .._checks import FloatArray
from .._diagnostics import largest_correlation

# Level below which a correlation is not put down to chance.
_CHANCE_LEVEL = 0.01

# Rows of the data that are enough to say how close neighbours are.
_LARGEST_REFERENCE = 5000

# Share of the data that counts as usual.
_USUAL_SHARE = 0.95


def correlation_reason(
    X: FloatArray, max_correlation: float, names: Sequence[str]
) -> tuple[str, ...]:
    """Say that columns are dependent: beyond the limit and beyond chance."""
    n_samples, n_features = X.shape
    largest = largest_correlation(X)
    if not largest > max_correlation:
        return ()
    if n_samples > 3:
        ratio = np.sqrt((n_samples - 2) / max(1 - largest**2, 1e-12))
        p_value = 2 * stats.t.sf(largest * ratio, n_samples - 2)
        if p_value * n_features * (n_features - 1) / 2 > _CHANCE_LEVEL:
            return ()
    first, second = _most_correlated(X)
    return (
        f"{names[first]} and {names[second]} are correlated ({largest:.2f}, more than "
        f"{max_correlation:g}): the indices speak of independent inputs",
    )


def _most_correlated(X: FloatArray) -> tuple[int, int]:
    varying = np.flatnonzero(np.ptp(X, axis=0) > 0)
    absolute = np.triu(np.abs(np.corrcoef(X[:, varying], rowvar=False)), k=1)
    row, column = np.unravel_index(np.argmax(absolute), absolute.shape)
    return int(varying[row]), int(varying[column])


def outside_share(X: FloatArray, design: FloatArray) -> float:
    """Return the share of design points that lie farther from the data than usual.

    Usual is what 95 % of the rows of X keep from their nearest other row, in units of
    the standard deviation of each column. A design like the data has a share near
    0.05. NaN for fewer than three different rows.
    """
    scale = X.std(axis=0)
    varying = scale > 0
    rows = np.unique(X[:, varying] / scale[varying], axis=0)
    if len(rows) < 3:
        return float("nan")
    rows = rows[:: -(-len(rows) // _LARGEST_REFERENCE)]
    neighbors = NearestNeighbors(n_neighbors=2).fit(rows)
    usual = np.quantile(neighbors.kneighbors(rows)[0][:, 1], _USUAL_SHARE)
    points = design[:, varying] / scale[varying]
    nearest = neighbors.kneighbors(points, n_neighbors=1)[0][:, 0]
    return float(np.mean(nearest > usual))


def outside_reason(share: float, max_outside: float) -> tuple[str, ...]:
    """Say that the model is asked where there are no data."""
    if not share > max_outside:
        return ()
    return (
        f"{share:.0%} of the design points lie farther from the rows of X than these "
        f"lie from each other, more than {max_outside:.0%}: there the model "
        "extrapolates",
    )


def fidelity_reason(fidelity: float, min_fidelity: float) -> tuple[str, ...]:
    """Say that the expansion does not reproduce the model."""
    if np.isnan(fidelity):
        return ("the predictions do not vary",)
    if fidelity >= min_fidelity:
        return ()
    return (
        f"the expansion reproduces {max(fidelity, 0.0):.1%} of the variance of the "
        f"model on held-out design points, less than {min_fidelity:.0%}",
    )
