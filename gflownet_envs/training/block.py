"""One block of members that are trained together."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from gflownet_envs.environments.base import Environment, StateGraph
from gflownet_envs.objectives import OBJECTIVES
from gflownet_envs.policies import (
    HeadLayout,
    PolicyNetwork,
    StackedGRU,
    StackedMLP,
)
from gflownet_envs.policies.networks import torch_threads
from gflownet_envs.random_streams import MemberStream
from gflownet_envs.rewards.source import ObjectReward, RewardSource
from gflownet_envs.sampling import PlainSampler, TableSampler
from gflownet_envs.training.array_learner import ArrayLearner, fits_arrays
from gflownet_envs.training.autograd_learner import AutogradLearner, Sampler
from gflownet_envs.training.convergence import Checker, CheckLogger, Checks
from gflownet_envs.training.spec import TrainingSpec

#: Array of a block in which members diverged: when each did, −1 for those that did not.
DIVERGED_AT = "diverged_at"

_MAX_ARRAY_MEMBERS = 25  # of a block: quicker than fewer or more on most spaces
_MEMBERS_ON_A_GPU = 1024  # of a block: steps of many cost what steps of few do


@dataclass(frozen=True, eq=False)
class BlockJob:
    """Everything that training one block needs; it pickles."""

    environment: Environment
    graph: StateGraph | None  # where the space is small enough to list
    reward: RewardSource  # of the members of the block
    streams: list[MemberStream]
    spec: TrainingSpec
    device: str = "cpu"


def most_members(
    graph: StateGraph | None, reward: RewardSource, spec: TrainingSpec, device: str
) -> int:
    """Return how many members a block has at most."""
    if torch.device(device).type != "cpu":
        return max(spec.block_size, _MEMBERS_ON_A_GPU)
    if _trains_arrays(graph, reward, spec, device):
        return min(spec.block_size, _MAX_ARRAY_MEMBERS)
    return spec.block_size


def _trains_arrays(
    graph: StateGraph | None, reward: RewardSource, spec: TrainingSpec, device: str
) -> bool:
    """Say whether NumPy trains: on the CPU, where all states can be listed."""
    return (
        graph is not None
        and isinstance(reward, ObjectReward)
        and torch.device(device).type == "cpu"
        and fits_arrays(spec)
    )


def network_layout(environment: Environment, spec: TrainingSpec) -> HeadLayout:
    """Return what the policy networks put out."""
    learns_backward = spec.learn_backward_policy and environment.n_backward_actions > 1
    return HeadLayout(
        n_actions=environment.n_actions,
        n_backward_actions=environment.n_backward_actions if learns_backward else 0,
        has_flow=OBJECTIVES[spec.objective].learns_flow,
    )


def train_block(
    job: BlockJob,
    report: Callable[[int], None] = lambda done: None,
    logger: CheckLogger | None = None,
) -> dict[str, np.ndarray]:
    """Train the members of a block; a loop over iterations."""
    started = time.process_time()
    with torch_threads(1), threadpool_limits(1, user_api="blas"):
        block = _Block(job, logger)
        block.run(report)
    seconds = (time.process_time() - started) / len(job.streams)
    return {
        **block.final_arrays(),
        **block.checks.arrays(),
        "cpu_seconds": np.full(len(job.streams), seconds),
    }


class _Block:
    """The members that are trained together, until each stops or diverges.

    Those that have are taken out of the computation; the others do not notice.
    """

    def __init__(self, job: BlockJob, logger: CheckLogger | None = None) -> None:
        spec, environment = job.spec, job.environment
        self._job, self._spec, self._logger = job, spec, logger
        self._dtype = getattr(torch, spec.dtype)
        layout = network_layout(environment, spec)
        sampler = _make_sampler(job, layout, self._dtype)
        network = _make_network(job, layout, self._dtype).to(job.device)
        self._shapes = network.to_arrays()
        reward = self._reward_of(np.arange(len(job.streams)))
        self._checker = Checker(
            sampler,
            reward,
            job.streams,
            graph=job.graph,
            batch_size=spec.batch_size,
            given=job.reward,
        )
        self.learner = _make_learner(job, sampler, network, reward)
        self.checks = Checks(len(job.streams))
        self._stopped: dict[int, dict[str, np.ndarray]] = {}
        self._diverged_at = np.full(len(job.streams), -1)

    def _reward_of(self, rows: np.ndarray) -> RewardSource:
        return self._job.reward.select(rows).to(self._job.device, self._dtype)

    def run(self, report: Callable[[int], None]) -> None:
        """Train until the end, or until every member has stopped."""
        spec, checks = self._spec, self.checks
        for iteration in range(spec.n_iterations):
            report(iteration)
            losses, log_z = self.learner.step(iteration, self._rate_factor(iteration))
            checks.add_iteration(losses, log_z)
            if not math.isfinite(sum(losses.tolist())):
                found = torch.as_tensor(losses).cpu().isfinite().numpy()
                self._leave_out(~found, iteration)
            done = iteration + 1
            is_last = done == spec.n_iterations or not len(checks.present)
            if is_last or (spec.check_every and done % spec.check_every == 0):
                self._check(done, is_last)
                if is_last or not len(checks.present):
                    break

    def _rate_factor(self, iteration: int) -> float:
        last = self._spec.final_learning_rate_fraction
        share_done = iteration / self._spec.n_iterations
        return last + (1 - last) * 0.5 * (1 + math.cos(math.pi * share_done))

    def _check(self, done: int, is_last: bool) -> None:
        """Look at all members; give up the lost ones, and let the good ones go."""
        checks = self.checks
        seen = self._checker(self.learner.network) if len(checks.present) else None
        checks.add_check(done, seen)
        if self._logger is not None:
            self._logger(done, checks.last())
        if seen is None:
            return
        lost = ~np.isfinite(seen["log_z_estimate"])
        if self._job.graph is not None:
            lost |= np.isnan(seen["distance"])
        self._leave_out(lost, done)
        if not is_last:
            self._stop_members()

    def _leave_out(self, lost: np.ndarray, iteration: int) -> None:
        """Give up some members whose numbers are none; shape of ``lost`` (E,)."""
        if lost.any():  # none where only the sum of the losses is too large
            self._diverged_at[self.checks.present[lost]] = iteration
            self._keep(~lost)

    def _stop_members(self) -> None:
        """Keep the parameters of members that are good enough by now."""
        spec, checks = self._spec, self.checks
        limits = spec.stop_at_distance, spec.stop_at_effective_sample_size
        if not len(checks.present) or limits == (None, None):
            return
        good = checks.good_enough(*limits)[checks.present]
        if good.any():
            self._put_aside(good)
            checks.freeze(checks.present[good].tolist())
            self._keep(~good)

    def _put_aside(self, chosen: np.ndarray) -> None:
        """Remember the parameters of some members, shape (E,), bool."""
        arrays = self.learner.network.to_arrays()
        for row in np.flatnonzero(chosen):
            member = int(self.checks.present[row])
            self._stopped[member] = {name: a[row] for name, a in arrays.items()}

    def _keep(self, chosen: np.ndarray) -> None:
        """Go on with some of the members, shape (E,), bool."""
        rows = np.flatnonzero(chosen)
        self.checks.keep(rows)
        if len(rows):
            reward = self._reward_of(self.checks.present)
            self.learner.keep(rows, reward)
            self._checker.keep(rows, reward)

    def final_arrays(self) -> dict[str, np.ndarray]:
        """Return the parameters of all members, at the iteration each one stopped.

        Those of members that diverged are zeros.
        """
        n_present = len(self.checks.present)
        if n_present:
            self._put_aside(np.ones(n_present, dtype=bool))
        arrays = {name: np.zeros_like(a) for name, a in self._shapes.items()}
        for member, own in self._stopped.items():
            for name, array in own.items():
                arrays[name][member] = array
        if (self._diverged_at >= 0).any():
            arrays[DIVERGED_AT] = self._diverged_at
        return arrays


def _make_learner(
    job: BlockJob, sampler: Sampler, network: PolicyNetwork, reward: RewardSource
) -> ArrayLearner | AutogradLearner:
    """Choose arrays of NumPy for few members on the CPU, where all can be listed."""
    if _trains_arrays(job.graph, job.reward, job.spec, job.device):
        assert isinstance(network, StackedMLP)  # `fits_arrays`
        assert isinstance(reward, ObjectReward)
        assert job.graph is not None
        return ArrayLearner(job.graph, network, reward, job.streams, job.spec)
    return AutogradLearner(sampler, network, reward, job.streams, job.spec)


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
