"""Shares of the variance: one number for one quantity, and their intervals."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import skpce
from skpce import PolynomialChaosRegressor
from skpce.drivers import Design, _shares
from skpce.drivers._exchange import Inputs, Problem
from skpce.drivers._shares import noise_share
from skpce.inspection import variance_decomposition


@pytest.mark.parametrize("unequal", [False, True])
def test_noise_between_repeats_is_that_of_the_variance_decomposition(unequal, rng):
    counts = rng.integers(1, 5, size=20) if unequal else np.full(20, 3)
    setting = np.repeat(np.arange(20), counts)
    y = rng.normal(size=20)[setting] + 0.5 * rng.normal(size=len(setting))
    expected = variance_decomposition(y, replicate=setting).noise_share.ravel()
    found = noise_share(y[:, np.newaxis], np.zeros(1, np.int64), setting)
    assert_allclose(found, expected)


def test_shares_of_a_linear_function_are_those_of_its_variances():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 4))
    y = X[:, 0] + 0.5 * X[:, 1] + 0.1 * rng.normal(size=200)
    drivers = skpce.explain(X, y).drivers
    expected = np.array([1.0, 0.25, 0.0, 0.0]) / 1.26
    assert_allclose(drivers.total[0], expected, atol=0.08)
    assert (drivers.total_low[0] <= expected + 1e-9).all()
    assert (expected <= drivers.total_high[0]).all()


def test_the_only_input_does_nothing_together_with_others():
    rng = np.random.default_rng(3)
    x = rng.uniform(size=(40, 1))
    answer = skpce.explain(x, np.sin(4 * x[:, 0]) + 0.5 * rng.normal(size=40))
    curves = skpce.explain(x, x * [1.0, 2.0] + rng.normal(size=(40, 2))).over([1, 2])
    for one in (answer.drivers, curves):
        assert_array_equal(one.first, one.total)
    assert "together" not in str(answer)
    assert "alone" not in answer.sentences[0]


def test_shares_of_very_many_outputs_have_intervals_too(monkeypatch):
    monkeypatch.setattr(_shares, "_MOST_DRAWN", 20)
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 2))
    y = rng.normal(size=(60, 80))
    y[:, :60] += X[:, [0]]
    inputs = Inputs.of(X, np.zeros(2, dtype=bool))
    problem = Problem(inputs, y, np.arange(80), Design.of(X), ((0,), (1,)), 4 * 80)
    found = _shares.shares_of(problem, np.arange(60)).total
    covered = (found[1, :60, 0] <= 0.5) & (found[2, :60, 0] >= 0.5)
    assert covered.mean() > 0.85
    assert np.median(np.abs(found[0, :60, 0] - 0.5)) < 0.15


def test_upper_ends_are_wider_where_earlier_results_chose_the_settings(rng):
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))

    def objective(trial):
        a, b = (trial.suggest_float(name, 0, 1) for name in "ab")
        return np.sin(5 * a) * b + 0.3 * rng.normal()

    study.optimize(objective, n_trials=40)
    plain = skpce.explain(study)
    study.sampler = optuna.samplers.TPESampler()
    adaptive = skpce.explain(study)
    assert (adaptive.design.adaptive, plain.design.adaptive) == (True, False)
    assert_array_equal(adaptive.drivers.total, plain.drivers.total)
    assert (adaptive.drivers.total_high > plain.drivers.total_high).any()
    assert (adaptive.drivers.total_high >= plain.drivers.total_high).all()


def test_shares_are_those_of_the_fit_whether_or_not_something_drives():
    rng = np.random.default_rng(5)
    X = rng.uniform(size=(24, 3))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=24)
    answer = skpce.explain(X, y)
    assert set(answer.drivers.state.ravel()) == {"not settled"}
    model = PolynomialChaosRegressor(distribution="auto").fit(X, y)
    share = np.ravel(model.total_sobol_indices_) * answer.findings.shares.explained
    assert_allclose(answer.drivers.total[0], share, atol=1e-8)
    assert (answer.drivers.total_low == 0).all()


@pytest.mark.slow
def test_upper_ends_hold_for_labels_with_more_combinations_than_runs():
    held = []
    for seed in range(6):  # by the errors of leaving out one run: two of these
        rng = np.random.default_rng(seed)
        scales = np.array([1.0, 0.5, 0.0])[:, np.newaxis]
        first, second, third = scales * rng.normal(size=(3, 12))
        table = first[:, None, None] + second[:, None] + third
        for shape in ((12, 12, 1), (12, 1, 12), (1, 12, 12)):
            table = table + 0.6 * rng.normal(size=shape)
        truth = [table.var(axis=k).mean() / table.var() for k in range(3)]
        at = rng.choice(table.size, 150, replace=False)
        X = np.stack(np.unravel_index(at, table.shape), axis=1)
        labels = np.array([f"level {i}" for i in range(12)], dtype=object)
        high = skpce.explain(labels[X], table.ravel()[at]).drivers.total_high
        held.append((high[0] > truth).all())
    assert sum(held) >= 5


@pytest.mark.slow
def test_upper_ends_hold_where_an_interaction_of_four_inputs_is_not_learned():
    held = []
    for seed in range(6):  # without the errors of refits: none of these
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, size=(80, 5))
        y = 0.25 * X[:, 0] + (X[:, 1:] > 0).all(axis=1)
        # Variances: 1/48 of the first, 15/256 of the rest, 1/32 of each with others.
        truth = (1 / 32) / (1 / 48 + 15 / 256)
        high = skpce.explain(X, y).drivers.total_high
        held.append((high[0, 1:] > truth).all())
    assert sum(held) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("n_outputs", [8, 9, 100])
def test_each_of_many_outputs_has_its_own_noise(n_outputs):
    # 100 are more than runs. Of a shared noise 33 % of the first were not predicted.
    rng = np.random.default_rng(12)
    X = rng.uniform(size=(80, 4))
    noise = np.minimum(0.25 * np.arange(n_outputs), 2.0)
    y = X[:, np.arange(n_outputs) % 2] + noise * rng.normal(size=(80, n_outputs)) / 3
    found = skpce.explain(X, y)
    assert found.drivers.total[0, 0] > 0.99
    assert found.drivers.total_low[0, 0] > 0.9
    assert found.not_predicted[0] < 0.01
    assert found.not_predicted[4] > 0.3


def test_ends_of_inputs_taken_together_count_what_they_do_together_once():
    held = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 5))
        y = X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=60)
        table = {f"x{i}": own for i, own in enumerate(X.T)} | {"y": y}
        pair = {"pair": ["x1", "x2"]}
        rows = skpce.explain(table, outputs="y", together=pair).drivers
        place = list(rows.input_names).index("pair")
        for low, high in (
            (rows.first_low, rows.first_high),
            (rows.total_low, rows.total_high),
        ):
            held.append(low[0, place] <= 0.25 / 1.29 <= high[0, place])
    assert sum(held) >= 14


def test_of_what_is_not_predicted_any_share_may_be(rng):
    answer = skpce.explain(rng.normal(size=(20, 1)), rng.normal(size=20))
    assert answer.q2.item() < 0
    ends = answer.drivers.total_low.item(), answer.drivers.total_high.item()
    assert ends == (0.0, 1.0)


def test_passes_and_failures_of_a_setting_are_no_copies():
    X = np.array(list(product(range(3), range(2)))).repeat(20, axis=0)
    chance, found = np.array([0.2, 0.5, 0.9])[X[:, 0]], []
    for seed in range(5):
        passed = np.random.default_rng(seed).uniform(size=len(X)) < chance
        answer = skpce.explain(X, passed.astype(float))
        found.append(answer.drivers.total[0, 0])
        assert "misses" not in str(answer)
    truth = chance.var() / (chance.mean() * (1 - chance.mean()))
    assert abs(np.mean(found) - truth) < 0.08


@pytest.mark.parametrize("steps", [True, False])
def test_what_runs_have_of_their_own_is_not_of_their_inputs(steps):
    """Of learning curves, and of repeated settings that differ by more than noise."""
    run, truth, found = np.repeat(np.arange(40), 4), (1 / 12) / (2 / 12 + 0.25), []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, own = rng.uniform(size=(40, 3)), 0.5 * rng.normal(size=40)
        y = (X[:, 0] + own)[run] + 0.05 * rng.normal(size=160)
        step = np.tile([0.0, 0.2, 0.4, 0.78], 40)  # of variance 1 / 12
        table = np.column_stack([X[run], step]) if steps else X[run]
        y = y + step if steps else y + 0.29 * np.tile([-1, 1], 80)
        rows = skpce.explain(table, y, **{"groups" if steps else "replicate": run})
        rows = rows.drivers
        found.append(rows.total[0, :3])
        assert rows.total_low[0, 0] < truth < rows.total_high[0, 0]
    mean = np.mean(found, axis=0)
    assert abs(mean[0] - truth) < 0.08
    assert mean[1:].max() < 0.06
