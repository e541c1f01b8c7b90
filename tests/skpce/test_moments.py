"""Skewness and kurtosis against quadrature, enumeration and closed forms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from numpy.polynomial.laguerre import laggauss
from numpy.polynomial.legendre import leggauss
from numpy.testing import assert_allclose
from scipy import stats
from scipy.stats import expon, norm, uniform

from skpce import Expansion, PolynomialChaosRegressor
from skpce._basis.basis import PolynomialBasis, Truncation
from skpce._expansion import moments
from skpce._expansion.moments import expansion_moments
from skpce._input_laws.families import NormalLaw, UniformLaw
from tests.shared import agree, cases

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
    names = "mean", "variance", "skewness", "kurtosis"
    for name, value in zip(names, expected, strict=True):
        assert_allclose(getattr(found, name), value, rtol=rtol, atol=atol)


@cases("names", *itertools.combinations_with_replacement(RULES, 3))
def test_moments_are_those_of_a_tensor_rule(names, rng):
    rules = [RULES[name] for name in names]
    X, weights = tensor_rule(rules, 7)  # exact to degree 13; 4 times 3 is needed
    pce = PCE(3, distribution=[rule[0] for rule in rules], solver="ols")
    pce.fit(X[: 7**3], rng.normal(size=(len(X), 2)))
    expansion = Expansion(pce.basis_, rng.normal(size=pce.coefficients_.shape))
    y = expansion(X)
    assert_moments(expansion.moments(), weighted_moments(y, weights))


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
    found = pce.fit(X, rng.normal(size=len(X))).moments()
    assert found.variance > 0
    assert np.isnan(found.kurtosis).all()


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


def test_moments_of_a_fit_without_settings_are_those_of_its_predictions(rng):
    """Polynomials of high degree are held in ``predict``: as such they explode."""
    X = rng.normal(size=(120, 2))
    y = np.abs(X[:, 0]) + np.tanh(2 * X[:, 1]) + 0.2 * rng.normal(size=len(X))
    model = PCE(distribution="normal").fit(X, y)
    drawn = model.predict(model.basis_.sample(100_000, np.random.default_rng(5)))
    found = model.moments()
    assert found.variance == pytest.approx(model.total_variance_)
    assert_allclose(found.skewness, stats.skew(drawn), atol=0.03)
    assert_allclose(found.kurtosis, stats.kurtosis(drawn), atol=0.1)


@cases(
    ("limit", "value"),
    *(("_PAIRS_AT_ONCE", 7), ("_PAIRS_AT_ONCE", 60), ("_TARGETS_AT_ONCE", 3)),
)
def test_moments_do_not_depend_on_how_the_work_is_cut(limit, value, monkeypatch, rng):
    terms = Truncation.of_degree(3, 3).listed()
    laws = [NormalLaw(0.0, 1.0), UniformLaw(2.0, 1.0), NormalLaw(0.0, 1.0)]
    coefficients = rng.normal(size=(20, len(terms)))
    problem = PolynomialBasis(laws, terms), coefficients, np.ones(20)
    plain = expansion_moments(*problem)
    monkeypatch.setattr(moments, limit, value)
    agree(expansion_moments(*problem), plain, "skewness", "kurtosis", rtol=1e-10)
