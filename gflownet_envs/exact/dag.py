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
:math:`A_j`, one backward pass for all (:class:`GraphSums`).

Each graph enters with signs that sum to one over at most :math:`2^d` terms, so that
little is lost by cancellation. Z(S) is held relative to the best graph on S (Silander
and Myllymäki, UAI 2006), each A relative to the best set of parents within U, so that
nothing overflows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import comb

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from gflownet_envs.environments.base import StateGraph
from gflownet_envs.environments.dag import DagEnvironment
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


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class GraphSums:
    r"""Sums over all graphs on d nodes that hold required edges.

    Of all graphs that hold some required edges, with the recursion of the module: Z(S)
    and each A_j are polynomials whose powers count the edges beyond the required ones,
    their coefficients positive. What vanishes is left out:

    - a set U that holds a node but not its required parents has no graph, and a node
      can come last only once its required parents are in U;
    - A_j(U) has no power above \|U\|, and Z(U) none above \|U\| (\|U\| − 1) / 2 less
      the edges required within U.

    The derivatives by the terms of A_j, which give the sums by edge, come from one
    sweep back over the same products.

    Parameters
    ----------
    required : ndarray of shape (d,), int64
        The required parents of each node, bit i standing for node i, without a cycle.

    Attributes
    ----------
    n_products : int
        Products of polynomials that a sum takes, at most 3^d.

    Examples
    --------
    The eight graphs on three nodes that hold 0 → 1, three of which hold 0 → 2.

    >>> sums = GraphSums(np.array([0, 0b001, 0]))
    >>> weights = np.ones(3)
    >>> total, by_edge, scale = sums.weighted(np.zeros((1, 3, 8)), weights, weights)
    >>> total.round(6).item(), by_edge[0, 0, 2].round(6).item()
    (8.0, 3.0)
    """

    def __init__(self, required: Integers) -> None:
        d = len(required)
        below = (1 << np.arange(d)[:, np.newaxis]) - 1
        numbers = np.arange(2 ** (d - 1))
        # the sets without node j: the bits from j on move up by one
        self._sets = ((numbers & ~below) << 1) | (numbers & below)  # (d, 2^(d-1))
        self._allowed = (self._sets & required[:, np.newaxis]) == required[:, None]
        self._holds = (self._sets[..., np.newaxis] >> np.arange(d)) & 1
        n_required = (required[:, np.newaxis] >> np.arange(d) & 1).sum(axis=1)
        self._powers = self._holds.sum(axis=2) - n_required[:, np.newaxis]
        self._groups = list(_groups(required, n_required))
        self.n_products = sum(group.rows.size for group in self._groups)

    def weighted(
        self,
        scores: Floats,  # shape: (E, d, 2^d)
        weights: Floats,  # shape: (W,), of graphs with 0, 1, … edges more
        edge_weights: Floats,  # shape: (W,)
    ) -> tuple[Floats, Floats, Floats]:  # shapes: (E,), (E, d, d), (E,)
        """Return two weighted sums of rewards, over exp of the best score, and that.

        The first by ``weights`` over all graphs; the second by ``edge_weights`` over
        the graphs with each edge, row i and column j for i → j. Graphs with W or more
        edges beyond the required ones do not count.
        """
        n_members, (d, n_sets) = len(scores), self._sets.shape
        nodes = np.arange(d)[:, np.newaxis]
        chosen = np.where(self._allowed, scores[:, nodes, self._sets], -np.inf)
        powers = np.arange(min(len(weights), d))[:, np.newaxis]
        is_power = (self._powers.T[:, np.newaxis] == powers).astype(np.float64)
        subsets = _Subsets(chosen.transpose(2, 0, 1), is_power)  # sets first
        factors = subsets.sums.transpose(2, 3, 0, 1)  # (E, d, n_sets, V)
        best = subsets.best.transpose(1, 2, 0)  # (E, d, n_sets)
        sweep = _Sweep(
            self._groups,
            factors.reshape(n_members, d * n_sets, -1),
            best.reshape(n_members, d * n_sets),
            len(weights),
        )
        sums = sweep.forward()
        by_factor = sweep.backward(edge_weights).reshape(factors.shape)
        by_term = subsets.by_term(by_factor.transpose(2, 3, 0, 1))  # (n_sets, E, d)
        by_edge = np.einsum("sej,jsi->eij", by_term, self._holds, optimize=True)
        return sums @ weights, by_edge, sweep.score_of_best[:, -1]


@dataclass(frozen=True, eq=False)
class _Group:
    """The n sets U of one size after each of which k nodes may come last."""

    inside: Integers  # (n,), the sets U
    nodes: Integers  # (n, k), the nodes that may come last
    factors: Integers  # (n, k), places of A_j(U) among those of all nodes
    larger: Integers  # the sets that join U and some of these nodes
    rows: Integers  # (n, 2^k), which of them, for each set T of these nodes
    size: int  # of U
    degree: int  # of Z(U), at most

    def width(self, n_last: int, limit: int) -> int:
        """Return the number of powers of Z(U) times n_last factors."""
        return min(limit, self.degree + n_last * self.size + 1)

    @cached_property
    def unions(self) -> Integers:  # shape: (n, 2^k)
        """U ∪ T."""
        return self.larger[self.rows]


