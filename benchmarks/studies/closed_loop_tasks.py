"""The loop of the paper's outlook on three tasks, beside what one would use instead.

A campaign measures some objects at random and then more in batches of ten; members are
trained anew after each batch, and single measurements change the belief alone. All
arms of a repetition share the start, and the members of a batch are alike.

- *Hypergrid*: three dimensions of eight cells, R of Bengio et al. (2021), in percent of
  its largest value, which eight of 512 cells have.
- *Molecules*: 4096 chains of three of 16 fragments. Nothing is measured of them: the
  truth is the mean of 80 networks' R (predicted activity and QED), in percent of the
  largest.
- *Reactions*: 4599 measured yields of Buchwald–Hartwig reactions.

Members are 30 networks on one-hot levels (:class:`Networks`), and log R is the
predicted percentage over four. Regret of a measurement is the largest percentage of all
less that of the measured object.
Settings were fixed on pilot campaigns with other seeds. Every arm has ``choose``,
``learn`` and ``end_batch``:

- *loop*: `gflownet_envs.experiments.sampling_loop.SamplingLoop`, six components, by a
  draw.
- *GFlowNet, retrained*: trained on the mean of the members after each batch, 300
  iterations of 64 walks; objects that are not measured are drawn from its distribution.
  *Solved* is the same GFlowNet with its exact distribution.
- *members*: Thompson sampling over members, without a policy.
- *Gaussian process*: expected improvement on one-hot levels.

Run: ``SKPCE_DATA=… OMP_NUM_THREADS=1 python -m benchmarks.studies.closed_loop_tasks
--out runs/closed_loop_tasks --write docs/downloads/closed_loop_tasks.txt``; campaigns
that are finished in the folder are not run again.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.special import softmax
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from benchmarks.measuring import (
    mean_and_error,
    options,
    publish,
    stored,
    study_page,
    table,
)
from benchmarks.studies.rewards import measured_yields, reward_ensemble
from gflownet_envs import (
    HypergridEnvironment,
    SequentialSelectionEnvironment,
    StateGraph,
    TrainingSpec,
    hypergrid_mode_rewards,
    terminating_distribution,
    train_ensemble,
    train_feature_proxies,
)
from gflownet_envs.experiments.sampling_loop import SamplingLoop
from gflownet_envs.rewards.gaussian_process import one_hot_levels
from gflownet_envs.rewards.proxies import ProxySpec

COMMAND = (
    "OMP_NUM_THREADS=1 python -m benchmarks.studies.closed_loop_tasks "
    "--out runs/closed_loop_tasks"
)
TEMPERATURE = 4.0  # of the policies, percent
_SPEC = TrainingSpec(
    n_iterations=300, batch_size=64, hidden=(64,), learning_rate=0.01, check_every=0
)


@dataclass
class Laboratory:
    """What can be measured, and what one arm of a repetition has measured.

    Attributes
    ----------
    levels : ndarray of shape (n_objects, n_components), int
        The whole table, in the order of the leaves.
    worth : ndarray of shape (n_objects,)
        NaN for objects without a measurement: they cannot be chosen.
    measured : list of int
        In the order of the measurements.
    seed : int
    """

    levels: np.ndarray
    worth: np.ndarray
    measured: list[int]
    seed: int

    @property
    def is_free(self) -> np.ndarray:  # shape: (n_objects,), bool
        """Whether an object can be chosen."""
        free = np.isfinite(self.worth)
        free[self.measured] = False
        return free

    def measure(self, row: int) -> float:
        """Measure an object."""
        self.measured.append(row)
        return float(self.worth[row])

    def best_free(self, scores: np.ndarray) -> int:
        """Return the object of the largest score that can be chosen."""
        return int(np.argmax(np.where(self.is_free, scores, -np.inf)))


@dataclass(frozen=True)
class Problem:
    """What is true of the objects of a task, and the space that they come from."""

    name: str
    graph: StateGraph
    levels: np.ndarray  # shape: (n_objects, n_components)
    worth: np.ndarray  # shape: (n_objects,), percent; NaN where it is not known
    n_start: int  # measured at random
    n_batches: int
    batch: int = 10

    def start(self, seed: int) -> Laboratory:
        """Measure some objects at random."""
        known = np.flatnonzero(np.isfinite(self.worth))
        order = np.random.default_rng(seed).permutation(known)
        first = order[: self.n_start].tolist()
        return Laboratory(self.levels, self.worth, first, seed)


def selection(sizes: tuple[int, ...]) -> StateGraph:
    """Return the states of a choice of one level of each component."""
    levels = {f"c{i}": [str(j) for j in range(n)] for i, n in enumerate(sizes)}
    return StateGraph.from_environment(SequentialSelectionEnvironment(levels))


def hypergrid() -> Problem:
    env = HypergridEnvironment(n_dims=3, side=8)
    reward = hypergrid_mode_rewards(env)[0].exp().numpy()
    graph = StateGraph.from_environment(env)
    levels = graph.final_states()[:, :3].numpy()
    worth = 100.0 * reward / reward.max()
    return Problem("hypergrid", graph, levels, worth, 20, 4)


def molecules(blocks: Path | None) -> Problem:
    predictions = reward_ensemble("molecules", blocks).predictions
    reward = np.exp(predictions.astype(np.float64)).mean(axis=0)
    sizes = (16, 16, 16)
    levels = np.indices(sizes).reshape(3, -1).T
    worth = 100.0 * reward / reward.max()
    return Problem("molecules", selection(sizes), levels, worth, 30, 4)


def reactions(_: Path | None) -> Problem:
    sizes = (4, 3, 16, 24)
    levels = np.indices(sizes).reshape(4, -1).T
    worth = measured_yields(len(levels))
    return Problem("reactions", selection(sizes), levels, worth, 30, 5)


PROBLEMS: dict[str, Callable[[Path | None], Problem]] = {
    "hypergrid": lambda _: hypergrid(),
    "molecules": molecules,
    "reactions": reactions,
}


class AtRandom:
    """Any object."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory
        self.rng = np.random.default_rng([laboratory.seed, 11])

    def choose(self) -> int:
        return self.laboratory.best_free(self.rng.random(len(self.laboratory.worth)))

    def learn(self, row: int, value: float) -> None:
        """Nothing."""

    def end_batch(self) -> None:
        """Nothing."""


