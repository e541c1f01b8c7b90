"""Training a policy for every reward of an ensemble, all members at once."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from numbers import Integral

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from gflownet_envs.blocks import (
    Progress,
    Store,
    array_digest,
    block_ticker,
    json_values,
    load_or_run,
    split_into_blocks,
)
from gflownet_envs.environments.base import Environment
from gflownet_envs.objectives import OBJECTIVES, log_z_estimates
from gflownet_envs.policies.mlp import StackedMLP
from gflownet_envs.random_streams import MemberStream, UniformChunks, member_streams
from gflownet_envs.reward_table import validated_log_reward
from gflownet_envs.rollouts import PlainSampler, RolloutBatch, TableSampler
from gflownet_envs.state_graph import StateGraph, TooManyStatesError
from gflownet_envs.threads import torch_threads
from gflownet_envs.trained_ensemble import TrainedEnsemble, TrainingDiagnostics
from gflownet_envs.training_spec import PAPER_TRAINING, TrainingSpec

__all__ = ["PAPER_TRAINING", "TrainingSpec", "train_ensemble"]

_EXPLODED = 1e12  # sums of parameters whose logits overflow
_N_AVERAGED = 100  # iterations that the diagnostics average over

Sampler = PlainSampler | TableSampler


def train_ensemble(
    environment: Environment,
    log_reward: Tensor | ArrayLike,  # shape: (n_members, n_objects)
    spec: TrainingSpec | None = None,
    *,
    seed: int = 0,
    members: Sequence[int] | None = None,
    common_random_numbers: bool = False,
    progress: Progress | None = None,
    store: Store | None = None,
) -> TrainedEnsemble:
    """Train one policy for each row of a reward table.

    Members share nothing but the arithmetic: parameters are stacked, the sum of the
    members' losses is minimised by Adam, and each member has its own random stream.
    Member 17 of 50 is, up to rounding, member 17 trained alone.

    Parameters
    ----------
    environment : Environment
    log_reward : Tensor or array of shape (n_members, n_objects)
    spec : TrainingSpec, optional
        Default: ``TrainingSpec()``.
    seed : int, default=0
    members : sequence of int, optional
        The numbers of the members whose rewards are the rows of `log_reward`: they
        name the random streams. Default: 0, 1, 2, …
    common_random_numbers : bool, default=False
        Let all members share one random stream, initial parameters included.
    progress : callable, optional
        Called as ``progress(done, total)`` in iterations over all blocks.
    store : Store, optional
        Finished blocks are saved there and not trained again.

    Returns
    -------
    TrainedEnsemble

    Examples
    --------
    >>> from gflownet_envs import GridEnvironment
    >>> env = GridEnvironment(size=2, max_moves=1)
    >>> ensemble = train_ensemble(env, [[0.0, 1.0, 2.0]], TrainingSpec(n_iterations=3))
    >>> ensemble.log_policy(env.initial_state()).exp().sum().round(decimals=6).item()
    1.0
    """
    spec = TrainingSpec() if spec is None else spec
    if not isinstance(spec, TrainingSpec):
        raise ValueError(f"spec must be a TrainingSpec or None, got {spec!r}")
    log_reward = validated_log_reward(log_reward, environment)
    numbers = _member_numbers(members, log_reward.shape[0])
    sampler = _make_sampler(environment, spec)
    blocks = split_into_blocks(len(numbers), spec.block_size)
    finished = []
    for i, block in enumerate(blocks):
        rewards = log_reward[block]
        streams = member_streams(seed, numbers[block], common_random_numbers)
        tick = block_ticker(progress, i, len(blocks), spec.n_iterations)
        key = {
            "kind": "policies",
            "environment": environment.name,
            "actions": list(environment.action_names),
            "encoding_size": environment.encoding_size,
            "spec": json_values(asdict(spec)),
            "seed": int(seed),
            "members": list(numbers[block]),
            "common_random_numbers": bool(common_random_numbers),
            "log_reward_sha256": array_digest(rewards.numpy()),
        }
        run = partial(_train_block, sampler, rewards, streams, spec, tick)
        finished.append(load_or_run(store, key, run))
        tick(spec.n_iterations)
    return _join_blocks(environment, numbers, finished)


def _member_numbers(members: Sequence[int] | None, n_rows: int) -> tuple[int, ...]:
    """Check the numbers of the members, one a row of the reward table."""
    if members is None:
        return tuple(range(n_rows))
    for member in members:
        if not isinstance(member, Integral) or isinstance(member, bool):
            raise ValueError(f"members must be ints, got {member!r}")
    numbers = tuple(int(member) for member in members)
    if len(numbers) != n_rows:
        raise ValueError(
            f"members must name each of the {n_rows} rows of log_reward, "
            f"got {len(numbers)} numbers"
        )
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"members must be distinct, got {numbers}")
    return numbers


def _make_sampler(environment: Environment, spec: TrainingSpec) -> Sampler:
    """Choose look-ups where the space is small enough to list."""
    if not environment.is_enumerable or spec.max_table_states == 0:
        return PlainSampler(environment)
    try:
        graph = StateGraph.from_environment(environment, spec.max_table_states)
    except TooManyStatesError:
        return PlainSampler(environment)
    return TableSampler(graph, spec.batch_size, getattr(torch, spec.dtype))


def _train_block(
    sampler: Sampler,
    log_reward: Tensor,  # shape: (E, n_objects)
    streams: list[MemberStream],
    spec: TrainingSpec,
    report: Callable[[int], None],
) -> dict[str, np.ndarray]:
    """Train the members of a block; a loop over iterations."""
    started = time.process_time()
    block = _Block(sampler, log_reward, streams, spec)
    n_averaged = min(_N_AVERAGED, spec.n_iterations)
    sums = torch.zeros((2, len(streams)), dtype=torch.float64)
    with torch_threads(1):
        for iteration in range(spec.n_iterations):
            report(iteration)
            try:
                losses, log_z = block.update(iteration)
            except IndexError:  # policies that are no numbers choose no action
                _refuse_divergence(block.parameter_sums(), streams, iteration)
                raise
            _refuse_divergence(losses, streams, iteration)
            if iteration >= spec.n_iterations - n_averaged:
                sums += torch.stack((losses, log_z))
    final_loss, log_z = (sums / n_averaged).numpy()
    seconds = (time.process_time() - started) / len(streams)
    return {
        **block.network.to_arrays(),
        "final_loss": final_loss,
        "log_z": log_z,
        "cpu_seconds": np.full(len(streams), seconds),
    }


def _refuse_divergence(
    losses: Tensor,  # shape: (E,)
    streams: list[MemberStream],
    iteration: int,
) -> None:
    """Stop with the members that diverged: their policies are nothing."""
    if bool(torch.isfinite(losses).all()):
        return
    members = [streams[i].member for i in (~torch.isfinite(losses)).nonzero()[:, 0]]
    raise ValueError(
        f"training diverged: the loss or the parameters of the members {members} are "
        f"not finite in iteration {iteration}; lower learning_rate or the scale of "
        "log_reward"
    )


class _Block:
    """The members that are trained together, and their optimiser."""

    def __init__(
        self,
        sampler: Sampler,
        log_reward: Tensor,  # shape: (E, n_objects)
        streams: list[MemberStream],
        spec: TrainingSpec,
    ) -> None:
        environment = sampler.environment
        dtype = getattr(torch, spec.dtype)
        sizes = (environment.encoding_size, *spec.hidden, environment.n_actions)
        self.network = StackedMLP(sizes, streams, dtype, spec.initialization)
        self._spec = spec
        self._sampler = sampler
        self._objective = OBJECTIVES[spec.objective]
        self._log_reward = log_reward.to(dtype)
        shape = (spec.batch_size, environment.max_steps)
        self._uniforms = UniformChunks(streams, shape)
        start = 0.0 if spec.log_z_init is None else spec.log_z_init
        self._log_z = torch.full((len(streams),), start, dtype=dtype)
        groups = [{"params": self.network.parameters(), "lr": spec.learning_rate}]
        if self._objective.learns_log_z:
            self._log_z.requires_grad_()
            groups.append({"params": [self._log_z], "lr": spec.log_z_learning_rate})
        self._optimizer = torch.optim.Adam(groups, betas=spec.adam_betas, fused=True)
        self._initial_rates = [group["lr"] for group in groups]

    def update(
        self,
        iteration: int,
    ) -> tuple[Tensor, Tensor]:  # shapes: (E,), (E,)
        """Take one step of Adam; return the losses and log Z before it."""
        self._set_learning_rates(iteration)
        uniforms = torch.from_numpy(self._uniforms.next()).to(self.network.dtype)
        batch = self._sampler(self.network, uniforms, self._spec.exploration_epsilon)
        log_reward = self._log_reward.gather(1, batch.objects)
        log_z = self._current_log_z(batch, log_reward, iteration)
        losses = self._objective.loss(batch.log_pf, batch.log_pb, log_reward, log_z)
        self._optimizer.zero_grad(set_to_none=True)
        losses.sum().backward()
        reported = log_z.detach().clone()
        self._optimizer.step()
        return losses.detach(), reported

    @torch.no_grad()
    def parameter_sums(self) -> Tensor:  # shape: (E,)
        """Return the sum of a member's absolute parameters; NaN when it exploded."""
        sums = [p.abs().flatten(1).sum(dim=1) for p in self.network.parameters()]
        total = torch.stack(sums).sum(dim=0)
        return total.where(total < _EXPLODED, torch.nan)

    def _current_log_z(
        self,
        batch: RolloutBatch,
        log_reward: Tensor,  # shape: (E, B)
        iteration: int,
    ) -> Tensor:  # shape: (E,)
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


def _join_blocks(
    environment: Environment,
    members: tuple[int, ...],
    blocks: list[dict[str, np.ndarray]],
) -> TrainedEnsemble:
    arrays = {
        name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]
    }
    diagnostics = TrainingDiagnostics(
        final_loss=arrays.pop("final_loss"),
        log_z=arrays.pop("log_z"),
        cpu_seconds=arrays.pop("cpu_seconds"),
    )
    return TrainedEnsemble(
        environment=environment,
        members=members,
        network=StackedMLP.from_arrays(arrays),
        diagnostics=diagnostics,
    )
