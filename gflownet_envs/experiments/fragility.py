"""How much the members disagree at each step, in several measures side by side.

They can rank the steps differently: sums over log-ratios grow with the number of
actions, and additive log-ratios depend on the reference action: the sum of alr
variances is the total variance plus K times the variance of the reference's clr.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gflownet_envs.policy_dataset import PolicyDataset
from skpce import LogRatioTransformer


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
    variances = {}
    for kind in ("clr", "alr"):
        transformer = LogRatioTransformer(kind, steps=dataset.steps, mask=dataset.mask)
        coordinates = transformer.fit_transform(dataset.y)
        sums = np.full(dataset.n_steps, np.nan)
        for step in np.unique(transformer.coordinate_steps_):
            columns = transformer.coordinate_steps_ == step
            sums[step] = coordinates[:, columns].var(axis=0).sum()
        variances[kind] = sums
    possible = [dataset.mask[columns] for columns in dataset.step_slices]
    freedom = np.array([flags.sum() - 1 for flags in possible], dtype=float)
    freedom[freedom == 0] = np.nan
    distance = np.array(
        [
            0.5 * np.abs(block - block.mean(axis=0)).sum(axis=1).mean()
            for block in (dataset.y[:, columns] for columns in dataset.step_slices)
        ]
    )
    names = [dataset.action_names[columns] for columns in dataset.step_slices]
    return Fragility(
        variances["clr"],
        variances["clr"] / freedom,
        variances["alr"],
        tuple(
            its_names[int(np.flatnonzero(flags)[-1])]
            for its_names, flags in zip(names, possible, strict=True)
        ),
        np.where(np.isnan(freedom), np.nan, distance),
    )
