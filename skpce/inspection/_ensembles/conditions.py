"""The conditions of a verdict, adjusted p-values, and cautions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._checks import FloatArray
from ..._result import Result, too_little

# Errors that differ by less, relatively, are equal but for rounding: members that are
# alike change places without an effect.
_TIE = 1e-9
_CAUTION_LEVEL = 0.01  # level below which a departure of the inputs is worth a caution


def failed_conditions(
    q2: float,
    p_value: float,
    noise: float,
    limits: tuple[float, float, float],
    corrected: str = "",
) -> tuple[str, ...]:
    """Name each condition that failed; ``corrected`` says how p was adjusted."""
    min_q2, significance_level, max_noise_share = limits
    if np.isnan(q2):
        return ("no choice, or no variance between members",)
    reasons = []
    if q2 < min_q2:
        found = too_little(q2, min_q2, "of the variance of held-out members")
        reasons.append(f"the inputs predict {found}")
    if p_value > significance_level:
        reasons.append(
            f"the permutation p-value{corrected} is {p_value:.2g}, above "
            f"{significance_level:g}"
        )
    if noise >= max_noise_share:
        reasons.append(_too_much_noise(noise, max_noise_share))
    return tuple(reasons)


def _too_much_noise(noise: float, limit: float) -> str:
    """Say that equal runs differ too much; a share above one is no share."""
    if noise >= 1.0:
        return (
            "training noise exceeds what the inputs could explain: equal runs differ "
            "as much as runs with different inputs"
        )
    return f"training noise makes up {noise:.0%} of the variance, at least {limit:.0%}"


def permutation_p_values(
    q2: FloatArray,  # shape: (n_groups,)
    permuted: FloatArray,  # shape: (n_permutations, n_groups)
) -> FloatArray:  # shape: (n_groups,)
    """Return p-values, not adjusted over the groups; ties count as reached."""
    reached = permuted >= q2 - _TIE * np.abs(1.0 - q2)
    found = (1 + np.sum(reached, axis=0)) / (1 + len(permuted))
    return np.where(np.isnan(q2), np.nan, found)


def holm(p_values: FloatArray) -> FloatArray:
    """Adjust p-values by Holm's step-down method; NaN takes no part."""
    adjusted = np.full(len(p_values), np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    order = tested[np.argsort(p_values[tested], kind="stable")]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p_values[order]), 1.0)
    return adjusted


def permutation_caution(
    n_permutations: int,
    significance_level: float,
    q2: FloatArray,
    noun: str = "step",
) -> list[str]:
    """Caution when no result could be significant."""
    smallest = np.sum(~np.isnan(q2)) / (n_permutations + 1)
    if smallest <= significance_level:
        return []
    return [
        f"with {n_permutations} permutations the smallest possible p-value is "
        f"{min(smallest, 1.0):.2g}: no {noun} can be attributable; take "
        f"n_permutations={_enough(q2, significance_level)} or more"
    ]


def _enough(q2: FloatArray, significance_level: float) -> int:
    """Return the number of permutations from which on a result can be significant."""
    return int(np.ceil(np.sum(~np.isnan(q2)) / significance_level)) - 1


def noise_cautions(
    names: Sequence[str],
    columns: dict[str, FloatArray],
    max_noise_share: float,
) -> tuple[str, ...]:
    """Caution where training noise is not known, or not settled."""
    found = []
    tested = ~np.isnan(columns["q2"])
    if np.isnan(columns["noise_share"][tested]).any():
        found.append(
            "the share of training noise is not known; repeat some runs with equal "
            "inputs and name them by groups="
        )
    low, high = columns["noise_share_low"], columns["noise_share_high"]
    is_open = tested & (low < max_noise_share) & (max_noise_share <= high)
    if is_open.any():
        steps = ", ".join(names[int(step)] for step in np.flatnonzero(is_open))
        found.append(
            f"the interval of the training noise of {steps} holds "
            f"{max_noise_share:.0%}: more replicates, or more groups of them, would "
            "settle it"
        )
    return tuple(found)


def input_cautions(
    tests: Result | None,
    n_terms: int | None,
    n_members: int,
    names: Sequence[str] = (),
) -> list[str]:
    """Say what weakens the reading: inputs and size."""
    found: list[str] = []
    if n_terms is None:
        return found
    if tests is not None and tests.smallest_dependence_p_value < _CAUTION_LEVEL:
        largest, ranks, distance = map(
            tests.largest, ("pearson", "spearman", "distance")
        )
        what = f"two inputs are correlated ({largest:z.2f})"
        if not max(abs(largest), abs(ranks)) >= 0.5 * distance:
            what = (
                "two inputs are dependent without being correlated (distance "
                f"correlation {distance:.2f})"
            )
        found.append(
            f"{what}; the closed-form shares assume independent inputs, and "
            "skpce.inspection.dependent_sobol_indices gives shares that do not"
        )
    if tests is not None and tests.smallest_distribution_p_value < _CAUTION_LEVEL:
        p_values = np.asarray(tests.distribution_p_values)
        name = (
            names[int(np.nanargmin(p_values))] if len(names) == len(p_values) else None
        )
        found.append(
            f"{name or 'an input'} does not have its stated distribution (p-value "
            f"{np.nanmin(p_values):.2g}), so that the shares are approximate; "
            "distribution='empirical' takes that of the data"
        )
    if n_terms > n_members:
        found.append(
            f"the basis has {n_terms} terms for {n_members} members: the penalty "
            "decides most of them; lower the degree"
        )
    return found
