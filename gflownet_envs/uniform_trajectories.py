"""Trajectories of the uniform policy, which the checks of environments look at."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gflownet_envs.environments.base import Environment


@dataclass(frozen=True, eq=False)
class SampledTrajectories:
    """Uniformly random trajectories, padded by their terminal states.

    Attributes
    ----------
    states : Tensor of shape (B, T + 1, S)
    actions : Tensor of shape (B, T)
        Meaningless where `alive` is False.
    alive : Tensor of shape (B, T), bool
        Whether ``states[:, t]`` is not terminal.
    """

    states: Tensor
    actions: Tensor
    alive: Tensor

    @property
    def before(self) -> Tensor:  # shape: (n_edges, S)
        """The states in which the actions were taken."""
        return self.states[:, :-1][self.alive]

    @property
    def steps(self) -> Tensor:  # shape: (n_edges,)
        """The numbers of actions that led to the states of `before`."""
        times = torch.arange(self.actions.shape[1])
        return times.expand_as(self.actions)[self.alive]

    @property
    def taken(self) -> Tensor:  # shape: (n_edges,)
        """The actions."""
        return self.actions[self.alive]

    @property
    def after(self) -> Tensor:  # shape: (n_edges, S)
        """The states they led to."""
        return self.states[:, 1:][self.alive]

    @property
    def final(self) -> Tensor:  # shape: (B, S)
        """The states after `max_steps` actions."""
        return self.states[:, -1]


def sample_uniformly(
    environment: Environment,
    n_trajectories: int,
    seed: int = 0,
) -> SampledTrajectories:
    """Roll out the uniform policy.

    Examples
    --------
    >>> from gflownet_envs.environments import GridEnvironment
    >>> sample_uniformly(GridEnvironment(), n_trajectories=3).states.shape
    torch.Size([3, 7, 4])
    """
    generator = torch.Generator().manual_seed(seed)
    state = environment.initial_state((n_trajectories,))
    states, actions = [state], []
    for _ in range(environment.max_steps):
        mask = environment.valid_mask(state)
        weights = (mask | ~mask.any(dim=-1, keepdim=True)).to(torch.float64)
        action = torch.multinomial(weights, 1, generator=generator)[:, 0]
        state = environment.step(state, action)
        states.append(state)
        actions.append(action)
    stacked = torch.stack(states, dim=1)
    alive = ~environment.is_terminal(stacked[:, :-1])
    return SampledTrajectories(stacked, torch.stack(actions, dim=1), alive)
