"""How much the members disagree at each step, in several measures side by side.

They can rank the steps differently: sums over log-ratios grow with the number of
actions, and additive log-ratios depend on the reference action: the sum of alr
variances is the total variance plus K times the variance of the reference's clr.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gflownet_envs.policy_dataset import PolicyDataset
from skpce.metrics import PolicyFragility, policy_fragility


def fragility(dataset: PolicyDataset) -> PolicyFragility:
    """Measure the disagreement of the members of a data set.

    Every measure is NaN for a step without choice. The reference of the alr sum is
    the last possible action.
    """
    found = policy_fragility(dataset.y, steps=dataset.steps, mask=dataset.mask)
    has_choice = found.n_possible > 1
    measures = {
        name: np.where(has_choice, values, np.nan)
        for name, values in vars(found).items()
        if isinstance(values, np.ndarray) and name != "n_possible"
    }
    return replace(
        found,
        step_names=dataset.step_names,
        alr_reference=_reference_names(dataset),
        **measures,
    )


def _reference_names(dataset: PolicyDataset) -> tuple[str, ...]:
    """Name the last possible action of each step."""
    return tuple(
        dataset.action_names[columns.start + int(possible[-1])]
        for columns in dataset.step_slices
        for possible in [np.flatnonzero(dataset.mask[columns])]
    )
