"""Subspace pursuit whose sparsity is chosen by corrected leave-one-out."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError

from .._checks import FloatArray, IndexArray
from ._dictionary import Dictionary
from ._sparse import SparseSolver

# Sizes are tried one by one up to the first number, then in steps of this ratio.
_SINGLE_STEPS = 25
_STEP_RATIO = 1.12

# The search ends when it has gone this far beyond the best size without gain.
_PATIENCE_RATIO = 2.0
_PATIENCE_STEPS = 10

_MOST_SWEEPS = 20


class SubspacePursuitSolver(SparseSolver):
    """Subspace pursuit for every size of the subset.

    For a given size: add as many terms again as correlate best with the residual, fit
    them all, keep the largest, until the residual grows no smaller [1]_. Each size
    starts from the best subset of the size before and, once more, from the terms that
    correlate best with the targets [2]_. Targets of a group share their terms: they
    are ranked by the length of their row of coefficients, which a rotation of the
    targets leaves as it is.

    References
    ----------
    .. [1] W. Dai and O. Milenkovic, "Subspace pursuit for compressive sensing signal
       reconstruction", IEEE Transactions on Information Theory 55 (2009), algorithm 1.
    .. [2] P. Diaz, A. Doostan and J. Hampton, "Sparse polynomial chaos expansions via
       compressed sensing and D-optimal design", Computer Methods in Applied Mechanics
       and Engineering 336 (2018), section 3.2.
    """

    def search(self, dictionary: Dictionary, targets: IndexArray) -> IndexArray:
        best = np.zeros(0, dtype=np.int64)
        best_score = dictionary.mean_error(targets)
        previous = best
        for size in _sizes(dictionary):
            found = _best_of_size(dictionary, targets, size, previous)
            if found is None:
                break
            previous, error = found
            score = error * dictionary.correction(size)
            if score < best_score:
                best, best_score = previous, score
            elif size > _PATIENCE_RATIO * len(best) + _PATIENCE_STEPS:
                break
        return best


def _sizes(dictionary: Dictionary) -> list[int]:
    """Return the sizes to try: at most half as many terms as samples."""
    largest = int(min(dictionary.n_copies // 2, len(dictionary.terms)))
    sizes = list(range(1, min(largest, _SINGLE_STEPS) + 1))
    while sizes and sizes[-1] < largest:
        sizes.append(min(largest, int(np.ceil(sizes[-1] * _STEP_RATIO))))
    return sizes


def _best_of_size(
    dictionary: Dictionary, targets: IndexArray, size: int, previous: IndexArray
) -> tuple[IndexArray, float] | None:
    """Pursue from both starts; None when every subset is dependent."""
    found = []
    starts = [_largest(_row_length(dictionary.correlations[:, targets]), size)]
    if len(previous):
        starts.append(_enlarge(dictionary, targets, previous, size))
    for start in starts:
        try:
            subset = _pursue(dictionary, targets, start)
        except LinAlgError:
            continue
        found.append((subset, dictionary.loo_error(subset, targets)))
    return min(found, key=lambda pair: pair[1], default=None)


def _pursue(
    dictionary: Dictionary, targets: IndexArray, subset: IndexArray
) -> IndexArray:
    size = len(subset)
    coefficients = dictionary.solve(subset, targets)
    gained = _gain(dictionary, subset, coefficients, targets)
    for _ in range(_MOST_SWEEPS):
        wide = _enlarge(dictionary, targets, subset, 2 * size, coefficients)
        widened = dictionary.solve(wide, targets)
        candidate = wide[_largest(_row_length(widened), size)]
        coefficients_there = dictionary.solve(candidate, targets)
        gain = _gain(dictionary, candidate, coefficients_there, targets)
        if gain <= gained * (1.0 + 1e-12):
            break
        subset, coefficients, gained = candidate, coefficients_there, gain
    return subset


def _enlarge(
    dictionary: Dictionary,
    targets: IndexArray,
    subset: IndexArray,
    size: int,
    coefficients: FloatArray | None = None,
) -> IndexArray:
    """Add the terms that correlate best with the residual."""
    if coefficients is None:
        coefficients = dictionary.solve(subset, targets)
    strength = _row_length(dictionary.remaining(subset, coefficients, targets))
    strength[subset] = -1.0
    size = min(size, len(strength))
    return np.concatenate([subset, _largest(strength, size - len(subset))])


def _gain(
    dictionary: Dictionary,
    subset: IndexArray,
    coefficients: FloatArray,
    targets: IndexArray,
) -> float:
    """Return the sum of squares that a subset explains."""
    return float(
        np.sum(dictionary.correlations[np.ix_(subset, targets)] * coefficients)
    )


def _row_length(rows: FloatArray) -> FloatArray:
    return np.abs(rows[:, 0]) if rows.shape[1] == 1 else np.linalg.norm(rows, axis=1)


def _largest(values: FloatArray, count: int) -> IndexArray:
    """Return the positions of the largest values, ties by position."""
    return np.argsort(-values, kind="stable")[:count]
