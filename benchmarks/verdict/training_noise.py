"""Training noise of Buchwald–Hartwig: from replicates and from exact policies.

Rewards are those of the preset (networks that predict yields); each trains several
policies with random streams of their own, and is solved exactly. A preset gives:

- *shares*: the share of training noise in the variance of log-ratios, per step, as
  replicates tell it (no exact policy is used), as exact policies tell it, their
  difference with a bootstrap interval over rewards, and what makes the difference: the
  part of the bias of training that depends on the reward. Policies of one reward share
  it, so replicates see an effect there and exact policies an error. Below the table,
  which action carries most of that bias. Beside it, the share from a control: members
  trained on one fixed reward.
- *fragility*: the same split of the divergence to the barycentre and of the total
  variation between members, beside one less the dispersion of the exact policies over
  that of the trained ones. Bias counts there, and can make it negative.
- *verdict*: what ``verdict(..., replicate=)`` says, from replicates alone.

Intervals are at 90 %. Run: ``python -m benchmarks.verdict.training_noise``, with the
data at hand. With ``--blocks FOLDER`` finished training is stored and read again.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from gflownet_envs import solve_exact, train_ensemble
from gflownet_envs.block_store import BlockStore
from gflownet_envs.exact.trajectories import PolicySource, policies_along
from gflownet_envs.experiments.analysis import span_coordinates
from gflownet_envs.experiments.task import Preset, Study
from gflownet_envs.experiments.tasks import find_task
from skpce import CompositionalPCESurrogate, LogRatioTransformer
from skpce.inspection import variance_decomposition, verdict
from skpce.metrics import policy_fragility

# Members of the control have numbers, and so random streams, of their own.
FIRST_CONTROL = 10_000


@dataclass(frozen=True)
class Replicated:
    """Policies of replicate members; the rows of one reward lie apart by n_rewards.

    Attributes
    ----------
    study : Study
    reward : ndarray of shape (n_members,)
    trained, exact : ndarray of shape (n_members, n_parts)
    control : ndarray of shape (n_control, n_parts)
        All trained on reward 0.
    shape : dict
        ``steps`` and ``mask``.
    action_names : tuple of str
        One per part.
    cpu_seconds : float
        Of all training.
    """

    study: Study
    reward: np.ndarray
    trained: np.ndarray
    exact: np.ndarray
    control: np.ndarray
    shape: dict
    action_names: Sequence[str]
    cpu_seconds: float

    @property
    def step_names(self) -> Sequence[str]:
        return self.study.environment.step_names


def train_replicates(arguments: argparse.Namespace, preset: Preset) -> Replicated:
    """Train every reward several times, and the control."""
    n_rewards = arguments.rewards
    task, _ = find_task("buchwald-hartwig", "default")
    store = BlockStore(arguments.blocks) if arguments.blocks else None
    study = task.prepare(
        replace(preset, n_train=n_rewards, n_test=0),
        seed=arguments.seed,
        store=store,
        progress=lambda stage, done, total: None,
        options={},
    )
    reward = np.tile(np.arange(n_rewards), arguments.replicates)
    along = partial(policies_along, study.environment, trajectory=study.trajectory)
    train = partial(
        train_ensemble,
        study.environment,
        spec=preset.training,
        seed=arguments.seed,
        store=store,
    )
    trained = train(study.reward.log_reward[reward])
    control = train(
        study.reward.log_reward[np.zeros(arguments.control, dtype=int)],
        members=range(FIRST_CONTROL, FIRST_CONTROL + arguments.control),
    )
    exact: PolicySource = solve_exact(study.environment, study.reward.log_reward)
    solved = along(exact)
    cpu_seconds = sum(e.diagnostics.cpu_seconds.sum() for e in (trained, control))
    return Replicated(
        study,
        reward,
        along(trained).y,
        solved.y[reward],
        along(control).y,
        {"steps": solved.steps, "mask": solved.mask},
        solved.action_names,
        float(cpu_seconds + study.cpu_seconds["proxies"]),
    )


def shares(data: Replicated, rows: np.ndarray, reward: np.ndarray) -> np.ndarray:
    """Return the share from replicates and from exact policies; shape (2, n_steps)."""
    trained = data.trained[rows]
    return np.stack(
        [
            variance_decomposition(trained, replicate=reward, **data.shape).noise_share,
            variance_decomposition(
                trained, exact=data.exact[rows], **data.shape
            ).noise_share,
        ]
    )


def bootstrap_shares(data: Replicated, n_resamples: int, seed: int) -> np.ndarray:
    """Return ``shares`` of resampled rewards; shape (n_resamples, 2, n_steps)."""
    rng = np.random.default_rng(seed)
    n_rewards = int(data.reward.max()) + 1
    n_replicates = len(data.reward) // n_rewards
    rows = np.arange(len(data.reward)).reshape(n_replicates, n_rewards)
    label = np.tile(np.arange(n_rewards), n_replicates)
    return np.stack(
        [
            shares(
                data, rows[:, rng.integers(n_rewards, size=n_rewards)].ravel(), label
            )
            for _ in range(n_resamples)
        ]
    )


@dataclass(frozen=True)
class Bias:
    """Mean error of training per step, in the variance of the trained log-ratios.

    Attributes
    ----------
    depends : ndarray of shape (n_steps,)
        Variance over rewards, corrected for the noise in the means of few replicates.
    constant : ndarray of shape (n_steps,)
        Squared mean over all rewards.
    carriers : list of str
        The action with the largest part of ``depends``, where that is positive.
    """

    depends: np.ndarray
    constant: np.ndarray
    carriers: list[str]


def bias_of(data: Replicated) -> Bias:
    """Compare trained and exact policies of each reward."""
    clr = LogRatioTransformer("clr", **data.shape)
    trained = clr.fit_transform(data.trained)
    error = trained - clr.transform(data.exact)
    n_rewards = int(data.reward.max()) + 1
    by_reward = error.reshape(-1, n_rewards, error.shape[1])  # replicates lead
    means = by_reward.mean(axis=0)
    within = by_reward.var(axis=0, ddof=1).mean(axis=0) / len(by_reward)
    depends = means.var(axis=0, ddof=1) - within
    columns = (depends, np.square(means.mean(axis=0)), trained.var(axis=0, ddof=1))
    active = np.flatnonzero(data.shape["mask"])
    sums = np.full((3, len(data.shape["steps"])), np.nan)
    carriers = []
    for step in np.unique(clr.coordinate_steps_):
        own = np.flatnonzero(clr.coordinate_steps_ == step)
        sums[:, step] = [values[own].sum() for values in columns]
        most = own[np.argmax(depends[own])]
        if sums[0, step] <= 0:
            continue
        carriers.append(
            f"{data.action_names[active[most]]}: {depends[most] / sums[0, step]:.0%} "
            f"({1 - 1 / len(own):.0%} if it alone were off), mean exact probability "
            f"{data.exact[:, active[most]].mean():.1e}"
        )
    return Bias(sums[0] / sums[2], sums[1] / sums[2], carriers)


def print_shares(data: Replicated, n_resamples: int, seed: int) -> None:
    rows = np.arange(len(data.reward))
    replicates, exact = shares(data, rows, data.reward)
    split = variance_decomposition(data.trained, data.reward, **data.shape)
    control = variance_decomposition(data.trained, control=data.control, **data.shape)
    resampled = bootstrap_shares(data, n_resamples, seed)
    exact_interval = np.quantile(resampled[:, 1], [0.05, 0.95], axis=0)
    gap_interval = np.quantile(resampled[:, 0] - resampled[:, 1], [0.05, 0.95], axis=0)
    bias = bias_of(data)
    print(
        "| step | from replicates | from exact policies | difference | bias that "
        "depends on the reward | constant bias | from the control |"
    )
    print("| --- |" + " --- |" * 6)
    within, fixed = split.aitchison_variance, control.aitchison_variance
    for step, name in enumerate(data.step_names):
        cells = (
            name,
            interval(
                replicates[step],
                within.noise_share_low[step],
                within.noise_share_high[step],
            ),
            interval(exact[step], *exact_interval[:, step]),
            interval(replicates[step] - exact[step], *gap_interval[:, step]),
            f"{bias.depends[step]:.3f}",
            f"{bias.constant[step]:.3f}",
            interval(
                fixed.noise_share[step],
                fixed.noise_share_low[step],
                fixed.noise_share_high[step],
            ),
        )
        print(f"| {' | '.join(cells)} |")
    gaps = np.abs(replicates - exact)
    print(f"\nLargest difference {np.nanmax(gaps):.3f}; to be below 0.1.")
    print("Bias that depends on the reward, by action:")
    for carrier in bias.carriers:
        print(f"- {carrier}")


def print_fragility(data: Replicated) -> None:
    split = variance_decomposition(data.trained, data.reward, **data.shape)
    first = data.reward.max() + 1  # one policy of each reward
    trained = policy_fragility(data.trained[:first], **data.shape)
    exact = policy_fragility(data.exact[:first], **data.shape)
    print(
        "| step | divergence: from replicates | 1 − exact / trained | total variation: "
        "from replicates | 1 − exact / trained |\n| --- |" + " --- |" * 4
    )
    pairs = (
        (
            split.mutual_information,
            trained.mutual_information,
            exact.mutual_information,
        ),
        (
            split.total_variation,
            trained.pairwise_total_variation,
            exact.pairwise_total_variation,
        ),
    )
    for step, name in enumerate(data.step_names):
        cells = [name]
        for found, of_trained, of_exact in pairs:
            cells += [
                interval(
                    found.noise_share[step],
                    found.noise_share_low[step],
                    found.noise_share_high[step],
                ),
                f"{1 - of_exact[step] / of_trained[step]:.2f}",
            ]
        print(f"| {' | '.join(cells)} |")


def print_verdict(data: Replicated, preset: Preset, seed: int) -> None:
    """Print the verdict at degree 1 on the components of the preset."""
    surrogate = CompositionalPCESurrogate(
        1,
        steps=dict(zip(data.step_names, data.shape["steps"], strict=True)),
        mask=data.shape["mask"],
        solver="ridge",
        distribution="normal",
    )
    pipeline = make_pipeline(
        PCA(preset.n_components, whiten=True, svd_solver="full"), surrogate
    )
    X = span_coordinates(data.study.reward_features)[data.reward]
    print(verdict(pipeline, X, data.trained, replicate=data.reward))


def interval(value: float, low: float, high: float) -> str:
    return f"{value:.2f} [{low:.2f}, {high:.2f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--presets", nargs="+", default=("paper", "default"))
    parser.add_argument("--rewards", type=int, default=40)
    parser.add_argument("--replicates", type=int, default=4)
    parser.add_argument("--control", type=int, default=40)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--blocks", type=Path, help="folder of finished blocks")
    arguments = parser.parse_args()
    for name in arguments.presets:
        _, preset = find_task("buchwald-hartwig", name)
        data = train_replicates(arguments, preset)
        print(
            f"\n## {name}: {arguments.rewards} rewards x {arguments.replicates}, "
            f"control {arguments.control}, seed {arguments.seed}; "
            f"{data.cpu_seconds:.0f} CPU-s\n"
        )
        print_shares(data, arguments.resamples, arguments.seed)
        print()
        print_fragility(data)
        print()
        print_verdict(data, preset, arguments.seed)


if __name__ == "__main__":
    main()
