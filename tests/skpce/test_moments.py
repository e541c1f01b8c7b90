"""Skewness and kurtosis against quadrature, enumeration and closed forms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from numpy.polynomial.laguerre import laggauss
from numpy.polynomial.legendre import leggauss
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.stats import expon, norm, uniform

from skpce import Expansion, PolynomialChaosRegressor
from skpce._basis.basis import PolynomialBasis, Truncation
from skpce._expansion import moments
from skpce._expansion.moments import expansion_moments, linearisation
from skpce._input_laws.families import NormalLaw, UniformLaw
from tests.shared import cases

PCE = PolynomialChaosRegressor


# A frozen law, and its Gauss rule from numpy in the units of the input.
RULES = {
    "normal": (norm(2, 3), hermegauss, lambda t: 2 + 3 * t),
    "uniform": (uniform(-1, 4), leggauss, lambda t: 1 + 2 * t),
    "exponential": (expon(1, 0.5), laggauss, lambda t: 1 + 0.5 * t),
}


def tensor_rule(rules, n_nodes):
    nodes, weights = [], []
    for _, gauss, to_input in rules:
        points, mass = gauss(n_nodes)
        nodes.append(to_input(points))
        weights.append(mass / mass.sum())
    X = np.array(list(itertools.product(*nodes)))
    return X, np.array([np.prod(mass) for mass in itertools.product(*weights)])


def weighted_moments(y, weights):
    mean = weights @ y
    centred = y - mean
    variance = weights @ centred**2
    skewness = weights @ centred**3 / variance**1.5
    kurtosis = weights @ centred**4 / variance**2 - 3
    return mean, variance, skewness, kurtosis


def assert_moments(found, expected, rtol=1e-9, atol=1e-10):
    for name, value in zip(
        ("mean", "variance", "skewness", "kurtosis"), expected, strict=True
    ):
        assert_allclose(getattr(found, name), value, rtol=rtol, atol=atol)


@pytest.mark.parametrize(
    "names", list(itertools.combinations_with_replacement(RULES, 3))
)
def test_moments_are_those_of_a_tensor_rule(names, rng):
    rules = [RULES[name] for name in names]
    X, weights = tensor_rule(rules, 7)  # exact to degree 13; 4 times 3 is needed
    pce = PCE(3, distribution=[rule[0] for rule in rules], solver="ols")
    pce.fit(X[: 7**3], rng.normal(size=(len(X), 2)))
    expansion = Expansion(pce.basis_, rng.normal(size=pce.coefficients_.shape))
    y = expansion(X)
    assert_moments(expansion.moments(), weighted_moments(y, weights))


def test_moments_of_a_sum_of_a_normal_and_a_chi_squared():
    """Cumulants add up: those of x are 1, 0, 0, those of x^2 are 2, 8, 48."""
    X = np.random.default_rng(0).normal(size=(50, 2))
    pce = PCE(2, distribution=norm(0, 1), solver="ols")
    found = pce.fit(X, X[:, 0] + X[:, 1] ** 2).moments()
    assert_moments(found, (1.0, 3.0, 8 / 3**1.5, 48 / 9))


@pytest.mark.parametrize("degrees_of_freedom", [1, 3])
def test_moments_are_those_that_scipy_has(degrees_of_freedom):
    X = np.random.default_rng(0).normal(size=(60, degrees_of_freedom))
    pce = PCE(2, distribution=norm(0, 1), solver="ols")
    found = pce.fit(X, np.sum(X**2, axis=1)).moments()
    assert_moments(found, stats.chi2.stats(degrees_of_freedom, moments="mvsk"))


def test_ishigami():
    a, b = 7.0, 0.1

    def ishigami(X):
        return np.sin(X[:, 0]) * (1 + b * X[:, 2] ** 4) + a * np.sin(X[:, 1]) ** 2

    X = np.random.default_rng(0).uniform(-np.pi, np.pi, size=(1500, 3))
    pce = PCE(12, distribution=uniform(-np.pi, 2 * np.pi), solver="ols")
    found = pce.fit(X, ishigami(X)).moments()
    variance = a**2 / 8 + b * np.pi**4 / 5 + b**2 * np.pi**8 / 18 + 0.5
    assert found.mean == pytest.approx(a / 2, abs=1e-3)
    assert found.variance == pytest.approx(variance, rel=1e-3)
    rule = [(None, leggauss, lambda t: np.pi * t)] * 3
    nodes, weights = tensor_rule(rule, 40)
    _, _, skewness, kurtosis = weighted_moments(ishigami(nodes), weights)
    assert found.skewness == pytest.approx(skewness, abs=2e-3)
    assert found.kurtosis == pytest.approx(kurtosis, abs=5e-3)


def full_factorial(*values):
    return np.array(list(itertools.product(*values)), dtype=float)


@cases(
    ("distribution", "degree"),
    ("empirical", 2),
    (["categorical", "empirical", "empirical"], 3),
    (["categorical", "categorical", "empirical"], 2),
    ("categorical", 3),
)
def test_moments_of_discrete_inputs_are_those_of_all_combinations(distribution, degree):
    rng = np.random.default_rng(0)
    X = full_factorial([0, 1, 2, 5], [-1.0, 0.5, 0.7, 2.0], [0.0, 3.0, 10.0])
    y = np.column_stack([rng.normal(size=len(X)), np.exp(X[:, 0] / 2) * X[:, 2]])
    pce = PCE(degree, distribution=distribution, solver="ols").fit(X, y)
    values = pce.predict(X)
    expected = (values.mean(axis=0), values.var(axis=0))
    expected += (stats.skew(values), stats.kurtosis(values))
    assert_moments(pce.moments(), expected)


def test_values_in_tight_groups(rng):
    """Three groups carry degree 2 but no polynomials of degree 4."""
    X = full_factorial([0, 1e-9, 1, 1 + 1e-9, 2, 2 + 1e-9], [0.0, 1.0, 2.0, 5.0])
    pce = PCE(2, distribution="empirical", solver="ols")
    y = pce.fit(X, rng.normal(size=len(X))).predict(X)
    expected = (y.mean(), y.var(), stats.skew(y), stats.kurtosis(y))
    assert_moments(pce.moments(), expected, rtol=1e-6)


def test_poisson_input():
    law = stats.poisson(2.0)
    X = law.rvs(size=(80, 1), random_state=0).astype(float)
    found = PCE(1, distribution=law, solver="ols").fit(X, 3 * X[:, 0]).moments()
    assert_moments(found, (6.0, 18.0, 2**-0.5, 0.5), rtol=1e-7)


def test_heavy_tails_have_no_known_kurtosis():
    law = stats.t(5)
    X = law.rvs(size=(80, 2), random_state=0)
    found = PCE(1, distribution=law, solver="ols").fit(X, X[:, 0] + 1).moments()
    assert found.variance == pytest.approx(5 / 3, rel=1e-6)
    assert np.isnan(found.skewness).all()
    assert np.isnan(found.kurtosis).all()


@pytest.mark.filterwarnings("ignore::skpce.ConstantTargetWarning")
def test_a_target_without_variance_has_no_shape():
    X = np.random.default_rng(0).normal(size=(30, 2))
    found = PCE(2).fit(X, np.column_stack([np.full(30, 7.0), X[:, 0]])).moments()
    assert found.mean[0] == pytest.approx(7.0)
    assert found.variance[0] == 0
    assert_array_equal(np.isnan(found.skewness), [True, False])
    assert_array_equal(np.isnan(found.kurtosis), [True, False])


def test_degree_zero():
    X = np.random.default_rng(0).normal(size=(30, 2))
    found = PCE(0).fit(X, X[:, 0]).moments()
    assert found.variance == 0
    assert np.isnan(found.kurtosis)


@pytest.mark.parametrize("law", [NormalLaw(0.0, 1.0), UniformLaw(0.0, 1.0)])
def test_linearisation_rebuilds_products(law):
    column = np.random.default_rng(0).uniform(-1, 1, size=20)
    table = linearisation(law, 4)
    values = law.evaluate(column, 8)
    for a, b in itertools.product(range(5), repeat=2):
        assert_allclose(table[a, b] @ values, values[a] * values[b])
        outside = (np.arange(9) < abs(a - b)) | (np.arange(9) > a + b)
        assert not table[a, b, outside].any()
        assert not table[a, b, (np.arange(9) + a + b) % 2 == 1].any()


def random_problem(n_features=3, degree=3, n_targets=3):
    rng = np.random.default_rng(0)
    multi_indices = Truncation.of_degree(n_features, degree).listed()
    laws = [NormalLaw(0.0, 1.0), UniformLaw(2.0, 1.0)] * n_features
    coefficients = rng.normal(size=(n_targets, len(multi_indices)))
    return laws[:n_features], coefficients, multi_indices


@cases(
    ("limit", "value"),
    ("_PAIRS_AT_ONCE", 7),
    ("_PRODUCTS_AT_ONCE", 11),
    ("_NUMBERS_AT_ONCE", 1),
    ("_LARGEST_KEY", 8),  # a word per input
    ("_LARGEST_KEY", 60),
)
def test_moments_do_not_depend_on_how_the_work_is_cut(monkeypatch, limit, value):
    problem = random_problem(n_targets=20)
    plain = expansion_moments(*problem)
    monkeypatch.setattr(moments, limit, value)
    cut = expansion_moments(*problem)
    assert_allclose(cut.skewness, plain.skewness, rtol=1e-10)
    assert_allclose(cut.kurtosis, plain.kurtosis, rtol=1e-10)


def test_many_inputs_need_long_keys():
    """Sixty inputs of which three matter have the moments of the three."""
    laws, coefficients, multi_indices = random_problem()
    wide = np.zeros((len(multi_indices), 60), dtype=np.int64)
    wide[:, [0, 30, 59]] = multi_indices
    every = [laws[1]] * 60
    every[0], every[30], every[59] = laws
    # One linear term per input, without a coefficient, needs all keys.
    wide = np.vstack([wide, 2 * np.eye(60, dtype=np.int64)[1:30]])
    padded = np.pad(coefficients, ((0, 0), (0, 29)))
    padded[:, -29:] = 1e-9
    found = expansion_moments(every, padded, wide)
    plain = expansion_moments(laws, coefficients, multi_indices)
    assert_allclose(found.kurtosis, plain.kurtosis, rtol=1e-8)
    assert_allclose(found.skewness, plain.skewness, rtol=1e-8)


def test_targets_do_not_disturb_each_other():
    laws, coefficients, multi_indices = random_problem(n_targets=50)
    coefficients[3, 5:] = 0
    together = expansion_moments(laws, coefficients, multi_indices)
    for i in (0, 3, 49):
        alone = expansion_moments(laws, coefficients[i : i + 1], multi_indices)
        assert together.kurtosis[i] == pytest.approx(alone.kurtosis[0])
        assert together.skewness[i] == pytest.approx(alone.skewness[0])


@pytest.mark.parametrize("scale", [1e-120, -1.0, 1e120])
def test_shape_does_not_depend_on_the_unit(scale):
    laws, coefficients, multi_indices = random_problem()
    plain = expansion_moments(laws, coefficients, multi_indices)
    moved = expansion_moments(laws, scale * coefficients, multi_indices)
    assert_allclose(moved.kurtosis, plain.kurtosis)
    assert_allclose(moved.skewness, np.sign(scale) * plain.skewness)


def test_moments_agree_with_a_sample():
    _, coefficients, multi_indices = random_problem(n_targets=1)
    laws = [UniformLaw(0.0, 1.0)] * 3  # bounded: the sample's kurtosis is steady
    basis = PolynomialBasis(laws, multi_indices)
    X = basis.sample(400_000, np.random.default_rng(0))
    y = basis.evaluate(X) @ coefficients[0]
    found = expansion_moments(laws, coefficients, multi_indices)
    assert found.skewness[0] == pytest.approx(stats.skew(y), abs=0.03)
    assert found.kurtosis[0] == pytest.approx(stats.kurtosis(y), abs=0.1)


@pytest.mark.parametrize("name", ["normal", "uniform"])
def test_moments_of_a_learned_distribution_are_those_of_its_polynomials(name, rng):
    X = rng.normal(size=(60, 2)) if name == "normal" else rng.uniform(size=(60, 2))
    y = X[:, 0] ** 3 + X[:, 1]
    learned = PolynomialChaosRegressor(3, solver="ols").fit(X, y)
    frozen = [law.to_scipy() for law in learned.basis_.laws]
    given = PolynomialChaosRegressor(3, solver="ols", distribution=frozen).fit(X, y)
    found, true = learned.moments(), given.moments()
    assert_allclose(found.skewness, true.skewness, rtol=1e-8)
    assert_allclose(found.kurtosis, true.kurtosis, rtol=1e-8)
