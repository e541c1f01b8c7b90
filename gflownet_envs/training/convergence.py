"""Has it converged? Diagnostics of every member, during training and after it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.environments.base import StateGraph
from gflownet_envs.exact.solve import distance_to_exact
from gflownet_envs.policies import PolicyNetwork, log_policy_in_states
from gflownet_envs.random_streams import MemberStream, Purpose, UniformChunks
from gflownet_envs.rewards.source import (
    ObjectReward,
    RewardSource,
    checked_log_reward,
    reward_of_objects,
)
from gflownet_envs.sampling import PlainSampler, RolloutBatch, TableSampler

_N_EVALUATED = 256  # trajectories behind an effective sample size, at least
# What is known of a member at a check, and stored at its end and as a history.
CHECKED = (
    "iteration",
    "loss",
    "log_z",
    "effective_sample_share",
    "log_z_estimate",
    "distance",
)
# Called at a check with the iteration and what CHECKED names, one number a member.
CheckLogger = Callable[[int, dict[str, Any]], None]
_MAX_TABLE_ENTRIES = 20_000_000  # policies of states held at a time


class NotConvergedWarning(UserWarning):
    """Some members of an ensemble are not close to their target.

    Examples
    --------
    >>> import warnings
    >>> from gflownet_envs.training.convergence import NotConvergedWarning
    >>> warnings.simplefilter("error", NotConvergedWarning)  # stop instead
    """


class DivergedWarning(UserWarning):
    """Some members of an ensemble diverged and were left out of it.

    Examples
    --------
    >>> import warnings
    >>> from gflownet_envs.training.convergence import DivergedWarning
    >>> warnings.simplefilter("error", DivergedWarning)  # stop instead
    """


def effective_sample_share(log_weights: Tensor) -> Tensor:
    # shapes: log_weights (E, N) -> (E,)
    r"""Return the effective share of N weighted samples, between 1/N and 1.

    .. math::
        \frac{(\sum_i w_i)^2}{N \sum_i w_i^2}

    of the importance weights of trajectories that the policy sampled,
    :math:`w = R(x) P_B / P_F` (Kong, 1992). All weights are Z once the policy is
    exact, and the share is 1. A mode of the reward that was never sampled has no
    weight: a large share does not exclude that modes are missed.
    """
    weights = (log_weights - log_weights.amax(dim=-1, keepdim=True)).exp()
    n = log_weights.shape[-1]
    return weights.sum(dim=-1).square() / (n * weights.square().sum(dim=-1))


class Checker:
    """Looks at a network under training, with random numbers of its own."""

    def __init__(
        self,
        sampler: PlainSampler | TableSampler,
        reward: RewardSource,
        streams: list[MemberStream],
        *,
        graph: StateGraph | None,
        batch_size: int,
        given: RewardSource | None = None,  # not rounded, which the distance is to
    ) -> None:
        self._sampler = sampler
        self._reward = reward
        self._graph = graph
        if graph is not None:
            self._listed_reward = (reward if given is None else given).to(
                "cpu", torch.float64
            )
        shape = (batch_size, sampler.environment.max_steps)
        self._n_batches = -(-_N_EVALUATED // batch_size)
        self._uniforms = UniformChunks(
            streams, shape, chunk=self._n_batches, purpose=Purpose.EVALUATION
        )

    def keep(self, rows: np.ndarray, reward: RewardSource) -> None:
        """Go on with some members, whose rewards are given."""
        self._reward = reward
        if self._graph is not None:
            self._listed_reward = self._listed_reward.select(rows)
        self._uniforms.keep(rows)

    @torch.no_grad()
    def __call__(self, network: PolicyNetwork) -> dict[str, np.ndarray]:
        """Return ``effective_sample_share``, ``log_z_estimate`` and ``distance``.

        The log Z is log of the mean of the importance weights; the distance is NaN
        where the space is not listed. All are NaN for a member whose policy is no
        number.
        """
        estimates = torch.cat(
            [self._log_weights(network) for _ in range(self._n_batches)], dim=-1
        ).to(torch.float64)
        n = estimates.shape[-1]
        log_z = torch.logsumexp(estimates, dim=-1) - np.log(n)
        return {
            "effective_sample_share": effective_sample_share(estimates).cpu().numpy(),
            "log_z_estimate": log_z.cpu().numpy(),
            "distance": self._distance(network),
        }

    def _log_weights(self, network: PolicyNetwork) -> Tensor:  # shape: (E, B)
        uniforms = torch.from_numpy(self._uniforms.next())
        uniforms = uniforms.to(next(network.parameters()).device, network.dtype)
        batch = self._sampler(network, uniforms)
        log_reward = reward_of(self._reward, batch)
        return log_reward + (batch.log_pb - batch.log_pf).sum(dim=-1)

    def _distance(self, network: PolicyNetwork) -> np.ndarray:  # shape: (E,)
        if self._graph is None:
            return np.full(network.n_members, np.nan)
        graph = self._graph
        n_objects = graph.environment.require_listed_objects()
        per_member = max(graph.mask.numel(), n_objects)
        size = max(1, _MAX_TABLE_ENTRIES // per_member)
        parts = []
        for start in range(0, network.n_members, size):
            rows = slice(start, start + size)
            some = network.select(rows)
            log_policy = log_policy_in_states(some, graph.environment, graph.states)
            lost = log_policy.isnan().flatten(1).any(dim=1)
            uniform = graph.mask / graph.mask.sum(dim=1, keepdim=True)
            log_policy[lost] = uniform.double().log()
            own = reward_of_objects(self._listed_reward.select(rows), graph)
            found = distance_to_exact(graph, log_policy, own)
            parts.append(found.masked_fill(lost, torch.nan))
        return torch.cat(parts).numpy()


def reward_of(reward: RewardSource | ObjectReward, batch: RolloutBatch) -> Tensor:
    # shape: -> (E, B)
    """Return log R of what the trajectories of a batch ended in."""
    if batch.objects is not None:
        assert isinstance(reward, ObjectReward)
        return reward.of_objects(batch.objects)
    assert batch.final_states is not None
    log_reward = reward.of_states(batch.final_states)
    return checked_log_reward(log_reward, batch.final_states, "the reward")


@dataclass(eq=False)
class Checks:
    """What was seen of the members of a block so far.

    Members that stopped or diverged are left out by `keep`; what is added afterwards
    is of the others, whose rows in the block are ``present``.
    """

    n_members: int
    n_averaged: int = 100  # iterations behind the loss and log Z of a check
    _n_iterations: int = 0
    _recent: Any = None  # (n_averaged, 2, E), a tensor or an array like the losses
    _rows: list[dict[str, np.ndarray]] = field(default_factory=list)
    _frozen: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.present = np.arange(self.n_members)

    def keep(self, rows: np.ndarray) -> None:
        """Go on with some of the members that are present."""
        self.present = self.present[rows]
        if self._recent is not None:
            self._recent = self._recent[:, :, rows]

    def add_iteration(
        self, losses: Tensor | np.ndarray, log_z: Tensor | np.ndarray
    ) -> None:
        """Remember the losses and log Z of an iteration, shapes (E,)."""
        if self._recent is None:
            shape = (self.n_averaged, 2, len(losses))
            if isinstance(losses, Tensor):
                self._recent = losses.new_zeros(shape)
            else:
                self._recent = np.zeros(shape, losses.dtype)
        row = self._recent[self._n_iterations % self.n_averaged]
        row[0], row[1] = losses, log_z
        self._n_iterations += 1

    def add_check(self, iteration: int, seen: dict[str, np.ndarray] | None) -> None:
        """Remember what a check saw, with means over the last iterations.

        ``None`` stands for a check at which no member was left.
        """
        assert self._recent is not None  # checks come after iterations
        recent = self._recent[: min(self._n_iterations, self.n_averaged)]
        loss, log_z = torch.as_tensor(recent).double().mean(dim=0).cpu().numpy()
        here = {"loss": loss, "log_z": log_z, **(seen or {})}
        found = {name: np.full(self.n_members, np.nan) for name in CHECKED}
        found["iteration"] = np.full(self.n_members, iteration)
        for name, values in here.items():
            found[name][self.present] = values
        self._rows.append(found)

    def last(self) -> dict[str, np.ndarray]:  # shapes: (E,)
        """Return what the last check saw; NaN for members that were left out."""
        found = {name: np.array(values) for name, values in self._rows[-1].items()}
        del found["iteration"]
        return found

    def good_enough(
        self, distance: float | None, effective_sample_share: float | None
    ) -> np.ndarray:  # shape: (E,), bool
        """Say which members pass all the thresholds that apply, at the last check."""
        last = self._rows[-1]
        good = np.ones(self.n_members, dtype=bool)
        is_known = np.isfinite(last["distance"])
        if distance is not None:
            good &= np.where(is_known, last["distance"] <= distance, True)
        if effective_sample_share is not None:
            good &= last["effective_sample_share"] >= effective_sample_share
        elif not is_known.all():  # a distance alone says nothing here
            good &= is_known
        return good

    def freeze(self, rows: list[int]) -> None:
        """Keep the last check of some members as their final one."""
        for row in rows:
            self._frozen[row] = len(self._rows) - 1

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the final numbers, shape (E,), and the histories, (E, n_checks)."""
        last = np.full(self.n_members, len(self._rows) - 1)
        for row, check in self._frozen.items():
            last[row] = check
        arrays = {}
        for name in CHECKED:
            history = np.stack([seen[name] for seen in self._rows], axis=1)
            final = history[np.arange(self.n_members), last]
            history = history.astype(np.float64)
            history[np.arange(history.shape[1]) > last[:, None]] = np.nan
            arrays[f"final_{name}"] = final
            arrays[f"history_{name}"] = history
        return arrays
