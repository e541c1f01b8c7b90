r"""What a ridge of few terms does with permuted members, by products of matrices.

With the orthonormal left singular vectors :math:`u_k` of the centred design of the
training rows, :math:`f_k = \sigma_k^2/(\sigma_k^2 + \lambda)` and the complements
:math:`d_i` of the leverages, the leave-one-out score of a penalty and the squared error
of a held-out member of slopes :math:`a_k` are linear in three parts of the Gram matrix
of the training members, centred: its diagonal, :math:`V = G U` and
:math:`C = U^T G U`,

.. math:: \sum_i d_i^{-2} \Bigl(G_{ii} - 2 \sum_k f_k u_{ik} V_{ik}
    + \sum_{kl} f_k f_l u_{ik} u_{il} C_{kl}\Bigr), \qquad
    G_{jj} - 2 \sum_k a_k V_{jk} + \sum_{kl} a_k a_l C_{kl} .

A permutation of the members permutes the rows of U. All permutations of a step are
then one product of matrices; of a step with few columns it goes through these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..._checks import BoolArray, FloatArray, IndexArray
from ..._solvers.problem import DesignDecomposition
from ..._solvers.ridge import SMALLEST_LENGTH
from .step_members import StepMembers

# Products of members with vectors that are held at once, of many steps.
_LARGEST_BLOCK = 4_000_000


@dataclass(frozen=True)
class LowRankFold:
    """What a ridge does with the training rows of a fold, for each penalty.

    Column 0 of what belongs to vectors is that of the mean.
    """

    train: IndexArray
    test: IndexArray
    vectors: FloatArray  # (n_train, 1 + rank), orthonormal
    linear: FloatArray  # (n_forms, n_train * (1 + rank)): what scores are sums of
    shares: FloatArray  # (n_alphas, n_forms): of the forms in the scores
    squared: FloatArray  # (n_alphas, rank * rank)
    defined: BoolArray  # (n_alphas,)
    slopes: FloatArray  # (n_alphas, n_test, rank), of the held-out rows

    @classmethod
    def of_design(
        cls,
        rows: tuple[IndexArray, IndexArray],  # of training and of testing
        decomposition: DesignDecomposition,  # with a free intercept, members count once
        held_out: FloatArray,  # (n_test, n_terms): design matrix of the test rows
        alphas: FloatArray,  # (n_alphas,)
        criterion: str,
    ) -> LowRankFold:
        """Write residuals and predictions of each penalty by singular vectors."""
        left, factor = decomposition.left, decomposition.factor
        n_train, rank = left.shape
        complement = decomposition.path_complement(alphas)
        if criterion == "gcv":
            complement = np.broadcast_to(complement.mean(axis=0), complement.shape)
        defined: BoolArray = np.asarray((complement > 0.0).all(axis=0))
        squares = np.square(factor.singular_values)
        centred = (held_out[:, factor.used] - factor.center[factor.used]) * factor.scale
        inside = centred @ factor.right.T
        linear = np.zeros((len(alphas), n_train, 1 + rank))
        squared = np.zeros((len(alphas), rank, rank))
        slopes = np.empty((len(alphas), len(held_out), rank))
        for row, alpha in enumerate(alphas.tolist()):
            # A singular value that is 0 has no vector.
            slopes[row] = inside * (factor.singular_values / (squares + alpha))
            if defined[row]:
                weights = np.square(complement[:, row]) * n_train
                kept = left * (squares / (squares + alpha))
                linear[row, :, 0] = 1.0 / weights
                forms = kept / weights[:, np.newaxis]
                linear[row, :, 1:] = -2.0 * (forms - forms.mean(axis=0))
                squared[row] = kept.T @ (kept / weights[:, np.newaxis])
        mean = np.full((n_train, 1), n_train**-0.5)
        forms, shares = _combined(linear.reshape(len(alphas), -1))
        flat = squared.reshape(len(alphas), rank * rank)
        vectors = np.hstack([mean, left])
        return cls(*rows, vectors, forms, shares, flat, defined, slopes)

    @staticmethod
    def serves(decomposition: DesignDecomposition) -> bool:
        """Whether products by singular vectors are less work, and lose no digits."""
        n_train, rank = decomposition.left.shape
        complement = decomposition.path_complement(np.zeros(1))
        return 4 * (rank + 1) <= n_train and bool((complement > 0.0).all())

    @property
    def entries(self) -> int:
        """Numbers that a permutation takes."""
        return 2 * (len(self.train) + len(self.test)) * self.vectors.shape[1]

    def distances(self, n_members: int) -> FloatArray:  # (n_alphas,)
        """Return how far the weights of a prediction are from equal ones at most."""
        squares = np.square(self.slopes).sum(axis=2).max(axis=1, initial=0.0)
        return np.asarray(
            np.sqrt(squares + max(1.0 / len(self.train) - 1.0 / n_members, 0.0))
        )

    def score_forms(self) -> FloatArray:  # (n_alphas, n_train, n_train)
        """Return the forms in products of the training rows that are the scores."""
        left = self.vectors[:, 1:]
        n_train, rank = left.shape
        n_alphas = len(self.shares)
        linear = (self.shares @ self.linear).reshape(n_alphas, n_train, 1 + rank)
        squared = self.squared.reshape(n_alphas, rank, rank)
        mean = np.full((n_train, n_train), 1.0 / n_train)
        found = np.empty((len(linear), n_train, n_train))
        for out, parts, inner in zip(found, linear, squared, strict=True):
            own = np.diag(parts[:, 0]) - mean * parts[:, 0]  # rows are centred
            own -= own.mean(axis=1, keepdims=True)
            cross = parts[:, 1:] @ left.T
            out[...] = own + 0.5 * (cross + cross.T) + left @ inner @ left.T
        return found

    def weights(self, alpha: int) -> FloatArray:  # (n_test, n_train)
        """Return the weights of the training rows in the predictions of a penalty."""
        return 1.0 / len(self.train) + self.slopes[alpha] @ self.vectors[:, 1:].T

    def placed(self, orders: IndexArray) -> _Placed:
        """Place the vectors where each order of the members has its rows."""
        n_orders, n_members = orders.shape
        n_vectors = self.vectors.shape[1]
        shape = n_members, n_vectors, n_orders
        steps = np.arange(n_vectors)[:, np.newaxis] * n_orders + np.arange(n_orders)

        def places(rows: IndexArray) -> IndexArray:
            return orders[:, rows].T[:, np.newaxis] * (n_vectors * n_orders) + steps

        train = places(self.train)
        vectors = np.zeros(shape)
        vectors.ravel()[train] = self.vectors[:, :, np.newaxis]
        test = places(self.test)
        scratch = np.empty(shape), np.empty(train.shape), np.empty(test.shape)
        return _Placed(orders, vectors, train, test, scratch)

    def parts(self, placed: _Placed, members: StepMembers) -> _Parts:
        """Return the parts of the Gram matrix of each order, until the next call."""
        n_members, n_vectors, n_orders = placed.vectors.shape
        images, train, test = placed.scratch
        shape = n_members, n_vectors * n_orders
        members.times(placed.vectors.reshape(shape), images.reshape(shape))
        # All places are inside: without a mode the result would be made twice.
        images.take(placed.train, out=train, mode="clip")
        images.take(placed.test, out=test, mode="clip")
        own = members.squares[placed.orders]
        return self._centred(train, test, own[:, self.train].T, own[:, self.test].T)

    def parts_of_steps(
        self, order: IndexArray, members: Sequence[StepMembers]
    ) -> Iterator[tuple[slice, _Parts]]:
        """Yield the parts of many steps for one order."""
        rows, held_out = order[self.train], order[self.test]
        n_vectors = self.vectors.shape[1]
        placed = np.zeros((len(order), n_vectors))  # 0 for members held out
        placed[rows] = self.vectors
        size = max(1, _LARGEST_BLOCK // (len(order) * n_vectors))
        for start in range(0, len(members), size):
            some = members[start : start + size]
            train = np.empty((len(rows), n_vectors, len(some)))
            test = np.empty((len(held_out), n_vectors, len(some)))
            for column, step in enumerate(some):
                images = step.values @ (step.values.T @ placed)
                train[:, :, column], test[:, :, column] = images[rows], images[held_out]
            own = np.column_stack([step.squares for step in some])
            parts = self._centred(train, test, own[rows], own[held_out])
            yield slice(start, start + len(some)), parts

    def _centred(
        self,
        train: FloatArray,  # (n_train, 1 + rank, n_cases), changed
        test: FloatArray,  # (n_test, 1 + rank, n_cases), changed
        own: FloatArray,  # (n_train, n_cases): sums of squares
        held_out: FloatArray,  # (n_test, n_cases)
    ) -> _Parts:
        """Centre products with vectors at the mean of the training members.

        Those of training members are left as they are: forms and vectors do not see
        what all members share.
        """
        n_train, n_vectors, n_cases = train.shape
        inner = self.vectors.T @ train.reshape(n_train, -1)
        inner = inner.reshape(n_vectors, n_vectors, n_cases)
        test[:, 1:] -= inner[0, 1:] * n_train**-0.5
        # Sums of squares about the mean, from products with the mean.
        whole = inner[0, 0] / n_train
        train[:, 0] *= -2.0 * n_train**-0.5
        train[:, 0] += own + whole
        test[:, 0] *= -2.0 * n_train**-0.5
        test[:, 0] += held_out + whole
        inside = np.ascontiguousarray(inner[1:, 1:])
        return _Parts(train.reshape(-1, n_cases), inside, test)

    def scores(self, parts: _Parts) -> FloatArray:  # (n_alphas + 1, n_cases)
        """Return the score of each penalty, and the sum of squares."""
        n_cases = parts.train.shape[1]
        inner = parts.inner.reshape(self.squared.shape[1], n_cases)
        scores = self.shares @ (self.linear @ parts.train) + self.squared @ inner
        own = parts.train.reshape(len(self.train), -1, n_cases)[:, 0]
        return np.vstack([scores, own.sum(axis=0)])

    def errors(
        self, parts: _Parts, best: IndexArray
    ) -> Iterator[tuple[IndexArray, FloatArray]]:  # cases, (n_some, n_test)
        """Yield the squared errors of held-out members, penalty by penalty."""
        for alpha in np.unique(best).tolist():
            some = np.flatnonzero(best == alpha)
            slopes = self.slopes[alpha]
            test, inner = parts.test[:, :, some], parts.inner[:, :, some]
            rank, n_some = len(inner), len(some)
            fitted = slopes @ inner.reshape(rank, rank * n_some)
            fitted = fitted.reshape(len(slopes), rank, n_some) - 2.0 * test[:, 1:]
            found = test[:, 0] + (slopes[:, :, np.newaxis] * fitted).sum(axis=1)
            yield some, found.T


def _combined(
    forms: FloatArray,  # (n_alphas, n_entries)
) -> tuple[FloatArray, FloatArray]:  # (n_forms, n_entries), (n_alphas, n_forms)
    """Write smooth functions of the penalty as sums of as few as there are digits."""
    length = np.sqrt(np.square(forms).sum(axis=1, keepdims=True))
    unit = forms / np.where(length > 0.0, length, 1.0)
    shares, values, rows = np.linalg.svd(unit, full_matrices=False)
    large = values > SMALLEST_LENGTH * values[0]
    return rows[large], length * (shares * values)[:, large]


@dataclass(frozen=True)
class _Placed:
    """The singular vectors of each order, by members."""

    orders: IndexArray  # (n_orders, n_members)
    vectors: FloatArray  # (n_members, 1 + rank, n_orders), 0 for those held out
    train: IndexArray  # (n_train, 1 + rank, n_orders), where training rows are
    test: IndexArray  # (n_test, 1 + rank, n_orders)
    # Written anew for each step: memory of its own costs as much as the arithmetic.
    scratch: tuple[FloatArray, FloatArray, FloatArray]  # of all, training and test rows


@dataclass(frozen=True)
class _Parts:
    """The diagonal, in column 0, and products with vectors of centred Gram matrices.

    Cases are orders of the members of a step, or steps.
    """

    train: FloatArray  # (n_train * (1 + rank), n_cases)
    inner: FloatArray  # (rank, rank, n_cases)
    test: FloatArray  # (n_test, 1 + rank, n_cases)
