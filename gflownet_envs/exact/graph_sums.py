r"""Sums of rewards over directed acyclic graphs, by their numbers of edges.

Of all graphs that hold some required edges, with the recursion of
:mod:`gflownet_envs.exact.dag`: Z(S) and each A_j are polynomials whose powers count the
edges beyond the required ones, their coefficients positive. What vanishes is left out:

- a set U that holds a node but not its required parents has no graph, and a node can
  come last only once its required parents are in U;
- A_j(U) has no power above \|U\|, and Z(U) none above \|U\| (\|U\| − 1) / 2 less the
  edges required within U.

The sums by edge are derivatives by the log terms of A_j, which torch finds by one sweep
back over the same products.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

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
        self.n_products = sum(group.unions.size for group in self._groups)

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
        by_place = subsets.sums.transpose(2, 3, 0, 1)  # (E, d, n_sets, V)
        factors = torch.from_numpy(by_place.reshape(n_members, d * n_sets, -1))
        best = subsets.best.transpose(1, 2, 0).reshape(n_members, d * n_sets)
        with torch.enable_grad():  # whoever asks
            factors.requires_grad_()
            sums, scale = self._over_graphs(factors, best, len(weights))
            by_weight = (sums @ torch.from_numpy(edge_weights)).sum()
        (by_factor,) = torch.autograd.grad(by_weight, factors)
        by_place = by_factor.numpy().reshape(by_place.shape)
        by_term = subsets.by_term(by_place.transpose(2, 3, 0, 1))  # (n_sets, E, d)
        by_edge = np.einsum("sej,jsi->eij", by_term, self._holds, optimize=True)
        return sums.detach().numpy() @ weights, by_edge, scale

    def _over_graphs(
        self,
        factors: Tensor,  # shape: (E, d * n_sets, V), over exp(best)
        best: Floats,  # shape: (E, d * n_sets)
        width: int,
    ) -> tuple[Tensor, Floats]:  # shapes: (E, W), (E,)
        """Return Z_m of the full set over exp of its best graph's score, and that."""
        best_graph = self._best_graphs(best)
        places = np.concatenate([group.factors.ravel() for group in self._groups])
        sizes = [group.factors.size for group in self._groups]
        own_factors = factors[:, places].split(sizes, dim=1)  # derived together
        sums = factors.new_zeros((*best_graph.shape, width))
        sums[:, 0, 0] = 1.0
        for group, own in zip(self._groups, own_factors, strict=True):
            products = group.products(sums, own, width)
            found = (products * group.shares(best_graph, best)).flatten(1, 2)
            found = _widened(found, width)
            unions = torch.from_numpy(group.unions.reshape(-1, 1))
            sums.scatter_add_(1, unions.expand_as(found), found)
        return sums[:, -1], best_graph[:, -1]

    def _best_graphs(self, best: Floats) -> Floats:  # shapes: (E, d * n_sets), (E, 2^d)
        """Return the score of the best graph on each set of nodes."""
        found = np.full((len(best), 2 ** len(self._sets)), -np.inf)
        found[:, 0] = 0.0
        for group in self._groups:
            for nodes, factors in zip(group.nodes.T, group.factors.T, strict=True):
                larger = group.inside | (1 << nodes)
                score = found[:, group.inside] + best[:, factors]
                np.maximum.at(found.T, larger, score.T)
        return found


@dataclass(frozen=True, eq=False)
class _Group:
    """The n sets U of one size after each of which k nodes may come last."""

    inside: Integers  # (n,), the sets U
    nodes: Integers  # (n, k), the nodes that may come last
    factors: Integers  # (n, k), places of A_j(U) among those of all nodes
    unions: Integers  # (n, 2^k), U and each set T of these nodes
    size: int  # of U
    degree: int  # of Z(U), at most

    def products(self, sums: Tensor, factors: Tensor, limit: int) -> Tensor:
        # shapes: sums (e, 2^d, W), factors (e, n * k, V) -> (e, n, 2^k, w)
        """Return the products of Z(U) and of A_j(U) over each set T."""
        width = min(limit, self.degree + 1)
        found = sums[:, self.inside, None, :width]
        n_terms = min(self.size + 1, factors.shape[-1])
        by_node = factors[..., :n_terms].unflatten(1, self.nodes.shape).unbind(2)
        for own in by_node:
            before, width = width, min(limit, width + self.size)
            times = own @ _diagonals(n_terms, before, width).T  # multiply polynomials
            following = found @ times.unflatten(2, (before, width))
            found = torch.cat((_widened(found, width), following), dim=2)
        return found

    def shares(self, best_graph: Floats, best: Floats) -> Tensor:
        # shapes: best_graph (e, 2^d), best (e, d * n_sets) -> (e, n, 2^k, 1)
        """Return the signs of the products, over exp of the best graphs on the unions.

        The product of the empty T, which is no graph of a larger set, has 0.
        """
        scale, signs = best_graph[:, self.inside, np.newaxis], np.array([-1.0])
        for factors in self.factors.T:
            added = scale + best[:, factors, np.newaxis]
            scale = np.concatenate((scale, added), axis=2)
            signs = np.concatenate((signs, -signs))
        signs[0] = 0.0
        found = signs * np.exp(scale - best_graph[:, self.unions])
        return torch.from_numpy(found[..., np.newaxis])


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
        yield _Group(
            inside=inside,
            nodes=nodes,
            factors=nodes * 2 ** (d - 1) + numbers,
            unions=unions,
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


def _widened(values: Tensor, width: int) -> Tensor:  # shapes: (..., w) -> (..., width)
    """Add powers without a coefficient; no copy where there are none to add."""
    missing = width - values.shape[-1]
    return pad(values, (0, missing)) if missing else values


@lru_cache(maxsize=256)
def _diagonals(n_terms: int, n_rows: int, n_columns: int) -> Tensor:
    # shape: (n_rows * n_columns, n_terms)
    """Mark the entries (i, i + a) of a matrix, flat, for each term a."""
    lag = torch.arange(n_columns) - torch.arange(n_rows)[:, None]
    return (lag.reshape(-1, 1) == torch.arange(n_terms)).double()
