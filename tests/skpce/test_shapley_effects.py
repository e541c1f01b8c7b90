"""Shapley effects of any model, and of games."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.testing import assert_allclose

from skpce.inspection import shapley_effects, sobol_indices
from skpce.inspection._dependent_inputs import subset_shapley


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


def test_effects_are_those_of_the_indices():
    X = np.random.default_rng(0).uniform(-1, 1, size=(300, 3))
    given = {"X": X, "distribution": "uniform", "random_state": 0}
    model = lambda X: X[:, 0] + X[:, 0] * X[:, 1]  # noqa: E731
    found = shapley_effects(model, **given)
    assert_allclose(found.effects, sobol_indices(model, **given).shapley)
    assert_allclose(found.effects[0], [7 / 8, 1 / 8, 0], atol=0.02)
    assert found.supported == (True,)
