"""Directed graphs on matplotlib axes: nodes on a circle, edges in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

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
    """Draw edges numbered in their order, and mark those of a known graph.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    node_names : sequence of str
    edges : sequence of pairs of str
        Source and target.
    known : sequence of pairs of str
        Edges of another graph. Those that are not drawn otherwise stand behind.
    known_name : str
        What that graph is, for the legend.
    """
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
    """Say whether a known graph has an edge.

    Examples
    --------
    >>> [edge_kind(e, [("a", "b")]) for e in (("a", "b"), ("b", "a"), ("a", "c"))]
    ['known', 'known, other way', 'not known']
    """
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
