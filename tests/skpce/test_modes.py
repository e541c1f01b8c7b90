"""Two modes of a probability, and Hartigan's dip."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import expit, softmax
from scipy.stats import kstest, norm, uniform

from skpce import CompositionalPCESurrogate
from skpce._compositions.modes import dip_p_value, dip_statistic, find_modes

SEED = 0


def dip_by_linear_programmes(values):
    """Smallest h such that a law with a mode at some value is within h.

    One linear programme a mode: left limits are convex up to it, values concave
    from it on, and both lie in the tube around the empirical law.
    """
    x, counts = np.unique(values, return_counts=True)
    n = len(x)
    above = np.cumsum(counts) / counts.sum()
    below = above - counts / counts.sum()
    slopes = 1.0 / np.diff(x)
    best = 1.0
    for mode in range(n):
        n_left = mode + 1
        size = n + 2  # left limits, values from the mode on, h
        rows, bounds = [], []

        def add(entries, bound, size=size, rows=rows, bounds=bounds):
            row = np.zeros(size)
            for k, value in entries:
                row[k] += value
            rows.append(row)
            bounds.append(bound)

        def near(k, level, add=add, h=size - 1):
            add([(k, 1), (h, -1)], level)
            add([(k, -1), (h, -1)], -level)

        for i in range(n_left):
            near(i, below[i])
            if i < mode:
                near(i, above[i])
        for i in range(mode, n):
            near(i + 1, above[i])
            if i > mode:
                near(i + 1, below[i])
        for k in range(n):
            add([(k, 1), (k + 1, -1)], 0.0)
        for i in range(1, n_left - 1):
            a, b = slopes[i - 1], slopes[i]
            add([(i - 1, -a), (i, a + b), (i + 1, -b)], 0.0)
        for i in range(mode + 1, n - 1):
            a, b = slopes[i - 1], slopes[i]
            add([(i, a), (i + 1, -a - b), (i + 2, b)], 0.0)
        cost = np.zeros(size)
        cost[-1] = 1.0
        solved = linprog(cost, np.array(rows), bounds, bounds=[(0, 1)] * size)
        best = min(best, solved.fun if solved.status == 0 else 1.0)
    return best


@pytest.mark.parametrize("seed", range(8))
def test_the_dip_is_a_distance(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=rng.integers(4, 20))
    values += (seed % 3) * 2 * rng.integers(0, 2, size=len(values))
    expected = dip_by_linear_programmes(values)
    assert dip_statistic(values) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_the_dip_of_repeated_values_is_a_distance(seed):
    """A mode may have a mass of its own, other values may not."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, rng.integers(3, 8), size=25).astype(float)
    expected = dip_by_linear_programmes(values)
    assert dip_statistic(values) == pytest.approx(expected, abs=1e-7)


def test_the_dip_of_known_samples():
    assert dip_statistic(np.arange(50.0)) == pytest.approx(1 / 100)
    assert dip_statistic(np.repeat([3.0, 7.0], 20)) == pytest.approx(0.25)
    assert dip_statistic(np.ones(9)) == 0.0
    values = np.random.default_rng(SEED).normal(size=200)
    expected = dip_statistic(values)
    assert dip_statistic(7 - 2 * values) == pytest.approx(expected, abs=1e-12)
    assert dip_statistic(np.repeat(values, 3)) == pytest.approx(expected, abs=1e-12)


def test_p_values_of_uniform_samples_are_uniform():
    rng = np.random.default_rng(5)
    p_values = [
        dip_p_value(dip_statistic(rng.uniform(size=400)), 400) for _ in range(250)
    ]
    assert kstest(p_values, "uniform").pvalue > 0.01
    assert np.mean(np.array(p_values) <= 0.05) == pytest.approx(0.05, abs=0.035)
    normal = [dip_p_value(dip_statistic(rng.normal(size=400)), 400) for _ in range(50)]
    assert np.mean(np.array(normal) <= 0.05) <= 0.02


def bistable(threshold, seed=SEED, n_members=300):
    """The first action is taken or not, by whether x1 is above a threshold."""
    X = np.random.default_rng(seed).uniform(-1, 1, size=(n_members, 3))
    logit = 3 * np.tanh(12 * (X[:, 1] - threshold)) + 0.2 * X[:, 0]
    return X, softmax(np.column_stack([logit, 0 * logit]), axis=1)


