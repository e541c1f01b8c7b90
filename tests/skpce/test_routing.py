"""Sample weights that are routed through pipelines and searches."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from skpce import PolynomialChaosFeatures, PolynomialChaosRegressor
from tests.shared import cases, ridge_pce

needs_score_requests = pytest.mark.skipif(
    sklearn.__version__.startswith("1.6."),
    reason="a Pipeline needs a score request of its own there",
)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.exp(0.5 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=80)
    return X, y, rng.integers(0, 3, size=80).astype(float)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def pipeline(regressor):
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    return Pipeline([("scale", scaler), ("pce", regressor)])


def requesting(regressor):
    regressor.set_fit_request(sample_weight=True)
    return regressor.set_score_request(sample_weight=True)


@needs_score_requests
@pytest.mark.usefixtures("routing")
@cases("regressor", ridge_pce(), PolynomialChaosRegressor(), ids=["ridge", "learned"])
def test_weights_reach_every_fit_and_score_of_a_search(X, y, weights, regressor):
    grid = {"pce__degree": [1, 2]}
    model = pipeline(requesting(clone(regressor)))
    search = GridSearchCV(model, grid, cv=3).fit(X, y, sample_weight=weights)
    plain = GridSearchCV(pipeline(clone(regressor)), grid, cv=3).fit(X, y)
    by_hand = pipeline(requesting(clone(regressor))).set_params(pce__degree=1)
    scores = []
    for train, test in KFold(3).split(X):
        by_hand.fit(X[train], y[train], sample_weight=weights[train])
        scores.append(by_hand.score(X[test], y[test], sample_weight=weights[test]))
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(np.mean(scores))
    assert search.best_score_ != plain.best_score_


@pytest.mark.usefixtures("routing")
def test_features_learn_their_law_from_routed_weights(X, y, weights):
    features = PolynomialChaosFeatures(distribution="normal")
    features.set_fit_request(sample_weight=True)
    regressor = ridge_pce(0).set_fit_request(sample_weight=False)
    model = Pipeline([("features", features), ("mean", regressor)])
    model.fit(X, y, sample_weight=weights)
    law = model["features"].basis_.laws[0]
    assert law.location == pytest.approx(np.average(X[:, 0], weights=weights))
