"""The shapes: state spaces and tables of log-rewards, written for the workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gflownet_envs import (
    Environment,
    HypergridEnvironment,
    SequentialSelectionEnvironment,
    StateGraph,
    hypergrid_mode_rewards,
)

from .methods.base import Task

LEVELS = {"catalyst": 4, "base": 3, "aryl halide": 16, "additive": 24}
SIDE = 8
N_MEMBERS = 50
SEED = 0


@dataclass(frozen=True)
class Shape:
    """A state space and a reward for each member."""

    name: str
    text: str
    environment: Callable[[], Environment]
    log_reward: Callable[[], NDArray[np.float64]]
    side: int = 0

    def task(self) -> Task:
        """Return the shape as arrays."""
        graph = StateGraph.from_environment(self.environment())
        return Task(
            log_reward=self.log_reward(),
            states=graph.states.numpy(),
            encodings=graph.encodings.numpy(),
            mask=graph.mask.numpy(),
            children=graph.children.numpy(),
            max_steps=graph.environment.max_steps,
            side=self.side,
        )


def selection() -> SequentialSelectionEnvironment:
    """Return the state space of the Buchwald–Hartwig reactions."""
    return SequentialSelectionEnvironment(
        {name: [str(i) for i in range(size)] for name, size in LEVELS.items()}
    )


def smooth_log_rewards() -> NDArray[np.float64]:
    """Return log-rewards like predicted yields over 4.

    A yield is 100 times the logistic function of a sum of main effects (standard
    deviation 1) and of products of two traits of the levels, one term for each pair of
    components (traits of standard deviation 0.5). To effects and traits that all
    members share, each member adds its own of 0.3 times these standard deviations.
    """
    rng = np.random.default_rng(SEED)
    sizes = tuple(LEVELS.values())
    levels = np.indices(sizes).reshape(len(sizes), -1)
    score = np.zeros((N_MEMBERS, levels.shape[1]))
    traits = []
    for chosen, size in zip(levels, sizes, strict=True):
        score += _drawn(rng, size, 1.0)[:, chosen]
        traits.append(_drawn(rng, size, 0.5)[:, chosen])
    for first, second in combinations(traits, 2):
        score += first * second
    return 25.0 / (1 + np.exp(-score))


def _drawn(rng: np.random.Generator, size: int, scale: float) -> NDArray[np.float64]:
    shared = rng.normal(scale=scale, size=size)
    return shared + rng.normal(scale=0.3 * scale, size=(N_MEMBERS, size))


def hypergrid_log_rewards() -> NDArray[np.float64]:
    """Return log-rewards of Bengio et al. (NeurIPS 2021), varied over the members.

    R₁ and R₂ of each member are multiplied by the exponential of a normal of standard
    deviation 0.3; member 0 keeps them.
    """
    factors = np.exp(0.3 * np.random.default_rng(SEED).normal(size=(N_MEMBERS, 2)))
    factors[0] = 1.0
    table = hypergrid_mode_rewards(
        HypergridEnvironment(side=SIDE), r1=0.5 * factors[:, 0], r2=2.0 * factors[:, 1]
    )
    return table.numpy()


SHAPES = {
    shape.name: shape
    for shape in (
        Shape(
            "Buchwald–Hartwig",
            "4 steps of 4, 3, 16, 24 actions, 4608 objects",
            selection,
            smooth_log_rewards,
        ),
        Shape(
            "hypergrid 8×8",
            "3 actions, at most 15 steps, 64 objects",
            lambda: HypergridEnvironment(side=SIDE),
            hypergrid_log_rewards,
            SIDE,
        ),
    )
}


def environment_of(task: Task) -> Environment:
    """Return the environment of a task that was read from a file."""
    return HypergridEnvironment(side=task.side) if task.side else selection()


def write_task(task: Task, path: Path) -> None:
    """Write the arrays of a task."""
    np.savez(path, **vars(task))
