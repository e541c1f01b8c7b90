"""Training a policy for every reward, all members at once, and what comes of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from numbers import Integral
from typing import Any

import numpy as np
import torch
from joblib import delayed, effective_n_jobs
from numpy.typing import ArrayLike
from torch import Tensor

from gflownet_envs.environments.base import (
    Environment,
    StateGraph,
    environment_digest,
    require_at_least,
    require_environment,
)
from gflownet_envs.policies import (
    PolicyNetwork,
    StackedGRU,
    StackedMLP,
    log_policy_in_states,
)
from gflownet_envs.random_streams import member_streams
from gflownet_envs.rewards.source import RewardSource, as_reward_source
from gflownet_envs.storage import (
    Progress,
    Store,
    block_ticker,
    json_values,
    share_out,
)
from gflownet_envs.training.block import (
    DIVERGED_AT,
    BlockJob,
    most_members,
    train_block,
)
from gflownet_envs.training.certificate import DistanceBound, distance_bound
from gflownet_envs.training.convergence import (
    CHECKED,
    CheckLogger,
    DivergedWarning,
    NotConvergedWarning,
)
from gflownet_envs.training.spec import PAPER_TRAINING, TrainingSpec
from gflownet_envs.training.workers import workers

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


__all__ = ["PAPER_TRAINING", "TrainingSpec", "train_ensemble"]


_MOST_NAMED = 20  # members that a warning names

_BLOCK_FORMAT = 1  # to be raised when blocks of the same key get other arrays


def train_ensemble(
    environment: Environment,
    log_reward: RewardSource | Tensor | ArrayLike,  # shape: (n_rewards, n_objects)
    spec: TrainingSpec | None = None,
    *,
    n_replicates: int = 1,
    seed: int = 0,
    members: Sequence[int] | None = None,
    common_random_numbers: bool = False,
    device: str = "cpu",
    n_jobs: int | None = None,
    progress: Progress | None = None,
    store: Store | None = None,
    logger: Callable[[int, dict[str, Any]], None] | None = None,
) -> TrainedEnsemble:
    """Train one policy, or several, for each reward of an ensemble.

    Members share nothing but the arithmetic: parameters are stacked, the sum of the
    members' losses is minimised by Adam, and each member has its own random stream.
    Member 17 of 50 is, up to rounding, member 17 trained alone.

    Parameters
    ----------
    environment : Environment
    log_reward : RewardSource or array of shape (n_rewards, n_objects)
        A table of log-rewards, or anything that knows the log-reward of terminal
        states (`RewardSource`).
    spec : TrainingSpec, optional
        Default: ``TrainingSpec()``.
    n_replicates : int, default=1
        Members trained on each reward, with random numbers of their own. Members of
        one reward are adjacent; ``TrainedEnsemble.rewards`` has their numbers. One
        reward with many replicates is the fixed-reward control: all its members
        differ by training noise alone.
    seed : int, default=0
    members : sequence of int, optional
        The numbers of the members: they name the random streams. Default: 0, 1, 2, …
    common_random_numbers : bool, default=False
        Let the members of different rewards share one random stream, initial
        parameters included: differences between them then come from their rewards
        alone. Replicates of one reward keep streams of their own, the same ones for
        every reward.
    device : str, default="cpu"
        A torch device. On ``"cuda"`` a block has up to 1024 members, or
        ``spec.block_size`` if that is more.
    n_jobs : int, optional
        Processes that train blocks, through joblib: None is one, unless
        `joblib.parallel_config` says otherwise (loky, dask, …). The numbers are the
        same, up to rounding.
    progress : callable, optional
        Called as ``progress(done, total)`` in iterations over all blocks; with
        several processes whenever a block is finished.
    store : Store, optional
        Finished blocks are saved there and not trained again.
    logger : callable, optional
        Called as ``logger(iteration, values)`` at every check of each block; with
        several processes, and for stored blocks, when the block is there. ``values``
        has the numbers of the ``members`` of the block and, one a member, what
        ``TrainingDiagnostics.history`` has; NaN for members that have stopped.

    Returns
    -------
    TrainedEnsemble

    Raises
    ------
    ValueError
        If an argument does not fit the others, or all members diverged.

    Warns
    -----
    NotConvergedWarning
        If members are far from their target at the end; it names them.
    DivergedWarning
        If the loss of some members was no longer finite. They are left out of the
        ensemble, whose other members are what they would have been without them.

    Examples
    --------
    >>> from gflownet_envs import GridEnvironment
    >>> env = GridEnvironment(size=2, max_moves=1)
    >>> ensemble = train_ensemble(env, [[0.0, 1.0, 2.0]], n_replicates=2)
    >>> ensemble.log_policy(env.initial_state()).exp().sum().round(decimals=6).item()
    2.0
    >>> ensemble.rewards
    (0, 0)

    Losses on their way, as TensorBoard's ``add_scalar`` or any other logger takes them:

    >>> def logger(iteration, values):
    ...     print(iteration, values["members"], bool((values["loss"] < 0.1).all()))
    >>> _ = train_ensemble(env, [[0.0, 1.0, 2.0]], TrainingSpec(n_iterations=500),
    ...                    logger=logger)
    500 (0,) True
    """
    spec = TrainingSpec() if spec is None else spec
    if not isinstance(spec, TrainingSpec):
        raise ValueError(f"spec must be a TrainingSpec or None, got {spec!r}")
    require_environment(environment)
    _check_policy(environment, spec)
    _check_device(device)
    _check_callers(n_jobs, progress, store, logger)
    reward = as_reward_source(log_reward, environment)
    rows = _reward_rows(reward.n_members, n_replicates)
    numbers = _member_numbers(members, len(rows))
    shared_numbers = tuple(range(n_replicates)) * reward.n_members
    stream_numbers = shared_numbers if common_random_numbers else numbers
    graph = None
    if spec.max_table_states:
        graph = StateGraph.if_listed(environment, spec.max_table_states)
    fingerprint = None if store is None else environment_digest(environment)
    blocks = share_out(len(rows), most_members(graph, reward, spec, device))

    def make_job(block: slice) -> BlockJob:
        return BlockJob(
            environment,
            graph,
            reward.select(rows[block]),
            member_streams(seed, stream_numbers[block]),
            spec,
            device,
        )

    def make_key(job: BlockJob, block: slice) -> dict[str, Any]:
        return {
            "kind": "policies",
            "format": _BLOCK_FORMAT,
            "environment": environment.name,
            "environment_sha256": fingerprint,
            "actions": list(environment.action_names),
            "encoding_size": environment.encoding_size,
            "spec": json_values(asdict(spec)),
            "seed": int(seed),
            "members": list(numbers[block]),
            "streams": list(stream_numbers[block]),
            "reward_sha256": job.reward.digest(),
        }

    finished: dict[int, dict[str, np.ndarray]] = {}
    keys: dict[int, dict[str, Any]] = {}
    for i, block in enumerate(blocks):
        if store is not None:
            keys[i] = make_key(make_job(block), block)
            stored = store.load_block(keys[i])
            if stored is not None:
                finished[i] = stored
                _log_history(logger, numbers[block], stored)
    missing = [i for i in range(len(blocks)) if i not in finished]
    ticks = [
        block_ticker(progress, n, len(blocks), spec.n_iterations)
        for n in range(len(blocks))
    ]
    n_done = len(blocks) - len(missing)
    for n in range(n_done):
        ticks[n](spec.n_iterations)
    jobs = ((i, make_job(blocks[i])) for i in missing)
    is_here = len(missing) < 2 or effective_n_jobs(n_jobs) == 1
    loggers = [
        _of_block(logger, numbers[blocks[i]]) if is_here else None for i in missing
    ]
    for i, arrays in _run_jobs(jobs, is_here, n_jobs, ticks[n_done:], loggers):
        finished[i] = arrays
        if not is_here:
            _log_history(logger, numbers[blocks[i]], arrays)
        if store is not None:
            store.save_block(keys[i], arrays)
        ticks[n_done](spec.n_iterations)
        n_done += 1
    in_order = [finished[i] for i in range(len(blocks))]
    ensemble = join_blocks(environment, spec, numbers, rows.tolist(), in_order)
    ensemble = replace(ensemble, reward=reward)
    _warn_if_diverged(ensemble)
    _warn_if_not_converged(ensemble)
    return ensemble


def _run_jobs(
    jobs: Iterator[tuple[int, BlockJob]],
    is_here: bool,
    n_jobs: int | None,
    ticks: Sequence[Callable[[int], None]],
    loggers: Sequence[CheckLogger | None],
) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
    """Train blocks here or in other processes; yield each when it is finished."""
    if is_here:
        for n, (i, job) in enumerate(jobs):
            yield i, train_block(job, ticks[n], loggers[n])
        return
    parallel = workers(
        n_jobs,
        return_as="generator_unordered",
        batch_size=1,
        pre_dispatch="n_jobs",
    )
    yield from parallel(delayed(_numbered)(i, job) for i, job in jobs)


def _of_block(
    logger: CheckLogger | None, members: tuple[int, ...]
) -> CheckLogger | None:
    """Add the numbers of a block's members to what is logged."""
    if logger is None:
        return None

    def log(iteration: int, values: dict[str, Any]) -> None:
        logger(iteration, {"members": members, **values})

    return log


