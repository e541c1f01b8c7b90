"""One path for y: its names, arrays of three dimensions, and what is refused."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.model_selection import cross_val_score

from skpce import ClosureWarning, LogRatioTransformer, pack_steps, report
from skpce._compositions.outputs import ZeroReplacedWarning
from skpce.inspection import verdict
from skpce.metrics import policy_fragility
from tests.shared import cases, refuses, ridge_pce, ridge_surrogate

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
# members, items, classes
RAW = softmax(X[:, :1, None] * [1.0, 0.0, -1.0] + RNG.normal(size=(40, 2, 3)), axis=2)
FLAT = RAW.reshape(40, 6)
STEPS = {"cat": 3, "dog": 3}
NAMES = [(step, part) for step in STEPS for part in "xyz"]
FRAMES = {
    "flat": pd.DataFrame(FLAT, columns=["__".join(pair) for pair in NAMES]),
    "two levels": pd.DataFrame(FLAT, columns=pd.MultiIndex.from_tuples(NAMES)),
}
SURROGATE = ridge_surrogate(1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FRAMES)
def test_names_of_a_frame_reach_every_result(kind):
    y = FRAMES[kind]
    fitted = ridge_surrogate(1).fit(X, y)
    assert fitted.step_names_ == ("cat", "dog")
    assert fitted.part_names_ == tuple("xyzxyz")
    found = verdict(SURROGATE, X, y)
    assert found.step_names == ("cat", "dog")
    assert policy_fragility(y).step_names == ("cat", "dog")
    assert LogRatioTransformer().fit(y).step_names_ == ("cat", "dog")
    assert "cat" in report(fitted, X, y)


@pytest.mark.slow
def test_three_dimensions_are_the_table_with_the_steps_side_by_side():
    fitted = ridge_surrogate(1).fit(X, RAW)
    expected = ridge_surrogate(1, steps=(3, 3)).fit(X, FLAT)
    assert_array_equal(fitted.predict(X), expected.predict(X))
    assert fitted.step_names_ == ("step0", "step1")
    assert fitted.score(X, RAW) == expected.score(X, FLAT)
    y, steps = pack_steps({"cat": RAW[:, 0], "dog": RAW[:, 1]})
    for given in ((X, RAW), (X, y)):
        named = ridge_surrogate(1, steps=steps).fit(*given)
        assert named.step_names_ == ("cat", "dog")
    found = verdict(SURROGATE, X, RAW)
    assert str(found) == str(verdict(SURROGATE, X, RAW, steps=(3, 3)))
    assert policy_fragility(RAW).step_names == ("step0", "step1")
    assert len(report(fitted, X, RAW)) > 1000
    assert len(cross_val_score(SURROGATE, X, RAW)) == 5


def test_logits_of_three_dimensions_are_grouped_by_item():
    logits = np.log(RAW)
    fitted = ridge_pce(1).fit(X, logits)
    assert fitted.expansion_.group_names == ("step0", "step1")
    found = verdict(ridge_pce(1), X, logits)
    assert found.output_names == ("step0", "step1")


@pytest.mark.parametrize("call", [SURROGATE.fit, lambda X, y: verdict(SURROGATE, X, y)])
def test_class_labels_are_refused(call):
    labels = np.random.default_rng(0).integers(0, 3, size=(40, 4))
    refuses(r"integers.*predict_proba of each member", call, X, labels)


@cases(
    "call",
    SURROGATE.fit,
    lambda X, y: verdict(SURROGATE, X, y),
    lambda X, y: verdict(ridge_pce(1), X, y),
)
def test_steps_that_were_not_split_are_refused_or_declared(call):
    refuses(r"sums to 2, .* 2 steps side by side\. Give", call, X, FLAT)
    found = verdict(ridge_pce(1), X, FLAT, outputs={"first": 3, "second": 3})
    assert found.output_names == ("first", "second")


def test_a_regressor_that_predicts_negative_probabilities_is_refused_by_its_name():
    message = "PolynomialChaosRegressor predicts the neg"
    refuses(message, verdict, ridge_pce(1), X, softmax(6 * X, axis=1))


def test_a_zero_of_one_member_is_counted_with_its_share_of_the_variance():
    y = FLAT.copy()
    y[3, 1], y[3, 0] = 0.0, y[3, 0] + y[3, 1]
    surrogate = ridge_surrogate(1, steps=STEPS)
    counted = r"y has 1 zero, in 1 of 40 members.*'cat' is [\d.]+ with .* and [\d.]+ w"
    with pytest.warns(ZeroReplacedWarning, match=counted):
        surrogate.fit(X, y)
    with pytest.warns(ZeroReplacedWarning, match=counted) as caught:
        verdict(surrogate, X, y)
    assert len(caught) == 1
    chosen = LogRatioTransformer(zero_replacement=1e-4)
    with warnings.catch_warnings(action="error"):
        ridge_surrogate(1, steps=STEPS, log_ratio=chosen).fit(X, y)
        # Zeros of all members are no zeros: the part is not possible.
        y[:, 1] = 0.0
        y[:, :3] /= y[:, :3].sum(axis=1, keepdims=True)
        ridge_surrogate(1, steps=STEPS).fit(X, y)


def test_percentages_are_warned_of_once():
    surrogate = ridge_surrogate(1, steps=STEPS)
    with pytest.warns(ClosureWarning) as caught:
        found = verdict(surrogate, X, 100 * FLAT)
    assert len(caught) == 1
    wanted = verdict(surrogate, X, FLAT)
    assert_allclose(found.q2, wanted.q2)


@cases("steps", {"a": 2, "b": 4}, (2, 4), (6,), [[0, 1], [2, 3, 4, 5]], ids=str)
def test_steps_that_divide_the_items_of_three_dimensions_are_refused(steps):
    message = r"[Xy] has 2 items of 3 columns each, .* expected \(3, 3\).*reshape"
    surrogate = ridge_surrogate(1, steps=steps)
    refuses(message, surrogate.fit, X, RAW)
    refuses(message, verdict, ridge_pce(1), X, np.log(RAW), outputs=steps)
    refuses(message, LogRatioTransformer(steps=steps).fit, RAW)
    fitted = ridge_surrogate(1, steps=(2, 2, 2))
    fitted.fit(X, softmax(RAW.reshape(40, 3, 2), axis=2))
    refuses(r"2 items of 3 .* the fit .* \(2, 2, 2\)", fitted.score, X, RAW)


ONE_CLASS = RAW[:, 0, 0]


@cases(
    "y",
    *(ONE_CLASS, ONE_CLASS.tolist(), ONE_CLASS[:, np.newaxis], RAW[:, :, :1]),
    *(pd.Series(ONE_CLASS, name="p"), pl.DataFrame({"p": ONE_CLASS})),
    ids=["1-D", "list", "2-D", "3-D", "pandas", "polars"],
)
def test_probabilities_of_one_of_two_classes_are_refused(y):
    remedy = r"probabilities of one of two classes, .*np\.column_stack\(\[1 - "
    refuses(remedy, SURROGATE.fit, X, y)
    refuses(remedy, verdict, SURROGATE, X, y)
