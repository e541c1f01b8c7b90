"""Two tasks of reasoning under a process reward that is learned."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.environments.sequences import TokenSequenceEnvironment
from gflownet_envs.exact.solve import greedy_trajectory, solve_exact
from gflownet_envs.experiments.task import (
    GREEDY,
    NamedParts,
    PartEntries,
    Preset,
    RunResults,
    RunSettings,
    Study,
    Task,
    facts,
    presets_of,
    sequence_parts,
    walk_in_words,
    words_of,
)
from gflownet_envs.rewards.problems import (
    OPERATIONS,
    arithmetic_environment,
    arithmetic_problems,
    equations,
    strategy_environment,
    strategy_problems,
)
from gflownet_envs.rewards.process_reward import (
    ProcessReward,
    ProcessRewardSpec,
    retrain_process_reward,
    train_process_reward,
)
from gflownet_envs.rewards.source import mean_reward

# Members whose parts are exchanged, and objects above which that is dear.
_N_EXCHANGED, _N_LARGE = 40, 500_000


def seen_parts(
    reward: ProcessReward,  # of at least n_members
    problems: Tensor,  # shape: (n, S)
    labels: Tensor,  # shape: (n,)
    spec: ProcessRewardSpec,
    groups: Mapping[str, np.ndarray],
    names: Sequence[str],
    *,
    what: str,
    n_members: int,
    seed: int,
    **settings: Any,
) -> NamedParts:
    """Split what the reward models saw by groups of the labelled problems.

    Groups are numbers of problems, each problem in one of them; a part is 1 for each
    problem of the group that the member's model saw, else 0. The
    models of recombined members are trained again; how many problems they saw differs
    a little.
    """
    seen = np.zeros((n_members, len(problems)))
    np.put_along_axis(seen, reward.seen[:n_members], 1.0, axis=1)

    def of_parts(parts: Mapping[str, np.ndarray]) -> ProcessReward:
        weights = np.zeros((len(next(iter(parts.values()))), len(problems)))
        for name, own in parts.items():
            weights[:, groups[name]] = own
        return retrain_process_reward(
            reward, problems, labels, spec, weights=weights, seed=seed
        )

    return NamedParts(
        f"what each reward model saw: {what}",
        {name: seen[:, own] for name, own in groups.items()},
        of_parts,
        {name: f"which of {name} the reward models had seen" for name in groups},
        {
            name: PartEntries(
                "labelled problems", tuple(names[i] for i in own), np.arange(len(own))
            )
            for name, own in groups.items()
        },
        **settings,
    )


@dataclass(frozen=True)
class _Pool:
    """Labelled problems, and what they and their sequences are called."""

    problems: Tensor  # shape: (n, S)
    labels: Tensor  # shape: (n,)
    halves: tuple[str, str]  # what the first problems are, and all others
    is_first: np.ndarray  # shape: (n,), bool
    groups: Mapping[str, np.ndarray]  # numbers of problems, all of them
    grouped: str  # what is grouped by what
    nouns: tuple[str, str]  # what a token is, and what tokens are
    kinds: Mapping[str, np.ndarray] | None = None  # sets of sequences with a name


class _ProcessRewardTask(Task):
    """Train a reward model a member, and follow the mean one greedily."""

    @abstractmethod
    def _pool(self, seed: int) -> tuple[TokenSequenceEnvironment, _Pool]:
        """Return the sequences and the labelled ones."""

    def prepare(self, preset: Preset, **run: Unpack[RunSettings]) -> Study:
        started = time.process_time()
        environment, pool = self._pool(run["seed"])
        problems, labels = pool.problems, pool.labels
        members = np.arange(preset.n_train + preset.n_test)
        reward = train_process_reward(
            environment,
            problems,
            labels,
            preset.proxy,
            members=members.tolist(),
            seed=run["seed"],
        )
        some_rewards = reward.select(slice(0, preset.n_train))
        pilot = solve_exact(environment, mean_reward(some_rewards, environment))
        trajectory = greedy_trajectory(environment, pilot.log_policy)
        scores = reward.scores(problems).to(torch.float64).numpy()
        names = _names_of(environment, problems)
        trained, variance = time.process_time(), scores.var(axis=0)
        was_seen = np.zeros(scores.shape, dtype=bool)
        np.put_along_axis(was_seen, reward.seen, values=True, axis=1)
        correlations: dict[str, Any] = {}
        for name, chosen in (("seen", was_seen), ("not seen", ~was_seen)):
            found = [
                np.corrcoef(score[own], labels.numpy()[own])[0, 1]
                for score, own in zip(scores, chosen, strict=True)
            ]
            what = f"correlation of score and label, problems {name}"
            correlations[what] = float(np.mean(found))
        some = slice(0, min(_N_EXCHANGED, len(members)))
        n_objects = environment.require_listed_objects()
        is_large = n_objects > _N_LARGE
        cost: Any = {"n_verifying": 10 if is_large else None, "freezes": not is_large}
        return Study(
            environment=environment,
            reward=reward,
            reward_features=scores,
            feature_names=names,
            n_train=preset.n_train,
            n_test=preset.n_test,
            members=members,
            trajectory=trajectory,
            levels={
                "problems": {
                    pool.halves[0]: np.flatnonzero(pool.is_first),
                    pool.halves[1]: np.flatnonzero(~pool.is_first),
                }
            },
            feature_unit="score of a labelled problem",
            tables=(
                facts(
                    f"Process reward models: {reward.seen.shape[1]} of {len(labels)} "
                    "labelled problems each",
                    correlations
                    | {
                        "variance of a problem's score between members, mean": float(
                            variance.mean()
                        ),
                        "the same, largest": float(variance.max()),
                        "finished sequences": n_objects,
                        GREEDY: walk_in_words(environment, trajectory, between=" "),
                    },
                ),
            ),
            cpu_seconds={"proxies": trained - started},
            named_parts=(
                sequence_parts(
                    environment,
                    reward(some, torch.arange(n_objects)).numpy(),
                    nouns=pool.nouns,
                    kinds=pool.kinds,
                    batch_size=16 if is_large else 256,
                    **cost,
                ),
                seen_parts(
                    reward,
                    problems,
                    labels,
                    preset.proxy,
                    pool.groups,
                    names,
                    what=pool.grouped,
                    n_members=some.stop,
                    seed=run["seed"],
                    batch_size=64,
                    n_verified=0 if is_large else 10,
                    **cost,
                ),
            ),
        )

    def draw_system(self, results: RunResults, ax: Any) -> None:
        """Draw the variance of each problem's score between members."""
        variance = results.study.reward_features.var(axis=0)
        groups = results.study.levels["problems"]
        for number, (name, columns) in enumerate(groups.items()):
            ax.bar(columns, variance[columns], color=f"C{number}", label=name)
        ax.set(
            xlabel="labelled problem",
            ylabel="variance of its score",
            title="what the reward models disagree on",
        )
        ax.legend(frameon=False, fontsize="small")


