"""Ridge whose penalty grows with the degree of a term."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ._base import LinearFit, LinearProblem
from ._decomposition import DesignDecomposition
from ._design_moments import DesignMoments, solve_moments
from ._fixed import GeneralizedRidgeSolver
from ._penalty_choice import best_penalties
from ._ridge_path import path_scores, solve_path

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]

# Decay rates that are tried, until one is worse than the one before; then the two
# between the best and its neighbours. 1 is the plain ridge.
_COARSE_DECAYS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)

# Penalties are thinned by this step while the decay is chosen, when there are many.
_THINNING = 2
_MANY = 8


class DegreeWeightedRidgeSolver(GeneralizedRidgeSolver):
    r"""Ridge with the penalty :math:`\lambda\gamma^{2|j|}` on the term of degree |j|.

    The posterior mean under a normal prior of variance proportional to
    :math:`\gamma^{-2|j|}`: coefficients of smooth functions decay with the degree.
    :math:`\gamma \ge 1` is chosen for all targets together, by the leave-one-out
    error pooled over targets of unit variance, with :math:`\gamma = 1` (the plain
    ridge) among the choices; the penalty is chosen for each group. One factorisation
    for each :math:`\gamma`.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Penalties, ascending.
    criterion : {"loo", "gcv"}, default="loo"
        Closed-form leave-one-out, or generalised cross-validation.
    """

    def __init__(self, alphas: FloatArray, *, criterion: str = "loo") -> None:
        self.alphas = alphas
        self.criterion = criterion
        #: Penalties that are tried while the decay is chosen; the largest is kept.
        step = -_THINNING if len(alphas) >= _MANY else -1
        self._thinned = alphas[::step][::-1]

    def fit(self, problem: LinearProblem) -> LinearFit:
        mean = np.average(problem.targets, axis=0, weights=problem.weights)
        centred = problem.targets - mean
        spread = problem.weights @ np.square(centred) / problem.weights.sum()

        def decompose(decay: float) -> DesignDecomposition:
            return DesignDecomposition.from_design(
                problem.design,
                problem.weights,
                scale=_degree_scale(problem.degrees, decay),
            )

        def score(decay: float) -> float:
            decomposition = decompose(decay)
            loadings = decomposition.project(centred)
            scores = path_scores(
                decomposition, centred, loadings, self._thinned, self.criterion
            )
            best = best_penalties(scores, problem.groups)
            chosen = np.take_along_axis(scores, best[np.newaxis], axis=0)[0]
            defined = np.where(np.isnan(chosen), np.inf, chosen)
            return _pooled(defined, spread, problem.groups)

        decay = _search(score, problem.degrees)
        return solve_path(
            decompose(decay),
            problem.targets,
            self.alphas,
            problem.groups,
            self.criterion,
        )

    def fit_moments(
        self, moments: DesignMoments, groups: IndexArray, degrees: IndexArray
    ) -> LinearFit:
        """Fit from sums over the samples; generalised cross-validation chooses."""
        spread = moments.target_square / moments.total_weight

        def solve(decay: float, alphas: FloatArray) -> LinearFit:
            scale = _degree_scale(degrees, decay)
            return solve_moments(moments, alphas, groups, scale)

        def score(decay: float) -> float:
            return _pooled(solve(decay, self._thinned).criterion, spread, groups)

        return solve(_search(score, degrees), self.alphas)


def _degree_scale(degrees: IndexArray, decay: float) -> FloatArray:
    return decay ** -degrees.astype(np.float64)


def _pooled(criterion: FloatArray, spread: FloatArray, groups: IndexArray) -> float:
    """Add up errors over the spread of the group; groups without spread say nothing.

    A group is standardised as a whole, so that a rotation of its targets (another
    log-ratio basis of one step) changes nothing.
    """
    labels, group_of = np.unique(groups, return_inverse=True)
    error = np.bincount(group_of, criterion, minlength=len(labels))
    size = np.bincount(group_of, spread, minlength=len(labels))
    if not np.any(size > 0):
        return 0.0
    return float(np.sum(error[size > 0] / size[size > 0]))


def _search(score: Callable[[float], float], degrees: IndexArray) -> float:
    """Return the decay rate of least score: a coarse ascent, then its neighbours."""
    if degrees.max(initial=0) < 2:
        return 1.0
    known = {}
    for decay in _COARSE_DECAYS:
        known[decay] = score(decay)
        if known[decay] > min(known.values()):
            break
    best = min(known, key=known.__getitem__)
    for factor in (2.0**-0.5, 2.0**0.5):
        decay = best * factor
        if decay >= 1.0:
            known[decay] = score(decay)
    return min(known, key=known.__getitem__)
