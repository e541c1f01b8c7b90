"""Choosing an embedding: GridSearchCV's choice, nested figures, known truths."""

from __future__ import annotations

from typing import ClassVar

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import softmax
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.decomposition import PCA, KernelPCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.random_projection import GaussianRandomProjection

from skpce import CompositionalPCESurrogate, LogRatioTransformer
from skpce.embedding import PLSTransformer
from skpce.inspection import Result, compare_embeddings, input_tests
from skpce.inspection._ensembles.cross_fit import Permutations, group_q2
from skpce.inspection._ensembles.embedding_search import (
    NestedFolds,
    NestedSearch,
    read_candidates,
)
from skpce.inspection._ensembles.members import (
    make_cross_fit,
    make_splits,
    read_members,
)
from skpce.inspection._input_tests import (
    _pooled_correlation,
    held_out_inputs,
)
from skpce.metrics import aitchison_scorer

STEPS = {"a": 3, "b": 2}
OUTER = KFold(3, shuffle=True, random_state=1)
INNER = KFold(2, shuffle=True, random_state=2)
SMALL = {"n_permutations": 19, "random_state": 0, "cv": OUTER, "inner_cv": INNER}


def surrogate(**parameters):
    parameters = {"solver": "ridge", "distribution": "normal"} | parameters
    return CompositionalPCESurrogate(steps=STEPS, **parameters)


def cross_fit_of(model, X, y, reward, cv, rng):
    """Return all members and columns in the folds of a verdict."""
    X, y, outputs, steps = read_members(model, X, y)
    every = np.arange(len(X)), np.arange(outputs.n_groups)
    return make_cross_fit(model, X, y, outputs, steps, *every, reward, cv, rng)


def pls(**parameters):
    log_ratios = LogRatioTransformer(steps=tuple(STEPS.values()))
    return PLSTransformer(target_transformer=log_ratios, **parameters)


