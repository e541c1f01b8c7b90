"""Indices of interactions, groups and several targets; Shapley effects."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.stats import norm, uniform

from skpce import Expansion, PolynomialChaosRegressor
from skpce._basis.basis import PolynomialBasis, Truncation
from skpce._expansion.expansion import (
    index_of_set,
    indices_of_terms,
    interaction_indices,
)
from skpce._input_laws.families import UniformLaw

PCE = PolynomialChaosRegressor


def ishigami(X, a=7.0, b=0.1):
    return np.sin(X[:, 0]) * (1 + b * X[:, 2] ** 4) + a * np.sin(X[:, 1]) ** 2


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
    pce = PCE(
        14, distribution=uniform(0, 1), solver="ols", truncation="hyperbolic", q=0.85
    ).fit(X, y)
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

    assert_allclose(
        index_of_set("closed", coefficients, multi_indices, subset), closed(subset)
    )
    others = [i for i in range(4) if i not in subset]
    assert_allclose(
        index_of_set("total", coefficients, multi_indices, subset), 1 - closed(others)
    )
    moebius = sum(
        (-1) ** (len(subset) - len(part)) * closed(part)
        for size in range(len(subset) + 1)
        for part in itertools.combinations(subset, size)
    )
    assert_allclose(
        index_of_set("exact", coefficients, multi_indices, subset), moebius, atol=1e-12
    )


def test_groups_of_one_are_the_plain_indices():
    coefficients, multi_indices = random_expansion()
    plain = indices_of_terms(coefficients, multi_indices)
    found = interaction_indices(coefficients, multi_indices, 1)
    assert found.subsets == ((0,), (1,), (2,), (3,))
    assert_allclose(found.values, plain.first_order)
    assert_allclose(found.superset_values, plain.total_order)
    for i in range(4):
        closed, exact, total = (
            index_of_set(kind, coefficients, multi_indices, [i])
            for kind in ("closed", "exact", "total")
        )
        assert_allclose(closed, plain.first_order[:, i])
        assert_allclose(exact, plain.first_order[:, i])
        assert_allclose(total, plain.total_order[:, i])


def test_superset_indices_sum_over_the_supersets():
    coefficients, multi_indices = random_expansion()
    found = interaction_indices(coefficients, multi_indices, 4)
    assert_allclose(found.values.sum(axis=1), 1)
    for column, subset in enumerate(found.subsets):
        above = [set(subset) <= set(other) for other in found.subsets]
        assert_allclose(
            found.superset_values[:, column], found.values[:, above].sum(axis=1)
        )
    pairs = interaction_indices(coefficients, multi_indices, 2)
    assert_allclose(pairs.superset_values, found.superset_values[:, :10])


def test_sets_without_a_term_are_left_out():
    multi_indices = Truncation.of_degree(3, 4, order=1).listed()
    coefficients = np.ones((1, len(multi_indices)))
    assert interaction_indices(coefficients, multi_indices, 3).subsets == (
        (0,),
        (1,),
        (2,),
    )
    assert index_of_set("exact", coefficients, multi_indices, [0, 1]) == 0


def test_shapley_effects_of_a_linear_function_of_normal_inputs():
    """Owen and Prieur (2017), section 4, without correlation: b_i^2 s_i^2 / V."""
    slopes, scales = np.array([1.0, -2.0, 0.5]), np.array([3.0, 1.0, 2.0])
    X = np.random.default_rng(0).normal(size=(60, 3)) * scales
    pce = PCE(2, distribution=[norm(0, s) for s in scales], solver="ols")
    pce.fit(X, X @ slopes)
    parts = slopes**2 * scales**2
    assert_allclose(pce.shapley_effects(), [parts / parts.sum()], rtol=1e-9)


def test_shapley_effects_are_means_over_orders():
    """Song, Nelson and Staum (2016), eq. (3), with closed variances as the value."""
    coefficients, multi_indices = random_expansion()
    value = {
        frozenset(u): brute_closed_variance(coefficients, multi_indices, u)
        for u in subsets_of(4)
    }
    expected = np.zeros((2, 4))
    for order in itertools.permutations(range(4)):
        for place, i in enumerate(order):
            before = frozenset(order[:place])
            expected[:, i] += value[before | {i}] - value[before]
    expected /= math.factorial(4) * value[frozenset(range(4))][:, np.newaxis]
    found = indices_of_terms(coefficients, multi_indices).shapley
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
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    turned = expansion.mapped(rotation).aggregated_sobol_indices()
    assert_allclose(turned.shapley, found.shapley)


def test_aggregation_as_a_method():
    X = np.random.default_rng(0).normal(size=(60, 2))
    pce = PCE(1, distribution=norm(0, 1), solver="ols").fit(X, X * [2.0, 1.0])
    found = pce.aggregated_sobol_indices()
    assert_allclose(found.total_order, pce.feature_importances_)
    weighted = pce.aggregated_sobol_indices([1.0, 4.0])
    assert_allclose(weighted.first_order, [0.5, 0.5])
    assert weighted.total_variance == pytest.approx(8)
    none = pce.aggregated_sobol_indices([0.0, 0.0])
    assert not none.total_order.any()
    for weights in ([1.0], [1.0, -1.0], [1.0, np.inf], [[1.0, 1.0]], "variance"):
        with pytest.raises(ValueError, match="weights must be 2 finite numbers"):
            pce.aggregated_sobol_indices(weights)


@pytest.mark.filterwarnings("ignore::skpce.ConstantTargetWarning")
def test_a_constant_target_has_no_indices_of_any_order():
    X = np.random.default_rng(0).normal(size=(30, 3))
    pce = PCE(2, solver="ols").fit(X, np.column_stack([np.full(30, 0.1), X[:, 0]]))
    assert pce.shapley_effects()[0].tolist() == [0, 0, 0]
    assert not pce.interaction_indices(2).values[0].any()
    for index in (pce.sobol_index, pce.closed_sobol_index, pce.total_sobol_index):
        assert index([0, 1, 2])[0] == 0


def test_pairs_agree_with_salib():
    saltelli = pytest.importorskip("SALib.sample.sobol")
    analyzer = pytest.importorskip("SALib.analyze.sobol")
    problem = {"num_vars": 3, "names": list("abc"), "bounds": [[-np.pi, np.pi]] * 3}
    points = saltelli.sample(problem, 2**12, calc_second_order=True, seed=0)
    sampled = analyzer.analyze(
        problem, ishigami(points), calc_second_order=True, num_resamples=2, seed=0
    )
    law = uniform(-np.pi, 2 * np.pi)
    pce = PCE(12, distribution=law, solver="ols").fit(
        points[:1000], ishigami(points[:1000])
    )
    for i, j in itertools.combinations(range(3), 2):
        assert sampled["S2"][i, j] == pytest.approx(
            pce.sobol_index([i, j])[0], abs=0.02
        )


@pytest.mark.skipif(
    not hasattr(stats, "sobol_indices"), reason="scipy before 1.11 has no sobol_indices"
)
def test_groups_agree_with_the_sampling_of_scipy():
    """Inputs that enter only through a group are one input of scipy."""
    law = uniform(-np.pi, 2 * np.pi)
    X = law.rvs(size=(1000, 3), random_state=0)
    pce = PCE(12, distribution=law, solver="ols").fit(X, ishigami(X))
    sampled = stats.sobol_indices(
        func=lambda x: ishigami(x.T), n=2**13, dists=[law] * 3, random_state=1
    )
    # The total index of one input is 1 minus the closed index of the others.
    for i in range(3):
        others = [j for j in range(3) if j != i]
        found = 1 - pce.closed_sobol_index(others)[0]
        assert sampled.total_order[i] == pytest.approx(found, abs=1e-2)
        found = 1 - pce.total_sobol_index(others)[0]
        assert sampled.first_order[i] == pytest.approx(found, abs=1e-2)
