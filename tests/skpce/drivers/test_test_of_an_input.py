"""The test of an input: exact where it can be enumerated, and its laws."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import skpce
from benchmarks.answer.ensembles import arranged, little_noise
from skpce.drivers import Design, _exchange
from skpce.drivers._exchange import (
    Inputs,
    Problem,
    Terms,
    _by_label,
    bounded,
    fit_others,
    holm,
)
from tests.shared import cases


def problem_of(X, y, **labels):
    """Return the problem of one output."""
    inputs = Inputs.of(X, np.zeros(X.shape[1], dtype=bool))
    design = Design.of(X, **labels)
    members = tuple((j,) for j in range(X.shape[1]))
    groups = np.zeros(1, dtype=np.int64)
    return Problem(inputs, y[:, np.newaxis], groups, design, members, 2 * len(members))


def base(n, seed, d=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] + 0.7 * X[:, 1] + 0.6 * rng.normal(size=n)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_p_value_of_one_input_is_that_of_all_permutations(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=7), rng.normal(size=7)
    y += 0.8 * x
    ranks = (2.0 * np.argsort(np.argsort(x)) + 1.0) / 7 - 1.0
    q, r = np.linalg.qr(np.polynomial.legendre.legvander(ranks, 4))
    terms = q[:, 1:] * np.sqrt(7) * np.sign(np.diag(r))[1:]
    weights = 0.6 ** np.arange(4)
    residuals = bounded((y - y.mean())[:, np.newaxis] * 7 / 6, np.zeros(1, int))[:, 0]

    def statistic(order):
        return float(weights @ np.square(terms[list(order)].T @ residuals))

    every = [statistic(order) for order in itertools.permutations(range(7))]
    exact = np.mean(np.array(every) >= statistic(range(7)) * (1 - 1e-9))
    setting = problem_of(x[:, np.newaxis], y).setting((0,))
    found = setting._of_exchange(20_000)[0]
    assert found == pytest.approx(exact, abs=4 * np.sqrt(exact / 20_000) + 2e-4)


def test_exchange_within_strata_is_that_of_all_permutations():
    rng = np.random.default_rng(3)
    strata = np.repeat([0.0, 1.0], 4)
    levels = np.tile([0.0, 0.0, 1.0, 1.0], 2)
    y = 0.5 * levels + strata + 0.3 * rng.normal(size=8)
    problem = problem_of(np.column_stack([levels, strata]), y)
    setting = problem.setting((0,))
    assert setting.exchange.kind == "strata"
    residuals, own = setting.residuals[:, 0], setting.own.values[:, 0]
    place = setting.exchange.strata
    rows = [np.flatnonzero(place == k).tolist() for k in (0, 1)]
    scores = []
    for first in itertools.permutations(rows[0]):
        for second in itertools.permutations(rows[1]):
            moved = own.copy()
            moved[rows[0]], moved[rows[1]] = own[list(first)], own[list(second)]
            scores.append(np.square(moved @ residuals))
    largest = np.square(own @ residuals)
    exact = np.mean(np.array(scores) >= largest * (1 - 1e-9))
    found = dataclasses.replace(setting, alone=True)._of_exchange(20_000)[0]
    assert found == pytest.approx(exact, abs=0.01)


def test_residuals_are_those_of_fits_without_each_row():
    X, y = base(30, 4, d=3)
    inputs = Inputs.of(X, np.zeros(3, dtype=bool))
    others, group = np.array([0, 1]), np.zeros(1, dtype=np.int64)
    centred = y - y.mean()
    fit = fit_others(inputs, others, y[:, np.newaxis], group)
    # The prior is the same; without a row the covariance loses its row and column.
    from skpce._learned.prior import INTERCEPT, AllTerms, Search, learn_prior
    from skpce._learned.ridge import observations_of
    from skpce.drivers._exchange import _FIT_DEGREES, _FIT_ORDER, _FIT_STEPS

    functions = np.minimum(inputs.n_functions[others], _FIT_DEGREES)
    tables = np.ascontiguousarray(inputs.tables[others][:, : functions.max()])
    known = observations_of(
        (centred / centred.std())[:, np.newaxis], np.ones(len(centred))
    )
    terms, no = AllTerms(tables, _FIT_ORDER), np.zeros(2, dtype=bool)
    start = Search(terms, functions, no, known).start()
    prior = learn_prior(terms, functions, no, known, start, _FIT_STEPS).or_nothing()
    kernel = prior.kernel(tables, tables) + INTERCEPT
    for row in (0, 7, 29):
        rest = np.delete(np.arange(30), row)
        own = kernel[np.ix_(rest, rest)] + prior.noise * np.eye(29)
        predicted = kernel[row, rest] @ np.linalg.solve(own, centred[rest])
        expected = centred[row] - predicted
        assert fit.residuals[row, 0] == pytest.approx(expected, rel=1e-6)


def test_nothing_depends_on_the_order_of_rows_and_columns_or_on_units():
    X, y = base(50, 5)
    first = skpce.explain(X, y).drivers
    rng = np.random.default_rng(6)
    rows, columns = rng.permutation(50), rng.permutation(6)
    units = 10.0 ** rng.integers(-3, 4, size=6)
    moved = (X * units + 7.0)[rows][:, columns]
    other = skpce.explain(moved, 3.0 * y[rows] + 1.0).drivers
    assert other.state[0].tolist() == first.state[0, columns].tolist()
    assert_allclose(other.p_value[0], first.p_value[0, columns], rtol=1e-6)
    for name in ("first", "total", "total_high"):
        expected = getattr(first, name)[0, columns]
        assert_allclose(getattr(other, name)[0], expected, atol=2e-3)


def test_p_values_of_noise_are_uniform_or_larger():
    found = []
    for seed in range(50):
        rng = np.random.default_rng([7, seed])
        X, y = rng.normal(size=(25, 4)), rng.normal(size=25)
        problem = problem_of(X, y)
        found += [problem.setting((j,)).p_values(199)[0] for j in range(4)]
    found = np.array(found)
    assert (found <= 0.05).mean() <= 0.1
    assert (found <= 0.3).mean() <= 0.4


def test_drawn_p_values_agree_with_tails():
    X, y = base(80, 8)
    y = 0.15 * X[:, 0] + np.random.default_rng(9).normal(size=80)
    setting = problem_of(X, y).setting((2,))
    alone = dataclasses.replace(setting, alone=True)._of_exchange(20_000)[0]
    tail = setting._tail(setting.own, setting.residuals, None, False)[0]
    assert tail == pytest.approx(alone, rel=0.15, abs=0.01)


def rare_level_and_result(seed, n_runs=1500):
    """Return the setting of a level of three runs, beside three yes in a hundred."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_runs, 3))
    X[:, 0] = rng.choice(4, size=n_runs, p=[0.97, 0.02, 0.008, 0.002])
    y = (rng.uniform(size=n_runs) < 0.03).astype(float)
    inputs = Inputs.of(X, np.array([True, False, False]))
    members = ((0,), (1,), (2,))
    one = np.zeros(1, dtype=np.int64)
    return Problem(inputs, y[:, None], one, Design.of(X), members, 6).setting((0,))


