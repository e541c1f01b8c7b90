"""The test whether the spread of residuals depends on the inputs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import norm
from sklearn.ensemble import RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpce import CompositionalPCESurrogate, PolynomialChaosRegressor
from skpce._expansion.residuals import (
    count_columns,
    learn_noise_scale,
    permuted_q2,
)
from skpce.inspection import noise_test
from skpce.inspection._reading import expansion_of


def members(size, seed, spread=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(size, 3))
    scale = 1.0 if spread is None else spread(X)
    return X, X[:, 0] + 0.5 * X[:, 0] * X[:, 1] + scale * rng.normal(size=size)


@pytest.mark.parametrize("solver", ["ols", "ridge"])
def test_equal_noise_is_rarely_called_unequal(solver):
    # Ten terms on 40 members, which make the residuals of neighbours alike.
    found = [
        noise_test(
            PolynomialChaosRegressor(2, solver=solver, distribution="normal").fit(
                *members(40, seed)
            ),
            n_permutations=99,
            random_state=seed,
        ).needed[0]
        for seed in range(200)
    ]
    assert np.mean(found) <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / 200)


def test_unequal_noise_is_found():
    found = [
        noise_test(
            PolynomialChaosRegressor(2, solver="ridge", distribution="normal").fit(
                *members(150, seed, spread=lambda X: np.abs(X[:, 0]))
            ),
            n_permutations=99,
            random_state=seed,
        )
        for seed in range(20)
    ]
    assert np.mean([one.needed[0] for one in found]) >= 0.9
    assert np.mean([one.ratio[0] for one in found]) > 2


def test_rows_are_targets_and_steps():
    X, y = members(80, 0, spread=lambda X: np.abs(X[:, 0]))
    rng = np.random.default_rng(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = np.c_[y, rng.normal(size=80), np.ones(80)]
        model = PolynomialChaosRegressor(2, solver="ridge", distribution="normal").fit(
            X, table
        )
    found = noise_test(model, random_state=0)
    assert found.target_names == ("y0", "y1", "y2")
    assert found.needed == (True, False, False)
    assert np.isnan(found.q2[2])
    assert "The residuals of y0 spread differently with the inputs" in str(found)
    logits = np.c_[X[:, 1] + X[:, 0] * rng.normal(size=80), np.zeros((80, 1))]
    policies = np.hstack([softmax(logits, axis=1), np.ones((80, 1))])
    surrogate = CompositionalPCESurrogate(
        1, steps={"a": 2, "b": 1}, solver="ridge", distribution="normal"
    )
    found = noise_test(surrogate.fit(X, policies), random_state=0)
    assert found.step_names == ("a", "b")
    assert found.needed == (True, False)
    assert found["b"].reasons == ("no residuals that vary",)


def test_weights_behave_as_copies_of_few_members():
    X, y = members(60, 2, spread=lambda X: np.abs(X[:, 0]))
    weights = np.random.default_rng(0).integers(1, 3, size=60)
    model = PolynomialChaosRegressor(1, distribution=norm(0, 1), solver="ridge")
    found = noise_test(model.fit(X, y, sample_weight=weights), random_state=0)
    assert 0 < found.p_value[0] <= 1


def test_a_member_that_failed_in_one_target_counts_in_the_others():
    X, y = members(200, 0, spread=lambda X: np.abs(X[:, 0]))
    y_equal = X[:, 1] + np.random.default_rng(6).normal(size=200)
    table = np.c_[y, y_equal]
    table[:10, 1] = np.nan
    with pytest.warns(UserWarning, match="A sample that lacks a target"):
        model = PolynomialChaosRegressor(2, solver="ridge", distribution="normal").fit(
            X, table
        )
    found = noise_test(model, random_state=0)
    assert found.needed[0]
    alone = PolynomialChaosRegressor(2, solver="ridge", distribution="normal").fit(
        X[10:], y_equal[10:]
    )
    expected = noise_test(alone, random_state=0).q2[0]
    assert found.q2[1] == pytest.approx(expected, abs=0.02)


def test_pipelines_are_read():
    X, y = members(100, 3, spread=lambda X: np.abs(X[:, 0]))
    model = make_pipeline(
        StandardScaler(),
        PolynomialChaosRegressor(2, solver="ridge", distribution="normal"),
    ).fit(X, y)
    assert noise_test(model, random_state=0).needed == (True,)


def test_bad_arguments():
    X, y = members(30, 5)
    model = PolynomialChaosRegressor(1, solver="ridge", distribution="normal").fit(X, y)
    with pytest.raises(ValueError, match="'n_permutations'"):
        noise_test(model, n_permutations=3)
    with pytest.raises(ValueError, match="'significance_level'"):
        noise_test(model, significance_level=2)
    with pytest.raises(ValueError, match="expected a fitted PolynomialChaosRegressor"):
        noise_test(RandomForestRegressor().fit(X, y))
    with pytest.raises(ValueError, match="expected a fitted"):
        noise_test(model.expansion_)
    saturated = PolynomialChaosRegressor(3, solver="ols", distribution="normal").fit(
        X[:10], y[:10]
    )
    with pytest.raises(ValueError, match="residual distribution is not defined"):
        noise_test(saturated)


@pytest.mark.parametrize("solver", ["ridge", "paper"])
def test_wide_groups_are_rotated_to_as_many_columns_as_members(solver, monkeypatch):
    """Products of members are all that the sums of squares of a group need."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    noise = np.exp(0.6 * X[:, :1]) * rng.normal(size=(30, 130))
    y = softmax(np.c_[X @ rng.normal(size=(2, 130)) + noise], axis=1)
    y = np.hstack([y, softmax(rng.normal(size=(30, 4)), axis=1)])
    model = CompositionalPCESurrogate(
        1,
        steps=(130, 4),
        log_ratio="clr",
        solver=solver,
        distribution="normal",
    ).fit(X, y)
    reading = expansion_of(model)
    problem = reading.problem
    groups = reading.compositions.fitted_geometry.step_of_coordinate
    scale = learn_noise_scale(problem, groups, "test")
    orders = np.array([rng.permutation(30) for _ in range(5)])
    found = permuted_q2(scale, problem, orders, "test")
    widths = []

    def whole(residuals, groups):
        widths.append(residuals.shape[1])
        return residuals, groups

    monkeypatch.setattr("skpce._expansion.residuals._in_few_columns", whole)
    expected = permuted_q2(scale, problem, orders, "test")
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert sum(widths) == len(groups)
    assert count_columns(30, groups) == 30 + np.sum(groups == 1)
