"""What samplers and solvers ask of a stack of policy networks."""

from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.environments.base import Environment


class Walker(Protocol):
    """A network that follows a batch of trajectories of every member."""

    def outputs_now(self, states: Tensor) -> Tensor:
        """Return the outputs in the present states, (E, B, S) -> (E, B, n_outputs)."""
        ...

    def advance(self, actions: Tensor) -> None:
        """Take the actions, shape (E, B), that were chosen in the present states."""
        ...

    def outputs(self) -> Tensor:
        """Return the outputs in all states seen so far, with gradients.

        Shape (E, B, n_seen, n_outputs): one pass over everything (teacher forcing).
        """
        ...


class PolicyNetwork(Protocol):
    """One network a member, evaluated together."""

    @property
    def n_members(self) -> int:
        """Number of networks in the stack."""
        ...

    @property
    def dtype(self) -> torch.dtype:
        """Precision of the parameters."""
        ...

    def outputs(self, environment: Environment, states: Tensor) -> Tensor:
        """Return the outputs of all members in the same states, (E, N, n_outputs)."""
        ...

    def walker(self, environment: Environment) -> Walker:
        """Return a walker at the initial state."""
        ...

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return copies of the parameters by name."""
        ...