def test_many_rows_are_tested_by_tails_where_scores_are_nearly_normal():
    X, y = base(1500, 0)
    plain, rare = problem_of(X, y).setting((2,)), rare_level_and_result(0)
    for one in (plain, rare):
        assert one.is_affordable(2000)
        assert not one.is_affordable(20_000)
    assert (plain.is_nearly_normal, rare.is_nearly_normal) == (True, False)


@pytest.mark.slow
def test_rare_levels_and_rare_results_name_nothing():
    settings = [rare_level_and_result(seed) for seed in range(60)]
    found = np.array([one._of_exchange(20_000)[0] for one in settings])
    tails = np.array([one._of_tails(one.residuals, False)[0] for one in settings])
    assert (tails <= 0.01).sum() >= 4  # tails of normal scores would name one in ten
    assert (found <= 0.01).sum() <= 2
    assert (found <= 0.05).sum() <= 7


def test_an_input_that_acts_on_the_spread_alone():
    rng = np.random.default_rng(21)
    X = rng.normal(size=(120, 2))
    y = X[:, 0] + np.exp(0.7 * X[:, 1]) * rng.normal(size=120)
    state = skpce.explain(X, y).drivers.state[0].tolist()
    assert state == ["drives", "acts on the spread"]


@pytest.mark.slow
@cases(
    ("design", "n_runs"),
    *(("Plackett-Burman", 12), ("fractional", 16), ("fractional", 32)),
    *(("Box-Behnken", 27), ("hypercube", 16)),
)
def test_nulls_of_orthogonal_designs_are_not_named(design, n_runs):
    # Of residuals as they are 1.00, .33, .43, .08 and .08 of these answers name a null:
    # the last two are told from the level by two hundred (``benchmarks.answer``) only.
    wrong, found = 0, 0
    for seed in range(40):
        case = arranged(n_runs, np.random.default_rng(seed), design)
        state = skpce.explain(case.X, case.y).drivers.state[0]
        wrong += (state[2:] == "drives").any()
        found += state[0] == "drives"
    assert wrong <= 5
    assert found >= 36


