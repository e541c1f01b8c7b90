"""Sobol indices without the bias of noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LinearRegression

from skpce import PolynomialChaosRegressor
from skpce._expansion.noise_correction import half_coefficients, signed_indices

SEED = 0


def expansion(solver="ols", degree=2):
    return PolynomialChaosRegressor(degree, solver=solver, distribution=norm(0, 1))


def noise(seed, n_samples=40, n_targets=50):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_samples, 2)), rng.normal(size=(n_samples, n_targets))


def mean_and_error(values):
    return values.mean(), values.std(ddof=1) / np.sqrt(values.size)


@pytest.mark.parametrize("method", ["halves", "ols"])
def test_pure_noise_has_no_variance_on_average(method):
    """Given the inputs, the estimate is unbiased; the plain one is not."""
    corrected, plain = [], []
    for seed in range(8):
        X, y = noise(seed)
        pce = expansion().fit(X, y)
        found = pce.noise_corrected_sobol_indices(method=method, random_state=seed)
        corrected.append(found.total_variance)
        plain.append(pce.total_variance_)
    mean, error = mean_and_error(np.array(corrected))
    assert abs(mean) < 3 * error
    mean, error = mean_and_error(np.array(plain))
    assert mean > 10 * error


@pytest.mark.parametrize("solver", ["lars", "subspace_pursuit"])
def test_a_search_for_terms_is_repeated_in_each_half(solver):
    X, y = noise(SEED, n_samples=60, n_targets=20)
    y[:, 0] = X[:, 0]
    pce = expansion(solver, degree=3).fit(X, y)
    found = pce.noise_corrected_sobol_indices(
        method="halves", n_splits=3, random_state=0
    )
    mean, error = mean_and_error(found.total_variance[1:])
    assert abs(mean) <= 3 * error + 1e-12
    np.testing.assert_allclose(found.total_variance[0], 1.0)


@pytest.mark.parametrize("method", ["halves", "ols"])
def test_a_signal_with_noise(method):
    """V_1 = 1 and V_12 = 0.25 for x1 + x1 x2 / 2, whatever the noise."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(200, 2))
    truth = X[:, 0] + 0.5 * X[:, 0] * X[:, 1]
    y = truth[:, None] + rng.normal(size=(200, 60))
    found = (
        expansion()
        .fit(X, y)
        .noise_corrected_sobol_indices(method=method, random_state=0)
    )
    for values, expected in (
        (found.first_order_variance[:, 0], 1.0),
        (found.first_order_variance[:, 1], 0.0),
        (found.total_order_variance[:, 1], 0.25),
        (found.total_variance, 1.25),
    ):
        mean, error = mean_and_error(values)
        assert abs(mean - expected) < 3.5 * error
    np.testing.assert_allclose(found.total_order[:, 0].mean(), 1.0, atol=0.02)


def test_least_squares_correction_by_hand():
    """c^2 - sigma^2 diag((A'A)^-1) with the residual variance of n - P."""
    X, y = noise(SEED, n_targets=2)
    pce = expansion().fit(X, y)
    found = pce.noise_corrected_sobol_indices(method="ols")
    design = pce.transform(X)
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ design.T @ y
    residual = y - design @ coefficients
    sigma = np.sum(residual**2, axis=0) / (40 - 6)
    squares = coefficients.T**2 - sigma[:, None] * np.diag(inverse)
    np.testing.assert_allclose(found.total_variance, squares[:, 1:].sum(axis=1))
    active = pce.multi_indices_[:, 0] > 0
    np.testing.assert_allclose(
        found.total_order_variance[:, 0], squares[:, active].sum(axis=1)
    )


def test_without_noise_nothing_is_corrected():
    X, _ = noise(SEED)
    y = X[:, 0] + X[:, 0] * X[:, 1]
    pce = expansion().fit(X, y)
    for method in ("halves", "ols"):
        found = pce.noise_corrected_sobol_indices(method=method, random_state=0)
        np.testing.assert_allclose(found.first_order, pce.sobol_indices_, atol=1e-9)
        np.testing.assert_allclose(found.total_order, pce.total_sobol_indices_)


