"""Indices of interactions, groups and several targets; Shapley effects."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import uniform

from skpce import Expansion, PolynomialChaosRegressor
from skpce._basis.basis import PolynomialBasis, Truncation
from skpce._expansion.expansion import (
    index_of_set,
    interaction_indices,
    partial_variances,
    shares,
)
from skpce._input_laws.families import UniformLaw
from tests.shared import refuses

PCE = PolynomialChaosRegressor


def subsets_of(n_features):
    for size in range(n_features + 1):
        yield from itertools.combinations(range(n_features), size)


def test_interactions_of_sobol_g():
    """The partial variance of a set is the product of those of its inputs."""
    a = np.array([0.0, 1.0, 4.5])
    X = np.random.default_rng(0).uniform(size=(3000, 3))
    y = np.prod((np.abs(4 * X - 2) + a) / (1 + a), axis=1)
    partial = 1 / (3 * (1 + a) ** 2)
    variance = np.prod(1 + partial) - 1
    how = {"distribution": uniform(0, 1), "truncation": "hyperbolic", "q": 0.85}
    pce = PCE(14, solver="ols", **how).fit(X, y)
    found = pce.interaction_indices(3)
    assert found.subsets == tuple(list(subsets_of(3))[1:])
    for column, subset in enumerate(found.subsets):
        expected = np.prod(partial[list(subset)]) / variance
        assert found.values[0, column] == pytest.approx(expected, abs=1e-2)
        assert pce.sobol_index(subset) == pytest.approx(found.values[0, column])
        closed = (np.prod(1 + partial[list(subset)]) - 1) / variance
        assert pce.closed_sobol_index(subset) == pytest.approx(closed, abs=2e-2)
        others = [i for i in range(3) if i not in subset]
        total = 1 - (np.prod(1 + partial[others]) - 1) / variance
        assert pce.total_sobol_index(subset) == pytest.approx(total, abs=2e-2)
    shapley = sum(
        np.isin(np.arange(3), u) * np.prod(partial[list(u)]) / len(u)
        for u in found.subsets
    )
    assert_allclose(pce.shapley_effects()[0], shapley / variance, atol=1e-2)


def random_expansion(n_features=4, degree=3, n_targets=2):
    rng = np.random.default_rng(0)
    multi_indices = Truncation.of_degree(n_features, degree).listed()
    return rng.normal(size=(n_targets, len(multi_indices))), multi_indices


def brute_closed_variance(coefficients, multi_indices, subset):
    inside = [set(np.flatnonzero(row)) <= set(subset) for row in multi_indices]
    inside[0] = False
    return np.sum(coefficients[:, inside] ** 2, axis=1)


@pytest.mark.parametrize("subset", list(subsets_of(4))[1:])
def test_groups_against_brute_force(subset):
    coefficients, multi_indices = random_expansion()
    whole = brute_closed_variance(coefficients, multi_indices, range(4))

    def closed(members):
        return brute_closed_variance(coefficients, multi_indices, members) / whole

    parts = [part for part in subsets_of(4) if set(part) <= set(subset)]
    expected = {
        "closed": closed(subset),
        "total": 1 - closed([i for i in range(4) if i not in subset]),
        "exact": sum((-1) ** (len(subset) - len(u)) * closed(u) for u in parts),
    }
    for kind, values in expected.items():
        found = index_of_set(kind, coefficients, multi_indices, subset)
        assert_allclose(found, values, atol=1e-12)


def test_superset_indices_sum_over_the_supersets():
    coefficients, multi_indices = random_expansion()
    found = interaction_indices(coefficients, multi_indices, 4)
    assert_allclose(found.values.sum(axis=1), 1)
    plain = shares(*partial_variances(coefficients, multi_indices))
    assert_allclose(found.values[:, :4], plain.first_order)
    assert_allclose(found.superset_values[:, :4], plain.total_order)
    for column, subset in enumerate(found.subsets):
        above = [set(subset) <= set(other) for other in found.subsets]
        expected = found.values[:, above].sum(axis=1)
        assert_allclose(found.superset_values[:, column], expected)
    pairs = interaction_indices(coefficients, multi_indices, 2)
    assert_allclose(pairs.superset_values, found.superset_values[:, :10])


def test_sets_without_a_term_are_left_out():
    multi_indices = Truncation.of_degree(3, 4, order=1).listed()
    coefficients = np.ones((1, len(multi_indices)))
    found = interaction_indices(coefficients, multi_indices, 3)
    assert found.subsets == ((0,), (1,), (2,))
    assert index_of_set("exact", coefficients, multi_indices, [0, 1]) == 0


def test_shapley_effects_are_means_over_orders():
    """Song, Nelson and Staum (2016), eq. (3), with closed variances as the value."""
    coefficients, multi_indices = random_expansion()

    def value(inputs):
        return brute_closed_variance(coefficients, multi_indices, inputs)

    expected = np.zeros((2, 4))
    for order in itertools.permutations(range(4)):
        for place, i in enumerate(order):
            expected[:, i] += value(order[: place + 1]) - value(order[:place])
    expected /= math.factorial(4) * value(range(4))[:, np.newaxis]
    found = shares(*partial_variances(coefficients, multi_indices)).shapley
    assert_allclose(found, expected, atol=1e-12)
    assert_allclose(found.sum(axis=1), 1)


def test_aggregation_over_targets():
    coefficients, multi_indices = random_expansion(n_targets=3)
    basis = PolynomialBasis([UniformLaw(0.0, 1.0)] * 4, multi_indices)
    expansion = Expansion(basis, coefficients)
    alone = expansion.sobol_indices()
    weight = alone.total_variance / alone.total_variance.sum()
    found = expansion.aggregated_sobol_indices()
    assert_allclose(found.first_order, weight @ alone.first_order)
    assert_allclose(found.total_order, weight @ alone.total_order)
    assert found.total_variance == pytest.approx(alone.total_variance.sum())
    assert found.shapley.sum() == pytest.approx(1)
    variance = np.sum(coefficients[:, 1:] ** 2, axis=1)
    equal = expansion.aggregated_sobol_indices(1 / variance)
    assert_allclose(equal.shapley, alone.shapley.mean(axis=0))
    assert not expansion.aggregated_sobol_indices(np.zeros(3)).total_order.any()
    message = "weights.* must be 3 finite numbers"
    refuses(message, expansion.aggregated_sobol_indices, [1.0, -1.0, 1.0])
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    turned = Expansion(basis, rotation @ coefficients).aggregated_sobol_indices()
    assert_allclose(turned.shapley, found.shapley)
