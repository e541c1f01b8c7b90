"""Layers of a state graph whose states are evaluated once for all trajectories."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gflownet_envs.environments.state_graph import StateGraph


@dataclass(frozen=True, eq=False)
class SharedLayers:
    """The layers with no more states than a batch has trajectories, in one table.

    Attributes
    ----------
    first_row : dict of int to int
        The row of the first state of each shared layer.
    ids : Tensor of shape (n,), int64
        The state of each row.
    columns : slice
        The actions that these layers use.
    """

    first_row: dict[int, int]
    ids: Tensor
    columns: slice


def shared_layers(graph: StateGraph, batch_size: int) -> SharedLayers:
    """Find the small layers; the first, which has one state, is always there."""
    ids, first_row, n_shared = [], {}, 0
    for t in range(graph.n_layers):
        layer = graph.layer(t)
        if layer.stop - layer.start <= batch_size:
            first_row[t] = n_shared
            ids.append(torch.arange(layer.start, layer.stop))
            n_shared += layer.stop - layer.start
    used = [graph.open_columns(t)[0] for t in first_row]
    columns = slice(min(c.start for c in used), max(c.stop for c in used))
    return SharedLayers(first_row, torch.cat(ids), columns)


def may_have_ended(graph: StateGraph, step: int) -> bool:
    """Say whether some trajectories are over before a step."""
    earlier = graph.children[: graph.layer_offsets[step]]
    return bool((earlier >= graph.n_states).any())
