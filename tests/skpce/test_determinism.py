"""The same data and seed give the same numbers; the order of columns is a name."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skpce import PolynomialChaosRegressor
from skpce._solvers import SOLVERS

NAMES = ("coefficients_", "alpha_", "sobol_indices_", "total_sobol_indices_", "q2_")


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    y = np.column_stack([X[:, 0] + X[:, 1] ** 2, np.sin(X[:, 2])])
    return X, y + 0.2 * rng.normal(size=y.shape)


@pytest.mark.parametrize("solver", [*SOLVERS, None])
def test_a_second_fit_is_the_first(X, y, solver):
    first = PolynomialChaosRegressor(3, solver=solver, distribution="normal").fit(X, y)
    np.random.default_rng().random()
    second = PolynomialChaosRegressor(3, solver=solver, distribution="normal")
    second.fit(X[:20], y[:20]).fit(X, y)
    for name in NAMES:
        assert_array_equal(getattr(first, name), getattr(second, name))


@pytest.mark.parametrize("solver", [*SOLVERS, None])
def test_the_order_of_rows_does_not_matter(X, y, solver):
    """Nor that of inputs, where every term has another place, or of targets."""
    rows = np.random.default_rng(1).permutation(len(X))
    columns = [2, 0, 1]
    one = PolynomialChaosRegressor(3, solver=solver, distribution="normal").fit(X, y)
    other = PolynomialChaosRegressor(3, solver=solver, distribution="normal")
    other.fit(X[rows][:, columns], y[rows][:, ::-1])
    indices = one.sobol_indices_[::-1, columns]
    assert_allclose(other.sobol_indices_, indices, atol=1e-6)
    effects = one.shapley_effects()[::-1, columns]
    assert_allclose(other.shapley_effects(), effects, atol=1e-6)
    values = one.predict(X)[:, ::-1]
    assert_allclose(other.predict(X[:, columns]), values, atol=1e-6)


@pytest.mark.parametrize("solver", ["ridge", "lars", None])
def test_predictions_do_not_depend_on_the_batch(X, y, solver):
    model = PolynomialChaosRegressor(3, solver=solver, distribution="normal").fit(X, y)
    whole, deviation = model.predict(X, return_std=True)
    for rows in (slice(0, 1), slice(7, 9), slice(30, 50)):
        part, scale = model.predict(X[rows], return_std=True)
        assert_allclose(part, whole[rows], rtol=1e-12, atol=1e-12)
        assert_allclose(scale, deviation[rows], rtol=1e-12)
