"""Do the interventional cells of Sachs et al. change a verdict?

The nine conditions have 7,466 cells; in six of them one of the eleven proteins was
inhibited or activated (Akt, PKC, PIP2, Mek, PKC, PKA). The likelihood of a protein
given its parents then counts the cells in which that protein was not the target (Cooper
and Yoo, 1999): opposite edges are no longer equivalent. Members see 200 cells, as in
the task, the same number of each condition. Exact policies, two components of the
covariances, degree 1, as in the task; 20 CPU-seconds a row.

Run: ``SKPCE_DATA=… OMP_NUM_THREADS=1 python -m benchmarks.gflownet.sachs_interventions
--write docs/downloads/sachs_interventions.txt``
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from benchmarks.measuring import options, publish, table
from gflownet_envs.datasets._sachs import CONSENSUS_EDGES
from gflownet_envs.environments.dag import DagEnvironment
from gflownet_envs.exact.dag import GraphFlows
from gflownet_envs.exact.solve import greedy_trajectory, policies_along
from gflownet_envs.experiments.tasks.graphs import edges_of_trajectory
from gflownet_envs.experiments.tasks.sachs import MAX_EDGES
from gflownet_envs.rewards.graph_scores import (
    LocalScoreReward,
    bge_scores,
    sample_covariances,
)
from skpce import CompositionalPCESurrogate
from skpce.inspection import verdict
from skpce.metrics import policy_fragility

N_MEMBERS, N_CELLS = 30, 200


@dataclass(frozen=True)
class Cells:
    """Cells, standardised, with their condition and the protein that was perturbed."""

    names: tuple[str, ...]
    values: np.ndarray  # shape: (n, d)
    condition: np.ndarray  # shape: (n,), int
    target: np.ndarray  # shape: (n,), number of the protein, -1 for none


def read_cells(*, observational: bool, within: bool = False) -> Cells:
    """Read the cells; ``within`` standardises the cells of each condition alone."""
    frame = pd.read_csv(Path(os.environ["SKPCE_DATA"]) / "sachs_interventional.csv")
    if observational:
        frame = frame[frame["condition_id"] == 1]
    names = tuple(frame.columns[:11])
    numbers = {name: number for number, name in enumerate(names)}
    groups = frame["condition_id"] if within else pd.Series(0, index=frame.index)
    values = (
        frame[list(names)]
        .groupby(groups)
        .transform(lambda column: (column - column.mean()) / column.std(ddof=0))
    )
    return Cells(
        names,
        values.to_numpy(),
        frame["condition_id"].to_numpy(),
        frame["target"].map(lambda name: numbers.get(name, -1)).to_numpy(),
    )


def draw(
    cells: Cells, conditions: Sequence[int], n_members: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:  # shapes: (E, n, d), (n,)
    """Draw cells of each member, as many of each condition; and their targets."""
    of = [np.flatnonzero(cells.condition == number) for number in conditions]
    sizes = map(len, np.array_split(np.arange(N_CELLS), len(conditions)))
    each = list(zip(of, sizes, strict=True))
    rows = np.array(
        [
            np.concatenate(
                [rng.choice(some, size, replace=False) for some, size in each]
            )
            for _ in range(n_members)
        ]
    )
    return cells.values[rows], cells.target[rows[0]]


def interventional_scores(
    samples: np.ndarray,  # shape: (E, n, d)
    targets: np.ndarray,  # shape: (n,), -1 for rows without a perturbed node
) -> np.ndarray:  # shape: (E, d, 2^d)
    """Return local scores, each node from the rows in which it was not perturbed."""
    scores = bge_scores(samples)
    for node in np.unique(targets[targets >= 0]):
        scores[:, node] = bge_scores(samples[:, targets != node])[:, node]
    return scores


def reward_of(
    names: Sequence[str],
    samples: np.ndarray,  # shape: (E, n, d)
    targets: np.ndarray,  # shape: (n,)
    max_edges: int = MAX_EDGES,
) -> LocalScoreReward:
    """Return the rewards of graphs on the proteins, a member a sample."""
    scores = interventional_scores(samples, targets)
    environment = DagEnvironment(len(names), max_edges=max_edges, node_names=names)
    return LocalScoreReward(environment, scores - scores[:, :, :1])


def analyse(name: str, cells: Cells, *, interventional: bool, seed: int) -> list[str]:
    """Solve the members along the greedy trajectory of the first, and judge."""
    rng = np.random.default_rng(seed)
    samples, targets = draw(cells, np.unique(cells.condition), N_MEMBERS, rng)
    if not interventional:
        targets = np.full(len(targets), -1)
    reward = reward_of(cells.names, samples, targets)
    environment = reward.environment
    first = GraphFlows(reward.select(slice(0, 1)))
    trajectory = greedy_trajectory(environment, first.log_policy)
    flows = GraphFlows(reward)
    along = policies_along(environment, flows, trajectory)
    pipeline = make_pipeline(
        PCA(2, whiten=True, svd_solver="full"),
        CompositionalPCESurrogate(
            1, steps=along.steps, mask=along.mask, solver="ridge", distribution="normal"
        ),
    )
    found = verdict(pipeline, sample_covariances(samples), along.y)
    apart = policy_fragility(along.y, steps=along.steps, mask=along.mask)
    edges = flows.edge_marginals().mean(dim=0).numpy()
    numbers = {node: number for number, node in enumerate(cells.names)}
    published = [(numbers[i], numbers[j]) for i, j in CONSENSUS_EDGES]
    forth = np.array([edges[pair] for pair in published])
    back = np.array([edges[pair[::-1]] for pair in published])
    resolved = np.abs(edges - edges.T)[np.triu_indices(len(edges), 1)]
    likely = (edges + edges.T)[np.triu_indices(len(edges), 1)] > 0.5
    shown = edges_of_trajectory(environment, trajectory)
    q2 = [step.q2 for step in found.steps if not np.isnan(step.q2)]
    return [
        name,
        ", ".join(" → ".join(edge) for edge in shown),
        " ".join(f"{value:.2f}" for value in q2),
        f"{sum(bool(value) for value in found.attributable)} of {len(q2)}",
        f"{apart.total_variation.min():.2f} to {apart.total_variation.max():.2f}",
        f"{int(likely.sum())}, {resolved[likely].mean():.2f}",
        f"{(forth > 0.5).sum()} / {(back > 0.5).sum()}",
        f"{edges[numbers['Raf'], numbers['Mek']]:.2f} / "
        f"{edges[numbers['Mek'], numbers['Raf']]:.2f}",
    ]


def page(rows: list[list[str]]) -> str:
    """Return the table."""
    return (
        "<!-- Written by python -m benchmarks.gflownet.sachs_interventions -->\n\n"
        + table(
            (
                "cells",
                "edges of the greedy trajectory",
                "cross-fitted Q² of its steps",
                "attributable",
                "TV to the mean policy",
                "likely pairs, difference of their directions",
                "published edges above one half, as published / reversed",
                "Raf → Mek / Mek → Raf",
            ),
            rows,
        )
    )


def main() -> None:
    arguments = options(__doc__, seeds=[0, 1], write=Path)
    torch.set_num_threads(1)
    every = read_cells(observational=False)
    designs = {
        "observational (the task)": (read_cells(observational=True), False),
        "nine conditions as if observational": (every, False),
        "nine conditions, interventional likelihood": (every, True),
        "the same, standardised within each condition": (
            read_cells(observational=False, within=True),
            True,
        ),
    }
    rows = [
        analyse(name, cells, interventional=interventional, seed=seed)
        for name, (cells, interventional) in designs.items()
        for seed in arguments.seeds
    ]
    publish(page(rows), arguments.write)


if __name__ == "__main__":
    main()
