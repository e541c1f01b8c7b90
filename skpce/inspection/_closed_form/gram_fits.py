r"""Cross-fitted errors of permuted compositions from the products of the members.

For a ridge whose penalty is shared by the columns of a step, the leave-one-out score of
a penalty :math:`\lambda` and the squared error of a held-out member are quadratic forms
in the Gram matrix :math:`G = Y Y^T` of the step: with the leave-one-out residuals
:math:`R_\lambda Y` of the training rows, the score is
:math:`\langle R_\lambda^T R_\lambda, G \rangle / n`, and with the weights
:math:`p_\lambda` that a prediction gives to the training rows, the error of a member of
products :math:`g` with them is :math:`G_{ii} - 2 p^T g + p^T G p`. A permutation of the
members permutes G, so that its cost does not depend on the number of columns.

A predicted probability that is 0 in floating point is replaced before it is compared,
of which products know nothing. A prediction whose weights have the distance
:math:`\delta = (p^T p - 1/N)^{1/2}` from equal ones has log-ratios between
:math:`\bar y_k \pm \delta \lVert y_k - \bar y_k \rVert`, whoever lends his y: up to
some :math:`\delta` none can be 0. Others are left to those who look at columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..._checks import BoolArray, FloatArray, IndexArray
from ..._compositions.log_ratio import LogRatioGeometry
from ..._solvers.problem import best_penalties
from .error_bounds import MARGIN, ErrorBounds
from .error_ranges import ErrorRanges
from .gram_fold import GramFold
from .step_members import StepMembers

# Below this share of a sum of squares a difference of products is rounding.
_SMALLEST_SCORE = 1e-9
#: Training members that vary by less than this share of all members may be constant.
SMALLEST_SPREAD = 1e-16
# Smaller probabilities have fewer digits, and those below e^-745 are 0.
_SMALLEST_LOGARITHM = -700.0
# Distances from equal weights that are tried, and halvings between them.
_LARGEST_DISTANCE, _HALVINGS = 16.0, 20
# Entries of permuted matrices, and of errors, that are held at once.
_LARGEST_BLOCK = 4_000_000
# Errors for which ranges in single precision are worth their forms.
_MANY_ERRORS = 5_000

#: Sums of squared errors of the data, and of deviations, (n_orders, n_steps) each.
ErrorLimits = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class GramFits:
    """The folds, and the members of each step that has a choice."""

    folds: tuple[GramFold, ...]
    members: tuple[StepMembers, ...]  # of each choice
    reach: FloatArray  # (n_choices,): distance of weights up to which none is replaced
    steps: IndexArray  # (n_choices,): the step of each
    n_steps: int
    bounds: ErrorBounds | None = None  # where the terms leave part of the test rows

    @classmethod
    def of_members(
        cls,
        folds: Sequence[GramFold],
        values: FloatArray,  # (n_members, n_active): centred log-ratios
        geometry: LogRatioGeometry,
        bounds: ErrorBounds | None = None,
    ) -> GramFits:
        """Centre the members of each step."""
        steps = np.flatnonzero(geometry.has_choice)
        centred = values - values.mean(axis=0)
        members = [
            StepMembers(np.ascontiguousarray(centred[:, own]))  # many products follow
            for own in geometry.active_slices
        ]
        reach = np.array([_reach(values[:, own]) for own in geometry.active_slices])
        n_steps = geometry.layout.n_steps
        return cls(tuple(folds), tuple(members), reach, steps, n_steps, bounds)

    def with_folds(self, folds: Sequence[GramFold]) -> GramFits:
        """Return the same members in other folds."""
        return replace(self, folds=tuple(folds), bounds=None)

    @property
    def permutations_at_once(self) -> int:
        """How many permutations to solve in one call."""
        largest = max(fold.entries for fold in self.folds)
        n_errors = self.n_steps * max(len(fold.train) for fold in self.folds)
        return max(1, _LARGEST_BLOCK // max(largest, n_errors // 4))

    def group_errors(
        self, orders: IndexArray, limits: ErrorLimits | None = None
    ) -> tuple[FloatArray, BoolArray]:  # (n, n_members, n_steps), (n,)
        """Return squared errors of each order of y, and whether they are exact.

        Those of a step and an order that surely exceed the limits may be infinite, and
        those that surely stay below may be 0.
        """
        if len(orders) == 1:
            alone, exact = self._errors_of_order(orders[0])
            return alone[np.newaxis], np.array([exact])
        errors = np.full((*orders.shape, self.n_steps), np.nan)
        accurate = np.ones(len(orders), dtype=bool)
        near, below = self._near(orders, limits)
        # Steps that few orders need are solved order by order, all at once.
        whole = 2 * near.sum(axis=0) >= len(orders)
        few = near & ~whole
        for fold in self.folds:
            distances = fold.distances(orders.shape[1])
            found = np.zeros((self.n_steps, len(orders), len(fold.test)))
            found[self.steps] = np.where(below, 0.0, np.inf).T[:, :, np.newaxis]
            placed: Any = fold.placed(orders) if whole.any() else None
            for choice in np.flatnonzero(whole).tolist():
                members, step = self.members[choice], self.steps[choice]
                parts: Any = fold.parts(placed, members)
                best, fine = _choose(fold, parts, members.total)
                accurate &= fine & (distances[best] <= self.reach[choice])
                for some, own in fold.errors(parts, best):
                    found[step, some] = own
            for row in np.flatnonzero(few.any(axis=1)).tolist():
                choices = np.flatnonzero(few[row])
                missed, exact = self._missed(fold, orders[row], choices)
                found[self.steps[choices], row] = missed
                accurate[row] &= exact
            errors[:, fold.test] = np.maximum(found, 0.0).transpose(1, 2, 0)
        return errors, accurate

    @cached_property
    def ranges(self) -> ErrorRanges | None:
        """What the folds leave of permuted members, in single precision."""
        return ErrorRanges.of_folds(self.folds, len(self.members[0].values))

    def _near(
        self, orders: IndexArray, limits: ErrorLimits | None
    ) -> tuple[BoolArray, BoolArray]:  # both (n, n_choices)
        """Say which errors may be near the limits, and which are surely below."""
        shape = len(orders), len(self.steps)
        known, below = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
        if limits is None:
            return ~known, below
        # The bounds are those of predictions of which nothing is replaced.
        n_members = orders.shape[1]
        largest = max(float(fold.distances(n_members).max()) for fold in self.folds)
        bounded = largest <= self.reach
        errors, spread = (values[:, self.steps] for values in limits)
        if self.bounds is not None:
            exceeds = self.bounds.exceed(orders, self.members, errors, spread)
            known = exceeds & bounded
        some = np.flatnonzero(~known.all(axis=0) & bounded)
        if (~known[:, some]).sum() >= _MANY_ERRORS and self.ranges is not None:
            members = [self.members[step] for step in some.tolist()]
            low, high = self.ranges.of_orders(orders, members)
            margin = MARGIN * spread[:, some]
            below[:, some] = high < errors[:, some] - margin
            known[:, some] |= below[:, some] | (low > errors[:, some] + margin)
        return ~known, below

    def _errors_of_order(
        self, order: IndexArray
    ) -> tuple[FloatArray, bool]:  # (n_members, n_steps)
        """Return squared errors of one order of y, and whether they are exact."""
        errors = np.full((len(order), self.n_steps), np.nan)
        every, exact = np.arange(len(self.steps)), True
        for fold in self.folds:
            found = np.zeros((self.n_steps, len(fold.test)))
            found[self.steps], fine = self._missed(fold, order, every)
            exact &= fine
            errors[fold.test] = np.maximum(found, 0.0).T
        return errors, exact

    def _missed(
        self, fold: GramFold, order: IndexArray, choices: IndexArray
    ) -> tuple[FloatArray, bool]:  # (len(choices), n_test)
        """Return the squared errors of a fold, and whether they are exact."""
        missed = np.empty((len(choices), len(fold.test)))
        distances, exact = fold.distances(len(order)), True
        for own, parts, best, fine in self._chosen(fold, order, choices):
            exact &= fine and bool((distances[best] <= self.reach[choices[own]]).all())
            rows = np.arange(own.start, own.stop)
            for some, found in fold.errors(parts, best):
                missed[rows[some]] = found
        return missed, exact

    def chosen(
        self, fold: GramFold, orders: IndexArray
    ) -> tuple[IndexArray, BoolArray]:  # (n, n_choices), (n,)
        """Return the penalties of each order of y, and whether they are accurate."""
        if len(orders) == 1:
            choices = np.arange(len(self.steps))
            found = self._chosen(fold, orders[0], choices)
            every, accurate = zip(*((own[2], own[3]) for own in found), strict=True)
            return np.concatenate(every)[np.newaxis], np.array([all(accurate)])
        placed: Any = fold.placed(orders)
        pairs = [
            _choose(fold, fold.parts(placed, members), members.total)
            for members in self.members
        ]
        best, fine = zip(*pairs, strict=True)
        return np.stack(best, axis=1), np.all(fine, axis=0)

    def _chosen(
        self, fold: GramFold, order: IndexArray, choices: IndexArray
    ) -> Iterator[tuple[slice, Any, IndexArray, bool]]:
        """Yield some choices, their parts, penalties, and whether all are accurate."""
        members = [self.members[choice] for choice in choices.tolist()]
        totals = np.array([step.total for step in members])
        for own, parts in fold.parts_of_steps(order, members):
            best, fine = _choose(fold, parts, totals[own])
            yield own, parts, best, bool(fine.all())


def _choose(
    fold: GramFold, parts: Any, totals: FloatArray | float
) -> tuple[IndexArray, BoolArray]:  # both (n_cases,)
    """Return the best penalties, and whether no difference is rounding.

    Totals are the sums of squares of all members of the steps.
    """
    found = fold.scores(parts)
    scores, spread = found[:-1], found[-1]
    scores[~fold.defined] = np.inf
    best, least = best_penalties(scores, np.arange(len(spread)))
    fine = (least * len(fold.train) > _SMALLEST_SCORE * spread) & (
        spread > SMALLEST_SPREAD * totals
    )
    return best, fine


def _reach(values: FloatArray) -> float:
    """Return up to which distance of weights no probability can be 0.

    Negative where that of the mean may be 0 already; shape: (n_members, n_parts).
    """
    mean = values.mean(axis=0)
    return largest_distance(mean, np.sqrt(np.square(values - mean).sum(axis=0)))


def largest_distance(
    mean: FloatArray,  # (n_parts,), of log-ratios
    length: FloatArray,  # (n_parts,): how far each moves for a distance of 1
) -> float:
    """Return up to which distance from the mean no probability can be 0.

    Negative where that of the mean may be 0 already.
    """

    def fits(distance: float) -> bool:
        largest = mean + distance * length
        top = largest.max()
        whole = top + np.log(np.exp(largest - top).sum())
        return bool((mean - distance * length).min() - whole > _SMALLEST_LOGARITHM)

    if not fits(0.0):
        return -1.0
    low, high = 0.0, _LARGEST_DISTANCE
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
