r"""Permutations whose error surely exceeds that of the data, whatever the penalty.

A p-value counts the permutations that predict no worse than the data do: it needs
their errors only where these are near. With the design matrix of the test rows of a
fold and its orthogonal projection :math:`P`, a prediction of these rows is a
combination of the columns of the matrix, and its squared error at least that of the
projection,

.. math:: \lVert Y_t - \hat Y_t \rVert^2 \ge \langle I - P, \, Y_t Y_t^T \rangle .

The sum over the folds is one linear form in the products of the members, which each
permutation moves: all permutations of all steps are one product of matrices. Of members
without a signal the bound leaves as much as the share of the terms in the test rows;
steps that are predicted better than that need no more than the bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._checks import BoolArray, FloatArray, IndexArray
from .step_members import StepMembers

# A column that varies by less than this share of its length over the test rows.
_ROUNDING = 1e-12
#: How far a bound has to be from the error of the data: a share of the sum of squares.
MARGIN = 1e-6
# Products of members that are held at once.
_LARGEST_BLOCK = 4_000_000


@dataclass(frozen=True)
class ErrorBounds:
    """What no prediction of the test rows of each fold can explain."""

    tests: tuple[IndexArray, ...]  # test rows, each in one fold
    forms: tuple[FloatArray, ...]  # (n_test, n_test): what projections leave
    share: float  # of the variance that projections take from noise

    @classmethod
    def of_folds(cls, folds: Sequence[Any]) -> ErrorBounds | None:  # FoldFactors
        """Project on the terms of the test rows; None where these leave nothing."""
        tests = tuple(fold.test for fold in folds)
        rows = np.concatenate(tests)
        if len(np.unique(rows)) < len(rows):
            return None
        forms = tuple(_left_by_projection(fold.held_out) for fold in folds)
        left = sum(float(np.trace(form)) for form in forms)
        share = 1.0 - left / len(rows)
        return cls(tests, forms, share) if share < 1.0 - MARGIN else None

    def least_errors(
        self,
        orders: IndexArray,  # (n_orders, n_members)
        members: Sequence[StepMembers],
    ) -> FloatArray:  # (n_orders, len(members))
        """Return what the squared errors of each order, added up, are at least."""
        n_orders, n_members = orders.shape
        n_pairs = n_members * n_members
        found = np.empty((n_orders, len(members)))
        n_steps = max(1, min(len(members), _LARGEST_BLOCK // n_pairs))
        products = np.empty((n_steps, n_members, n_members))
        n_at_once = max(1, _LARGEST_BLOCK // n_pairs)
        for start in range(0, n_orders, n_at_once):
            own = orders[start : start + n_at_once]
            placed = self._placed(own).reshape(len(own), n_pairs)
            for first in range(0, len(members), n_steps):
                some = members[first : first + n_steps]
                for out, step in zip(products, some, strict=False):
                    np.matmul(step.values, step.values.T, out=out)
                flat = products[: len(some)].reshape(len(some), n_pairs)
                rows = slice(start, start + len(own))
                found[rows, first : first + len(some)] = placed @ flat.T
        return found

    def _placed(self, orders: IndexArray) -> FloatArray:
        """Place the forms where each order has the test rows, by members."""
        n_orders, n_members = orders.shape
        placed = np.zeros((n_orders, n_members, n_members))
        each = np.arange(n_orders)[:, np.newaxis, np.newaxis]
        for test, form in zip(self.tests, self.forms, strict=True):
            own = orders[:, test]
            placed[each, own[:, :, np.newaxis], own[:, np.newaxis]] = form
        return placed

    def exceed(
        self,
        orders: IndexArray,  # (n_orders, n_members)
        members: Sequence[StepMembers],
        errors: FloatArray,  # (n_orders, len(members)): sums that the data have
        spread: FloatArray,  # (n_orders, len(members)): sums of squared deviations
    ) -> BoolArray:  # (n_orders, len(members))
        """Say which orders surely have larger errors than the data."""
        exceeds = np.zeros(errors.shape, dtype=bool)
        # Below the share of noise nothing would come of it.
        likely = (errors < (1.0 - self.share) * spread).any(axis=0)
        some = np.flatnonzero(likely)
        if some.size:
            least = self.least_errors(orders, [members[step] for step in some.tolist()])
            limits = errors[:, some] + MARGIN * spread[:, some]
            exceeds[:, some] = least > limits
        return exceeds


def _left_by_projection(design: FloatArray) -> FloatArray:
    """Return what the projection on a constant and some columns leaves of rows."""
    n_rows = len(design)
    varying = design - design.mean(axis=0)
    lengths = np.sqrt(np.square(varying).sum(axis=0))
    whole = np.sqrt(np.square(design).sum(axis=0))
    varying = varying[:, lengths > _ROUNDING * whole]
    columns = np.hstack([np.ones((n_rows, 1)), varying])
    if columns.shape[1] >= n_rows:
        return np.zeros((n_rows, n_rows))
    directions, _ = np.linalg.qr(columns)
    return np.asarray(np.eye(n_rows) - directions @ directions.T)
