"""Steps of training by torch's autograd, for any policy, objective and device."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gflownet_envs.objectives import OBJECTIVES, BalanceTerms, log_z_estimates
from gflownet_envs.policies import PolicyNetwork
from gflownet_envs.random_streams import MemberStream, Purpose, UniformChunks
from gflownet_envs.rewards.source import RewardSource
from gflownet_envs.sampling import (
    Exploration,
    PlainSampler,
    ReplayBuffer,
    RolloutBatch,
    TableSampler,
)
from gflownet_envs.training.convergence import reward_of
from gflownet_envs.training.spec import TrainingSpec

Sampler = PlainSampler | TableSampler


class AutogradLearner:
    """Networks of many members, and what a step of training does to them.

    Parameters
    ----------
    sampler : PlainSampler or TableSampler
    network : PolicyNetwork
        On the device; it is trained in place.
    reward : RewardSource
        In the precision and on the device of the network.
    streams : list of MemberStream
    spec : TrainingSpec
    """

    def __init__(
        self,
        sampler: Sampler,
        network: PolicyNetwork,
        reward: RewardSource,
        streams: list[MemberStream],
        spec: TrainingSpec,
    ) -> None:
        self._sampler, self.network, self._reward = sampler, network, reward
        self._spec = spec
        self._objective = OBJECTIVES[spec.objective]
        self._device = next(network.parameters()).device
        n_members, n_steps = len(streams), sampler.environment.max_steps
        self._uniforms = UniformChunks(streams, (spec.batch_size, n_steps))
        self._exploration = Exploration(
            spec.exploration_epsilon, spec.exploration_temperature
        )
        self._n_replayed = round(spec.replay_fraction * spec.batch_size)
        if self._n_replayed:
            self._replay = ReplayBuffer(
                n_members, spec.replay_capacity, n_steps, self._device
            )
            self._replay_uniforms = UniformChunks(
                streams, (self._n_replayed,), purpose=Purpose.REPLAY
            )
        start = 0.0 if spec.log_z_init is None else spec.log_z_init
        self._log_z = torch.full(
            (n_members,), start, dtype=network.dtype, device=self._device
        )
        groups: list[dict[str, Any]] = [
            {"params": network.parameters(), "lr": spec.learning_rate}
        ]
        if self._objective.learns_log_z:
            self._log_z.requires_grad_()
            groups.append({"params": [self._log_z], "lr": spec.log_z_learning_rate})
        self._optimizer = torch.optim.Adam(groups, betas=spec.adam_betas, fused=True)
        self._initial_rates = [group["lr"] for group in groups]

    def step(
        self, iteration: int, rate_factor: float
    ) -> tuple[Tensor, Tensor]:  # shapes: (E,), (E,)
        """Take one step of Adam; return the losses and log Z before it."""
        for group, rate in zip(
            self._optimizer.param_groups, self._initial_rates, strict=True
        ):
            group["lr"] = rate * rate_factor
        batch = self._sampler(
            self.network,
            self._next(self._uniforms),
            self._exploration,
            self._replayed_actions(),
        )
        log_reward = reward_of(self._reward, batch)
        log_z = self._current_log_z(batch, log_reward, iteration)
        losses = self._objective.loss(
            BalanceTerms(
                log_pf=batch.log_pf,
                log_pb=batch.log_pb,
                log_reward=log_reward,
                log_z=log_z,
                alive=batch.alive,
                log_flow=batch.log_flow,
                decay=self._spec.sub_trajectory_decay,
            )
        )
        self._optimizer.zero_grad(set_to_none=True)
        losses.sum().backward()  # a loss that is no number spoils its member alone
        if self._spec.max_gradient_norm is not None:
            self._shorten_gradients(self._spec.max_gradient_norm)
        reported = log_z.detach().clone()
        self._optimizer.step()
        if self._n_replayed:
            fresh = slice(self._n_replayed, None)
            self._replay.add(batch.actions[:, fresh], log_reward[:, fresh])
        return losses.detach(), reported

    @torch.no_grad()
    def _shorten_gradients(self, largest: float) -> None:
        """Shorten each member's gradient to a norm, all its parameters together."""
        gradients = [p.grad for p in self._parameters() if p.grad is not None]
        squares = [g.square().reshape(len(g), -1).sum(dim=1) for g in gradients]
        norm = torch.stack(squares).sum(dim=0).sqrt()
        factor = (largest / norm).clamp(max=1.0)
        for gradient in gradients:
            gradient.mul_(factor.view(-1, *(1,) * (gradient.ndim - 1)))

    def _parameters(self) -> list[Tensor]:
        return [p for group in self._optimizer.param_groups for p in group["params"]]

    def _next(self, chunks: UniformChunks) -> Tensor:
        return torch.from_numpy(chunks.next()).to(self._device, self.network.dtype)

    def _replayed_actions(self) -> Tensor | None:  # shape: (E, B, T)
        """Return the actions to repeat, −1 where new ones are to be sampled."""
        if not self._n_replayed:
            return None
        uniforms = self._next(self._replay_uniforms)
        if not self._replay.n_stored:
            return None
        replayed = self._replay.draw(uniforms)
        n_fresh = self._spec.batch_size - self._n_replayed
        return torch.nn.functional.pad(replayed, (0, 0, 0, n_fresh), value=-1)

    def _current_log_z(
        self, batch: RolloutBatch, log_reward: Tensor, iteration: int
    ) -> Tensor:  # shapes: log_reward (E, B) -> (E,)
        """Return the parameter log Z, or the estimate of this batch."""
        start_now = iteration == 0 and self._spec.log_z_init is None
        if self._objective.learns_log_z and not start_now:
            return self._log_z
        with torch.no_grad():
            estimates = log_z_estimates(batch.log_pf, batch.log_pb, log_reward)
            self._log_z.copy_(estimates.mean(dim=-1))
        return self._log_z

    @torch.no_grad()
    def keep(self, rows: NDArray[np.intp], reward: RewardSource) -> None:
        """Go on with some members, whose rewards are given."""
        own = torch.from_numpy(rows).to(self._device)
        for parameter in self._parameters():
            parameter.data = parameter[own].clone()
            parameter.grad = None
            for name, moment in self._optimizer.state[parameter].items():
                if name != "step":
                    self._optimizer.state[parameter][name] = moment[own]
        if not self._objective.learns_log_z:
            self._log_z = self._log_z[own]
        self._reward = reward
        self._uniforms.keep(rows)
        if self._n_replayed:
            self._replay.keep(own)
            self._replay_uniforms.keep(rows)
