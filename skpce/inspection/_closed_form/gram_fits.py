r"""Cross-fitted errors of permuted compositions from the products of the members.

For a ridge whose penalty is shared by the columns of a step, the leave-one-out score of
a penalty :math:`\lambda` and the squared error of a held-out member are quadratic forms
in the Gram matrix :math:`G = Y Y^T` of the step: with the leave-one-out residuals
:math:`R_\lambda Y` of the training rows, the score is
:math:`\langle R_\lambda^T R_\lambda, G \rangle / n`, and with the weights
:math:`p_\lambda` that a prediction gives to the training rows, the error of a member of
products :math:`g` with them is :math:`G_{ii} - 2 p^T g + p^T G p`. A permutation of the
members permutes G, so that its cost does not depend on the number of columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..._checks import BoolArray, FloatArray, IndexArray
from ..._compositions.log_ratio import LogRatioGeometry
from ..._solvers.problem import DesignDecomposition, best_penalties

# Below these shares of a sum of squares a difference of products is rounding.
_SMALLEST_SCORE = 1e-9
_SMALLEST_SPREAD = 1e-16
# Entries of permuted matrices that are held at once.
_LARGEST_BLOCK = 4_000_000


@dataclass(frozen=True)
class GramFold:
    """What a ridge does with the training rows of a fold, for each penalty.

    A symmetric form is the vector of its entries on and above the diagonal, those
    above it twice.
    """

    train: IndexArray
    test: IndexArray
    forms: FloatArray  # (n_alphas + 1, n_pairs): scores, and the sum of squares
    defined: BoolArray  # (n_alphas,)
    weights: FloatArray  # (n_alphas, n_test, n_train), of the training rows

    @classmethod
    def of_design(
        cls,
        rows: tuple[IndexArray, IndexArray],  # of training and of testing
        decomposition: DesignDecomposition,  # with a free intercept, members count once
        held_out: FloatArray,  # (n_test, n_terms): design matrix of the test rows
        alphas: FloatArray,  # (n_alphas,)
        criterion: str,
    ) -> GramFold:
        """Write residuals and predictions of each penalty as sums of training rows."""
        n_train = len(rows[0])
        mean, centred = decomposition.center_targets(np.eye(n_train))
        loadings = decomposition.project(centred)
        complement = decomposition.path_complement(alphas)
        if criterion == "gcv":
            complement = np.broadcast_to(complement.mean(axis=0), complement.shape)
        defined: BoolArray = np.asarray((complement > 0.0).all(axis=0))
        forms = np.zeros((len(alphas) + 1, n_train * (n_train + 1) // 2))
        forms[-1] = _form(centred)
        weights = np.empty((len(alphas), len(held_out), n_train))
        for row, alpha in enumerate(alphas.tolist()):
            penalties = np.full(n_train, alpha)
            coefficients = decomposition.coefficients(mean, loadings, penalties)
            weights[row] = held_out @ coefficients.T
            if defined[row]:
                residuals = decomposition.residuals(centred, loadings, alpha)
                left_out = residuals / complement[:, row, np.newaxis]
                forms[row] = _form(left_out.T @ left_out / n_train)
        return cls(*rows, forms, defined, weights)

    def error_forms(self, alpha: int) -> FloatArray:  # (n_test, n_pairs)
        """Return the squares of the predictions of each test row."""
        weights = self.weights[alpha]
        return _form(weights[:, :, np.newaxis] * weights[:, np.newaxis])


def _form(matrices: FloatArray) -> FloatArray:  # (..., n, n) -> (..., n_pairs)
    """Return symmetric forms as vectors."""
    n_rows = matrices.shape[-1]
    first, second = np.triu_indices(n_rows)
    found: FloatArray = matrices[..., first, second] * np.where(
        first == second, 1.0, 2.0
    )
    return found


@dataclass(frozen=True)
class GramFits:
    """The folds, and the Gram matrix of each step that has a choice."""

    folds: tuple[GramFold, ...]
    products: FloatArray  # (n_choices, n_members, n_members), centred
    steps: IndexArray  # (n_choices,): the step of each
    n_steps: int

    @classmethod
    def of_members(
        cls,
        folds: Sequence[GramFold],
        values: FloatArray,  # (n_members, n_active): centred log-ratios
        geometry: LogRatioGeometry,
    ) -> GramFits:
        """Multiply the members of each step."""
        steps = np.flatnonzero(geometry.has_choice)
        products = np.empty((len(steps), len(values), len(values)))
        first = np.searchsorted(geometry.step_of_active, steps)
        last = np.searchsorted(geometry.step_of_active, steps, side="right")
        for number, (start, stop) in enumerate(zip(first, last, strict=True)):
            own = values[:, start:stop]
            own = own - own.mean(axis=0)
            products[number] = own @ own.T
        return cls(tuple(folds), products, steps, geometry.layout.n_steps)

    @property
    def permutations_at_once(self) -> int:
        """How many permutations to solve in one call."""
        return max(1, _LARGEST_BLOCK // max(fold.forms.shape[1] for fold in self.folds))

    def group_errors(
        self, orders: IndexArray
    ) -> tuple[FloatArray, BoolArray]:  # (n, n_members, n_steps), (n,)
        """Return squared errors of each order of y, and whether they are accurate."""
        errors = np.full((*orders.shape, self.n_steps), np.nan)
        accurate = np.ones(len(orders), dtype=bool)
        for fold in self.folds:
            rows, test = orders[:, fold.train], orders[:, fold.test]
            pairs = self._pairs(rows)
            found = np.zeros((*test.shape, self.n_steps))
            for gram, step in zip(self.products, self.steps, strict=True):
                inner = gram.ravel().take(pairs)
                best, fine = _choose(fold, inner, np.trace(gram))
                accurate &= fine
                own = found[:, :, step]
                for alpha in np.unique(best):
                    some = np.flatnonzero(best == alpha)
                    cross = gram[rows[some, :, np.newaxis], test[some, np.newaxis]]
                    own[some] = inner[some] @ fold.error_forms(alpha).T
                    own[some] -= 2.0 * np.einsum(
                        "ojt,tj->ot", cross, fold.weights[alpha]
                    )
                own += gram[test, test]
            errors[:, fold.test] = np.maximum(found, 0.0)
        return errors, accurate

    def chosen(
        self, fold: GramFold, orders: IndexArray
    ) -> tuple[IndexArray, BoolArray]:  # (n, n_choices), (n,)
        """Return the penalties of each order of y, and whether they are accurate."""
        pairs = self._pairs(orders[:, fold.train])
        found = [
            _choose(fold, gram.ravel().take(pairs), np.trace(gram))
            for gram in self.products
        ]
        best, fine = zip(*found, strict=True)
        return np.stack(best, axis=1), np.all(fine, axis=0)

    def _pairs(self, rows: IndexArray) -> IndexArray:  # (n_orders, n_train) -> pairs
        """Return where the products of the rows are in a Gram matrix."""
        first, second = np.triu_indices(rows.shape[1])
        return rows[:, first] * self.products.shape[1] + rows[:, second]


def _choose(
    fold: GramFold,
    inner: FloatArray,  # (n_orders, n_pairs): products of the training rows
    total: float,  # sum of squares of all members
) -> tuple[IndexArray, BoolArray]:  # both (n_orders,)
    """Return the best penalties, and whether no difference is rounding."""
    found = fold.forms @ inner.T
    scores, spread = found[:-1], found[-1]
    scores[~fold.defined] = np.inf
    best, least = best_penalties(scores, np.arange(len(inner)))
    fine = (least * len(fold.train) > _SMALLEST_SCORE * spread) & (
        spread > _SMALLEST_SPREAD * total
    )
    return best, fine