def test_halves_retain_the_strength_of_the_penalty():
    """Two halves that are copies of each other give the full fit twice."""
    X, y = noise(SEED, 20, 3)
    pce = expansion("ridge").fit(np.vstack([X, X]), np.vstack([y, y]))
    halves = np.arange(40) < 20
    found = half_coefficients(
        pce._problem.solver,
        pce._problem.linear,
        pce._problem.fit,
        np.array([halves, ~halves]),
    )
    for half in found:
        np.testing.assert_allclose(half, pce.coefficients_, atol=1e-10)


def test_indices_are_not_clipped_and_undefined_without_variance():
    multi_indices = np.array([[0, 0], [1, 0], [0, 1]])
    products = np.array([[9.0, 1.5, -0.5], [9.0, 0.5, -1.0], [9.0, 0.5, -0.5]])
    found = signed_indices(products, multi_indices)
    np.testing.assert_allclose(found.total_order[0], [1.5, -0.5])
    assert np.isnan(found.first_order[1:]).all()
    assert np.isnan(found.total_order[1:]).all()
    np.testing.assert_allclose(found.total_variance, [1.0, -0.5, 0.0])
    np.testing.assert_allclose(found.total_order_variance, products[:, 1:])


@pytest.mark.filterwarnings("ignore:.*no variance")
@pytest.mark.parametrize("method", ["halves", "ols"])
def test_a_constant_target_is_undefined(method):
    X, y = noise(SEED, n_targets=2)
    y[:, 1] = 0.1
    found = (
        expansion()
        .fit(X, y)
        .noise_corrected_sobol_indices(method=method, random_state=0)
    )
    assert found.total_variance[1] == 0
    assert np.isnan(found.total_order[1]).all()


def test_auto_takes_least_squares_with_three_samples_a_term():
    for n_samples, method in ((18, "ols"), (17, "halves")):
        X, y = noise(SEED, n_samples, 2)
        pce = expansion().fit(X, y)
        chosen = pce.noise_corrected_sobol_indices(random_state=0)
        named = pce.noise_corrected_sobol_indices(method=method, random_state=0)
        np.testing.assert_array_equal(chosen.total_variance, named.total_variance)


def test_seed_and_shapes():
    X, y = noise(SEED, n_targets=1)
    pce = expansion("ridge").fit(X, y[:, 0])
    first, again, other = (
        pce.noise_corrected_sobol_indices(method="halves", random_state=seed)
        for seed in (0, 0, 1)
    )
    assert first.first_order.shape == first.total_order.shape == (1, 2)
    assert first.total_variance == again.total_variance
    assert first.total_variance != other.total_variance


def test_external_regressors_are_refitted():
    X, y = noise(SEED, 60, 1)
    ours = expansion().fit(X, y)
    theirs = PolynomialChaosRegressor(
        2, regressor=LinearRegression(), distribution=norm(0, 1)
    ).fit(X, y)
    found = [
        pce.noise_corrected_sobol_indices(method="halves", random_state=0)
        for pce in (ours, theirs)
    ]
    np.testing.assert_allclose(found[0].total_variance, found[1].total_variance)


def test_bad_arguments_are_named():
    X, y = noise(SEED, 12, 1)
    pce = expansion().fit(X, y)
    with pytest.raises(ValueError, match=r"'auto', 'halves', 'ols'\. Got 'thirds'"):
        pce.noise_corrected_sobol_indices(method="thirds")
    with pytest.raises(ValueError, match=r"n_splits.* Got 0"):
        pce.noise_corrected_sobol_indices(n_splits=0)
    with pytest.raises(ValueError, match="12 samples and 6 terms"):
        pce.noise_corrected_sobol_indices(method="ols")
    with pytest.raises(ValueError, match="at least 4 samples"):
        expansion(degree=1).fit(X[:3], y[:3]).noise_corrected_sobol_indices(
            method="halves"
        )
    from_sums = PolynomialChaosRegressor(
        1, distribution=norm(0, 1), criterion="gcv", solver="ridge"
    ).fit(X, y)
    with pytest.raises(ValueError, match="criterion='loo'"):
        from_sums.noise_corrected_sobol_indices()
