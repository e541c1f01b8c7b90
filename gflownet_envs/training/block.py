"""One block of members that are trained together."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.block_store import BlockLayout
from gflownet_envs.environments.base import Environment
from gflownet_envs.environments.state_graph import StateGraph, TooManyStatesError
from gflownet_envs.objectives import OBJECTIVES, BalanceTerms, log_z_estimates
from gflownet_envs.policies import (
    HeadLayout,
    PolicyNetwork,
    StackedGRU,
    StackedMLP,
    gru_shapes,
    layer_shapes,
)
from gflownet_envs.policies.networks import torch_threads
from gflownet_envs.random_streams import MemberStream, Purpose, UniformChunks
from gflownet_envs.rewards.source import ObjectReward, RewardSource
from gflownet_envs.sampling import (
    Exploration,
    PlainSampler,
    ReplayBuffer,
    RolloutBatch,
    TableSampler,
)
from gflownet_envs.training.convergence import CHECKED, Checker, Checks, reward_of
from gflownet_envs.training.spec import TrainingSpec

#: Array of a block in which members diverged: when each did, −1 for those that did not.
DIVERGED_AT = "diverged_at"

Sampler = PlainSampler | TableSampler


@dataclass(frozen=True, eq=False)
class BlockJob:
    """Everything that training one block needs; it pickles."""

    environment: Environment
    graph: StateGraph | None  # where the space is small enough to list
    reward: RewardSource  # of the members of the block
    streams: list[MemberStream]
    spec: TrainingSpec
    device: str = "cpu"


def list_states(environment: Environment, spec: TrainingSpec) -> StateGraph | None:
    """Return the state graph of a space that is small enough for tables."""
    if not environment.is_enumerable or spec.max_table_states == 0:
        return None
    try:
        return StateGraph.from_environment(environment, spec.max_table_states)
    except TooManyStatesError:
        return None


def network_layout(environment: Environment, spec: TrainingSpec) -> HeadLayout:
    """Return what the policy networks put out."""
    learns_backward = spec.learn_backward_policy and environment.n_backward_actions > 1
    return HeadLayout(
        n_actions=environment.n_actions,
        n_backward_actions=environment.n_backward_actions if learns_backward else 0,
        has_flow=OBJECTIVES[spec.objective].learns_flow,
    )


def block_layout(
    environment: Environment, spec: TrainingSpec, n_members: int
) -> BlockLayout:
    """Return what the arrays of a trained block are."""
    n_outputs = network_layout(environment, spec).n_outputs
    shapes: dict[str, tuple[int | None, ...]]
    if spec.policy == "gru":
        shapes = {**gru_shapes(environment.n_actions, spec.hidden[0], n_outputs)}
    else:
        sizes = (environment.encoding_size, *spec.hidden, n_outputs)
        shapes = {**layer_shapes(sizes)}
    shapes |= {f"final_{name}": () for name in CHECKED} | {"cpu_seconds": ()}
    shapes |= {f"history_{name}": (None,) for name in CHECKED}
    return BlockLayout(n_members, shapes, optional={DIVERGED_AT: ()})


def train_block(
    job: BlockJob, report: Callable[[int], None] = lambda done: None
) -> dict[str, np.ndarray]:
    """Train the members of a block; a loop over iterations."""
    started = time.process_time()
    with torch_threads(1):
        block = _Block(job)
        checks = block.run(report)
    seconds = (time.process_time() - started) / len(job.streams)
    return {
        **block.final_arrays(),
        **checks.arrays(),
        "cpu_seconds": np.full(len(job.streams), seconds),
    }


class _Block:
    """The members that are trained together, and their optimiser."""

    def __init__(self, job: BlockJob) -> None:
        spec, environment = job.spec, job.environment
        self._spec, self._device = spec, job.device
        self._streams = job.streams
        dtype = getattr(torch, spec.dtype)
        self._objective = OBJECTIVES[spec.objective]
        layout = network_layout(environment, spec)
        self._sampler = _make_sampler(job, layout, dtype)
        self.network = _make_network(job, layout, dtype).to(job.device)
        self._reward = job.reward.to(job.device, dtype)
        shape = (spec.batch_size, environment.max_steps)
        self._uniforms = UniformChunks(job.streams, shape)
        self._exploration = Exploration(
            spec.exploration_epsilon, spec.exploration_temperature
        )
        self._n_replayed = round(spec.replay_fraction * spec.batch_size)
        if self._n_replayed:
            self._replay = ReplayBuffer(
                len(job.streams),
                spec.replay_capacity,
                environment.max_steps,
                job.device,
            )
            self._replay_uniforms = UniformChunks(
                job.streams, (self._n_replayed,), purpose=Purpose.REPLAY
            )
        start = 0.0 if spec.log_z_init is None else spec.log_z_init
        n_members = len(job.streams)
        self._log_z = torch.full((n_members,), start, dtype=dtype, device=job.device)
        groups: list[dict[str, Any]] = [
            {"params": self.network.parameters(), "lr": spec.learning_rate}
        ]
        if self._objective.learns_log_z:
            self._log_z.requires_grad_()
            groups.append({"params": [self._log_z], "lr": spec.log_z_learning_rate})
        self._optimizer = torch.optim.Adam(groups, betas=spec.adam_betas, fused=True)
        self._initial_rates = [group["lr"] for group in groups]
        self._checker = Checker(
            self._sampler,
            self._reward,
            job.streams,
            graph=job.graph,
            batch_size=spec.batch_size,
            dtype=dtype,
        )
        self._stopped: dict[int, dict[str, np.ndarray]] = {}
        self._is_active = torch.ones(n_members, dtype=torch.bool, device=job.device)
        self._diverged_at = np.full(n_members, -1)
        self._is_listed = job.graph is not None

    def run(self, report: Callable[[int], None]) -> Checks:
        """Train until the end, or until every member has stopped."""
        spec = self._spec
        checks = Checks(len(self._streams))
        for iteration in range(spec.n_iterations):
            report(iteration)
            checks.add_iteration(*self._update(iteration))
            done = iteration + 1
            all_diverged = bool((self._diverged_at >= 0).all())
            is_last = done == spec.n_iterations or all_diverged
            if is_last or (spec.check_every and done % spec.check_every == 0):
                seen = self._checker(self.network)
                checks.add_check(done, seen)
                self._leave_lost(seen, done)
                self._stop_members(checks, is_last)
                if is_last or self._n_done == len(self._streams):
                    break
        return checks

    @property
    def _n_done(self) -> int:
        """Number of members that have stopped or diverged."""
        return len(self._stopped) + int((self._diverged_at >= 0).sum())

    def final_arrays(self) -> dict[str, np.ndarray]:
        """Return the parameters of all members, at the iteration each one stopped."""
        arrays = self.network.to_arrays()
        for row, own in self._stopped.items():
            for name, array in own.items():
                arrays[name][row] = array
        if (self._diverged_at >= 0).any():
            arrays[DIVERGED_AT] = self._diverged_at
        return arrays

    def _stop_members(self, checks: Checks, is_last: bool) -> None:
        """Keep the parameters of members that are good enough by now."""
        spec = self._spec
        if is_last or (
            spec.stop_at_distance is None and spec.stop_at_effective_sample_size is None
        ):
            return
        good = checks.good_enough(
            spec.stop_at_distance, spec.stop_at_effective_sample_size
        )
        good &= self._diverged_at < 0
        new = [r for r in np.flatnonzero(good).tolist() if r not in self._stopped]
        if new:
            arrays = self.network.to_arrays()
            for row in new:
                self._stopped[row] = {name: a[row] for name, a in arrays.items()}
            checks.freeze(new)
            self._is_active[new] = False

    def _update(self, iteration: int) -> tuple[Tensor, Tensor]:  # shapes: (E,), (E,)
        """Take one step of Adam; return the losses and log Z before it."""
        self._set_learning_rates(iteration)
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
        if self._n_done:  # what happens to them after does not matter
            losses = losses.where(self._is_active, 0.0)
        total = losses.sum()
        if not math.isfinite(total.item()):
            self._leave_diverged(losses, iteration)
            total = losses.where(self._is_active, 0.0).sum()
        self._optimizer.zero_grad(set_to_none=True)
        total.backward()
        if self._spec.max_gradient_norm is not None:
            self._shorten_gradients(self._spec.max_gradient_norm)
        reported = log_z.detach().clone()
        self._optimizer.step()
        self._silence_diverged()
        if self._n_replayed:
            fresh = slice(self._n_replayed, None)
            self._replay.add(batch.actions[:, fresh], log_reward[:, fresh])
        return losses.detach(), reported

    @torch.no_grad()
    def _shorten_gradients(self, largest: float) -> None:
        """Shorten each member's gradient to a norm, all its parameters together."""
        parameters = [p for g in self._optimizer.param_groups for p in g["params"]]
        gradients = [p.grad for p in parameters if p.grad is not None]
        squares = [g.square().reshape(len(g), -1).sum(dim=1) for g in gradients]
        norm = torch.stack(squares).sum(dim=0).sqrt()
        factor = (largest / norm).clamp(max=1.0)
        for gradient in gradients:
            gradient.mul_(factor.view(-1, *(1,) * (gradient.ndim - 1)))

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

    def _set_learning_rates(self, iteration: int) -> None:
        last = self._spec.final_learning_rate_fraction
        share_done = iteration / self._spec.n_iterations
        factor = last + (1 - last) * 0.5 * (1 + np.cos(np.pi * share_done))
        for group, rate in zip(
            self._optimizer.param_groups, self._initial_rates, strict=True
        ):
            group["lr"] = rate * float(factor)

    def _leave_lost(self, seen: dict[str, np.ndarray], done: int) -> None:
        """Give up the members of whose policy a check says that it is no number."""
        lost = ~np.isfinite(seen["log_z_estimate"])
        if self._is_listed:
            lost |= np.isnan(seen["distance"])
        lost[list(self._stopped)] = False
        self._diverged_at[lost & (self._diverged_at < 0)] = done
        self._is_active[torch.from_numpy(lost).to(self._device)] = False
        self._silence_diverged()

    def _leave_diverged(self, losses: Tensor, iteration: int) -> None:
        """Give up the members whose loss is no number; the others go on."""
        rows = (~torch.isfinite(losses)).cpu().numpy()
        self._diverged_at[rows] = iteration  # none where only the sum is too large
        self._is_active[torch.from_numpy(rows).to(self._device)] = False

    @torch.no_grad()
    def _silence_diverged(self) -> None:
        """Let diverged members act uniformly, so that they walk and harm nobody."""
        if (self._diverged_at < 0).all():
            return
        rows = torch.from_numpy(self._diverged_at >= 0).to(self._device)
        for group in self._optimizer.param_groups:
            for parameter in group["params"]:
                parameter[rows] = 0
                for name, moment in self._optimizer.state[parameter].items():
                    if name != "step":
                        moment[rows] = 0


def _make_sampler(job: BlockJob, layout: HeadLayout, dtype: torch.dtype) -> Sampler:
    """Choose look-ups where the space is listed and the network reads states."""
    if (
        job.graph is None
        or job.spec.policy != "mlp"
        or layout.n_backward_actions
        or not isinstance(job.reward, ObjectReward)
    ):
        return PlainSampler(job.environment, layout)
    return TableSampler(job.graph, job.spec.batch_size, dtype, layout, job.device)


def _make_network(
    job: BlockJob, layout: HeadLayout, dtype: torch.dtype
) -> PolicyNetwork:
    spec, environment = job.spec, job.environment
    if spec.policy == "gru":
        return StackedGRU(
            environment.n_actions, spec.hidden[0], layout.n_outputs, job.streams, dtype
        )
    sizes = (environment.encoding_size, *spec.hidden, layout.n_outputs)
    return StackedMLP(sizes, job.streams, dtype, spec.initialization)
