"""Estimators that skops or pickle stored predict the same numbers, and are small."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import logistic, norm
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from skpce import (
    LogRatioTransformer,
    NatafTransformer,
    PolynomialChaosFeatures,
    PolynomialChaosRegressor,
)
from skpce._input_laws import NAMES
from skpce._solvers import SOLVERS
from tests.shared import cases, ridge_pce, ridge_surrogate

TWO = {"steps": (2, 2)}
OF_POLICIES = [
    ridge_surrogate(1, **TWO, random_state=0),
    ridge_surrogate(1, **TWO, solver=None, regressor=Ridge()),
    make_pipeline(
        NatafTransformer([norm(1, 2), "normal", "empirical"]),
        ridge_surrogate(1, **TWO, distribution=logistic()),
    ),
    LogRatioTransformer(**TWO),
]
ESTIMATORS = [
    *(PolynomialChaosRegressor(solver=name, distribution="normal") for name in SOLVERS),
    *(ridge_pce(distribution=name) for name in (*NAMES, norm(0, 1))),
    ridge_pce(distribution=norm(0, 1), criterion="gcv"),
    PolynomialChaosRegressor(regressor=Ridge(), distribution="normal"),
    PolynomialChaosRegressor(),
    PolynomialChaosRegressor(2),
    PolynomialChaosFeatures(3, distribution="empirical"),
    *OF_POLICIES,
]


def with_skops(estimator):
    sio = pytest.importorskip("skops.io")
    stored = sio.dumps(estimator)
    untrusted = sio.get_untrusted_types(data=stored)
    # Of others a distribution that was given, which is one of scipy.
    assert all(name.startswith(("skpce.", "scipy.stats.")) for name in untrusted)
    return sio.loads(stored, trusted=untrusted)


@cases("estimator", *ESTIMATORS, ids=range(len(ESTIMATORS)))
def test_skops_trusts_what_it_stores_and_loads_it(estimator):
    """Pickles are checked by the contract of scikit-learn and beside model files."""
    rng = np.random.default_rng(0)
    X = rng.integers(1, 5, size=(120, 3)).astype(float)
    y = np.column_stack([np.exp(X[:, 0] / 4), X[:, 1] * X[:, 2]])
    y += 0.1 * rng.normal(size=y.shape)
    if estimator in OF_POLICIES:
        first = 1.0 / (1.0 + np.exp(-X[:, :2] @ [1.0, -0.5]))
        y = np.column_stack([first, 1.0 - first, 1.0 - first / 2, first / 2])
    X = y if isinstance(estimator, LogRatioTransformer) else X
    fitted = clone(estimator).fit(X, y)
    loaded = with_skops(fitted)
    method = "predict" if hasattr(fitted, "predict") else "transform"
    assert_array_equal(getattr(loaded, method)(X), getattr(fitted, method)(X))


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
