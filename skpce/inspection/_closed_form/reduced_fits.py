r"""Refits of permuted compositions in as few columns as there are members.

A solver whose choices are shared by the columns of a step sees these only by sums of
squares, which no rotation changes. With :math:`Y_s^T = Q R` of the centred log-ratios
of a step the rows of :math:`R^T` have the lengths and products of the members; their
refits have the errors of those of all columns, and no step is wider than the number of
members. This serves the solvers that choose weights of terms, of whose scores
``gram_fits`` knows nothing.

As there, a predicted probability that is 0 in floating point would be replaced. A
prediction at the distance :math:`d` from the mean of the members has log-ratios between
:math:`\bar y_k \pm d`: up to some distance none can be 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._checks import BoolArray, FloatArray, IndexArray
from ..._compositions.log_ratio import LogRatioGeometry
from ..._solvers.problem import sum_rows
from .gram_fits import SMALLEST_SPREAD, largest_distance

# Squared errors below this share of the sum of squares may come from rounding.
_SMALLEST_ERROR = 1e-18
# Probabilities are 0 at e^-745: log-ratios are not farther from their mean.
_LARGEST_LENGTH = 1000.0
# Columns are worth reducing where at most this share of them is left.
_SHARE_LEFT = 0.5


@dataclass(frozen=True)
class ReducedFits:
    """The members of each step in rotated columns."""

    values: FloatArray  # (n_members, n_columns), about the mean of the members
    step_of_column: IndexArray  # (n_columns,)
    reach: FloatArray  # (n_steps,): distance from the mean up to which none is replaced

    @classmethod
    def of_members(
        cls,
        values: FloatArray,  # (n_members, n_active): centred log-ratios
        geometry: LogRatioGeometry,
    ) -> ReducedFits | None:
        """Rotate the members of each step; None where that leaves many columns."""
        n_members = len(values)
        widths = [
            min(n_members, own.stop - own.start) for own in geometry.active_slices
        ]
        if sum(widths) > _SHARE_LEFT * values.shape[1]:
            return None
        mean = values.mean(axis=0)
        reach = np.full(geometry.layout.n_steps, np.inf)
        steps = np.flatnonzero(geometry.has_choice)
        parts = []
        for step, own in zip(steps.tolist(), geometry.active_slices, strict=True):
            centred = values[:, own] - mean[own]
            triangle: Any = np.linalg.qr(centred.T, mode="r")  # no Q
            parts.append(triangle.T)
            alike = np.ones(own.stop - own.start)
            reach[step] = largest_distance(mean[own], alike, _LARGEST_LENGTH)
        return cls(np.hstack(parts), np.repeat(steps, widths), reach)

    def group_errors(
        self,
        folds: Sequence[Any],  # FoldFactors
        orders: IndexArray,
    ) -> tuple[FloatArray, BoolArray]:  # (n, n_members, n_steps), (n,)
        """Return squared errors of each order of y, and whether they are exact."""
        errors = np.full((*orders.shape, len(self.reach)), np.nan)
        exact = np.ones(len(orders), dtype=bool)
        total = self._by_step(np.square(self.values).sum(axis=0))
        for fold in folds:
            values = self.values[orders[:, fold.train]]
            spread = self._by_step(values.var(axis=1) * len(fold.train))
            predicted = self._predicted(fold, values)
            lengths = np.sqrt(self._by_step(np.square(predicted)))
            missed = self.values[orders[:, fold.test]] - predicted
            found = self._by_step(np.square(missed, out=missed))
            errors[:, fold.test] = found
            constant = total == 0.0
            fine = (spread > SMALLEST_SPREAD * total) | constant
            fine &= (found.sum(axis=1) > _SMALLEST_ERROR * spread) | constant
            fine &= (lengths <= self.reach).all(axis=1)
            exact &= fine.all(axis=1)
        return errors, exact

    def _predicted(self, fold: Any, values: FloatArray) -> FloatArray:
        """Fit each order and predict the rows held out; (n, n_test, n_columns)."""
        coefficients = fold.solver.fit_sets(
            fold.design, values.transpose(1, 0, 2), self.step_of_column
        )
        return np.asarray(fold.held_out @ coefficients.transpose(0, 2, 1))

    def _by_step(self, values: FloatArray) -> FloatArray:
        """Add up the columns of each step; the last axis is that of columns."""
        flat = values.reshape(-1, values.shape[-1]).T
        sums = sum_rows(flat, self.step_of_column, len(self.reach))
        return sums.T.reshape(*values.shape[:-1], -1)
