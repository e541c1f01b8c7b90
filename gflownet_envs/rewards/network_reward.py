"""Rewards that a network of each member makes of features of what is finished."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import Self

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.environments.base import Environment
from gflownet_envs.policies.networks import StackedMLP

_VALUES_AT_ONCE = 2**20


class NetworkReward(ABC):
    """Log R as the output of each member's network over a temperature.

    It is a source of rewards for training (`of_states`), and a function of members and
    objects, as `solve_exact` takes it where a table would be too large.
    """

    def __init__(
        self, environment: Environment, network: StackedMLP, temperature: float
    ) -> None:
        self.environment = environment
        self.network = network.requires_grad_(False)
        self.temperature = temperature

    @property
    def n_members(self) -> int:
        """Number of rewards."""
        return self.network.n_members

    @abstractmethod
    def features_of_states(self, states: Tensor) -> Tensor:
        """Return what the networks see, (..., S) -> (..., F)."""

    @abstractmethod
    def features_of_objects(self, objects: Tensor) -> Tensor:
        """Return what the networks see, (...) -> (..., F)."""

    @torch.no_grad()
    def of_states(self, states: Tensor) -> Tensor:
        """Return log R of terminal states."""
        return self.network(self.features_of_states(states))[..., 0] / self.temperature

    @torch.no_grad()
    def of_objects(self, objects: Tensor) -> Tensor:
        """Return log R of objects."""
        features = self.features_of_objects(objects)
        return self.network(features)[..., 0] / self.temperature

    def __call__(
        self,
        members: slice,
        objects: Tensor,  # shape: (m,)
    ) -> Tensor:  # shape: (e, m)
        """Return log R of some members and objects."""
        some = self.select(members)
        widest = max(bias.numel() for bias in some.network.biases)  # of all members
        chunks = objects.split(max(1, _VALUES_AT_ONCE // widest))
        return torch.cat([some.of_objects(chunk) for chunk in chunks], dim=1)

    def select(self, rows: slice | np.ndarray) -> Self:
        """Return the rewards of some members."""
        made = copy(self)
        made.network = self.network.select(rows).requires_grad_(False)
        return made

    def to(self, device: torch.device | str, dtype: torch.dtype) -> Self:
        """Return a copy with another precision, on another device."""
        made = self.select(slice(None))
        made.network = made.network.to(device, dtype)
        return made
