"""Directed acyclic graphs, one edge at a time."""

from collections.abc import Sequence
from itertools import permutations

import torch
from torch import Tensor

from gflownet_envs.environments.base import Environment, listed_codes, require_at_least

ENCODINGS = ("parent_sets", "adjacency")

_MAX_LISTED_NODES, _MAX_LISTED = 5, 10**6
_MAX_NODES = 62  # sets of nodes are bits of an int64
_MAX_ENCODED_NODES = 8  # above, sets of parents would be more than 2,048 columns


class DagEnvironment(Environment):
    """Add edges to an empty graph, none of which closes a cycle, then stop.

    A state holds, for each node j, the set of its parents and the set of nodes that j
    reaches (j itself is one of them), then the number of edges and a flag of having
    stopped. A set of nodes is an int64 whose bit i stands for node i. The edge i → j is
    allowed when i is not yet a parent of j and j does not reach i; adding it joins
    what j reaches to what every node that reaches i does (Giudici and Castelo, Machine
    Learning 2003; Deleu et al., UAI 2022).

    The number of edges grades the space, and a graph with k edges has k parents. The
    encoding ends with the share of ``max_edges`` that is used. Before it stand

    - ``"adjacency"``: the adjacency without its diagonal, or
    - ``"parent_sets"``: for each node, one-hot, its set of parents, then for each node,
      one-hot, the set of nodes that may be its parents (those it does not reach):
      :math:`n 2^n` columns. Where log R is a sum of scores of a node given its parents
      (`LocalScoreReward`), log R is linear in the first half, and the second half says
      which sets are still to come.

    Up to five nodes, the graphs are listed when the environment is made and numbered
    (29,281 for five nodes). Above, objects have no numbers; `parent_sets` is what a
    reward can be computed from.

    Parameters
    ----------
    n_nodes : int
        From 1 to 62.
    max_edges : int, optional
        After so many edges only stop is left. Default: n_nodes (n_nodes − 1) / 2, which
        no acyclic graph exceeds.
    node_names : sequence of str, optional
        Actions are named by them. Default: the numbers of the nodes.

    Examples
    --------
    >>> env = DagEnvironment(3)
    >>> env.n_objects, env.max_steps, env.action_names[0]
    (25, 4, '0 → 1')
    >>> state = env.step(env.initial_state(), torch.tensor(0))
    >>> [name for name, ok in zip(env.action_names, env.valid_mask(state)) if ok]
    ['0 → 2', '1 → 2', '2 → 0', '2 → 1', 'stop']
    >>> env.parent_sets(state)  # node 1 has the parent 0
    tensor([0, 1, 0])
    """

    def __init__(
        self,
        n_nodes: int,
        max_edges: int | None = None,
        *,
        encoding: str | None = None,
        node_names: Sequence[str] | None = None,
    ) -> None:
        require_at_least("n_nodes", n_nodes, 1)
        if n_nodes > _MAX_NODES:
            raise ValueError(f"n_nodes must be at most {_MAX_NODES}, got {n_nodes}")
        most = n_nodes * (n_nodes - 1) // 2
        if max_edges is not None:
            require_at_least("max_edges", max_edges, 0)
            if max_edges > most:
                raise ValueError(
                    f"max_edges must be at most {most}, the edges of the largest "
                    f"acyclic graph of {n_nodes} nodes, got {max_edges}"
                )
        self.n_nodes = n_nodes
        self.max_edges = most if max_edges is None else max_edges
        self.name = f"dag-{n_nodes}-{self.max_edges}"
        edges = tuple(permutations(range(n_nodes), 2))
        names = tuple(map(str, range(n_nodes)) if node_names is None else node_names)
        if len(set(names)) != n_nodes or len(names) != n_nodes:
            raise ValueError(
                f"node_names must be {n_nodes} distinct names, got {node_names!r}"
            )
        self.node_names = names
        named = permutations(self.node_names, 2)
        self.action_names = (*(f"{i} → {j}" for i, j in named), "stop")
        self.step_names = (*(f"edge {t + 1}" for t in range(self.max_edges)), "stop")
        self.n_backward_actions = len(self.action_names)
        self.state_size = 2 * n_nodes + 2
        self.encoding = _validated_encoding(encoding, n_nodes)
        n_columns = len(edges) if self.encoding == "adjacency" else n_nodes * 2**n_nodes
        self.encoding_size = n_columns + 1
        self._source = torch.tensor([*(i for i, _ in edges), n_nodes])
        self._target = torch.tensor([*(j for _, j in edges), 0])
        # what each action adds to a state
        self._added = torch.zeros((len(edges) + 1, self.state_size), dtype=torch.int64)
        for action, (i, j) in enumerate(edges):
            self._added[action, j] = 1 << i
            self._added[action, -2] = 1
        self._added[-1, -1] = 1
        self._codes: Tensor | None = None
        if n_nodes <= _MAX_LISTED_NODES:
            self._codes = listed_codes(self, self._code, _MAX_LISTED)
            assert self._codes is not None
            self.n_objects: int | None = len(self._codes)
        else:
            self.n_objects = None
            self.is_enumerable = False
            self.enumeration_reason = (
                f"graphs are listed up to {_MAX_LISTED_NODES} nodes, got {n_nodes}"
            )

    def initial_state(
        self, batch_shape: Sequence[int] = (), device: torch.device | str | None = None
    ) -> Tensor:
        state = torch.zeros(self.state_size, dtype=torch.int64, device=device)
        nodes = torch.arange(self.n_nodes, device=device)
        state[self.n_nodes : -2] = 1 << nodes
        return state.repeat(*batch_shape, 1) if batch_shape else state

    def is_terminal(self, states: Tensor) -> Tensor:
        return states[..., -1] == 1

    def parent_sets(
        self,
        states: Tensor,  # shape: (..., S)
    ) -> Tensor:  # shape: (..., n_nodes)
        """Return the parents of each node, bit i of a set standing for node i."""
        return states[..., : self.n_nodes]

    def _reached_sets(self, states: Tensor) -> Tensor:
        # shapes: states (..., S) -> (..., n_nodes)
        return states[..., self.n_nodes : -2]

    def _source_in_set_of_target(self, sets: Tensor) -> Tensor:
        # shapes: sets (..., n_nodes) -> (..., n_edges), bool
        """For each edge i → j, say whether the set of j holds i."""
        source, target = self._source[:-1], self._target[:-1]
        its_set = sets.index_select(-1, target.to(sets.device))
        return (its_set >> source.to(sets.device)) & 1 == 1

    def valid_mask(self, states: Tensor) -> Tensor:
        closed = self.parent_sets(states) | self._reached_sets(states)
        going_on = states[..., -1:] == 0
        may_grow = going_on & (states[..., -2:-1] < self.max_edges)
        may_add = ~self._source_in_set_of_target(closed) & may_grow
        return torch.cat((may_add, going_on), dim=-1)

    def step(self, states: Tensor, actions: Tensor) -> Tensor:
        added = self._added.to(states.device)[actions]
        source = self._source.to(states.device)[actions][..., None]
        target = self._target.to(states.device)[actions][..., None]
        reached = self._reached_sets(states)
        gained = reached.gather(-1, target)
        # −1, all bits, for the nodes that reach the source
        reaches_source = -((reached >> source) & 1)
        after = states + added
        after[..., self.n_nodes : -2] |= reaches_source & gained
        return torch.where(self.is_terminal(states)[..., None], states, after)

    def backward_mask(self, states: Tensor) -> Tensor:
        stopped = self.is_terminal(states)[..., None]
        present = self._source_in_set_of_target(self.parent_sets(states))
        return torch.cat((present & ~stopped, stopped), dim=-1)

    def backward_action(self, states: Tensor, actions: Tensor) -> Tensor:
        return actions

    def backward(self, states: Tensor, backward_actions: Tensor) -> Tensor:
        before = states - self._added.to(states.device)[backward_actions]
        nodes = torch.arange(self.n_nodes, device=states.device)
        is_edge = (self.parent_sets(before)[..., None, :] >> nodes[:, None]) & 1
        # the sets of nodes that each node reaches (Warshall)
        reached = (1 << nodes) | (is_edge << nodes).sum(dim=-1)
        for node in range(self.n_nodes):
            through = -((reached >> node) & 1)
            reached = reached | (through & reached[..., node, None])
        before[..., self.n_nodes : -2] = reached
        return before

    def log_backward_policy(self, states: Tensor) -> Tensor:
        """Return −log of the number of edges; 0 where the last action was stop."""
        n_parents = torch.where(self.is_terminal(states), 1, states[..., -2])
        return -n_parents.clamp(min=1).to(torch.float64).log()

    def encode(self, states: Tensor) -> Tensor:
        """Return the edges or the sets as 0 and 1, and the share of ``max_edges``."""
        parents = self.parent_sets(states)
        if self.encoding == "adjacency":
            columns = [self._source_in_set_of_target(parents)]
        else:
            everybody = 2**self.n_nodes - 1
            candidates = everybody & ~self._reached_sets(states)
            columns = [self._one_hot_sets(parents), self._one_hot_sets(candidates)]
        share = states[..., -2:-1].to(torch.float32) / max(self.max_edges, 1)
        return torch.cat((*(c.to(torch.float32) for c in columns), share), dim=-1)

    def _one_hot_sets(
        self,
        sets: Tensor,  # shape: (..., n_nodes), the set of node j without j
    ) -> Tensor:  # shape: (..., n_nodes * 2^(n_nodes - 1)), bool
        n_nodes, device = self.n_nodes, sets.device
        below = (1 << torch.arange(n_nodes, device=device)) - 1
        # the bits above j move down by one, since j itself is never there
        numbers = (sets & below) | ((sets >> 1) & ~below)
        values = torch.arange(2 ** (n_nodes - 1), device=device)
        return (numbers[..., None] == values).flatten(start_dim=-2)

    def _code(self, states: Tensor) -> Tensor:  # shapes: states (..., S) -> (...)
        """Return the edges as one number, bit a standing for action a."""
        edges = self._source_in_set_of_target(self.parent_sets(states))
        bits = torch.arange(edges.shape[-1], device=states.device)
        return (edges.to(torch.int64) << bits).sum(dim=-1)

    def object_index(self, states: Tensor) -> Tensor:
        self.require_listed_objects()
        assert self._codes is not None
        return torch.searchsorted(self._codes.to(states.device), self._code(states))

    def object_name(self, index: int) -> str:
        self._require_object(index)
        assert self._codes is not None
        code = int(self._codes[index])
        edges = [name for a, name in enumerate(self.action_names) if code >> a & 1]
        return ", ".join(edges) if edges else "no edges"


def _validated_encoding(encoding: str | None, n_nodes: int) -> str:
    """Return the name of the encoding; raise ValueError if it cannot be used."""
    if encoding is None:
        return "parent_sets" if n_nodes <= _MAX_LISTED_NODES else "adjacency"
    if encoding not in ENCODINGS:
        raise ValueError(f"encoding must be one of {ENCODINGS}, got {encoding!r}")
    if encoding == "parent_sets" and n_nodes > _MAX_ENCODED_NODES:
        raise ValueError(
            f"encoding='parent_sets' has columns for at most {_MAX_ENCODED_NODES} "
            f"nodes, got {n_nodes}"
        )
    return encoding
