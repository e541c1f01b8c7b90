"""Draws and intervals of the predictive law."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit, ndtr, softmax
from scipy.stats import norm

from skpce import CompositionalPCESurrogate
from tests.shared import OLS, inside, refuses, ridge_surrogate

WIDTHS = (3, 2, 4)
LEVELS = (0.5, 0.8, 0.9, 0.95)


@pytest.fixture(scope="module")
def fitted(simulate):
    X, y = simulate()
    return ridge_surrogate(2, steps=WIDTHS, random_state=0).fit(X, y)


def gaussian_log_ratios(size, seed):
    """A linear law of the inputs with Gaussian log-ratio noise of known size."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(size, 2))
    logits = np.column_stack([X[:, 0], -X[:, 1], np.zeros(size)])
    return X, softmax(logits + 0.7 * rng.normal(size=(size, 3)), axis=1)


@pytest.mark.parametrize("residual", ["gaussian", "resampled"])
@pytest.mark.parametrize("conditional", [True, False])
def test_coverage_of_a_known_law(residual, conditional):
    surrogate = ridge_surrogate(1, distribution=norm(0, 1), random_state=0)
    surrogate.fit(*gaussian_log_ratios(400, seed=1))
    X, y = gaussian_log_ratios(1000, seed=2)
    for level in LEVELS:
        how = {"confidence_level": level, "residual": residual}
        interval = surrogate.predict_interval(X if conditional else None, **how)
        assert_allclose(inside(interval, y).mean(axis=0), level, atol=0.05)


def test_coverage_far_from_the_members_and_among_them():
    # 10 terms on 24 members. Leave-one-out residuals as they are cover 0.55 far out
    # and 0.86 near the centre; residuals of the fit itself 0.31 and 0.56.
    far_out, near = [], []
    for seed in range(40):
        surrogate = CompositionalPCESurrogate(3, distribution=norm(0, 1), solver="ols")
        surrogate.fit(*gaussian_log_ratios(24, seed=seed))
        X, y = gaussian_log_ratios(200, seed=1000 + seed)
        interval = surrogate.predict_interval(X, confidence_level=0.8)
        held = inside(interval, y).mean(axis=1)
        is_far = np.linalg.norm(X, axis=1) > 1.8
        far_out.append(held[is_far].mean())
        near.append(held[~is_far].mean())
    assert np.mean(far_out) == pytest.approx(0.8, abs=0.05)
    assert np.mean(near) == pytest.approx(0.8, abs=0.05)


def test_few_members_cover_as_they_claim(rng):
    # Many independent steps of two parts, each with one standard normal logit that no
    # input explains: coverage of a new member is known for each interval. Quantiles
    # by "hazen" cover 0.783 and 0.879, by "weibull" 0.818 and 0.914.
    n_members, n_steps = 20, 600
    X, X_new = rng.normal(size=(n_members, 1)), rng.normal(size=(10, 1))
    logits = rng.normal(size=(n_members, n_steps))
    y = expit(np.stack([logits, -logits], axis=2)).reshape(n_members, -1)
    law = {"distribution": norm(0, 1), "solver": "ols"}
    surrogate = CompositionalPCESurrogate(1, steps=(2,) * n_steps, **law).fit(X, y)
    for level in (0.8, 0.9):
        lower, upper = surrogate.predict_interval(X_new, confidence_level=level)
        coverage = ndtr(logit(upper[:, ::2])) - ndtr(logit(lower[:, ::2]))
        assert coverage.mean() == pytest.approx(level, abs=0.01)


def test_residuals_preserve_the_dependence_between_steps(rng):
    X = rng.normal(size=(300, 1))
    shared = rng.normal(size=300)
    step = softmax(np.column_stack([shared, np.zeros(300)]), axis=1)
    y = np.hstack([step, step])
    surrogate = ridge_surrogate(1, steps=(2, 2), random_state=0).fit(X, y)
    for residual in ("gaussian", "resampled"):
        draws = surrogate.sample(50, residual=residual)
        assert_allclose(draws[:, 0], draws[:, 2], atol=1e-9)


@pytest.mark.parametrize("residual", ["gaussian", "resampled", None])
def test_determinism(fitted, simulate, residual):
    X, _ = simulate()
    how = {"residual": residual, "n_samples": 20}
    one, other = (fitted.predict_interval(X[:2], **how) for _ in range(2))
    assert_array_equal(one, other)
    zero, five = (fitted.sample(4, random_state=seed) for seed in (0, 5))
    assert np.abs(zero - five).max() > 1e-3
    assert_array_equal(fitted.sample(4), zero)  # random_state=0 of fit
    state = np.random.RandomState(0)  # which moves on
    first, second = (fitted.sample(3, random_state=state) for _ in range(2))
    assert np.abs(first - second).max() > 1e-3


def test_no_residual_law_without_leave_one_out_residuals(simulate):
    X, y = simulate(n_members=12)
    saturated = CompositionalPCESurrogate(3, steps=WIDTHS, **OLS).fit(X, y)
    assert (saturated.diagnostics_.loo_q2 == -np.inf).all()
    refuses(r"residual distribution is not defined.*residual=None", saturated.sample)
    refuses("residual distribution is not defined", saturated.predict_interval, X)
    assert saturated.sample(3, residual=None).shape == (3, 9)
