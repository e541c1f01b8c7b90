"""How much the members disagree at each step, in several measures side by side.

They can rank the steps differently: sums over log-ratios grow with the number of
actions, and additive log-ratios depend on the reference action: the sum of alr
variances is the total variance plus K times the variance of the reference's clr.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gflownet_envs.policy_dataset import PolicyDataset
from skpce.metrics import policy_fragility


@dataclass(frozen=True)
class Fragility:
    """Disagreement of the members, per step; NaN for a step without choice.

    Attributes
    ----------
    aitchison_variance : ndarray of shape (n_steps,)
        Total variance of the centred log-ratios: free of any reference.
    variance_per_freedom : ndarray of shape (n_steps,)
        The same over the number of possible actions minus one.
    alr_sum : ndarray of shape (n_steps,)
        The paper's D: sum of the variances of the additive log-ratios.
    alr_reference : tuple of str
        The reference action of each step, the last possible one.
    total_variation : ndarray of shape (n_steps,)
        Mean total variation distance to the mean policy, between 0 and 1.
    """

    aitchison_variance: np.ndarray
    variance_per_freedom: np.ndarray
    alr_sum: np.ndarray
    alr_reference: tuple[str, ...]
    total_variation: np.ndarray


def fragility(dataset: PolicyDataset) -> Fragility:
    """Measure the disagreement of the members of a data set."""
    found = policy_fragility(dataset.y, steps=dataset.steps, mask=dataset.mask)
    measures = {
        name: np.where(found.n_possible > 1, getattr(found, name), np.nan)
        for name in (
            "aitchison_variance",
            "variance_per_freedom",
            "alr_sum",
            "total_variation",
        )
    }
    return Fragility(alr_reference=_reference_names(dataset), **measures)


def _reference_names(dataset: PolicyDataset) -> tuple[str, ...]:
    """Name the last possible action of each step."""
    return tuple(
        dataset.action_names[columns.start + int(possible[-1])]
        for columns in dataset.step_slices
        for possible in [np.flatnonzero(dataset.mask[columns])]
    )