def quiet_and_loud(n_members=90, seed=0):
    """Twelve coordinates of a reward; the policy follows the two of least variance.

    Step a depends on both, also on the square of the first; step b on none.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_members, 12)) * np.r_[[3.0] * 10, 1, 1]
    one, two = X[:, 10], X[:, 11]
    a = softmax(np.c_[one + 0.3 * one**2, two, np.zeros(n_members)], axis=1)
    b = softmax(0.5 * rng.normal(size=(n_members, 2)), axis=1)
    return X, np.hstack([a, b])


@pytest.fixture(scope="module")
def data():
    return quiet_and_loud()


@pytest.fixture(scope="module")
def candidates():
    return {"PCA": PCA(svd_solver="full"), "PLS": pls()}


@pytest.fixture(scope="module")
def found(data, candidates):
    arguments = SMALL | {"n_permutations": 39}  # so that p can be 0.05 in one of two
    return compare_embeddings(
        candidates, *data, dimensions=(1, 2), surrogate=surrogate(), **arguments
    )


def grid_search(candidates, scoring=None, dimensions=(1, 2), degrees=(1, 2)):
    """The same search by scikit-learn."""
    return GridSearchCV(
        Pipeline([("embedding", PCA()), ("surrogate", surrogate())]),
        {
            "embedding": list(candidates.values()),
            "embedding__n_components": list(dimensions),
            "surrogate__degree": list(degrees),
        },
        scoring=scoring,
        cv=INNER,
    )


def test_an_embedding_that_finds_what_decides_the_policy_is_chosen(found):
    assert found.best.name == "PLS"
    assert [choice.candidate for choice in found.best_of_all.choices] == ["PLS"] * 3
    assert found["PLS"].q2[0] > 0.6
    assert found.best_of_all.q2[0] == found["PLS"].q2[0]
    assert found["PLS"].verdict.attributable == (True, False)
    assert found["PCA"].q2[0] < 0.1
    assert found["PCA"].verdict.attributable == (False, False)


@pytest.mark.parametrize(
    "scoring", [None, aitchison_scorer((3, 2), mask=np.ones(5, dtype=bool))]
)
def test_the_choice_is_that_of_a_grid_search(data, candidates, found, scoring):
    if scoring is not None:
        found = compare_embeddings(
            candidates,
            *data,
            dimensions=(1, 2),
            surrogate=surrogate(),
            scoring=scoring,
            **SMALL,
        )
    search = grid_search(candidates, scoring).fit(*data)
    means = search.cv_results_["mean_test_score"]
    assert found.scores.mean(axis=1) == pytest.approx(means, rel=1e-12)
    chosen = search.best_params_
    assert found.best.pipeline[0].__class__ is chosen["embedding"].__class__
    assert found.best.setting.dimension == chosen["embedding__n_components"]
    assert found.best.setting.degree == chosen["surrogate__degree"]
    assert found.best.score == pytest.approx(search.best_score_)
    np.testing.assert_allclose(
        found.best.pipeline.predict(data[0]), search.predict(data[0]), rtol=1e-10
    )


def q2_by_hand(y, predicted):
    """One less squared errors of centred log-ratios over squared deviations."""
    found = []
    for part in (slice(0, 3), slice(3, 5)):
        logs = [np.log(table[:, part]) for table in (y, predicted)]
        truth, guess = (each - each.mean(axis=1, keepdims=True) for each in logs)
        spread = np.square(truth - truth.mean(axis=0)).sum()
        found.append(1 - np.square(truth - guess).sum() / spread)
    return found


def test_nested_q2_is_that_of_a_grid_search_in_each_fold(data, candidates, found):
    X, y = data
    some = {name: {name: candidates[name]} for name in candidates}
    for name, those in {**some, "best of all": candidates}.items():
        predicted = cross_val_predict(grid_search(those), X, y, cv=OUTER)
        assert found[name].q2 == pytest.approx(q2_by_hand(y, predicted))


def test_with_rewards_the_choices_are_grid_searches_of_the_inner_folds(data):
    """Nested Q² by hand: a grid search over the folds drawn in each training set."""
    reward = np.repeat(np.arange(30), 3)
    X, y = data[0][reward], data[1]
    rng = np.random.default_rng(0)
    fit = cross_fit_of(surrogate(), X, y, reward, 4, rng)
    folds = NestedFolds.draw(fit.splits, 3, X, reward, rng)
    read = read_candidates({"PCA": PCA()}, (1, 2), (0, 1), fit.pipeline, rng)
    ours = NestedSearch(read, fit, folds, None).nested_errors()
    predicted = np.empty_like(y)
    for (train, test), inner, setting in zip(
        folds.outer, folds.inner, ours.choices[0], strict=True
    ):
        rows = [tuple(np.searchsorted(train, part) for part in one) for one in inner]
        searched = grid_search({"PCA": read[0].embedding}, degrees=(0, 1))
        searched.set_params(cv=rows).fit(X[train], y[train])
        predicted[test] = searched.predict(X[test])
        found = searched.best_params_
        assert setting.dimension == found["embedding__n_components"]
        assert setting.degree == found["surrogate__degree"]
    q2 = group_q2(ours.errors[0], fit.squared_deviations(), fit.outputs)
    assert q2 == pytest.approx(q2_by_hand(y, predicted))


class CountedPCA(PCA):
    """Notes the number of rows of each fit."""

    fits: ClassVar[list[int]] = []

    def fit_transform(self, X, y=None):
        self.fits.append(len(X))
        return super().fit_transform(X, y)


@pytest.mark.parametrize("routing", [False, True])
def test_an_embedding_is_fitted_once_for_all_degrees(data, routing):
    search, _ = search_of({"PCA": CountedPCA()}, *data, degrees=(0, 1, 2))
    CountedPCA.fits.clear()
    with config_context(enable_metadata_routing=routing):
        search.nested_errors()
    # Of three outer folds each trains in two inner ones, and once on all its members.
    assert sorted(CountedPCA.fits) == [30] * 6 + [60] * 3


def test_permuted_choices_are_grid_searches_of_permuted_policies(data, candidates):
    X, y = data
    order = np.random.default_rng(3).permutation(len(X))
    search, deviations = search_of(candidates, X, y)
    moved = Permutations(order[np.newaxis], moves_policies=True)
    ours = search.permuted_q2(moved, deviations, None, lambda _: None)
    searched = grid_search(candidates, dimensions=(1,), degrees=(1,))
    predicted = cross_val_predict(searched, X, y[order], cv=OUTER)
    assert ours[0, -1] == pytest.approx(q2_by_hand(y[order], predicted))


def test_the_best_of_all_has_a_p_value_where_the_choice_is_permuted(data):
    X, y = data
    found = compare_embeddings(
        {"decisive": FunctionTransformer(column, kw_args={"j": 10}), "PCA": PCA()},
        X,
        y,
        dimensions=(1,),
        degrees=(1,),
        surrogate=surrogate(),
        permute_choice=True,
        **SMALL,
    )
    decisive, noise = found.best_of_all.verdict.steps
    assert decisive.p_value == pytest.approx(2 / 20)  # Holm over two steps
    assert noise.p_value > 0.1
    assert found.permuted_choice
    assert "not tested" not in str(found)


def search_of(candidates, X, y, model=None, degrees=(1,)):
    """The search inside of a comparison, of one dimension and degree."""
    rng = np.random.default_rng(0)
    model = surrogate() if model is None else model
    fit = cross_fit_of(model, X, y, None, OUTER, rng)
    folds = NestedFolds.draw(fit.splits, INNER, X, None, rng)
    read = read_candidates(candidates, (1,), degrees, fit.pipeline, rng)
    return NestedSearch(read, fit, folds, None), fit.squared_deviations()


def column(X, j):
    return X[:, j].reshape(len(X), -1)


class Line(RegressorMixin, BaseEstimator):
    """Least squares of the log-odds of two actions; much faster than a surrogate."""

    def fit(self, X, y):
        self.line_ = LinearRegression().fit(X, np.log(y[:, 0] / y[:, 1]))
        return self

    def predict(self, X):
        return softmax(np.c_[self.line_.predict(X), np.zeros(len(X))], axis=1)


def test_the_largest_of_many_is_lucky_and_the_nested_choice_is_not():
    """Policies are noise; each candidate is one column of the inputs."""
    n_columns, largest, nested = 30, [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, n_columns))
        y = softmax(rng.normal(size=(40, 2)), axis=1)
        each = {
            f"column {j}": FunctionTransformer(column, kw_args={"j": j})
            for j in range(n_columns)
        }
        search, deviations = search_of(each, X, y, Line(), degrees=None)
        errors = search.nested_errors().errors
        q2 = [group_q2(one, deviations, search.fit.outputs)[0] for one in errors]
        largest.append(max(q2[:-1]))
        nested.append(q2[-1])
    assert np.mean(largest) > 0.02, largest
    assert np.mean(nested) < -0.1, nested
    assert min(largest) > np.mean(nested)


def test_a_setting_chosen_on_all_members_is_optimistic():
    """Held fixed, it has seen who is held out; nested, it has not."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 30)), softmax(rng.normal(size=(40, 2)), axis=1)
    found = compare_embeddings(
        {f"projection {i}": GaussianRandomProjection() for i in range(4)},
        X,
        y,
        dimensions=(1, 2),
        degrees=(1,),
        surrogate=CompositionalPCESurrogate(solver="ols", distribution="normal"),
        **SMALL,
    )
    assert found.best_of_all.q2[0] < found.best.fixed_q2[0]
    assert found.best_of_all.q2[0] < 0
    assert found.best_of_all.verdict.attributable == (False,)
    assert not np.array_equal(
        found["projection 0"].pipeline[0].random_state,
        found["projection 1"].pipeline[0].random_state,
    )


