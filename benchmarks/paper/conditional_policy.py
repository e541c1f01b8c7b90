"""One GFlowNet for all rewards: its network sees the inputs of the reward.

The rival of an ensemble with a surrogate: nothing is fitted afterwards, since the
network itself maps inputs to policies. Trained on the fitted members' rewards alone.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gflownet_envs.environments.base import Environment
from gflownet_envs.exact.trajectories import Trajectory, policies_along
from gflownet_envs.rewards.source import RewardSource

WIDTH, MEMBERS, TRAJECTORIES = 128, 16, 16
LEARNING_RATE, EXPLORATION = 3e-3, 0.05


@dataclass(frozen=True, eq=False)
class ConditionalPolicy:
    """A trained network.

    Attributes
    ----------
    environment : Environment
    network : Module
        Maps states and inputs, side by side, to logits.
    cpu_seconds : float
        Of the training.
    """

    environment: Environment
    network: nn.Module
    cpu_seconds: float

    def policies(self, inputs: np.ndarray, trajectory: Trajectory) -> np.ndarray:
        """Return the policies along a trajectory at each row of the inputs."""
        source = _AtInputs(self, torch.as_tensor(inputs, dtype=torch.float32))
        return policies_along(self.environment, source, trajectory).y


@dataclass(frozen=True, eq=False)
class _AtInputs:
    """The network at some inputs, as the policies of an ensemble."""

    policy: ConditionalPolicy
    inputs: Tensor  # shape: (E, d)

    def log_policy(self, states: Tensor) -> Tensor:
        with torch.no_grad():
            return _log_policy(
                self.policy.environment,
                self.policy.network,
                states.expand(len(self.inputs), *states.shape),
                self.inputs[:, None].expand(-1, len(states), -1),
            )


def train_conditional(
    environment: Environment,
    reward: RewardSource,  # of E members
    inputs: np.ndarray,  # shape: (E, d)
    *,
    n_iterations: int,
    seed: int,
) -> ConditionalPolicy:
    """Train by VarGrad: each iteration has some members, each with a batch of its own.

    Parameters
    ----------
    environment : Environment
    reward : RewardSource
        Of the members to fit.
    inputs : ndarray of shape (n_members, n_inputs)
    n_iterations : int
    seed : int
    """
    started = time.process_time()
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)  # of the initial weights
    given = torch.as_tensor(inputs, dtype=torch.float32)
    n_features = environment.encode(environment.initial_state()).shape[-1]
    network = nn.Sequential(
        nn.Linear(n_features + given.shape[1], WIDTH),
        nn.ReLU(),
        nn.Linear(WIDTH, WIDTH),
        nn.ReLU(),
        nn.Linear(WIDTH, environment.n_actions),
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(
        optimizer, n_iterations, LEARNING_RATE / 100
    )
    for _ in range(n_iterations):
        rows = torch.randint(len(given), (MEMBERS,), generator=generator)
        some = reward.select(rows.numpy())
        loss = _loss(environment, network, some, given[rows], generator)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        decay.step()
    return ConditionalPolicy(environment, network, time.process_time() - started)


def _loss(
    environment: Environment,
    network: nn.Module,
    reward: RewardSource,  # of M members
    inputs: Tensor,  # shape: (M, d)
    generator: torch.Generator,
) -> Tensor:
    """Return the variance of log R + log P_B − log P_F over each member's batch."""
    shape = (len(inputs), TRAJECTORIES)
    states = environment.initial_state(shape)
    seen = inputs[:, None].expand(*shape, -1)
    balance = torch.zeros(shape)
    for _ in range(environment.max_steps):
        going = ~environment.is_terminal(states)
        if not going.any():
            break
        log_policy = _log_policy(environment, network, states, seen)
        mask = environment.valid_mask(states)
        with torch.no_grad():
            even = mask / mask.sum(-1, keepdim=True).clamp(min=1)
            chances = (1 - EXPLORATION) * log_policy.exp() + EXPLORATION * even
            chances[~going] = 1.0  # taken nowhere
            actions = torch.multinomial(
                chances.reshape(-1, chances.shape[-1]), 1, generator=generator
            ).reshape(shape)
        taken = log_policy.gather(-1, actions[..., None])[..., 0]
        balance = balance - torch.where(going, taken, torch.zeros(()))
        states = torch.where(
            going[..., None], environment.step(states, actions), states
        )
        parents = environment.backward_mask(states).sum(-1).clamp(min=1)
        balance = balance - torch.where(going, parents.log(), torch.zeros(()))
    balance = balance + reward.of_states(states).float()
    return (balance - balance.mean(dim=1, keepdim=True).detach()).square().mean()


def _log_policy(
    environment: Environment, network: nn.Module, states: Tensor, inputs: Tensor
) -> Any:
    """Return log P_F; −inf where an action is not allowed."""
    features = torch.cat([environment.encode(states).float(), inputs], dim=-1)
    mask = environment.valid_mask(states)
    mask = mask | ~mask.any(-1, keepdim=True)  # terminal states: anything
    return network(features).masked_fill(~mask, -torch.inf).log_softmax(-1)
