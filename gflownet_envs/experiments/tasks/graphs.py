"""What the tasks over directed acyclic graphs share: inputs, edges, drawings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.environments.dag import DagEnvironment
from gflownet_envs.exact.solve import (
    PolicySource,
    Trajectory,
    trajectory_of_actions,
)
from gflownet_envs.experiments.task import (
    NamedParts,
    PartEntries,
    Preset,
    RunResults,
    Study,
    Table,
    Task,
)
from gflownet_envs.rewards.graph_scores import LocalScoreReward, bge_scores
from gflownet_envs.rewards.source import RewardSource, RewardTable

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

    def study_of(
        self,
        preset: Preset,
        reward: LocalScoreReward | RewardTable,
        covariances: np.ndarray,  # shape: (E, d * d)
        trajectory: Trajectory,
        how: str,
        *,
        noun: str,
        table: Table,
        **rest: Any,
    ) -> Study:
        """Return the study of rewards that follow from members' samples of the nodes.

        Its inputs are sample covariances; ``how`` says where the trajectory is from,
        and ``noun`` what a node is.
        """
        environment = cast(DagEnvironment, reward.environment)
        names = environment.node_names
        row, column = np.divmod(np.arange(len(names) ** 2), len(names))
        return Study(
            environment=environment,
            reward=reward,
            reward_features=covariances,
            feature_names=tuple(f"cov({i}, {j})" for i in names for j in names),
            n_train=preset.n_train,
            n_test=preset.n_test,
            members=np.arange(len(covariances)),
            trajectory=trajectory,
            levels={
                noun: {
                    name: np.flatnonzero((row == i) | (column == i))
                    for i, name in enumerate(names)
                }
            },
            feature_unit="sample covariance of standardised columns",
            tables=(table, self._trajectory_table(environment, trajectory, how)),
            **rest,
        )

    def _trajectory_table(
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


RewardOfScores = Callable[[np.ndarray], RewardSource]  # of scores (E, d, 2^d)

RESIDUALS = "residual variances"
MEANS = "means"


class GraphParts:
    r"""Splits of the rewards of graphs into named parts: of nodes, and of the data.

    The local scores of a node are what a reader asks about. They come from one sample
    of rows each member and depend on one another. The data have parts that do not: with
    :math:`L L^\top` the mean covariance of all members, nodes in a given order, a
    member's rows are

    .. math::
        X = 1 \mu^\top + Q A^\top L^\top, \qquad \mu = L b,

    Q with orthonormal columns that sum to 0. Of independent Gaussian rows all entries
    of the triangular matrix A and of b are independent (Bartlett 1933): row j says how
    node j follows from the nodes before it in this sample, and what is left of it.

    Parameters
    ----------
    environment : DagEnvironment
    samples : ndarray of shape (n_members, n, d)
    scores : ndarray of shape (n_members, d, 2 ** d)
        Above those of the empty set.
    reward : callable
        Returns the rewards of scores.
    known : sequence of (str, str)
        Edges that give the order of the nodes.
    **settings
        Of every split: the last fields of `NamedParts`.
    """

    def __init__(
        self,
        environment: DagEnvironment,
        samples: np.ndarray,
        scores: np.ndarray,
        reward: RewardOfScores,
        known: Sequence[tuple[str, str]],
        **settings: Any,
    ) -> None:
        self.names, self.scores = environment.node_names, scores
        self._reward, self._settings = reward, settings
        self._triangular = TriangularSamples(
            samples, topological_order(self.names, known)
        )
        self.ordered = [self.names[node] for node in self._triangular.order]

    def nodes(self, **settings: Any) -> NamedParts:
        """Take the local scores of each node as a part."""
        names = self.names
        sets = np.arange(2 ** len(names))
        members = ([n for i, n in enumerate(names) if s >> i & 1] for s in sets)
        titles = tuple(", ".join(chosen) or "no parents" for chosen in members)
        parts, phrases, entries = {}, {}, {}
        for j, name in enumerate(names):
            part = f"scores of {name}"
            parts[part] = np.nan_to_num(self.scores[:, j], nan=0.0)
            phrases[part] = f"how well each set of parents explains {name}"
            labels = np.where((sets >> j) & 1 == 0, sets, -1)
            entries[part] = PartEntries(f"sets of parents of {name}", titles, labels)

        def of_parts(chosen: Mapping[str, np.ndarray]) -> RewardSource:
            return self._reward(np.stack([chosen[part] for part in parts], axis=1))

        title = "log R by the local scores of each node"
        known = self._settings | settings
        return NamedParts(title, parts, of_parts, phrases, entries, **known)

    def regressions(
        self, blocks: Sequence[Sequence[str]] = (), **settings: Any
    ) -> NamedParts:
        """Take what a sample says of each node, given the nodes before it, as a part.

        Nodes of a block are one part.
        """
        block_of = {name: tuple(block) for block in blocks for name in block}
        cells: dict[str, list[tuple[int, int]]] = {}
        phrases = {}
        for row, name in enumerate(self.ordered):
            block = [n for n in self.ordered if n in block_of.get(name, (name,))]
            noun = "regression" if len(block) == 1 else "regressions"
            part = f"{noun} of {', '.join(block)}"
            own = [(row, c) for c in (*range(row + 1), len(self.names))]
            cells.setdefault(part, []).extend(own)
            phrases[part] = (
                f"the sample's regression of {' and '.join(block)} on the nodes before"
            )
        title = "the samples, node by node in the order of the network"
        return self._of_data(title, cells, phrases, settings)

    def pairs(self, **settings: Any) -> NamedParts:
        """Take what a sample says of a pair of nodes, given those before, as a part."""
        d = len(self.ordered)
        cells = {
            self._cell_name(row, column): [(row, column)]
            for row in range(d)
            for column in range(row)
        }
        phrases = {pair: f"the sample's partial regression of {pair}" for pair in cells}
        phrases[RESIDUALS] = "the residual variances of the nodes"
        phrases[MEANS] = "the means of the nodes"
        cells[RESIDUALS] = [(row, row) for row in range(d)]
        cells[MEANS] = [(row, d) for row in range(d)]
        title = "the samples, pair by pair in the order of the network"
        return self._of_data(title, cells, phrases, settings)

    def _of_data(
        self,
        title: str,
        cells: Mapping[str, Sequence[tuple[int, int]]],
        phrases: Mapping[str, str],
        settings: Mapping[str, Any],
    ) -> NamedParts:
        """Split the coordinates of the samples by their cells."""
        coordinates = self._triangular.coordinates
        parts, entries = {}, {}
        for part, its_cells in cells.items():
            labels = np.full(coordinates.shape[1:], -1)
            labels[tuple(np.transpose(its_cells))] = np.arange(len(its_cells))
            parts[part] = coordinates * (labels >= 0)
            if len(its_cells) > 1:
                titles = tuple(self._cell_name(*cell) for cell in its_cells)
                entries[part] = PartEntries("statistics of the sample", titles, labels)

        def of_parts(chosen: Mapping[str, np.ndarray]) -> RewardSource:
            total = np.sum(list(chosen.values()), axis=0)
            return self._reward(scores_above_empty(self._triangular.samples(total)))

        known = {**self._settings, **settings}
        return NamedParts(title, parts, of_parts, phrases, entries, **known)

    def _cell_name(self, row: int, column: int) -> str:
        if column == len(self.ordered):
            return f"mean of {self.ordered[row]}"
        if column == row:
            return f"residual variance of {self.ordered[row]}"
        return f"{self.ordered[column]} – {self.ordered[row]}"


class TriangularSamples:
    """The samples of all members as triangular matrices whose rows say what is new.

    Parameters
    ----------
    samples : ndarray of shape (n_members, n, d)
    order : sequence of int
        The nodes, each after those that it is thought to follow from.

    Attributes
    ----------
    coordinates : ndarray of shape (n_members, d, d + 1)
        A, lower triangular, and b as its last column; nodes in ``order``.

    Examples
    --------
    >>> samples = np.random.default_rng(0).normal(size=(5, 20, 3))
    >>> triangular = TriangularSamples(samples, [2, 0, 1])
    >>> again = triangular.samples(triangular.coordinates)
    >>> np.allclose(np.cov(again[3].T), np.cov(samples[3].T))
    True
    """

    def __init__(self, samples: np.ndarray, order: Sequence[int]) -> None:
        n_rows, d = samples.shape[1:]
        self.order = tuple(order)
        ordered = samples[:, :, self.order]
        means = ordered.mean(axis=1)
        centred = ordered - means[:, np.newaxis]
        scatter = centred.transpose(0, 2, 1) @ centred
        self._common = np.linalg.cholesky(scatter.mean(axis=0) / (n_rows - 1))
        inverse = np.linalg.inv(self._common)
        factors = inverse @ np.linalg.cholesky(scatter)
        last = (means @ inverse.T)[:, :, np.newaxis]
        self.coordinates = np.concatenate((factors, last), axis=2)
        design = np.random.default_rng(0).normal(size=(n_rows, d))
        self._design = np.linalg.qr(design - design.mean(axis=0))[0]

    def samples(self, coordinates: np.ndarray) -> np.ndarray:
        # shapes: coordinates (e, d, d + 1) -> (e, n, d)
        """Return samples with the covariances and the means of some coordinates."""
        factors = coordinates[:, :, :-1].transpose(0, 2, 1)
        centred = self._design @ factors @ self._common.T
        means = coordinates[:, :, -1] @ self._common.T
        ordered = centred + means[:, np.newaxis]
        found = np.empty_like(ordered)
        found[:, :, self.order] = ordered
        return found


def topological_order(
    names: Sequence[str], edges: Sequence[tuple[str, str]]
) -> list[int]:
    """Return the numbers of the nodes, each after its parents in a network.

    Examples
    --------
    >>> topological_order(["a", "b", "c"], [("c", "a"), ("a", "b")])
    [2, 0, 1]
    """
    order: list[int] = []
    while len(order) < len(names):
        placed = {names[i] for i in order}
        ready = [
            i
            for i, name in enumerate(names)
            if i not in order and all(a in placed for a, b in edges if b == name)
        ]
        if not ready:
            raise ValueError(f"edges must form no cycle, got {list(edges)}")
        order.append(ready[0])
    return order
