"""What is measured of a data set, draw by draw, against sums made by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from scipy.stats import ks_2samp

from gflownet_envs.experiments.analysis import pairs_passed, theorem_a_size
from gflownet_envs.experiments.paper.measures import (
    across,
    drawn,
    measure,
    pictured,
    summary,
)
from gflownet_envs.experiments.paper.studies.surrogates import (
    errors_and_times,
    regressed,
    split_of,
)
from gflownet_envs.experiments.task import Preset
from gflownet_envs.training.spec import TrainingSpec
from tests.gflownet_envs.experiments.conftest import exact_dataset
from tests.shared import ridge_surrogate

N = 40


@pytest.fixture
def preset():
    return Preset(20, 15, TrainingSpec(), n_components=2, degrees=(2,), solver="ridge")


@pytest.fixture
def dataset():
    """Two steps whose log-ratios are a line in the first input."""
    X = np.random.default_rng(0).normal(size=(N, 2)) * [3.0, 1.0]
    logits = [X[:, :1] * [0.5, -0.2, 0.0], X[:, :1] * [0.3, 0.0]]
    y = np.hstack([softmax(z, axis=1) for z in logits])
    return exact_dataset(X, y, (3, 2), is_test=np.arange(N) >= 20)


def test_draws_share_out_all_members_anew(dataset, preset):
    one, other = (drawn(dataset, preset, number) for number in (0, 1))
    for some in (one, other):
        assert (some.train.n_members, some.test.n_members) == (20, 15)
        assert len(set(some.members.tolist())) == 35
    assert set(one.train.members.tolist()) != set(other.train.members.tolist())
    again = drawn(dataset, preset, 1)
    assert_array_equal(again.members, other.members)


def test_one_figure_a_draw_and_none_of_them_from_another(dataset, preset):
    found = measure(dataset, preset, 0, draws=(3, 4, 5))
    alone = measure(dataset, preset, 0, draws=(4,))
    for part in ("draws", "control"):
        for key, column in found[part].items():
            assert len(column) == 3, key
            if not key.endswith("seconds"):
                assert column[1] == alone[part][key][0], key
    assert found["draws"]["total_variation"][0] != found["draws"]["total_variation"][1]


def test_pairs_pass_by_the_test_of_scipy_and_bonferroni(dataset):
    """One step of a single action, one with an action that is never possible."""
    rng = np.random.default_rng(1)
    one = softmax(rng.normal(size=(N, 3)), axis=1)
    two = softmax(rng.normal(size=(N, 2)), axis=1)
    y = np.hstack([one, np.ones((N, 1)), two[:, :1], np.zeros((N, 1)), two[:, 1:]])
    members = exact_dataset(dataset.X, y, (3, 1, 3), mask=np.arange(7) != 5)
    draws = 0.3 * y.mean(axis=0) + 0.7 * rng.permutation(y, axis=0)
    possible = [0, 1, 2, 4, 6]
    p_values = np.array([ks_2samp(y[:, k], draws[:, k]).pvalue for k in possible])
    lowest = 5 * p_values.min()
    for alpha, rejected in ((0.999 * lowest, False), (1.001 * lowest, True)):
        passed, tested = pairs_passed(members, draws, alpha)
        assert tested == [3, 0, 2]
        assert (sum(passed) < 5) == rejected
        expected = p_values > alpha / 5
        assert passed == [expected[:3].sum(), 0, expected[3:].sum()]


def test_equal_laws_pass_and_half_the_spread_does_not(rng):
    mask = np.ones(3, dtype=bool)
    some, narrow = [], []
    for _ in range(30):
        y = softmax(rng.normal(size=(100, 3)), axis=1)
        members = SimpleNamespace(y=y, mask=mask, step_slices=(slice(0, 3),))
        draws = rng.normal(size=(2000, 3))
        some.append(pairs_passed(members, softmax(draws, axis=1))[0])
        narrow.append(pairs_passed(members, softmax(draws / 2, axis=1))[0])
    # Any rejection at all: at most 5 % of the time.
    assert np.mean(np.array(some) < 3) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 30)
    assert np.mean(narrow) < 1.2


def test_indices_are_sums_of_squared_coefficients(dataset, preset):
    """First-order ones of terms in one input alone, total ones of all that have it."""
    product = dataset.X.prod(axis=1, keepdims=True) / 3
    logits = [product * [0.5, -0.2, 0.0], (product + dataset.X[:, :1]) * [0.3, 0.0]]
    y = np.hstack([softmax(z, axis=1) for z in logits])
    dataset = replace(dataset, y=y)
    measured = measure(dataset, preset, 0, draws=(2,))
    found = measured["draws"] | {
        key: [middle] for key, (_, middle, _) in measured["pictured"].items()
    }
    train = drawn(dataset, preset, 2).train
    centred = train.X - train.X.mean(axis=0)
    left, scale, _ = np.linalg.svd(centred, full_matrices=False)
    inputs = left * np.sqrt(len(left) - 1)
    surrogate = ridge_surrogate(2, steps=(3, 2), random_state=0).fit(inputs, train.y)
    terms, squares = surrogate.multi_indices_, surrogate.coefficients_**2
    varying = terms.sum(axis=1) > 0
    for name, alone in (("mean_first", True), ("mean_total", False)):
        for step in range(2):
            rows = squares[surrogate.coordinate_steps_ == step]
            for i in range(2):
                has_it = terms[:, i] > 0
                if alone:
                    has_it = has_it & (terms.sum(axis=1) == terms[:, i])
                share = rows[:, has_it].sum(axis=1) / rows[:, varying].sum(axis=1)
                wanted = pytest.approx(share.mean(), rel=2e-3, abs=1e-6)
                assert found[name][0][step][i] == wanted
    assert scale[0] > scale[1]
    assert np.min(np.subtract(found["mean_total"][0], found["mean_first"][0])) > 0.05


def test_inputs_that_say_everything_predict_and_random_ones_do_not(dataset, preset):
    found = measure(dataset, preset, 0, draws=(0, 1))
    assert np.min(found["draws"]["q2"]) > 0.99
    assert np.max(found["control"]["q2"]) < 0.5
    assert set(found["control"]) < set(found["draws"])
    brief = measure(dataset, preset, 0, draws=(0,), whole=False)
    assert "control" not in brief
    assert brief["draws"]["q2"][0] == found["draws"]["q2"][0]


def test_a_figure_of_all_draws_keeps_the_shape_of_one():
    rows = [[[1.0, None], 2.0], [[3.0, None], 5.0], [[8.0, 1.0], 5.5]]
    assert across(rows, np.median) == [[3.0, 1.0], 5.0]
    assert across([None, None], np.median) is None
    found = {"steps": ["a"], "draws": {"q2": [[1.0], [2.0]]}, "control": {}}
    found["pictured"] = pictured({"d_members": rows})
    whole = {"steps": ["a"], "q2": [2.0], "d_members": [[8.0, 1.0], 5.5]}
    assert summary(found, np.max) == whole


def test_the_mean_policy_is_that_of_the_fitted_members(dataset):
    """A mean of the held-out members would have a smaller error."""
    far = dataset.y.copy()
    far[dataset.is_test] = far[dataset.is_test][:, [1, 2, 0, 4, 3]]
    moved = replace(dataset, y=far)
    split = split_of(moved, None)
    error = errors_and_times("mean", split, 2, 0)["mae"]
    centre = moved.y[~moved.is_test].mean(axis=0)
    assert error == pytest.approx(np.abs(moved.y[moved.is_test] - centre).mean())
    flattering = moved.y[moved.is_test].mean(axis=0)
    assert np.abs(moved.y[moved.is_test] - flattering).mean() < 0.9 * error


def test_regressions_of_the_steps_are_those_of_the_log_ratios(dataset):
    """Least squares by hand, in additive log-ratios, which it is the same in."""
    from sklearn.linear_model import LinearRegression

    split = split_of(dataset, None)
    ours = regressed(LinearRegression(), split)(split.X_test)
    design = np.column_stack([np.ones(len(split.X)), split.X])
    at = np.column_stack([np.ones(len(split.X_test)), split.X_test])
    blocks = []
    for columns in (slice(0, 3), slice(3, 5)):
        logs = np.log(split.y[:, columns])
        slopes, *_ = np.linalg.lstsq(design, logs - logs[:, -1:], rcond=None)
        blocks.append(softmax(at @ slopes, axis=1))
    assert_allclose(ours, np.hstack(blocks), rtol=1e-9)


@pytest.mark.parametrize("n_terms", [56, 252])
def test_the_sizes_that_the_paper_quotes_need_all_but_no_noise(n_terms):
    """L* = 57 and 253 are P + 1 (degrees 3 and 5 of five inputs)."""
    size = partial(theorem_a_size, n_terms, n_features=5, n_actions=4)
    tiny = 0.05**2 / (4 * n_terms * math.log(3 * 5 / 0.05))
    assert size(noise_variance=tiny * 0.999, signal_variance=1.0) == n_terms + 1
    assert size(noise_variance=tiny * 1.01, signal_variance=1.0) > n_terms + 1
    assert size(noise_variance=0.0, signal_variance=1.0) == n_terms
    setting = {"noise_variance": 0.1, "signal_variance": 2.0, "tolerance": 0.1}
    found = size(**setting, confidence_level=0.9)
    apart = 4 * n_terms * 0.1 * math.log(3 * 5 / 0.1) / (2.0 * 0.1**2)
    assert found == math.ceil(n_terms + apart)
