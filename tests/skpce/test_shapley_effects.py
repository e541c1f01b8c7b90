"""Shapley effects of any model, independent and dependent inputs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skpce.inspection import shapley_effects
from skpce.inspection._correlated_features import subset_shapley

GAUSSIAN = {"dependence": "gaussian", "solver": "ols", "random_state": 0}


def brute_shapley(values, d):
    """Mean gain over all orders; values maps a frozenset to a number."""
    effects = np.zeros(d)
    orders = list(itertools.permutations(range(d)))
    for order in orders:
        seen = frozenset()
        for i in order:
            effects[i] += values[seen | {i}] - values[seen]
            seen |= {i}
    return effects / len(orders) / values[frozenset(range(d))]


def test_shapley_of_a_game_against_all_orders():
    d = 4
    values = np.random.default_rng(0).uniform(size=(1, 2**d))
    values[0, 0] = 0
    sets = [frozenset(i for i in range(d) if u >> i & 1) for u in range(2**d)]
    game = dict(zip(sets, values[0], strict=True))
    assert_allclose(subset_shapley(values, d)[0], brute_shapley(game, d))


@pytest.mark.parametrize("seed", [0, 1])
def test_gaussian_effects_of_a_linear_model(seed):
    """Conditional variances of a linear model, summed over all orders."""
    rng = np.random.default_rng(seed)
    d = 4
    X = rng.normal(size=(400, d)) @ rng.normal(size=(d, d))
    b = rng.normal(size=d)
    covariance = np.cov(X.T, bias=True)
    game = {frozenset(): 0.0}
    for size in range(1, d + 1):
        for u in itertools.combinations(range(d), size):
            cross = covariance[:, u].T @ b
            inner = np.linalg.solve(covariance[np.ix_(u, u)], cross)
            game[frozenset(u)] = cross @ inner
    found = shapley_effects(lambda X: X @ b, X, **GAUSSIAN)
    assert_allclose(found.effects[0], brute_shapley(game, d), atol=1e-6)
    assert found.supported == (True,)


@pytest.mark.parametrize("rho", [-0.6, 0.0, 0.9])
def test_gaussian_effects_of_a_square(rho, rng):
    """f = a^2 + b: Var E[f|a] = 2 + rho^2, Var E[f|b] = 1 + 2 rho^4, Var f = 3."""
    X = rng.normal(size=(500, 2))
    root = np.linalg.cholesky(np.cov(X.T, bias=True))
    X = (X - X.mean(axis=0)) @ np.linalg.inv(root).T
    X = X @ np.linalg.cholesky([[1, rho], [rho, 1]]).T
    found = shapley_effects(lambda X: X[:, 0] ** 2 + X[:, 1], X, **GAUSSIAN)
    first = 0.5 * ((2 + rho**2) + 3 - (1 + 2 * rho**4)) / 3
    assert_allclose(found.effects[0], [first, 1 - first], atol=1e-6)
    assert found.total_variance[0] == pytest.approx(3)


def test_gaussian_effects_of_a_copy_are_shared():
    """A singular covariance: two equal columns, one fixed."""
    x = np.random.default_rng(0).normal(size=(200, 2))
    X = np.c_[x[:, 0], x[:, 0], x[:, 1], np.full(200, 3.0)]
    found = shapley_effects(lambda X: X[:, 0] + X[:, 2], X, **GAUSSIAN)
    assert found.effects[0, 0] == pytest.approx(found.effects[0, 1], abs=1e-6)
    assert found.effects[0, 3] == 0
    assert found.effects.sum() == pytest.approx(1)


def test_too_many_dependent_columns_are_refused():
    X = np.random.default_rng(0).normal(size=(50, 13))
    with pytest.raises(ValueError, match="13 columns that vary"):
        shapley_effects(lambda X: X[:, 0], X, dependence="gaussian")
    with pytest.raises(ValueError, match="degree=9 is too high for 8 dependent"):
        shapley_effects(lambda X: X[:, 0], X[:, :8], dependence="gaussian", degree=9)
