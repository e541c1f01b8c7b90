"""The share of training noise, on a split that is known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from skpce.inspection import variance_decomposition
from tests.shared import cases, refuses

WIDTHS = (3, 5)
NOISE = np.array([0.5, 2.0])  # standard deviation per step; the signal has 1
TRUTH = NOISE**2 / (1 + NOISE**2)


def compose(logits):
    return np.hstack([softmax(b, axis=1) for b in np.split(logits, [3], axis=1)])


def draw(seed, n_rewards=1500, n_replicates=1, signal=1.0):
    rng = np.random.default_rng(seed)
    reward = np.repeat(np.arange(n_rewards), n_replicates)
    exact = signal * rng.normal(size=(n_rewards, 8))[reward]
    noise = rng.normal(size=(len(reward), 8)) * np.repeat(NOISE, WIDTHS)
    return compose(exact + noise), compose(exact), reward


def test_against_exact_policies():
    trained, exact, _ = draw(0)
    share = variance_decomposition(trained, exact=exact, steps=WIDTHS).noise_share
    assert_allclose(share, TRUTH, atol=0.05)


def test_a_constant_bias_does_not_count():
    trained, exact, _ = draw(0)
    bias = compose(np.log(trained) + np.arange(8))
    assert_allclose(
        variance_decomposition(bias, exact=exact, steps=WIDTHS).noise_share,
        variance_decomposition(trained, exact=exact, steps=WIDTHS).noise_share,
        rtol=1e-9,
    )


def test_few_or_unequal_replicates_do_not_bias_the_share():
    rng = np.random.default_rng(3)
    reward = np.repeat(np.arange(12), [2, 9, 2, 3, 8, 2, 2, 7, 3, 2, 9, 2])
    shares = []
    for _ in range(200):
        level = rng.normal(size=(12, 3))[reward]
        y = softmax(level + rng.normal(size=level.shape), axis=1)
        shares.append(variance_decomposition(y, replicate=reward).noise_share[0])
    assert np.median(shares) == pytest.approx(0.5, abs=0.03)


def test_nothing_but_noise_and_no_noise():
    noise, flat, _ = draw(5, signal=0.0)
    assert_allclose(
        variance_decomposition(noise, exact=flat, steps=WIDTHS).noise_share,
        [1, 1],
        rtol=1e-9,
    )
    assert_array_equal(
        variance_decomposition(noise, exact=noise, steps=WIDTHS).noise_share, [0, 0]
    )


def test_no_choice_and_no_variance(rng):
    trained, _, _ = draw(6, 30)
    same = softmax(np.array([0.3, 0.1]) + rng.normal(size=(30, 1)), axis=1)
    y = np.hstack([trained, np.tile([1.0, 0.0], (30, 1)), same])
    share = variance_decomposition(y, control=y, steps=(*WIDTHS, 2, 2)).noise_share
    assert_allclose(share, [1, 1, np.nan, np.nan])


def test_names_of_a_data_frame_give_the_steps():
    pandas = pytest.importorskip("pandas")
    trained, exact, _ = draw(7, 40)
    names = [f"a__{k}" for k in range(3)] + [f"b__{k}" for k in range(5)]
    table = pandas.DataFrame(trained, columns=names)
    assert_array_equal(
        variance_decomposition(table, exact=exact).noise_share,
        variance_decomposition(trained, exact=exact, steps=WIDTHS).noise_share,
    )


Y = softmax(np.random.default_rng(0).normal(size=(6, 3)), axis=1)


@cases(
    ("kwargs", "message"),
    ({"exact": Y, "control": Y}, "got 2 of them"),
    ({"exact": Y[:4]}, "exact has 4 members and y 6"),
    ({"exact": Y[:, :2]}, r"exact has shape \(6, 2\); expected \(n_members, 3\)"),
    ({"control": Y[:, 0]}, "control has shape"),
    ({"exact": -Y}, "Negative values in data: exact"),
)
def test_bad_arguments(kwargs, message):
    refuses(message, variance_decomposition, Y, **kwargs)


def test_bad_tables():
    refuses("exact has 1 members and y 1;", variance_decomposition, Y[:1], exact=Y[:1])
    refuses("pack_steps", variance_decomposition, [Y, Y], exact=Y)
