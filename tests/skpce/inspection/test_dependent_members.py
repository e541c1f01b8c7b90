"""Members that are not independent: near-copies, exact copies, series."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import qmc, uniform
from sklearn.datasets import load_diabetes
from sklearn.decomposition import PCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

from skpce import CompositionalPCESurrogate, PolynomialChaosRegressor
from skpce.ensembles import from_cv_results, sample_inputs
from skpce.inspection import verdict
from skpce.inspection._ensembles.cross_fit import Permutations
from skpce.inspection._ensembles.near_copies import labels_of_copies, too_near

QUICK = {"n_permutations": 99, "random_state": 0}


def copies(rng, n_inputs=2, jitter=1e-6, n_different=20, times=3):
    """Members by chance, each several times."""
    X = np.repeat(rng.normal(size=(n_different, n_inputs)), times, axis=0)
    y = np.repeat(rng.normal(size=(n_different, 1)), times, axis=0)
    return X + jitter * rng.normal(size=X.shape), y


def cautions(found, words):
    return [caution for caution in found.cautions if words in caution]


@pytest.mark.parametrize("jitter", [0.0, 1e-6, 0.02])
@pytest.mark.parametrize("seed", range(3))
def test_copies_of_members_by_chance_are_not_attributable(jitter, seed):
    X, y = copies(np.random.default_rng(seed), jitter=jitter)
    found = verdict(
        PolynomialChaosRegressor(4, solver="ridge", distribution="normal"),
        X,
        y,
        **QUICK,
    )
    assert not any(found.attributable)
    assert cautions(found, "near-copies")
    n_groups = int(re.search(r"that of (\d+)", cautions(found, "near-copies")[0])[1])
    assert 15 <= n_groups <= 25  # 20, or nearly


@pytest.mark.parametrize("jitter", [0.0, 1e-6, 0.05])
@pytest.mark.parametrize("times", [10, 15])
def test_large_groups_of_copies(times, jitter):
    rng = np.random.default_rng(times)
    X, y = copies(rng, jitter=0.0, times=times)
    order = rng.permutation(len(X))
    X, y = X[order] + jitter * rng.normal(size=X.shape), y[order]
    found = verdict(
        PolynomialChaosRegressor(4, solver="ridge", distribution="normal"),
        X,
        y,
        **QUICK,
    )
    assert not any(found.attributable)
    assert cautions(found, "near-copies")


def test_one_input_in_all_digits_and_repeated_settings():
    """A few settings of several columns are copies; a design of levels is none."""
    rng = np.random.default_rng(0)
    one = np.repeat(rng.normal(size=(20, 1)), 4, axis=0)
    assert labels_of_copies([one], rng.normal(size=(80, 1))).max() == 19
    settings = np.repeat(rng.normal(size=(6, 2)), 10, axis=0)
    assert labels_of_copies([settings], rng.normal(size=(60, 1))).max() == 5
    crossed = rng.integers(0, 3, size=(60, 2)).astype(float)
    assert labels_of_copies([crossed], rng.normal(size=(60, 1))) is None
    rounded = np.round(rng.normal(size=(100, 1)), 1)
    assert labels_of_copies([rounded], rounded + rng.normal(size=(100, 1))) is None


def test_repeated_levels_are_copies_where_outputs_repeat_with_them():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.integers(0, 9, size=(20, 2)), 3, axis=0).astype(float)
    y = np.repeat(rng.normal(size=(20, 1)), 3, axis=0)
    assert labels_of_copies([X], y).max() == 19
    accuracy = rng.integers(90, 100, size=(60, 1)) / 100  # (values repeat by chance)
    levels = rng.integers(0, 2, size=(60, 2)).astype(float)
    assert labels_of_copies([levels], accuracy) is None


@pytest.mark.parametrize("n_levels", [3, 5])
def test_independent_settings_with_an_input_of_few_levels_are_no_copies(n_levels):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = np.c_[rng.normal(size=60), rng.integers(0, n_levels, 60)]
        y = X[:, :1] + 0.5 * X[:, 1:] + 0.5 * rng.normal(size=(60, 1))
        assert labels_of_copies([X / X.std(axis=0)], y / y.std()) is None


@pytest.mark.parametrize("jitter", [0.0, 1e-6])
def test_copies_of_settings_with_an_input_of_few_levels(jitter):
    rng = np.random.default_rng(0)
    X = np.repeat(np.c_[rng.normal(size=20), rng.integers(0, 3, 20)], 3, axis=0)
    X[:, 0] += jitter * rng.normal(size=60)
    labels = labels_of_copies([X], np.repeat(rng.normal(size=(20, 1)), 3, axis=0))
    assert 18 <= len(np.unique(labels)) <= 20


@pytest.mark.parametrize("n_modes", [2, 4])
def test_a_few_modes_are_no_copies(n_modes):
    """Independent members from well separated modes; deviation 1, distance about 15."""
    n_found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        modes = np.repeat(15 * rng.normal(size=(n_modes, 2)), 100 // n_modes, axis=0)
        X = modes + rng.normal(size=(100, 2))
        y = X[:, :1] + 0.3 * rng.normal(size=(100, 1))
        n_found += labels_of_copies([X / X.std(axis=0)], y / y.std()) is not None
    assert n_found <= 5


@pytest.mark.parametrize("n_of_mode", [3, 4, 6])
def test_a_rare_mode_of_whitened_members_is_no_copy(n_of_mode):
    """Whitened members are all equally far apart: a mode of y makes a gap of some %."""
    rng = np.random.default_rng(n_of_mode)
    X = rng.normal(size=(30, 100))
    X = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[0][:, :29] * 30**0.5
    y = rng.normal(size=(30, 1)) * 0.1
    y[:n_of_mode] += 2.5
    assert labels_of_copies([X], y) is None


def test_copies_behind_an_embedding():
    X, y = copies(np.random.default_rng(0), n_inputs=100)
    model = make_pipeline(
        PCA(15, whiten=True),
        PolynomialChaosRegressor(1, solver="ridge", distribution="normal"),
    )
    found = verdict(model, X, y, **QUICK)
    assert not any(found.attributable)
    assert cautions(found, "60 members are near-copies of others (groups of up to 3)")


def test_copies_of_policies():
    rng = np.random.default_rng(1)
    X, _ = copies(rng)
    y = softmax(np.repeat(rng.normal(size=(20, 4)), 3, axis=0), axis=1)
    found = verdict(
        CompositionalPCESurrogate(
            4, steps={"move": 4}, solver="ridge", distribution="normal"
        ),
        X,
        y,
        **QUICK,
    )
    assert not any(found.attributable)
    assert cautions(found, "near-copies")


def test_copies_of_members_with_a_signal_remain_attributable():
    """What holds between the groups is found, from as many members as groups."""
    rng = np.random.default_rng(2)
    base = rng.normal(size=(30, 2))
    X = np.repeat(base, 2, axis=0)
    y = np.repeat(base[:, 0] + 0.3 * rng.normal(size=30), 2)
    found = verdict(
        PolynomialChaosRegressor(1, solver="ridge", distribution="normal"),
        X,
        y,
        **QUICK,
    )
    assert found.attributable == (True,)
    assert cautions(found, "the evidence is that of 30 members")


def test_members_of_one_reward_are_not_searched():
    X, y = copies(np.random.default_rng(3), jitter=0.0)
    reward = np.repeat(np.arange(20), 3)
    found = verdict(
        PolynomialChaosRegressor(4, solver="ridge", distribution="normal"),
        X,
        y,
        reward,
        **QUICK,
    )
    assert not any(found.attributable)
    assert not cautions(found, "near-copies")


def test_too_few_groups_are_no_evidence():
    X, y = copies(np.random.default_rng(4), n_different=6, times=10)
    found = verdict(
        PolynomialChaosRegressor(1, solver="ridge", distribution="normal"),
        X,
        y,
        **QUICK,
    )
    assert not any(found.attributable)
    assert "independent groups, fewer than 8" in found.reasons[0][-1]


def test_a_splitter_that_divides_copies_is_refused():
    X, y = copies(np.random.default_rng(5))
    rows = np.arange(60)
    halves = [(rows[::2], rows[1::2]), (rows[1::2], rows[::2])]
    found = verdict(
        PolynomialChaosRegressor(4, solver="ridge", distribution="normal"),
        X,
        y,
        cv=halves,
        **QUICK,
    )
    assert "cv divides them" in found.reasons[0][-1]
    thirds = [(rows[rows // 20 != k], rows[rows // 20 == k]) for k in range(3)]
    found = verdict(
        PolynomialChaosRegressor(4, solver="ridge", distribution="normal"),
        X,
        y,
        cv=thirds,
        **QUICK,
    )
    # rows 18 to 20 and 39 to 41 are copies of one another in two thirds
    assert "cv divides them" in found.reasons[0][-1]
    whole = [(rows[rows // 30 != k], rows[rows // 30 == k]) for k in range(2)]
    found = verdict(
        PolynomialChaosRegressor(4, solver="ridge", distribution="normal"),
        X,
        y,
        cv=whole,
        **QUICK,
    )
    assert not any("cv divides" in reason for reason in found.reasons[0])


@pytest.mark.parametrize("seed", range(3))
def test_two_random_walks_are_not_attributable(seed):
    rng = np.random.default_rng(seed)
    X, y = (np.cumsum(rng.normal(size=(60, k)), axis=0) for k in (2, 1))
    found = verdict(
        PolynomialChaosRegressor(2, solver="ridge", distribution="normal"),
        X,
        y,
        **QUICK,
    )
    assert not any(found.attributable)
    assert "given order" in " ".join(found.reasons[0])


@pytest.mark.parametrize("seed", range(3))
def test_walks_of_whole_numbers_are_no_design(seed):
    rng = np.random.default_rng(seed)
    X = np.round(np.cumsum(rng.normal(size=(80, 2)), axis=0))
    y = np.cumsum(rng.normal(size=80))
    found = verdict(
        PolynomialChaosRegressor(2, solver="ridge", distribution="empirical"),
        X,
        y,
        **QUICK,
    )
    assert not any(found.attributable)


def test_a_product_table_that_lacks_rows_is_a_design():
    rng = np.random.default_rng(0)
    X = np.array([(a, b) for a in range(6) for b in range(12)], dtype=float)
    X = X[np.sort(rng.permutation(72)[:60])]
    y = X[:, 0] / 6 + X[:, 1] ** 2 / 72 + 0.2 * rng.normal(size=60)
    found = verdict(
        PolynomialChaosRegressor(2, solver="ridge", distribution="empirical"),
        X,
        y,
        **QUICK,
    )
    assert all(found.attributable)


def walks(rng, *shape):
    """Two inputs and an output that walk along the second axis, a row each."""
    return [
        np.cumsum(rng.normal(size=(*shape, k)), axis=0).reshape(-1, k) for k in (2, 1)
    ]


def with_a_clock(rng):
    X, y = walks(rng, 60)
    return (
        PolynomialChaosRegressor(2, solver="ridge", distribution="normal"),
        np.column_stack([X, np.arange(60)]),
        y,
    )


def chains_in_turn(rng):
    return PolynomialChaosRegressor(2, solver="ridge", distribution="normal"), *walks(
        rng, 20, 4
    )


def short_walks(rng):
    return PolynomialChaosRegressor(2, solver="ridge", distribution="normal"), *walks(
        rng, 30
    )


def trends(rng):
    """What is left of the inputs beside their trend says nothing about the output."""
    time = np.linspace(-1.0, 1.0, 60)[:, np.newaxis]
    X = np.column_stack([time, 0 * time]) + rng.normal(0.0, 0.3, size=(60, 2))
    return (
        PolynomialChaosRegressor(1, solver="ridge", distribution="normal"),
        X,
        time + rng.normal(0.0, 0.3, size=(60, 1)),
    )


def turns(rng):
    """Every second member has another input and another output."""
    sign = np.tile([-1.0, 1.0], 30)[:, np.newaxis]
    X = np.column_stack([sign, 0 * sign]) + rng.normal(0.0, 0.3, size=(60, 2))
    return (
        PolynomialChaosRegressor(1, solver="ridge", distribution="normal"),
        X,
        sign + rng.normal(0.0, 0.3, size=(60, 1)),
    )


@pytest.mark.parametrize(
    "make", [with_a_clock, chains_in_turn, short_walks, trends, turns]
)
def test_inputs_and_outputs_that_agree_by_their_order_alone(make):
    ensembles = [make(np.random.default_rng(seed)) for seed in range(6)]
    found = [verdict(*ensemble, **QUICK) for ensemble in ensembles]
    assert sum(any(one.attributable) for one in found) <= 1
    assert sum("given order" in str(one) for one in found) >= 5


def test_inputs_in_an_order_that_explain_every_change():
    """A trend in the inputs, which the outputs follow down to the last wiggle."""
    rng = np.random.default_rng(0)
    _, X, _ = trends(rng)
    y = X[:, 0] + 0.2 * rng.normal(size=60)
    found = verdict(
        PolynomialChaosRegressor(1, solver="ridge", distribution="normal"),
        X,
        y,
        **QUICK,
    )
    assert found.attributable == (True,)
    assert "given order" not in str(found)


def answers(X, y, **settings):
    """Answers of the rows in their own order, and in another one."""
    model = PolynomialChaosRegressor(2, distribution="empirical", solver="ridge")
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float).ravel()
    order = np.random.default_rng(1).permutation(len(X))
    return [
        verdict(model, X[rows], y[rows], **settings, **QUICK).attributable
        for rows in (slice(None), order)
    ]


def effect(rng, X):
    """A misfit of two inputs beside noise of a tenth of the variance."""
    found = np.sin(2 * X[:, 0]) + np.exp(X[:, -1]) / 2
    return found + 0.3 * found.std() * rng.normal(size=len(X))


@pytest.mark.parametrize("shape", [(6, 10), (3, 4, 5), (8, 8), (2, 2, 2, 2, 2, 2)])
def test_product_tables_in_their_own_order(shape):
    axes = [np.linspace(-1, 1, n_levels) for n_levels in shape]
    X = np.array(list(itertools.product(*axes)))
    for seed in range(3):
        y = effect(np.random.default_rng(seed), X)
        assert answers(X, y) == [(True,), (True,)]


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (
            KernelRidge(kernel="rbf"),
            {"alpha": np.logspace(-3, 1, 8), "gamma": np.logspace(-2, 2, 8)},
        ),
        (
            DecisionTreeRegressor(random_state=0),
            {"max_depth": range(1, 11), "min_samples_leaf": [1, 2, 4, 8, 16, 32]},
        ),
    ],
)
def test_grid_searches_in_their_own_order(estimator, grid):
    X, y = load_diabetes(return_X_y=True)
    search = GridSearchCV(estimator, grid, cv=3).fit(X[:100], y[:100])
    runs = from_cv_results(
        search.cv_results_, log=[name for name in grid if name in ("alpha", "gamma")]
    )
    assert answers(runs.X, runs.y) == [(True,), (True,)]
    assert answers(runs.X, runs.y, order=runs.order) == [(True,), (True,)]


@pytest.mark.parametrize("n_inputs", [1, 3])
def test_sequences_of_low_discrepancy_in_their_own_order(n_inputs):
    laws = {f"x{i}": uniform(-1, 2) for i in range(n_inputs)}
    halton = 2 * qmc.Halton(n_inputs, scramble=False).random(64) - 1
    for X in (sample_inputs(laws, 60, random_state=0), halton):
        y = effect(np.random.default_rng(0), np.asarray(X))
        assert answers(X, y) == [(True,), (True,)]


def test_a_series_beside_an_input_of_few_levels():
    rng = np.random.default_rng(0)
    X, y = (np.cumsum(rng.normal(size=(60, k)), axis=0) for k in (2, 1))
    X = np.column_stack([X, np.tile([0, 1, 2], 20)])
    found = verdict(
        PolynomialChaosRegressor(2, solver="ridge", distribution="normal"),
        X,
        y,
        **QUICK,
    )
    assert "given order" in " ".join(found.reasons[0])


def test_a_series_supports_nothing_before_its_order_is_stated():
    """Inputs and noise are averages of four steps: blocks of them have evidence."""
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(203, 2))
    X, noise = (np.convolve(one, np.ones(4) / 2, mode="valid") for one in steps.T)
    X, y, model = (
        X[:, np.newaxis],
        X + noise,
        PolynomialChaosRegressor(1, solver="ridge", distribution="normal"),
    )
    found = verdict(model, X, y, **QUICK)
    assert found.attributable == (False,)
    assert "give order=" in found.reasons[0][-1]
    told = verdict(model, X, y, order=np.arange(200), **QUICK)
    assert told.attributable == (True,)
    assert cautions(told, "each block was held out")
    assert not cautions(verdict(model, X, y, order=False, **QUICK), "given order")


def test_a_series_is_found_by_the_order_that_is_given():
    rng = np.random.default_rng(0)
    X, y = (np.cumsum(rng.normal(size=(60, k)), axis=0) for k in (2, 1))
    shuffled = rng.permutation(60)
    found = verdict(
        PolynomialChaosRegressor(2, solver="ridge", distribution="normal"),
        X[shuffled],
        y[shuffled],
        order=shuffled,
        **QUICK,
    )
    assert "depend on those before them" in " ".join(found.reasons[0])


def test_a_series_of_inputs_with_independent_residuals_is_none():
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.normal(size=(80, 1)), axis=0)
    y = X[:, 0] + rng.normal(size=80)
    found = verdict(
        PolynomialChaosRegressor(1, solver="ridge", distribution="normal"),
        X,
        y,
        **QUICK,
    )
    assert found.attributable == (True,)
    assert not cautions(found, "depend on those before")


def test_sorted_rows_are_no_series():
    rng = np.random.default_rng(0)
    X = np.sort(rng.normal(size=(60, 1)), axis=0)
    y = np.sin(2 * X[:, 0])  # a straight line misses in runs
    found = verdict(
        PolynomialChaosRegressor(1, solver="ridge", distribution="normal"),
        X,
        y,
        **QUICK,
    )
    assert not cautions(found, "depend on those before")
    assert not any("depend on those before" in reason for reason in found.reasons[0])


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (np.arange(5), "order must be 60 numbers or dates"),
        (["a"] * 60, "order must be 60 numbers or dates"),
        (np.r_[np.nan, np.arange(59)], "order has NaN"),
    ],
)
def test_a_bad_order(order, words):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    with pytest.raises(ValueError, match=words):
        verdict(
            PolynomialChaosRegressor(1, solver="ridge", distribution="normal"),
            X,
            y,
            order=order,
            **QUICK,
        )


@pytest.mark.parametrize("n_dimensions", [1, 2, 5])
def test_independent_points_are_seldomtoo_near(n_dimensions):
    """The false discovery rate: some pair in at most a quarter of the samples."""
    rng = np.random.default_rng(0)
    samples = [rng.normal(size=(60, n_dimensions)) for _ in range(60)]
    assert np.mean([len(too_near(points)) > 0 for points in samples]) < 0.25
    doubled = [np.vstack([points, points + 1e-6]) for points in samples[:5]]
    for points in doubled:
        pairs = {tuple(sorted(pair)) for pair in too_near(points).tolist()}
        assert {(i, i + 60) for i in range(60)} <= pairs


def test_dependent_groups_change_places_as_a_whole():
    labels = np.array([0, 0, 1, 1, 2, 3, 3, 4])
    draw = np.random.default_rng(0)
    found = Permutations.draw(8, labels, 50, draw, dependent="copies")
    assert found.moves_policies
    for order in found.orders:
        assert sorted(order) == list(range(8))
        for group in range(5):
            lent = labels[order[labels == group]]
            assert len(set(lent)) == 1  # the whole of one group of the same size
    blocks = Permutations.draw(8, labels, 50, draw, dependent="series")
    for order in blocks.orders:
        steps = np.flatnonzero(np.diff(labels[order]))
        assert len(steps) == 4  # five blocks, each in one piece


def test_an_input_that_is_a_copy_of_an_output():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    found = verdict(
        PolynomialChaosRegressor(1, solver="ridge", distribution="normal"),
        X,
        3 * X[:, 1] - 2,
        **QUICK,
    )
    assert cautions(found, "the input 1 is a linear function of the outputs")
    noisy = 3 * X[:, 1] + 0.03 * rng.normal(size=40)
    found = verdict(
        PolynomialChaosRegressor(1, solver="ridge", distribution="normal"),
        X,
        noisy,
        **QUICK,
    )
    assert not cautions(found, "linear function")


def test_an_input_that_is_computed_from_compositions():
    rng = np.random.default_rng(0)
    y = softmax(rng.normal(size=(40, 3)), axis=1)
    for copy in (y[:, 0], np.log(y[:, 0] / y[:, 2]), y[:, 0] - y[:, 1]):
        X = np.column_stack([rng.normal(size=40), copy])
        found = verdict(
            CompositionalPCESurrogate(1, solver="ridge", distribution="normal"),
            X,
            y,
            **QUICK,
        )
        assert cautions(found, "the input 1 is a linear function of the outputs")
