"""The conditions of the verdict, in words: what failed, and what weakens a reading."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from .._diagnostics import largest_correlation
from ._cross_fit import CrossFit, final_estimator

FloatArray = NDArray[np.float64]

# Level below which a departure of the inputs is worth a caution.
_CAUTION_LEVEL = 0.01


def failed_conditions(
    q2: float, p_value: float, noise: float, limits: tuple[float, float, float]
) -> tuple[str, ...]:
    """Name each condition that failed."""
    min_q2, significance_level, max_noise_share = limits
    if np.isnan(q2):
        return ("no choice, or no variance between members",)
    reasons = []
    if q2 < min_q2:
        reasons.append(
            f"the inputs predict {max(q2, 0.0):.0%} of the variance of held-out "
            f"members, less than {min_q2:.0%}"
        )
    if p_value > significance_level:
        reasons.append(
            f"the permutation p-value (Holm) is {p_value:.2g}, above "
            f"{significance_level:g}"
        )
    if noise >= max_noise_share:
        reasons.append(
            f"training noise makes up {noise:.0%} of the variance, at least "
            f"{max_noise_share:.0%}"
        )
    return tuple(reasons)


def holm(p_values: FloatArray) -> FloatArray:
    """Adjust p-values by Holm's step-down method; NaN takes no part.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.inspection._conditions import holm
    >>> holm(np.array([0.01, 0.04, np.nan, 0.03]))
    array([0.03, 0.06,  nan, 0.06])
    """
    adjusted = np.full(len(p_values), np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    order = tested[np.argsort(p_values[tested], kind="stable")]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p_values[order]), 1.0)
    return adjusted


def permutation_caution(
    n_permutations: int, significance_level: float, q2: FloatArray
) -> list[str]:
    """Caution when no result could be significant."""
    smallest = np.sum(~np.isnan(q2)) / (n_permutations + 1)
    if smallest <= significance_level:
        return []
    return [
        f"with {n_permutations} permutations the smallest possible p-value is "
        f"{min(smallest, 1.0):.2g}: no step can be attributable"
    ]


def cautions(fit: CrossFit, noise: FloatArray) -> tuple[str, ...]:
    """Say what weakens the reading, from one fit on all members."""
    found: list[str] = []
    if np.isnan(noise).any():
        found.append(
            "the share of training noise is not known; replicate members per reward "
            "would tell"
        )
    model = clone(fit.pipeline).fit(fit.X, fit.y)
    _, last = final_estimator(model)
    diagnostics = getattr(last, "diagnostics_", None)
    if diagnostics is None:
        return tuple(found)
    inputs = fit.X
    if isinstance(model, Pipeline):
        inputs = model[:-1].transform(fit.X)
    found += _dependence_caution(np.asarray(inputs, dtype=np.float64))
    smallest = np.nanmin(np.append(diagnostics.law_p_values, 1.0))
    if smallest * len(diagnostics.law_p_values) < _CAUTION_LEVEL:
        found.append(
            "an input does not have its stated law (smallest p-value "
            f"{smallest:.2g}): the shares are approximate"
        )
    if diagnostics.n_terms > diagnostics.n_members:
        found.append(
            f"the basis has {diagnostics.n_terms} terms for "
            f"{diagnostics.n_members} members: the penalty decides most of them"
        )
    return tuple(found)


def _dependence_caution(inputs: FloatArray) -> list[str]:
    """Caution about correlation that is unlikely by chance."""
    n_members, n_features = inputs.shape
    if n_features < 2 or n_members < 4:
        return []
    largest = largest_correlation(inputs)
    statistic = abs(largest) * np.sqrt((n_members - 2) / max(1 - largest**2, 1e-12))
    p_value = 2 * stats.t.sf(statistic, n_members - 2)
    n_pairs = n_features * (n_features - 1) / 2
    if not p_value * n_pairs < _CAUTION_LEVEL:
        return []
    return [
        f"two inputs are correlated ({largest:.2f}); the closed-form shares assume "
        "independent inputs"
    ]
