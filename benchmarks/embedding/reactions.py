"""Buchwald–Hartwig reactions for the studies of embeddings.

Rewards are yields predicted by networks that each saw 30 % of the data, policies are
exact along the reference trajectory. Trained networks are stored in a folder, so that
the studies train each network once.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from gflownet_envs import (
    SequentialSelectionEnvironment,
    policies_along,
    solve_exact,
    train_feature_proxies,
    trajectory_of_actions,
)
from gflownet_envs.datasets import fetch_buchwald_hartwig
from gflownet_envs.rewards.gaussian_process import (
    GaussianProcessModes,
    gaussian_process_modes,
    one_hot_levels,
)
from gflownet_envs.rewards.proxies import PAPER_PROXY, ProxySpec
from gflownet_envs.storage import BlockStore

__all__ = ["RECIPES", "Reactions"]

RECIPES = {"default": ProxySpec(), "paper": PAPER_PROXY}
TRAINED_ON = 0.3  # share of the measured reactions behind a proxy and the process


class Reactions:
    """Data, environment, predictions and exact policies.

    Attributes
    ----------
    data : Bunch
        Measured reactions.
    environment : SequentialSelectionEnvironment
        Catalyst, base, aryl halide, additive.
    levels : ndarray of shape (4608, 4), int
        Levels of every reaction.
    reference : Trajectory
        To the reaction of highest measured yield.
    """

    def __init__(self, blocks: str | None = None) -> None:
        self.data = fetch_buchwald_hartwig()
        self.environment = SequentialSelectionEnvironment(self.data.levels)
        self.levels = self.environment.object_levels().numpy()
        best = self.data.data[np.argmax(self.data.target)]
        self.reference = trajectory_of_actions(
            self.environment, (np.array(self.environment.offsets) + best).tolist()
        )
        self._store = BlockStore(blocks) if blocks else None

    def predictions(self, n_members: int, recipe: str) -> np.ndarray:
        """Return predicted yields in percent, (n_members, 4608); fifty at a time."""
        measured, sizes = self.data.data, self.environment.sizes
        return np.concatenate(
            [
                train_feature_proxies(
                    one_hot_levels(measured, sizes),
                    self.data.target,
                    RECIPES[recipe],
                    members=range(first, first + 50),
                    store=self._store,
                ).predict(one_hot_levels(self.levels, sizes))
                for first in range(0, n_members, 50)
            ]
        )

    def policies(
        self,
        log_reward: np.ndarray,  # shape: (E, 4608)
    ) -> np.ndarray:  # shape: (E, 47)
        """Return exact policies along the reference trajectory, steps side by side."""
        policies = solve_exact(self.environment, log_reward)
        return policies_along(self.environment, policies, self.reference).y

    @cached_property
    def steps(self) -> dict[str, int]:
        """Number of actions of each step."""
        return dict(
            zip(self.environment.step_names, self.environment.sizes, strict=True)
        )

    def modes(self, n_modes: int) -> GaussianProcessModes:
        """Return a posterior of all yields, given a part of the measured rows."""
        order = np.random.default_rng(0).permutation(len(self.data.target))
        seen, sizes = order[: round(TRAINED_ON * len(order))], self.environment.sizes
        return gaussian_process_modes(
            one_hot_levels(self.data.data[seen], sizes),
            self.data.target[seen],
            one_hot_levels(self.levels, sizes),
            n_modes=n_modes,
            random_state=0,
        )
