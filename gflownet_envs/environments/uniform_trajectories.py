"""Trajectories of the uniform policy, which the checks of environments use."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.block_store import array_digest
from gflownet_envs.environments.base import Environment, require_choice

_N_DIGESTED = 64  # walks behind the digest of an environment


@dataclass(frozen=True, eq=False)
class SampledTrajectories:
    """Uniformly random trajectories, padded by their terminal states."""

    states: Tensor  # shape: (B, T + 1, S)
    actions: Tensor  # shape: (B, T), meaningless where `alive` is False
    alive: Tensor  # shape: (B, T), whether ``states[:, t]`` is not terminal

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
    environment: Environment, n_trajectories: int, seed: int = 0
) -> SampledTrajectories:
    """Roll out the uniform policy; raise ValueError in a dead end."""
    generator = torch.Generator().manual_seed(seed)
    state = environment.initial_state((n_trajectories,))
    states, actions = [state], []
    for _ in range(environment.max_steps):
        mask = environment.valid_mask(state)
        require_choice(environment, state, mask)
        weights = (mask | ~mask.any(dim=-1, keepdim=True)).to(torch.float64)
        action = torch.multinomial(weights, 1, generator=generator)[:, 0]
        state = environment.step(state, action)
        states.append(state)
        actions.append(action)
    stacked = torch.stack(states, dim=1)
    alive = ~environment.is_terminal(stacked[:, :-1])
    return SampledTrajectories(stacked, torch.stack(actions, dim=1), alive)


def environment_digest(environment: Environment) -> str:
    """Return a checksum of random walks, which differs for spaces of the same name."""
    rng = np.random.default_rng(0)  # the same numbers in every version of torch
    state = environment.initial_state((_N_DIGESTED,))
    seen = []
    for _ in range(environment.max_steps):
        mask = environment.valid_mask(state)
        require_choice(environment, state, mask)
        weight = torch.from_numpy(rng.random(mask.shape))
        action = weight.masked_fill(~mask, -1.0).argmax(dim=-1)
        state = environment.step(state, action)
        tables = (
            mask,
            state,
            environment.backward_mask(state),
            environment.encode(state),
        )
        seen += [array_digest(table.cpu().numpy()) for table in tables]
    if environment.n_objects is not None:
        seen.append(array_digest(environment.object_index(state).cpu().numpy()))
    return array_digest(np.frombuffer("".join(seen).encode(), dtype=np.uint8))
