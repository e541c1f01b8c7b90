"""Training a policy for every reward of an ensemble, all members at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
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
    BlockJob,
    most_members,
    train_block,
)
from gflownet_envs.training.convergence import (
    CHECKED,
    CheckLogger,
    DivergedWarning,
    NotConvergedWarning,
)
from gflownet_envs.training.ensemble import (
    TrainedEnsemble,
    divergence_in_words,
    join_blocks,
)
from gflownet_envs.training.spec import PAPER_TRAINING, TrainingSpec
from gflownet_envs.training.workers import workers

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
