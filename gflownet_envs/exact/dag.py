r"""Exact flows of directed acyclic graphs that are too many to list.

The number of graphs grows faster than exponentially (3 · 10²² for eleven nodes), but
where log R is a sum of local scores, sums of R over graphs need no list of them.

Let :math:`Z(S)` be the total reward of the graphs on a set S of nodes. Every such
graph has nodes without children; to put a set T of them last leaves a graph on
:math:`S \setminus T`, and inclusion and exclusion over T counts each graph once
(Robinson 1973; Tian and He, UAI 2009):

.. math::
    Z(S) = \sum_{\emptyset \ne T \subseteq S} (-1)^{|T| + 1} Z(S \setminus T)
    \prod_{j \in T} A_j(S \setminus T), \qquad
    A_j(U) = \sum_{P \subseteq U} e^{\mathrm{score}_j(P)}

That takes :math:`3^d` products. Flows of a state s with k edges need the graphs above
it by their numbers of edges: with the uniform backward policy a graph with k + m edges
passes through s with probability :math:`1 / \binom{k + m}{k}`, hence

.. math::
    F(s) = \sum_m Z_m / \binom{k + m}{k}, \qquad
    P_F(s \to s') = \frac1{F(s)} \sum_{m \ge 1} \frac{Z_m(s')}{m \binom{k + m}{k}}

where :math:`Z_m` is the total reward of the graphs with the edges of s and m others
and :math:`Z_m(s')` that of those among them with the edge that leads to s'. So each
:math:`A_j` and each Z is a polynomial whose powers count added edges, cut at the
largest number. The totals by edge are derivatives with respect to the terms of
:math:`A_j`, one backward pass for all (:mod:`gflownet_envs.exact.graph_sums`).

Each graph enters with signs that sum to one over at most :math:`2^d` terms, so that
little is lost by cancellation. Z(S) is held relative to the best graph on S (Silander
and Myllymäki, UAI 2006), each A relative to the best set of parents within U, so that
nothing overflows.
"""

from __future__ import annotations

from math import comb

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.environments.dag import DagEnvironment
from gflownet_envs.environments.state_graph import StateGraph
from gflownet_envs.exact.graph_sums import GraphSums
from gflownet_envs.rewards.graph_scores import LocalScoreReward

_CLOSURE_TOLERANCE = 1e-6


def edge_marginals(
    graph: StateGraph,
    distribution: Tensor,  # shape: (E, n_objects)
) -> Tensor:  # shape: (E, n_nodes, n_nodes), float64
    r"""Return the probability of each edge under the members' distributions of graphs.

    The distribution is exact (:meth:`ExactSolution.target_distribution`, or the softmax
    of a table of scores: the posterior over graphs) or that of a trained policy
    (`terminating_distribution`).

    Every order of adding the edges of an acyclic graph stays acyclic, so :math:`|E|!`
    paths lead to a graph with :math:`|E|` edges. A GFlowNet that leaves log P_B out
    therefore samples graphs in proportion to :math:`R(G)\,|E|!` and prefers many
    edges; with the uniform P_B, whose paths have probability :math:`1 / |E|!` each, it
    samples in proportion to R.

    Parameters
    ----------
    graph : StateGraph
        Of a `DagEnvironment`.
    distribution : Tensor of shape (n_members, n_objects)
        Probabilities, one row a member.

    Returns
    -------
    marginals : Tensor of shape (n_members, n_nodes, n_nodes), float64
        ``marginals[e, i, j]`` is that of i → j; the diagonal is 0.

    Examples
    --------
    Under the uniform distribution over the 25 graphs of three nodes each edge has
    probability 8/25.

    >>> graph = StateGraph.from_environment(DagEnvironment(3))
    >>> marginals = edge_marginals(graph, torch.full((1, 25), 1 / 25))
    >>> [round(p, 6) for p in marginals[0, 0].tolist()]
    [0.0, 0.32, 0.32]
    """
    environment = _require_graphs(graph.environment)
    n_objects = environment.require_listed_objects()
    law = torch.as_tensor(distribution).to(torch.float64)
    if law.ndim != 2 or law.shape[1] != n_objects:
        raise ValueError(
            f"distribution must have shape (n_members, {n_objects}) for "
            f"{environment.name}, got {tuple(law.shape)}"
        )
    off = float((law.sum(dim=-1) - 1).abs().nan_to_num(nan=float("inf")).max())
    if off > _CLOSURE_TOLERANCE or (law < 0).any():
        raise ValueError(
            "distribution must be probabilities that sum to one; the smallest is "
            f"{float(law.min()):.3g}, the largest distance of a sum from one {off:.3g}"
        )
    is_edge = adjacency(environment, graph.final_states()).to(torch.float64)
    return torch.tensordot(law, is_edge, dims=1)


def adjacency(environment: DagEnvironment, states: Tensor) -> Tensor:
    # shapes: states (..., S) -> (..., n_nodes, n_nodes), bool
    """Say which edges each graph has; row i, column j for i → j."""
    parents = _require_graphs(environment).parent_sets(states)[..., None, :]
    nodes = torch.arange(environment.n_nodes, device=states.device)
    return (parents >> nodes[:, None]) & 1 == 1


def _require_graphs(environment: object) -> DagEnvironment:
    if not isinstance(environment, DagEnvironment):
        raise ValueError(f"a DagEnvironment is needed, got {environment!r}")
    return environment


_MAX_NODES = 12
_LEAST = 1e-300  # probability of an edge
_LEAST_TOTAL = 1e-300  # relative to the best graph; less has few digits
_VALUES_AT_ONCE = 2**24  # products of sets, powers and members


