"""Distance to the exact law on every kind of space that can be listed.

``default`` is `TrainingSpec()`, ``paper`` `PAPER_TRAINING` (trajectory balance with a
slow log Z); where a space has settings of its own, ``own`` says how they differ from
`TrainingSpec()`. Rewards: the 625 quadrant rewards of the grid, yield-like tables of
the Buchwald–Hartwig shape, the modes of a hypergrid, random scores of tokens and of
parents, and misfits of expressions to noisy targets. Graphs and expressions are there
once an encoding, with the same rewards; the gap is `max_gap` of
`wiener_regression_rewards`, and distances are those to the law with it.

Run: ``python -m benchmarks.gflownet.converged``, or some of the spaces alone with
``--only graphs expressions``, some of the settings with ``--settings default own``
"""

from __future__ import annotations

import resource
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from typing import NamedTuple

import numpy as np
import torch

from benchmarks.measuring import options, table
from gflownet_envs import (
    PAPER_TRAINING,
    DagEnvironment,
    Environment,
    GridEnvironment,
    HypergridEnvironment,
    SequentialSelectionEnvironment,
    StateGraph,
    SymbolicExpressionEnvironment,
    TokenSequenceEnvironment,
    TrainingSpec,
    hypergrid_mode_rewards,
    log_reward_table,
    quadrant_shift_rewards,
    train_ensemble,
    wiener_regression_rewards,
)
from gflownet_envs.rewards.graph_scores import LocalScoreReward
from gflownet_envs.training.convergence import NotConvergedWarning

SIZES = {"catalyst": 4, "base": 3, "aryl halide": 16, "additive": 24}
SETTINGS = ("default", "own", "paper")


class Space(NamedTuple):
    """A name, an environment, a table of log-rewards, and settings of its own."""

    name: str
    environment: Environment
    log_reward: np.ndarray
    own: TrainingSpec | None = None


def spaces(n_members: int, seed: int) -> Iterator[Space]:
    """Yield all spaces with their rewards."""
    rng = np.random.default_rng(seed)
    grid = GridEnvironment()
    rewards = quadrant_shift_rewards(grid)[0].numpy()
    rows = rng.choice(len(rewards), n_members, replace=False)
    yield Space("grid 5×5", grid, rewards[rows])
    selection = SequentialSelectionEnvironment(
        {name: [str(i) for i in range(size)] for name, size in SIZES.items()}
    )
    levels = selection.object_levels().numpy()
    effects = [rng.normal(scale=2.0, size=(n_members, n)) for n in SIZES.values()]
    table = sum(e[:, levels[:, i]] for i, e in enumerate(effects))
    table = table + rng.normal(scale=1.0, size=table.shape)
    yield Space("4 × 3 × 16 × 24 levels", selection, table)
    hypergrid = HypergridEnvironment(n_dims=2, side=8)
    r0 = np.geomspace(0.01, 0.3, n_members)
    table = hypergrid_mode_rewards(hypergrid, r0=r0).numpy()
    yield Space("hypergrid 8×8", hypergrid, table)
    tokens = TokenSequenceEnvironment(
        ["a", "b", "c", "d", "end"], max_length=5, end_token="end"
    )
    states = tokens.object_states(torch.arange(tokens.n_objects)).numpy()
    weights = rng.normal(size=(n_members, 6, 5))
    table = weights[:, states, np.arange(5)].sum(axis=-1)
    yield Space("4 tokens and an end, 5 steps", tokens, table)
    scores = rng.normal(size=(n_members, 5, 32))
    yield graphs("adjacency", "adjacency", scores)
    yield graphs("sets", "parent_sets", scores)
    yield from expressions(np.random.default_rng(seed).normal(size=(n_members, 2)))


def graphs(label: str, encoding: str, scores: np.ndarray) -> Space:
    """Return graphs in an encoding, for scores of shape (E, d, 2^d)."""
    n_nodes = scores.shape[1]
    dag = DagEnvironment(n_nodes, encoding=encoding)
    table = log_reward_table(LocalScoreReward(dag, scores), dag)
    return Space(f"graphs of {n_nodes} nodes, {label}", dag, table.numpy())


def expressions(scores: np.ndarray) -> Iterator[Space]:
    """Yield expressions, for the scores of two modes of noise, shape (E, 2)."""
    less_exploration = TrainingSpec(exploration_epsilon=0.01)
    for label, encoding, max_gap, own in (
        ("tokens", "tokens", None, None),
        ("tokens, gap 20", "tokens", 20.0, None),
        ("values, gap 20", "values", 20.0, less_exploration),
    ):
        environment = SymbolicExpressionEnvironment(encoding=encoding)
        table = wiener_regression_rewards(environment, scores, max_gap=max_gap)
        yield Space(f"expressions, {label}", environment, table.numpy(), own)


def settings_of(space: Space, chosen: list[str]) -> Iterator[tuple[str, TrainingSpec]]:
    """Yield the settings of a space that were selected, with labels."""
    if "default" in chosen:
        yield "default", TrainingSpec()
    if "own" in chosen and space.own is not None:
        usual, own = asdict(TrainingSpec()), asdict(space.own)
        changes = [f"{name}={own[name]}" for name in own if own[name] != usual[name]]
        yield f"own: {', '.join(changes)}", space.own
    if "paper" in chosen:
        yield "paper", PAPER_TRAINING


def measure(space: Space, label: str, spec: TrainingSpec) -> list[str]:
    """Train an ensemble and return a row of the table."""
    environment = space.environment
    n_states = StateGraph.from_environment(environment).n_states
    found = train_ensemble(environment, space.log_reward, spec, seed=1).diagnostics
    return [
        space.name,
        f"{n_states:,} / {environment.n_objects:,}",
        label,
        f"{found.distance.mean():.4f} / {found.distance.max():.4f}",
        f"{found.effective_sample_share.min():.2f}",
        f"{found.cpu_seconds.mean():.2f}",
    ]


def main() -> None:
    arguments = options(__doc__, members=20, seed=0, only=[""], settings=SETTINGS)
    warnings.simplefilter("ignore", NotConvergedWarning)
    rows = [
        measure(space, label, spec)
        for space in spaces(arguments.members, arguments.seed)
        if any(part in space.name for part in arguments.only)
        for label, spec in settings_of(space, arguments.settings)
    ]
    columns = ["space", "states / objects", "settings", "distance, mean / worst"]
    columns += ["smallest effective sample share", "CPU-s a member"]
    print(table(columns, rows))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"peak memory {peak:.2f} GB")


if __name__ == "__main__":
    main()
