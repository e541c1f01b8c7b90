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

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from ..._checks import BoolArray, FloatArray, IndexArray
from ..._compositions.log_ratio import LogRatioGeometry
from ..._solvers.problem import DesignDecomposition, best_penalties

# Below these shares of a sum of squares a difference of products is rounding.
_SMALLEST_SCORE = 1e-9
_SMALLEST_SPREAD = 1e-16
# Smaller probabilities have fewer digits, and those below e^-745 are 0.
_SMALLEST_LOGARITHM = -700.0
# Distances from equal weights that are tried, and halvings between them.
_LARGEST_DISTANCE, _HALVINGS = 16.0, 20
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

    def distances(self, n_members: int) -> FloatArray:  # (n_alphas,)
        """Return how far the weights of a prediction are from equal ones at most."""
        squares = np.square(self.weights).sum(axis=2).max(axis=1, initial=0.0)
        return np.asarray(np.sqrt(np.maximum(squares - 1.0 / n_members, 0.0)))

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
    reach: FloatArray  # (n_choices,): distance of weights up to which none is replaced
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
        reach = np.empty(len(steps))
        first = np.searchsorted(geometry.step_of_active, steps)
        last = np.searchsorted(geometry.step_of_active, steps, side="right")
        for number, (start, stop) in enumerate(zip(first, last, strict=True)):
            own = values[:, start:stop]
            centred = own - own.mean(axis=0)
            products[number] = centred @ centred.T
            reach[number] = _reach(own)
        return cls(tuple(folds), products, reach, steps, geometry.layout.n_steps)

    @property
    def permutations_at_once(self) -> int:
        """How many permutations to solve in one call."""
        return max(1, _LARGEST_BLOCK // max(fold.forms.shape[1] for fold in self.folds))

    def group_errors(
        self, orders: IndexArray
    ) -> tuple[FloatArray, BoolArray]:  # (n, n_members, n_steps), (n,)
        """Return squared errors of each order of y, and whether they are exact."""
        errors = np.full((*orders.shape, self.n_steps), np.nan)
        accurate = np.ones(len(orders), dtype=bool)
        for fold in self.folds:
            rows, test = orders[:, fold.train], orders[:, fold.test]
            pairs, distances = self._pairs(rows), fold.distances(orders.shape[1])
            found = np.zeros((*test.shape, self.n_steps))
            each = zip(self.products, self.steps, self.reach, strict=True)
            for gram, step, reach in each:
                inner = gram.ravel().take(pairs)
                best, fine = _choose(fold, inner, np.trace(gram))
                accurate &= fine & (distances[best] <= reach)
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


def _reach(values: FloatArray) -> float:
    """Return up to which distance of weights no probability can be 0.

    Negative where that of the mean may be 0 already; shape: (n_members, n_parts).
    """
    mean = values.mean(axis=0)
    length = np.sqrt(np.square(values - mean).sum(axis=0))

    def fits(distance: float) -> bool:
        whole = logsumexp(mean + distance * length)
        return bool((mean - distance * length).min() - whole > _SMALLEST_LOGARITHM)

    if not fits(0.0):
        return -1.0
    low, high = 0.0, _LARGEST_DISTANCE
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
