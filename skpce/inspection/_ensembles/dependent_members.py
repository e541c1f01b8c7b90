"""Members that are not independent of one another: near-copies, and series.

Folds and permutations assume that members may be exchanged. Copies of a member (the
same run computed twice, checkpoints of one run) and members that follow one another (a
series) may not: what is learned of one predicts the other, whatever the inputs mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._checks import FloatArray, IndexArray
from ..._solvers.problem import sum_rows
from .._input_tests import numeric
from .._reading import last_and_inputs
from .cross_fit import CrossFit
from .near_copies import labels_of_copies

# Groups that a verdict needs; with fewer no permutation test has power.
_LEAST_GROUPS = 8
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


def _near_copies(tables: list[FloatArray], outputs: FloatArray) -> MemberGroups | None:
    """Return the groups of members that are nearer than independent ones would be."""
    labels = labels_of_copies(tables, outputs)
    if labels is None:
        return None
    sizes = np.bincount(labels)
    words = (
        f"{int(sizes[sizes > 1].sum())} members are near-copies of others (groups of "
        f"up to {sizes.max()}), nearer than independent members would be"
    )
    return MemberGroups(labels, kind="copies", words=words)


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
    counts = np.bincount(place)
    found: FloatArray = sum_rows(values, place, len(counts)) / counts[:, np.newaxis]
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
