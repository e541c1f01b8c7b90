"""Choosing an embedding: GridSearchCV's choice, nested figures, known truths."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skpce import CompositionalPCESurrogate, LogRatioTransformer
from skpce.embedding import PLSTransformer
from skpce.inspection import compare_embeddings
from skpce.inspection._ensembles.compare_embeddings import _InnerFolds
from skpce.metrics import aitchison_scorer
from tests.shared import cases, clr, refuses, ridge_surrogate

STEPS = {"a": 3, "b": 2}
OUTER = KFold(3, shuffle=True, random_state=1)
INNER = KFold(2, shuffle=True, random_state=2)
SMALL = {"cv": OUTER, "inner_cv": INNER}


def surrogate(**parameters):
    parameters = {"solver": "ridge", "distribution": "normal"} | parameters
    return CompositionalPCESurrogate(steps=STEPS, **parameters)


def pls(**parameters):
    log_ratios = LogRatioTransformer(steps=tuple(STEPS.values()))
    return PLSTransformer(target_transformer=log_ratios, **parameters)


def quiet_and_loud(n_members=90, seed=0):
    """Six coordinates of a reward; the policy follows the two of least variance.

    Step a depends on both, also on the square of the first; step b on none.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_members, 6)) * np.r_[[3.0] * 4, 1, 1]
    one, two = X[:, 4], X[:, 5]
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
    return compare_embeddings(
        candidates, *data, dimensions=(1, 2), surrogate=surrogate(), **SMALL
    )


def grid_search(candidates, scoring=None):
    """The same search by scikit-learn."""
    model = Pipeline([("embedding", PCA()), ("surrogate", surrogate())])
    grid = {"embedding": list(candidates.values()), "surrogate__degree": [1, 2]}
    grid["embedding__n_components"] = [1, 2]
    return GridSearchCV(model, grid, scoring=scoring, cv=INNER)


@pytest.mark.slow
def test_an_embedding_that_finds_what_decides_the_policy_is_chosen(found):
    assert found.best.candidate == "PLS"
    assert found["PLS"].q2[0] > 0.6
    assert found.best_of_all.q2[0] == found["PLS"].q2[0]
    assert found["PLS"].attributable.tolist() == [True, False]
    assert found["PCA"].q2[0] < 0.1
    assert found["PCA"].attributable.tolist() == [False, False]
    # What PLS made of y is not tested by y.
    assert found["PLS"].verdict.input_names == tuple(f"x{i}" for i in range(6))
    assert found["PCA"].verdict.input_names != found["PLS"].verdict.input_names


def test_the_choice_is_that_of_a_grid_search(data, candidates, found):
    search = grid_search(candidates).fit(*data)
    means = search.cv_results_["mean_test_score"]
    scores = found.best_of_all.verdict.model.cv_results_["mean_test_score"]
    assert scores == pytest.approx(means, rel=1e-12)
    chosen = search.best_params_
    assert found.best.pipeline[0].__class__ is chosen["embedding"].__class__
    assert found.best.dimension == chosen["embedding__n_components"]
    assert found.best.degree == chosen["surrogate__degree"]
    assert found.best.score == pytest.approx(search.best_score_)
    predicted = found.best.pipeline.predict(data[0])
    assert_allclose(predicted, search.predict(data[0]), rtol=1e-10)


def test_the_choice_is_made_by_the_scoring(data, candidates):
    scoring = aitchison_scorer((3, 2), mask=np.ones(5, dtype=bool))
    some = {"PCA": candidates["PCA"]}
    grid = {"dimensions": (1, 2), "surrogate": surrogate(), "scoring": scoring}
    found = compare_embeddings(some, *data, **grid, **SMALL)
    means = grid_search(some, scoring).fit(*data).cv_results_["mean_test_score"]
    scores = found.best_of_all.verdict.model.cv_results_["mean_test_score"]
    assert scores == pytest.approx(means, rel=1e-12)


def q2_by_hand(y, predicted):
    """One less squared errors of centred log-ratios over squared deviations."""
    found = []
    for part in (slice(0, 3), slice(3, 5)):
        truth, guess = clr(y[:, part]), clr(predicted[:, part])
        spread = np.square(truth - truth.mean(axis=0)).sum()
        found.append(1 - np.square(truth - guess).sum() / spread)
    return found


def test_nested_q2_is_that_of_a_grid_search_in_each_fold(X, y, candidates, found):
    some = {name: {name: candidates[name]} for name in candidates}
    for name, those in {**some, "best of all": candidates}.items():
        predicted = cross_val_predict(grid_search(those), X, y, cv=OUTER)
        assert found[name].q2 == pytest.approx(q2_by_hand(y, predicted))


