"""Fits from sums over blocks of samples, and samples that come later."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.linear_model import LinearRegression

from skpce import PolynomialChaosRegressor
from skpce._solvers.problem import (
    DEFAULT_ALPHAS,
    DesignDecomposition,
    DesignMoments,
    solve_moments,
    solve_path,
)
from tests.shared import OLS, agree, cases, refuses, ridge_pce

FROM_SUMS = ["ridge", "ols"]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.column_stack([np.exp(0.4 * X[:, 0]) + X[:, 1] * X[:, 2], X[:, 2] + 1e3])
    return X, y + 0.3 * rng.normal(size=y.shape), rng.integers(1, 4, 200).astype(float)


def gcv(solver, **parameters):
    how = {"distribution": norm(0, 1), "solver": solver, "criterion": "gcv"}
    return PolynomialChaosRegressor(3, **how | parameters)


@pytest.mark.parametrize("solver", FROM_SUMS)
def test_batches_in_any_order_are_one_fit(X, y, weights, solver):
    whole = gcv(solver).fit(X, y, weights)
    continued = gcv(solver).fit(X[:100], y[:100], weights[:100])
    laters = [continued.partial_fit(X[100:], y[100:], weights[100:])]
    for batches in ([50, 120], [3, 150, 160], range(10, 200, 10)):
        order = np.random.default_rng(1).permutation(200)
        laters.append(gcv(solver))
        for rows in np.split(order, batches):
            laters[-1].partial_fit(X[rows], y[rows], weights[rows])
    for later in laters:
        names = "coefficients_", "sobol_indices_", "q2_", "alpha_"
        agree(later, whole, *names, rtol=1e-9, atol=1e-10)


def test_large_designs_are_fitted_in_blocks(X, y, monkeypatch):
    monkeypatch.setattr("skpce._regressor.LARGEST_WHOLE_DESIGN", 1000)
    large = PolynomialChaosRegressor(3, **OLS).fit(X, y)
    assert large._problem.samples is None
    whole = PolynomialChaosRegressor(3, criterion="loo", **OLS).fit(X, y)
    assert whole._problem.samples is not None
    assert_allclose(large.coefficients_, whole.coefficients_, atol=1e-9)
    # Generalised cross-validation is near leave-one-out, not equal to it.
    assert_allclose(large.q2_, whole.q2_, atol=0.02)
    assert not np.array_equal(large.q2_, whole.q2_)
    deviations = [model.predict(X, return_std=True)[1] for model in (large, whole)]
    assert_allclose(*deviations, rtol=0.02)
    learned = PolynomialChaosRegressor(distribution=norm(0, 1)).fit(X, y)
    assert learned._problem.samples is None
    assert_allclose(learned.q2_, whole.q2_, atol=0.05)


def test_more_terms_than_samples_are_not_summed(monkeypatch, rng):
    """Sums are matrices of terms by terms, larger than such a design."""
    X, y = rng.normal(size=(20, 6)), rng.normal(size=20)
    monkeypatch.setattr("skpce._regressor.LARGEST_WHOLE_DESIGN", 100)
    pce = ridge_pce(3).fit(X, y)
    assert len(pce.multi_indices_) == 84
    assert pce._problem.sums is None
    assert pce._problem.samples is not None


def test_sums_must_fit_in_memory(monkeypatch):
    """The design would: it has five rows."""
    X = np.random.default_rng(0).normal(size=(5, 6))
    pages = {"SC_PAGE_SIZE": 24 * 84, "SC_PHYS_PAGES": 83.0 / 0.75}
    monkeypatch.setattr("os.sysconf", pages.get)
    ridge_pce(3).fit(X, X[:, 0])
    for method in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=r"84 terms; a fit from sums needs"):
            getattr(gcv("ridge"), method)(X, X[:, 0])


def test_generalised_cross_validation_by_hand(X, y):
    pce = gcv("ols").fit(X, y)
    model = LinearRegression().fit(pce.transform(X)[:, 1:], y)
    rest = np.square(y - model.predict(pce.transform(X)[:, 1:])).mean(axis=0)
    expected = rest / (1 - len(pce.multi_indices_) / 200) ** 2
    assert_allclose(pce.loo_error_, expected, rtol=1e-8)
    assert_allclose(pce.q2_, 1 - expected / y.var(axis=0), rtol=1e-8)


@cases(
    "parameters",
    {},
    {"criterion": "gcv"},
    {"distribution": norm(0, 1), "criterion": "gcv", "solver": "lars"},
    {"distribution": [norm(0, 1), "normal"], "criterion": "gcv"},
    {"distribution": norm(0, 1), "criterion": "gcv", "regressor": LinearRegression()},
)
def test_only_exact_fits_can_be_continued(parameters):
    assert not hasattr(PolynomialChaosRegressor(**parameters), "partial_fit")


def test_later_samples_must_fit(X, y):
    pce = gcv("ridge").partial_fit(X, y)
    before = pce.coefficients_
    refuses("3 features", pce.partial_fit, X[:, :2], y)
    refuses("1 targets; expected 2, as in the", pce.partial_fit, X, y[:, 0])
    assert_array_equal(pce.coefficients_, before)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "p"), [(30, 20), (30, 40), (50, 49), (10, 200)])
def test_sums_choose_the_penalties_of_the_samples(n, p, weighted, rng):
    """Also where terms explain everything, and what is left is less than rounding."""
    design = np.hstack([np.ones((n, 1)), rng.normal(size=(n, p))])
    targets = 3 + np.tanh(design[:, 1:4] @ rng.normal(size=(3, 20)))
    targets += 0.1 * rng.normal(size=targets.shape)
    weights = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    groups = np.arange(20)
    sums = DesignMoments.of_block(design, targets, weights)
    found = solve_moments(sums, DEFAULT_ALPHAS, groups)
    decomposition = DesignDecomposition.from_design(design, weights)
    expected = solve_path(decomposition, targets, DEFAULT_ALPHAS, groups, "gcv")
    assert_array_equal(found.alpha, expected.alpha)
    assert_allclose(found.criterion, expected.criterion, rtol=1e-7)
    assert_allclose(found.coefficients, expected.coefficients, rtol=1e-9, atol=1e-10)
