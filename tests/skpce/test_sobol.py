"""Sobol indices against closed forms, scipy and the laws that they obey."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.stats import norm, uniform
from sklearn.base import clone

from skpce import PolynomialChaosFeatures, PolynomialChaosRegressor
from skpce._basis.basis import Truncation
from skpce._expansion.expansion import indices_of_terms
from skpce._solvers import SOLVERS
from tests.shared import ridge_pce


def ishigami(X, a=7.0, b=0.1):
    return np.sin(X[:, 0]) * (1 + b * X[:, 2] ** 4) + a * np.sin(X[:, 1]) ** 2


def ishigami_indices(a=7.0, b=0.1):
    """Ishigami and Homma (1990), in closed form."""
    first = 0.5 * (1 + b * np.pi**4 / 5) ** 2
    second = a**2 / 8
    interaction = b**2 * np.pi**8 * (1 / 18 - 1 / 50)
    total = first + second + interaction
    return (
        np.array([first, second, 0.0]) / total,
        np.array([first + interaction, second, interaction]) / total,
        total,
    )


@pytest.mark.parametrize("solver", ["ols", "ridge"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_ishigami_under_frozen_laws(solver, seed):
    X = np.random.default_rng(seed).uniform(-np.pi, np.pi, size=(1000, 3))
    law = uniform(-np.pi, 2 * np.pi)
    pce = PolynomialChaosRegressor(12, distribution=law, solver=solver)
    pce.fit(X, ishigami(X))
    first, total, variance = ishigami_indices()
    assert np.abs(pce.total_sobol_indices_[0] - total).max() < 1e-4
    assert np.abs(pce.sobol_indices_[0] - first).max() < 1e-4
    assert pce.total_variance_[0] == pytest.approx(variance, rel=1e-3)
    assert pce.q2_[0] > 0.9999


@pytest.mark.parametrize("solver", ["ols", "ridge"])
def test_ishigami_under_learned_bounds(solver):
    X = np.random.default_rng(0).uniform(-np.pi, np.pi, size=(1000, 3))
    pce = PolynomialChaosRegressor(12, distribution="uniform", solver=solver)
    pce.fit(X, ishigami(X))
    assert np.abs(pce.total_sobol_indices_[0] - ishigami_indices()[1]).max() < 1e-2


def test_error_falls_with_the_degree():
    """Ishigami is analytic: the error falls faster than any power of the degree."""
    X = np.random.default_rng(0).uniform(-np.pi, np.pi, size=(1500, 3))
    law = uniform(-np.pi, 2 * np.pi)
    errors = []
    for degree in (4, 6, 8, 10, 12):
        pce = PolynomialChaosRegressor(degree, distribution=law, solver="ols")
        found = pce.fit(X, ishigami(X)).total_sobol_indices_[0]
        errors.append(np.abs(found - ishigami_indices()[1]).max())
    slope = np.polyfit([4, 6, 8, 10, 12], np.log(errors), 1)[0]
    assert slope < -0.8, errors


@pytest.mark.parametrize("solver", ["ols", "ridge"])
def test_sobol_g(solver):
    a = np.array([0.0, 1.0, 4.5])
    X = np.random.default_rng(0).uniform(size=(2000, 3))
    y = np.prod((np.abs(4 * X - 2) + a) / (1 + a), axis=1)
    partial = 1 / (3 * (1 + a) ** 2)
    variance = np.prod(1 + partial) - 1
    total = partial * np.prod(1 + partial) / (1 + partial) / variance
    pce = PolynomialChaosRegressor(
        14, distribution=uniform(0, 1), solver=solver, truncation="hyperbolic", q=0.85
    ).fit(X, y)
    assert np.abs(pce.sobol_indices_[0] - partial / variance).max() < 2e-2
    assert np.abs(pce.total_sobol_indices_[0] - total).max() < 2e-2


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_random_hermite_polynomial_is_recovered(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(1.0, 2.0, size=(300, 3))
    features = PolynomialChaosFeatures(4, distribution=norm(1, 2)).fit(X)
    coefficients = rng.normal(size=(2, len(features.multi_indices_)))
    y = features.transform(X) @ coefficients.T
    pce = PolynomialChaosRegressor(4, distribution=norm(1, 2), solver="ols").fit(X, y)
    assert_allclose(pce.coefficients_, coefficients, atol=1e-10)
    squares = coefficients[:, 1:] ** 2
    active = features.multi_indices_[1:] > 0
    for i in range(3):
        alone = active[:, i] & (active.sum(axis=1) == 1)
        first = squares[:, alone].sum(axis=1) / squares.sum(axis=1)
        total = squares[:, active[:, i]].sum(axis=1) / squares.sum(axis=1)
        assert_allclose(pce.sobol_indices_[:, i], first, atol=1e-10)
        assert_allclose(pce.total_sobol_indices_[:, i], total, atol=1e-10)


@pytest.mark.skipif(
    not hasattr(stats, "sobol_indices"), reason="scipy before 1.11 has no sobol_indices"
)
def test_agrees_with_the_sampling_of_scipy():
    X = np.random.default_rng(0).uniform(-np.pi, np.pi, size=(1000, 3))
    law = uniform(-np.pi, 2 * np.pi)
    pce = ridge_pce(12, distribution=law).fit(X, ishigami(X))
    sampled = stats.sobol_indices(
        func=lambda x: ishigami(x.T), n=2**13, dists=[law] * 3, random_state=0
    )
    assert np.abs(sampled.first_order - pce.sobol_indices_[0]).max() < 1e-2
    assert np.abs(sampled.total_order - pce.total_sobol_indices_[0]).max() < 1e-2


def test_agrees_with_salib():
    saltelli = pytest.importorskip("SALib.sample.sobol")
    analyzer = pytest.importorskip("SALib.analyze.sobol")
    bounds = [[-np.pi, np.pi]] * 3
    problem = {"num_vars": 3, "names": ["a", "b", "c"], "bounds": bounds}
    points = saltelli.sample(problem, 2**12, calc_second_order=False, seed=0)
    found = analyzer.analyze(
        problem, ishigami(points), calc_second_order=False, num_resamples=2, seed=0
    )
    law = uniform(-np.pi, 2 * np.pi)
    pce = ridge_pce(12, distribution=law).fit(points[:1000], ishigami(points[:1000]))
    assert np.abs(found["ST"] - pce.total_sobol_indices_[0]).max() < 2e-2


MULTI_INDICES = Truncation.of_degree(3, 3).listed()
COEFFICIENTS = arrays(
    np.float64,
    (2, len(MULTI_INDICES)),
    elements=st.floats(-1e6, 1e6, allow_nan=False, allow_infinity=False),
)


@settings(max_examples=150)
@given(COEFFICIENTS)
def test_indices_are_shares(coefficients):
    found = indices_of_terms(coefficients, MULTI_INDICES)
    assert np.all(found.first_order >= 0)
    assert np.all(found.first_order <= found.total_order + 1e-12)
    assert np.all(found.total_order <= 1 + 1e-12)
    assert np.all(found.first_order.sum(axis=1) <= 1 + 1e-12)
    assert np.all(found.total_variance >= 0)
    varies = found.total_variance > 0
    assert np.all(found.total_order[varies].sum(axis=1) >= 1 - 1e-12)
    assert not found.total_order[~varies].any()


@settings(max_examples=50)
@given(COEFFICIENTS, st.permutations(range(3)), st.floats(0.01, 100))
def test_indices_follow_relabelled_inputs_and_ignore_the_scale(
    coefficients, order, scale
):
    plain = indices_of_terms(coefficients, MULTI_INDICES)
    moved = indices_of_terms(scale * coefficients, MULTI_INDICES[:, order])
    # Squares of tiny coefficients underflow.
    small = plain.total_variance < 1e-250
    assert_allclose(
        moved.total_order[~small], plain.total_order[~small][:, order], atol=1e-9
    )


@pytest.mark.filterwarnings("ignore::skpce.ConstantTargetWarning")
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, -1e5 - 0.1, 1e8 + 0.1])
def test_a_constant_target_has_no_attribution(solver, value, rng):
    X = rng.normal(size=(23, 3))
    y = np.column_stack([np.full(23, value), X[:, 0]])
    pce = PolynomialChaosRegressor(solver=solver, distribution="normal").fit(X, y)
    assert not pce.sobol_indices_[0].any()
    assert not pce.total_sobol_indices_[0].any()
    assert pce.total_variance_[0] == 0.0
    assert np.isnan(pce.q2_[0])
    assert pce.total_sobol_indices_[1, 0] > 0.9
    if solver != "paper":  # which shrinks the mean
        assert_allclose(pce.predict(X)[:, 0], value, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::skpce.ConstantTargetWarning")
def test_no_target_varies():
    pce = ridge_pce().fit(np.eye(5, 2), np.full(5, 0.1))
    assert_array_equal(pce.feature_importances_, [0, 0])


@pytest.mark.parametrize("solver", ["ridge", "ols"])
def test_neither_signs_nor_units_matter(solver, rng):
    X = rng.normal(size=(50, 3))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=50)
    plain = PolynomialChaosRegressor(solver=solver, distribution="normal").fit(X, y)
    moved = clone(plain).fit(X * [10, 0.1, -3] + 7, -1000 * y + 5)
    indices = plain.total_sobol_indices_
    assert_allclose(moved.total_sobol_indices_, indices, atol=1e-8)
    assert moved.total_variance_ == pytest.approx(1e6 * plain.total_variance_)
