"""Faults that were found once: weights, scales, failures, what a fit remembers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import uniform
from sklearn.linear_model import Lars, LinearRegression, PoissonRegressor, Ridge
from sklearn.tree import DecisionTreeRegressor

from skpce import PolynomialChaosRegressor
from tests.shared import agree, refuses, ridge_pce

LAW = uniform(-1, 2)
N = 60


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(N, 3))
    return X, np.exp(X[:, 0]) + X[:, 1] * X[:, 2] + 0.05 * rng.normal(size=N)


class WithoutWeights(LinearRegression):
    def fit(self, X, y):
        return super().fit(X, y)


def pce(degree=2, **parameters):
    return PolynomialChaosRegressor(degree, distribution=LAW, **parameters)


@pytest.mark.parametrize("criterion", ["loo", "gcv"])
@pytest.mark.parametrize("solver", ["ridge", "ols", "subspace_pursuit", "paper"])
def test_normalised_weights_are_one_copy_each(X, y, solver, criterion):
    plain = pce(solver=solver, criterion=criterion).fit(X, y)
    normalised = pce(solver=solver, criterion=criterion).fit(X, y, np.full(N, 1 / N))
    agree(plain, normalised, "coefficients_", "alpha_", "q2_", rtol=1e-8, atol=1e-10)
    values = [model.predict(X, return_std=True) for model in (plain, normalised)]
    assert_allclose(*values)


def test_later_samples_cannot_be_normalised_or_change_the_basis(X, y):
    model = pce(criterion="gcv", solver="ridge").fit(X, y)
    message = "at least the number of samples, 60"
    refuses(message, model.partial_fit, X, y, np.full(N, 1 / N))
    message = "cannot change the basis"
    refuses(message, model.set_params(degree=3).partial_fit, X, y)
    model.set_params(degree=2, distribution=uniform(0, 1))
    refuses(message, model.partial_fit, X, y)
    model.set_params(distribution=uniform(-1, 2)).partial_fit(X, y)


def test_equal_weights_are_copies_for_a_regressor_too(X, y):
    weighted = pce(regressor=Ridge(10.0)).fit(X, y, np.full(N, 2.0))
    copied = pce(regressor=Ridge(10.0)).fit(np.r_[X, X], np.r_[y, y])
    assert_allclose(weighted.coefficients_, copied.coefficients_)


def test_a_regressor_with_a_link_is_refused(X, y):
    model = pce(regressor=PoissonRegressor())
    refuses("must predict X @ coef_", model.fit, X, y - y.min() + 0.1)


def test_a_regressor_without_weights_can_be_resampled(X, y):
    model = pce(regressor=WithoutWeights()).fit(X, y)
    bounds = model.sobol_interval(method="bootstrap", random_state=0).total_order
    ols = pce(solver="ols").fit(X, y)
    expected = ols.sobol_interval(method="bootstrap", random_state=0).total_order
    assert_allclose(bounds, expected, atol=1e-9)
    pce(regressor=Lars()).fit(X, y).sobol_interval(method="bootstrap", n_resamples=3)


def test_a_failed_fit_changes_nothing(X, y):
    model = ridge_pce(2, distribution="uniform").fit(X, y)
    before, fitted = model.predict(X), dict(vars(model))
    model.set_params(regressor=DecisionTreeRegressor())
    both = np.c_[y, y]
    refuses(r"expected solver=None with it\. Got 'ridge'", model.fit, 10 * X, both)
    model.set_params(solver=None)
    refuses("linear regressor with coef_", model.fit, 10 * X, both)
    model.set_params(regressor=None, solver="ridge")
    assert vars(model) == fitted
    assert_array_equal(model.predict(X), before)
    refuses("'degree' parameter", model.set_params(degree=-1).fit, X[:, :2], both)
    assert model.n_features_in_ == 3
    assert model.predict(X).shape == (N,)


def test_intervals_of_degree_zero(data):
    for method in ("residual", "bootstrap"):
        found = pce(0).fit(*data).sobol_interval(method=method, random_state=0)
        assert found.total_order.shape == (2, 1, 3)


def test_a_fit_stores_its_own_samples(data):
    X, y = data[0].copy(), np.c_[data[1], data[1] ** 2]
    model = pce().fit(X, y)
    before = model.sobol_interval(random_state=0).total_order
    X[:], y[:] = 7.0, 3.0
    after = model.sobol_interval(random_state=0).total_order
    assert_array_equal(before, after)
