"""Intervals of Sobol indices: batched bootstrap, residual bounds, prediction bands."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.linear_model import LassoCV

from skpce import MoreTermsThanRowsWarning, PolynomialChaosRegressor
from skpce._basis.basis import index_masks
from skpce._expansion.intervals import _left_out, regression_variance
from skpce._expansion.problem import resample_counts
from skpce._solvers import SOLVERS
from tests.shared import (
    CIRCLE,
    OLS,
    cases,
    copies,
    inside,
    ishigami,
    ishigami_indices,
    refuses,
    ridge_pce,
)


def ishigami_data(n_samples):
    X = np.random.default_rng(0).uniform(-np.pi, np.pi, size=(n_samples, 3))
    return X, ishigami(X)


def noisy_data(n_samples=40, n_targets=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 3))
    y = np.exp(0.3 * X @ rng.normal(size=(3, n_targets)))
    return X, y + 0.1 * rng.normal(size=y.shape)


def assert_same_as_loop(pce, counts):
    solver, problem, fit = pce._problem.solver, pce._problem.linear, pce._problem.fit
    batched = solver.resample(problem, fit, counts)
    loop = [solver.refit(problem.resampled(row), fit) for row in counts]
    scale = np.abs(loop).max()
    assert_allclose(batched, loop, rtol=0, atol=1e-8 * scale)


# The batched bootstrap


@pytest.mark.parametrize("solver", sorted(SOLVERS))
@pytest.mark.parametrize(("n_samples", "degree"), [(25, 3), (80, 2), (30, 1)])
def test_resampling_in_a_batch_is_a_loop_of_refits(solver, n_samples, degree):
    X, y = noisy_data(n_samples)
    pce = ridge_pce(degree, solver=solver).fit(X, y)
    generator = np.random.default_rng(0)
    assert_same_as_loop(pce, resample_counts(np.ones(n_samples), 8, generator))


@pytest.mark.parametrize("solver", ["ols", "ridge"])
def test_resamples_without_full_rank(solver):
    # 20 terms, 24 samples of which a resample shows about 15, each of them twice.
    X, y = noisy_data(12)
    pce = PolynomialChaosRegressor(3, solver=solver, distribution=norm(0, 1))
    with pytest.warns(MoreTermsThanRowsWarning, match="24 samples are of 12 settings"):
        pce.fit(np.vstack([X, X]), np.vstack([y, y]))
    counts = resample_counts(np.ones(24), 10, np.random.default_rng(0))
    assert_same_as_loop(pce, counts)


@pytest.mark.parametrize("method", ["residual", "bootstrap"])
def test_weighted_and_repeated_samples_agree(method):
    X, y = noisy_data(40, 1)
    weights = np.random.default_rng(3).integers(1, 4, size=40)
    bounds = []
    for table in ((X, y, weights), copies(weights, X, y)):
        pce = ridge_pce(2, distribution=norm(0, 1)).fit(*table)
        how = {"method": method, "n_resamples": 4000, "random_state": 0}
        bounds.append(pce.sobol_interval(**how).total_order)
    assert_allclose(*bounds, atol=0.03)


def test_bootstrap_spread_of_least_squares_is_the_theory(rng):
    """Cov(c) = sigma^2 (A'A)^-1 for a linear model with independent noise."""
    X = rng.normal(size=(400, 2))
    y = 1 + X @ [1.0, 0.5] + 0.3 * rng.normal(size=400)
    pce = PolynomialChaosRegressor(1, solver="ols", distribution=norm(0, 1)).fit(X, y)
    counts = resample_counts(np.ones(400), 3000, rng)
    draws = pce._problem.solver.resample(pce._problem.linear, pce._problem.fit, counts)
    design = pce.transform(X)
    theory = 0.3 * np.sqrt(np.diag(np.linalg.inv(design.T @ design)))
    assert_allclose(draws[:, 0].std(axis=0), theory, rtol=0.15)


# Residual bounds


@pytest.mark.parametrize("solver", ["ols", "ridge", "lars", "paper", None])
@pytest.mark.parametrize("weighted", [False, True])
def test_components_left_out_are_those_of_refits(solver, weighted):
    X, y = noisy_data(30, 2)
    weights = np.random.default_rng(2).integers(1, 3, size=30) if weighted else None
    pce = PolynomialChaosRegressor(2, solver=solver, distribution=norm(0, 1))
    pce.fit(X, y, weights)
    solver, problem, fit = pce._problem.solver, pce._problem.linear, pce._problem.fit
    mask = index_masks(pce.multi_indices_)[:, 4]
    _, components = next(_left_out(problem, fit, fit.coefficients, [mask]))
    copies = problem.weights.astype(int)
    for k in (0, 7, 29):
        counts = copies - (np.arange(30) == k)
        refitted = solver.refit(problem.resampled(counts), fit)
        expected = (problem.design[k] * mask) @ refitted.T
        assert_allclose(components[k], expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("solver", ["subspace_pursuit", "ridge"])
@pytest.mark.parametrize("n_samples", [60, 150])
def test_intervals_hold_the_truth_on_ishigami(solver, n_samples):
    X, y = ishigami_data(n_samples)
    pce = PolynomialChaosRegressor(8, distribution=CIRCLE, solver=solver)
    found = pce.fit(X, y).sobol_interval(random_state=0)
    truth = np.array(ishigami_indices()[:2])
    low, high = np.stack([found.first_order[:, 0], found.total_order[:, 0]], axis=1)
    assert ((low <= truth + 1e-6) & (truth - 1e-6 <= high)).all()


def test_the_bootstrap_misses_truncation_and_residual_bounds_do_not():
    # Degree 2 cannot show sin; its indices are far from the truth.
    X, y = ishigami_data(1000)
    pce = PolynomialChaosRegressor(2, distribution=CIRCLE, solver="ols").fit(X, y)
    missed = pce.sobol_interval(method="bootstrap", random_state=0).total_order
    held = pce.sobol_interval(random_state=0).total_order
    truth = ishigami_indices()[1]
    assert not inside(missed[:, 0], truth).all()
    assert inside(held[:, 0], truth).all()
    # Neither can a posterior of the terms that are left.
    cut = PolynomialChaosRegressor(2, distribution=CIRCLE).fit(X, y)
    assert inside(cut.sobol_interval(random_state=0).total_order[:, 0], truth).all()


@pytest.mark.parametrize("solver", ["ridge", "ols", "subspace_pursuit"])
def test_a_fit_at_chance_has_wide_intervals(solver, rng):
    X, y = rng.normal(size=(60, 3)), rng.normal(size=(60, 4))
    interval = ridge_pce(2, solver=solver).fit(X, y).sobol_interval(random_state=0)
    for bounds in (interval.first_order, interval.total_order, interval.shapley):
        assert (bounds[0] < 0.2).all()
        assert (bounds[1] > 0.8).all()


def test_without_residuals_the_interval_is_everything():
    X, y = noisy_data(15, 2)
    pce = PolynomialChaosRegressor(3, **OLS).fit(X, y)
    interval = pce.sobol_interval(random_state=0)
    assert (interval.total_order[0] == 0).all()
    assert (interval.total_order[1] == 1).all()


@pytest.mark.filterwarnings("ignore:.*no variance")
@pytest.mark.parametrize("method", ["residual", "bootstrap"])
def test_a_constant_target_has_indices_of_zero(method):
    X, y = noisy_data(30, 2)
    y[:, 1] = 0.1
    interval = ridge_pce(2).fit(X, y).sobol_interval(method=method, random_state=0)
    assert (interval.total_order[:, 1] == 0).all()
    assert (interval.total_order[1, 0] > 0).all()


@cases(("solver", "n_samples"), ("ols", 40), ("ridge", 15), ("ridge", 40), (None, 15))
def test_the_spread_of_a_cross_term_is_that_of_regression(solver, n_samples):
    """sigma^2 c' (A'A + alpha S^-2)^-1 c by hand, with 20 terms."""
    X, y = noisy_data(n_samples, 2)
    pce = PolynomialChaosRegressor(3, solver=solver, distribution=norm(0, 1)).fit(X, y)
    mask = index_masks(pce.multi_indices_)[1:, 3]
    design = pce.transform(X)[:, 1:]
    centred = design - design.mean(axis=0)
    fit = pce._problem.fit
    found = regression_variance(fit, pce.coefficients_, np.r_[0.0, mask])
    for target in range(2):
        part = pce.coefficients_[target, 1:] * mask
        penalty = fit.alpha[target] / fit.scales[target, 1:] ** 2
        inverse = np.linalg.inv(centred.T @ centred + np.diag(penalty))
        expected = fit.residual_variance[target] * part @ inverse @ part
        assert_allclose(found[target], expected, rtol=1e-5)


def test_external_regressors_have_intervals():
    X, y = noisy_data(60, 1)
    pce = ridge_pce(2, solver=None, regressor=LassoCV(cv=3)).fit(X, y)
    found = pce.sobol_interval(random_state=0, n_resamples=50)
    assert inside(found.total_order, pce.total_sobol_indices_).all()


# The interface


def test_a_fit_from_sums_names_the_remedy():
    pce = ridge_pce(1, distribution=norm(0, 1), criterion="gcv").fit(*noisy_data())
    refuses("criterion='loo'", pce.sobol_interval)


# Prediction bands


@pytest.mark.parametrize("solver", ["ridge", "ols", None])
def test_prediction_bands_cover_new_noisy_values(solver):
    """Mean ± 1.645 std holds about 90 % of new targets."""
    covered = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(260, 2))
        y = X[:, 0] + 0.5 * X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=260)
        pce = PolynomialChaosRegressor(2, solver=solver, distribution=norm(0, 1))
        pce.fit(X[:60], y[:60])
        mean, deviation = pce.predict(X[60:], return_std=True)
        covered.append(np.abs(y[60:] - mean) <= 1.645 * deviation)
    assert 0.86 < np.mean(covered) < 0.94
