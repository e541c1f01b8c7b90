"""What the tasks over directed acyclic graphs share: studies, drawings and claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.environments.dag import DagEnvironment
from gflownet_envs.exact.trajectories import (
    LOWEST_LOG,
    PolicySource,
    Trajectory,
    trajectory_of_actions,
)
from gflownet_envs.experiments.task import Table
from gflownet_envs.policy_dataset import PolicyDataset
from gflownet_envs.rewards.graph_scores import bge_scores
from skpce import LogRatioTransformer

Edge = tuple[str, str]

_KINDS = {
    "known": "C0",
    "known, other way": "C1",
    "not known": "0.35",
    "known, not added": "0.8",
}


def draw_graph(
    ax: Any,
    node_names: Sequence[str],
    edges: Sequence[Edge],
    *,
    known: Sequence[Edge],
    known_name: str,
) -> None:
    """Draw edges numbered in their order, and mark those of a known graph."""
    from matplotlib.lines import Line2D

    angles = np.pi / 2 - 2 * np.pi * np.arange(len(node_names)) / len(node_names)
    circle = np.stack((np.cos(angles), np.sin(angles)), axis=1)
    places = dict(zip(node_names, circle, strict=True))
    taken = {*edges, *((target, source) for source, target in edges)}
    for edge in known:
        if edge not in taken:
            _draw_edge(ax, places, edge, _KINDS["known, not added"])
    kinds = [edge_kind(edge, known) for edge in edges]
    for number, (edge, kind) in enumerate(zip(edges, kinds, strict=True), start=1):
        _draw_edge(ax, places, edge, _KINDS[kind], label=str(number))
    for name, place in places.items():
        ax.text(
            *place,
            name,
            ha="center",
            va="center",
            fontsize="small",
            bbox={"boxstyle": "round", "facecolor": "white", "edgecolor": "0.5"},
        )
    handles = [
        Line2D([], [], color=color, label=kind.replace("known", known_name, 1))
        for kind, color in _KINDS.items()
    ]
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=2,
        fontsize="x-small",
        frameon=False,
    )
    ax.set(xlim=(-1.25, 1.25), ylim=(-1.2, 1.2), aspect="equal")
    ax.set_axis_off()


def edge_kind(edge: Edge, known: Sequence[Edge]) -> str:
    """Say whether a known graph has an edge."""
    if edge in known:
        return "known"
    return "known, other way" if edge[::-1] in known else "not known"


def _draw_edge(
    ax: Any, places: dict[str, np.ndarray], edge: Edge, color: str, label: str = ""
) -> None:
    start, end = places[edge[0]], places[edge[1]]
    arrow = {"arrowstyle": "-|>", "color": color, "shrinkA": 14, "shrinkB": 14}
    ax.annotate("", end, start, arrowprops=arrow)
    ax.text(
        *(0.45 * end + 0.55 * start),
        label,
        color=color,
        fontsize="x-small",
        ha="center",
        va="center",
        bbox={"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": "none"}
        if label
        else None,
    )


def scores_above_empty(samples: np.ndarray) -> np.ndarray:
    # shapes: samples (E, n, d) -> (E, d, 2^d)
    """Return BGe scores relative to the graph without edges."""
    scores = bge_scores(samples)
    return scores - scores[:, :, :1]


def covariance_names(node_names: Sequence[str]) -> tuple[str, ...]:
    """Name the entries of a flattened covariance."""
    return tuple(f"cov({i}, {j})" for i in node_names for j in node_names)


def levels_of_nodes(node_names: Sequence[str]) -> Mapping[str, np.ndarray]:
    """Return the entries of a flattened covariance that involve each node."""
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
    environment: DagEnvironment, pilot: PolicySource, edges: Sequence[Edge]
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
    rows = []
    for i, j in shown:
        edge = names[i], names[j]
        row = {
            "edge": " → ".join(edge),
            "is": edge_kind(edge, known).replace("known", known_name, 1),
            "exact, mean": float(mean[i, j]),
            "exact, sd between members": float(exact[:, i, j].std()),
        }
        if trained is not None:
            off = (trained[:, i, j] - exact[:, i, j]).abs().mean()
            row["trained, mean"] = float(trained[:, i, j].mean())
            row["trained − exact, mean absolute"] = float(off)
        rows.append(row)
    note = f"; trained: {how_trained}" if trained is not None else ""
    return Table.of_rows(
        f"Probabilities of edges, {len(shown)} of {len(pairs)}{note}", rows
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
        n_held = int((log_stop <= LOWEST_LOG + 1e-6).sum())
        rows.append(
            {
                "step": dataset.step_names[step],
                "possible actions": len(variance),
                "D, reference stop": total + by_stop,
                "share of D by the reference": by_stop / (total + by_stop),
                "share of the Aitchison variance by stop": float(variance[-1]) / total,
                "log P(stop), mean": float(log_stop.mean()),
                "sd": float(log_stop.std()),
                f"members held at {LOWEST_LOG:g}": n_held,
            }
        )
    return Table.of_rows(
        f"What stopping does to the variances ({dataset.source} policies, "
        f"{dataset.n_members} training members)",
        rows,
    )
