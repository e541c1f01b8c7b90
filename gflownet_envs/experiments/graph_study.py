"""What the tasks over directed acyclic graphs share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.environments.dag import DagEnvironment
from gflownet_envs.experiments.graph_drawing import Edge, edge_kind
from gflownet_envs.experiments.task import Table
from gflownet_envs.policy_dataset import PolicyDataset
from gflownet_envs.rewards.bge_score import bge_scores
from gflownet_envs.trajectories import (
    LOWEST_LOG,
    PolicySource,
    Trajectory,
    trajectory_of_actions,
)
from skpce import LogRatioTransformer


def scores_above_empty(
    samples: np.ndarray,  # shape: (E, n, d)
) -> np.ndarray:  # shape: (E, d, 2^d)
    """Return BGe scores relative to the graph without edges.

    The posterior is the same, and log Z is the log Bayes factor of all graphs against
    the empty one.
    """
    scores = bge_scores(samples)
    return scores - scores[:, :, :1]


def covariance_names(node_names: Sequence[str]) -> tuple[str, ...]:
    """Name the entries of a flattened covariance.

    Examples
    --------
    >>> covariance_names(["a", "b"])
    ('cov(a, a)', 'cov(a, b)', 'cov(b, a)', 'cov(b, b)')
    """
    return tuple(f"cov({i}, {j})" for i in node_names for j in node_names)


def levels_of_nodes(node_names: Sequence[str]) -> Mapping[str, np.ndarray]:
    """Return the entries of a flattened covariance that involve each node.

    Examples
    --------
    >>> levels_of_nodes(["a", "b"])["b"].tolist()
    [1, 2, 3]
    """
    n_nodes = len(node_names)
    row, column = np.divmod(np.arange(n_nodes**2), n_nodes)
    return {
        name: np.flatnonzero((row == i) | (column == i))
        for i, name in enumerate(node_names)
    }


def edges_of_trajectory(
    environment: DagEnvironment, trajectory: Trajectory
) -> list[Edge]:
    """Return the edges that a trajectory adds, by the names of their nodes."""
    return [
        _edge_of_action(environment, int(action)) for action in trajectory.actions[:-1]
    ]


def _edge_of_action(environment: DagEnvironment, action: int) -> Edge:
    source, target = environment.action_names[action].split(" → ")
    return source, target


def edges_in_preferred_order(
    environment: DagEnvironment,
    pilot: PolicySource,
    edges: Sequence[Edge],
) -> Trajectory:
    """Return the trajectory that adds given edges, always the likeliest one left."""
    left = [environment.action_names.index(f"{i} → {j}") for i, j in edges]
    state, actions = environment.initial_state(), []
    while left:
        log_policy = pilot.log_policy(state).reshape(-1)
        actions.append(max(left, key=lambda action: float(log_policy[action])))
        left.remove(actions[-1])
        state = environment.step(state, torch.tensor(actions[-1]))
    return trajectory_of_actions(environment, [*actions, environment.n_actions - 1])


def trajectory_table(
    environment: DagEnvironment,
    trajectory: Trajectory,
    how: str,
    known: Sequence[Edge],
    known_name: str,
) -> Table:
    """Return the edges of the reference trajectory, beside those of a known graph."""
    edges = edges_of_trajectory(environment, trajectory)
    rows = [
        (step, " → ".join(edge), edge_kind(edge, known).replace("known", known_name, 1))
        for step, edge in zip(environment.step_names, edges, strict=False)
    ]
    rows.append((environment.step_names[len(edges)], "stop", ""))
    return Table(
        f"Reference trajectory: {how}", ("step", "action", "edge"), tuple(rows)
    )


def marginals_table(
    environment: DagEnvironment,
    exact: Tensor,  # shape: (E, d, d)
    trained: Tensor | None,  # shape: (E, d, d)
    how_trained: str,
    known: Sequence[Edge],
    known_name: str,
    n_shown: int,
) -> Table:
    """Return the probabilities of the likeliest edges and of all known ones."""
    mean = exact.mean(dim=0)
    names = environment.node_names
    pairs = [(i, j) for i in range(len(names)) for j in range(len(names)) if i != j]
    pairs.sort(key=lambda pair: -float(mean[pair]))
    shown = [
        (i, j)
        for place, (i, j) in enumerate(pairs)
        if place < n_shown or (names[i], names[j]) in known
    ]
    columns = ["edge", "is", "exact, mean", "exact, sd between members"]
    if trained is not None:
        columns += ["trained, mean", "trained − exact, mean absolute"]
    rows = []
    for i, j in shown:
        edge = names[i], names[j]
        row = [
            " → ".join(edge),
            edge_kind(edge, known).replace("known", known_name, 1),
            float(mean[i, j]),
            float(exact[:, i, j].std()),
        ]
        if trained is not None:
            off = (trained[:, i, j] - exact[:, i, j]).abs().mean()
            row += [float(trained[:, i, j].mean()), float(off)]
        rows.append(tuple(row))
    note = f"; trained: {how_trained}" if trained is not None else ""
    return Table(
        f"Probabilities of edges, {len(shown)} of {len(pairs)}{note}",
        tuple(columns),
        tuple(rows),
    )


def stopping_table(dataset: PolicyDataset) -> Table:
    """Return what the variance D of additive log-ratios to `stop` is made of.

    D, the sum of the variances of log P(action) / P(stop), is the Aitchison variance
    plus K times the variance of the centred log-ratio of `stop`, with K possible
    actions. Where log P(stop) would be below the least of a data set (`LOWEST_LOG`) it
    is held there, and the variances are too small: the last column counts the members.
    """
    clr = LogRatioTransformer("clr", steps=dataset.steps, mask=dataset.mask)
    values = clr.fit_transform(dataset.y)
    rows = []
    for step, columns in enumerate(dataset.step_slices):
        variance = values[:, clr.coordinate_steps_ == step].var(axis=0)
        if variance.size == 0:
            continue
        total, by_stop = float(variance.sum()), float(len(variance) * variance[-1])
        log_stop = np.log(dataset.y[:, columns.stop - 1])
        rows.append(
            (
                dataset.step_names[step],
                len(variance),
                total + by_stop,
                by_stop / (total + by_stop),
                float(variance[-1]) / total,
                float(log_stop.mean()),
                float(log_stop.std()),
                int((log_stop <= LOWEST_LOG + 1e-6).sum()),
            )
        )
    return Table(
        f"What stopping does to the variances ({dataset.source} policies, "
        f"{dataset.n_members} training members)",
        (
            "step",
            "possible actions",
            "D, reference stop",
            "share of D by the reference",
            "share of the Aitchison variance by stop",
            "log P(stop), mean",
            "sd",
            f"members held at {LOWEST_LOG:g}",
        ),
        tuple(rows),
    )