def test_same_seed_same_numbers_whatever_the_processes(data):
    X, y = data
    each = {"projection": GaussianRandomProjection(), "KPCA": KernelPCA()}
    arguments = {
        "dimensions": (2,),
        "degrees": (1,),
        "surrogate": surrogate(),
        "cv": 3,
        "inner_cv": 2,
        "n_permutations": 19,
    }
    one = compare_embeddings(each, X, y, random_state=3, **arguments)
    with joblib.parallel_config("threading"):
        two = compare_embeddings(each, X, y, random_state=3, n_jobs=2, **arguments)
    other = compare_embeddings(each, X, y, random_state=4, **arguments)
    np.testing.assert_array_equal(one.scores, two.scores)
    assert one.to_frame().equals(two.to_frame())
    assert one["KPCA"].q2[0] != other["KPCA"].q2[0]
    assert each["projection"].random_state is None


def test_replicates_stay_together_in_outer_and_inner_folds(data):
    X = data[0][:60]
    reward = np.repeat(np.arange(20), 3)
    rng = np.random.default_rng(0)
    outer = make_splits(4, X, reward, rng)
    folds = NestedFolds.draw(outer, 3, X, reward, rng)
    for (train, test), inner in zip(folds.outer, folds.inner, strict=True):
        assert len(inner) == 3
        held_out = np.concatenate([rows for _, rows in inner])
        assert sorted(held_out) == sorted(train)
        for known, unknown in inner:
            assert not set(reward[known]) & set(reward[unknown])
            assert not {*known, *unknown} & set(test)
    assert folds.smallest_training == 30


