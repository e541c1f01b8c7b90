"""Subspace pursuit against the algorithm as the papers write it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import lstsq

from skpce._solvers import make_solver
from skpce._solvers.problem import LinearProblem
from skpce._solvers.sparse import correction
from tests.shared import cases

SOLVER = make_solver("x", "subspace_pursuit", None)

# Below this singular value of unit columns rounding decides what is retained.
_DEPENDENT = 1e-4


class Reference:
    """The search of one group as the papers write it, by QR on the columns."""

    def __init__(self, problem: LinearProblem, targets: list[int]):
        self.weights, root = problem.weights, np.sqrt(problem.weights)[:, None]
        design, values = problem.design[:, 1:], problem.targets[:, targets]
        centred = root * (design - np.average(design, axis=0, weights=self.weights))
        self.columns = centred / np.linalg.norm(centred, axis=0)
        mean = np.average(values, axis=0, weights=self.weights)
        varies = np.ptp(values, axis=0) > 0
        self.targets = root * np.where(varies, values - mean, 0.0)
        self.n_copies = max(self.weights.sum(), len(self.weights))
        self.is_clear = True

    def fit(self, subset):
        columns = self.columns[:, subset]
        if len(subset) and np.linalg.svd(columns)[1].min() < _DEPENDENT:
            self.is_clear = False
        if len(subset) >= len(columns):
            self.is_clear = False
        return lstsq(columns, self.targets)[0]

    def rest(self, subset):
        return self.targets - self.columns[:, subset] @ self.fit(subset)

    def error(self, subset):
        total, rest = self.weights.sum(), self.rest(subset)
        hat = self.columns[:, subset] @ np.linalg.pinv(self.columns[:, subset])
        leverage = np.diag(hat) / self.weights + 1 / total
        complement = 1 - np.minimum(self.weights, 1) * leverage
        if complement.min() < 1e-10:
            return np.inf
        return np.square(rest / complement[:, None]).sum() / total

    def enlarge(self, subset, size):
        strength = np.linalg.norm(self.columns.T @ self.rest(subset), axis=1)
        strength[subset] = -1
        return [*subset, *np.argsort(-strength, kind="stable")[: size - len(subset)]]

    def pursue(self, subset):
        size = len(subset)
        for _ in range(20):
            wide = self.enlarge(subset, min(2 * size, self.columns.shape[1]))
            length = np.linalg.norm(self.fit(wide), axis=1)
            new = [wide[k] for k in np.argsort(-length, kind="stable")[:size]]
            before, after = (np.square(self.rest(s)).sum() for s in (subset, new))
            total = np.square(self.targets).sum()
            if total - after <= (total - before) * (1 + 1e-12):
                break
            subset = new
        return subset

    def search(self):
        n_terms = self.columns.shape[1]
        largest = int(min(self.n_copies // 2, n_terms))
        best, previous, size = [], [], 0
        best_score = self.error([])
        while size < largest:
            size = size + 1 if size < 25 else min(largest, int(np.ceil(size * 1.12)))
            starts = [self.enlarge([], size)]
            if previous:
                starts.append(self.enlarge(previous, size))
            previous = min(map(self.pursue, starts), key=self.error)
            score = self.error(previous) * correction(size, n_terms, self.n_copies)
            if score < best_score:
                best, best_score = previous, score
            elif size > 2 * len(best) + 10:
                break
        return sorted(best)


def make_problem(rng, n_samples, n_terms, groups, weights=None, n_true=4, noise=0.3):
    X = rng.normal(size=(n_samples, n_terms))
    slopes = np.zeros((n_terms, len(groups)))
    for column in slopes.T:
        chosen = rng.choice(n_terms, min(n_true, n_terms), replace=False)
        column[chosen] = rng.normal(size=len(chosen))
    y = 1 + X @ slopes + noise * rng.normal(size=(n_samples, len(groups)))
    weights = np.ones(n_samples) if weights is None else weights
    return LinearProblem(np.c_[np.ones(n_samples), X], y, weights, np.asarray(groups))


def assert_is_reference(problem):
    """Return how many groups were compared: those where rounding decides nothing."""
    fit = SOLVER.fit(problem)
    n_clear = 0
    for label in np.unique(problem.groups):
        targets = np.flatnonzero(problem.groups == label).tolist()
        reference = Reference(problem, targets)
        subset = reference.search()
        if not reference.is_clear:
            continue
        n_clear += 1
        used = [0, *(term + 1 for term in subset)]
        expected = np.zeros((len(targets), problem.design.shape[1]))
        root = np.sqrt(problem.weights)[:, None]
        design, values = problem.design[:, used], problem.targets[:, targets]
        expected[:, used] = lstsq(root * design, root * values)[0].T
        for row, found in zip(expected, fit.coefficients[targets], strict=True):
            size = np.abs(row).max()
            assert_allclose(found, row, rtol=0, atol=1e-12 * size)
        for scales in fit.scales[targets]:
            assert np.flatnonzero(scales).tolist() == used
        error = fit.criterion[targets].sum()
        assert_allclose(error, reference.error(subset), rtol=1e-9)
    return n_clear


@cases(
    "groups", [0] * 5, [3, 0, 0, 1, 3, 2, 4, 4, 4], [1, 0] * 4, [2, 1, 0, 3, 6, 5, 4, 7]
)
def test_groups_of_targets(groups, rng):
    problem = make_problem(rng, 40, 12, groups)
    assert assert_is_reference(problem) == len(set(groups))


def test_weights(rng):
    copies = rng.integers(1, 4, size=41).astype(float)
    assert assert_is_reference(make_problem(rng, 41, 9, range(10), copies)) == 10
    uneven = rng.exponential(size=41) + 0.1
    assert assert_is_reference(make_problem(rng, 41, 9, range(10), uneven)) > 5
    assert assert_is_reference(make_problem(rng, 41, 9, [0, 0, 1, 1], uneven)) == 2


@pytest.mark.parametrize("n_samples", [3, 5, 7, 9, 11])
def test_few_samples(n_samples, rng):
    for n_terms in (2, 15):
        problem = make_problem(rng, n_samples, n_terms, range(20), n_true=1)
        assert assert_is_reference(problem) > 5


def test_sizes_beyond_25(rng):
    problem = make_problem(rng, 150, 50, range(3), n_true=40, noise=0.01)
    assert assert_is_reference(problem) == 3
    assert np.count_nonzero(SOLVER.fit(problem).scales, axis=1).min() > 26


def test_constant_targets_among_others(rng):
    problem = make_problem(rng, 30, 8, range(6))
    problem.targets[:, [1, 4]] = 2.5
    assert assert_is_reference(problem) == 6
    fit = SOLVER.fit(problem)
    assert_array_equal(fit.coefficients[1], [2.5] + 8 * [0.0])


def test_dependent_columns(rng):
    """A column twice: which of the two is retained is rounding, the error is not."""
    once = make_problem(rng, 40, 9, [*range(12), 12, 12])
    design = once.design[:, [0, 1, 2, 3, 2, 4, 5, 6, 7, 8, 9]]
    twice = LinearProblem(design, once.targets, once.weights, once.groups)
    fit = SOLVER.fit(twice)
    assert not (fit.scales[:, [2, 4]] == 1.0).all(axis=1).any()
    predicted = design @ fit.coefficients.T
    for target in range(12):
        reference = Reference(once, [target])
        used = np.flatnonzero(fit.scales[target, 1:])
        subset = sorted({[0, 1, 2, 1, 3, 4, 5, 6, 7, 8][k] for k in used})
        rest = twice.targets[:, target] - predicted[:, target]
        assert_allclose(rest, reference.rest(subset)[:, 0], atol=1e-9)
