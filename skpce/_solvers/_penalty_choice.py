"""Which of some penalties is best."""

from __future__ import annotations

import numpy as np

from .._checks import FloatArray, IndexArray

# Scores that differ by less, relatively, are a tie: the heavier penalty wins.
_TIE_TOLERANCE = 1e-6


def best_penalties(
    scores: FloatArray,  # shape: (n_alphas, n_targets)
    groups: IndexArray,  # shape: (n_targets,)
) -> IndexArray:  # shape: (n_targets,)
    """Return the row with the smallest score, pooled over the targets of a group."""
    labels, group_of = np.unique(groups, return_inverse=True)
    if len(labels) == len(groups):
        pooled = scores[:, np.argsort(group_of)]
    else:
        pooled = np.zeros((len(scores), len(labels)))
        np.add.at(pooled.T, group_of, scores.T)
    best = _largest_of_the_best(np.where(np.isnan(pooled), np.inf, pooled))
    return best[group_of]


def _largest_of_the_best(
    scores: FloatArray,  # shape: (n_alphas, n_groups), alphas ascending
) -> IndexArray:  # shape: (n_groups,)
    """Return the last row whose score equals the smallest one up to rounding."""
    tied = scores <= scores.min(axis=0) * (1.0 + _TIE_TOLERANCE)
    return len(scores) - 1 - np.argmax(tied[::-1], axis=0)
