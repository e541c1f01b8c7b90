"""Splitting disagreement into reward and training noise, on known mixtures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import softmax

from skpce.inspection import variance_decomposition
from tests.shared import cases, clr, refuses

WIDTHS = (3, 4)
UNEQUAL = np.repeat(np.arange(6), [2, 5, 1, 3, 4, 2])


def compose(logits):
    return np.hstack([softmax(b, axis=1) for b in np.split(logits, [3], axis=1)])


def draw(rng, reward, between=1.0, within=1.0):
    """Random effects: log-ratios of variance between**2 and within**2."""
    effect = between * rng.normal(size=(reward.max() + 1, sum(WIDTHS)))[reward]
    return compose(effect + within * rng.normal(size=effect.shape))


def test_the_variance_is_a_one_way_analysis_of_variance():
    y = draw(np.random.default_rng(0), UNEQUAL)
    found = variance_decomposition(y, UNEQUAL, steps=WIDTHS).aitchison_variance
    sizes = np.bincount(UNEQUAL)
    typical = (sizes.sum() - np.sum(sizes**2) / sizes.sum()) / 5
    for step, block in enumerate(np.split(y, [3], axis=1)):
        within = between = 0.0
        for column in clr(block).T:
            groups = [column[r == UNEQUAL] for r in range(6)]
            square = sum(np.sum((g - g.mean()) ** 2) for g in groups) / (17 - 6)
            ratio = stats.f_oneway(*groups).statistic
            within += square
            between += (ratio - 1) * square / typical
        assert found.within[step] == pytest.approx(within)
        assert found.between[step] == pytest.approx(between)
        assert found.noise_share[step] == pytest.approx(within / (within + between))


def test_intervals_are_a_jackknife_over_rewards():
    """Refit without each reward, and Student's interval of the log mean squares."""
    y = draw(np.random.default_rng(3), np.repeat(np.arange(7), 3))
    reward = np.repeat(np.arange(7), 3)
    found = variance_decomposition(y, reward, steps=WIDTHS, confidence_level=0.8)
    split = found.aitchison_variance

    def log_ratio(rows):
        part = variance_decomposition(y[rows], reward[rows], steps=WIDTHS)
        share = part.aitchison_variance.noise_share
        assert np.all(share < 1), "not clipped in this example"
        return np.log(1 / 3 + (1 - share) / share)  # log of MSB / MSW, less log 3

    left_out = np.stack([log_ratio(reward != r) for r in range(7)])
    error = np.sqrt(6 / 7 * np.sum((left_out - left_out.mean(axis=0)) ** 2, axis=0))
    half = stats.t.ppf(0.9, 6) * error
    centre = log_ratio(np.arange(21))
    for bound, sign in ((split.noise_share_low, 1), (split.noise_share_high, -1)):
        ratio = np.exp(centre + sign * half) - 1 / 3
        assert_allclose(bound, 1 / (1 + np.maximum(ratio, 0)))


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.5, 1.5])
def test_intervals_cover(noise):
    """Nominal 90 %; 12 rewards of 2 to 6 members; the truth from one large sample."""
    rng = np.random.default_rng(8)
    large = np.repeat(np.arange(1500), 4)
    truth = variance_decomposition(draw(rng, large, 1.0, noise), large, steps=WIDTHS)
    truth = truth.noise_share
    reward = np.repeat(np.arange(12), np.tile([2, 3, 6], 4))
    hits = []
    for _ in range(200):
        y = draw(rng, reward, 1.0, noise)
        split = variance_decomposition(y, reward, steps=WIDTHS).aitchison_variance
        low, high = split.noise_share_low, split.noise_share_high
        hits.append((low <= truth) & (truth <= high))
    assert_allclose(np.mean(hits, axis=0), 0.9, atol=0.07)


def test_a_control_agrees_with_replicates():
    rng = np.random.default_rng(9)
    reward = np.repeat(np.arange(1200), 3)
    y = draw(rng, reward, 1.0, 0.7)
    control = draw(rng, np.zeros(800, dtype=int), 0.0, 0.7)
    one = variance_decomposition(y, reward, steps=WIDTHS)
    two = variance_decomposition(y[::3], control=control, steps=WIDTHS)
    assert_allclose(two.noise_share, 0.49 / 1.49, atol=0.03)
    assert_allclose(one.noise_share, two.noise_share, atol=0.04)
    assert (two.source, two.n_groups, two.n_control) == ("control", None, 800)
    split = two.aitchison_variance
    assert np.all(split.noise_share_low < split.noise_share)
    assert np.all(split.noise_share < split.noise_share_high)


