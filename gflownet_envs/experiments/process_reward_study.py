"""What the tasks with process reward models have in common."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.environments.token_sequence import TokenSequenceEnvironment
from gflownet_envs.exact import solve_exact
from gflownet_envs.experiments.task import Preset, Study, Table
from gflownet_envs.object_rewards import mean_reward
from gflownet_envs.rewards.process_reward import train_process_reward
from gflownet_envs.trajectories import greedy_trajectory


def process_reward_study(
    environment: TokenSequenceEnvironment,
    problems: Tensor,  # shape: (n, S)
    labels: Tensor,  # shape: (n,)
    groups: dict[str, np.ndarray],
    preset: Preset,
    seed: int,
) -> Study:
    """Train a reward model a member, and follow the mean one greedily.

    The reward features are the scores of the labelled problems, seen or not.

    Parameters
    ----------
    environment : TokenSequenceEnvironment
    problems, labels : Tensor
        The pool.
    groups : dict of str to ndarray of int
        Problems that the original coordinates put together.
    preset : Preset
    seed : int
    """
    started = time.process_time()
    members = np.arange(preset.n_train + preset.n_test)
    reward = train_process_reward(
        environment,
        problems,
        labels,
        preset.proxy,
        members=members.tolist(),
        seed=seed,
    )
    pilot = solve_exact(
        environment,
        mean_reward(reward.select(slice(0, preset.n_train)), environment),
    )
    trajectory = greedy_trajectory(environment, pilot.log_policy)
    scores = reward.scores(problems).to(torch.float64).numpy()
    names = [_in_words(environment, problem) for problem in problems]
    return Study(
        environment=environment,
        reward=reward,
        reward_features=scores,
        feature_names=_distinct(names),
        n_train=preset.n_train,
        n_test=preset.n_test,
        members=members,
        trajectory=trajectory,
        levels={"problems": groups},
        feature_unit="score of a labelled problem",
        tables=(
            _reward_table(environment, scores, labels.numpy(), reward.seen, trajectory),
        ),
        cpu_seconds={"proxies": time.process_time() - started},
    )


def _reward_table(
    environment: TokenSequenceEnvironment,
    scores: np.ndarray,  # shape: (E, n)
    labels: np.ndarray,  # shape: (n,)
    seen: np.ndarray,  # shape: (E, n_labelled)
    trajectory: Any,
) -> Table:
    was_seen = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(was_seen, seen, values=True, axis=1)
    rows = []
    for name, chosen in (("seen", was_seen), ("not seen", ~was_seen)):
        found = [
            np.corrcoef(score[own], labels[own])[0, 1]
            for score, own in zip(scores, chosen, strict=True)
        ]
        rows.append(
            (f"correlation of score and label, problems {name}", float(np.mean(found)))
        )
    variance = scores.var(axis=0)
    rows += [
        ("variance of a problem's score between members, mean", float(variance.mean())),
        ("the same, largest", float(variance.max())),
        ("finished sequences", environment.n_objects),
        (
            "reference trajectory (greedy under the mean reward)",
            " ".join(environment.action_names[a] for a in trajectory.actions),
        ),
    ]
    return Table(
        f"Process reward models: {seen.shape[1]} of {len(labels)} labelled problems "
        "each",
        ("what", "value"),
        tuple(rows),
    )


def draw_problem_variance(study: Study, ax: Any) -> None:
    """Draw the variance of each problem's score between members."""
    variance = study.reward_features.var(axis=0)
    groups = study.levels["problems"]
    for number, (name, columns) in enumerate(groups.items()):
        ax.bar(columns, variance[columns], color=f"C{number}", label=name)
    ax.set(
        xlabel="labelled problem",
        ylabel="variance of its score",
        title="what the reward models disagree on",
    )
    ax.legend(frameon=False, fontsize="small")


def _in_words(environment: TokenSequenceEnvironment, problem: Tensor) -> str:
    return " ".join(environment.action_names[a] for a in problem.tolist() if a >= 0)


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Number names that occur more than once."""
    seen: dict[str, int] = {}
    distinct = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        distinct.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(distinct)
