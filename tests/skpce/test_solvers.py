"""Coefficient solvers against refits, numpy and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from skpce import (
    ConstantTargetWarning,
)
from skpce._solvers import make_solver
from skpce._solvers.problem import (
    DEFAULT_ALPHAS,
    DesignDecomposition,
    LinearProblem,
    best_penalties,
    factorize,
    solve_path,
)
from tests.shared import cases, refuses, ridge_pce


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    design = np.column_stack([np.ones(25), rng.normal(size=(25, 6))])
    targets = design @ rng.normal(size=(7, 3)) + rng.normal(size=(25, 3)) + 5
    weights = rng.integers(1, 4, size=25).astype(float)
    return design, targets, weights


def as_problem(data, groups=None):
    """One target a group by default."""
    design, targets, weights = data
    groups = np.arange(targets.shape[1]) if groups is None else groups
    return LinearProblem(design, targets, weights, groups)


def ridge_by_normal_equations(design, targets, weights, alpha, *, free_intercept=True):
    """Solve (Ψ'WΨ + λP) c = Ψ'Wy, the textbook formula."""
    penalty = alpha * np.eye(design.shape[1])
    penalty[0, 0] = 0.0 if free_intercept else alpha
    gram = design.T @ (weights[:, np.newaxis] * design) + penalty
    return np.linalg.solve(gram, design.T @ (weights[:, np.newaxis] * targets)).T


@pytest.mark.parametrize("alpha", [1e-6, 0.1, 3.0, 1e4])
@pytest.mark.parametrize("free_intercept", [True, False])
def test_coefficients_are_those_of_scikit_learn(data, alpha, free_intercept):
    design, targets, weights = data
    free = {"free_intercept": free_intercept}
    decomposition = DesignDecomposition.from_design(design, weights, **free)
    found = solve_path(decomposition, targets, np.array([alpha]), np.arange(3))
    expected = Ridge(alpha, fit_intercept=free_intercept, solver="svd")
    expected.fit(design, targets, weights)  # centred, if with the intercept
    coefficients = expected.coef_
    coefficients[:, 0] += expected.intercept_
    assert_allclose(found.coefficients, coefficients, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("scale", [1.0, 0.4, 0.01])
@pytest.mark.parametrize("alpha", [1e-8, 0.05, 2.0, 1e4])
@pytest.mark.parametrize("free_intercept", [True, False])
def test_leave_one_out_is_that_of_refits(data, alpha, free_intercept, scale):
    design, targets, weights = data
    weights, free = scale * weights, {"free_intercept": free_intercept}
    decomposition = DesignDecomposition.from_design(design, weights, **free)
    fit = solve_path(decomposition, targets, np.array([alpha]), np.arange(3))
    expected = np.empty_like(targets)
    for row in range(len(design)):
        left_out = weights.copy()
        left_out[row] -= min(1.0, left_out[row])  # one copy, or what there is
        known = design, targets, left_out, alpha
        coefficients = ridge_by_normal_equations(*known, **free)
        expected[row] = targets[row] - coefficients @ design[row]
    assert_allclose(fit.loo_residuals, expected, rtol=1e-8, atol=1e-9)


def test_ridge_chooses_the_penalty_of_least_leave_one_out_error(data):
    design, targets, weights = data
    errors = []
    decomposition = DesignDecomposition.from_design(design, weights)
    for alpha in DEFAULT_ALPHAS:
        fit = solve_path(decomposition, targets, np.array([alpha]), np.arange(3))
        errors.append(weights @ fit.loo_residuals**2)
    chosen = make_solver("x", "ridge", None).fit(as_problem(data))
    assert_array_equal(chosen.alpha, DEFAULT_ALPHAS[np.argmin(errors, axis=0)])
    together = as_problem(data, groups=np.array([0, 0, 1]))
    pooled = make_solver("x", "ridge", None).fit(together)
    best = DEFAULT_ALPHAS[np.argmin(np.sum(np.array(errors)[:, :2], axis=1))]
    assert_array_equal(pooled.alpha[:2], [best, best])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_heaviest_of_tied_penalties_is_chosen(sign):
    """Of scores that rounding made negative too, where one of 0 is no tie."""
    scores = sign * np.array([[1.0], [1.0 - 1e-8], [1.0 - 1e-7], [1.0 + 1e-3]])
    if sign < 0.0:
        scores[3] = 0.0
    best, least = best_penalties(scores, np.arange(1))
    assert best[0] == 2
    assert least[0] == scores[2, 0]


def test_least_squares_is_that_of_numpy(data):
    design, targets, weights = data
    fit = make_solver("x", "ols", None).fit(as_problem(data))
    root = np.sqrt(weights)[:, np.newaxis]
    expected = np.linalg.lstsq(root * design, root * targets, rcond=None)[0].T
    assert_allclose(fit.coefficients, expected, rtol=1e-9)


def test_more_terms_than_samples(rng):
    X = rng.normal(size=(20, 4))
    y = X[:, 0] + 3
    pce = ridge_pce(4, distribution=norm(0, 1)).fit(X, y)
    # A leave-one-out refit of a saturated fit, by brute force.
    design, residuals = pce.transform(X)[:, 1:], []
    for row in range(20):
        others = np.arange(20) != row
        model = Ridge(pce.alpha_[0], solver="svd").fit(design[others], y[others])
        residuals.append(y[row] - model.predict(design[[row]])[0])
    assert pce.loo_error_[0] == pytest.approx(np.mean(np.square(residuals)))
    ols = pce.set_params(solver="ols").fit(X, y)
    assert_allclose(ols.predict(X), y)
    assert (ols.loo_error_[0], ols.q2_[0]) == (np.inf, -np.inf)
    assert ols.unexplained_share_[0] == 1.0


@cases(
    ("parameters", "message"),
    ({"solver": "lasso"}, "one of .*'lars', .*Got 'lasso'"),
    ({"solver": "ols", "alphas": [1.0]}, "must be None with solver='ols'"),
    ({"regressor": Ridge}, "an instance of a regressor of scikit-learn. Got"),
    ({"regressor": Ridge(), "alphas": [1.0]}, "must be None with regressor="),
    ({"regressor": KNeighborsRegressor(1)}, "linear regressor with coef_"),
)
def test_bad_solver(parameters, message):
    solver = None if "regressor" in parameters else "ridge"
    model = ridge_pce(**{"solver": solver} | parameters)
    refuses(message, model.fit, np.eye(6, 2), np.arange(6.0))


@pytest.mark.parametrize("criterion", ["loo", "gcv"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_constant_target_beside_another_has_no_variance(criterion, weighted, rng):
    """The mean of many equal numbers has a rounding error that grows with them."""
    for n_samples in (7, 300, 5000, 20_001):
        X = rng.normal(size=(n_samples, 1))
        weights = rng.gamma(1.0, 1.0, n_samples) + 1e-9 if weighted else None
        for constant in (1 / 3, 3.3, 1e60 / 3):
            y = np.c_[np.full(n_samples, constant), X[:, 0]]
            model = ridge_pce(1, criterion=criterion, distribution=norm())
            with pytest.warns(ConstantTargetWarning):
                model.fit(X, y, sample_weight=weights)
            assert np.isnan(model.q2_[0])
            assert model.q2_[1] > 0.99
            assert_array_equal(model.sobol_indices_[0], 0.0)


def wide(n_samples, singular_values, n_columns=40):
    """A matrix of given singular values whose columns have the mean 0."""
    rng = np.random.default_rng(0)
    start = rng.normal(size=(n_samples, len(singular_values)))
    left, _ = np.linalg.qr(start - start.mean(axis=0))
    right, _ = np.linalg.qr(rng.normal(size=(n_columns, len(singular_values))))
    return (left * singular_values) @ right.T


@cases(
    "singular_values",
    np.linspace(3, 1, 11),  # all that centred rows have
    np.linspace(3, 1, 6),  # rows that are alike
    np.append(np.linspace(3, 1, 10), 1e-4),
    np.append(np.linspace(3, 1, 10), 1e-9),  # its square is rounding
    np.append(np.linspace(3, 1, 9), [1e-7, 1e-12]),
    np.zeros(1),
    1e-170 * np.linspace(3, 1, 11),  # whose squares are 0
    ids=["full", "alike", "short", "faint", "two faint", "nothing", "tiny"],
)
def test_a_wide_matrix_loses_no_direction(singular_values):
    """More columns than rows, whose products square what is small."""
    matrix = wide(12, singular_values)
    left, values, right = factorize(matrix.copy())
    expected = np.sort(singular_values[singular_values > 0])[::-1]
    found = np.sort(values)[::-1]
    assert found.shape == expected.shape
    largest = expected.max(initial=0.0)
    assert factorize(matrix[:0])[0].shape == (0, 0)
    assert_allclose(found, expected, rtol=1e-10, atol=1e-15 * largest)
    assert_allclose((left * values) @ right, matrix, atol=1e-14 * largest)
    eye = np.eye(len(values))
    assert_allclose(left.T @ left, eye, atol=1e-12)
    assert_allclose(right @ right.T, eye, atol=1e-9)