def _names_of(
    environment: TokenSequenceEnvironment, problems: Tensor
) -> tuple[str, ...]:
    """Write problems in words, numbered where several are the same."""
    distinct, seen = [], Counter[str]()
    for problem in problems.tolist():
        name = " ".join(environment.action_names[a] for a in problem if a >= 0)
        seen[name] += 1
        distinct.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(distinct)


class LlmArithmeticTask(_ProcessRewardTask):
    """Five tokens of arithmetic, scored by a reward model that saw 20 problems."""

    name = "llm-arithmetic"
    title, summary = words_of(name)
    presets: ClassVar[Mapping[str, Preset]] = presets_of(name, ProcessRewardSpec())

    def _pool(self, seed: int) -> tuple[TokenSequenceEnvironment, _Pool]:
        environment = arithmetic_environment()
        problems, labels = arithmetic_problems(environment, seed=seed)
        tokens = np.array(environment.action_names)[problems[:, 1].numpy()]
        return environment, _Pool(
            problems,
            labels,
            halves=("right equations", "wrong equations"),
            is_first=labels.numpy() == 1,
            groups={
                f"the equations with {operation}": np.flatnonzero(tokens == operation)
                for operation in OPERATIONS
                if operation in tokens
            },
            grouped="labelled equations by their operation",
            nouns=("token", "tokens"),
            kinds=equations(environment),
        )


class StrategyReasoningTask(_ProcessRewardTask):
    """Five strategies of ten, scored by a reward model that saw 20 problems."""

    name = "strategy-reasoning"
    title, summary = words_of(name)
    presets: ClassVar[Mapping[str, Preset]] = presets_of(name, ProcessRewardSpec())

    def _pool(self, seed: int) -> tuple[TokenSequenceEnvironment, _Pool]:
        environment = strategy_environment()
        problems, labels = strategy_problems(environment, seed=seed)
        quarters = np.array_split(np.argsort(-labels.numpy(), kind="stable"), 4)
        names = ("the best", "the second", "the third", "the worst")
        return environment, _Pool(
            problems,
            labels,
            halves=("better half", "worse half"),
            is_first=labels.numpy() > np.median(labels.numpy()),
            groups={
                f"{name} quarter of the sequences": np.sort(own)
                for name, own in zip(names, quarters, strict=True)
            },
            grouped="labelled sequences by their quality",
            nouns=("strategy", "strategies"),
        )
