"""Estimators that are stored and loaded predict the same numbers."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import logistic, norm
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from skpce import (
    CompositionalPCESurrogate,
    LogRatioTransformer,
    NatafTransformer,
    PolynomialChaosFeatures,
    PolynomialChaosRegressor,
)
from skpce._input_laws import NAMES
from skpce._solvers import SOLVERS
from tests.shared import cases, ridge_pce, ridge_surrogate

N_SAMPLES = 120

# Of learned laws: the text of a frozen one holds an address.
LEARNED = [
    *(PolynomialChaosRegressor(solver=name, distribution="normal") for name in SOLVERS),
    *(ridge_pce(distribution=name) for name in NAMES),
    ridge_pce(3, criterion="gcv"),
    PolynomialChaosRegressor(regressor=Ridge(), distribution="normal"),
    PolynomialChaosRegressor(),
    PolynomialChaosRegressor(2),
    PolynomialChaosFeatures(3, distribution="empirical"),
]
ESTIMATORS = [
    *LEARNED,
    ridge_pce(distribution=norm(0, 1)),
    ridge_pce(distribution=norm(0, 1), criterion="gcv"),
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.integers(1, 5, size=(N_SAMPLES, 3)).astype(float)
    y = np.column_stack([np.exp(X[:, 0] / 4), X[:, 1] * X[:, 2]])
    return X, y + 0.1 * rng.normal(size=y.shape)


def pickled(estimator):
    return pickle.loads(pickle.dumps(estimator))


@pytest.fixture
def through_joblib(tmp_path):
    def load(estimator):
        joblib.dump(estimator, tmp_path / "estimator.joblib")
        return joblib.load(tmp_path / "estimator.joblib")

    return load


@pytest.fixture
def through_skops():
    sio = pytest.importorskip("skops.io")

    def load(estimator):
        stored = sio.dumps(estimator)
        untrusted = sio.get_untrusted_types(data=stored)
        # Of others a distribution that was given, which is one of scipy.
        assert all(name.startswith(("skpce.", "scipy.stats.")) for name in untrusted)
        return sio.loads(stored, trusted=untrusted)

    return load


def assert_same(one, other, X):
    assert repr(one) == repr(other)
    assert_array_equal(one.transform(X), other.transform(X))
    assert_array_equal(one.get_feature_names_out(), other.get_feature_names_out())
    if isinstance(one, PolynomialChaosFeatures):
        return
    for mine, its in zip(
        one.predict(X, return_std=True), other.predict(X, return_std=True), strict=True
    ):
        assert_array_equal(mine, its)
    for name in vars(one):
        if name.endswith("_") and isinstance(getattr(one, name), np.ndarray):
            assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=range(len(ESTIMATORS)))
def test_pickle_and_joblib(estimator, data, through_joblib):
    fitted = clone(estimator).fit(*data)
    for again in (pickled(fitted), through_joblib(fitted)):
        if isinstance(estimator.distribution, str):
            assert_same(fitted, again, data[0])
        else:  # whose representation holds an address
            assert_array_equal(again.predict(data[0]), fitted.predict(data[0]))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=range(len(ESTIMATORS)))
def test_skops_trusts_classes_of_ours_alone(estimator, data, through_skops):
    fitted = clone(estimator).fit(*data)
    again = through_skops(fitted)
    if isinstance(estimator.distribution, str):
        assert_same(fitted, again, data[0])
    else:
        assert_array_equal(again.predict(data[0]), fitted.predict(data[0]))


@cases(
    "estimator",
    ridge_surrogate(1, steps=(2, 2), random_state=0),
    CompositionalPCESurrogate(
        1, steps=(2, 2), regressor=Ridge(), distribution="normal"
    ),
    make_pipeline(
        NatafTransformer([norm(1, 2), "normal", "empirical"]),
        ridge_surrogate(1, steps=(2, 2), distribution=logistic()),
    ),
    LogRatioTransformer(steps=(2, 2)),
    ids=range(4),
)
def test_skops_trusts_classes_of_compositions(estimator, data, through_skops):
    X = data[0]
    first = 1.0 / (1.0 + np.exp(-X[:, :2] @ [1.0, -0.5]))
    y = np.column_stack([first, 1.0 - first, 1.0 - first / 2, first / 2])
    X = y if isinstance(estimator, LogRatioTransformer) else X
    fitted = clone(estimator).fit(X, y)
    again = through_skops(fitted)
    assert_array_equal(again.transform(X), fitted.transform(X))


def test_a_fit_from_sums_is_continued_after_loading(X, y):
    model = ridge_pce(2, distribution=norm(0, 1), criterion="gcv")
    whole = clone(model).fit(X, y)
    half = pickled(model.partial_fit(X[:60], y[:60])).partial_fit(X[60:], y[60:])
    assert_allclose(half.coefficients_, whole.coefficients_, atol=1e-10)


def test_an_unfitted_estimator_loads_unfitted():
    again = pickled(PolynomialChaosRegressor(4, solver="lars", distribution="normal"))
    assert again.get_params()["solver"] == "lars"
    assert not hasattr(again, "coefficients_")


@cases("estimator", ridge_pce(3), PolynomialChaosRegressor(), ids=["ridge", "learned"])
def test_a_pickle_holds_the_samples_once_and_no_design(estimator, rng):
    """The samples and residuals of each target, and factors of the terms."""
    X = rng.normal(size=(4000, 3))
    y = np.exp(X @ [0.5, 0.4, 0.3]) + 0.1 * rng.normal(size=4000)
    fitted = estimator.fit(X, y)
    n_samples, n_terms = len(X), len(fitted.multi_indices_)
    held = X.nbytes + 4 * y.nbytes + 8 * n_terms * (n_terms + 20)
    size = len(pickle.dumps(fitted))
    assert size < 1.1 * held + 8192
    assert size < 8 * n_samples * n_terms, "the design matrix is not in it"


def test_a_pickle_of_a_fit_from_sums_does_not_grow_with_the_samples(rng):
    X, y = rng.normal(size=(20_000, 2)), rng.normal(size=20_000)
    model = ridge_pce(2, distribution=norm(0, 1), criterion="gcv")
    sizes = [len(pickle.dumps(clone(model).fit(X[:n], y[:n]))) for n in (100, 20_000)]
    assert sizes[1] < sizes[0] + 256
