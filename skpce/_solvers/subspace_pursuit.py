r"""Subspace pursuit: a subset of the terms of every size, and the best size.

All groups of targets that are still searching take each step together, on arrays with
a row for each of them: alone they would solve many thousands of systems of a few
unknowns one by one. They share the Gram matrix of the terms.

References
----------
.. [1] W. Dai and O. Milenkovic, "Subspace pursuit for compressive sensing signal
   reconstruction", IEEE Transactions on Information Theory 55 (2009), algorithm 1.
.. [2] P. Diaz, A. Doostan and J. Hampton, "Sparse polynomial chaos expansions via
   compressed sensing and D-optimal design", Computer Methods in Applied Mechanics and
   Engineering 336 (2018), section 3.2.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dposv, dpotrf, dtrtri

from .._checks import BoolArray, FloatArray, IndexArray
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

# Stands for an error that is not defined, where a subset is better than none.
_LARGEST_ERROR = np.finfo(np.float64).max

# Numbers held at once for the groups that search together: 32 MiB.
_LARGEST_BATCH = 4_194_304


class SubspacePursuitSolver(SparseSolver):
    """Subspace pursuit for every size of the subset.

    For a given size: add as many terms again as correlate best with the residual, fit
    them all, retain the largest, until the residual no longer decreases [1]_. Each size
    starts from the best subset of the size before and, once more, from the terms that
    correlate best with the targets [2]_. Terms that a group shares are ranked by the
    length of their row of coefficients, which no rotation of the targets changes.
    """

    def search(self, problem: LinearProblem) -> ChosenTerms:
        return _search_groups(Pursuit(problem), problem.groups)


def _search_groups(candidates: Pursuit, groups: IndexArray) -> ChosenTerms:
    """Search for all groups of as many targets together, as many as memory allows."""
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order])) + 1
    members = np.split(order, starts)
    widths = np.array([len(targets) for targets in members])
    subsets = [np.zeros(0, dtype=np.int64)] * len(members)
    for width in np.unique(widths):
        alike = np.flatnonzero(widths == width)
        step = max(1, _LARGEST_BATCH // max(candidates.n_numbers(int(width)), 1))
        for start in range(0, len(alike), step):
            some = alike[start : start + step]
            found = _search(candidates, np.array([members[k] for k in some]))
            for k, subset in zip(some, found, strict=True):
                subsets[k] = subset
    return candidates.chosen(subsets, members)


def _search(
    candidates: Pursuit,
    targets: IndexArray,  # shape: (n_groups, n_targets)
) -> list[IndexArray]:
    """Return the best subset of every group."""
    best = [np.zeros(0, dtype=np.int64)] * len(targets)
    best_size = np.zeros(len(targets), dtype=np.int64)
    subsets = np.zeros((len(targets), 0), dtype=np.int64)
    best_score = candidates.loo_errors(subsets, targets)
    coefficients = candidates.solve(subsets, targets)[0]
    searching = np.arange(len(targets))
    ranked = _largest(_row_length(candidates.correlations[targets]), None)
    for size in candidates.sizes():
        mine = targets[searching]
        starts = [ranked[searching, :size]]
        if subsets.shape[1]:
            starts.append(_enlarge(candidates, mine, subsets, coefficients, size))
        subsets, coefficients, error, found = _best_of_starts(candidates, mine, starts)
        score = error * candidates.correction(size)
        better = found & (score < best_score[searching])
        for row in np.flatnonzero(better):
            best[searching[row]] = subsets[row]
        best_score[searching[better]] = score[better]
        best_size[searching[better]] = size
        furthest = _PATIENCE_RATIO * best_size[searching] + _PATIENCE_STEPS
        going = found & (better | (size <= furthest))
        if not going.any():
            break
        searching = searching[going]
        subsets, coefficients = subsets[going], coefficients[going]
    return best


def _best_of_starts(
    candidates: Pursuit, targets: IndexArray, starts: list[IndexArray]
) -> tuple[IndexArray, FloatArray, FloatArray, BoolArray]:
    """Pursue from every start.

    Returns the best subset of each group, its coefficients and error, and whether any
    subset was found that is not dependent. The first start wins a tie.
    """
    n_groups, n_starts = len(targets), len(starts)
    repeated = np.concatenate([targets] * n_starts)
    subsets, coefficients, found = _pursue(candidates, repeated, np.concatenate(starts))
    errors = candidates.loo_errors(subsets, repeated)
    # A subset without an error is still before none.
    key = np.where(found, np.minimum(errors, _LARGEST_ERROR), np.inf)
    place = np.argmin(key.reshape(n_starts, n_groups), axis=0)
    rows = place * n_groups + np.arange(n_groups)
    return subsets[rows], coefficients[rows], errors[rows], found[rows]


def _pursue(
    candidates: Pursuit,
    targets: IndexArray,  # shape: (n_groups, n_targets)
    subsets: IndexArray,  # shape: (n_groups, size)
) -> tuple[IndexArray, FloatArray, BoolArray]:
    """Improve every subset until it explains no more.

    Returns the subsets, their coefficients, and whether no system on the way was
    dependent.
    """
    coefficients, gained, found = candidates.solve(subsets, targets)
    rows = found.nonzero()[0]
    for _ in range(_MOST_SWEEPS):
        if not len(rows):
            break
        new, changed, regular = _largest_of_wide(
            candidates, targets[rows], subsets[rows], coefficients[rows]
        )
        found[rows] = regular
        rows, new = rows[regular & changed], new[regular & changed]
        if not len(rows):
            break
        there, gain, regular = candidates.solve(new, targets[rows])
        found[rows] = regular
        better = regular & (gain > gained[rows] * (1.0 + _SMALLEST_GAIN))
        rows = rows[better]
        subsets[rows], coefficients[rows] = new[better], there[better]
        gained[rows] = gain[better]
    return subsets, coefficients, found


def _largest_of_wide(
    candidates: Pursuit,
    targets: IndexArray,
    subsets: IndexArray,
    coefficients: FloatArray,
) -> tuple[IndexArray, BoolArray, BoolArray]:
    """Add as many terms again, fit them all, and retain the largest.

    Returns these terms, which subsets changed, and which systems were not dependent.
    """
    size = subsets.shape[1]
    wide = _enlarge(candidates, targets, subsets, coefficients, 2 * size)
    widened, _, regular = candidates.solve(wide, targets)
    retained = _largest(_row_length(widened), size)
    # The first columns of the wide subset are those of the old one.
    changed = (retained >= size).any(axis=1)
    new = wide[np.arange(len(wide))[:, np.newaxis], retained]
    return new, changed, regular


def _enlarge(
    candidates: Pursuit,
    targets: IndexArray,
    subsets: IndexArray,
    coefficients: FloatArray,
    size: int,
) -> IndexArray:
    """Add the terms that correlate best with the residual."""
    strength = _row_length(candidates.remaining(subsets, coefficients, targets))
    strength[np.arange(len(subsets))[:, np.newaxis], subsets] = -1.0
    size = min(size, strength.shape[1])
    added = _largest(strength, size - subsets.shape[1])
    return np.concatenate([subsets, added], axis=1)


def _row_length(
    rows: FloatArray,  # shape: (n_groups, n_targets, n_columns)
) -> FloatArray:  # shape: (n_groups, n_columns)
    if rows.shape[1] == 1:
        return np.abs(rows[:, 0])
    return np.asarray(np.linalg.norm(rows, axis=1))


def _largest(values: FloatArray, count: int | None) -> IndexArray:
    """Return the positions of the largest values of each row, ties by position."""
    return (-values).argsort(axis=1, kind="stable")[:, :count]


# Up to this many terms the whole Gram matrix is stored (200 MiB).
_LARGEST_GRAM = 5000

# Added to the unit diagonal of Gram matrices.
_JITTER = 1e-14


class Pursuit(Dictionary):
    """Systems of equations in many subsets of the terms at once.

    Subsets are of shape (n_groups, size), and targets of shape (n_groups, n_targets).
    They are judged by the closed-form leave-one-out error.
    """

    def __init__(self, problem: LinearProblem) -> None:
        super().__init__(problem)
        cross = self.columns.T @ self.targets
        self.correlations = np.ascontiguousarray(cross.T)  # (n_targets, n_columns)
        self._gram = None
        if len(self.terms) <= _LARGEST_GRAM:
            self._gram = self.columns.T @ self.columns
            self._gram.flat[:: len(self._gram) + 1] += _JITTER
        self._rows = np.ascontiguousarray(self.columns.T)
        self._target_rows = np.ascontiguousarray(self.targets.T)
        self._total = float(self.weights.sum())
        self._left_out = np.minimum(self.weights, 1.0)

    @property
    def largest_size(self) -> int:
        """At most half as many terms as samples."""
        return int(min(self.n_copies // 2, len(self.terms)))

    def sizes(self) -> list[int]:
        """Return the sizes to try."""
        sizes = list(range(1, min(self.largest_size, _SINGLE_STEPS) + 1))
        while sizes and sizes[-1] < self.largest_size:
            sizes.append(min(self.largest_size, int(np.ceil(sizes[-1] * _STEP_RATIO))))
        return sizes

    def n_numbers(self, n_targets: int) -> int:
        """Return how many numbers a group takes in the largest arrays of the search."""
        size, n_columns, n_samples = self.largest_size, *self._rows.shape
        return (n_targets + size) * (n_columns + n_samples) + 4 * size**2

    def right_sides(
        self, subsets: IndexArray, targets: IndexArray
    ) -> FloatArray:  # shape: (n_groups, n_targets, size)
        """Return the inner products of the columns of each subset with the targets."""
        return self.correlations[targets[:, :, np.newaxis], subsets[:, np.newaxis]]

    def grams(self, subsets: IndexArray) -> FloatArray:
        """Return the Gram matrix of each subset."""
        if self._gram is None:
            rows = self._rows[subsets]
            grams = rows @ rows.transpose(0, 2, 1)
            diagonal = np.arange(subsets.shape[1])
            grams[:, diagonal, diagonal] += _JITTER
            return np.asarray(grams)
        n_columns = len(self._gram)
        places = subsets[:, :, np.newaxis] * n_columns + subsets[:, np.newaxis]
        return self._gram.ravel().take(places)

    def solve(
        self, subsets: IndexArray, targets: IndexArray
    ) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Return least-squares coefficients of the unit columns.

        They are of shape (n_groups, n_targets, size). Beside them the sum of squares
        that they explain in each group, and which subsets have independent columns.
        """
        right = self.right_sides(subsets, targets)
        coefficients, regular = solve_each(self.grams(subsets), right)
        gains = np.einsum("gtk,gtk->g", right, coefficients)
        return coefficients, gains, regular

    def remaining(
        self, subsets: IndexArray, coefficients: FloatArray, targets: IndexArray
    ) -> FloatArray:  # shape: (n_groups, n_targets, n_columns)
        """Return the inner products of the columns with the residual."""
        if self._gram is None:
            residual = self._target_rows[targets] - coefficients @ self._rows[subsets]
            return residual @ self._rows.T
        return self.correlations[targets] - coefficients @ self._gram[subsets]

    def loo_errors(self, subsets: IndexArray, targets: IndexArray) -> FloatArray:
        """Return the error of each subset, pooled; inf where it is not defined."""
        roots, regular = inverse_roots(self.grams(subsets))
        left = roots @ self._rows[subsets]
        right = self.right_sides(subsets, targets) @ roots.transpose(0, 2, 1)
        residual = self._target_rows[targets] - right @ left
        leverage = np.einsum("gkn,gkn->gn", left, left) / self.weights
        complement = 1.0 - self._left_out * (leverage + 1.0 / self._total)
        regular &= complement.min(axis=1) >= SMALLEST_COMPLEMENT
        complement[~regular] = 1.0
        residual /= complement[:, np.newaxis]
        press = np.einsum("gtn,gtn->g", residual, residual)
        return np.where(regular, press / self._total, np.inf)


def solve_each(
    matrices: FloatArray,  # shape: (n, size, size), symmetric
    right: FloatArray,  # shape: (n, n_right, size)
) -> tuple[FloatArray, BoolArray]:  # shapes: (n, n_right, size), (n,)
    """Solve positive definite systems, and return which of them are so."""
    found, regular = np.zeros_like(right), np.full(len(matrices), True)
    for k in range(len(matrices) if right.size else 0):
        _, solved, failed = dposv(matrices[k], right[k].T, lower=1)
        regular[k] = not failed
        if not failed:
            found[k] = solved.T
    return found, regular


def inverse_roots(
    matrices: FloatArray,  # shape: (n, size, size), symmetric
) -> tuple[FloatArray, BoolArray]:  # shapes: (n, size, size), (n,)
    """Return inverse Cholesky factors; zeros, and False, where there is none."""
    inverse, regular = np.zeros_like(matrices), np.full(len(matrices), True)
    for k in range(len(matrices) if matrices.size else 0):
        factor, failed = dpotrf(matrices[k], lower=1, clean=1)
        regular[k] = not failed
        if not failed:
            inverse[k] = dtrtri(factor, lower=1)[0]
    return inverse, regular
