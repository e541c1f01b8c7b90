"""Ridge whose penalty grows with the degree of a term, and the search for its rates."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import ClassVar

import numpy as np

from .._checks import FloatArray, IndexArray
from .decay_descent import descend, score_and_slopes
from .problem import (
    DesignMoments,
    LinearFit,
    LinearProblem,
    best_penalties,
    weighted_spread,
)
from .ridge import (
    PathSolver,
    SharedDesign,
    groups_of_sets,
    path_scores,
    solve_moments,
    solve_path,
)
from .sparse import COMPARISON_SHARE, correction

#: Yields decays, is sent their score, and returns the best.
Search = Generator[FloatArray, float, FloatArray]

# Penalties are thinned by this step while the decays are chosen, when there are many.
_THINNING = 2
_MANY = 8

# Decays of more inputs are changed all at once, along the slope of the score.
_MOST_INPUTS = 24

# With more samples for each term than this the weights matter little.
_ENOUGH_SAMPLES = 2.0


class _DecaySolver(PathSolver):
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
        exponents = problem.exponents
        shared = SharedDesign(problem.design, problem.weights, exponents)
        decays = self._decays_of_sets(
            shared, problem.targets[:, np.newaxis], problem.groups
        )
        fit = solve_path(
            shared.decomposed(_decay_scale(exponents, decays[0])),
            problem.targets,
            self.alphas,
            problem.groups,
            self.criterion,
        )
        n_copies = _number_of_copies(problem.weights)
        if not self._searches_inputs(exponents, n_copies):
            return fit
        # The price of the search is that of one term for each input.
        n_inputs = int(np.count_nonzero(exponents.any(axis=0)))
        return fit.at_price(
            correction(n_inputs, len(exponents) - 1, n_copies, COMPARISON_SHARE)
        )

    def fit_sets(
        self, shared: SharedDesign, targets: FloatArray, groups: IndexArray
    ) -> FloatArray:
        n_samples, n_sets, n_targets = targets.shape
        decays = self._decays_of_sets(shared, targets, groups)
        chosen, set_of = np.unique(decays, axis=0, return_inverse=True)
        coefficients = np.empty((n_sets, n_targets, shared.design.shape[1]))
        for number, decay in enumerate(chosen):
            mine = np.flatnonzero(set_of.ravel() == number)
            fit = solve_path(
                shared.decomposed(_decay_scale(shared.exponents, decay)),
                targets[:, mine].reshape(n_samples, -1),
                self.alphas,
                groups_of_sets(groups, len(mine)),
                self.criterion,
            )
            coefficients[mine] = fit.coefficients.reshape(len(mine), n_targets, -1)
        return coefficients

    def _decays_of_sets(
        self, shared: SharedDesign, targets: FloatArray, groups: IndexArray
    ) -> FloatArray:  # shape: (n_sets, n_inputs)
        """Search the decays of all sets together, with one factorisation for each."""
        weights = shared.weights
        centred = targets - np.average(targets, axis=0, weights=weights)
        # 0 for constant targets: by their rounding these would take part in the choice.
        spread = weighted_spread(targets.reshape(len(targets), -1), weights)
        spread = spread.reshape(targets.shape[1:]) / weights.sum()

        def score(decays: FloatArray, sets: IndexArray) -> FloatArray:
            scale = _decay_scale(shared.exponents, decays)
            decomposition = shared.decomposed(scale, for_scores=True)
            some = centred[:, sets].reshape(len(centred), -1)
            loadings = decomposition.project(some)
            scores = path_scores(
                decomposition, some, loadings, self._thinned, self.criterion
            )
            _, least = best_penalties(scores, groups_of_sets(groups, len(sets)))
            errors = np.where(np.isnan(least), np.inf, least).reshape(len(sets), -1)
            pairs = zip(errors, spread[sets], strict=True)
            return np.array([_pooled(error, own, groups) for error, own in pairs])

        n_copies, n_sets = _number_of_copies(weights), targets.shape[1]
        if not self._descends(shared.exponents, n_copies):
            searches = [self._search(shared.exponents, n_copies) for _ in range(n_sets)]
            return _run_together(searches, score)
        common = [search_decay(shared.exponents) for _ in range(n_sets)]
        starts = _run_together(common, score)
        pairs = zip(centred.swapaxes(0, 1), spread, starts, strict=True)
        return np.array([self._descent(shared, *pair, groups) for pair in pairs])

    def _descent(
        self,
        shared: SharedDesign,
        centred: FloatArray,  # shape: (n_samples, n_targets)
        spread: FloatArray,  # shape: (n_targets,)
        start: FloatArray,  # shape: (n_inputs,)
        groups: IndexArray,
    ) -> FloatArray:  # shape: (n_inputs,)
        """Search the decays of all inputs at once, from a common one."""
        exponents = shared.exponents
        _, group_of = np.unique(groups, return_inverse=True)
        size = np.bincount(group_of, spread)[group_of]
        shares = np.where(size > 0, 1.0 / np.where(size > 0, size, 1.0), 0.0)

        def score(decays: FloatArray) -> tuple[float, FloatArray]:
            scale = _decay_scale(exponents, decays)
            decomposition = shared.decomposed(scale, for_scores=True)
            factor = decomposition.factor
            used = factor.used
            columns = (shared.design[:, used] - factor.center[used]) * factor.scale
            given = centred, shares, groups, self._thinned, self.criterion
            error, slopes = score_and_slopes(decomposition, columns, *given)
            return error, -2.0 * (slopes @ exponents[used])

        return descend(score, start, _LARGEST_DECAY)

    def fit_moments(
        self, moments: DesignMoments, groups: IndexArray, exponents: IndexArray
    ) -> LinearFit:
        """Fit from sums over the samples; generalised cross-validation chooses."""
        spread = moments.target_spread / moments.total_weight

        def solve(decays: FloatArray, alphas: FloatArray) -> LinearFit:
            scale = _decay_scale(exponents, decays)
            return solve_moments(moments, alphas, groups, scale)

        def score(decays: FloatArray) -> float:
            return _pooled(solve(decays, self._thinned).criterion, spread, groups)

        search = self._search(exponents, moments.total_weight)
        decays = _run_together([search], lambda decays, _: np.array([score(decays)]))
        return solve(decays[0], self.alphas)

    def _search(self, exponents: IndexArray, n_copies: float) -> Search:
        """Return the decay of each input, of least score."""
        decays = yield from search_decay(exponents)
        if self._searches_inputs(exponents, n_copies):
            decays = yield from search_decays(exponents, decays)
        return decays

    def _searches_inputs(self, exponents: IndexArray, n_copies: float) -> bool:
        return self.by_input and n_copies < _ENOUGH_SAMPLES * len(exponents)

    def _descends(self, exponents: IndexArray, n_copies: float) -> bool:
        """Return whether there are too many inputs to change one after another."""
        many = exponents.shape[1] > _MOST_INPUTS
        return many and self._searches_inputs(exponents, n_copies)


class DegreeWeightedRidgeSolver(_DecaySolver):
    r"""The same decay for each input: :math:`\lambda\gamma^{2|j|}` at degree |j|.

    The posterior mean under a normal prior of variance proportional to
    :math:`\gamma^{-2|j|}`: coefficients of smooth functions decay with the degree.
    """

    by_input = False


class AnisotropicRidgeSolver(_DecaySolver):
    """A decay for each input, unless there are two samples for each term.

    The search starts from the best common decay. Inputs that matter little get a large
    decay, as the length scales of a Gaussian process do. Up to 24 inputs are changed
    one after another. Decays of more are changed all at once, and are used where they
    lower the leave-one-out error to less than a third: over so many it is too rosy.
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


