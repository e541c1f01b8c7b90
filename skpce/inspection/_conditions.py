"""The conditions of the verdict, in words: what failed, and what weakens a reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from .._checks import FloatArray
from .._dependence.tests import InputTests, input_tests
from .._fitted_pipeline import last_and_inputs
from ._cross_fit import CrossFit
from ._verdict_result import StepVerdict

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


@dataclass(frozen=True)
class InputChecks:
    """What one fit on all members says of the inputs.

    Parameters
    ----------
    tests : InputTests or None
        Dependence and laws of the inputs of the last estimator; None where they are
        no numbers.
    n_terms : int or None
        Terms of the basis; None without one.
    """

    tests: InputTests | None
    n_terms: int | None

    @classmethod
    def of(cls, fit: CrossFit) -> InputChecks:
        """Fit the pipeline and look at what reaches its last estimator.

        Of a search that is what its best estimator gets.
        """
        model = clone(fit.pipeline).fit(fit.X, fit.y)
        last, inputs = last_and_inputs(model, fit.X)
        diagnostics = getattr(last, "diagnostics_", None)
        laws, n_terms = None, None
        if diagnostics is not None:
            laws, n_terms = diagnostics.law_p_values, diagnostics.n_terms
        try:
            values = np.asarray(inputs, dtype=np.float64)
        except (TypeError, ValueError):  # text
            return cls(None, n_terms)
        if values.ndim != 2 or not np.isfinite(values).all():
            return cls(None, n_terms)
        return cls(input_tests(values, laws), n_terms)


def noise_cautions(
    steps: Sequence[StepVerdict], max_noise_share: float
) -> tuple[str, ...]:
    """Caution where training noise is not known, or not settled."""
    found = []
    tested = [step for step in steps if not np.isnan(step.q2)]
    if any(np.isnan(step.noise_share) for step in tested):
        found.append(
            "the share of training noise is not known; replicate members per reward "
            "would tell"
        )
    open_steps = [
        step.step
        for step in tested
        if step.noise_share_low < max_noise_share <= step.noise_share_high
    ]
    if open_steps:
        found.append(
            f"the interval of the training noise of {', '.join(open_steps)} holds "
            f"{max_noise_share:.0%}: more rewards or replicates would settle it"
        )
    return tuple(found)


def cautions(checks: InputChecks, n_members: int) -> tuple[str, ...]:
    """Say what weakens the reading: inputs and size."""
    found: list[str] = []
    if checks.n_terms is None:
        return tuple(found)
    if checks.tests is not None:
        found += _dependence_caution(checks.tests)
        if checks.tests.smallest_law_p_value < _CAUTION_LEVEL:
            found.append(
                "an input does not have its stated law (smallest p-value "
                f"{np.nanmin(checks.tests.law_p_values):.2g}): the shares are "
                "approximate"
            )
    if checks.n_terms > n_members:
        found.append(
            f"the basis has {checks.n_terms} terms for {n_members} members: the "
            "penalty decides most of them"
        )
    return tuple(found)


def _dependence_caution(tests: InputTests) -> list[str]:
    """Caution about dependence that is unlikely by chance."""
    if not tests.smallest_dependence_p_value < _CAUTION_LEVEL:
        return []
    largest = tests.largest("pearson")
    ranks = tests.largest("spearman")
    distance = tests.largest("distance")
    if max(abs(largest), abs(ranks)) >= 0.5 * distance:
        what = f"two inputs are correlated ({largest:.2f})"
    else:
        what = (
            "two inputs are dependent without being correlated (distance correlation "
            f"{distance:.2f})"
        )
    return [
        f"{what}; the closed-form shares assume independent inputs, and "
        "skpce.inspection.dependent_sobol_indices gives shares that do not"
    ]