class GraphFlows:
    """The exact GFlowNet over graphs whose log R is a sum of local scores.

    Nothing is computed before it is needed: each state takes a sum over all graphs
    above it, some 0.03 CPU-s a member for eleven nodes.

    Parameters
    ----------
    reward : LocalScoreReward
        Of a `DagEnvironment` of at most 12 nodes.

    Raises
    ------
    ValueError
        If there are more nodes.

    Examples
    --------
    >>> env = DagEnvironment(3)
    >>> flows = GraphFlows(LocalScoreReward(env, torch.zeros(1, 3, 8)))
    >>> flows.log_z().exp().round().item()  # of equal rewards: the number of graphs
    25.0
    >>> round(flows.edge_marginals()[0, 0, 1].item(), 6)  # 8 of them have 0 → 1
    0.32
    >>> flows.log_policy(env.initial_state()).exp().sum().round(decimals=6).item()
    1.0
    """

    def __init__(self, reward: LocalScoreReward) -> None:
        environment = reward.environment
        if environment.n_nodes > _MAX_NODES:
            raise ValueError(
                f"sums over graphs take 3^n steps: at most {_MAX_NODES} nodes, got "
                f"{environment.n_nodes}"
            )
        self.environment: DagEnvironment = environment
        self._scores = reward.scores.to("cpu", torch.float64)

    @property
    def n_members(self) -> int:
        """Number of rewards."""
        return self._scores.shape[0]

    def log_z(self) -> Tensor:  # shape: (E,)
        """Return the log of the total reward."""
        return self.log_flow(self.environment.initial_state())

    def log_flow(
        self,
        states: Tensor,  # shape: (..., S)
    ) -> Tensor:  # shape: (E, ...), float64
        """Return log F of unfinished states."""
        found = [self._flow(state)[0] for state in self._checked(states)]
        return torch.stack(found, dim=1).view(self.n_members, *states.shape[:-1])

    def log_policy(
        self,
        states: Tensor,  # shape: (..., S)
    ) -> Tensor:  # shape: (E, ..., A), float64
        """Return log P_F in unfinished states; −inf where masked.

        That of an edge is at least log 1e-300.
        """
        found = [self._policy(state) for state in self._checked(states)]
        return torch.stack(found, dim=1).view(self.n_members, *states.shape[:-1], -1)

    def edge_marginals(self) -> Tensor:  # shape: (E, n_nodes, n_nodes), float64
        """Return the probability of each edge when graphs are drawn by R.

        Row i, column j for i → j, as :func:`gflownet_envs.edge_marginals`, which
        needs a list of all graphs.
        """
        ones = torch.ones(self.environment.max_edges + 1, dtype=torch.float64)
        start = self.environment.initial_state()
        total, by_edge, _ = self._sums(start, ones, ones)
        return by_edge / total[:, None, None]

    def _checked(self, states: Tensor) -> Tensor:  # shapes: states (..., S) -> (N, S)
        flat = states.reshape(-1, states.shape[-1])
        if self.environment.is_terminal(flat).any():
            raise ValueError("a graph that has stopped has neither policy nor flow")
        return flat

    def _flow(self, state: Tensor) -> tuple[Tensor, Tensor]:
        # shapes: state (S,) -> (E,), (E, d, d)
        """Return log F of a state and the probabilities of the edges to add."""
        n_edges = int(state[-2])
        added = range(self.environment.max_edges - n_edges + 1)
        passing = [1 / comb(n_edges + m, n_edges) for m in added]
        through_edge = [p / max(m, 1) for m, p in zip(added, passing, strict=True)]
        total, by_edge, scale = self._sums(
            state,
            torch.tensor(passing, dtype=torch.float64),
            torch.tensor(through_edge, dtype=torch.float64),
        )
        return total.log() + scale, by_edge / total[:, None, None]

    def _policy(self, state: Tensor) -> Tensor:  # shapes: state (S,) -> (E, A)
        log_flow, by_edge = self._flow(state)
        nodes = torch.arange(self.environment.n_nodes)
        is_edge = nodes[:, None] != nodes  # row by row, the order of the actions
        parents = self.environment.parent_sets(state)
        stop = self._scores[:, nodes, parents].sum(dim=1) - log_flow
        edges = by_edge[:, is_edge].clamp(min=_LEAST).log()
        policy = torch.cat((edges, stop[:, None]), dim=1)
        return policy.masked_fill(~self.environment.valid_mask(state), -torch.inf)

    def _sums(
        self,
        state: Tensor,  # shape: (S,)
        weights: Tensor,  # shape: (W,), of graphs with 0, 1, … edges more than state
        edge_weights: Tensor,  # shape: (W,)
    ) -> tuple[Tensor, Tensor, Tensor]:  # shapes: (E,), (E, d, d), (E,)
        """Return weighted sums of R over the graphs above a state, and by edge."""
        sums = GraphSums(self.environment.parent_sets(state).numpy())
        size = max(1, _VALUES_AT_ONCE // (sums.n_products * len(weights)))
        both = weights.numpy(), edge_weights.numpy()
        parts = [
            sums.weighted(scores.numpy(), *both) for scores in self._scores.split(size)
        ]
        total, by_edge, scale = (
            torch.from_numpy(np.concatenate(part)) for part in zip(*parts, strict=True)
        )
        if not (total > _LEAST_TOTAL).all():
            raise ValueError(
                f"graphs of at most {self.environment.max_edges} edges are too "
                "unlikely beside the best graph, which double precision compares "
                "them with; raise max_edges"
            )
        return total, by_edge, scale
