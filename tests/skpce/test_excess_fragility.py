"""Fragility beyond that of equal noise: closed forms, limits, ensembles of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expit, softmax
from scipy.stats import norm

from skpce.metrics import excess_fragility, policy_fragility
from tests.shared import cases


def equal_noise(centres, scale, n_members=400, seed=0):
    """Members with the same noise in every log-weight, the steps side by side."""
    rng = np.random.default_rng(seed)
    noise = [scale * rng.normal(size=(n_members, len(c))) for c in centres]
    logits = [np.asarray(c) + own for c, own in zip(centres, noise, strict=True)]
    return np.hstack([softmax(own, axis=1) for own in logits])


def of_mean(mean, scale, **options):
    """Expected fragility of a mean policy, and its error."""
    y = np.array([mean, mean])
    mask = np.ones(len(mean), dtype=bool)
    found = excess_fragility(y, mask=mask, noise_scale=scale, random_state=0, **options)
    return found.expected[0], found.expected_error[0]


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("first", [0.5, 0.9])
def test_two_actions_by_quadrature(first, scale):
    """The difference of two log-weights is normal with the variance 2σ²."""

    def mean_of(function, centre):
        width = np.sqrt(2.0) * scale

        def integrand(z):
            return norm.pdf(z) * function(expit(centre + width * z))

        return quad(integrand, -9, 9, points=[-centre / width], limit=200)[0]

    centre = brentq(lambda c: mean_of(lambda p: p, c) - first, -60, 60)
    expected = mean_of(lambda p: abs(p - first), centre)
    found, error = of_mean([first, 1 - first], scale, n_draws=20_000)
    assert abs(found - expected) < 4 * error + 1e-4
    assert error < 0.005


@cases("mean", [0.5, 0.5], np.full(20, 0.05), [0.7, 0.2, 0.06, 0.04])
def test_small_noise_of_any_mean_policy(mean):
    """The derivative of p_k has the variance p_k² (1 - 2 p_k + |p|²)."""
    mean, scale = np.asarray(mean), 1e-3
    jacobian = np.diag(mean) - np.outer(mean, mean)
    deviations = np.sqrt(np.square(jacobian).sum(axis=1))
    found, error = of_mean(mean, scale, n_draws=20_000)
    expected = scale * deviations.sum() / np.sqrt(2 * np.pi)
    assert abs(found - expected) < 4 * error


@pytest.mark.parametrize("scale", [0.2, 1.0, 3.0])
def test_members_with_equal_noise_have_no_excess(scale):
    centres = ([3, 0, 0], np.zeros(20), np.linspace(0, -300, 30))
    y = equal_noise(centres, scale)
    found = excess_fragility(
        y, steps=(3, 20, 30), mask=np.ones(53, dtype=bool), random_state=0
    )
    assert found.noise_scale == pytest.approx(scale, rel=0.1)
    assert np.all(np.abs(found.excess - 1) < 4 * found.excess_error)
    # The fragilities themselves differ severalfold.
    assert found.total_variation.max() > 3 * found.total_variation.min() or scale > 1
    assert found.expected.sum() == pytest.approx(found.total_variation.sum(), rel=1e-3)


def test_a_noisier_step_exceeds_the_other_of_the_same_size():
    quiet, loud = (
        equal_noise([np.zeros(5)], 0.5),
        equal_noise([np.zeros(5)], 1.5, seed=1),
    )
    found = excess_fragility(np.hstack([quiet, loud]), steps=(5, 5), random_state=0)
    assert found.excess[1] > 1 + 5 * found.excess_error[1]
    assert found.excess[0] < 1 - 5 * found.excess_error[0]


def test_members_that_choose_one_action_each():
    y = np.eye(3)[[0, 0, 1, 2]]
    found = excess_fragility(y, random_state=0)
    assert found.noise_scale == np.inf
    assert found.contestedness[0] == pytest.approx(1 - (0.25 + 2 / 16))
    assert found.total_variation[0] == pytest.approx(found.contestedness[0])
    assert found.excess[0] == pytest.approx(1)


def test_fragility_is_at_most_the_contestedness():
    rng = np.random.default_rng(3)
    for _ in range(20):
        y = softmax(rng.normal(scale=4, size=(8, 5)), axis=1)
        found = excess_fragility(y, noise_scale=1.0, n_draws=4, random_state=0)
        assert found.total_variation[0] <= found.contestedness[0] + 1e-12
        expected = policy_fragility(y).total_variation
        assert_allclose(found.total_variation, expected, rtol=1e-12)


def test_steps_without_choice_or_difference():
    y = np.array([[1.0, 0.0, 0.3, 0.7], [1.0, 0.0, 0.3, 0.7]])
    found = excess_fragility(y, steps=(2, 2), random_state=0)
    assert_array_equal(found.n_possible, [1, 2])
    assert_array_equal(found.contestedness[0], 0)
    assert_allclose(found.total_variation, 0, atol=1e-15)
    assert np.isnan(found.excess).all()
    given = excess_fragility(y, steps=(2, 2), noise_scale=1.0, random_state=0)
    assert given.expected[0] == 0
    assert given.expected[1] > 0.1
    assert given.excess[1] == 0
