"""Sparse solvers, and what all solvers do."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import legendre
from numpy.testing import assert_allclose
from scipy.stats import norm, uniform
from sklearn.linear_model import LassoCV, LinearRegression, Ridge

from skpce import PolynomialChaosRegressor

UNIFORM = uniform(-1, 2)


@pytest.fixture
def sparse_data():
    """Three of 56 terms, 40 samples, no noise."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(40, 3))
    second = legendre.legval(X[:, 1], [0, 0, 1]) * np.sqrt(5)
    y = 4.0 + 2.0 * np.sqrt(3) * X[:, 0] - second + 3 * X[:, 0] * X[:, 2]
    return X, y


@pytest.mark.parametrize("solver", ["lars", "subspace_pursuit"])
def test_a_sparse_function_is_recovered(sparse_data, solver):
    X, y = sparse_data
    pce = PolynomialChaosRegressor(5, distribution=UNIFORM, solver=solver).fit(X, y)
    expected = {(0, 0, 0): 4.0, (1, 0, 0): 2.0, (0, 2, 0): -1.0, (1, 0, 1): 1.0}
    for row, value in zip(pce.multi_indices_, pce.coefficients_[0], strict=True):
        assert value == pytest.approx(expected.get(tuple(row), 0.0), abs=1e-5)
    assert_allclose(pce.total_sobol_indices_[0], [5 / 6, 1 / 6, 1 / 6], atol=1e-4)
    assert np.count_nonzero(np.abs(pce.coefficients_[0]) > 1e-6) == 4


@pytest.mark.parametrize("solver", ["lars", "subspace_pursuit", None])
def test_leave_one_out_is_that_of_refits(solver, rng):
    """With the terms and the penalty of the fit, by brute force."""
    X = rng.normal(size=(40, 3))
    y = X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=40)
    weights = rng.integers(1, 3, size=40).astype(float)
    pce = PolynomialChaosRegressor(3, distribution=norm(0, 1), solver=solver)
    pce.fit(X, y, weights)
    design, scale = pce.transform(X), pce._problem.fit.scales[0]
    used = np.flatnonzero(scale[1:]) + 1
    residuals = []
    for row in range(40):
        left = weights.copy()
        left[row] -= 1
        model = Ridge(pce.alpha_[0], solver="cholesky", tol=1e-12)
        model = model if pce.alpha_[0] > 0 else LinearRegression()
        model.fit(design[:, used] * scale[used], y, sample_weight=left)
        found = model.predict(design[[row]][:, used] * scale[used])
        residuals.append(y[row] - found[0])
    assert_allclose(pce._problem.fit.loo_residuals[:, 0], residuals, rtol=1e-6)
    error = np.average(np.square(residuals), weights=weights)
    assert pce.loo_error_[0] == pytest.approx(error)


def test_the_search_for_terms_has_its_price():
    """Plain leave-one-out would retain terms of noise; the corrected one does not."""
    retained = {name: [] for name in ("lars", "subspace_pursuit", None)}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(50, 4)), rng.normal(size=50)
        for name, counts in retained.items():
            pce = PolynomialChaosRegressor(4, distribution=norm(0, 1), solver=name)
            pce.fit(X, y)
            counts.append(pce.total_variance_[0])
    for name, variances in retained.items():
        assert np.median(variances) < 0.1, name


def test_any_linear_regressor(rng):
    X = rng.normal(size=(60, 2))
    y = np.column_stack([1 + X[:, 0] + X[:, 0] * X[:, 1], X[:, 1]])
    law = norm(0, 1)
    pce = PolynomialChaosRegressor(2, distribution=law, regressor=LinearRegression())
    ols = PolynomialChaosRegressor(2, distribution=law, solver="ols").fit(X, y)
    assert_allclose(pce.fit(X, y).coefficients_, ols.coefficients_, atol=1e-12)
    assert pce.solver_.tolist() == ["LinearRegression"] * 2
    lasso = PolynomialChaosRegressor(2, distribution=law, regressor=LassoCV()).fit(X, y)
    assert (lasso.q2_ > 0.99).all()
    expected = LassoCV().fit(lasso.transform(X)[:, 1:], y[:, 0])
    assert_allclose(lasso.coefficients_[0, 0], expected.intercept_)


def test_residuals_of_a_regressor_are_held_out(rng):
    """A regressor that memorises shows it in the error."""
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    memory = Ridge(1e-10, solver="svd")
    pce = PolynomialChaosRegressor(4, distribution=norm(0, 1), regressor=memory)
    pce.fit(X, y)
    assert_allclose(pce.predict(X), y, atol=1e-4)
    assert pce.q2_[0] < 0
