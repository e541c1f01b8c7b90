"""Real outputs: their names, their groups, and the ensemble that these would need."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from skpce import PolynomialChaosRegressor
from skpce._expansion.expansion import checked_outputs
from skpce.inspection import back_to_reward, verdict
from skpce.inspection._reading import expansion_of
from skpce.sample_size import required_ensemble_size
from tests.shared import cases, refuses, ridge_pce, ridge_surrogate

pd = pytest.importorskip("pandas")

TWO_LEVELS = [("accuracy", ""), ("logits", 0), ("logits", 1)]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    signal = np.c_[X[:, 0] + X[:, 0] * X[:, 1], 3 * X[:, 1], X[:, 2] ** 2]
    return X, signal + 0.3 * rng.normal(size=(60, 3))


def in_two_levels(y):
    return pd.DataFrame(y.copy(), columns=pd.MultiIndex.from_tuples(TWO_LEVELS))


@pytest.mark.parametrize("model", [ridge_pce(2), PolynomialChaosRegressor()])
def test_columns_and_series_name_the_outputs(X, y, model):
    frame = pd.DataFrame(y, columns=["accuracy", "loss", "y0"])
    fitted = model.fit(X, frame)
    assert fitted.expansion_.output_names == ("accuracy", "loss", "y0")
    assert fitted.expansion_.groups is None
    assert list(fitted.sobol_frame()["target"].unique()) == ["accuracy", "loss", "y0"]
    series = model.fit(X, pd.Series(y[:, 0], name="loss"))
    assert series.expansion_.output_names == ("loss",)
    assert series.sobol_frame()["target"].unique().tolist() == ["loss"]
    assert series.predict(X).ndim == 1


@cases("columns", TWO_LEVELS, ["accuracy", "logits__0", "logits__1"])
def test_two_levels_are_groups_at_once(X, y, columns):
    levels = pd.MultiIndex.from_tuples(columns) if columns is TWO_LEVELS else columns
    fitted = ridge_pce(2).fit(X, pd.DataFrame(y, columns=levels))
    expansion = fitted.expansion_
    assert expansion.group_names == ("accuracy", "logits")
    assert expansion.output_names == ("accuracy", "logits:0", "logits:1")
    # The oracles: sums over targets, by hand.
    residuals = fitted._problem.fit.loo_residuals[:, 1:]
    spread = np.square(y[:, 1:] - y[:, 1:].mean(axis=0)).sum()
    q2 = 1 - np.square(residuals).sum() / spread
    assert_allclose(expansion.q2, [fitted.q2_[0], q2])
    weights = fitted.total_variance_[1:]
    expected = weights @ fitted.sobol_indices_[1:] / weights.sum()
    assert_allclose(expansion.sobol_indices().first_order[1], expected)
    aggregated = fitted.aggregated_sobol_indices([0, 1, 1]).total_order
    assert_allclose(expansion.sobol_indices().total_order[1], aggregated)
    frame = expansion.sobol_frame()
    assert list(frame["target"].unique()) == ["accuracy", "logits"]
    apart = pd.MultiIndex.from_tuples([("a", 0), ("b", 0), ("a", 1)])
    fitted = ridge_pce(1).fit(X, pd.DataFrame(y, columns=apart))
    assert_array_equal(fitted.expansion_.groups, [0, 1, 0])


# Groups that are given.


def test_an_expansion_is_grouped_by_numbers_or_by_names(X, y):
    frame = pd.DataFrame(y, columns=["a", "b", "c"])
    expansion = ridge_pce(2).fit(X, frame).expansion_
    by_number = expansion.grouped({"first": 1, "rest": 2})
    firsts, rests = (["a"], [0], np.array([0])), (["b", "c"], range(1, 3), ("c", "b"))
    for first, rest in zip(firsts, rests, strict=True):
        outputs = {"first": first, "rest": rest}
        other = expansion.grouped(outputs)
        assert other.group_names == by_number.group_names == ("first", "rest")
        assert_array_equal(other.q2, by_number.q2)
    alone = by_number.grouped(None)
    assert_allclose(alone.q2, expansion.q2, rtol=1e-12)
    assert alone.group_names == expansion.output_names


@cases(
    ("outputs", "message"),
    ({"a": 2}, "has 2 of 3 columns; expected each of them once, also y2"),
    ({"a": 4}, "an output of 4 columns after the first 0 of 3"),
    ({"a": [0], "b": ["z"]}, "has 'z'; expected one of y0, y1, y2"),
    ({"a": [0], "b": [0, 1, 2]}, "'b' must have one or more columns"),
    ({"a": [0, 0], "b": [1, 2]}, "has a column twice"),
    ([1, 5], "an output of 5 columns after the first 1 of 3"),
    ("abc", "outputs must be a dict of names"),
)
def test_bad_groups_are_named(X, y, outputs, message):
    fitted = ridge_pce(1).fit(X, y)
    refuses(message, expansion_of, fitted, outputs=outputs)


def test_compositions_have_steps(X):
    y = np.full((60, 2), 0.5) + 0.1 * np.c_[X[:, 0], -X[:, 0]] / np.abs(X).max()
    fitted = ridge_surrogate(1).fit(X, y)
    refuses("whose groups are its steps", expansion_of, fitted, outputs={"a": 2})


# A fit is read in the groups of a verdict on it.


@pytest.mark.parametrize("standardize", [False, True])
def test_a_fit_has_the_groups_of_its_verdict(X, y, standardize):
    model, outputs = ridge_pce(2), {"accuracy": 1, "logits": 2}
    judged = verdict(model, X, y, outputs=outputs, standardize=standardize)
    found = expansion_of(model.fit(X, y), verdict=judged).expansion
    assert found.group_names == ("accuracy", "logits")
    scales = y.std(axis=0) if standardize else np.ones(3)
    partial = (model.total_variance_ / scales**2)[1:]
    expected = partial @ model.sobol_indices_[1:] / partial.sum()
    assert_allclose(found.sobol_indices().first_order[1], expected)
    errors = (model.loo_error_ / scales**2)[1:].sum()
    spread = (y.var(axis=0) / scales**2)[1:].sum()
    assert_allclose(found.q2[1], 1 - errors / spread)


def test_effects_of_grouped_outputs(X, y):
    model = ridge_pce(1).fit(X, y)
    found = back_to_reward(model, X, outputs={"first": 1, "rest": 2})
    assert found.target_names == ("first", "rest")
    alone = back_to_reward(model, X)
    assert_allclose(found.effect_size[1], np.hypot(*alone.effect_size[1:]), rtol=1e-12)


# What is given beside a fit.


@cases(
    ("y", "message"),
    (np.ones((4, 3)), r"shape \(4, 3\); expected \(n_members, 2\)"),
    (np.full((4, 2), np.inf), "infinite values; expected finite ones, NaN where"),
    (pd.DataFrame(np.ones((4, 2)), columns=["b", "a"]), r"outputs \['b', 'a'\]"),
)
def test_other_outputs_than_fitted_are_refused(y, message):
    refuses(message, checked_outputs, y, ("a", "b"), 4)


def test_ensemble_size_of_named_outputs_and_groups(X, y):
    model = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
    named = required_ensemble_size(model.fit(X, pd.DataFrame(y, columns=list("abc"))))
    assert named.names == ("a", "b", "c")
    found = required_ensemble_size(model, outputs={"first": 1, "rest": ["b", "c"]})
    at_once = required_ensemble_size(model.fit(X, in_two_levels(y)))
    assert found.names == ("first", "rest")
    assert at_once.names == ("accuracy", "logits")
    for grouped in (found, at_once):
        assert_allclose(grouped.noise_variance[1], named.noise_variance[1:].sum())
        assert grouped.n_required[0] == named.n_required[0]
        assert grouped.n_required[1] <= named.n_required[1:].max()
    assert "- rest: " in str(found)
