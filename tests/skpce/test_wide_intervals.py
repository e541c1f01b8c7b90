"""Intervals without an array of draws times inputs times parts."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax

from skpce._compositions import predictive as module
from tests.shared import ridge_surrogate

METHOD = "median_unbiased"


def policies(steps, n_members=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_members, 2))
    logits = 3.0 * X @ rng.normal(size=(2, sum(steps)))
    logits += rng.normal(size=logits.shape)
    blocks = np.split(logits, np.cumsum(steps)[:-1], axis=1)
    return X, np.hstack([softmax(block, axis=1) for block in blocks])


def by_draws(surrogate, X, confidence_level):
    """Quantiles over a table of all draws at all inputs."""
    predictive = surrogate._predictive
    rows = predictive.residual_law("").residuals
    values = predictive.space.values(predictive.draw_around(rows[:, None], X))
    tails = [(1 - confidence_level) / 2, (1 + confidence_level) / 2]
    return np.quantile(values, tails, axis=0, method=METHOD)


@pytest.mark.parametrize("block", [64, module._BLOCK])
@pytest.mark.parametrize("steps", [(3, 2, 4), (1, 5, 5, 5, 2), (300,), (20,) * 15])
@pytest.mark.parametrize("solver", ["ridge", "paper"])
def test_intervals_are_quantiles_of_draws(monkeypatch, steps, solver, block):
    monkeypatch.setattr(module, "_BLOCK", block)
    X, y = policies(steps)
    surrogate = ridge_surrogate(2, steps=steps, solver=solver).fit(X, y)
    for level in (0.5, 0.95, 0.999):
        found = surrogate.predict_interval(X, confidence_level=level)
        expected = by_draws(surrogate, X, level)
        assert_allclose(found, expected, rtol=1e-11, atol=1e-14)
        assert np.all(found.upper <= 1.0)


def test_a_sum_that_underflows():
    # The largest residuals belong to a part whose centre is 2,000 below the others.
    rows = np.array([[1000.0, -1000.0], [900.0, -900.0], [0.0, 0.0]])
    centre, levels = np.array([[-1000.0, 1000.0]]), [0.1, 0.5, 0.9]
    given = rows, np.ones((1, 1)), centre, [slice(0, 2)]
    found = module.softmax_quantiles(*given, levels)
    values = softmax(centre + rows, axis=1)
    expected = np.quantile(values, levels, axis=0, method=METHOD)
    assert_allclose(found[:, 0], expected, rtol=1e-11)