@pytest.mark.parametrize("threshold", [0.0, 0.3])
def test_two_modes_and_their_threshold_are_found(threshold):
    X, y = bistable(threshold)
    modes = (
        CompositionalPCESurrogate(
            9, interaction_order=1, distribution=uniform(-1, 2), random_state=0
        )
        .fit(X, y)
        .predicted_modes("step0", "0")
    )
    assert modes.bimodal
    assert modes.features.tolist() == [1]
    assert modes.rule.startswith("x1 > ")
    assert float(modes.rule.split()[-1]) == pytest.approx(threshold, abs=0.12)
    assert modes.rule_accuracy > 0.95
    share = (1 - threshold) / 2
    np.testing.assert_allclose(modes.weights, [1 - share, share], atol=0.08)
    np.testing.assert_allclose(modes.probabilities, expit([-3, 3]), atol=0.06)


def test_names_of_inputs_come_into_the_rule():
    pandas = pytest.importorskip("pandas")
    X, y = bistable(0.0)
    table = pandas.DataFrame(X, columns=["temperature", "dose", "time"])
    surrogate = CompositionalPCESurrogate(
        9, interaction_order=1, distribution=uniform(-1, 2), random_state=0
    ).fit(table, y)
    assert surrogate.predicted_modes(0, 0).rule.startswith("dose > ")
    assert surrogate.predicted_modes(0, 1).rule.startswith("dose <= ")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("law", [norm(0, 1), uniform(-1, 2)])
def test_one_mode_is_not_called_two(law, seed):
    X = law.rvs(size=(100, 2), random_state=seed)
    y = softmax(np.column_stack([2 * X[:, 0], X[:, 1], 0 * X[:, 0]]), axis=1)
    surrogate = CompositionalPCESurrogate(1, distribution=law, random_state=seed)
    surrogate.fit(X, y)
    for action in range(3):
        modes = surrogate.predicted_modes(0, action)
        assert not modes.bimodal, modes
        assert modes.probabilities[0] <= modes.probabilities[1]


@pytest.mark.parametrize("residual", ["resampled", "gaussian"])
def test_many_draws_of_few_residuals_are_no_evidence(residual):
    """Nothing but normal noise: the draws repeat a sample of one hundred."""
    called = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(100, 1))
        y = softmax(rng.normal(size=(100, 2)), axis=1)
        surrogate = CompositionalPCESurrogate(1, random_state=seed).fit(X, y)
        called += surrogate.predicted_modes(0, 0, residual=residual).bimodal
    assert called == 0


def test_a_rule_of_two_inputs():
    X = np.random.default_rng(SEED).uniform(-1, 1, size=(2000, 3))
    upper = (X[:, 0] > 0.2) & (X[:, 2] <= 0.5)
    logits = np.where(upper, 3.0, -3.0)
    logits = logits + 0.3 * np.random.default_rng(1).normal(size=2000)
    modes = find_modes(logits, X, ["a", "b", "c"], 0.05, np.random.default_rng(0))
    assert modes.bimodal
    assert modes.features.tolist() == [0, 2]
    assert modes.rule_accuracy > 0.98
    assert " and " in modes.rule
    assert " or " not in modes.rule


def test_another_law_of_the_inputs_may_have_one_mode():
    X, y = bistable(0.0)
    surrogate = CompositionalPCESurrogate(
        9, interaction_order=1, distribution=uniform(-1, 2), random_state=0
    ).fit(X, y)
    assert surrogate.predicted_modes(0, 0).bimodal
    narrow = [uniform(-1, 2), uniform(0.5, 0.3), uniform(-1, 2)]
    assert not surrogate.predicted_modes(0, 0, inputs=narrow).bimodal


def test_a_probability_that_does_not_vary():
    X = np.random.default_rng(SEED).normal(size=(30, 1))
    y = np.column_stack([np.full((30, 2), 0.5), np.ones(30)])
    surrogate = CompositionalPCESurrogate(1, steps=(2, 1), random_state=0).fit(X, y)
    modes = surrogate.predicted_modes(0, 0)
    assert not modes.bimodal
    assert modes.rule == ""
    np.testing.assert_allclose(modes.probabilities, 0.5)
    with pytest.raises(ValueError, match="part '0' of step 'step1' is masked or"):
        surrogate.predicted_modes(1, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"step": "last"}, r"'step' .* \['step0'\] or its position. Got 'last'"),
        ({"step": True}, "'step' .* Got True"),
        ({"action": 2}, "'action' .* Got 2"),
        ({"n_samples": 49}, "'n_samples' .* at least 50. Got 49"),
        ({"significance_level": 0}, "'significance_level' .* Got 0"),
        ({"residual": "none"}, "Got 'none'"),
    ],
)
def test_bad_arguments(arguments, message):
    X, y = bistable(0.0, n_members=40)
    surrogate = CompositionalPCESurrogate(1).fit(X, y)
    with pytest.raises(ValueError, match=message):
        surrogate.predicted_modes(**({"step": 0, "action": 0} | arguments))
