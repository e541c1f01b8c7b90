"""The surrogate against an ensemble whose true values are closed forms.

Two actions whose logit is ``a x1 + b He2(x2) + c x1 x2`` with standard normal inputs,
plus a normal residual.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, logit
from scipy.stats import norm

from skpce import CompositionalPCESurrogate
from skpce.inspection import variance_decomposition
from skpce.metrics import policy_fragility

A, B, C, RESIDUAL = 1.0, 0.6, 0.8, 0.5
LAW = norm(0, 1)
N_TERMS = 6
SIGNAL = A**2 + B**2 + C**2
FIRST = np.array([A**2, B**2]) / SIGNAL
TOTAL = np.array([A**2 + C**2, B**2 + C**2]) / SIGNAL
SHAPLEY = (FIRST + TOTAL) / 2
SIZES = (60, 300, 1500)
N_SEEDS = 40
TOLERANCE = 0.15
X_NEW = np.array([[0.0, 0.0], [1.5, -1.0], [-1.0, 2.0]])
QUANTILES = norm.ppf([0.1, 0.9])


def mean_logit(X):
    x, z = X[:, 0], X[:, 1]
    return A * x + B * (z**2 - 1) / np.sqrt(2) + C * x * z


def two_actions(logits):
    return np.column_stack([expit(logits), expit(-logits)])


def members(n_members, seed, residual=RESIDUAL):
    rng = np.random.default_rng([seed, n_members])
    X = rng.normal(size=(n_members, 2))
    logits = mean_logit(X) + residual * rng.normal(size=n_members)
    return X, two_actions(logits)


def fit(X, y):
    return CompositionalPCESurrogate(
        2, distribution=LAW, solver="ols", random_state=0
    ).fit(X, y)


def on_a_grid(n_nodes=40):
    """Probabilities of the first action without residual; weights of an axis."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    values = expit(mean_logit(np.array(list(product(nodes, nodes)))))
    return values.reshape(n_nodes, n_nodes), weights / weights.sum()


def probability_indices():
    values, w = on_a_grid()
    mean = w @ values @ w
    variance = w @ np.square(values - mean) @ w
    alone = [w @ np.square(values @ w - mean), w @ np.square(w @ values - mean)]
    return np.array([alone, variance - np.array(alone[::-1])]) / variance


def mean_total_variation():
    nodes, w = np.polynomial.hermite_e.hermegauss(60)
    w = w / w.sum()
    grid = np.array(list(product(nodes, nodes, nodes)))
    weights = np.prod(np.array(list(product(w, w, w))), axis=1)
    p = expit(mean_logit(grid[:, :2]) + RESIDUAL * grid[:, 2])
    return weights @ np.abs(p - weights @ p)


INDICES_OF_PROBABILITIES = probability_indices()
TOTAL_VARIATION = mean_total_variation()
NOISE_SHARE = RESIDUAL**2 / (SIGNAL + RESIDUAL**2)


def all_errors(n_members, seed):
    X, y = members(n_members, seed)
    surrogate = fit(X, y)
    indices = surrogate.sobol_indices("trajectory")
    probability = surrogate.probability_sobol_indices(8 * n_members)
    bounds = surrogate.predict_interval(X_NEW, confidence_level=0.8)
    true_bounds = mean_logit(X_NEW) + RESIDUAL * QUANTILES[:, np.newaxis]
    found = policy_fragility(y)
    reward = np.arange(n_members) // 3
    again = members(n_members, seed + 1000)[0][: reward[-1] + 1][reward]
    rng = np.random.default_rng(seed)
    twins = two_actions(mean_logit(again) + RESIDUAL * rng.normal(size=n_members))
    both = np.array([probability.first_order[0], probability.total_order[0]])
    exact = variance_decomposition(y, exact=two_actions(mean_logit(X)))
    repeated = variance_decomposition(twins, reward)
    return {
        "first-order indices": indices.first_order - FIRST,
        "total indices": indices.total_order - TOTAL,
        "Shapley effects": surrogate.shapley_effects() - SHAPLEY,
        "step variance": surrogate.step_total_variance_ / (SIGNAL / 2) - 1,
        "probability scale": both - INDICES_OF_PROBABILITIES,
        "predictive bounds": logit(np.array(bounds)[:, :, 0]) - true_bounds,
        "alr sum": found.alr_sum / (SIGNAL + RESIDUAL**2) - 1,
        "total variation": found.total_variation / TOTAL_VARIATION - 1,
        "noise share, exact": exact.noise_share - NOISE_SHARE,
        "noise share, replicates": repeated.noise_share - NOISE_SHARE,
    }


@pytest.mark.slow
def test_every_error_falls_at_the_root_rate():
    squares = [
        [
            {name: np.mean(np.square(e)) for name, e in all_errors(n, seed).items()}
            for seed in range(N_SEEDS)
        ]
        for n in SIZES
    ]
    for name in squares[0][0]:
        rmse = [np.sqrt(np.mean([run[name] for run in runs])) for runs in squares]
        slope = np.polyfit(np.log(SIZES), np.log(rmse), 1)[0]
        assert slope == pytest.approx(-0.5, abs=TOLERANCE), (name, rmse)
        assert rmse[-1] < 0.1, name


@pytest.mark.parametrize("n_members", [N_TERMS, N_TERMS + 1, 40])
def test_without_residual_everything_is_exact(n_members):
    surrogate = fit(*members(n_members, seed=3, residual=0.0))
    for level in ("coordinate", "step", "trajectory"):
        found = surrogate.sobol_indices(level)
        assert_allclose(found.first_order[0], FIRST, atol=1e-8)
        assert_allclose(found.total_order[0], TOTAL, atol=1e-8)
        effects = surrogate.shapley_effects(level)[0]
        assert_allclose(effects, SHAPLEY, atol=1e-8)
    expected = two_actions(mean_logit(X_NEW))
    assert_allclose(surrogate.predict(X_NEW), expected, atol=1e-8)
    if n_members > N_TERMS:
        bounds = surrogate.predict_interval(X_NEW)
        assert_allclose(bounds, [expected, expected], atol=1e-6)
