"""Decays of many inputs at once: slopes, and what they are good for."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import norm

from skpce import ConstantTargetWarning, PolynomialChaosRegressor
from skpce._solvers.decay_descent import score_and_slopes
from skpce._solvers.problem import LinearProblem
from skpce._solvers.ridge import SharedDesign
from skpce._solvers.weighted_ridge import (
    AnisotropicRidgeSolver,
    DegreeWeightedRidgeSolver,
    _decay_scale,
)

EXPONENTS = np.array(
    sorted((e for e in itertools.product(range(3), repeat=3) if sum(e) < 3), key=sum)
)


@pytest.mark.parametrize("criterion", ["loo", "gcv"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_samples", [8, 30])
def test_slopes_are_those_of_differences(criterion, weighted, n_samples):
    rng = np.random.default_rng(n_samples)
    weights = np.ones(n_samples)
    if weighted:
        weights = rng.integers(1, 4, n_samples).astype(float)
    X = rng.normal(size=(n_samples, 3))
    design = np.prod(X[:, np.newaxis] ** EXPONENTS, axis=2)
    targets = rng.normal(size=(n_samples, 4)) + X[:, :1]
    centred = targets - np.average(targets, axis=0, weights=weights)
    shared = SharedDesign(design, weights, EXPONENTS)
    groups, shares = np.array([0, 0, 1, 2]), np.array([0.5, 0.5, 1.0, 2.0])

    def score(logs, alpha):
        scale = _decay_scale(EXPONENTS, np.exp(logs))
        made = shared.decomposed(scale, for_scores=True)
        used = made.factor.used
        columns = (design[:, used] - made.factor.center[used]) * made.factor.scale
        value, slopes = score_and_slopes(
            made, columns, centred, shares, groups, np.array([alpha]), criterion
        )
        return value, -2.0 * slopes @ EXPONENTS[used]

    logs, step = np.array([0.3, 0.1, 0.9]), 1e-5 * np.eye(3)
    for alpha in (1e-2, 1.0, 30.0):
        differences = [
            (score(logs + one, alpha)[0] - score(logs - one, alpha)[0]) / 2e-5
            for one in step
        ]
        slopes = score(logs, alpha)[1]
        np.testing.assert_allclose(slopes, differences, rtol=1e-4, atol=1e-7)


def of_inputs(n_inputs, n_members, n_active, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_members + 500, n_inputs))
    truth = X[:, :n_active].sum(axis=1) + X[:, 0] * X[:, 1]
    y = truth + 0.2 * truth.std() * rng.normal(size=len(truth))
    return X, y, truth


def test_few_of_many_inputs_are_found():
    X, y, truth = of_inputs(40, 100, 3)
    error = {}
    for solver in ("weighted_ridge", "anisotropic_ridge"):
        model = PolynomialChaosRegressor(2, distribution=norm(), solver=solver)
        model.fit(X[:100], y[:100])
        miss = model.predict(X[100:]) - truth[100:]
        error[solver] = np.mean(miss**2) / truth.var()
    assert error["anisotropic_ridge"] < 0.1 < 0.3 < error["weighted_ridge"]
    assert set(np.argsort(-model.total_sobol_indices_[0])[:3]) == {0, 1, 2}


def test_a_common_decay_stays_where_the_gain_is_small():
    X, _, _ = of_inputs(30, 90, 30)
    y = np.random.default_rng(1).normal(size=len(X))
    problem = PolynomialChaosRegressor(2, distribution=norm()).fit(X[:90], y[:90])
    linear = problem._problem.linear
    each = AnisotropicRidgeSolver(np.logspace(-4, 4, 9)).fit(linear)
    common = DegreeWeightedRidgeSolver(np.logspace(-4, 4, 9)).fit(linear)
    np.testing.assert_array_equal(each.coefficients, common.coefficients)


def test_sets_of_targets_are_fitted_as_each_alone():
    X, y, _ = of_inputs(30, 60, 3)
    linear = PolynomialChaosRegressor(1, distribution=norm()).fit(X[:60], y[:60])
    linear = linear._problem.linear
    solver = AnisotropicRidgeSolver(np.logspace(-4, 4, 9))
    others = np.random.default_rng(1).permutation(60)
    sets = np.stack([linear.targets, linear.targets[others]], axis=1)
    shared = SharedDesign(linear.design, linear.weights, linear.exponents)
    found = solver.fit_sets(shared, sets, linear.groups)
    for number in range(2):
        alone = LinearProblem(
            linear.design,
            sets[:, number],
            linear.weights,
            linear.groups,
            linear.exponents,
        )
        expected = solver.fit(alone).coefficients
        np.testing.assert_allclose(found[number], expected, atol=1e-10)


def test_targets_without_variance():
    X = np.random.default_rng(0).normal(size=(20, 30))
    model = PolynomialChaosRegressor(1, solver="anisotropic_ridge")
    with pytest.warns(ConstantTargetWarning):
        model.fit(X, np.ones((20, 2)))
    np.testing.assert_array_equal(model.total_variance_, 0.0)
