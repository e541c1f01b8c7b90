"""What the tasks over directed acyclic graphs share: inputs, edges, drawings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.environments.dag import DagEnvironment
from gflownet_envs.exact.trajectories import (
    PolicySource,
    Trajectory,
    trajectory_of_actions,
)
from gflownet_envs.experiments.task import RunResults, Table, Task
from gflownet_envs.rewards.graph_scores import bge_scores

Edge = tuple[str, str]

_KINDS = {
    "known": "C0",
    "known, other way": "C1",
    "not known": "0.35",
    "known, not added": "0.8",
}
#: The likeliest edges in a table.
_N_SHOWN = 20


class GraphTask(Task):
    """A policy that adds the edges of a directed acyclic graph, beside a known one.

    Attributes
    ----------
    known_name : str
        What the edges of the known graph are.
    picture_title : str
    """

    known_name: ClassVar[str]
    picture_title: ClassVar[str]

    @abstractmethod
    def known_edges(self, environment: DagEnvironment) -> Sequence[Edge]:
        """Return the edges of the known graph."""

    def draw_system(self, results: RunResults, ax: Any) -> None:
        """Draw the edges of the reference trajectory, and those of the known graph."""
        environment = cast(DagEnvironment, results.study.environment)
        draw_graph(
            ax,
            environment.node_names,
            edges_of_trajectory(environment, results.study.trajectory),
            known=self.known_edges(environment),
            known_name=self.known_name,
        )
        ax.set_title(self.picture_title)

    def trajectory_table(
        self, environment: DagEnvironment, trajectory: Trajectory, how: str
    ) -> Table:
        """Return the edges of the reference trajectory, beside the known ones."""
        edges = edges_of_trajectory(environment, trajectory)
        rows = [
            (step, " → ".join(edge), self._kind(environment, edge))
            for step, edge in zip(environment.step_names, edges, strict=False)
        ]
        rows.append((environment.step_names[len(edges)], "stop", ""))
        return Table(
            f"Reference trajectory: {how}", ("step", "action", "edge"), tuple(rows)
        )

    def marginals_table(
        self,
        environment: DagEnvironment,
        exact: Tensor,  # shape: (E, d, d)
        trained: Tensor | None,  # shape: (E, d, d)
        how_trained: str,
    ) -> Table:
        """Return the probabilities of the likeliest edges and of all known ones."""
        mean, names = exact.mean(dim=0), environment.node_names
        known = self.known_edges(environment)
        pairs = sorted(
            permutations(range(len(names)), 2), key=lambda pair: -float(mean[pair])
        )
        rows = []
        for place, (i, j) in enumerate(pairs):
            edge = names[i], names[j]
            if place >= _N_SHOWN and edge not in known:
                continue
            row = {
                "edge": " → ".join(edge),
                "is": self._kind(environment, edge),
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
            f"Probabilities of edges, {len(rows)} of {len(pairs)}{note}", rows
        )

    def _kind(self, environment: DagEnvironment, edge: Edge) -> str:
        kind = edge_kind(edge, self.known_edges(environment))
        return kind.replace("known", self.known_name, 1)


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
    edges = (environment.action_names[a].split(" → ") for a in trajectory.actions[:-1])
    return [(source, target) for source, target in edges]


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
