"""Two modes of a probability over the members, and Hartigan's dip."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog
from scipy.special import expit, softmax
from scipy.stats import kstest, uniform
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from skpce import CompositionalPCESurrogate
from skpce.drivers._exchange import holm
from skpce.inspection import modes_test
from skpce.inspection._modes import (
    dip_p_values,
    dip_statistic,
    separating_rule,
)
from tests.shared import refuses, ridge_surrogate


def dip_by_linear_programmes(values, weights=None):
    """Smallest h such that a law with a mode at some value is within h.

    One linear programme a mode: left limits are convex up to it, values concave
    from it on, and both lie in the tube around the empirical law.
    """
    x, place = np.unique(values, return_inverse=True)
    counts = np.bincount(place, weights)
    n, gaps = len(x), np.diff(x)[:, np.newaxis]
    above = np.cumsum(counts) / counts.sum()
    below = above - counts / counts.sum()
    best = 1.0
    for mode in range(n):
        left, right = np.split(np.eye(n + 1), [mode + 1])
        held = np.vstack([left, left[:mode], right, right[1:]])
        levels = below[: mode + 1], above[:mode], above[mode:], below[mode + 1 :]
        convex = np.diff(np.diff(left, axis=0) / gaps[:mode], axis=0)
        concave = np.diff(np.diff(right, axis=0) / gaps[mode:], axis=0)
        rows = [held, -held, -np.diff(np.eye(n + 1), axis=0), -convex, concave]
        rows = np.vstack(rows)
        level = np.concatenate(levels)
        bounds = np.r_[level, -level, np.zeros(len(rows) - 2 * len(held))]
        h = -1.0 * (np.arange(len(rows)) < 2 * len(held))
        cost = np.eye(n + 2)[-1]
        solved = linprog(cost, np.column_stack([rows, h]), bounds, bounds=(0, 1))
        best = min(best, solved.fun if solved.status == 0 else 1.0)
    return best


@pytest.mark.parametrize("seed", range(6))
def test_the_dip_of_repeated_values_is_a_distance(seed):
    """A mode may have a mass of its own, other values may not."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, rng.integers(3, 8), size=25).astype(float)
    for weights in (None, rng.integers(1, 4, size=25), rng.uniform(0.1, 3, size=25)):
        expected = dip_by_linear_programmes(values, weights)
        assert dip_statistic(values, weights) == pytest.approx(expected, abs=1e-7)


def test_the_least_dips():
    assert dip_statistic(np.arange(50.0)) == pytest.approx(1 / 100)
    assert dip_statistic(np.ones(9)) == 0.0


def test_p_values_of_uniform_samples_are_uniform():
    rng = np.random.default_rng(5)
    dips = np.array([dip_statistic(rng.uniform(size=30)) for _ in range(1000)])
    p_values = dip_p_values(dips, 30)
    assert kstest(p_values, "uniform").pvalue > 0.01
    assert np.mean(p_values <= 0.05) == pytest.approx(0.05, abs=0.02)
    dips = np.array([dip_statistic(rng.normal(size=30)) for _ in range(300)])
    assert np.mean(dip_p_values(dips, 30) <= 0.05) <= 0.02


def switching(seed, n_members=30):
    """Log-odds of the first action are 4 tanh(3x): nearly -4 or 4."""
    X = np.random.default_rng(seed).normal(size=(n_members, 1))
    log_odds = 4 * np.tanh(3 * X[:, 0])
    return X, softmax(np.column_stack([log_odds, 0 * log_odds]), axis=1)


