"""The result of training: one policy a member."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from gflownet_envs.environments.base import Environment, StateGraph
from gflownet_envs.policies import (
    PolicyNetwork,
    StackedGRU,
    StackedMLP,
    log_policy_in_states,
)
from gflownet_envs.rewards.source import RewardSource
from gflownet_envs.training.block import DIVERGED_AT
from gflownet_envs.training.certificate import DistanceBound, distance_bound
from gflownet_envs.training.spec import TrainingSpec

MAX_DISTANCE = 0.03
"""Members further than this from their exact distribution have not converged."""

MIN_EFFECTIVE_SAMPLE_SHARE = 0.5
"""Where no exact distribution is known, members below this have not converged."""


@dataclass(frozen=True, eq=False)
class TrainingDiagnostics:
    """What training says about itself, one row a member.

    Attributes
    ----------
    final_loss : ndarray of shape (E,)
        Mean loss of the last 100 iterations (or of all, if fewer).
    log_z : ndarray of shape (E,)
        The learned log Z, or the mean over the same iterations of the batch estimate,
        which is below the true log Z while the policy is not exact.
    log_z_estimate : ndarray of shape (E,)
        Log of the mean importance weight of trajectories sampled at the end.
    effective_sample_share : ndarray of shape (E,)
        Of the same trajectories; 1 for an exact policy. It does not see modes that
        were never sampled.
    distance : ndarray of shape (E,)
        ``½ Σ |P_T − R/Z|`` over the objects; NaN where the space is not listed.
    n_iterations : ndarray of shape (E,), int
        Iterations until the member stopped.
    cpu_seconds : ndarray of shape (E,)
        CPU time of the member's block over the members of the block.
    history : dict of str to ndarray of shape (E, n_checks)
        ``iteration``, ``loss``, ``log_z``, ``log_z_estimate``,
        ``effective_sample_share`` and ``distance`` at every check; NaN after a
        member stopped.
    """

    final_loss: np.ndarray
    log_z: np.ndarray
    log_z_estimate: np.ndarray
    effective_sample_share: np.ndarray
    distance: np.ndarray
    n_iterations: np.ndarray
    cpu_seconds: np.ndarray
    history: dict[str, np.ndarray]

    @property
    def converged(self) -> np.ndarray:  # shape: (E,), bool
        """Whether a member is within 0.03 of exact.

        Where no exact distribution is known: whether its effective sample share is at
        least 0.5, which is necessary and not sufficient.
        """
        return np.where(
            np.isfinite(self.distance),
            self.distance <= MAX_DISTANCE,
            self.effective_sample_share >= MIN_EFFECTIVE_SAMPLE_SHARE,
        )

    def describe(self, rows: Sequence[int] | np.ndarray) -> str:
        """Say in words how far the worst of some members is from its target."""
        distance = self.distance[rows]
        if np.isfinite(distance).any():
            return (
                "the largest distance to the exact distribution is "
                f"{np.nanmax(distance):.3f}, "
                f"the limit {MAX_DISTANCE}"
            )
        share = self.effective_sample_share[rows]
        return (
            f"the smallest effective sample size is {share.min():.0%} of the samples, "
            f"the limit {MIN_EFFECTIVE_SAMPLE_SHARE:.0%}"
        )

    def select(self, rows: Sequence[int]) -> TrainingDiagnostics:
        """Return the diagnostics of some rows."""
        own = {
            f.name: getattr(self, f.name)[rows]
            for f in fields(self)
            if f.name != "history"
        }
        history = {name: array[rows] for name, array in self.history.items()}
        return TrainingDiagnostics(**own, history=history)


@dataclass(frozen=True, eq=False)
class TrainedEnsemble:
    """Stacked policies of the members that were trained.

    Attributes
    ----------
    environment : Environment
    members : tuple of int
        Their numbers in the whole ensemble.
    rewards : tuple of int
        The row of the reward that each was trained on; replicates share theirs.
    network : StackedMLP or StackedGRU
    diagnostics : TrainingDiagnostics
    reward : RewardSource or None
        What the members were trained on, for `distance_bound`; not copied.
    diverged : dict of int to int
        Members that were left out since their loss was no longer finite, by their
        numbers, with the iteration in which that was so.

    Examples
    --------
    >>> from gflownet_envs import GridEnvironment, TrainingSpec, train_ensemble
    >>> env = GridEnvironment(size=2, max_moves=1)
    >>> log_reward = torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])
    >>> spec = TrainingSpec(n_iterations=500, hidden=(8,))
    >>> ensemble = train_ensemble(env, log_reward, spec, seed=0)
    >>> ensemble.log_policy(env.initial_state()).shape
    torch.Size([2, 5])
    >>> ensemble.subset([1]).members
    (1,)
    """

    environment: Environment
    members: tuple[int, ...]
    rewards: tuple[int, ...]
    network: PolicyNetwork
    diagnostics: TrainingDiagnostics
    diverged: dict[int, int] = field(default_factory=dict)
    reward: RewardSource | None = field(default=None, repr=False)

    @property
    def n_members(self) -> int:
        """Number of policies."""
        return len(self.members)

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """Copies of the stacked parameters."""
        return self.network.to_arrays()

    @torch.no_grad()
    def log_policy(
        self,
        states: Tensor,  # shape: (..., S)
    ) -> Tensor:  # shape: (E, ..., A), float64
        """Return log P_F of every member in the same states; −inf where masked."""
        flat = states.reshape(-1, states.shape[-1])
        log_policy = log_policy_in_states(self.network, self.environment, flat)
        return log_policy.reshape(self.n_members, *states.shape[:-1], -1)

    def log_policy_table(
        self, graph: StateGraph
    ) -> Tensor:  # shape: (E, N, A), float64
        """Return log P_F in all states of a graph."""
        return self.log_policy(graph.states)

    def subset(self, members: Sequence[int]) -> TrainedEnsemble:
        """Return the policies of some members, named by their numbers.

        Raises
        ------
        ValueError
            If a member was not trained here.
        """
        missing = [member for member in members if member not in self.members]
        if missing:
            raise ValueError(
                f"members {missing} are not in this ensemble, which has {self.members}"
            )
        rows = [self.members.index(member) for member in members]
        return TrainedEnsemble(
            environment=self.environment,
            members=tuple(int(member) for member in members),
            rewards=tuple(self.rewards[row] for row in rows),
            network=self.network.select(np.array(rows, dtype=int)),
            diagnostics=self.diagnostics.select(rows),
            reward=self.reward,
        )

    def distance_bound(
        self,
        *,
        n_samples: int = 4096,
        confidence_level: float = 0.95,
        log_z: ArrayLike | None = None,
        seed: int = 0,
    ) -> DistanceBound:
        r"""Bound the distance of every member from its exact distribution.

        By the residuals of trajectory balance of the member alone, without replicates
        and without the exact solution:

        .. math::
            \frac12 \sum_x |P_T(x) - R(x) / Z| \le
            E_{\tau \sim P_F} \Big(1 - \frac{R(x) P_B(\tau | x)}{Z P_F(\tau)}\Big)_+

        ``gflownet_envs.training.certificate`` derives it. Trajectories are listed,
        or summed over edges, where the states can be listed and P_B is uniform: the
        bound is then certain. Elsewhere they are sampled.

        Parameters
        ----------
        n_samples : int, default=4096
            Trajectories of each member, where they are sampled.
        confidence_level : float, default=0.95
            The probability with which each member's bound holds, where trajectories
            are sampled.
        log_z : array-like of shape (n_members,), optional
            Log Z of each member, or an upper bound of it, where you know one: samples
            alone cannot tell it. Less than log Z makes the bounds too small, as the
            learned ``diagnostics.log_z`` mostly does. Default: the sum of the rewards
            where states are listed or objects have numbers, otherwise an estimate. A
            sum that is known takes the place of ``log_z``.
        seed : int, default=0
            Of the samples.

        Returns
        -------
        DistanceBound
            ``bound`` has one number a member, ``kind`` says what it is worth.

        Raises
        ------
        ValueError
            If a parameter is not in its range, if the sum of the rewards or samples
            contradict ``log_z``, or if the ensemble has no reward.

        Notes
        -----
        In trees the bound by all trajectories is the distance itself. Elsewhere it is
        larger, as errors of trajectories to the same object may cancel. Where states
        are listed ``diagnostics.distance`` has the distance itself as well.

        Examples
        --------
        >>> from gflownet_envs import GridEnvironment, TrainingSpec, train_ensemble
        >>> env = GridEnvironment(size=2, max_moves=1)
        >>> log_reward = torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])
        >>> spec = TrainingSpec(n_iterations=500, hidden=(8,))
        >>> found = train_ensemble(env, log_reward, spec, seed=0).distance_bound()
        >>> found.kind, found.n_trajectories, bool((found.bound < 0.03).all())
        ('certain', 3, True)
        """
        if self.reward is None:
            raise ValueError(
                "the ensemble has no reward; distance_bound needs that on which the "
                "members were trained: dataclasses.replace(ensemble, reward=...)"
            )
        return distance_bound(
            self,
            self.reward.select(np.array(self.rewards)),
            n_samples=n_samples,
            confidence_level=confidence_level,
            log_z=log_z,
            seed=seed,
        )


def join_blocks(
    environment: Environment,
    spec: TrainingSpec,
    members: tuple[int, ...],
    rewards: Sequence[int],
    blocks: Sequence[dict[str, np.ndarray]],
) -> TrainedEnsemble:
    """Make an ensemble of the arrays of its blocks, in the order of the members.

    Raises
    ------
    ValueError
        If all members diverged.
    """
    blocks = [dict(block) for block in blocks]
    diverged_at = np.concatenate(
        [b.pop(DIVERGED_AT, np.full(len(b["cpu_seconds"]), -1)) for b in blocks]
    )
    arrays = {name: _join([block[name] for block in blocks]) for name in blocks[0]}
    history = {
        name.removeprefix("history_"): arrays.pop(name)
        for name in sorted(arrays)
        if name.startswith("history_")
    }
    diagnostics = TrainingDiagnostics(
        final_loss=arrays.pop("final_loss"),
        log_z=arrays.pop("final_log_z"),
        log_z_estimate=arrays.pop("final_log_z_estimate"),
        effective_sample_share=arrays.pop("final_effective_sample_share"),
        distance=arrays.pop("final_distance"),
        n_iterations=arrays.pop("final_iteration"),
        cpu_seconds=arrays.pop("cpu_seconds"),
        history=history,
    )
    kind = StackedGRU if spec.policy == "gru" else StackedMLP
    ensemble = TrainedEnsemble(
        environment=environment,
        members=members,
        rewards=tuple(rewards),
        network=kind.from_arrays(arrays),
        diagnostics=diagnostics,
    )
    return _without_diverged(ensemble, diverged_at)


def _without_diverged(
    ensemble: TrainedEnsemble, diverged_at: np.ndarray
) -> TrainedEnsemble:
    """Leave out the members that diverged, and name them."""
    rows = np.flatnonzero(diverged_at >= 0)
    if not len(rows):
        return ensemble
    diverged = {ensemble.members[row]: int(diverged_at[row]) for row in rows}
    if len(rows) == ensemble.n_members:
        raise ValueError(f"training diverged: {divergence_in_words(diverged)}")
    left = [member for member in ensemble.members if member not in diverged]
    return replace(ensemble.subset(left), diverged=diverged)


def divergence_in_words(diverged: dict[int, int]) -> str:
    """Say which members diverged and what may be done."""
    return (
        f"the loss of the members {sorted(diverged)} is not finite in iteration "
        f"{min(diverged.values())} or later; lower learning_rate or the scale of "
        "log_reward"
    )


def _join(parts: list[np.ndarray]) -> np.ndarray:
    """Join arrays of blocks; histories of blocks that stopped early end with NaN."""
    if parts[0].ndim == 2:
        length = max(part.shape[1] for part in parts)
        widths = [((0, 0), (0, length - part.shape[1])) for part in parts]
        parts = [
            np.pad(part, width, constant_values=np.nan)
            for part, width in zip(parts, widths, strict=True)
        ]
    return np.concatenate(parts)