def _groups(required: Integers, n_required: Integers) -> Iterator[_Group]:
    """Yield, by size, all sets but the full one that hold the required parents."""
    d = len(required)
    sets = np.arange(2**d)
    holds = (sets[:, np.newaxis] >> np.arange(d)) & 1 == 1  # (2^d, d)
    has_parents = (sets[:, np.newaxis] & required) == required
    closed = (has_parents | ~holds).all(axis=1)
    may_follow = has_parents & ~holds
    sizes, n_last = holds.sum(axis=1), may_follow.sum(axis=1)
    degrees = sizes * (sizes - 1) // 2 - holds @ n_required
    for size, k in np.unique(np.stack((sizes, n_last), axis=1)[closed], axis=0):
        if size == d:
            continue
        inside = np.flatnonzero(closed & (sizes == size) & (n_last == k))
        nodes = may_follow[inside].nonzero()[1].reshape(-1, k)
        unions = inside[:, np.newaxis]
        for bits in (1 << nodes).T:
            unions = np.concatenate((unions, unions | bits[:, np.newaxis]), axis=1)
        below = (1 << nodes) - 1
        # the number of U among the sets without the node
        numbers = (inside[:, None] & below) | ((inside[:, None] >> 1) & ~below)
        larger, rows = np.unique(unions, return_inverse=True)
        yield _Group(
            inside=inside,
            nodes=nodes,
            factors=nodes * 2 ** (d - 1) + numbers,
            larger=larger,
            rows=rows.reshape(unions.shape),
            size=int(size),
            degree=int(degrees[inside].max()),
        )


class _Subsets:
    """Sums over the subsets of each set, bit by bit.

    Of exp(scores), by powers, each over exp of the best score of a subset.
    """

    def __init__(
        self,
        scores: Floats,  # shape: (n_sets, e, d)
        is_power: Floats,  # shape: (n_sets, V, d)
    ) -> None:
        self._is_power = is_power
        n_sets, n_members, d = scores.shape
        shape = (n_sets, is_power.shape[1], n_members, d)
        self.best = scores.copy()
        self.sums = np.broadcast_to(is_power[:, :, np.newaxis], shape).copy()
        self._shrinks: list[tuple[Floats, Floats]] = []
        for bit in range(n_sets.bit_length() - 1):
            without, both = _halves(self.best, bit)
            best = np.maximum(without, both)
            shrink = _ratio(without, best)[:, :, None], _ratio(both, best)[:, :, None]
            both[:] = best
            without, both = _halves(self.sums, bit)
            both *= shrink[1]
            both += without * shrink[0]
            self._shrinks.append(shrink)

    def by_term(
        self,
        by_sum: Floats,  # shape: (n_sets, V, e, d), by the sums
    ) -> Floats:  # shape: (n_sets, e, d)
        """Return derivatives by log terms from those by the sums."""
        by_sum = by_sum.copy()
        for bit, shrink in reversed(list(enumerate(self._shrinks))):
            without, both = _halves(by_sum, bit)
            without += both * shrink[0]
            both *= shrink[1]
        return np.einsum("svej,svj->sej", by_sum, self._is_power)


def _halves(values: Floats, bit: int) -> tuple[Floats, Floats]:
    # shapes: values (n_sets, ...) -> twice (n_sets / 2^(bit + 1), 2^bit, ...)
    """Return views of the sets without a bit and of those with it."""
    split = values.reshape(-1, 2, 2**bit, *values.shape[1:])
    return split[:, 0], split[:, 1]


