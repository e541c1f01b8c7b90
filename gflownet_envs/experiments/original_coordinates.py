"""From latent inputs back to the coordinates of the reward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gflownet_envs.policy_dataset import PolicyDataset
from skpce import LogRatioTransformer


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
    clr = LogRatioTransformer("clr", steps=dataset.steps, mask=dataset.mask)
    observed = clr.fit_transform(dataset.y)
    total = _variance_by_step(observed, clr.coordinate_steps_, dataset.n_steps)
    mean = dataset.X.mean(axis=0)
    shares: dict[str, dict[str, np.ndarray]] = {}
    for component, columns_of in levels.items():
        shares[component] = {}
        for level, columns in columns_of.items():
            moved = np.tile(mean, (dataset.n_members, 1))
            moved[:, columns] = dataset.X[:, columns]
            predicted = clr.transform(pipeline.predict(moved))
            variance = _variance_by_step(
                predicted, clr.coordinate_steps_, dataset.n_steps
            )
            shares[component][level] = variance / total
    return shares


def _variance_by_step(
    clr: np.ndarray,  # shape: (n_members, n_coordinates)
    step_of_coordinate: np.ndarray,  # shape: (n_coordinates,)
    n_steps: int,
) -> np.ndarray:  # shape: (n_steps,)
    variance = np.full(n_steps, np.nan)
    for step in np.unique(step_of_coordinate):
        variance[step] = clr[:, step_of_coordinate == step].var(axis=0).sum()
    return variance