@pytest.mark.parametrize("degree", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("seed", range(5))
def test_two_modes_are_found_whatever_the_degree(seed, degree):
    X, y = switching(seed)
    surrogate = ridge_surrogate(degree, random_state=0).fit(X, y)
    found = modes_test(surrogate)
    assert found.bimodal == (True, True)
    assert np.all(found.p_value <= 0.002)
    log_odds = np.log(y[:, 0] / y[:, 1])
    assert found.dip[0] == pytest.approx(dip_statistic(log_odds))
    assert found.parts[0].rule.startswith("x0 > ")
    assert found.parts[1].rule.startswith("x0 <= ")
    if degree == 1:  # normal, as x is
        assert not found.shown.any()
        assert "modes of step0:0, step0:1, and the expansion does not" in str(found)
    if degree == 5:
        assert found.shown.all()
        assert "does not show" not in str(found)


def bistable(threshold, seed=0, n_members=300):
    """The first action is taken or not, by whether x1 is above a threshold."""
    X = np.random.default_rng(seed).uniform(-1, 1, size=(n_members, 3))
    logit = 3 * np.tanh(12 * (X[:, 1] - threshold)) + 0.2 * X[:, 0]
    return X, softmax(np.column_stack([logit, 0 * logit]), axis=1)


@pytest.mark.parametrize("threshold", [0.0, 0.3])
def test_the_modes_and_their_threshold(threshold):
    X, y = bistable(threshold)
    surrogate = ridge_surrogate(
        9, interaction_order=1, distribution=uniform(-1, 2), random_state=0
    )
    row = modes_test(surrogate.fit(X, y))["step0:0"]
    assert row.bimodal
    assert row.shown
    assert row.rule.startswith("x1 > ")
    assert float(row.rule.split()[-1]) == pytest.approx(threshold, abs=0.05)
    assert row.rule_accuracy > 0.95
    assert row.upper_share == pytest.approx(np.mean(X[:, 1] > threshold), abs=0.02)
    assert_allclose([row.lower, row.upper], expit([-3, 3]), atol=0.06)
    linear = ridge_surrogate(1, distribution=uniform(-1, 2)).fit(X, y)
    found = modes_test(linear)
    assert found.bimodal == (True, True)
    assert not found.shown.any()
    pipeline = make_pipeline(PCA(3), ridge_surrogate(1)).fit(X, y)
    assert "pca" in modes_test(pipeline)["step0:0"].rule


def of_one_mode(seed, n_members=30):
    """Three steps of 2, 3 and 4 actions, whose log-odds have one mode."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n_members, 2))
    weights = rng.normal(size=(2, 9))
    steps = np.split(X @ weights + rng.normal(size=(n_members, 9)), [2, 5], axis=1)
    y = np.hstack([softmax(step, axis=1) for step in steps])
    return X, y, (2, 3, 4)


def test_families_of_one_mode_are_rarely_called_bimodal():
    called = 0
    for seed in range(60):
        X, y, steps = of_one_mode(seed)
        surrogate = ridge_surrogate(1, steps=steps).fit(X, y)
        called += any(modes_test(surrogate).bimodal)
    assert called <= 3  # the nominal 0.05, of laws for which the test is conservative


def test_p_values_are_adjusted_over_all_tests():
    """Both actions of a step of two are one test."""
    X, y, steps = of_one_mode(0)
    surrogate = ridge_surrogate(1, steps=steps).fit(X, y)
    found = modes_test(surrogate)
    alone = dip_p_values(found.dip, len(X))
    assert alone[0] == pytest.approx(alone[1])
    expected = holm(alone[1:])
    assert_allclose(found.p_value, [expected[0], *expected])
    assert found.n_tests == 8
    one = modes_test(surrogate, action="1")
    assert one.step.tolist() == ["step0", "step1", "step2"]
    assert_allclose(one.p_value, holm(alone[[1, 3, 6]]))
    assert_array_equal(modes_test(surrogate, action=1).dip, one.dip)
    assert "one test" in str(modes_test(surrogate, action="3"))


def test_many_normal_log_odds_have_one_mode():
    """Of a large variance: most probabilities are near 0 or 1."""
    for seed in range(10):
        X = np.random.default_rng(seed).normal(size=(80, 1))
        y = softmax(np.column_stack([5 * X[:, 0], 0 * X[:, 0]]), axis=1)
        assert dip_p_values(np.array([dip_statistic(y[:, 0])]), 80)[0] < 0.01
        found = modes_test(ridge_surrogate(1).fit(X, y))
        assert found.bimodal == (False, False)


def test_weights_are_frequencies():
    X, y = switching(0)
    weights = np.random.default_rng(1).integers(0, 3, size=len(X))
    by_weight = modes_test(ridge_surrogate(1).fit(X, y, sample_weight=weights))
    repeated = np.repeat(np.arange(len(X)), weights)
    by_rows = modes_test(ridge_surrogate(1).fit(X[repeated], y[repeated]))
    for name in ("dip", "lower", "upper", "upper_share", "expansion_dip"):
        assert_allclose(by_weight.columns[name], by_rows.columns[name], atol=1e-9)
    # Repeated members are no more evidence.
    log_odds = np.log(y[:, 0] / y[:, 1])[weights > 0]
    dip = dip_statistic(log_odds, weights[weights > 0])
    n_members = weights.sum() ** 2 / np.square(weights).sum()
    expected = dip_p_values(np.array([dip]), n_members)[0]
    assert by_weight.p_value[0] == pytest.approx(expected, rel=1e-9)


def test_a_rule_of_two_inputs():
    X = np.random.default_rng(0).uniform(-1, 1, size=(500, 3))
    upper = (X[:, 0] > 0.2) & (X[:, 2] <= 0.5)
    rule, accuracy = separating_rule(X, upper, ["a", "b", "c"])
    assert accuracy > 0.95
    assert rule.startswith("a > 0.2")
    assert " and c <= 0.5" in rule
    assert " or " not in rule


def test_no_rule_separates_modes_that_the_inputs_do_not_make(rng):
    X, upper = rng.normal(size=(60, 2)), rng.integers(0, 2, size=60) == 1
    assert separating_rule(X, upper, ["a", "b"])[1] == pytest.approx(0.5, abs=0.15)
    only = np.arange(60) == 7
    assert separating_rule(X, only, ["a", "b"])[0] == ""


def test_steps_without_choice_and_probabilities_that_do_not_vary():
    X = np.random.default_rng(0).normal(size=(30, 1))
    y = np.column_stack([np.full((30, 2), 0.5), np.ones(30)])
    found = modes_test(ridge_surrogate(1, steps=(2, 1)).fit(X, y))
    assert found.part_names == ("step0:0", "step0:1")  # the other step has no choice
    assert found.bimodal == (False, False)
    assert np.isnan(found.p_value).all()
    assert "step0:0: the probability does not vary" in str(found)
    surrogate = ridge_surrogate(1, steps=(1, 1)).fit(X, np.ones((30, 2)))
    assert modes_test(surrogate).bimodal == ()
    refuses(r"one of \[\] or its position. Got '0'", modes_test, surrogate, action="0")
    refuses("or its position. Got array", modes_test, surrogate, action=np.zeros(2))


@pytest.mark.parametrize("n_trials", [3, 10, 20])
def test_frequencies_with_one_mode_are_not_bimodal(n_trials):
    answers = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(200, 1))
        counts = rng.binomial(n_trials, expit(0.7 * X[:, 0] + 1.0))
        share = (counts + 0.5) / (n_trials + 1)
        y = np.column_stack([share, 1 - share])
        answers += modes_test(CompositionalPCESurrogate(1).fit(X, y)).bimodal
    assert sum(answers) == 0
