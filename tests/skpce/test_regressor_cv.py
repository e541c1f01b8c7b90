"""The choice of degree, truncation and solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, uniform
from sklearn.base import clone

from skpce import PolynomialChaosRegressor, PolynomialChaosRegressorCV

SEED = 0


@pytest.fixture
def cubic():
    rng = np.random.default_rng(SEED)
    X = rng.uniform(-1, 1, size=(60, 2))
    y = np.column_stack([X[:, 0] ** 3 + X[:, 1], X[:, 0] * X[:, 1]])
    return X, y + 1e-3 * rng.normal(size=y.shape)


def test_the_degree_is_found(cubic):
    X, y = cubic
    search = PolynomialChaosRegressorCV(distribution=uniform(-1, 2)).fit(X, y)
    assert search.degree_ == 3
    assert search.q2_.min() > 0.999


def test_the_winner_is_the_estimator_itself(cubic):
    X, y = cubic
    search = PolynomialChaosRegressorCV(distribution=uniform(-1, 2)).fit(X, y)
    alone = PolynomialChaosRegressor(
        search.degree_,
        distribution=uniform(-1, 2),
        truncation="total_degree" if search.q_ == 1.0 else "hyperbolic",
        q=search.q_,
        solver=search.chosen_solver_,
    ).fit(X, y)
    np.testing.assert_array_equal(search.coefficients_, alone.coefficients_)
    np.testing.assert_array_equal(search.predict(X), alone.predict(X))
    np.testing.assert_array_equal(search.q2_, alone.q2_)
    for mean, std in zip(
        search.predict(X, return_std=True),
        alone.predict(X, return_std=True),
        strict=True,
    ):
        np.testing.assert_array_equal(mean, std)


def test_results_are_those_of_single_fits(cubic):
    """The error of each row: corrected leave-one-out in units of the variance."""
    X, y = cubic
    search = PolynomialChaosRegressorCV(
        degrees=(1, 3),
        qs=(1.0, 0.5),
        solvers=("ols", "ridge"),
        distribution=uniform(-1, 2),
    ).fit(X, y)
    results = search.cv_results_
    # At degree one a q-norm changes nothing and is not tried twice.
    assert list(zip(results["degree"], results["q"], strict=True)) == [
        (1, 1.0), (1, 1.0), (3, 1.0), (3, 1.0), (3, 0.5), (3, 0.5),
    ]  # fmt: skip
    for degree, q, solver, n_terms, error in zip(*results.values(), strict=True):
        alone = PolynomialChaosRegressor(
            int(degree),
            distribution=uniform(-1, 2),
            truncation="hyperbolic",
            q=float(q),
            solver=str(solver),
        ).fit(X, y)
        assert n_terms == len(alone.multi_indices_)
        assert error == pytest.approx(np.mean(alone.loo_error_ / y.var(axis=0)))
    assert (
        min(results["error"])
        == results["error"][results["degree"] == search.degree_].min()
    )


@pytest.mark.filterwarnings("ignore::skpce.ConstantTargetWarning")
def test_a_tie_goes_to_the_smaller_basis():
    X = np.random.default_rng(SEED).normal(size=(30, 2))
    search = PolynomialChaosRegressorCV(degrees=(3, 1, 2)).fit(X, np.ones(30))
    assert search.degree_ == 1
    assert search.total_sobol_indices_.tolist() == [[0.0, 0.0]]


def test_methods_of_the_regressor_work(cubic):
    X, y = cubic
    search = PolynomialChaosRegressorCV(distribution=uniform(-1, 2)).fit(X, y)
    assert search.moments().mean.shape == (2,)
    np.testing.assert_allclose(search.shapley_effects().sum(axis=1), 1.0)
    assert search.marginal([0])(X[:, :1]).shape == (60, 2)
    assert not hasattr(search, "partial_fit")
    assert clone(search).fit(X, y).degree_ == search.degree_


def test_weights_are_copies(cubic):
    X, y = cubic
    weights = np.random.default_rng(1).integers(0, 3, size=60)
    search = PolynomialChaosRegressorCV(distribution=norm(0, 1))
    weighted = clone(search).fit(X, y, sample_weight=weights)
    copied = clone(search).fit(
        np.repeat(X, weights, axis=0), np.repeat(y, weights, axis=0)
    )
    np.testing.assert_allclose(weighted.coefficients_, copied.coefficients_, atol=1e-8)
    np.testing.assert_allclose(
        weighted.cv_results_["error"], copied.cv_results_["error"], rtol=1e-6
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"degrees": 3}, "'degrees' parameter .* must be a sequence. Got 3"),
        ({"degrees": ()}, "that is not empty"),
        ({"degrees": (1, -1)}, "must be an int in the range .* Got -1"),
        ({"qs": (0.0,)}, "'qs' parameter"),
        ({"solvers": "ridge"}, "'solvers' parameter .* must be a sequence"),
        ({"solvers": ("paper",)}, "Got 'paper'"),
        ({"distribution": "cauchy"}, "'distribution' parameter"),
    ],
)
def test_bad_choices(parameters, message):
    with pytest.raises(ValueError, match=message):
        PolynomialChaosRegressorCV(**parameters).fit(np.eye(5, 2), np.arange(5.0))
