"""Intervals without an array of draws times inputs times parts."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax

from skpce._expansion import predictive as module
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
    values = predictive.problem.values(predictive.draw_around(rows[:, None], X))
    tails = [(1 - confidence_level) / 2, (1 + confidence_level) / 2]
    return np.quantile(values, tails, axis=0, method=METHOD)


@pytest.mark.parametrize("block", [64, module.CHUNK_ENTRIES])
@pytest.mark.parametrize("steps", [(3, 2, 4), (1, 5, 5, 5, 2), (300,), (20,) * 15])
@pytest.mark.parametrize("solver", ["ridge", "paper"])
def test_intervals_are_quantiles_of_draws(monkeypatch, steps, solver, block):
    monkeypatch.setattr(module, "CHUNK_ENTRIES", block)
    X, y = policies(steps)
    surrogate = ridge_surrogate(2, steps=steps, solver=solver).fit(X, y)
    for level in (0.5, 0.95, 0.999):
        found = surrogate.predict_interval(X, confidence_level=level)
        expected = by_draws(surrogate, X, level)
        assert_allclose(found, expected, rtol=1e-11, atol=1e-14)
        assert np.all(found.upper <= 1.0)
