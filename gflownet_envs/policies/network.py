"""What samplers and solvers ask of a stack of policy networks."""

from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.environments.base import Environment
from gflownet_envs.policies.heads import masked_log_policy

_VALUES_AT_ONCE = 2**24  # numbers that a layer of all members puts out at a time


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


@torch.no_grad()
def log_policy_in_states(
    network: PolicyNetwork,
    environment: Environment,
    states: Tensor,  # shape: (N, S)
) -> Tensor:  # shape: (E, N, A), float64
    """Return log P_F of every member in the same states; −inf where masked.

    The states are passed through the network in parts, which bounds the memory that
    is needed beside the result.
    """
    width = max(array.shape[-1] for array in network.to_arrays().values())
    n_rows = max(1, _VALUES_AT_ONCE // (network.n_members * width))
    n_actions = environment.n_actions
    shape = (network.n_members, len(states), n_actions)
    log_policy = torch.empty(shape, dtype=torch.float64)
    for start in range(0, len(states), n_rows):
        rows = slice(start, start + n_rows)
        logits = network.outputs(environment, states[rows])[..., :n_actions]
        mask = environment.valid_mask(states[rows])
        log_policy[:, rows] = masked_log_policy(logits.to(torch.float64), mask)
    return log_policy
