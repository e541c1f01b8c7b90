"""Other laws of the inputs, and bands that hold a whole policy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, softmax
from scipy.stats import kstest, norm

from skpce import CompositionalPCESurrogate
from tests.shared import inside, ridge_surrogate

SLOPES = np.array([1.5, -0.5])


def logistic(n_members, seed=0, noise=0.0):
    """Two actions; the logit is linear in two inputs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_members, 2))
    logit = X @ SLOPES + noise * rng.normal(size=n_members)
    return X, softmax(np.column_stack([logit, 0 * logit]), axis=1)


@pytest.fixture(scope="module")
def fitted():
    model = CompositionalPCESurrogate(1, distribution=norm(0, 1), solver="ols")
    return model.set_params(random_state=0).fit(*logistic(60))


@pytest.mark.parametrize("scale", [0.2, 1.0, 2.0])
def test_another_law_gives_its_own_push_forward(fitted, scale):
    """The logit of a normal input is normal: its law is known in closed form."""
    inputs = [norm(0.5, scale), norm(0, 0.1)]
    draws = fitted.sample(4000, inputs=inputs, residual=None)[:, 0]
    deviation = np.hypot(SLOPES[0] * scale, SLOPES[1] * 0.1)
    law = norm(SLOPES[0] * 0.5, deviation)
    assert kstest(np.log(draws / (1 - draws)), law.cdf).pvalue > 0.01
    low, high = fitted.predict_interval(inputs=inputs, confidence_level=0.8)
    assert_allclose([low[0, 0], high[0, 0]], expit(law.ppf([0.1, 0.9])), atol=0.03)


def test_rows_are_drawn_whole(fitted):
    rows = np.array([[1.0, -2.0], [0.3, 0.4]])
    draws = fitted.sample(400, inputs=rows, residual=None)
    possible = fitted.predict(rows)
    distance = np.abs(draws[:, np.newaxis] - possible).max(axis=2)
    assert distance.min(axis=1).max() < 1e-12
    assert np.mean(distance.argmin(axis=1)) == pytest.approx(0.5, abs=0.1)
    one = fitted.sample(5, inputs=rows[:1], random_state=1)
    same = fitted.sample(5, rows[:1], random_state=1)[:, 0]
    assert_allclose(one, same, atol=1e-12)


def gaussian_log_ratios(size, seed):
    """Two steps with their own Gaussian noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(size, 2))
    first = np.column_stack([X[:, 0], -X[:, 1], np.zeros((size, 4))])
    second = np.column_stack([X[:, 1], np.zeros((size, 2))])
    noisy = [z + 0.7 * rng.normal(size=z.shape) for z in (first, second)]
    return X, np.hstack([softmax(z, axis=1) for z in noisy])


@pytest.mark.slow
@pytest.mark.parametrize("residual", ["gaussian", "resampled"])
@pytest.mark.parametrize("conditional", [True, False])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_joint_bands_hold_whole_policies(residual, conditional, level):
    # The coverage of one fit scatters by 0.03: of its members and of the draws.
    covered, marginal = [], []
    for seed in range(8):
        how = {"distribution": norm(0, 1), "random_state": seed}
        surrogate = ridge_surrogate(1, steps=(6, 3), **how)
        surrogate.fit(*gaussian_log_ratios(300, seed=2 * seed))
        X, y = gaussian_log_ratios(150 if conditional else 1500, seed=2 * seed + 1)
        given = {"confidence_level": level, "residual": residual, "n_samples": 600}
        members = X if conditional else None
        step, whole, apart = (
            inside(surrogate.predict_interval(members, joint=joint, **given), y)
            for joint in ("step", "trajectory", None)
        )
        held = step[:, :6], step[:, 6:], whole
        covered.append([each.all(axis=1).mean() for each in held])
        marginal.append(apart[:, :6].all(axis=1).mean())
    assert_allclose(np.mean(covered, axis=0), level, atol=0.05)
    assert np.mean(marginal) < level - 0.1 * (1 - level)


def test_joint_bands_of_few_members():
    """Sixty residuals and sixteen actions: the extremes of each would not do."""
    covered = []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(260, 1))
        logits = np.hstack([X, np.zeros((260, 15))]) + rng.normal(size=(260, 16))
        y = softmax(logits, axis=1)
        surrogate = ridge_surrogate(1, random_state=0).fit(X[:60], y[:60])
        band = surrogate.predict_interval(X[60:], joint="step", confidence_level=0.9)
        covered.append(inside(band, y[60:]).all(axis=1).mean())
    assert np.mean(covered) == pytest.approx(0.9, abs=0.04)