def column(X, j):
    return X[:, j].reshape(len(X), -1)


class Line(RegressorMixin, BaseEstimator):
    """Least squares of the log-odds of two actions; much faster than a surrogate."""

    def fit(self, X, y):
        self.line_ = LinearRegression().fit(X, np.log(y[:, 0] / y[:, 1]))
        return self

    def predict(self, X):
        return softmax(np.c_[self.line_.predict(X), np.zeros(len(X))], axis=1)


@pytest.mark.slow
def test_the_largest_of_many_is_lucky_and_the_nested_choice_is_not():
    """Policies are noise; each candidate is one column of the inputs."""
    largest, nested, named = [], [], []

    def squares(model, X, y):
        return -np.square(model.predict(X) - y).mean()

    options = {"degrees": None, "surrogate": Line(), "scoring": squares}
    options |= {"cv": 3, "inner_cv": INNER}
    candidates = {
        f"column {j}": FunctionTransformer(column, kw_args={"j": j}) for j in range(8)
    }
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 8))
        y = softmax(rng.normal(size=(40, 2)), axis=1)
        found = compare_embeddings(candidates, X, y, **options)
        largest.append(found.q2[:-1].max())
        nested.append(found.best_of_all.q2[0])
        named.append(found.best_of_all.attributable[0])
    assert np.mean(largest) > np.mean(nested) + 0.05, (largest, nested)
    assert np.mean(nested) < -0.05, nested
    assert min(largest) > np.mean(nested)
    assert not any(named)


def test_replicates_and_groups_stay_together_in_inner_folds():
    X = quiet_and_loud(20)[0]
    setting = np.repeat(np.arange(20), 3)
    y = np.random.default_rng(0).normal(size=60)
    train = np.flatnonzero(setting % 4)
    related = np.arange(60) // 6
    for X_, groups, unit in ((X[setting], None, setting), (np.c_[y], related, related)):
        folds = list(_InnerFolds(3, X_, groups).split(X_[train], y[train]))
        assert sorted(np.concatenate([rows for _, rows in folds])) == list(range(45))
        for known, unknown in folds:
            assert not set(unit[train][known]) & set(unit[train][unknown])


@pytest.mark.slow
def test_kinds_of_candidates(X, y):
    each = {
        "as it is": "passthrough",
        "scaled": make_pipeline(StandardScaler(), PCA(svd_solver="full")),
        "fixed": make_pipeline(PCA(3, svd_solver="full"), StandardScaler()),
    }
    X, y = X[:45], y[:45]
    inputs = pd.DataFrame(X[:, -4:]).add_prefix("entry")
    outputs = pd.DataFrame(y, columns=["a__0", "a__1", "a__2", "b__0", "b__1"])
    given = {"dimensions": (1, 2), "degrees": None, **SMALL}
    given["surrogate"] = ridge_surrogate(1, random_state=0)
    found = compare_embeddings(each, inputs, outputs, **given)
    assert len(found.best_of_all.verdict.model.cv_results_["params"]) == 4
    assert found["as it is"].n_inputs == 4
    assert found["fixed"].n_inputs == 3
    assert np.isnan(found["fixed"].dimension)
    assert found["fixed"].pipeline[-1].step_names_ == ("a", "b")
    names = tuple(f"entry{i}" for i in range(4))
    assert found["as it is"].verdict.input_names == names


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
@pytest.mark.slow
@cases(
    ("given", "message"),
    ({"candidates": {"best of all": PCA()}}, "a text other than 'best of all'"),
    ({"candidates": {"R": RandomForestRegressor()}}, "expected a transformer"),
    ({"dimensions": (7,)}, "of 'PCA' failed: .*n_components=7 must be"),
    ({"surrogate": RandomForestRegressor()}, "RandomForestRegressor has no degree"),
    ({"inner_cv": 61, "cv": 3}, "inner_cv must be an int in the range .2, 60."),
    ({"groups": np.arange(45)}, "groups has shape .45,."),
)
def test_errors_name_what_is_wrong(data, given, message):
    X, y = data
    usual = {"candidates": {"PCA": PCA(svd_solver="full")}, "X": X, "y": y, **SMALL}
    usual |= {"dimensions": (2,), "degrees": (1,), "surrogate": surrogate()}
    refuses(message, compare_embeddings, **(usual | given))
