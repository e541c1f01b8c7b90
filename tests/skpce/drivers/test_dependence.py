"""Members that depend on one another without being declared: copies, series."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from scipy.stats import qmc, uniform

import skpce
from skpce.drivers import Design
from skpce.drivers._dependence import (
    copied_input,
    find_series,
    with_copies,
)
from skpce.ensembles import sample_inputs
from skpce.inspection import dependent_sobol_indices
from tests.shared import cases


def tables(X, y):
    return np.asarray(X, dtype=float), np.asarray(y, dtype=float).reshape(len(X), -1)


def design_of(X, y):
    """Return the design with what is found to be copies."""
    X, y = tables(X, y)
    return with_copies(Design.of(X), X)


def series_in(X, y):
    """Return what is said of a series."""
    X, y = tables(X, y)
    if not design_of(X, y).may_be_series:
        return ""
    return find_series(X, np.zeros(X.shape[1], dtype=bool), None, y)


def copies(rng, n_inputs=2, jitter=1e-6, n_different=20, times=3):
    """Members by chance, each several times."""
    X = np.repeat(rng.normal(size=(n_different, n_inputs)), times, axis=0)
    y = np.repeat(rng.normal(size=(n_different, 1)), times, axis=0)
    return X + jitter * rng.normal(size=X.shape), y


# Near-copies


@pytest.mark.parametrize("jitter", [1e-9, 1e-5])
@pytest.mark.parametrize("times", [3, 10])
@pytest.mark.parametrize("seed", range(3))
def test_near_copies_are_repeats(jitter, times, seed):
    rng = np.random.default_rng(seed)
    X, y = copies(rng, jitter=jitter, times=times)
    order = rng.permutation(len(X))
    design = design_of(X[order], y[order])
    assert 15 <= design.n_settings <= 25  # 20, or nearly


def test_copies_of_members_by_chance_name_nothing():
    named = 0
    for seed in range(2):
        answer = skpce.explain(*copies(np.random.default_rng(seed)))
        named += sum(answer.attributable)
        assert [c.code for c in answer.cautions if c.code == "copies"] == ["copies"]
        assert str(answer.design).startswith("20 settings, 3 runs each")
    assert named <= 1


def test_rows_that_were_copied_say_nothing_of_the_noise(rng):
    X = rng.uniform(size=(40, 2))
    y = X[:, 0] + 0.4 * rng.normal(size=40)
    rows = [*range(40), 3, 7]
    answer = skpce.explain(X[rows], y[rows])
    assert np.isnan([answer.noise_share, answer.lack_of_fit]).all()
    assert "noise between repeats" not in answer.sentences[0]
    (caution,) = [c for c in answer.cautions if c.code == "copies"]
    once, twice = (
        skpce.explain(X, y),
        skpce.explain(*(np.tile(v.T, 2).T for v in (X, y))),
    )
    assert_allclose(twice.drivers.total_high, once.drivers.total_high, atol=0.01)
    assert str(caution).startswith("2 runs repeat others with equal outputs")


def test_rows_of_a_grid_whose_outputs_tie_have_no_order():
    grid = np.array(list(itertools.product([1.0, 2, 3, 4], [1.0, 2, 3], [0.0, 1])))
    y = np.maximum(grid[:, 0] - 2, 0) * (1 + 0.1 * grid[:, 1])  # half of it is 0
    rows = np.random.default_rng(1).permutation(len(grid))
    own = skpce.explain(grid, y)
    shuffled = skpce.explain(grid[rows], y[rows])
    assert_array_equal(own.drivers.p_value, shuffled.drivers.p_value)


def test_what_holds_between_copies_is_found():
    rng = np.random.default_rng(2)
    base = rng.normal(size=(30, 2))
    X = np.repeat(base, 2, axis=0) + 1e-7 * rng.normal(size=(60, 2))
    y = np.repeat(base[:, 0] + 0.3 * rng.normal(size=30), 2)
    answer = skpce.explain(X, y)
    assert answer.drivers.state[0, 0] == "drives"
    assert answer.design.n_settings == 30


@pytest.mark.parametrize("n_inputs", [1, 2, 5])
def test_independent_members_are_no_copies(n_inputs):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, n_inputs))
        modes = np.repeat(15 * rng.normal(size=(4, n_inputs)), 15, axis=0)
        levels = np.c_[X, rng.integers(0, 3, 60)]
        for table in (X, X + modes, levels, np.exp(4 * X)):
            assert not with_copies(Design.of(table), table).has_repeats


# Series


def walks(rng, *shape):
    """Two inputs and an output that walk along the second axis, a row each."""
    return [
        np.cumsum(rng.normal(size=(*shape, k)), axis=0).reshape(-1, k) for k in (2, 1)
    ]


def with_a_clock(rng):
    X, y = walks(rng, 60)
    return np.column_stack([X, np.arange(60)]), y


def chains_in_turn(rng):
    return walks(rng, 20, 4)


def long_walks(rng):
    return walks(rng, 60)


def trends(rng):
    """What is left of the inputs beside their trend says nothing about the output."""
    time = np.linspace(-1.0, 1.0, 60)[:, np.newaxis]
    X = np.column_stack([time, 0 * time]) + rng.normal(0.0, 0.3, size=(60, 2))
    return X, time + rng.normal(0.0, 0.3, size=(60, 1))


@cases("make", long_walks, with_a_clock, chains_in_turn, trends)
def test_inputs_and_outputs_that_agree_by_their_order_alone(make):
    found = [series_in(*make(np.random.default_rng(seed))) for seed in range(6)]
    assert sum(map(bool, found)) >= 5


def test_a_series_that_is_found_settles_nothing():
    X, y = walks(np.random.default_rng(0), 60)
    answer = skpce.explain(X, y)
    assert set(answer.drivers.state.ravel()) == {"not settled"}
    assert "order=" in str(answer)
    (caution,) = (c for c in answer.cautions if c.code == "series")
    assert "order of the rows" in caution.figures["words"]
    told = skpce.explain(X, y, order=False)
    assert not told.design.series


def test_inputs_in_an_order_that_explain_every_change(rng):
    """A trend in the inputs, which the outputs follow down to the last wiggle."""
    X, _ = trends(rng)
    assert not series_in(X, X[:, 0] + 0.2 * rng.normal(size=60))
    X = np.cumsum(rng.normal(size=(80, 1)), axis=0)
    assert not series_in(X, X[:, 0] + rng.normal(size=80))
    X = np.sort(rng.normal(size=(60, 1)), axis=0)
    assert not series_in(X, np.sin(2 * X[:, 0]))


def effect(rng, X):
    """A misfit of two inputs beside noise of a tenth of the variance."""
    found = np.sin(2 * X[:, 0]) + np.exp(X[:, -1]) / 2
    return found + 0.3 * found.std() * rng.normal(size=len(X))


@pytest.mark.parametrize("shape", [(6, 10), (3, 4, 5), (8, 8), (2, 2, 2, 2, 2, 2)])
def test_product_tables_in_their_own_order_are_no_series(shape):
    axes = [np.linspace(-1, 1, n_levels) for n_levels in shape]
    X = np.array(list(itertools.product(*axes)))
    for seed in range(8):
        y = effect(np.random.default_rng(seed), X)
        assert not series_in(X, y)
        assert not design_of(X, y).has_repeats


@pytest.mark.parametrize("n_inputs", [1, 3])
def test_sequences_of_low_discrepancy_are_no_series(n_inputs):
    laws = {f"x{i}": uniform(-1, 2) for i in range(n_inputs)}
    halton = 2 * qmc.Halton(n_inputs, scramble=False).random(64) - 1
    for X in (sample_inputs(laws, 60, random_state=0), halton):
        y = effect(np.random.default_rng(0), np.asarray(X))
        assert not series_in(X, y)


@pytest.mark.slow
def test_blocks_of_a_series_have_evidence_once_the_order_is_stated(rng):
    """Inputs and noise are averages of four steps."""
    steps = rng.normal(size=(403, 2))
    X, noise = (np.convolve(one, np.ones(4) / 2, mode="valid") for one in steps.T)
    X, y = X[:, np.newaxis], X + noise
    assert skpce.explain(X, y).drivers.state[0, 0] == "not settled"
    shuffled = rng.permutation(400)
    told = skpce.explain(X[shuffled], y[shuffled], order=shuffled)
    assert told.drivers.state[0, 0] == "drives"
    assert "blocks of the series" in str(told.design)


# Inputs that were computed from outputs


def test_an_input_that_is_a_copy_of_an_output(rng):
    X = rng.normal(size=(40, 2))
    y = 3 * X[:, 1:] - 2
    assert copied_input(X, y) == 1
    assert copied_input(X, y + 0.03 * rng.normal(size=(40, 1))) is None
    answer = skpce.explain(X, y)
    (caution,) = (c for c in answer.cautions if c.code == "circular")
    assert caution.figures["input"] == "x1"


def test_an_input_that_is_computed_from_compositions():
    y = softmax(np.random.default_rng(0).normal(size=(40, 3)), axis=1)
    X = np.column_stack([y[:, 1] ** 2, np.log(y[:, 0] / y[:, 2])])
    answer = skpce.explain(X, y, steps=[3])
    assert [c.figures["input"] for c in answer.cautions if c.code == "circular"] == [
        "x1"
    ]


@cases("size, is_said", (0.9, True), (0.0, False))
def test_shares_of_drivers_that_are_correlated(rng, size, is_said):
    """x2 has half of the variance of y, and .09 of that of independent inputs."""
    law = [[1, size, 0], [size, 1, 0], [0, 0, 1]]
    X = rng.multivariate_normal(np.zeros(3), law, size=200)
    y = X @ [1, -1, 0.45] + 0.1 * rng.normal(size=200)
    answer = skpce.explain(X, y)
    said = [c for c in answer.cautions if c.code == "correlated"]
    assert [one.figures["inputs"] for one in said] == [("x0", "x1")] * is_said
    if is_said:
        assert answer.drivers.total[0, 2] < 0.15
        true = np.var(0.45 * X[:, 2]) / y.var()
        found = dependent_sobol_indices(answer.model, X, random_state=0)
        assert_allclose(found.shapley[0, 2], true, atol=0.1)


def test_a_null_that_is_correlated_with_a_driver_takes_nothing_from_it(rng):
    X = rng.multivariate_normal(np.zeros(2), [[1, 0.7], [0.7, 1]], size=200)
    answer = skpce.explain(X, X[:, 0] + 0.1 * rng.normal(size=200))
    assert not answer.cautions