def search_decay(exponents: IndexArray) -> Search:
    """Search the best common decay, once for each input."""
    n_inputs = exponents.shape[1]
    if exponents.sum(axis=1).max(initial=0) < 2:
        return np.ones(n_inputs)
    known: dict[float, float] = {}
    for decay in _COARSE_DECAYS:
        known[decay] = yield np.full(n_inputs, decay)
        if known[decay] > min(known.values()):
            break
    best = min(known, key=known.__getitem__)
    for factor in (2.0**-0.5, 2.0**0.5):
        decay = best * factor
        if decay >= 1.0:
            known[decay] = yield np.full(n_inputs, decay)
    return np.full(n_inputs, min(known, key=known.__getitem__))


def search_decays(exponents: IndexArray, start: FloatArray) -> Search:
    """Change the decay of one input after another while the score falls."""
    decays, best = start, (yield start)
    for step in _STEPS:
        for i in np.flatnonzero(exponents.any(axis=0)):
            for factor in (step, 1.0 / step):
                moved, found = yield from _walk(decays, best, int(i), factor)
                if found < best:
                    decays, best = moved, found
                    break
    return decays


def _walk(
    decays: FloatArray, best: float, i: int, factor: float
) -> Generator[FloatArray, float, tuple[FloatArray, float]]:
    """Multiply one decay again and again while the score falls."""
    while True:
        candidate = decays.copy()
        candidate[i] *= factor
        if not 1.0 <= candidate[i] <= _LARGEST_DECAY:
            return decays, best
        found = yield candidate
        if not found < best * (1.0 - _SMALLEST_GAIN):
            return decays, best
        decays, best = candidate, found


def _run_together(
    searches: Sequence[Search],
    score: Callable[[FloatArray, IndexArray], FloatArray],  # of decays, for some sets
) -> FloatArray:  # shape: (n_searches, n_inputs)
    """Run all searches, with one call of the score for those at the same decays."""
    found: list[FloatArray] = [np.empty(0)] * len(searches)
    waiting: dict[bytes, tuple[FloatArray, list[int]]] = {}

    def advance(number: int, value: float | None) -> None:
        search = searches[number]
        try:
            decays = next(search) if value is None else search.send(value)
        except StopIteration as stopped:
            found[number] = stopped.value
            return
        waiting.setdefault(decays.tobytes(), (decays, []))[1].append(number)

    for number in range(len(searches)):
        advance(number, None)
    while waiting:
        decays, numbers = waiting.pop(next(iter(waiting)))
        scores = score(decays, np.array(numbers)).tolist()
        for number, value in zip(numbers, scores, strict=True):
            advance(number, value)
    return np.array(found)


def _number_of_copies(weights: FloatArray) -> float:
    return max(float(weights.sum()), float(len(weights)))