def _log_history(
    logger: CheckLogger | None, members: tuple[int, ...], arrays: dict[str, np.ndarray]
) -> None:
    """Log the checks of a block that is finished."""
    log = _of_block(logger, members)
    if log is None:
        return
    names = [name for name in CHECKED if name != "iteration"]
    for check in range(arrays["history_iteration"].shape[1]):
        iteration = int(np.nanmax(arrays["history_iteration"][:, check]))
        log(iteration, {name: arrays[f"history_{name}"][:, check] for name in names})


def _numbered(i: int, job: BlockJob) -> tuple[int, dict[str, np.ndarray]]:
    return i, train_block(job)


def _check_policy(environment: Environment, spec: TrainingSpec) -> None:
    if spec.policy == "gru" and not environment.is_tree:
        raise ValueError(
            "policy='gru' reads the history of a state, and states of "
            f"{environment.name} have several; use policy='mlp'"
        )
    if spec.policy == "gru":
        environment.action_history(environment.initial_state((1,)))


def _check_device(device: str) -> None:
    try:
        torch.zeros(1, device=torch.device(device)).item()
    except (RuntimeError, AssertionError, TypeError) as error:
        raise ValueError(
            f"device must be a torch device that is present, got {device!r}: {error}"
        ) from error


def _reward_rows(n_rewards: int, n_replicates: int) -> np.ndarray:
    """Return the reward of each member; replicates stand side by side."""
    require_at_least("n_replicates", n_replicates, 1)
    return np.repeat(np.arange(n_rewards), n_replicates)


