r"""Sums of rewards over directed acyclic graphs, by their numbers of edges.

Of all graphs that hold some required edges, with the recursion of
:mod:`gflownet_envs.exact.dag`: Z(S) and each A_j are polynomials whose powers count the
edges beyond the required ones, their coefficients positive. What vanishes is left out:

- a set U that holds a node but not its required parents has no graph, and a node can
  come last only once its required parents are in U;
- A_j(U) has no power above \|U\|, and Z(U) none above \|U\| (\|U\| − 1) / 2 less the
  edges required within U.

The derivatives by the terms of A_j, which give the sums by edge, come from one sweep
back over the same products.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class GraphSums:
    """Sums over all graphs on d nodes that hold required edges.

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