@pytest.fixture
def setting_of_a_design():
    rng = np.random.default_rng(4)
    case = arranged(27, rng, "Box-Behnken")
    inputs = Inputs.of(case.X, np.zeros(4, dtype=bool))
    y = np.column_stack([case.y, rng.normal(size=27), rng.normal(size=27)])
    groups, members = np.array([0, 1, 1]), tuple((k,) for k in range(4))
    problem = Problem(inputs, y, groups, Design.of(case.X), members, 8)
    return problem.setting((3,))


def test_rotated_scores_have_the_size_that_is_stated(setting_of_a_design):
    setting = setting_of_a_design
    alone, pairs, _ = setting.scores_in_place(setting.residuals_of_draws(4000, 0))
    for scores in (alone, np.moveaxis(pairs, 3, 0).reshape(-1, *pairs.shape[1:3])):
        size = np.square(scores).mean(axis=1)
        known = size > 0  # but for terms that the others' take away
        assert known.mean() > 0.5
        ratio = size / size.max(axis=0)
        assert_allclose(ratio[known], 1.0, atol=0.1)


def test_two_inputs_that_act_only_together_are_named_as_a_pair():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(120, 5))
    y = X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=120)
    answer = skpce.explain(X, y)
    assert answer.drivers.state[0, :2].tolist() == ["drives", "drives"]
    assert answer.pairs.first_input.tolist() == ["x0"]
    assert answer.pairs.second_input.tolist() == ["x1"]


@cases(("n_levels", "n_runs"), (2, 30), (2, 200), (3, 60))
def test_rounding_of_runs_without_noise_names_nothing(n_levels, n_runs):
    # Runs of equal inputs, but for the null, are equal: nothing but rounding differs.
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, [n_levels, n_levels, 3], (n_runs, 3)).astype(float)
        y = rng.normal(size=(n_levels, n_levels))[tuple(X[:, :2].astype(int).T)]
        state = skpce.explain(X, y).drivers.state[0]
        assert state[2] not in ("drives", "acts on the spread")


@pytest.mark.slow
@cases(
    ("interaction", "n_runs", "noise"),
    *((0.0, 200, 0.0), (0.0, 200, 0.01), (0.5, 60, 0.0), (0.5, 60, 0.05)),
)
def test_strong_effects_with_little_noise_make_no_pairs_with_nulls(
    interaction, n_runs, noise
):
    # .30, .28, .07 and .08 of these answers named a null by its pair with a driver,
    # whose residuals, left out, varied with the null; pairs were missed in .21 of 250.
    named, pairs = 0, 0
    for seed in range(40):
        case = little_noise(n_runs, np.random.default_rng(seed), noise, interaction)
        answer = skpce.explain(case.X, case.y)
        wrong = np.isin(answer.drivers.state[0, 2:], ["drives", "acts on the spread"])
        named += wrong.any()
        pairs += "y: x0 and x1" in answer.pairs.keys["pair"]
    assert named <= 5  # the level is 2 of 40: more in one of seventy
    assert pairs >= 33 if interaction else pairs <= 1