class GaussianProcess(AtRandom):
    """Expected improvement, kernel fitted again at the end of each batch."""

    def __init__(self, laboratory: Laboratory) -> None:
        super().__init__(laboratory)
        sizes = laboratory.levels.max(axis=0) + 1
        self.X = one_hot_levels(laboratory.levels, sizes)
        self.kernel = ConstantKernel() * RBF(2.0, (0.3, 30.0)) + WhiteKernel(0.1)
        self.end_batch()

    def fitted(self, **how: Any) -> GaussianProcessRegressor:
        """Fit a process to what was measured."""
        rows = self.laboratory.measured
        process = GaussianProcessRegressor(self.kernel, normalize_y=True, **how)
        return process.fit(self.X[rows], self.laboratory.worth[rows])

    def end_batch(self) -> None:
        with warnings.catch_warnings():  # few rows take a parameter to its bound
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.kernel = self.fitted().kernel_

    def choose(self) -> int:
        mean, deviation = self.fitted(optimizer=None).predict(self.X, return_std=True)
        best = self.laboratory.worth[self.laboratory.measured].max()
        z = (mean - best) / deviation
        return self.laboratory.best_free(deviation * (z * norm.cdf(z) + norm.pdf(z)))


class Networks(AtRandom):
    """An ensemble of networks, each trained on its own part of the measured rows."""

    n_members, hidden, seen = 30, (32,), 0.75

    def __init__(self, laboratory: Laboratory) -> None:
        super().__init__(laboratory)
        self.end_batch()

    def end_batch(self) -> None:
        rows = np.array(self.laboratory.measured)
        levels = self.laboratory.levels
        sizes = levels.max(axis=0) + 1
        proxies = train_feature_proxies(
            one_hot_levels(levels[rows], sizes),
            self.laboratory.worth[rows],
            ProxySpec(train_fraction=self.seen, hidden=self.hidden),
            members=range(self.n_members),
            seed=self.laboratory.seed,
        )
        self.predictions = proxies.predict(one_hot_levels(levels, sizes))
        self.noise = float(np.sqrt(np.nanmean(proxies.mse_held_out)))
        self.prepare()

    def prepare(self) -> None:
        """Start from the members again."""
        self.log_weights = np.zeros(self.n_members)

    def choose(self) -> int:
        weights = softmax(self.log_weights)
        member = self.rng.choice(self.n_members, p=weights)
        return self.laboratory.best_free(self.predictions[member])

    def learn(self, row: int, value: float) -> None:
        error = (value - self.predictions[:, row]) / self.noise
        self.log_weights -= 0.5 * error**2


class Loop(Networks):
    """A surrogate of the members' policies inside the sampling loop."""

    def __init__(self, problem: Problem, laboratory: Laboratory) -> None:
        self.graph = problem.graph
        super().__init__(laboratory)

    def prepare(self) -> None:
        self.loop = SamplingLoop(
            self.graph,
            self.predictions / TEMPERATURE,
            random_state=int(self.rng.integers(2**31)),
        )

    def choose(self) -> int:
        return self.loop.choose(self.laboratory.is_free)

    def learn(self, row: int, value: float) -> None:
        noise = self.noise / TEMPERATURE
        self.loop.learn(row, value / TEMPERATURE, noise_sd=noise)


