"""Bounds of the indices of steps from leave-one-out residuals."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.special import softmax
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor

from skpce import CompositionalPCESurrogate, PolynomialChaosRegressor
from tests.shared import agree, refuses, ridge_surrogate

LAW = norm(0, 1)


def ensemble(n_members=80, noise=0.0, seed=0):
    """Two steps: one follows x0 and a little x1, the other x0 x1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_members, 2))
    a, b = X.T
    logits = np.c_[a, 0.5 * b, 0 * a], np.c_[a * b, 0 * a]
    y = [softmax(z + noise * rng.normal(size=z.shape), axis=1) for z in logits]
    return X, np.hstack(y)


def fitted(X, y, degree=2, **options):
    options = {"steps": (3, 2), "distribution": LAW, "random_state": 0} | options
    return ridge_surrogate(degree, **options).fit(X, y)


def test_a_step_of_two_actions_is_a_real_output():
    """Its only coordinate has the same fit: the bounds are those of a regressor."""
    X, y = ensemble(noise=0.3)
    surrogate = CompositionalPCESurrogate(2, distribution=LAW, solver="ols")
    found = surrogate.fit(X, y[:, 3:]).sobol_interval(method="residual", random_state=1)
    log_ratio = np.log(y[:, 3] / y[:, 4]) / np.sqrt(2)
    regressor = PolynomialChaosRegressor(2, distribution=LAW, solver="ols")
    expected = regressor.fit(X, log_ratio).sobol_interval(random_state=1)
    names = "first_order", "total_order", "shapley"
    agree(found, expected, *names, rtol=1e-8, atol=1e-10)
    assert found.method == "residual"


@pytest.mark.parametrize("level", ["step", "trajectory"])
def test_bounds_contain_the_known_indices(level):
    """Aitchison variances by hand: 2/3 and 1/6 of step one, 1/2 of step two."""
    true_total = np.array([[0.8, 0.2], [1.0, 1.0]])
    if level == "trajectory":
        variances = np.array([2 / 3 + 1 / 6, 1 / 2])
        true_total = (variances @ true_total / variances.sum())[np.newaxis]
    held = []
    for seed in range(8):
        X, y = ensemble(noise=0.4, seed=seed)
        low, high = fitted(X, y).sobol_interval(level, method="residual").total_order
        held.append((low - 1e-9 <= true_total) & (true_total <= high + 1e-9))
    assert np.mean(held) >= 0.85


def test_steps_without_choice_and_the_papers_solver():
    X, y = ensemble(noise=0.3)
    certain = np.column_stack((y, np.ones(len(y))))
    model = fitted(X, certain, steps=(3, 2, 1), solver="paper")
    interval = model.sobol_interval(method="residual")
    assert interval.total_order.shape == (2, 3, 2)
    assert_array_equal(interval.total_order[:, 2], 0)
    low, high = interval.total_order[:, :2]
    assert np.all((low >= 0) & (low <= high) & (high <= 1))


def test_what_is_refused():
    X, y = ensemble()
    model = fitted(X, y)
    refuses("level", model.sobol_interval, "coordinate", method="residual")
    smooth = GaussianProcessRegressor(alpha=1e-3, optimizer=None)
    process = fitted(X, y, solver=None, regressor=smooth)
    refuses("expected method='bootstrap'", process.sobol_interval, method="residual")
