"""Sample weights through pipelines and searches, with routing and without."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
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
    scaler = StandardScaler()
    if sklearn.get_config()["enable_metadata_routing"]:
        scaler.set_fit_request(sample_weight=False)
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
def test_weights_reach_cross_validation(X, y, weights):
    regressor = ridge_pce().set_fit_request(sample_weight=True)
    regressor.set_score_request(sample_weight=False)
    routed = cross_validate(regressor, X, y, cv=3, params={"sample_weight": weights})
    with sklearn.config_context(enable_metadata_routing=False):
        plain = cross_validate(ridge_pce(), X, y, cv=3)
    assert np.all(routed["test_score"] != plain["test_score"])


@pytest.mark.usefixtures("routing")
@cases("estimator", ridge_pce(), PolynomialChaosRegressor(), ids=["ridge", "learned"])
def test_weights_without_a_request_are_refused(X, y, weights, estimator):
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        pipeline(estimator).fit(X, y, sample_weight=weights)


@pytest.mark.usefixtures("routing")
def test_features_learn_their_law_from_routed_weights(X, y, weights):
    features = PolynomialChaosFeatures(distribution="normal")
    features.set_fit_request(sample_weight=True)
    regressor = ridge_pce(0).set_fit_request(sample_weight=False)
    model = Pipeline([("features", features), ("mean", regressor)])
    model.fit(X, y, sample_weight=weights)
    law = model["features"].basis_.laws[0]
    assert law.location == pytest.approx(np.average(X[:, 0], weights=weights))


def test_without_routing_the_step_is_named(X, y, weights):
    model = pipeline(ridge_pce())
    search = GridSearchCV(model, {"pce__degree": [1, 2]}, cv=3)
    search.fit(X, y, pce__sample_weight=weights)
    best = clone(model).set_params(**search.best_params_)
    unweighted = clone(best).fit(X, y)
    best.fit(X, y, pce__sample_weight=weights)
    assert_allclose(search.predict(X), best.predict(X))
    assert np.abs(search.predict(X) - unweighted.predict(X)).max() > 1e-6