def test_replicates_give_training_noise_and_count_once_among_inputs(data):
    X, y = data
    reward = np.repeat(np.arange(20), 3)
    rng = np.random.default_rng(0)
    noisy = softmax(np.log(y[:20, :3][reward]) + rng.normal(size=(60, 3)), axis=1)
    found = compare_embeddings(
        {"PCA": PCA()},
        X[reward],
        noisy,
        reward,
        dimensions=(2,),
        degrees=(1,),
        cv=3,
        inner_cv=2,
        n_permutations=19,
        random_state=0,
    )
    step = found.best.verdict.steps[0]
    assert step.noise_share_low < step.noise_share < step.noise_share_high
    assert found.best.held_out_inputs.n_members == 20
    scores = found.best.pipeline[0].transform(X[:20])
    np.testing.assert_allclose(found.best.inputs.pearson, input_tests(scores).pearson)


def test_rewards_with_unequal_replicates_exchange_their_inputs(data):
    X, y = data
    reward = np.repeat(np.arange(60), np.tile([1, 2], 30))
    found = compare_embeddings(
        {"decisive": FunctionTransformer(column, kw_args={"j": slice(10, 12)})},
        X[reward],
        y[reward],
        reward,
        degrees=(1, 2),
        surrogate=surrogate(),
        permute_choice=True,
        cv=3,
        inner_cv=2,
        n_permutations=19,
        random_state=0,
    )
    decisive, noise = found["decisive"].verdict.steps
    assert decisive.p_value == pytest.approx(2 / 20)
    assert noise.p_value > 0.1


def test_inputs_of_members_not_seen_are_tested_too(data):
    X, y = data
    found = compare_embeddings(
        {"PCA": PCA(svd_solver="full")},
        X,
        y,
        dimensions=(5,),
        degrees=(1,),
        surrogate=surrogate(),
        **SMALL,
    ).best
    assert abs(found.inputs.largest("pearson")) < 1e-12  # by construction
    assert found.held_out_inputs.largest_correlation > 0.05
    # Normality by hand: standardise by the training members of each fold.
    rows = []
    for train, test in OUTER.split(X):
        pca = PCA(5, svd_solver="full").fit(X[train])
        seen = pca.transform(X[train])
        rows.append((pca.transform(X[test]) - seen.mean(axis=0)) / seen.std(axis=0))
    by_hand = [stats.shapiro(scores).pvalue for scores in np.vstack(rows).T]
    assert found.held_out_inputs.normality_p_values == pytest.approx(by_hand)
    assert found.held_out_inputs.n_members == len(X)


def test_pooled_correlations_find_dependence_and_no_more():
    rng = np.random.default_rng(0)
    related = [rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 40) for _ in "abc"]
    value, p = _pooled_correlation(related)
    assert value[0, 1] == pytest.approx(0.6, abs=0.1)
    assert p[0, 1] < 1e-6
    turned = [related[0] * [1, -1], *related[1:]]
    assert _pooled_correlation(turned)[0][0, 1] == pytest.approx(value[0, 1])

    p_values = [
        _pooled_correlation([rng.normal(size=(12, 2)) for _ in range(4)])[1][0, 1]
        for _ in range(400)
    ]
    false_alarms = int(np.sum(np.array(p_values) < 0.05))
    assert stats.binomtest(false_alarms, 400, 0.05).pvalue > 0.01
    few = _pooled_correlation([rng.normal(size=(3, 2))])
    assert np.isnan(few).all()
    collapsed = [related[0], related[1] * [1, np.nan]]
    assert _pooled_correlation(collapsed)[0][0, 1] == pytest.approx(
        _pooled_correlation(related[:1])[0][0, 1]
    )


