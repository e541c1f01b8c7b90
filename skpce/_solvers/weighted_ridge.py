"""Ridge whose penalty grows with the degree of a term, and the search for its rates."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from .._checks import FloatArray, IndexArray
from .problem import (
    DesignDecomposition,
    DesignMoments,
    LinearFit,
    LinearProblem,
    best_penalties,
)
from .ridge import GeneralizedRidgeSolver, path_scores, solve_moments, solve_path
from .sparse import COMPARISON_SHARE, correction

Score = Callable[[FloatArray], float]

# Penalties are thinned by this step while the decays are chosen, when there are many.
_THINNING = 2
_MANY = 8

# With more samples for each term than this the weights matter little.
_ENOUGH_SAMPLES = 2.0


class _DecaySolver(GeneralizedRidgeSolver):
    r"""Ridge with penalty :math:`\lambda \prod_i \gamma_i^{2 j_i}`, decays chosen.

    The decays :math:`\gamma_i \ge 1` are chosen for all targets together, by the error
    pooled over targets of unit variance; :math:`\gamma = 1`, the plain ridge, is among
    the choices. The penalty is chosen for each group. Each choice of the decays costs
    one factorisation.
    """

    #: Whether each input may have a decay of its own.
    by_input: ClassVar[bool]

    def __init__(self, alphas: FloatArray, criterion: str = "loo") -> None:
        self.alphas = alphas
        self.criterion = criterion
        #: Penalties that are tried while decays are chosen, always with the largest.
        step = -_THINNING if len(alphas) >= _MANY else -1
        self._thinned = alphas[::step][::-1]

    def fit(self, problem: LinearProblem) -> LinearFit:
        total, exponents = float(problem.weights.sum()), problem.exponents
        mean = np.average(problem.targets, axis=0, weights=problem.weights)
        centred = problem.targets - mean
        spread = problem.weights @ np.square(centred) / total

        def decompose(decays: FloatArray, for_scores: bool) -> DesignDecomposition:
            scale = _decay_scale(exponents, decays)
            return DesignDecomposition.from_design(
                problem.design, problem.weights, scale=scale, for_scores=for_scores
            )

        def score(decays: FloatArray) -> float:
            decomposition = decompose(decays, True)
            loadings = decomposition.project(centred)
            scores = path_scores(
                decomposition, centred, loadings, self._thinned, self.criterion
            )
            _, least = best_penalties(scores, problem.groups)
            defined = np.where(np.isnan(least), np.inf, least)
            return _pooled(defined, spread, problem.groups)

        n_copies = max(total, float(len(problem.weights)))
        decays = self._search(score, exponents, n_copies)
        fit = solve_path(
            decompose(decays, False),
            problem.targets,
            self.alphas,
            problem.groups,
            self.criterion,
        )
        if not self._searches_inputs(exponents, n_copies):
            return fit
        # The price of the search is that of one term for each input.
        n_inputs = int(np.count_nonzero(exponents.any(axis=0)))
        return fit.at_price(
            correction(n_inputs, len(exponents) - 1, n_copies, COMPARISON_SHARE)
        )

    def fit_moments(
        self, moments: DesignMoments, groups: IndexArray, exponents: IndexArray
    ) -> LinearFit:
        """Fit from sums over the samples; generalised cross-validation chooses."""
        spread = moments.target_square / moments.total_weight

        def solve(decays: FloatArray, alphas: FloatArray) -> LinearFit:
            scale = _decay_scale(exponents, decays)
            return solve_moments(moments, alphas, groups, scale)

        def score(decays: FloatArray) -> float:
            return _pooled(solve(decays, self._thinned).criterion, spread, groups)

        return solve(self._search(score, exponents, moments.total_weight), self.alphas)

    def _search(
        self, score: Score, exponents: IndexArray, n_copies: float
    ) -> FloatArray:
        """Return the decay of each input, of least score."""
        common = search_decay(score, exponents)
        if not self._searches_inputs(exponents, n_copies):
            return common
        return search_decays(score, exponents, common)

    def _searches_inputs(self, exponents: IndexArray, n_copies: float) -> bool:
        return self.by_input and n_copies < _ENOUGH_SAMPLES * len(exponents)


class DegreeWeightedRidgeSolver(_DecaySolver):
    r"""The same decay for each input: :math:`\lambda\gamma^{2|j|}` at degree |j|.

    The posterior mean under a normal prior of variance proportional to
    :math:`\gamma^{-2|j|}`: coefficients of smooth functions decay with the degree.
    """

    by_input = False


class AnisotropicRidgeSolver(_DecaySolver):
    """A decay for each input, unless there are two samples for each term.

    The search starts from the best common decay. Inputs that matter little get a large
    decay, as the length scales of a Gaussian process do.
    """

    by_input = True


def _decay_scale(exponents: IndexArray, decays: FloatArray) -> FloatArray:
    return np.exp(-(exponents @ np.log(decays)))


def _pooled(criterion: FloatArray, spread: FloatArray, groups: IndexArray) -> float:
    """Add up the error of each group over its spread, which no rotation changes."""
    labels, group_of = np.unique(groups, return_inverse=True)
    error = np.bincount(group_of, criterion, minlength=len(labels))
    size = np.bincount(group_of, spread, minlength=len(labels))
    if not np.any(size > 0):
        return 0.0
    return float(np.sum(error[size > 0] / size[size > 0]))


# Common decays that are tried, until one is worse than the one before; then the two
# between the best and its neighbours. 1 is the plain ridge.
_COARSE_DECAYS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)

# Factors by which the decay of one input is changed, sweep by sweep.
_STEPS = (2.0, 2.0, 2.0**0.5, 2.0**0.5)

# At this decay even the first degree of an input is left to the penalty.
_LARGEST_DECAY = 1e4

# A change of one decay must lower the score by this share.
_SMALLEST_GAIN = 1e-3


def search_decay(score: Score, exponents: IndexArray) -> FloatArray:
    """Return the best common decay, once for each input."""
    n_inputs = exponents.shape[1]
    if exponents.sum(axis=1).max(initial=0) < 2:
        return np.ones(n_inputs)
    known: dict[float, float] = {}
    for decay in _COARSE_DECAYS:
        known[decay] = score(np.full(n_inputs, decay))
        if known[decay] > min(known.values()):
            break
    best = min(known, key=known.__getitem__)
    for factor in (2.0**-0.5, 2.0**0.5):
        decay = best * factor
        if decay >= 1.0:
            known[decay] = score(np.full(n_inputs, decay))
    return np.full(n_inputs, min(known, key=known.__getitem__))


def search_decays(score: Score, exponents: IndexArray, start: FloatArray) -> FloatArray:
    """Change the decay of one input after another while the score falls."""
    decays, best = start, score(start)
    for step in _STEPS:
        for i in np.flatnonzero(exponents.any(axis=0)):
            for factor in (step, 1.0 / step):
                moved, found = _walk(score, decays, best, int(i), factor)
                if found < best:
                    decays, best = moved, found
                    break
    return decays


def _walk(
    score: Score, decays: FloatArray, best: float, i: int, factor: float
) -> tuple[FloatArray, float]:
    """Multiply one decay again and again while the score falls."""
    while True:
        candidate = decays.copy()
        candidate[i] *= factor
        if not 1.0 <= candidate[i] <= _LARGEST_DECAY:
            return decays, best
        found = score(candidate)
        if not found < best * (1.0 - _SMALLEST_GAIN):
            return decays, best
        decays, best = candidate, found