@pytest.mark.slow
def test_intervals_of_a_control_cover():
    rng = np.random.default_rng(10)
    hits = []
    for _ in range(200):
        y = draw(rng, np.arange(40), 1.0, 1.0)
        control = draw(rng, np.zeros(25, dtype=int), 0.0, 1.0)
        found = variance_decomposition(y, control=control, steps=WIDTHS)
        split = found.aitchison_variance
        hits.append((split.noise_share_low <= 0.5) & (split.noise_share_high >= 0.5))
    assert_allclose(np.mean(hits, axis=0), 0.9, atol=0.06)


def test_the_share_does_not_depend_on_the_basis_or_the_order_of_actions():
    """Sum over coordinates first, then cut at 0."""
    y = draw(np.random.default_rng(12), UNEQUAL, 0.2, 1.0)
    turned = y[:, [2, 0, 1, 6, 4, 3, 5]]
    one = variance_decomposition(y, UNEQUAL, steps=WIDTHS)
    two = variance_decomposition(turned, UNEQUAL, steps=WIDTHS)
    assert_allclose(one.noise_share, two.noise_share, rtol=1e-9)


def test_no_noise_and_no_choice():
    rng = np.random.default_rng(14)
    reward = np.repeat(np.arange(5), 2)
    y = np.hstack([draw(rng, reward, 1.0, 0.0), np.tile([1.0, 0.0], (10, 1))])
    y = np.hstack([y, np.tile([0.3, 0.7], (10, 1))])
    found = variance_decomposition(y, reward, steps=(*WIDTHS, 2, 2))
    split = found.aitchison_variance
    assert_allclose(split.noise_share[:2], 0.0, atol=1e-12)
    assert np.isnan(split.noise_share[2:]).all()
    assert np.isnan(split.between[2:]).all()
    assert "- step2: no choice, or no variance between members." in str(found)


def test_two_rewards_have_no_interval():
    y = draw(np.random.default_rng(15), np.repeat([0, 1], 4))
    found = variance_decomposition(y, np.repeat(["a", "b"], 4), steps=WIDTHS)
    assert np.isfinite(found.noise_share).all()
    assert np.isnan(found.aitchison_variance.noise_share_low).all()
    assert "[" not in str(found)


def test_few_or_unequal_replicates_do_not_bias_the_share():
    rng = np.random.default_rng(3)
    reward = np.repeat(np.arange(12), [2, 9, 2, 3, 8, 2, 2, 7, 3, 2, 9, 2])
    shares = []
    for _ in range(200):
        level = rng.normal(size=(12, 3))[reward]
        y = softmax(level + rng.normal(size=level.shape), axis=1)
        shares.append(variance_decomposition(y, replicate=reward).noise_share[0])
    assert np.median(shares) == pytest.approx(0.5, abs=0.03)


# Against policies that are exact

NOISE = np.array([0.5, 2.0])  # standard deviation per step; the signal has 1


def trained_and_exact(seed, n_rewards=1500, signal=1.0):
    rng = np.random.default_rng(seed)
    exact = signal * rng.normal(size=(n_rewards, sum(WIDTHS)))
    noise = rng.normal(size=exact.shape) * np.repeat(NOISE, WIDTHS)
    return compose(exact + noise), compose(exact)


def share_beside(exact, y):
    return variance_decomposition(y, exact=exact, steps=WIDTHS).noise_share


def test_the_share_beside_exact_policies():
    trained, exact = trained_and_exact(0)
    share = share_beside(exact, trained)
    assert_allclose(share, NOISE**2 / (1 + NOISE**2), atol=0.05)
    bias = compose(np.log(trained) + np.arange(7))  # a constant one does not count
    assert_allclose(share_beside(exact, bias), share, rtol=1e-9)
    noise, flat = trained_and_exact(5, signal=0.0)
    assert_allclose(share_beside(flat, noise), [1, 1], rtol=1e-9)
    assert_array_equal(share_beside(noise, noise), [0, 0])
    names = [f"a__{k}" for k in range(3)] + [f"b__{k}" for k in range(4)]
    table = pd.DataFrame(trained, columns=names)
    named = variance_decomposition(table, exact=exact)
    assert_array_equal(named.noise_share, share)


Y = draw(np.random.default_rng(17), UNEQUAL)


@cases(
    ("kwargs", "message"),
    ({}, "exactly one of replicate=, control= and exact=; got 0"),
    ({"replicate": np.arange(17)}, "no repeats"),
    ({"replicate": np.zeros(17)}, "one label only"),
    ({"replicate": UNEQUAL[:4]}, r"replicate has shape \(4,\); expected \(17,\)"),
    ({"control": Y[:1]}, "control has 1 member; a variance needs two"),
    ({"replicate": UNEQUAL, "steps": (3, 3)}, "sums to 6 columns"),
)
def test_bad_arguments(kwargs, message):
    refuses(message, variance_decomposition, Y, **{"steps": WIDTHS, **kwargs})