class Constant(BaseEstimator):
    """Takes text and predicts the mean policy."""

    def fit(self, X, y):
        self.n_features_in_, self.mean_ = X.shape[1], np.mean(y, axis=0)
        return self

    def predict(self, X):
        return np.tile(self.mean_, (len(X), 1))


def test_inputs_that_are_no_numbers_are_not_tested(data):
    X, y = data
    words = np.where(X > 0, "high", "low").astype(object)
    model = Pipeline([("embedding", "passthrough"), ("last", Constant())])
    splits, once = list(OUTER.split(X)), np.arange(len(X))
    assert held_out_inputs(model, words, y, splits, once) is None
    assert held_out_inputs(model, X, y, splits, once).n_members == len(X)


def test_kinds_of_candidates(data):
    X, y = data
    each = {
        "as it is": "passthrough",
        "scaled": make_pipeline(StandardScaler(), PCA(svd_solver="full")),
        "named": (make_pipeline(PCA(3), StandardScaler()), "pca__n_components"),
        "fixed": PCA(3, svd_solver="full"),
    }
    before = repr(each)
    found = compare_embeddings(
        each,
        pd.DataFrame(X[:, -4:]).add_prefix("entry"),
        pd.DataFrame(y, columns=["a__0", "a__1", "a__2", "b__0", "b__1"]),
        dimensions={"scaled": (1, 2), "named": (2,)},
        degrees=None,
        surrogate=CompositionalPCESurrogate(
            1, n_resamples=3, random_state=0, solver="ridge", distribution="normal"
        ),
        **SMALL,
    )
    assert repr(each) == before
    settings = [(s.candidate, s.dimension, s.degree) for s in found.settings]
    assert settings == [
        ("as it is", None, None),
        ("scaled", 1, None),
        ("scaled", 2, None),
        ("named", 2, None),
        ("fixed", None, None),
    ]
    assert [one.n_inputs for one in found.candidates][::2] == [4, 2]
    assert found["fixed"].n_inputs == 3
    assert found["fixed"].pipeline[-1].step_names_ == ("a", "b")
    # Nothing is chosen where there is one setting: its figures do not flatter.
    single, several = found["fixed"], found["scaled"]
    assert single.q2 == pytest.approx(single.fixed_q2)
    assert not any("permute_choice" in text for text in single.verdict.cautions)
    assert any("permute_choice" in text for text in several.verdict.cautions)
    # The fitted pipeline retains what the search leaves out.
    assert hasattr(found.best.pipeline[-1], "step_total_sobol_interval_")


def test_a_surrogate_with_a_regressor_retains_its_steps(data):
    found = compare_embeddings(
        {"PLS": pls()},
        *data,
        dimensions=(2,),
        degrees=(1,),
        surrogate=surrogate(regressor=Ridge(0.1)),
        **SMALL,
    ).best
    assert [step.step for step in found.verdict.steps] == ["a", "b"]
    assert found.setting.degree == 1
    assert found.q2[0] > 0.6 > found.q2[1]


def test_tables_and_words(found):
    frame = found.to_frame()
    names = np.repeat(["PCA", "PLS", "best of all"], 2)
    assert frame["candidate"].tolist() == names.tolist()
    assert frame["step"].tolist() == ["a", "b"] * 3
    np.testing.assert_allclose(frame["q2"][2:4], found["PLS"].q2)
    np.testing.assert_allclose(frame["fixed_q2"][:2], found["PCA"].fixed_q2)
    assert frame["attributable"].tolist() == [False, False, True, False, False, False]
    assert frame["p_value"].isna().tolist() == [False] * 4 + [True] * 2
    assert "the choice was not permuted" in frame["reasons"].iloc[-1]
    settings = found.settings_frame()
    assert settings["mean_score"].max() == found.best.score
    text = str(found)
    assert "best score, with 90 members" in text
    assert "chosen anew in each of 3 outer folds (PLS in 3)" in text
    assert "not tested" in text
    assert "- PCA, dimension " in text
    with pytest.raises(KeyError, match="'ICA' is no candidate; there are 'PCA', 'PLS'"):
        found["ICA"]


