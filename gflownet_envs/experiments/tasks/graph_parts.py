r"""Named parts of Bayesian scores of graphs: of nodes, of edges, and of the data.

The local scores of a node, and the effects of single edges in them, are what a reader
asks about. They come from one sample of rows each member and depend on one another. The
data have parts that do not: with :math:`L L^\top` the mean covariance of all members,
nodes in a given order, a member's rows are

.. math::
    X = 1 \mu^\top + Q A^\top L^\top, \qquad \mu = L b,

Q with orthonormal columns that sum to 0. Of independent Gaussian rows all entries of
the triangular matrix A and of b are independent (Bartlett 1933): row j says how node j
follows from the nodes before it in this sample, and what is left of it.

The ``settings`` of each split are the last fields of `NamedParts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from gflownet_envs.environments.dag import DagEnvironment
from gflownet_envs.experiments.task import NamedParts, PartEntries
from gflownet_envs.experiments.tasks.graphs import scores_above_empty
from gflownet_envs.rewards.source import RewardSource

RewardOfScores = Callable[[np.ndarray], RewardSource]  # of scores (E, d, 2^d)

OTHER_EDGES = "other edges"
SETS_OF_PARENTS = "sets of parents"
OTHER_PAIRS = "other pairs"
RESIDUALS = "residual variances"
MEANS = "means"


def node_parts(
    environment: DagEnvironment,
    scores: np.ndarray,  # shape: (E, d, 2^d), above the empty set
    reward: RewardOfScores,
    **settings: Any,
) -> NamedParts:
    """Take the local scores of each node as a part."""
    names = environment.node_names
    parts = {
        f"scores of {name}": np.nan_to_num(scores[:, j], nan=0.0)
        for j, name in enumerate(names)
    }
    entries = {}
    sets = np.arange(2 ** len(names))
    titles = tuple(_set_name(names, number) for number in sets)
    for j, part in enumerate(parts):
        labels = np.where((sets >> j) & 1 == 0, sets, -1)
        entries[part] = PartEntries(f"sets of parents of {names[j]}", titles, labels)

    def of_parts(chosen: Mapping[str, np.ndarray]) -> RewardSource:
        return reward(np.stack([chosen[part] for part in parts], axis=1))

    return NamedParts(
        "log R by the local scores of each node",
        parts,
        of_parts,
        {
            f"scores of {name}": f"how well each set of parents explains {name}"
            for name in names
        },
        entries,
        **settings,
    )


def _set_name(names: Sequence[str], number: int) -> str:
    chosen = [name for i, name in enumerate(names) if number >> i & 1]
    return ", ".join(chosen) or "no parents"


def main_effects_of_edges(
    scores: np.ndarray,  # shape: (E, d, 2^d)
) -> np.ndarray:  # shape: (E, d, d)
    """Return how much the parent i adds to the score of node j, at [e, i, j].

    The mean over all sets of the other possible parents: twice the main effect in the
    functional analysis of variance of a score over the presence of each parent.
    """
    d, n_sets = scores.shape[1:]
    has = (np.arange(n_sets)[:, np.newaxis] >> np.arange(d)) & 1 == 1
    effects = np.zeros((len(scores), d, d))
    for i in range(d):
        for j in range(d):
            if i != j:
                with_i = scores[:, j, has[:, i] & ~has[:, j]].mean(axis=1)
                without = scores[:, j, ~has[:, i] & ~has[:, j]].mean(axis=1)
                effects[:, i, j] = with_i - without
    return effects


def edge_parts(
    environment: DagEnvironment,
    scores: np.ndarray,  # shape: (E, d, 2^d)
    reward: RewardOfScores,
    *,
    n_named: int = 6,
    **settings: Any,
) -> NamedParts:
    """Split the local scores into effects of edges and what sets of parents add.

    The edges whose effects vary most between the members are parts of their own.
    """
    names, d = environment.node_names, environment.n_nodes
    effects = main_effects_of_edges(scores)
    has = ((np.arange(2**d)[:, np.newaxis] >> np.arange(d)) & 1).astype(np.float64)

    def of_effects(values: np.ndarray) -> np.ndarray:  # (E, d, d) -> (E, d, 2^d)
        return np.einsum("eij,si->ejs", values, has)

    rest = np.nan_to_num(scores, nan=0.0) - of_effects(effects)
    rest *= has.T == 0  # sets that hold the node itself are never looked up
    spread = effects.var(axis=0)
    largest = np.argsort(-spread.ravel(), kind="stable")[:n_named]
    named = [divmod(int(place), d) for place in largest]
    parts = {f"{names[i]} → {names[j]}": effects[:, i, j] for i, j in named}
    others = effects.copy()
    for i, j in named:
        others[:, i, j] = 0.0
    labels = np.full((d, d), -1)
    left = [p for p in np.ndindex(d, d) if p[0] != p[1] and p not in named]
    for number, place in enumerate(left):
        labels[place] = number
    titles = tuple(f"{names[i]} → {names[j]}" for i, j in left)
    phrases = {part: f"the edge {part} by itself" for part in parts} | {
        OTHER_EDGES: "all other edges by themselves",
        SETS_OF_PARENTS: "what sets of parents have beyond single edges",
    }
    parts |= {OTHER_EDGES: others, SETS_OF_PARENTS: rest}

    def of_parts(chosen: Mapping[str, np.ndarray]) -> RewardSource:
        total = chosen[OTHER_EDGES].copy()
        for i, j in named:
            total[:, i, j] = chosen[f"{names[i]} → {names[j]}"]
        return reward(chosen[SETS_OF_PARENTS] + of_effects(total))

    return NamedParts(
        "local scores by functional analysis of variance over the parents",
        parts,
        of_parts,
        phrases,
        {OTHER_EDGES: PartEntries("edges", titles, labels)},
        **settings,
    )


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


def regression_parts(
    environment: DagEnvironment,
    triangular: TriangularSamples,
    reward: RewardOfScores,
    *,
    blocks: Sequence[Sequence[str]] = (),
    **settings: Any,
) -> NamedParts:
    """Take what a sample says of each node, given the nodes before it, as a part.

    Nodes of a block are one part.
    """
    names = environment.node_names
    ordered = [names[node] for node in triangular.order]
    block_of = {name: tuple(block) for block in blocks for name in block}
    groups: dict[str, list[int]] = {}
    for row, name in enumerate(ordered):
        block = [other for other in ordered if other in block_of.get(name, (name,))]
        noun = "regression" if len(block) == 1 else "regressions"
        groups.setdefault(f"{noun} of {', '.join(block)}", []).append(row)
    cells = {
        part: [(r, c) for r in rows for c in (*range(r + 1), len(names))]
        for part, rows in groups.items()
    }
    phrases = {
        part: f"the sample's regression of {' and '.join(ordered[r] for r in rows)} "
        "on the nodes before"
        for part, rows in groups.items()
    }
    return _data_parts(
        "the samples, node by node in the order of the network",
        triangular,
        ordered,
        cells,
        reward,
        phrases,
        **settings,
    )


def pair_parts(
    environment: DagEnvironment,
    triangular: TriangularSamples,
    named: Sequence[tuple[str, str]],
    reward: RewardOfScores,
    **settings: Any,
) -> NamedParts:
    """Take what a sample says of pairs of nodes, given those before them, as parts.

    The named pairs are parts of their own.
    """
    d = environment.n_nodes
    ordered = [environment.node_names[node] for node in triangular.order]
    cells: dict[str, list[tuple[int, int]]] = {}
    for row, column in zip(*np.tril_indices(d, k=-1), strict=True):
        pair = ordered[column], ordered[row]
        is_named = pair in named or pair[::-1] in named
        part = " – ".join(pair) if is_named else OTHER_PAIRS
        cells.setdefault(part, []).append((int(row), int(column)))
    phrases = {
        part: "the partial regressions of all other pairs"
        if part == OTHER_PAIRS
        else f"the sample's partial regression of {part}"
        for part in cells
    } | {
        RESIDUALS: "the residual variances of the nodes",
        MEANS: "the means of the nodes",
    }
    cells[RESIDUALS] = [(row, row) for row in range(d)]
    cells[MEANS] = [(row, d) for row in range(d)]
    return _data_parts(
        "the samples, pair by pair in the order of the network",
        triangular,
        ordered,
        cells,
        reward,
        phrases,
        **settings,
    )


def graph_splits(
    environment: DagEnvironment,
    samples: np.ndarray,  # shape: (E, n, d)
    scores: np.ndarray,  # shape: (E, d, 2^d), above the empty set
    reward: RewardOfScores,
    *,
    known: Sequence[tuple[str, str]],
    blocks: Sequence[Sequence[str]] = (),
    pairs: Sequence[tuple[str, str]] | None = None,
    n_named: int = 6,
) -> dict[str, Callable[..., NamedParts]]:
    """Return what makes each split of the data or of the scores, by its name.

    The known edges give the order of the nodes. The splits take the settings.
    """
    order = topological_order(environment.node_names, known)
    triangular = TriangularSamples(samples, order)
    if pairs is None:
        pairs = list(combinations(environment.node_names, 2))
    of_data, of_scores = (environment, triangular), (environment, scores, reward)
    return {
        "regressions": partial(regression_parts, *of_data, reward, blocks=blocks),
        "pairs": partial(pair_parts, *of_data, pairs, reward),
        "nodes": partial(node_parts, *of_scores),
        "edges": partial(edge_parts, *of_scores, n_named=n_named),
    }


def _data_parts(
    title: str,
    triangular: TriangularSamples,
    ordered: Sequence[str],
    cells: Mapping[str, Sequence[tuple[int, int]]],
    reward: RewardOfScores,
    phrases: Mapping[str, str],
    **settings: Any,
) -> NamedParts:
    """Split the coordinates of the samples by their cells."""
    parts, entries = {}, {}
    shape = triangular.coordinates.shape[1:]
    for part, its_cells in cells.items():
        labels = np.full(shape, -1)
        for number, cell in enumerate(its_cells):
            labels[cell] = number
        parts[part] = triangular.coordinates * (labels >= 0)
        if len(its_cells) > 1:
            titles = tuple(_cell_name(ordered, *cell) for cell in its_cells)
            entries[part] = PartEntries("statistics of the sample", titles, labels)

    def of_parts(chosen: Mapping[str, np.ndarray]) -> RewardSource:
        samples = triangular.samples(np.sum(list(chosen.values()), axis=0))
        return reward(scores_above_empty(samples))

    return NamedParts(title, parts, of_parts, phrases, entries, **settings)


def _cell_name(ordered: Sequence[str], row: int, column: int) -> str:
    if column == len(ordered):
        return f"mean of {ordered[row]}"
    if column == row:
        return f"residual variance of {ordered[row]}"
    return f"{ordered[column]} – {ordered[row]}"


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
