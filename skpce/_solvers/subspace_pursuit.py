r"""Subspace pursuit: a subset of the terms of every size, and the best size.

References
----------
.. [1] W. Dai and O. Milenkovic, "Subspace pursuit for compressive sensing signal
   reconstruction", IEEE Transactions on Information Theory 55 (2009), algorithm 1.
.. [2] P. Diaz, A. Doostan and J. Hampton, "Sparse polynomial chaos expansions via
   compressed sensing and D-optimal design", Computer Methods in Applied Mechanics and
   Engineering 336 (2018), section 3.2.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg.lapack import dposv, dpotrf, dtrtri

from .._checks import FloatArray, IndexArray
from .problem import LinearProblem
from .sparse import SMALLEST_COMPLEMENT, ChosenTerms, Dictionary, SparseSolver

# Sizes are tried one by one up to the first number, then in steps of this ratio.
_SINGLE_STEPS = 25
_STEP_RATIO = 1.12

# The search ends when it has gone this far beyond the best size without gain.
_PATIENCE_RATIO = 2.0
_PATIENCE_STEPS = 10

_MOST_SWEEPS = 20

# A subset must explain more than the one before by this share, or it is rounding.
_SMALLEST_GAIN = 1e-12

# Added to the unit diagonal of Gram matrices.
_JITTER = 1e-14


class SubspacePursuitSolver(SparseSolver):
    """Subspace pursuit for every size of the subset.

    For a given size: add as many terms again as correlate best with the residual, fit
    them all, retain the largest, until the residual no longer decreases [1]_. Each size
    starts from the best subset of the size before and, once more, from the terms that
    correlate best with the targets [2]_. Terms that a group shares are ranked by the
    length of their row of coefficients, which no rotation of the targets changes.
    """

    def search(self, problem: LinearProblem) -> ChosenTerms:
        dictionary = Dictionary(problem)
        columns = dictionary.columns
        rows = np.ascontiguousarray(columns.T)
        if len(columns) > len(rows):  # a root of the Gram matrix is shorter
            values, vectors = np.linalg.eigh(rows @ columns)
            rows = vectors * np.sqrt(np.maximum(values, 0.0))
        order = np.argsort(problem.groups, kind="stable")
        starts = np.flatnonzero(np.diff(problem.groups[order])) + 1
        groups = np.split(order, starts)
        subsets = [_Pursuit(dictionary, rows, targets).best() for targets in groups]
        return dictionary.chosen(subsets, groups)


class _DependentError(ValueError):
    """The columns of a subset depend on each other."""


class _Pursuit:
    """The search of one group of targets."""

    def __init__(
        self,
        dictionary: Dictionary,
        rows: FloatArray,  # shape: (n_columns, n), with their inner products
        targets: IndexArray,
    ) -> None:
        self.dictionary, self.rows = dictionary, rows
        self.targets = dictionary.targets[:, targets]
        self.correlations = dictionary.columns.T @ self.targets

    def best(self) -> IndexArray:
        """Return the subset with the smallest corrected leave-one-out error."""
        best = previous = np.zeros(0, dtype=np.int64)
        least, coefficients = self.error(best), self.correlations[best]
        ranked = _largest(self.correlations)
        for size in self.sizes():
            starts = [ranked[:size]]
            if len(previous):
                starts.append(self.enlarged(previous, coefficients, size))
            found = [end for start in starts if (end := self.pursued(start))]
            if not found:
                break
            errors = [self.error(subset) for subset, _ in found]
            first = int(np.argmin(errors))
            previous, coefficients = found[first]
            error = errors[first] * self.dictionary.correction(size)
            if error < least:
                best, least = previous, error
            elif size > _PATIENCE_RATIO * len(best) + _PATIENCE_STEPS:
                break
        return best

    def sizes(self) -> list[int]:
        """Return the sizes to try: at most half as many terms as samples."""
        largest = int(min(self.dictionary.n_copies // 2, len(self.rows)))
        sizes = list(range(1, min(largest, _SINGLE_STEPS) + 1))
        while sizes and sizes[-1] < largest:
            sizes.append(min(largest, int(np.ceil(sizes[-1] * _STEP_RATIO))))
        return sizes

    def pursued(self, subset: IndexArray) -> tuple[IndexArray, FloatArray] | None:
        """Return what a subset becomes, and coefficients; None if columns depend."""
        size = len(subset)
        try:
            coefficients, gained = self.solve(subset)
            for _ in range(_MOST_SWEEPS):
                wide = self.enlarged(subset, coefficients, 2 * size)
                retained = _largest(self.solve(wide)[0])[:size]
                if retained.max() < size:  # those that it had
                    break
                new, gain = self.solve(wide[retained])
                if not gain > gained * (1.0 + _SMALLEST_GAIN):
                    break
                subset, coefficients, gained = wide[retained], new, gain
        except _DependentError:
            return None
        return subset, coefficients

    def enlarged(
        self, subset: IndexArray, coefficients: FloatArray, size: int
    ) -> IndexArray:
        """Add the terms that correlate best with the residual."""
        fitted = self.rows @ (self.rows[subset].T @ coefficients)
        ranked = _largest(self.correlations - fitted, without=subset)
        size = min(size, len(ranked))
        return np.concatenate([subset, ranked[: size - len(subset)]])

    def solve(self, subset: IndexArray) -> tuple[FloatArray, float]:
        """Return coefficients, and the sum of squares that they explain."""
        right = self.correlations[subset]
        _, coefficients, failed = dposv(self._gram(subset), right, lower=1)
        if failed:
            raise _DependentError
        return coefficients, float(np.vdot(right, coefficients))

    def error(self, subset: IndexArray) -> float:
        """Return the mean squared leave-one-out error; inf where it is not defined."""
        weights, total = self.dictionary.weights, self.dictionary.weights.sum()
        residual, leverage = self.targets, np.full(len(weights), 1.0 / total)
        if len(subset):
            factor, failed = dpotrf(self._gram(subset), lower=1, clean=1)
            if failed:
                return math.inf
            columns = self.dictionary.columns[:, subset]
            left = dtrtri(factor, lower=1)[0] @ columns.T
            residual = residual - left.T @ (left @ residual)
            leverage += np.square(left).sum(axis=0) / weights
        complement = 1.0 - np.minimum(weights, 1.0) * leverage
        if complement.min() < SMALLEST_COMPLEMENT:
            return math.inf
        return float(np.square(residual / complement[:, np.newaxis]).sum() / total)

    def _gram(self, subset: IndexArray) -> FloatArray:
        rows = self.rows[subset]
        gram = rows @ rows.T
        gram.flat[:: len(subset) + 1] += _JITTER
        return gram


def _largest(rows: FloatArray, without: IndexArray | None = None) -> IndexArray:
    """Return the positions of rows, the longest first, ties by position."""
    squares = np.square(rows).sum(axis=1)
    if without is not None:
        squares[without] = -1.0
    return np.argsort(-squares, kind="stable")