def test_a_pair_is_named_where_settings_are_repeated():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.uniform(-1, 1, (30, 3)), 3, axis=0)
    y = X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=90)
    answer = skpce.explain(X, y, replicate=np.repeat(np.arange(30), 3))
    assert answer.pairs.keys["pair"] == ("y: x0 and x1",)


def test_a_large_effect_is_found_where_settings_cross_the_groups():
    rng = np.random.default_rng(0)
    X, group = rng.uniform(size=(40, 2)).repeat(3, axis=0), rng.permutation(120) // 2
    y = 6.0 * X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=60)[group]
    y += 0.3 * rng.normal(size=120)
    state = skpce.explain(X, y, groups=group).drivers.state[0]
    assert state.tolist() == ["drives", "drives"]


@pytest.mark.slow
def test_a_treatment_of_a_latin_square_is_rotated_within_its_rows():
    row, column = (place.ravel() for place in np.mgrid[:5, :5])
    table, named = {"column": column, "treatment": (row + column) % 5}, []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y = rng.normal(size=5)[row] + rng.normal(size=5)[column]
        table["y"] = y + 0.4 * rng.normal(size=25)
        labels = {name: own.astype(str) for name, own in table.items() if name != "y"}
        found = skpce.explain(table | labels, outputs="y", blocks=row).drivers
        named.append(found.state[0, found.input_names.index("treatment")] == "drives")
    assert sum(named) <= 7  # .14 by exchanges; more of 60 at .05: in one of a hundred