def _member_numbers(members: Sequence[int] | None, n_members: int) -> tuple[int, ...]:
    """Check the numbers of the members."""
    if members is None:
        return tuple(range(n_members))
    for member in members:
        if not isinstance(member, Integral) or isinstance(member, bool):
            raise ValueError(f"members must be ints, got {member!r}")
    numbers = tuple(int(member) for member in members)
    if len(numbers) != n_members:
        raise ValueError(
            f"members must name each of the {n_members} rows of log_reward, times "
            f"n_replicates, got {len(numbers)} numbers"
        )
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"members must be distinct, got {numbers}")
    return numbers


def _warn_if_diverged(ensemble: TrainedEnsemble) -> None:
    if ensemble.diverged:
        n_all = ensemble.n_members + len(ensemble.diverged)
        warnings.warn(
            f"{len(ensemble.diverged)} of {n_all} members diverged and are left out: "
            f"{divergence_in_words(ensemble.diverged)}",
            DivergedWarning,
            stacklevel=3,
        )


def _check_callers(n_jobs: Any, progress: Any, store: Any, logger: Any) -> None:
    """Raise ValueError for what would fail after the work has begun."""
    if n_jobs is not None and (not isinstance(n_jobs, int) or n_jobs in (0, False)):
        raise ValueError(
            f"n_jobs must be None or an int that is not 0, got {n_jobs!r}; -1 is all "
            "processors"
        )
    for name, value in (("progress", progress), ("logger", logger)):
        if value is not None and not callable(value):
            raise ValueError(f"{name} must be None or a callable, got {value!r}")
    if store is not None and not hasattr(store, "load_block"):
        raise ValueError(
            f"store must be None or a store, such as BlockStore(folder), got {store!r}"
        )


def _warn_if_not_converged(ensemble: TrainedEnsemble) -> None:
    rows = np.flatnonzero(~ensemble.diagnostics.converged)
    if not len(rows):
        return
    named = [ensemble.members[row] for row in rows[:_MOST_NAMED]]
    more = f" and {len(rows) - _MOST_NAMED} more" if len(rows) > _MOST_NAMED else ""
    warnings.warn(
        f"{len(rows)} of {ensemble.n_members} members did not converge: members "
        f"{named}{more}; {ensemble.diagnostics.describe(rows[:_MOST_NAMED])}. Train "
        "longer, explore "
        "more, or leave them out (TrainedEnsemble.subset)",
        NotConvergedWarning,
        stacklevel=3,
    )
