"""Distance to the exact law on every kind of space that can be listed.

``default`` is `TrainingSpec()`, ``paper`` `PAPER_TRAINING` (trajectory balance with a
slow log Z). Rewards: the 625 quadrant rewards of the grid, yield-like tables of the
Buchwald–Hartwig shape, the modes of a hypergrid, random scores of tokens and of
parents.

Run: ``python benchmarks/gflownet/converged.py``
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
import torch

from gflownet_envs import (
    PAPER_TRAINING,
    DagEnvironment,
    Environment,
    GridEnvironment,
    HypergridEnvironment,
    SequentialSelectionEnvironment,
    StateGraph,
    TokenSequenceEnvironment,
    TrainingSpec,
    hypergrid_mode_rewards,
    log_reward_table,
    quadrant_shift_rewards,
    train_ensemble,
)
from gflownet_envs.convergence import NotConvergedWarning
from gflownet_envs.rewards.local_scores import LocalScoreReward

SIZES = {"catalyst": 4, "base": 3, "aryl halide": 16, "additive": 24}


def spaces(n_members: int, seed: int) -> Iterator[tuple[str, Environment, np.ndarray]]:
    """Yield a name, an environment and a table of log-rewards."""
    rng = np.random.default_rng(seed)
    grid = GridEnvironment()
    rewards = quadrant_shift_rewards(grid)[0].numpy()
    yield "grid 5×5", grid, rewards[rng.choice(len(rewards), n_members, replace=False)]
    selection = SequentialSelectionEnvironment(
        {name: [str(i) for i in range(size)] for name, size in SIZES.items()}
    )
    levels = selection.object_levels().numpy()
    effects = [rng.normal(scale=2.0, size=(n_members, n)) for n in SIZES.values()]
    table = sum(e[:, levels[:, i]] for i, e in enumerate(effects))
    table = table + rng.normal(scale=1.0, size=table.shape)
    yield "4 × 3 × 16 × 24 levels", selection, table
    hypergrid = HypergridEnvironment(n_dims=2, side=8)
    r0 = np.geomspace(0.01, 0.3, n_members)
    yield "hypergrid 8×8", hypergrid, hypergrid_mode_rewards(hypergrid, r0=r0).numpy()
    tokens = TokenSequenceEnvironment(
        ["a", "b", "c", "d", "end"], max_length=5, end_token="end"
    )
    states = tokens.object_states(torch.arange(tokens.n_objects)).numpy()
    weights = rng.normal(size=(n_members, 6, 5))
    table = weights[:, states, np.arange(5)].sum(axis=-1)
    yield "4 tokens and an end, 5 steps", tokens, table
    dag = DagEnvironment(5)
    scores = rng.normal(size=(n_members, 5, 32))
    graph = StateGraph.from_environment(dag)
    table = log_reward_table(LocalScoreReward(dag, scores), graph)
    yield "graphs of 5 nodes", dag, table.numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--members", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", NotConvergedWarning)
    print(
        "| space | states | objects | settings | distance, mean / worst | smallest "
        "effective sample share | CPU-s a member |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, environment, log_reward in spaces(arguments.members, arguments.seed):
        n_states = StateGraph.from_environment(environment).n_states
        for label, spec in (("default", TrainingSpec()), ("paper", PAPER_TRAINING)):
            ensemble = train_ensemble(environment, log_reward, spec, seed=1)
            found = ensemble.diagnostics
            print(
                f"| {name} | {n_states:,} | {environment.n_objects:,} | {label} | "
                f"{found.distance.mean():.4f} / {found.distance.max():.4f} | "
                f"{found.effective_sample_share.min():.2f} | "
                f"{found.cpu_seconds.mean():.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
