"""What is exchanged with what."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

import skpce
from skpce.drivers import Design
from skpce.drivers._design import find_constraint, memory_of, numbers_of
from skpce.drivers._roles import find_counter, find_curves, find_runs
from tests.shared import refuses


def exchange_of(X, column, **labels):
    X = np.asarray(X, dtype=float)
    others = np.delete(X, column, axis=1)
    return Design.of(X, **labels).exchange(X[:, [column]], others)


def factorial(*n_levels, repeats=1):
    rows = list(itertools.product(*map(range, n_levels)))
    return np.repeat(np.array(rows, dtype=float), repeats, axis=0)


def test_rows_settings_or_what_blocks_hold_are_exchanged(rng):
    found = exchange_of(rng.normal(size=(20, 3)), 0)
    assert (found.kind, found.unit.max() + 1, found.scope) == ("rows", 20, "beyond")
    assert found.strata is None
    found = exchange_of(np.repeat(rng.normal(size=(10, 2)), 3, axis=0), 0)
    assert (found.kind, found.unit.max() + 1) == ("rows", 10)
    assert np.array_equal(np.bincount(found.unit), np.full(10, 3))
    block = np.repeat(np.arange(8), 4)
    X = np.column_stack([rng.normal(size=8)[block], rng.normal(size=32)])
    found = exchange_of(X, 0, blocks=block)
    assert (found.kind, found.unit.max() + 1) == ("rows", 8)
    few = exchange_of(rng.normal(size=(5, 2))[np.repeat(np.arange(5), 4)], 0)
    assert few.kind == "none"
    assert "5 units" in few.why


@pytest.mark.parametrize("shape", [(3, 2), (2, 2, 2, 2), (4, 3)])
def test_levels_of_a_factorial_are_exchanged_within_those_of_the_others(shape):
    X = factorial(*shape, repeats=5)
    for column in range(len(shape)):
        found = exchange_of(X, column)
        assert (found.kind, found.scope) == ("strata", "tried")
        others = numbers_of(np.delete(X, column, axis=1))
        assert np.array_equal(found.strata, others)


@pytest.mark.parametrize("shape", [(6, 3), (60, 1)])
def test_settings_of_a_large_factorial_are_exchanged(shape):
    X = factorial(*shape, repeats=3)[:, : 1 + (shape[1] > 1)]
    for column in range(X.shape[1]):
        found = exchange_of(X, column)
        assert (found.kind, found.scope) == ("strata", "beyond")
        assert found.unit.max() + 1 == shape[0] * shape[1]
        assert len(found.strata) == found.unit.max() + 1


def test_strata_follow_the_rows_in_any_order():
    rng = np.random.default_rng(12)
    block = rng.permutation(np.repeat(np.arange(5), 6))
    found = exchange_of(rng.normal(size=(30, 2)), 0, blocks=block)
    assert np.array_equal(found.strata[found.unit], block)
    X = np.repeat(rng.normal(size=(30, 2)), 2, axis=0)
    rows = rng.permutation(60)
    found = exchange_of(X[rows], 0, blocks=np.repeat(block, 2)[rows])
    assert np.array_equal(found.strata[found.unit], np.repeat(block, 2)[rows])


def test_groups_are_exchanged_as_a_whole_or_change_their_signs():
    rng = np.random.default_rng(4)
    group = np.repeat(np.arange(12), 5)
    whole = rng.normal(size=(12, 2))[group]
    found = exchange_of(whole, 0, groups=group)
    assert (found.kind, found.unit.max() + 1) == ("rows", 12)
    found = exchange_of(rng.normal(size=(60, 2)), 0, groups=group)
    assert (found.kind, found.unit.max() + 1) == ("signs", 12)


def test_a_design_within_groups_is_exchanged_within_them():
    group = np.repeat(np.arange(10), 3)
    X = np.column_stack([np.tile([0.0, 1, 2], 10), np.zeros(30)])
    found = exchange_of(X, 0, groups=group)
    assert found.kind == "strata"
    assert np.array_equal(found.strata, group)


def ablation(n_flags, repeats):
    rows = np.vstack([np.ones(n_flags), 1.0 - np.eye(n_flags)])
    return np.repeat(rows, repeats, axis=0)


def test_a_flag_that_is_off_once_is_compared_with_its_reference():
    """Orders of the settings, or of ten runs, are too few: all runs are exchanged."""
    found = exchange_of(ablation(7, 5), 2)
    assert (found.kind, found.scope, found.unit.max() + 1) == ("strata", "tried", 40)
    assert found.pooled
    assert found.within is None
    pairs = np.bincount(found.strata)
    assert sorted(pairs) == [5] * 6 + [10]
    many = exchange_of(ablation(7, 10), 2)
    assert not many.pooled
    assert np.array_equal(many.within, many.strata)
    assert not exchange_of(ablation(7, 1), 2).pooled  # nothing says what is noise


def test_an_ablation_table_has_an_answer():
    rng = np.random.default_rng(3)
    X = ablation(7, 5)
    y = 2 * X[:, 0] + 0.7 * X[:, 1] + 0.2 * rng.normal(size=40)
    table = {f"use_{k}": X[:, k] for k in range(7)} | {"y": y}
    answer = skpce.explain(table, outputs="y")
    row = answer.drivers.rows[0]
    assert row.state.tolist() == ["drives", "drives", *["does not matter"] * 5]
    assert row.total[0] > 0.7
    assert "shown at the settings tried" in str(answer)


def test_blocks_that_cross_groups_are_no_strata_of_them():
    """Which block comes first in a group depends on the order of the rows."""
    model, task = (part.ravel() for part in np.mgrid[:12, :10])
    own = np.random.default_rng(0).normal(size=(12, 2))[model]
    found = exchange_of(own, 0, groups=model, blocks=task)
    assert (found.kind, found.unit.max() + 1) == ("rows", 12)
    assert found.strata is None
    nested = exchange_of(own, 0, groups=model, blocks=model // 4)
    assert np.array_equal(nested.strata, np.arange(12) // 4)


def test_few_groups_do_not_change_signs_and_blocks_are_named():
    group = np.repeat(np.arange(6), 12)
    found = exchange_of(np.random.default_rng(0).normal(size=(72, 2)), 0, groups=group)
    assert found.kind == "none"
    assert "there are 6 groups, within which inputs vary, and 8" in found.why
    assert "blocks=" in found.why


def test_several_series_are_told_apart_or_refused():
    X, week = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) // 3
    store = np.arange(60) % 3
    refuses(r"3 runs at each of 20 places, .* several", Design.of, X, order=week)
    design = Design.of(X, order=week, blocks=store)
    assert np.array_equal(np.argsort(design.order), np.lexsort((week, store)))
    assert {len(set(store[design.series_blocks(15) == k])) for k in range(3)} == {1}
    assert Design.of(X, order=week, groups=store).order is None
    alone = np.arange(60.0)
    assert np.array_equal(Design.of(X, order=alone, blocks=store).order, alone)
    assert np.array_equal(Design.of(X, order=week, blocks=19 - week).order, week)


def test_what_blocks_hold_has_no_share_within_them():
    rng = np.random.default_rng(1)
    load = np.repeat(np.arange(16), 12)
    temp, recipe = (load % 2).astype(float), np.tile([0.0, 1.0, 2.0], 64)
    noise = 0.2 * rng.normal(size=16)[load] + 0.15 * rng.normal(size=192)
    table = {"temp": temp, "recipe": recipe, "load": load}
    table["y"] = 1.5 * temp + 0.5 * (recipe == 2) + noise
    answer = skpce.explain(table, outputs="y", blocks="load")
    row = answer.drivers.rows[0]
    assert row.state.tolist() == ["drives", "drives"]
    assert (row.total[0], row.total_low[0], row.total_high[0]) == (0, 0, 1)
    assert "temp an unknown share" in str(answer)
    assert "temp has one value in each block" in str(answer)
    table["y"] = table["y"] - 1.5 * temp
    answer = skpce.explain(table, outputs="y", blocks="load")
    assert answer.drivers.rows[0].state.tolist() == ["not settled", "drives"]


def test_members_of_one_time_do_not_remember_one_another():
    """Rows are sorted by their outputs, and ties would keep this order."""
    y = np.sort(np.random.default_rng(5).normal(size=60))[:, np.newaxis]
    design = Design.of(y, order=np.repeat([0, 1], 30)).of_rows(np.arange(60))
    assert design.order.tolist() != list(range(60))
    assert sorted(design.order[:30]) == list(range(30))
    assert memory_of(y[:30], order=design.order[:30]) < 4


@pytest.mark.parametrize("role", ["blocks", "groups"])
def test_settings_that_recur_with_several_labels_are_exchanged(role, rng):
    X, label = np.repeat(rng.normal(size=(12, 2)), 3, axis=0), np.tile(range(3), 12)
    design = Design.of(X, **{role: label})
    exchange = design.exchange(X[:, :1], X[:, 1:])
    assert exchange.kind == "rows"
    assert exchange.unit.tolist() == design.setting.tolist()
    shifted = label + rng.normal(size=12)[design.setting]
    moved = design.without_shifts(shifted[:, np.newaxis], exchange)
    assert_allclose([moved[label == k].mean() for k in range(3)], 0.0, atol=1e-12)
    of_crossed = design.exchange(X[:, :1], np.zeros((36, 0)))
    assert of_crossed.kind == "strata"  # no other input acts


def test_a_column_that_counts_repeats_is_found_by_its_name():
    rng = np.random.default_rng(6)
    X = np.repeat(rng.normal(size=(6, 2)), 10, axis=0)
    table = np.column_stack([X, np.tile(np.arange(10.0), 6)])
    assert find_counter(table, ["a", "b", "seed"], {}) == 2
    assert find_counter(table, ["a", "b", "n_folds"], {}) is None


def test_labels_count_repeats_if_they_are_numbered():
    table = factorial(6, 3)
    numbered, named = ["fold_0", "fold_1", "fold_2"], ["random", "scaffold", "time"]
    assert find_counter(table, ["model", "split"], {"split": numbered}) == 1
    assert find_counter(table, ["model", "split"], {"split": named}) is None


def test_runs_of_several_rows_are_found(rng):
    run, metric = np.repeat(np.arange(10.0), 3), np.tile(np.arange(3.0), 10)
    setting = rng.normal(size=10)[run.astype(int)]
    names = ["rate", "run_id", "metric"]
    assert find_runs(np.column_stack([setting, run, metric]), names) == 1
    other = rng.normal(size=30)  # which differs within runs, and between them
    assert find_runs(np.column_stack([setting, run, other]), names) == 1
    assert find_runs(np.column_stack([other, run, metric]), names) is None
    names[1] = "model_id"
    assert find_runs(np.column_stack([setting, run, metric]), names) is None


def test_an_array_of_resolution_three_with_repeats_is_tested_as_by_f(rng):
    first = 2.0 * np.indices((2, 2, 2)).reshape(3, -1) - 1.0
    pairs = [i * j for i, j in itertools.combinations(first, 2)]
    X = np.vstack([first, pairs, first.prod(axis=0)]).T.repeat(2, axis=0)
    y = X[:, 0] + 0.6 * X[:, 1] + 0.2 * rng.normal(size=16)
    state = skpce.explain(X, y).drivers.state[0]
    assert (state == "drives").tolist() == [True, True, *[False] * 5]


@pytest.mark.parametrize("role", ["groups", "blocks"])
def test_a_crossover_is_exchanged_within_its_subjects(role, rng):
    subject, period = np.arange(48) // 2, np.arange(48) % 2
    drug = (period + subject) % 2
    y = drug + rng.normal(size=24)[subject] + 0.4 * rng.normal(size=48)
    found = skpce.explain(np.column_stack([drug, period]), y, **{role: subject})
    assert found.drivers.state[0, 0] == "drives"


@pytest.mark.parametrize("name", ["task", "epoch"])
def test_rows_of_a_run_have_something_in_common(rng, name):
    """Two inputs and three seeds, each run with four rows."""
    setting, seed = (
        np.repeat(np.arange(12), 12),
        np.tile(np.repeat(np.arange(3), 4), 12),
    )
    X = np.column_stack([setting // 4, setting % 4, np.tile(np.arange(4.0), 36)])
    noise, names = rng.normal(size=(144, 1)), ["a", "b", name]
    of_run = rng.normal(size=36)[numbers_of(np.column_stack([setting, seed]))]
    along, runs = find_curves(X, names, seed, noise + 2 * of_run[:, np.newaxis])
    assert along == [2]
    assert np.bincount(runs).tolist() == [4] * 36
    assert find_curves(X, names, seed, noise)[0] == ([] if name == "task" else [2])
    shifts = noise + rng.normal(size=3)[seed, np.newaxis]
    acts = noise + rng.normal(size=9)[3 * X[:, 0].astype(int) + seed, np.newaxis]
    if name == "task":  # what seeds do to all settings, or with one input, is no run's
        assert find_curves(X, names, seed, shifts)[0] == []
        assert find_curves(X, names, seed, acts)[0] == []
    one = seed == 0
    found = find_curves(X[one], names, None, noise[one])[0]
    assert found == ([] if name == "task" else [2])
    # Several rows of one run cannot be at one step, and a grid has a factor.
    assert find_curves(X, names, None, noise)[0] == []
    assert find_curves(X[one], ["a", "b", "budget"], None, noise[one])[0] == []
    noise[0] = np.nan  # a run failed
    assert find_curves(X, ["a", "b", "task"], seed, noise)[0] == []


def test_parts_that_add_up_are_a_constraint():
    rng = np.random.default_rng(7)
    parts = rng.dirichlet(np.ones(3), size=20)
    X = np.column_stack([rng.normal(size=20), parts])
    assert find_constraint(X).tolist() == [1, 2, 3]
    assert find_constraint(X.round(2)).tolist() == [1, 2, 3]
    assert not find_constraint(rng.normal(size=(20, 4))).size
    assert not find_constraint(rng.normal(size=(4, 6))).size


def test_memory_of_products_of_series():
    rng = np.random.default_rng(8)
    noise = rng.normal(size=(4000, 2))
    series = noise.copy()
    for row in range(1, 4000):
        series[row] += 0.7 * series[row - 1]
    order = np.arange(4000.0)
    assert memory_of(series[:, :1], order=order) in (6, 7)  # (1 + .7) / (1 - .7)
    assert memory_of(series[:, :1], series[:, 1:], order=order) in (3, 4)  # with .49
    assert memory_of(series[:, :1], noise[:, 1:], order=order) in (1, 2)


def test_a_series_of_forty_runs_without_memory_is_tested(rng):
    X = rng.uniform(size=(40, 2))
    y = X[:, 0] + 0.05 * rng.normal(size=40)
    assert memory_of(X[:, :1], y[:, np.newaxis], order=np.arange(40.0)) == 1
    answer = skpce.explain(X, y, order=np.arange(40))
    assert answer.drivers.state[0].tolist()[0] == "drives"


def test_settings_whose_effect_is_random_name_nothing():
    named = 0
    for seed in range(3):
        rng = np.random.default_rng([9, seed])
        X = rng.normal(size=(6, 3))[np.repeat(np.arange(6), 10)]
        y = np.repeat(rng.normal(size=6), 10) + 0.5 * rng.normal(size=60)
        table = np.column_stack([X, np.tile(np.arange(10), 6)])
        named += "drives" in skpce.explain(table, y).drivers.state[0].tolist()
    assert named == 0


def test_both_factors_of_a_replicated_factorial_are_named_at_the_settings_tried():
    rng = np.random.default_rng(10)
    X = factorial(3, 2, repeats=10)
    effect = 1.6 * (X[:, 0] - 1) + 0.8 * (X[:, 1] - 0.5)
    answer = skpce.explain(X, effect + 0.6 * rng.normal(size=60)).drivers
    assert answer.state[0].tolist() == ["drives", "drives"]
    assert set(answer.scope[0].tolist()) == {"tried"}


def test_means_of_blocks_are_taken_out():
    rng = np.random.default_rng(11)
    block = np.repeat(np.arange(8), 6)
    X = rng.normal(size=(48, 3))
    y = 0.8 * X[:, 0] + 5.0 * rng.normal(size=8)[block] + 0.4 * rng.normal(size=48)
    answer = skpce.explain(X, y, blocks=block)
    assert answer.drivers.state[0, 0] == "drives"
    assert "of the variance of y within blocks" in answer.sentences[0]
    assert skpce.explain(X, y).drivers.state[0, 0] == "not settled"


def test_shares_of_all_combinations_of_labels_are_those_of_the_analysis_of_variance():
    """Six workers at three machines, three times: no other combination is left."""
    rng = np.random.default_rng(11)
    machine, worker = (
        each.ravel()[:, np.newaxis].repeat(3)
        for each in np.meshgrid(np.arange(3), np.arange(6), indexing="ij")
    )
    both = rng.normal(size=(3, 6))
    y = 3.0 * machine + rng.normal(size=6)[worker] + both[machine, worker]
    y = y + 0.3 * rng.normal(size=len(y))
    table = {
        "machine": [f"m{m}" for m in machine],
        "worker": [f"w{w}" for w in worker],
        "score": y,
    }
    answer = skpce.explain(table, outputs="score").drivers
    assert set(answer.scope[0].tolist()) == {"tried"}
    means = np.array(
        [[y[(machine == m) & (worker == w)].mean() for w in range(6)] for m in range(3)]
    )
    alone = means.mean(axis=1).var() / y.var(), means.mean(axis=0).var() / y.var()
    assert_allclose(answer.first[0], alone, atol=0.03)
    rest = means.var() / y.var() - sum(alone)
    assert_allclose(answer.total[0], np.add(alone, rest), atol=0.03)


def test_settings_of_a_central_composite_design_are_exchanged():
    corners = np.array(list(itertools.product([-1.0, 1.0], repeat=3)))
    axes = 1.682 * np.vstack([np.eye(3), -np.eye(3)])
    X = np.vstack([corners, axes, np.zeros((6, 3))])
    assert exchange_of(X, 0).kind == "rows"
    assert exchange_of(corners, 0).kind == "rows"  # too few orders in strata
    grid = np.array(list(itertools.product([-1.0, 0.0, 1.0], repeat=3)))
    assert exchange_of(grid, 0).kind == "strata"
    named = []
    for seed in range(6):
        noise = 0.5 * np.random.default_rng(seed).normal(size=20)
        y = X[:, 0] - 0.8 * X[:, 0] ** 2 + noise
        named.append(skpce.explain(X, y).drivers.state[0] == "drives")
    assert np.sum(named, axis=0)[0] >= 5
    assert not np.any(named, axis=0)[1:].any()


def _small_designs():
    """A factorial, a central composite design and one of Box and Behnken."""
    factorial = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))
    axes = np.sqrt(2.0) * np.vstack([np.eye(2), -np.eye(2)])
    composite = np.vstack([factorial[::4, :2], axes, np.zeros((5, 2))])
    sides = np.array(list(itertools.product([-1.0, 1.0], repeat=2)))
    edges = [np.insert(sides, place, 0.0, axis=1) for place in range(3)]
    return factorial, composite, np.vstack([*edges, np.zeros((3, 3))])


@pytest.mark.slow
def test_interactions_of_small_designs_are_found():
    """F-tests of all first terms and products find .96, .98 and .94 of these."""
    for X, size, least in zip(
        _small_designs(), (1.4, 1.9, 1.9), (25, 20, 19), strict=True
    ):
        found = wrong = 0
        for seed in range(30):
            noise = np.random.default_rng(seed).normal(size=len(X))
            y = size * X[:, 0] * (1 + X[:, 1]) + noise
            drives = skpce.explain(X, y).drivers.state[0] == "drives"
            found += drives[0]
            wrong += drives[2:].any()
        assert found >= least
        assert wrong <= 4
