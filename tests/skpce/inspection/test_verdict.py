"""The verdict: honest refits for Q², a test for each input, replicates, words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Lasso
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import skpce
from skpce import (
    CompositionalPCESurrogate,
    LogRatioTransformer,
    PolynomialChaosRegressor,
)
from skpce.drivers import Caution
from skpce.drivers._exchange import holm
from skpce.ensembles import from_frame
from skpce.inspection import variance_decomposition, verdict
from tests.shared import cases, clr, refuses, ridge_pce, ridge_surrogate

WIDTHS = (3, 2, 4)


def surrogate(degree=1, **parameters):
    return ridge_surrogate(degree, **{"steps": WIDTHS} | parameters)


@pytest.fixture(scope="module")
def known(simulate):
    X, y = simulate(n_members=40, noise=0.2)
    return verdict(surrogate(2), X, y)


class Spy(TransformerMixin, BaseEstimator):
    """The identity, which remembers the rows of every fit and transform."""

    fits: list[set[float]] = []  # noqa: RUF012
    transforms: list[set[float]] = []  # noqa: RUF012

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        Spy.fits.append(set(X[:, 0]))
        return self

    def transform(self, X):
        Spy.transforms.append(set(X[:, 0]))
        return X


def judged_by_a_spy(X, y, n_folds, **options):
    """Judge, and check that what is held out is never seen; folds are dealt thrice."""
    Spy.fits, Spy.transforms = [], []
    found = verdict(make_pipeline(Spy(), surrogate()), X, y, **options)
    settings = set(X[:, 0])
    held_out = [r for r in Spy.transforms if len(r) == len(settings) // n_folds]
    of_folds = [rows for rows in Spy.fits if len(rows) < len(settings)]
    assert len(held_out) == len(of_folds) == 3 * n_folds
    for seen, unseen in zip(of_folds, held_out, strict=True):
        assert not seen & unseen
        assert seen | unseen == settings
    return found


def test_the_whole_pipeline_is_refitted_and_never_sees_what_is_held_out(X, y):
    judged_by_a_spy(X, y, 4, cv=4)


def test_cross_fitted_q2_by_hand(X, y):
    cv = KFold(3)
    found = verdict(surrogate(), X, y, cv=cv)

    def by_step(values):
        return [clr(block) for block in np.split(values, [3, 5], axis=1)]

    press = np.zeros(3)
    for train, test in cv.split(X):
        predicted = by_step(surrogate().fit(X[train], y[train]).predict(X[test]))
        for step, (block, guess) in enumerate(zip(by_step(y), predicted, strict=True)):
            press[step] += np.sum((block[test] - guess) ** 2)
    spread = [np.sum((block - block.mean(axis=0)) ** 2) for block in by_step(y)]
    for step, result in enumerate(found.steps):
        assert result.q2 == pytest.approx(1 - press[step] / spread[step])
        assert result.q2_low <= result.q2 <= result.q2_high


def test_a_known_softmax_is_attributable(known):
    assert known.attributable == (True, True, True)
    for step in known.steps:
        assert step.q2 > 0.5
        assert step.p_value < 0.05
        assert step.reasons == ()
        assert np.isnan(step.noise_share)


@pytest.mark.slow
def test_noise_is_not_attributable(simulate):
    """Of 12 decisions that depend on nothing at most one is attributed."""
    named = 0
    for seed in range(4):
        X, _ = simulate(seed=seed)
        _, y = simulate(seed=seed + 100)
        found = verdict(surrogate(2), X, y)
        named += sum(found.attributable)
        assert all(step.q2 < 0.1 for step in found.steps)
        for step in found.steps:
            wanted = () if step.attributable else ("no input is shown to drive it",)
            assert step.reasons == wanted
    assert named <= 1


def test_the_answer_is_that_of_explain(rng):
    X = rng.normal(size=(50, 3))
    y = X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=50)
    found = verdict(PolynomialChaosRegressor(), X, y)
    wanted = skpce.explain(X, y)
    assert found.drivers.state.tolist() == wanted.drivers.state.tolist()
    assert_array_equal(found.drivers.p_value, wanted.drivers.p_value)
    assert found.model.predict(X).shape == (50,)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_constant_inputs_do_not_matter(n_outputs, rng):
    X = rng.normal(size=(60, 3))
    X[:, 1] = 2.0
    y = X[:, :1] + 0.3 * rng.normal(size=(60, n_outputs))
    found = verdict(PolynomialChaosRegressor(), X, y).drivers
    assert set(found.state[:, 0]) == {"drives"}
    assert set(found.state[:, 1]) == {"does not matter"}
    assert (found.columns["p_value"][:, 1] == 1.0).all()


@pytest.mark.slow
def test_no_order_and_no_random_state_matters(simulate, rng):
    X, y = simulate(n_members=30)
    model = make_pipeline(PCA(svd_solver="full"), surrogate(2))
    found = verdict(model, X, y)
    for _ in range(3):
        rows = rng.permutation(len(X))
        again = verdict(model, X[rows], y[rows])
        assert again.drivers.state.tolist() == found.drivers.state.tolist()
        assert_allclose(again.q2, found.q2, atol=1e-6)


class PLSScores(PLSRegression):
    """PLS whose ``fit_transform`` gives the scores of X alone, as pipelines need."""

    def fit_transform(self, X, y=None):
        return self.fit(X, np.log(y)).transform(X)


@pytest.mark.slow
@pytest.mark.parametrize("n_columns", [5, 60])
def test_an_embedding_that_saw_y_is_not_tested_by_it(n_columns):
    """Leave-one-out is fooled; the columns of X are tested, or nothing."""
    fooled, honest = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, n_columns))
        y = softmax(rng.normal(size=(40, 3)), axis=1)
        last = ridge_surrogate(1)
        pipeline = make_pipeline(PLSScores(2), last)
        fooled.append(pipeline.fit(X, y)[-1].diagnostics_.loo_q2[0])
        found = verdict(pipeline, X, y)
        honest.append(found.steps[0].q2)
        assert found.attributable == (False,)
        assert len(found.input_names) == (5 if n_columns == 5 else 0)
        (caution,) = (c for c in found.cautions if c.code == "embedding saw y")
        assert caution.figures["tested"] == (n_columns == 5)
    assert max(honest) <= 0.05, honest
    if n_columns == 60:
        assert min(fooled) > 0.25, fooled


@pytest.mark.parametrize("kind", ["nested", "search", "frozen"])
def test_an_embedding_that_saw_y_is_found_wherever_it_stands(kind, rng):
    X, y = rng.normal(size=(40, 50)), rng.normal(size=40)
    chosen, last = SelectKBest(f_regression, k=3), ridge_pce(1)
    inner = make_pipeline(chosen, last)
    if kind == "search":
        inner = GridSearchCV(inner, {"selectkbest__k": [2, 3]}, cv=2)
    if kind == "frozen":
        inner = make_pipeline(FrozenEstimator(chosen.fit(X, y)), last)
    found = verdict(make_pipeline(StandardScaler(), inner), X, y)
    assert "embedding saw y" in {one.code for one in found.cautions}
    own = FrozenEstimator(PCA(3).fit(X))  # which has not
    blind = verdict(make_pipeline(own, last), X, y)
    assert "embedding saw y" not in {one.code for one in blind.cautions}


def test_indicators_of_labels_are_one_category(rng):
    kind, rate = rng.integers(3, size=60), rng.normal(size=60)
    X = pd.DataFrame({"kind": np.array(["a", "b", "c"])[kind], "rate": rate})
    X["act"] = rng.choice(["x", "y"], 60)
    encoder = OneHotEncoder(sparse_output=False)
    columns = make_column_transformer(
        (encoder, ["kind", "act"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    y = 2.0 * (kind == 1) + rate + 0.3 * rng.normal(size=60)
    found = verdict(make_pipeline(columns, ridge_pce(1)), X, y)
    assert found.input_names == ("kind", "act", "rate")
    assert found.drivers.state[0, [0, 2]].tolist() == ["drives"] * 2


def test_what_an_embedding_drops_is_no_noise_between_repeats(rng):
    X = rng.permutation(np.indices((4, 5, 4)).reshape(3, -1).T).astype(float)
    y = X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=80)
    kept = ColumnTransformer([("kept", "passthrough", [0, 2])])
    found = verdict(make_pipeline(kept, ridge_pce(2)), X, y)
    assert np.isnan(found.noise_share[0])
    given = verdict(ridge_pce(1), X, y, noise_share=[0.9])
    assert "training noise is given as 90 % of the variance" in str(given)


def test_replicates_stay_in_one_fold(replicated):
    X, y, reward = replicated(noise=0.1)
    found = judged_by_a_spy(X, y, 5, replicate=reward)
    assert all(0 < step.noise_share < 0.2 for step in found.steps)


def test_replicates_need_not_be_declared(replicated, rng):
    """Equal rows are repeats: policies by chance would be remembered otherwise."""
    reward = np.repeat(np.arange(15), 4)
    X = rng.normal(size=(15, 2))[reward]
    logits = rng.normal(size=(15, sum(WIDTHS)))[reward]
    y = np.hstack([softmax(part, axis=1) for part in np.split(logits, [3, 5], axis=1)])
    found = verdict(surrogate(4), X, y)
    assert found.attributable == (False, False, False)
    assert str(found.design).startswith("15 settings, 4 runs each")
    stated = verdict(surrogate(4), X, y, replicate=reward)
    assert str(stated) == str(found)


def test_a_decomposition_of_steps_in_another_order_is_refused(replicated):
    X, y, reward = replicated(noise=0.7)
    names = ("first", "second", "third")
    model = surrogate(steps=dict(zip(names, WIDTHS, strict=True)))
    fitting = variance_decomposition(y, reward, steps=model.steps)
    found = verdict(model, X, y, noise_share=fitting)
    assert_array_equal(found.noise_share, fitting.aitchison_variance.noise_share)
    turned = np.hstack([y[:, 5:], y[:, :5]])
    steps = {"third": 4, "first": 3, "second": 2}
    other = variance_decomposition(turned, reward, steps=steps)
    refuses(r"of the steps \['third', 'first'", verdict, model, X, y, noise_share=other)


def test_a_step_without_choice_or_variance(simulate, rng):
    X, y = simulate(widths=(3,))
    same = softmax(np.array([0.3, 0.1]) + rng.normal(size=(len(X), 1)), axis=1)
    y = np.hstack([y, np.tile([0.0, 1.0], (len(X), 1)), same])
    model = surrogate(2, steps=(3, 2, 2))
    found = verdict(model, X, y)
    assert found.attributable == (True, False, False)
    for step in found.steps[1:]:
        assert np.isnan([step.q2, step.q2_low, step.q2_high]).all()
        assert step.reasons == ("no choice, or no variance between members",)
    assert "no variance between the runs, of step1 and step2." in str(found)


def test_a_rare_action_does_not_change_the_mask_of_a_fold(simulate):
    X, y = simulate(n_members=20, widths=(3,))
    y = y.copy()
    y[1:, 2] = 0.0  # positive in one member only
    y /= y.sum(axis=1, keepdims=True)
    how = LogRatioTransformer(zero_replacement=1e-4)
    model = surrogate(1, log_ratio=how, steps=None)
    assert np.isfinite(verdict(model, X, y).steps[0].q2)


@cases(
    ("kwargs", "message"),
    ({"noise_share": [0.1]}, r"noise_share has shape \(1,\); expected \(3,\)"),
    ({"noise_share": [0.1, -3.0, 0.1]}, "must be finite and not negative"),
    ({"replicate": np.repeat(np.arange(20), 3)}, "Rows 0 and 1 have one label"),
    ({"steps": (4, 4)}, "sums to 8 columns .*; expected 9"),
    ({"cv": 100}, r"cv must be an int in the range \[2, 60\].* Got 100"),
)
def test_bad_arguments_before_any_fit(ensemble, monkeypatch, kwargs, message):
    def fail(*_, **__):
        raise AssertionError("fitted before the check")

    monkeypatch.setattr(CompositionalPCESurrogate, "fit", fail)
    refuses(message, verdict, surrogate(), *ensemble, **kwargs)


def test_bad_data_before_any_fit(X, y):
    refuses("X has 59 members and y has 60; expected", verdict, surrogate(), X[:-1], y)
    few = r"X has 7 members, too few .* at least 8"
    refuses(few, verdict, surrogate(), X[:7], y[:7])
    expected = r"'pipeline' .* must be an estimator or a Pipeline that predicts"
    refuses(expected, verdict, PCA(2), X, y)


def test_folds_that_divide_a_setting_are_refused(replicated):
    X, y, reward = replicated(noise=0.1)
    folds = KFold(5, shuffle=True, random_state=0)
    with pytest.raises(ValueError, match="into training and into test; use a splitter"):
        verdict(surrogate(), X, y, replicate=reward, cv=folds)


@cases(
    ("p_values", "expected"),
    ([0.01, 0.02, 0.03, 0.04], [0.04, 0.06, 0.06, 0.06]),
    ([0.2, np.nan, 0.01], [0.2, np.nan, 0.02]),
    ([[0.01, 0.04], [0.03, np.nan]], [[0.03, 0.06], [0.06, np.nan]]),
)
def test_holm(p_values, expected):
    assert_allclose(holm(np.array(p_values)), expected)


def test_other_names_reach_every_word(known):
    named = known.with_names(["rate", "units", "depth"])
    assert "x0" not in str(named)
    assert named.input_names == ("rate", "units", "depth")
    assert str(named).replace("rate", "x0") != str(named)
    assert_array_equal(named.drivers.total, known.drivers.total)
    refuses("must be 3 names, one for each of", known.with_names, ["rate", "units"])


def test_further_cautions_stay_with_the_answer(known):
    bound = Caution("noise bound", {"at_most": {"step0": 0.01201, "step1": 0.5}})
    named = known.with_cautions(bound).with_names(["rate", "units", "depth"])
    assert named.cautions[0].code == "noise bound"
    text = str(named)
    assert "Note: training noise is at most 1.3 % of step0 and 50 % of step1" in text
    with pytest.raises(ValueError, match="code 'late'; expected one of 'adaptive'"):
        known.with_cautions(Caution("late", {}))


@pytest.mark.slow
def test_a_search_is_refitted_whole(X, y):
    search = GridSearchCV(surrogate(), {"degree": [1]}, cv=3)
    found = verdict(search, X, y)
    assert repr(found) == repr(verdict(surrogate(), X, y))
    grid = {"pca__n_components": [2], "compositionalpcesurrogate__degree": [2]}
    search = GridSearchCV(make_pipeline(PCA(whiten=True), surrogate()), grid, cv=2)
    for model in (search, make_pipeline(StandardScaler(), search)):
        found = verdict(model, X, y, cv=2)
        assert found.input_names == ("pca0", "pca1")


class Column(TransformerMixin, BaseEstimator):
    """One column of X."""

    def __init__(self, place=0):
        self.place = place

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X[:, [self.place]]


@pytest.mark.slow
def test_p_values_count_the_embeddings_that_a_search_chose_from():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 6))
    y = X[:, 2] + 1.6 * rng.normal(size=40)
    model = make_pipeline(Column(), PolynomialChaosRegressor(1, solver="ridge"))
    one = GridSearchCV(model, {"polynomialchaosregressor__degree": [1, 2]})
    assert not verdict(one, X, y).cautions
    found = verdict(GridSearchCV(model, {"column__place": list(range(6))}), X, y)
    alone = verdict(model.set_params(**found.model.best_params_), X, y)
    p_values = [one.drivers.columns["p_value"][0, 0] for one in (found, alone)]
    assert found.model.best_params_ == {"column__place": 2}
    assert p_values[0] < 0.9
    assert p_values[0] == pytest.approx(6 * p_values[1], rel=0.3)
    assert "chosen among 6 by the outputs" in str(found)


def test_the_steps_of_a_surrogate_on_another_regressor_are_its_own(rng):
    """Not those of the regressor inside, which knows none."""
    X = rng.normal(size=(40, 2))
    logits = np.c_[X[:, :1], np.zeros((40, 2)), X[:, 1:], np.zeros((40, 1))]
    y = np.c_[softmax(logits[:, :3], axis=1), softmax(logits[:, 3:], axis=1)]
    model = CompositionalPCESurrogate(
        1, steps=(3, 2), regressor=Lasso(1e-3), distribution="normal"
    )
    found = verdict(model, X, y)
    assert [row.index("drives") for row in found.drivers.state.tolist()] == [0, 1]
    assert all(step.q2 > 0.8 for step in found.steps)


def test_a_randomised_decomposition_is_the_same_in_every_fit(rng):
    X = rng.normal(size=(40, 12)) @ rng.normal(size=(12, 600))
    y = X[:, :1] / X[:, 0].std() + 0.3 * rng.normal(size=(40, 1))
    model = make_pipeline(PCA(3, whiten=True, svd_solver="randomized"), ridge_pce(1))
    first, second = (verdict(model, X, y) for _ in range(2))
    assert_array_equal(first.q2, second.q2)
    assert str(first) == str(second)
    assert model.named_steps["pca"].random_state is None  # the caller's is as it was


def test_an_output_that_too_few_members_have_is_refused(rng):
    X = rng.normal(size=(60, 2))
    y = np.column_stack([X[:, 0], np.where(np.arange(60) < 5, X[:, 1], np.nan)])
    refuses(r"5 of 60 members have y1 .* at least 8", verdict, ridge_pce(1), X, y)


@pytest.mark.parametrize("replicate", [None, "seed"])
def test_an_ensemble_gives_inputs_outputs_and_replicates(replicate, rng):
    table = pd.DataFrame({"rate": np.repeat(rng.uniform(size=20), 2)})
    table["seed"] = [0, 1] * 20
    table["loss"] = table["rate"] ** 2 + 0.05 * rng.normal(size=40)
    runs = from_frame(table, ["rate"], "loss", replicate=replicate)
    model = ridge_pce(2, distribution=runs.distribution)
    found = verdict(model, runs)
    assert str(found) == str(verdict(model, runs.X, runs.y, replicate=runs.setting))
    for wrong in ((runs, runs.y), (runs.X, runs)):
        refuses("is an Ensemble, which holds X and y", verdict, model, *wrong)
        refuses("is an Ensemble, which holds X and y", model.fit, *wrong)