def _ratio(scores: Floats, best: Floats) -> Floats:
    """Return exp(scores − best), and 0 where nothing is there."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(scores), np.exp(scores - best), 0.0)


class _Sweep:
    """Products of all sets, forward for the sums and backward for derivatives."""

    def __init__(
        self,
        groups: Sequence[_Group],
        factors: Floats,  # shape: (e, d * n_sets, V), over exp(best)
        best: Floats,  # shape: (e, d * n_sets)
        width: int,
    ) -> None:
        self._groups = groups
        self._factors = factors
        self._best = best
        self._width = width
        d = int(groups[-1].size) + 1
        self._sums_shape = (len(best), 2**d, width)
        self.score_of_best = self._best_graphs()
        self._products: list[Floats] = []
        self._unions: list[csr_array] = []

    def _best_graphs(self) -> Floats:  # shape: (e, 2^d)
        """Return the score of the best graph on each set of nodes."""
        found = np.full(self._sums_shape[:2], -np.inf)
        found[:, 0] = 0.0
        for group in self._groups:
            for nodes, factors in zip(group.nodes.T, group.factors.T, strict=True):
                larger = group.inside | (1 << nodes)
                score = found[:, group.inside] + self._best[:, factors]
                np.maximum.at(found.T, larger, score.T)
        return found

    def forward(self) -> Floats:  # shape: (e, W)
        """Return Z_m of the full set over exp of the score of its best graph."""
        sums = np.zeros(self._sums_shape)
        sums[:, 0, 0] = 1.0
        for group in self._groups:
            products = self._products_of(group, sums)
            unions = self._union(group)
            n_powers = products.shape[-1]
            found = unions.T @ products.reshape(-1, n_powers)
            found = found.reshape(len(sums), -1, n_powers)
            sums[:, group.larger, :n_powers] += found
            self._products.append(products)
            self._unions.append(unions)
        return sums[:, -1]

    def _products_of(self, group: _Group, sums: Floats) -> Floats:
        # shapes: sums (e, 2^d, W) -> (e, n, 2^k, w)
        """Return the signed products of Z(U) and A_j(U) over each set T."""
        n, k = group.nodes.shape
        limit = self._width
        products = np.zeros((len(sums), n, 2**k, group.width(k, limit)))
        first = group.width(0, limit)
        products[:, :, 0, :first] = -sums[:, group.inside, :first]
        for t in range(k):
            before, after = group.width(t, limit), group.width(t + 1, limit)
            np.matmul(
                products[:, :, : 2**t, :before],
                self._multiplier(group, t, before, after),
                out=products[:, :, 2**t : 2 ** (t + 1), :after],
            )
        return products

    def _multiplier(self, group: _Group, t: int, before: int, after: int) -> Floats:
        # shape: (e, n, before, after)
        """Return the matrices that multiply polynomials by −A_j(U)."""
        n_terms = min(group.size + 1, self._factors.shape[-1])
        factors = -self._factors[:, group.factors[:, t], :n_terms]
        found = factors @ _diagonals(n_terms, before, after).T
        return found.reshape(*factors.shape[:2], before, after)

    def _union(self, group: _Group) -> csr_array:
        # shape: (e * n * 2^k, e * number of unions)
        """Return the matrix that takes each product to its union, and rescales it.

        It has 0 for the empty T, whose product is no graph of a larger set.
        """
        scale = self.score_of_best[:, group.inside, np.newaxis]
        for factors in group.factors.T:
            added = scale + self._best[:, factors, np.newaxis]
            scale = np.concatenate((scale, added), axis=2)
        shrink = np.exp(scale - self.score_of_best[:, group.unions])
        shrink[:, :, 0] = 0.0
        n_members, n_larger = len(shrink), len(group.larger)
        offsets = np.arange(n_members)[:, np.newaxis] * n_larger
        columns = (offsets + group.rows.ravel()).ravel()
        starts = np.arange(shrink.size + 1)
        shape = (shrink.size, n_members * n_larger)
        return csr_array((shrink.ravel(), columns, starts), shape=shape)

    def backward(
        self,
        weights: Floats,  # shape: (W,)
    ) -> Floats:  # shape: (e, d * n_sets, V)
        """Return derivatives of the weighted sum by the factors; only once."""
        by_sum = np.zeros(self._sums_shape)
        by_sum[:, -1] = weights
        by_factor = np.zeros(self._factors.shape)
        limit = self._width
        for group in reversed(self._groups):
            products, unions = self._products.pop(), self._unions.pop()
            n_powers = products.shape[-1]
            by_union = by_sum[:, group.larger, :n_powers].reshape(-1, n_powers)
            by_product: Floats = (unions @ by_union).reshape(products.shape)
            for t in reversed(range(group.nodes.shape[1])):
                before, after = group.width(t, limit), group.width(t + 1, limit)
                times = self._multiplier(group, t, before, after)
                onward = by_product[:, :, 2**t : 2 ** (t + 1), :after]
                known = products[:, :, : 2**t, :before]
                by_times = np.matmul(known.transpose(0, 1, 3, 2), onward)
                n_terms = min(group.size + 1, self._factors.shape[2])
                diagonals = _diagonals(n_terms, before, after)
                by_factor[:, group.factors[:, t], :n_terms] = -(
                    by_times.reshape(len(times), -1, before * after) @ diagonals
                )
                by_product[:, :, : 2**t, :before] += onward @ times.swapaxes(2, 3)
            first = group.width(0, limit)
            by_sum[:, group.inside, :first] -= by_product[:, :, 0, :first]
        return by_factor


@lru_cache(maxsize=256)
def _diagonals(n_terms: int, n_rows: int, n_columns: int) -> Floats:
    # shape: (n_rows * n_columns, n_terms)
    """Mark the entries (i, i + a) of a matrix, flat, for each term a.

    Its transpose makes the matrices of multiplication by polynomials, itself their
    derivatives by the coefficients.
    """
    lag = np.arange(n_columns) - np.arange(n_rows)[:, np.newaxis]
    return (lag.reshape(-1, 1) == np.arange(n_terms)).astype(np.float64)
