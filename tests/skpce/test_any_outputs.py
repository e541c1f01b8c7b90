"""Verdicts, training noise and comparisons of real outputs: scores, losses, logits."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpce import PolynomialChaosRegressor
from skpce.inspection import compare_embeddings, variance_decomposition, verdict
from tests.shared import OLS, cases, refuses, ridge_pce, ridge_surrogate

N_MEMBERS = 60
GROUPS = {"accuracy": 1, "logits": 4, "noise": 1}


@pytest.fixture(name="X")
def inputs():
    return np.random.default_rng(0).normal(size=(N_MEMBERS, 3))


@pytest.fixture(name="y")
def outputs_of(X):
    """A score, four logits and noise, side by side."""
    rng = np.random.default_rng(1)
    score = X[:, 0] + 0.5 * X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=N_MEMBERS)
    logits = X[:, 1:2] * [1, -1, 2, 0] + 0.3 * rng.normal(size=(N_MEMBERS, 4))
    return np.c_[score, logits, rng.normal(size=N_MEMBERS)]


# What the columns are


@pytest.mark.slow
def test_columns_are_judged_one_by_one(X, y):
    found = verdict(ridge_pce(2), X, y)
    assert found.step_names == tuple(f"y{i}" for i in range(6))
    alone = [verdict(ridge_pce(2), X, column).q2 for column in y.T]
    assert_allclose(found.q2, np.ravel(alone), rtol=1e-10)


@pytest.mark.slow
def test_groups_are_judged_as_a_whole(X, y):
    pd = pytest.importorskip("pandas")
    found = verdict(ridge_pce(2), X, y, outputs=GROUPS)
    assert found.attributable == (True, True, False)
    columns = {"accuracy": [0], "logits": [1, 2, 3, 4], "noise": [5]}
    same = verdict(ridge_pce(2), X, y, outputs=columns)
    assert_array_equal(found.q2, same.q2)
    unnamed = verdict(ridge_pce(2), X, y, outputs=[1, 4, 1])
    assert unnamed.step_names == ("output0", "output1", "output2")
    names = [("accuracy", "a"), *(("logits", k) for k in "abcd"), ("noise", "a")]
    frame = pd.DataFrame(y, columns=pd.MultiIndex.from_tuples(names))
    framed = verdict(ridge_pce(2), pd.DataFrame(X, columns=list("abc")), frame)
    assert framed.step_names == tuple(GROUPS)
    assert_allclose(framed.q2, found.q2, rtol=0, atol=1e-12)
    assert framed.to_frame()["output"].tolist() == list(GROUPS)


def test_compositions_and_numbers_in_one_model(X, y):
    policies = softmax(np.c_[X[:, 0], np.zeros((N_MEMBERS, 2))], axis=1)
    forest, both = RandomForestRegressor(20, random_state=0), np.c_[policies, y[:, 0]]
    found = verdict(forest, X, both, steps={"move": 3}, outputs={"score": 1})
    assert found.step_names == ("move", "score")
    assert found.attributable == (True, True)
    assert "1 compositions" in str(found.measured_as)


# Q²


def squared_errors(X, y, splits):
    """Errors of least squares on degree 1, by scikit-learn."""
    errors = np.empty_like(y)
    for train, test in splits:
        fit = LinearRegression().fit(X[train], y[train])
        errors[test] = np.square(y[test] - fit.predict(X[test]))
    return errors


@pytest.mark.parametrize("standardize", [False, True])
def test_q2_is_that_of_a_computation_by_hand(X, y, standardize):
    y = y * [1, 10, 1, 1, 0.1, 1]
    cv = KFold(5, shuffle=True, random_state=3)
    model = PolynomialChaosRegressor(1, **OLS)
    found = verdict(model, X, y, outputs=GROUPS, cv=cv, standardize=standardize)
    unit = y.std(axis=0) if standardize else np.ones(6)
    error = squared_errors(X, y / unit, cv.split(X)).sum(axis=0)
    spread = np.square((y - y.mean(axis=0)) / unit).sum(axis=0)
    columns = ([0], [1, 2, 3, 4], [5])
    expected = [1 - error[group].sum() / spread[group].sum() for group in columns]
    assert_allclose(found.q2, expected, rtol=1e-8)
    assert found.measured_as.is_scaled == standardize


# Any regressor


@pytest.mark.slow
@cases(
    "model",
    PolynomialChaosRegressor(),
    make_pipeline(StandardScaler(), ridge_pce(2)),
    make_pipeline(PCA(2), ridge_pce(1)),
    TransformedTargetRegressor(ridge_pce(2), transformer=StandardScaler()),
    RandomForestRegressor(20, random_state=0),
    GridSearchCV(ridge_pce(), {"degree": [1, 2]}, cv=3),
    ids=lambda model: type(model).__name__,
)
def test_any_regressor_gets_a_verdict(model, X, y):
    found = verdict(model, X, y[:, [0, 5]])
    assert found.attributable == (True, False)


# Failed members


def test_a_member_counts_in_the_outputs_that_it_has(X, y):
    failed = y[:, [0, 5]].copy()
    failed[:7, 0] = np.nan
    failed[50:, 1] = np.nan
    cv = KFold(5)
    found = verdict(ridge_pce(2), X, failed, cv=cv)
    assert_array_equal(found.members, [53, 50])
    assert "y0 has 53, y1 has 50 of 60" in str(found)
    for place, has in enumerate((np.arange(7, 60), np.arange(50))):
        alone = verdict(ridge_pce(2), X[has], failed[has, place], cv=cv)
        assert_allclose(found.q2[place], alone.q2[0], rtol=1e-10)


def test_models_without_nan_and_replicates_with_failures(rng):
    setting = np.repeat(np.arange(20), 3)
    X = rng.normal(size=(20, 2))[setting]
    y = X[:, :1] + 0.3 * rng.normal(size=(60, 2))
    y[[0, 5, 17], 0] = np.nan
    for model in (ridge_pce(1), LinearRegression()):
        found = verdict(model, X, y, replicate=setting)
        assert found.attributable == (True, True)
        assert_array_equal(found.members, [57, 60])


# Replicates and training noise


@pytest.fixture
def replicates():
    """Inputs, outputs with a noise share of one half and of one fifth, settings."""
    rng = np.random.default_rng(2)
    setting = np.repeat(np.arange(400), 3)
    X = rng.normal(size=(400, 2))[setting]
    return X, X * [1, 2] + rng.normal(size=(1200, 2)), setting


@pytest.mark.slow
def test_all_ways_to_the_noise_share_agree(replicates):
    X, y, setting = replicates
    rng = np.random.default_rng(3)
    for found in (
        variance_decomposition(y, replicate=setting).noise_share,
        variance_decomposition(y, exact=X * [1, 2]).noise_share,
        variance_decomposition(y, control=rng.normal(size=(400, 2))).noise_share,
        verdict(ridge_pce(1), X, y, replicate=setting).noise_share,
    ):
        assert_allclose(found, [0.5, 0.2], atol=0.08)


def test_noise_of_a_group_is_the_sum_over_its_columns(replicates):
    _, y, setting = replicates
    columns = variance_decomposition(y, setting)
    group = variance_decomposition(y, setting, outputs={"both": 2})
    expected = columns["variance"].within.sum() / columns["variance"].total.sum()
    assert_allclose(group.noise_share, [expected])


# Bad input


def test_numbers_are_no_probabilities(X, y):
    message = "predicts probabilities; its columns are"
    refuses(message, verdict, ridge_surrogate(1), X, np.abs(y), outputs=GROUPS)
    refuses("Negative values", verdict, ridge_surrogate(1), X, y)


def test_an_output_that_no_member_has_is_named(y):
    y[:, 2] = np.nan
    refuses("0 of 60 members have y2", variance_decomposition, y, np.arange(60) // 2)


def test_failed_members_are_left_out_before_embeddings_are_compared(X, y):
    y[:3, 0] = np.nan
    message = "NaN in 3 of 60 members; leave these out"
    refuses(message, compare_embeddings, {"PCA": PCA()}, X, y, dimensions=(1,))
