"""The regressor as an estimator: shapes, scores, errors, and no order of data."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import r2_score

from skpce import (
    ConstantTargetWarning,
    PolynomialChaosFeatures,
    PolynomialChaosRegressor,
)
from skpce._solvers import SOLVERS
from tests.shared import ridge_pce


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, np.column_stack([X[:, 0] ** 2, X[:, 1] + rng.normal(size=60)])


def test_shapes_follow_y(X, y):
    both = ridge_pce(3).fit(X, y)
    assert both.coefficients_.shape == (2, 20)
    assert both.sobol_indices_.shape == both.total_sobol_indices_.shape == (2, 3)
    for name in ("alpha_", "q2_", "loo_error_", "total_variance_"):
        assert getattr(both, name).shape == (2,)
    together = both.aggregated_sobol_indices().total_order
    assert_allclose(together, both.feature_importances_)
    assert both.predict(X).shape == (60, 2)
    one = ridge_pce(3).fit(X, y[:, 0])
    assert one.predict(X).shape == (60,)
    assert_allclose(one.predict(X), both.predict(X)[:, 0], rtol=1e-10)
    column = ridge_pce(3).fit(X, y[:, :1])
    assert column.predict(X).shape == (60, 1)


def test_transform_is_the_basis_and_predict_its_product(X, y):
    pce = ridge_pce(2).fit(X, y)
    basis = PolynomialChaosFeatures(2, distribution="normal").fit(X)
    assert_array_equal(pce.transform(X), basis.transform(X))
    assert_allclose(pce.predict(X), pce.transform(X) @ pce.coefficients_.T)
    assert pce.get_feature_names_out()[-1] == "He2(x2)"


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


def test_score_and_q2(X, y):
    pce = ridge_pce(2).fit(X, y)
    assert pce.score(X, y) == pytest.approx(r2_score(y, pce.predict(X)))
    spread = np.sum((y - y.mean(axis=0)) ** 2, axis=0)
    assert_allclose(pce.q2_, 1 - 60 * pce.loo_error_ / spread)
    assert_allclose(pce.unexplained_share_, np.clip(1 - pce.q2_, 0, 1))


def test_a_constant_target_is_reported(X, y):
    """Its indices are 0: no silent share of one."""
    message = "^y has no variance: the Sobol indices are 0 and q2_ is NaN"
    for model in (ridge_pce(), PolynomialChaosRegressor()):
        with pytest.warns(ConstantTargetWarning, match=message) as caught:
            model.fit(X, np.full(len(X), 0.1))
        assert len(caught) == 1
        assert caught[0].filename == __file__
        assert not model.total_sobol_indices_.any()
    mixed = np.column_stack([y[:, 0], np.full(len(X), 1 / 3)])
    with pytest.warns(ConstantTargetWarning, match=r"^The targets \[1\] of y have no"):
        pce = ridge_pce().fit(X, mixed)
    assert pce.total_sobol_indices_[0].sum() > 0.9
    assert not pce.total_sobol_indices_[1].any()
