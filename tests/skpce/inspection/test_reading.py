"""One reader takes every fitted pipeline apart."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.special import softmax
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skpce import PolynomialChaosRegressor
from skpce.inspection._reading import (
    compositions_of,
    expansion_of,
    group_matrix,
    last_and_inputs,
)
from tests.shared import OLS, cases, ridge_pce, ridge_surrogate

STEPS = {"first": 3, "only": 1, "last": 2}


@pytest.fixture(scope="module")
def rows():
    source = np.random.default_rng(0).normal(size=(80, 2)) * [2, 1]
    return source @ np.array([[1.0, 1.0, 0.0], [0.0, 0.5, 1.0]])


@pytest.fixture(scope="module")
def policies(rows):
    zero = np.zeros(len(rows))
    first = softmax(np.c_[rows[:, 0], zero, -rows[:, 2]], axis=1)
    last = softmax(np.c_[rows[:, 1] * rows[:, 0], zero], axis=1)
    return np.hstack([first, np.ones((len(rows), 1)), last])


def search(estimator):
    return GridSearchCV(estimator, {"degree": [1, 2]}, cv=2)


@cases(
    "wrap",
    lambda last: last,
    lambda last: make_pipeline(PCA(2), last),
    lambda last: make_pipeline("passthrough", make_pipeline(PCA(2), last)),
    lambda last: make_pipeline(PCA(2), search(last)),
    search,
    ids=["alone", "pipeline", "nested", "search inside", "search"],
)
def test_however_it_is_wrapped(wrap, rows, policies):
    for last, y in (
        (ridge_pce(), rows[:, 0] ** 2),
        (PolynomialChaosRegressor(2, **OLS), rows[:, :2]),
        (ridge_surrogate(steps=STEPS), policies),
    ):
        model = wrap(last).fit(rows, y)
        reading = expansion_of(model, rows)
        behind, inputs, _ = last_and_inputs(model, rows)
        assert reading.estimator is behind
        assert_array_equal(reading.inputs, inputs)
        assert_array_equal(reading.latent(rows), inputs)
        expanded = reading.expansion(inputs).reshape(len(rows), -1)
        assert_array_equal(reading(rows), expanded)
        assert reading.problem.basis is behind.basis_
        is_direct = reading.inputs is rows
        names = ("x0", "x1", "x2") if is_direct else ("pca0", "pca1")
        assert reading.expansion.input_names == names


def test_a_frozen_estimator_is_read(rows, policies):
    surrogate = ridge_surrogate(1, steps=STEPS).fit(rows, policies)
    _, compositions = compositions_of(FrozenEstimator(surrogate))
    assert_array_equal(compositions.policies_at(rows), surrogate.predict(rows))


def test_groups_are_added_up(rows, policies):
    expansion = ridge_surrogate(1, steps=STEPS).fit(rows, policies).expansion_
    groups = [[1, 1, 1, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 1, 1]]
    assert_array_equal(group_matrix(expansion), groups)
    assert_array_equal(group_matrix(expansion.grouped(None)), np.eye(5))