def test_a_comparison_is_a_table_of_candidates_and_steps(found):
    assert isinstance(found, Result)
    assert found.candidate_names == ("PCA", "PLS", "best of all")
    assert [one.name for one in found.candidates] == ["PCA", "PLS"]
    assert found.q2.shape == (3, 2)
    row = found["PLS"]
    np.testing.assert_array_equal(row.q2, row.verdict.q2)
    np.testing.assert_array_equal(row.attributable, row.verdict.attributable)
    assert row.dimension == row.setting.dimension
    assert row.held_out_correlation == row.held_out_inputs.largest_correlation
    assert "90 members held out" in str(row.held_out_inputs)
    assert "chosen anew in each of 3 outer folds" in found._repr_html_()


def test_progress_is_reported_and_may_stop(data):
    X, y = data
    arguments = {"dimensions": (1,), "degrees": (1,), "surrogate": surrogate(), **SMALL}
    calls = []
    compare_embeddings(
        {"PCA": PCA()},
        X,
        y,
        progress=lambda *parts: calls.append(parts),
        **arguments,
    )
    assert calls == [(part, 5) for part in range(1, 6)]

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare_embeddings({"PCA": PCA()}, X, y, progress=stop, **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"candidates": [PCA()]}, "must be a dict of name to transformer"),
        ({"candidates": {}}, "must be a dict of name to transformer"),
        ({"candidates": {"best of all": PCA()}}, "a text other than 'best of all'"),
        ({"candidates": {"PCA": PCA}}, "'PCA': <class .* expected a transformer"),
        ({"candidates": {"R": RandomForestRegressor()}}, "expected a transformer"),
        ({"candidates": {"PCA": (PCA(), 3)}}, "name of the parameter that takes"),
        ({"candidates": {"PCA": (PCA(), "size")}}, "without a parameter 'size'"),
        ({"dimensions": 3}, "dimensions must be a sequence of different ints"),
        ({"dimensions": (2, 2)}, "sequence of different ints"),
        ({"dimensions": (0,)}, "'dimensions' .* an int in the range .1, inf"),
        (
            {"dimensions": (35,)},
            "35 inputs, and the smallest .* has 30 members; expected",
        ),
        ({"dimensions": {"ICA": (2,)}}, "'ICA', which is no candidate; .* 'PCA'"),
        (
            {
                "candidates": {"scaled": StandardScaler()},
                "dimensions": {"scaled": (2,)},
            },
            "has no n_components; give the candidate as",
        ),
        ({"dimensions": (13,)}, "Candidate PCA, dimension 13 failed on .* training"),
        ({"degrees": (1.5,)}, "'degrees' .* an int in the range"),
        ({"degrees": ()}, "'degrees' .* sequence of different ints"),
        ({"surrogate": RandomForestRegressor()}, "RandomForestRegressor has no degree"),
        ({"surrogate": PCA}, "'surrogate' .* an estimator that predicts, or None"),
        ({"scoring": 3}, "'scoring' .* a str, a callable or None"),
        ({"scoring": lambda *_: np.nan}, "degree 1 failed .* its score is nan"),
        ({"cv": 1}, "cv must be an int in the range .2, 90."),
        ({"inner_cv": 61}, "inner_cv must be an int in the range .2, 60."),
        ({"inner_cv": list(KFold(2).split(range(90)))}, "an int or a splitter"),
        ({"n_permutations": 5}, "n_permutations"),
        ({"permute_choice": 1}, "'permute_choice' .* a bool"),
        ({"X": np.zeros((5, 2))}, "X has 5 members and y has 90; expected"),
        ({"reward": np.repeat(np.arange(45), 2)}, "other rows of X"),
        ({"reward": np.arange(90), "cv": 3}, "groups has no replicates"),
        ({"noise_share": [0.1]}, "noise_share has shape .1,."),
    ],
)
def test_errors_name_what_is_wrong(data, arguments, message):
    X, y = data
    given = {
        "candidates": {"PCA": PCA(svd_solver="full")},
        "X": X,
        "y": y,
        "dimensions": (2,),
        "degrees": (1,),
        "surrogate": surrogate(),
        **SMALL,
    }
    with pytest.raises(ValueError, match=message):
        compare_embeddings(**(given | arguments))
