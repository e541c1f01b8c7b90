"""Members that are not independent of one another: near-copies, and series.

Folds and permutations assume that members may be exchanged. Copies of a member (the
same run computed twice, checkpoints of one run) and members that follow one another (a
series) may not: what is learned of one predicts the other, whatever the inputs mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.special import digamma
from sklearn.neighbors import NearestNeighbors

from ..._checks import FloatArray, IndexArray
from .._input_tests import numeric
from .._reading import last_and_inputs
from .cross_fit import CrossFit

# Groups that a verdict needs; with fewer no permutation test has power.
_LEAST_GROUPS = 8
# Share of the members, and number, that has to be in excess of one for each group.
_LEAST_EXCESS, _LEAST_MEMBERS = 0.05, 3
# False discovery rate at which a member has a neighbour that is too near.
_LEVEL = 0.1
# Neighbours that show the local density.
_NEIGHBOURS = 8
# Significance level of each test of a series, and permutations behind it.
_SERIES_LEVEL, _N_ORDERS = 0.01, 999


@dataclass(frozen=True)
class MemberGroups:
    """Groups of members that are held out and permuted as a whole."""

    labels: IndexArray  # (n_members,)
    kind: str  # "copies", or blocks of a "series"
    words: str  # what was found

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(np.unique(self.labels))

    @property
    def reason(self) -> str:
        """Why nothing can be judged; empty where there are enough groups."""
        if self.n_groups >= _LEAST_GROUPS:
            return ""
        return (
            f"{self.words}, which leaves {self.n_groups} independent groups, fewer "
            f"than {_LEAST_GROUPS}"
        )

    @property
    def caution(self) -> str:
        """What was done about them."""
        noun = "block" if self.kind == "series" else "group"
        return (
            f"{self.words}: each {noun} was held out and permuted as a whole, and the "
            f"evidence is that of {self.n_groups} members"
        )


def find_member_groups(
    fit: CrossFit,
    fitted: Any,  # on all members
    residuals: FloatArray,  # shape: (n_members, n_coordinates)
    order: Any = None,  # shape: (n_members,)
) -> MemberGroups | None:
    """Return near-copies, else blocks of a series; None for independent members."""
    observed, groups = fit.outputs.coordinates(fit.y), fit.outputs.group_of_coordinate
    tables = _inputs(fit, fitted)
    if not tables or np.isnan(residuals).any() or not np.ptp(observed, axis=0).any():
        return None
    outputs, left = _scaled(observed, groups), _scaled(residuals, groups)
    copies = _near_copies(tables, outputs)
    if copies is None:
        return _series(tables, outputs, left, order)
    series = _series_of_groups(copies, tables, outputs, left, order)
    return copies if series is None else series


def _series_of_groups(
    copies: MemberGroups,
    tables: list[FloatArray],
    outputs: FloatArray,
    left: FloatArray,
    order: Any,
) -> MemberGroups | None:
    """Return blocks of groups of near-copies that follow one another."""
    if copies.n_groups < _LEAST_GROUPS:
        return None
    _, first, number = np.unique(copies.labels, return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first))[number]  # in the order of the first members
    found = _series(
        [_means(table, place) for table in tables],
        _means(outputs, place),
        _means(left, place),
        None if order is None else np.asarray(order)[np.sort(first)],
    )
    if found is None:
        return None
    return replace(found, labels=found.labels[place])


def _means(values: FloatArray, place: IndexArray) -> FloatArray:
    """Average rows of a group; shapes: (n, d), (n,) -> (n_groups, d)."""
    sums = np.zeros((place.max() + 1, values.shape[1]))
    np.add.at(sums, place, values)
    found: FloatArray = sums / np.bincount(place)[:, np.newaxis]
    return found


def _inputs(fit: CrossFit, fitted: Any) -> list[FloatArray]:
    """Return the inputs as they are given and as the last estimator has them."""
    found = []
    for table in (fit.X, last_and_inputs(fitted, fit.X)[1]):
        values = numeric(table)
        if values is not None and np.ptp(values, axis=0).any():
            found.append(_scaled(values))
    if len(found) == 2 and np.array_equal(found[0], found[1]):
        found.pop()
    return found


def _scaled(values: FloatArray, groups: IndexArray | None = None) -> FloatArray:
    """Centre columns that vary and divide each, or each group, by its deviation."""
    varies = np.ptp(values, axis=0) > 0
    centred = values[:, varies] - values[:, varies].mean(axis=0)
    variance = np.square(centred).mean(axis=0)
    if groups is not None:
        total = np.bincount(groups[varies], weights=variance)
        variance = total[groups[varies]]
    return np.asarray(centred / np.sqrt(variance))


def _near_copies(tables: list[FloatArray], outputs: FloatArray) -> MemberGroups | None:
    """Return the groups of members that are nearer than independent ones would be."""
    n_members = len(outputs)
    links = []
    for inputs in tables:
        weight = np.sqrt(max(inputs.shape[1], 1) / max(outputs.shape[1], 1))
        joint = np.hstack([inputs, outputs * min(weight, 1.0)])
        links.append(_too_near(joint))
        if len(np.unique(inputs, axis=0)) > _LEAST_GROUPS * 4:
            links.append(_too_near(inputs))
    pairs = np.concatenate([*links, np.zeros((0, 2), dtype=np.int64)])
    graph = coo_matrix(
        (np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n_members,) * 2
    )
    n_groups, labels = connected_components(graph, directed=False)
    if n_members - n_groups < max(_LEAST_MEMBERS, _LEAST_EXCESS * n_members):
        return None
    sizes = np.bincount(labels)
    words = (
        f"{int(sizes[sizes > 1].sum())} members are near-copies of others (groups of "
        f"up to {sizes.max()}), nearer than independent members would be"
    )
    return MemberGroups(labels, kind="copies", words=words)


def _too_near(points: FloatArray) -> IndexArray:  # shapes: (n, d) -> (n_pairs, 2)
    r"""Return pairs that are too near for the density around them.

    Where the density is about constant within the 2k-th neighbour, volumes
    :math:`V_j \propto r_j^D` of balls that reach the j-th neighbour make
    :math:`V_1 / V_k` the smallest of k - 1 uniform numbers, with the dimension D from
    :math:`E \log (V_{2k} / V_k) = \psi(2k) - \psi(k)` (Facco et al., Scientific
    Reports 7, 2017). Members are tested by the p-value of this ratio at a false
    discovery rate, and linked to all that are within the distance it allows.
    """
    n_points = len(points)
    k = min(_NEIGHBOURS, (n_points - 1) // 2)
    if k < 2:
        return np.zeros((0, 2), dtype=np.int64)
    distance, place = NearestNeighbors(n_neighbors=2 * k).fit(points).kneighbors()
    near, far = distance[:, k - 1], distance[:, 2 * k - 1]
    known = near > 0
    if not known.any():
        return np.zeros((0, 2), dtype=np.int64)
    growth = float(np.log(far[known] / near[known]).mean())
    if not growth > 0:
        return np.zeros((0, 2), dtype=np.int64)
    dimension = (digamma(2 * k) - digamma(k)) / growth
    ratio = np.ones(n_points)
    ratio[known] = (distance[known, 0] / near[known]) ** dimension
    p_values = 1.0 - (1.0 - ratio) ** (k - 1)
    ordered = np.sort(p_values)
    limits = _LEVEL * np.arange(1, n_points + 1) / n_points
    passed = np.flatnonzero(ordered <= limits)
    if not passed.size:
        return np.zeros((0, 2), dtype=np.int64)
    allowed = 1.0 - (1.0 - limits[passed[-1]]) ** (1.0 / (k - 1))
    reach = near * allowed ** (1.0 / dimension)
    rows, columns = np.nonzero(distance <= reach[:, np.newaxis])
    others = place[rows, columns]
    mutual = distance[rows, columns] <= reach[others]
    return np.column_stack([rows[mutual], others[mutual]])


def _series(
    tables: list[FloatArray],
    outputs: FloatArray,  # scaled, as the residuals
    residuals: FloatArray,
    order: Any,
) -> MemberGroups | None:
    """Return blocks where both residuals and inputs depend on those before them.

    Rows that are sorted by an input are no series: their order has nothing that the
    input has not.
    """
    n_members = len(residuals)
    position = np.arange(n_members)
    if order is not None:
        position = np.argsort(np.asarray(order), kind="stable")
    raw = tables[0][position]
    steps = np.diff(raw, axis=0)
    if order is None and ((steps >= 0).all(axis=0) | (steps <= 0).all(axis=0)).any():
        return None
    left = residuals[position]
    inputs = tables[-1][position]
    generator = np.random.default_rng(0)
    for values in (left, inputs):
        if _p_value_of_order(values, generator) > _SERIES_LEVEL:
            return None
    length = _block_length(outputs[position], inputs)
    labels = np.empty(n_members, dtype=np.int64)
    n_blocks = max(n_members // length, 1)
    for number, block in enumerate(np.array_split(position, n_blocks)):
        labels[block] = number
    words = (
        "members depend on those before them in the given order (correlation of "
        f"consecutive residuals {_autocorrelation(left, 1):.2f}, of inputs "
        f"{_autocorrelation(inputs, 1):.2f})"
    )
    return MemberGroups(labels, kind="series", words=words)


def _autocorrelation(values: FloatArray, lag: int) -> float:
    """Return the correlation of rows that are a lag apart, over all columns."""
    total = np.square(values).sum()
    return float((values[lag:] * values[:-lag]).sum() / total) if total > 0 else 0.0


def _p_value_of_order(values: FloatArray, generator: np.random.Generator) -> float:
    """Test the correlation of consecutive rows against those of other orders."""
    given = _autocorrelation(values, 1)
    gram = values @ values.T
    total = np.trace(gram)
    if not total > 0:
        return 1.0
    orders = (generator.permutation(len(values)) for _ in range(_N_ORDERS))
    found = [gram[order[1:], order[:-1]].sum() / total for order in orders]
    return (1 + sum(one >= given for one in found)) / (1 + _N_ORDERS)


def _block_length(outputs: FloatArray, inputs: FloatArray) -> int:
    """Return thrice the lag up to which outputs and inputs both depend on the past."""
    n_members = len(outputs)
    noise = 2.0 / np.sqrt(n_members)
    for lag in range(1, n_members // 2):
        pair = _autocorrelation(outputs, lag), _autocorrelation(inputs, lag)
        if min(pair) < noise:
            return 3 * lag
    return n_members
