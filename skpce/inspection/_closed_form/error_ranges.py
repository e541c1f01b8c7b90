r"""Between which bounds the errors of permutations lie, in half the digits.

The leave-one-out scores of the penalties and the errors of the test rows are linear
forms in the products of the members, and smooth functions of the penalty: with few
forms :math:`\Phi_k` for all penalties,

.. math:: \Bigl\lvert \langle \Phi_\lambda, G \rangle
    - \sum_k c_{\lambda k} \langle \Phi_k, G \rangle \Bigr\rvert
    \le \Bigl\lVert \Phi_\lambda - \sum_k c_{\lambda k} \Phi_k \Bigr\rVert_F
    \lVert G \rVert_F .

The forms of all permutations and the products of all steps make one product of matrices
in single precision. Penalties whose scores are so near the least that either may be
chosen count all; a p-value then needs more digits only where the bounds enclose the
error of the data.

Rounding adds to the bounds what a sum of so many products can lose, beyond some hundred
products with all but certainty (Higham & Mary, SIAM J. Sci. Comput. 41(5), A2815,
2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ..._checks import FloatArray, IndexArray
from ..._solvers.problem import TIE_TOLERANCE
from .gram_fold import GramFold
from .step_members import StepMembers

SingleArray = NDArray[np.float32]

# What forms left out may add to the bounds, as a share of the largest of a family.
_SHARE_LOST = 1e-5
# Standard deviations of the rounding of a sum, and how many products of alike terms
# are added one by one: matrices are multiplied in blocks.
_DEVIATIONS, _LARGEST_RUN = 4.0, 512
# Products of members, and forms of orders, that are held at once.
_LARGEST_BLOCK, _LARGEST_TABLE = 8_000_000, 25_000_000
# With more members there are too many pairs, and with more entries of the forms of all
# penalties and folds these take longer than they save.
_MOST_MEMBERS, _MOST_ENTRIES = 500, 40_000_000


@dataclass(frozen=True)
class FewForms:
    """Forms of all penalties, as sums of few, over pairs of members."""

    forms: SingleArray  # (n_forms, n_members * n_members)
    shares: SingleArray  # (n_alphas, n_forms)
    missed: SingleArray  # (n_alphas,): what the sums miss, times the length of products

    @classmethod
    def of_penalties(
        cls,
        every: FloatArray,  # (n_alphas, n_rows, n_rows)
        members: IndexArray,  # (n_rows,)
        n_members: int,
    ) -> FewForms:
        """Leave out the directions in which the forms hardly differ."""
        flat = every.reshape(len(every), -1)
        squares, shares = np.linalg.eigh(flat @ flat.T)
        lost = np.sqrt(np.cumsum(np.maximum(squares, 0.0)))
        shares = shares[:, np.count_nonzero(lost <= _SHARE_LOST * lost[-1]) :]
        forms = shares.T @ flat
        # Small forms among large ones have few digits in the squares: look at all.
        missed = np.array(
            [
                np.linalg.norm(form - own @ forms)
                for form, own in zip(flat, shares, strict=True)
            ]
        )
        sizes = np.abs(shares) @ np.linalg.norm(forms, axis=1)
        missed += rounding(n_members, len(forms)) * sizes
        n_forms = len(forms)
        placed = np.zeros((n_forms, n_members, n_members), dtype=np.float32)
        forms = forms.reshape(n_forms, *every.shape[1:])
        placed[:, members[:, np.newaxis], members] = forms
        flat_forms = placed.reshape(n_forms, n_members * n_members)
        return cls(flat_forms, _single(shares), _single(missed))


@dataclass(frozen=True)
class FoldForms:
    """Scores and errors of one fold, beyond those of the heaviest penalty."""

    scores: FewForms
    errors: FewForms
    tie: float  # scores that differ by less may be a tie, for products of trace 1

    @classmethod
    def of_fold(cls, fold: GramFold, errors: FloatArray) -> FoldForms:
        """Write scores and errors of each penalty as forms in all members."""
        scores, n_members = fold.score_forms(), errors.shape[1]
        heaviest = float(np.linalg.norm(scores[-1], 2))
        return cls(
            FewForms.of_penalties(scores - scores[-1], fold.train, n_members),
            FewForms.of_penalties(errors - errors[-1], np.arange(n_members), n_members),
            2.0 * TIE_TOLERANCE * heaviest,
        )


@dataclass(frozen=True)
class ErrorRanges:
    """The folds, and the errors of the heaviest penalty in all of them."""

    folds: tuple[FoldForms, ...]
    heaviest: FewForms  # of different members
    own: FloatArray  # (n_members,): shares of the members' squares in them, by place

    @classmethod
    def of_folds(cls, folds: Sequence[GramFold], n_members: int) -> ErrorRanges | None:
        """Find few forms for each fold.

        None where there would be too many pairs or forms, where a penalty has no
        score, and where a member is in several folds.
        """
        tests = np.concatenate([fold.test for fold in folds])
        n_penalties = sum(len(fold.defined) for fold in folds)
        if n_members > _MOST_MEMBERS or n_penalties * n_members**2 > _MOST_ENTRIES:
            return None
        if len(np.unique(tests)) < len(tests):
            return None
        if not all(fold.defined.all() for fold in folds):
            return None
        heaviest = np.zeros((n_members, n_members))
        found = []
        for fold in folds:
            errors = error_forms(fold, n_members)
            heaviest += errors[-1]
            found.append(FoldForms.of_fold(fold, errors))
        own = heaviest.diagonal().copy()
        np.fill_diagonal(heaviest, 0.0)
        of_pairs = FewForms.of_penalties(
            heaviest[np.newaxis], np.arange(n_members), n_members
        )
        return cls(tuple(found), of_pairs, own)

    @property
    def families(self) -> list[FewForms]:
        """The forms that are placed at once, one family after another."""
        of_folds = [(fold.scores, fold.errors) for fold in self.folds]
        return [self.heaviest, *chain.from_iterable(of_folds)]

    def of_orders(
        self,
        orders: IndexArray,  # (n_orders, n_members)
        members: Sequence[StepMembers],
    ) -> tuple[FloatArray, FloatArray]:  # both (n_orders, len(members))
        """Return bounds of the squared errors of each order, added up."""
        n_orders, n_members = orders.shape
        low, high = np.empty((2, n_orders, len(members)))
        first, second = np.triu_indices(n_members)
        n_forms = max(1, max(len(family.forms) for family in self.families))
        n_penalties = max(len(family.shares) for family in self.families)
        n_steps = _LARGEST_TABLE // len(first)
        n_steps = max(1, min(n_steps, _LARGEST_BLOCK // n_penalties, len(members)))
        n_at_once = _LARGEST_BLOCK // max(len(first) * n_forms, n_penalties * n_steps)
        n_at_once = max(1, n_at_once)
        places = np.argsort(orders, axis=1)  # where the y of each member is
        for begin in range(0, len(members), n_steps):
            some = members[begin : begin + n_steps]
            steps = slice(begin, begin + len(some))
            products, lengths, totals = _products(some, first, second)
            squares = np.array([step.squares for step in some]).T
            for start in range(0, n_orders, n_at_once):
                own = places[start : start + n_at_once]
                pairs = own[:, first] * n_members + own[:, second]
                rows = slice(start, start + len(own))
                least, most = self._of_pairs(pairs, products, lengths)
                alone = self.own[own] @ squares
                low[rows, steps] = alone + least * totals
                high[rows, steps] = alone + most * totals
        return low, high

    def _of_pairs(
        self,
        pairs: IndexArray,  # (n_orders, n_pairs)
        products: SingleArray,  # (n_steps, n_pairs)
        lengths: SingleArray,  # (n_steps,)
    ) -> tuple[FloatArray, FloatArray]:  # both (n_orders, n_steps)
        """Return bounds for products of trace 1, without the squares of ``own``."""
        (heaviest,) = _values(self.heaviest, pairs, products)
        low = heaviest.astype(np.float64) - self.heaviest.missed * lengths
        high = heaviest.astype(np.float64) + self.heaviest.missed * lengths
        for fold in self.folds:
            scores = _values(fold.scores, pairs, products)
            missed = np.multiply.outer(fold.scores.missed, lengths)[:, np.newaxis]
            limit = (scores + missed).min(axis=0) + np.float32(fold.tie)
            scores -= missed
            out = scores > limit  # what is surely not chosen
            errors = _values(fold.errors, pairs, products)
            missed = np.multiply.outer(fold.errors.missed, lengths)[:, np.newaxis]
            high += np.where(out, -np.inf, errors + missed).max(axis=0)
            low += np.where(out, np.inf, errors - missed).min(axis=0)
        return low, high


def error_forms(fold: GramFold, n_members: int) -> FloatArray:
    """Return the errors of the test rows; (n_alphas, n_members, n_members)."""
    n_alphas = len(fold.defined)
    found = np.empty((n_alphas, n_members, n_members))
    misses = np.zeros((len(fold.test), n_members))
    for alpha in range(n_alphas):
        misses[:, fold.train] = -fold.weights(alpha)
        misses[np.arange(len(fold.test)), fold.test] = 1.0
        np.matmul(misses.T, misses, out=found[alpha])
    return found


def rounding(n_members: int, n_forms: int) -> float:
    """Return what a sum over all pairs of members loses in single precision.

    Few terms may all be rounded in one direction; many are not, block by block.
    """
    n_pairs = n_members * (n_members + 1) / 2
    n_roundings = max(min(n_pairs, _LARGEST_RUN), _DEVIATIONS * np.sqrt(n_pairs))
    n_roundings += n_forms + 4  # of the second product, and of what is multiplied
    return float(n_roundings * np.finfo(np.float32).eps / 2)


def _products(
    members: Sequence[StepMembers], first: IndexArray, second: IndexArray
) -> tuple[SingleArray, SingleArray, FloatArray]:
    """Return the products of each step, their lengths, and the sums of squares.

    Products are scaled to a trace of 1; those off the diagonal count twice.
    """
    found = np.empty((len(members), len(first)), dtype=np.float32)
    lengths, totals = np.empty((2, len(members)))
    pairs = first * len(members[0].values) + second
    twice = np.where(first == second, 1.0, 2.0).astype(np.float32)
    for row, step in enumerate(members):
        total = step.total
        # Alike parts round alike: these sums are in double precision.
        values = step.values / np.sqrt(total if total > 0.0 else 1.0)
        products = values @ values.T
        totals[row] = total
        lengths[row] = np.linalg.norm(products)
        _single(products).take(pairs, out=found[row], mode="clip")
        found[row] *= twice
    return found, _single(lengths), totals


def _values(
    family: FewForms, pairs: IndexArray, products: SingleArray
) -> SingleArray:  # (n_alphas, n_orders, n_steps)
    """Return the forms of all penalties, orders and steps."""
    n_orders, n_pairs = pairs.shape
    n_forms = len(family.forms)
    placed = np.empty((n_forms * n_orders, n_pairs), dtype=np.float32)
    for row, form in enumerate(family.forms):
        own = slice(row * n_orders, (row + 1) * n_orders)
        form.take(pairs, out=placed[own], mode="clip")
    found = (placed @ products.T).reshape(n_forms, n_orders * len(products))
    found = family.shares @ found
    return found.reshape(len(found), n_orders, len(products))


def _single(values: FloatArray) -> SingleArray:
    return values.astype(np.float32)
