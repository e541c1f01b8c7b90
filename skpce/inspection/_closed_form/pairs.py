"""What a ridge of many terms does with permuted members, by pairs of members."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..._checks import BoolArray, FloatArray, IndexArray
from ..._solvers.problem import DesignDecomposition
from .step_members import StepMembers


@dataclass(frozen=True)
class PairFold:
    """What a ridge does with the training rows of a fold, for each penalty.

    A symmetric form is the vector of its entries on and above the diagonal, those
    above it twice.
    """

    train: IndexArray
    test: IndexArray
    forms: FloatArray  # (n_alphas + 1, n_pairs): scores, and the sum of squares
    defined: BoolArray  # (n_alphas,)
    of_rows: FloatArray  # (n_alphas, n_test, n_train), weights of the training rows

    @classmethod
    def of_design(
        cls,
        rows: tuple[IndexArray, IndexArray],  # of training and of testing
        decomposition: DesignDecomposition,  # with a free intercept, members count once
        held_out: FloatArray,  # (n_test, n_terms): design matrix of the test rows
        alphas: FloatArray,  # (n_alphas,)
        criterion: str,
    ) -> PairFold:
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
        of_rows = np.empty((len(alphas), len(held_out), n_train))
        for row, alpha in enumerate(alphas.tolist()):
            penalties = np.full(n_train, alpha)
            coefficients = decomposition.coefficients(mean, loadings, penalties)
            of_rows[row] = held_out @ coefficients.T
            if defined[row]:
                residuals = decomposition.residuals(centred, loadings, alpha)
                left_out = residuals / complement[:, row, np.newaxis]
                forms[row] = _form(left_out.T @ left_out / n_train)
        return cls(*rows, forms, defined, of_rows)

    @property
    def entries(self) -> int:
        """Numbers that a permutation takes."""
        return self.forms.shape[1]

    def distances(self, n_members: int) -> FloatArray:  # (n_alphas,)
        """Return how far the weights of a prediction are from equal ones at most."""
        squares = np.square(self.of_rows).sum(axis=2).max(axis=1, initial=0.0)
        return np.asarray(np.sqrt(np.maximum(squares - 1.0 / n_members, 0.0)))

    def score_forms(self) -> FloatArray:  # (n_alphas, n_train, n_train)
        """Return the forms in products of the training rows that are the scores."""
        n_train = len(self.train)
        first, second = np.triu_indices(n_train)
        found = np.zeros((len(self.defined), n_train, n_train))
        halves = 0.5 * self.forms[:-1]
        found[:, first, second] += halves
        found[:, second, first] += halves
        return found

    def weights(self, alpha: int) -> FloatArray:  # (n_test, n_train)
        """Return the weights of the training rows in the predictions of a penalty."""
        found: FloatArray = self.of_rows[alpha]
        return found

    def placed(self, orders: IndexArray) -> _Placed:
        """Say where the products of the rows of each order are in a Gram matrix."""
        rows, test = orders[:, self.train], orders[:, self.test]
        first, second = np.triu_indices(rows.shape[1])
        pairs = rows[:, first] * orders.shape[1] + rows[:, second]
        return _Placed(rows, test, pairs)

    def parts(self, placed: _Placed, members: StepMembers) -> _Parts:
        """Return the products of each order."""
        products = members.products
        return _Parts(placed, products, products.ravel().take(placed.pairs))

    def parts_of_steps(
        self, order: IndexArray, members: Sequence[StepMembers]
    ) -> Iterator[tuple[slice, _Parts]]:
        """Yield the products of one step after another for one order."""
        placed = self.placed(order[np.newaxis])
        for start, step in enumerate(members):
            yield slice(start, start + 1), self.parts(placed, step)

    def scores(self, parts: _Parts) -> FloatArray:  # (n_alphas + 1, n_orders)
        """Return the score of each penalty, and the sum of squares."""
        return np.asarray(self.forms @ parts.inner.T)

    def errors(
        self, parts: _Parts, best: IndexArray
    ) -> Iterator[tuple[IndexArray, FloatArray]]:  # orders, (n_some, n_test)
        """Yield the squared errors of held-out members, penalty by penalty."""
        rows, test = parts.placed.rows, parts.placed.test
        own = parts.products[test, test]
        for alpha in np.unique(best).tolist():
            some, weights = np.flatnonzero(best == alpha), self.of_rows[alpha]
            squares = _form(weights[:, :, np.newaxis] * weights[:, np.newaxis])
            cross = parts.products[rows[some, :, np.newaxis], test[some, np.newaxis]]
            found = own[some] + parts.inner[some] @ squares.T
            yield some, found - 2.0 * np.einsum("ojt,tj->ot", cross, weights)


def _form(matrices: FloatArray) -> FloatArray:  # (..., n, n) -> (..., n_pairs)
    """Return symmetric forms as vectors."""
    n_rows = matrices.shape[-1]
    first, second = np.triu_indices(n_rows)
    found: FloatArray = matrices[..., first, second] * np.where(
        first == second, 1.0, 2.0
    )
    return found


@dataclass(frozen=True)
class _Placed:
    """Members in the order of the rows, and where their products are."""

    rows: IndexArray  # (n_orders, n_train)
    test: IndexArray  # (n_orders, n_test)
    pairs: IndexArray  # (n_orders, n_pairs)


@dataclass(frozen=True)
class _Parts:
    """Products of the training rows of each order."""

    placed: _Placed
    products: FloatArray  # (n_members, n_members)
    inner: FloatArray  # (n_orders, n_pairs)
