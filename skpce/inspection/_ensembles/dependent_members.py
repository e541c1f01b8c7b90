"""Members that are not independent of one another: near-copies, and series.

Folds and permutations assume that members may be exchanged. Copies of a member (the
same run computed twice, checkpoints of one run) and members that follow one another (a
series) may not: what is learned of one predicts the other, whatever the inputs mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._checks import FEWEST_MEMBERS, FloatArray, IndexArray
from ..._solvers.problem import sum_rows
from .._input_tests import numeric
from .._reading import last_and_inputs
from .cross_fit import CrossFit
from .near_copies import labels_of_copies
from .series import find_series


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
        if self.n_groups >= FEWEST_MEMBERS:
            return ""
        return (
            f"{self.words}, which leaves {self.n_groups} independent groups, fewer "
            f"than {FEWEST_MEMBERS}"
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
    order: Any = None,  # shape: (n_members,); False where that of rows means nothing
) -> MemberGroups | None:
    """Return near-copies, else blocks of a series; None for independent members."""
    observed, groups = fit.observed, fit.outputs.group_of_coordinate
    tables = _inputs(fit, fitted)
    deviations = _deviations(observed, groups)
    if not tables or np.isnan(residuals).any() or not deviations.any():
        return None
    outputs, left = _scaled(observed, deviations), _scaled(residuals, deviations)
    copies = _near_copies(tables, outputs)
    if order is False:
        return copies
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
    if copies.n_groups < FEWEST_MEMBERS:
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
            found.append(_scaled(values, _deviations(values)))
    if len(found) == 2 and np.array_equal(found[0], found[1]):
        found.pop()
    return found


def _deviations(
    values: FloatArray,  # shape: (n, n_columns)
    groups: IndexArray | None = None,  # shape: (n_columns,)
) -> FloatArray:  # shape: (n_columns,)
    """Return the deviation of each column, or its group; 0 where it does not vary."""
    varies = np.ptp(values, axis=0) > 0
    variance = np.where(varies, values.var(axis=0), 0.0)
    if groups is not None:
        variance = np.bincount(groups, weights=variance)[groups]
    return np.where(varies, np.sqrt(variance), 0.0)


def _scaled(values: FloatArray, deviations: FloatArray) -> FloatArray:
    """Centre columns that vary and divide them by deviations."""
    varies = deviations > 0
    some = values if varies.all() else values[:, varies]
    centred = some - some.mean(axis=0)
    centred /= deviations[varies]
    return centred


def _series(
    tables: list[FloatArray], outputs: FloatArray, left: FloatArray, order: Any
) -> MemberGroups | None:
    """Return the blocks of members that follow one another."""
    found = find_series(tables, outputs, left, order)
    if found is None:
        return None
    return MemberGroups(found.labels, kind="series", words=found.words)