class Retrained(Networks):
    """One GFlowNet, trained on the mean of the members after each batch."""

    def __init__(self, problem: Problem, laboratory: Laboratory, solved: bool) -> None:
        self.graph, self.solved = problem.graph, solved
        super().__init__(laboratory)

    def prepare(self) -> None:
        log_reward = self.predictions.mean(axis=0) / TEMPERATURE
        if self.solved:
            self.law = softmax(log_reward)
            return
        with warnings.catch_warnings():  # few iterations
            warnings.simplefilter("ignore")
            trained = train_ensemble(
                self.graph.environment,
                log_reward[np.newaxis],
                _SPEC,
                seed=int(self.rng.integers(2**31)),
            )
        policy = trained.log_policy_table(self.graph)
        self.law = terminating_distribution(self.graph, policy)[0].numpy()

    def choose(self) -> int:
        free = np.where(self.laboratory.is_free, self.law, 0.0)
        return int(self.rng.choice(len(free), p=free / free.sum()))

    def learn(self, row: int, value: float) -> None:
        """Only at the end of the batch."""


REFERENCE = "Gaussian process, expected improvement"
ARMS: dict[str, Callable[[Problem, Laboratory], AtRandom]] = {
    "loop, draws": Loop,
    "GFlowNet, retrained": lambda problem, lab: Retrained(problem, lab, False),
    "GFlowNet, solved": lambda problem, lab: Retrained(problem, lab, True),
    "members, Thompson sampling": lambda _, lab: Networks(lab),
    REFERENCE: lambda _, lab: GaussianProcess(lab),
    "at random": lambda _, lab: AtRandom(lab),
}


@dataclass(frozen=True)
class Outcome:
    """What one campaign of one arm measured, one after another, and its CPU time."""

    lost: list[float]
    left: float  # largest worth less the best that was measured
    seconds: float


def campaign(name: str, problem: Problem, seed: int) -> Outcome:
    """Run one arm from the start of a repetition."""
    lab = problem.start(seed)
    started = time.process_time()
    arm = ARMS[name](problem, lab)
    best, lost = float(np.nanmax(problem.worth)), []
    for number in range(problem.n_batches):
        if number > 0:
            arm.end_batch()
        for _ in range(problem.batch):
            row = arm.choose()
            value = lab.measure(row)
            arm.learn(row, value)
            lost.append(best - value)
    left = best - float(np.max(problem.worth[lab.measured]))
    return Outcome(lost, left, time.process_time() - started)


def run(
    problem: Problem, arms: list[str], n_repetitions: int, folder: Path | None
) -> dict[str, list[Outcome]]:
    """Run all campaigns that are not finished in the folder."""
    found: dict[str, list[Outcome]] = {name: [] for name in arms}
    for name, seed in product(arms, range(n_repetitions)):
        label = f"{problem.name}.{name.replace(' ', '_').replace(',', '')}.{seed}.json"
        file = None if folder is None else folder / label
        measure = partial(campaign, name, problem, seed)
        values = stored(file, lambda measure=measure: vars(measure()))
        found[name].append(Outcome(**values))
    return found


def section(problem: Problem, found: dict[str, list[Outcome]]) -> str:
    """Return the curve of the regret, batch by batch, and what it cost."""
    rows = []
    for name, outcomes in found.items():
        lost = np.array([o.lost for o in outcomes])
        batches = lost.reshape(len(lost), problem.n_batches, -1).mean(axis=2)
        difference = ""
        if REFERENCE in found and name != REFERENCE:
            reference = np.array([o.lost for o in found[REFERENCE]]).mean(axis=1)
            difference = mean_and_error(lost.mean(axis=1) - reference, 1)
            difference = difference if difference.startswith("-") else "+" + difference
        rows.append(
            [
                name,
                mean_and_error(lost.mean(axis=1), 1),
                difference,
                " ".join(f"{value:.0f}" for value in batches.mean(axis=0)),
                mean_and_error([o.left for o in outcomes], 1),
                f"{np.mean([o.seconds for o in outcomes]):.1f}",
            ]
        )
    heads: list[Any] = [
        *("arm", "regret of a measurement", "minus the Gaussian process"),
        *("by batches of ten", "regret of the best found", "CPU s a campaign"),
    ]
    n = len(next(iter(found.values())))
    return (
        f"**{problem.name.capitalize()}**, percent, mean ± standard error over {n} "
        f"campaigns of {lost.shape[1]} measurements after "
        f"{problem.n_start} at random:\n\n{table(heads, rows)}"
    )


def main() -> None:
    given = {"tasks": PROBLEMS, "arms": ARMS, "out": Path, "write": Path}
    arguments = options(__doc__, repetitions=20, **given)
    torch.set_num_threads(1)
    blocks = None if arguments.out is None else arguments.out / "blocks"
    sections, spent = [], 0.0
    for name in arguments.tasks:
        problem = PROBLEMS[name](blocks)
        found = run(problem, arguments.arms, arguments.repetitions, arguments.out)
        sections.append(section(problem, found))
        spent += sum(o.seconds for outcomes in found.values() for o in outcomes)
    command = f"{COMMAND} --repetitions {arguments.repetitions}"
    publish(study_page(sections, command, spent), arguments.write)


if __name__ == "__main__":
    main()
