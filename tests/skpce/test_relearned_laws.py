"""Bootstrap intervals when the laws of the inputs are learned too."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import norm

from skpce import CompositionalPCESurrogate
from skpce._bootstrap import resample_counts
from skpce._predictive import make_generator

SEED = 0
INPUTS = {
    "normal": lambda rng, n: rng.normal(3.0, 2.0, size=n),
    "uniform": lambda rng, n: rng.uniform(-1.0, 4.0, size=n),
    "exponential": lambda rng, n: rng.exponential(2.0, size=n),
    "gamma": lambda rng, n: rng.gamma(3.0, size=n),
    "beta": lambda rng, n: rng.beta(2.0, 3.0, size=n),
    "empirical": lambda rng, n: rng.normal(size=n) ** 3,
}


def cubic(distribution, n_members=80, residual=0.3):
    rng = np.random.default_rng(SEED)
    X = np.column_stack([INPUTS[distribution](rng, n_members) for _ in range(2)])
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    logits = np.column_stack([z[:, 0] + 0.3 * z[:, 0] ** 3, z[:, 0] * z[:, 1], z[:, 1]])
    return X, softmax(logits + residual * rng.normal(size=logits.shape), axis=1)


@pytest.mark.parametrize("truncation", ["total_degree", "hyperbolic"])
@pytest.mark.parametrize("distribution", sorted(INPUTS))
def test_least_squares_is_a_loop_of_fits(distribution, truncation):
    """Refitting by least squares in another basis of the space changes nothing."""
    X, y = cubic(distribution)
    surrogate = CompositionalPCESurrogate(
        3,
        solver="ols",
        distribution=distribution,
        truncation=truncation,
        q=0.75 if truncation == "hyperbolic" else 1.0,
        random_state=SEED,
    )
    found = surrogate.fit(X, y).sobol_interval(
        "coordinate", 0.5, coordinates="clr", n_resamples=8
    )
    draws = []
    for row in resample_counts(np.ones(len(X)), 8, make_generator(SEED)):
        rows = np.repeat(np.arange(len(X)), row)
        indices = surrogate.fit(X[rows], y[rows]).sobol_indices(coordinates="clr")
        draws.append((indices.first_order, indices.total_order))
    expected = np.quantile(draws, [0.25, 0.75], axis=0)
    np.testing.assert_allclose(found.first_order, expected[:, 0], atol=1e-6)
    np.testing.assert_allclose(found.total_order, expected[:, 1], atol=1e-6)


def test_frozen_laws_and_categories_stay():
    rng = np.random.default_rng(SEED)
    X = np.column_stack([rng.normal(size=60), rng.integers(3, size=60)])
    y = softmax(np.c_[X[:, 0], X[:, 1] == 1, rng.normal(size=60)], axis=1)
    kept = CompositionalPCESurrogate(
        2, solver="ols", distribution=[norm(0, 1), "categorical"], random_state=SEED
    ).fit(X, y)
    found = kept.sobol_interval(n_resamples=20)
    draws = []
    for row in resample_counts(np.ones(60), 20, make_generator(SEED)):
        problem = kept._whole_problem().linear.resampled(row)
        root = np.sqrt(problem.weights)[:, np.newaxis]
        slopes = np.linalg.lstsq(
            root * problem.design, root * problem.targets, rcond=None
        )[0]
        squares = np.square(slopes[1:]).sum(axis=1)
        alone = (kept.multi_indices_[1:] > 0) & (
            (kept.multi_indices_[1:] > 0).sum(axis=1, keepdims=True) == 1
        )
        draws.append(squares @ alone / squares.sum())
    expected = np.quantile(draws, [0.05, 0.95], axis=0)
    np.testing.assert_allclose(found.first_order[:, 0], expected, atol=1e-9)


def test_coverage_with_learned_laws():
    """Two actions, logit ``x1 + x2 ** 2 / 2``: first-order indices 2/3 and 1/3.

    Intervals that keep the laws they learned hold the index of ``x1`` less often:
    the scale of an input is as uncertain as its coefficient.
    """
    held = {"learned": 0, "kept": 0}
    truth = np.array([2 / 3, 1 / 3])
    n_ensembles = 60
    for seed in range(n_ensembles):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(100, 2))
        logit = X[:, 0] + X[:, 1] ** 2 / 2 + 0.1 * rng.normal(size=100)
        y = softmax(np.column_stack([logit, 0 * logit]), axis=1)
        kept = [norm(column.mean(), column.std()) for column in X.T]
        for name, law in (("learned", "normal"), ("kept", kept)):
            surrogate = CompositionalPCESurrogate(
                2, solver="ols", distribution=law, random_state=seed
            ).fit(X, y)
            low, high = surrogate.sobol_interval(
                confidence_level=0.8, n_resamples=100
            ).first_order[:, 0]
            held[name] += np.mean((low <= truth) & (truth <= high))
    assert held["learned"] / n_ensembles == pytest.approx(0.8, abs=0.1)
    assert held["kept"] / n_ensembles < 0.6
