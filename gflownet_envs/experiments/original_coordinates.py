"""From latent inputs back to the coordinates of the reward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gflownet_envs.experiments.fragility import fragility
from gflownet_envs.policy_dataset import PolicyDataset
from skpce.inspection import back_to_reward


def level_shares(
    pipeline: Any,
    dataset: PolicyDataset,
    levels: Mapping[str, Mapping[str, np.ndarray]],
) -> dict[str, dict[str, np.ndarray]]:
    """Return how much of each step's variance follows each level of each component.

    The rewards of the objects that have the level vary as they do between the members;
    all other rewards stay at their mean. The share is the Aitchison variance of the
    *predicted* policies over that of the actual ones. Levels overlap (an object has
    one of every component) and rewards are correlated, so the shares need not add up
    to the Q² of the step.

    Parameters
    ----------
    pipeline : fitted estimator
        Predicts policies from the reward features.
    dataset : PolicyDataset
        The members.
    levels : mapping of str to mapping of str to ndarray of int
        Per component and level, the columns of X of the objects that have it.

    Returns
    -------
    shares : dict of str to dict of str to ndarray of shape (n_steps,)
        NaN for a step without choice.
    """
    shares: dict[str, dict[str, np.ndarray]] = {component: {} for component in levels}
    places = [(component, level) for component in levels for level in levels[component]]
    if not places:
        return shares
    # Levels of two components may have one name.
    groups = {str(i): levels[c][level] for i, (c, level) in enumerate(places)}
    effects = back_to_reward(pipeline, dataset.X, groups=groups)
    total = fragility(dataset).aitchison_variance
    to_observed = effects.predicted_variance / np.where(total > 0, total, np.nan)
    for (component, level), driven in zip(places, effects.driven.T, strict=True):
        shares[component][level] = driven * to_observed
    return shares