def test_one_run_that_diverged_hides_no_driver():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (60, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    y[7] = 3e9
    state = skpce.explain(X, y).drivers.state[0]
    assert state.tolist() == ["drives", "not settled", "not settled"]


def test_a_null_that_is_nearly_the_effect_of_a_driver_is_said_to_be_alike():
    rng = np.random.default_rng(12)
    X = rng.normal(size=(100, 4))
    effect = np.sin(2 * X[:, 0])
    X[:, 3] = effect + 0.05 * X[:, 3]
    y = effect + 0.5 * rng.normal(size=100)
    answer = skpce.explain(X, y)
    assert "drives" not in answer.drivers.state[0].tolist()
    alike = [c.figures for c in answer.cautions if c.code == "alike"]
    assert set(alike[0]["inputs"]) == {"x0", "x3"}
    assert "vary together" in str(answer.cautions[0])


def test_rows_in_another_unit_name_nothing():
    for rows in (1, 2, 4):
        rng = np.random.default_rng([15, rows])
        X, y = rng.normal(size=(60, 4)), rng.normal(size=60)
        X[:rows] *= 100
        y[:rows] *= 100
        answer = skpce.explain(X, y)
        assert "drives" not in answer.drivers.state[0].tolist()


def test_many_outputs_are_tested_by_tails(monkeypatch):
    monkeypatch.setattr(_exchange, "_MOST_WORK", 0.0)
    rng = np.random.default_rng(14)
    X = rng.normal(size=(60, 3))
    y = rng.normal(size=(60, 120))
    y[:, :40] += X[:, [0]]
    inputs = Inputs.of(X, np.zeros(3, dtype=bool))
    problem = Problem(
        inputs, y, np.arange(120), Design.of(X), ((0,), (1,), (2,)), 2 * 3 * 120
    )
    p_values = holm(np.array([problem.test(row).location for row in range(3)]))
    assert (p_values[0, :40] <= 0.05).mean() > 0.7
    assert (p_values[0, 40:] > 0.05).all()
    assert (p_values[1:] > 0.05).all()


def test_a_group_of_so_many_terms_that_nothing_is_left_has_no_pair():
    """Beside 264 terms the residuals of 120 runs would be rounding errors."""
    rng = np.random.default_rng(15)
    X = rng.normal(size=(120, 12))
    y = X[:, :11] @ np.ones(11) + X[:, 0] * X[:, 11]
    problem = problem_of(X, y)
    assert problem.setting(tuple(range(11))).pairs([(11,)]).tolist() == [[1.0]]
    assert problem.setting((0,)).pairs([(11,)])[0, 0] < 1.0


@pytest.mark.parametrize("seed", [7, 9])
def test_a_spread_that_rests_on_rows_in_another_unit_is_not_named(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(size=(60, 2)), rng.normal(size=60) + 3
    X[:4] *= 100
    y[:4] *= 100
    states = skpce.explain(X, y, order=False).drivers.state[0].tolist()
    assert "acts on the spread" not in states


def pair_with_a_double(seed, share):
    """Return an answer where x0 and x1 act together, and x2 is correlated with x1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    X[:, 1] = share * X[:, 2] + np.sqrt(1 - share**2) * X[:, 1]
    y = X[:, 0] + 0.5 * X[:, 0] * X[:, 1] + 0.35 * rng.normal(size=60)
    return skpce.explain(X, y)


@pytest.mark.parametrize("seed", range(3))
def test_a_double_of_a_partner_is_no_partner(seed):
    answer = pair_with_a_double(seed, 0.86)
    assert answer.drivers.state[0, 0] == "drives"
    assert answer.drivers.state[0, 2] != "drives"


@pytest.mark.parametrize("seed", range(3))
def test_inputs_that_a_pair_names_have_p_values_below_the_level(seed):
    answer = pair_with_a_double(seed, 0.0)
    assert answer.pairs.keys["pair"] == ("y: x0 and x1",)
    drives = answer.drivers.state[0] == "drives"
    assert_array_equal(answer.drivers.p_value[0] <= 0.05, drives)


def one_at_a_time(seed, n_inputs=6, n_levels=8):
    rng = np.random.default_rng(seed)
    rows = [np.full(n_inputs, 0.5)] * 2
    for i in range(n_inputs):
        for value in np.linspace(0.0, 1.0, n_levels):
            rows.append(np.where(np.arange(n_inputs) == i, value, 0.5))
    X = np.array(rows)[rng.permutation(len(rows))]
    y = 2.0 * X[:, 0]
    return X, y + 0.1 * y.std() * rng.normal(size=len(y))


def test_the_driver_of_runs_that_change_one_input_at_a_time_is_named():
    states = np.array(
        [skpce.explain(*one_at_a_time(seed)).drivers.state[0] for seed in range(10)]
    )
    assert (states[:, 0] == "drives").sum() >= 6
    assert not np.isin(states[:, 1:], ["drives", "acts on the spread"]).any()


def test_a_number_is_found_beside_its_own_bins(rng):
    X = rng.uniform(size=(150, 3))
    y = np.maximum(X[:, 0] - 0.6, 0.0) + 0.012 * rng.normal(size=150)
    X[:, 1] = np.floor(4.0 * X[:, 0])
    kinds = {"x0": "auto", "x1": "categorical", "x2": "auto"}
    answer = skpce.explain(X, y, inputs=kinds)
    assert answer.drivers.state[0].tolist()[0] == "drives"
    assert "drives" not in answer.drivers.state[0].tolist()[1:]
    assert "x1 and x0 vary together" in " ".join(answer.evidence)


def test_what_is_nearly_the_output_leaves_no_input_that_does_not_matter(rng):
    X = rng.normal(size=(60, 5))
    y = X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=60)
    answer = skpce.explain(np.c_[X, y + 0.1 * rng.normal(size=60)], y)
    assert answer.drivers.state[0, [0, 5]].tolist() == ["not settled"] * 2
    assert "x0 and x5 cannot be told apart" in answer.sentences[0]


def test_a_partner_in_a_pair_is_shown_where_the_pair_is():
    grid = np.array(list(itertools.product(range(3), range(4), range(2))))
    named = []
    for seed in range(12):  # each setting has an effect of its own
        y = np.repeat(np.random.default_rng(5000 + seed).normal(size=24), 3)
        y = y + 0.3 * np.random.default_rng(seed).normal(size=72)
        rows = skpce.explain(np.repeat(grid, 3, axis=0), y).drivers
        named += rows.scope[rows.state == "drives"].tolist()
    assert "tried" in named
    assert named.count("beyond") <= 1


def series(seed, n=120):
    rng = np.random.default_rng(seed)
    X, place = rng.uniform(size=(n, 4)), np.arange(n)
    return X, 2.0 * X[:, 0] + 0.5 * rng.normal(size=n), place, rng


@pytest.mark.parametrize("shared", ["trend", "steps", "trend, by tails"])
def test_what_a_series_shares_with_a_null_by_its_trend_names_nothing(
    monkeypatch, shared
):
    if shared.endswith("tails"):  # as of many runs
        monkeypatch.setattr(_exchange, "_MOST_WORK", 0)
    named = []
    for seed in range(6):
        X, y, place, rng = series(seed)
        slow = [place / len(y)] * 2
        if shared == "steps":
            slow = [place > len(y) * rng.uniform(0.3, 0.7) for _ in range(2)]
        X[:, 1] = slow[0] + 0.3 * rng.normal(size=len(y))
        rows = skpce.explain(X, y + 1.5 * slow[1], order=place).drivers
        named.append(rows.state[0] == "drives")
    assert np.sum(named, axis=0)[:2].tolist() == [6, 0]


def test_settings_that_a_series_repeats_are_left_out_as_a_whole():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = np.repeat(rng.uniform(size=(40, 4)), 3, axis=0)[rng.permutation(120)]
        y = 2.0 * X[:, 0] + 0.7 * X[:, 1] + 0.3 * rng.normal(size=120)
        rows = skpce.explain(X, y, order=np.arange(120)).drivers
        assert rows.state[0].tolist()[:2] == ["drives", "drives"]


def test_a_null_correlated_with_a_driver_within_blocks_names_nothing():
    named = found = 0
    for seed in range(10):
        rng = np.random.default_rng([21, seed])
        day, X = np.arange(100) // 10, rng.normal(size=(100, 2))
        X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
        y = 2 * X[:, 0] + rng.normal(size=10)[day] + 0.5 * rng.normal(size=100)
        table = {"x0": X[:, 0], "x1": X[:, 1], "day": day, "y": y}
        state = skpce.explain(table, outputs="y", blocks="day").drivers.state[0]
        found += state[0] == "drives"
        named += state[1] == "drives"
    assert found == 10
    assert named <= 2  # half of them where the correlation is not looked at


def test_a_rare_yes_is_no_exception():
    rng = np.random.default_rng(32)
    variant, age = rng.integers(0, 2, 400), rng.uniform(18, 70, size=400)
    yes = rng.uniform(size=400) < np.where(variant == 1, 0.2, 0.03)
    table = {"variant": variant, "age": age, "bought": yes.astype(float)}
    answer = skpce.explain(table, outputs="bought")
    assert answer.drivers.state[0].tolist()[0] == "drives"
    assert "rests on members" not in [one.code for one in answer.cautions]


def test_an_input_beside_a_mixture_is_no_part_of_it():
    rng = np.random.default_rng(24)
    parts, temp = rng.dirichlet([2, 2, 2], 60), rng.uniform(size=60)
    table = dict(zip("abc", parts.T, strict=True)) | {"temp": temp}
    table["y"] = 3 * temp + parts[:, 0] + 0.3 * rng.normal(size=60)
    answer = skpce.explain(table, outputs="y")
    assert answer.drivers.state[0].tolist()[3] == "drives"
    cautions = [line for line in str(answer).splitlines() if "Caution" in line]
    assert not any("temp" in line for line in cautions)


def test_rows_that_are_sorted_by_their_result_are_named():
    rng = np.random.default_rng(25)
    X = rng.uniform(size=(60, 3))
    y = 2 * X[:, 0] + 0.4 * rng.normal(size=60)
    order = np.argsort(-y)
    answer = skpce.explain(X[order], y[order])
    assert "the rows are sorted by an output" in str(answer)
    assert (
        skpce.explain(X[order], y[order], order=False).drivers.state[0][0] == "drives"
    )


def test_an_effect_is_compared_to_its_differences_between_labels(rng):
    label, flag = np.repeat(np.arange(4), 20), np.tile([-1.0, 1.0], 40)
    y = (0.5 + rng.normal(size=4))[label] * flag + 3 * label + rng.normal(size=80)
    flags, labels = (Terms(x[:, None] * 1.0, np.ones(1), 1) for x in (flag, label))
    detected, steady = _by_label(flags, np.arange(80), y[:, None], label)
    cells = y.reshape(4, 10, 2)
    slope = np.diff(cells.mean(axis=1), axis=1)[:, 0] / 2
    error = cells.var(axis=1, ddof=1).mean()
    between = 20 * np.var(slope, ddof=1)
    assert_allclose(detected, stats.f.sf(between / error, 3, 72))
    assert_allclose(steady, stats.ttest_1samp(slope, 0.0).pvalue)
    alone = _by_label(labels, np.arange(80), y[:, None], label)
    assert alone == (1.0, 0.0)  # what is one value for each label is not compared


@pytest.mark.slow
@pytest.mark.parametrize("role", ["replicate", "blocks"])
def test_what_acts_with_shared_seeds_only_names_nothing(role):
    named, found = 0, 0
    for seed in range(40):  # without a look at the seeds 6 and 12 are named
        rng = np.random.default_rng(seed)
        effect = rng.normal(size=(2, 3))
        rows = list(itertools.product((1, 2, 3, 4), (0, 1), range(3), range(2)))
        rate, flag, own, _ = np.array(rows, dtype=float).T
        acts = (
            0.5 * effect[0, own.astype(int)] + 0.3 * effect[1, own.astype(int)] * flag
        )
        y = rate + acts + 0.3 * rng.normal(size=len(rows))
        table = {"rate": rate, "flag": flag, "seed": own, "y": y}
        answer = skpce.explain(table, outputs="y", **{role: "seed"})
        state = dict(
            zip(answer.drivers.input_names, answer.drivers.state[0], strict=True)
        )
        named += state["flag"] == "drives"
        found += state["rate"] == "drives"
    assert named <= 4
    assert found == 40


def test_an_input_that_differs_between_seeds_is_cautioned():
    rows = list(itertools.product((1, 2, 3, 4), (0, 1), range(3), range(2)))
    rate, flag, own, _ = np.array(rows, dtype=float).T
    noise = np.random.default_rng(0).normal(size=len(rows))
    y = rate + (own - 0.6) * flag + 0.1 * noise
    table = {"rate": rate, "flag": flag, "seed": own, "y": y}
    answer = skpce.explain(table, outputs="y", replicate="seed")
    caution = next(one for one in answer.cautions if one.code == "differs by label")
    assert caution.figures["inputs"] == ("flag",)
    assert (caution.figures["n"], caution.figures["labels"]) == (3, "repeats")
    assert "differs between the 3 repeats" in str(answer)
    states = dict(zip(answer.drivers.input_names, answer.drivers.state[0], strict=True))
    assert states["rate"] == "drives"
    frame = pytest.importorskip("pandas").DataFrame(table).drop(columns="y")
    same = skpce.explain(frame, y, replicate="seed")
    assert same.cautions == answer.cautions
    assert_array_equal(same.drivers.p_value, answer.drivers.p_value)
    table["seed"] = np.arange(len(y))
    apart = skpce.explain(table, outputs="y", replicate="seed")
    assert "differs by label" not in {one.code for one in apart.cautions}
