"""Targets that some samples lack: a sample counts in those that it has."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from skpce import FailedSamplesWarning, PolynomialChaosRegressor
from tests.shared import cases, refuses, ridge_pce

pytestmark = pytest.mark.filterwarnings("ignore::skpce.FailedSamplesWarning")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 3))
    y = np.c_[X[:, 0], X[:, 1] * X[:, 2], X[:, 0] ** 2, X[:, 1]]
    y += 0.2 * rng.normal(size=y.shape)
    y[:10, 1] = y[5:25, 2] = y[5:25, 3] = np.nan
    return X, y


def alone(X, y, target, **parameters):
    """Fit one target to the samples that have it, in the basis of all samples."""
    has = ~np.isnan(y[:, target])
    return PolynomialChaosRegressor(2, **parameters).fit(X[has], y[has, target])


@pytest.mark.parametrize("solver", ["ridge", "ols", "lars", "subspace_pursuit"])
@pytest.mark.parametrize("target", range(4))
def test_each_target_is_that_of_its_own_samples(X, y, solver, target):
    frozen = {"distribution": norm(0, 1), "solver": solver}
    whole = PolynomialChaosRegressor(2, **frozen).fit(X, y)
    one = alone(X, y, target, **frozen)
    for name in ("coefficients_", "q2_", "loo_error_"):
        assert_allclose(getattr(whole, name)[target], getattr(one, name)[0])
    found, expected = (fit.predict(X, return_std=True) for fit in (whole, one))
    assert_allclose(np.array(found)[:, :, target], expected)


def test_the_warning_names_targets_and_samples(X, y):
    with pytest.warns(FailedSamplesWarning, match="of 70 samples .* has 60, .* has 50"):
        ridge_pce(2).fit(X, y)
    with pytest.warns(FailedSamplesWarning):
        make_pipeline(PCA(2), PolynomialChaosRegressor()).fit(X, y[:, 1])
    with warnings.catch_warnings(action="error"):
        ridge_pce(2).fit(X, np.nan_to_num(y))


def test_a_target_that_nearly_all_samples_lack_is_refused(X, y):
    y = y.copy()
    y[1:, 2] = np.nan
    refuses("y has 1 values that are no NaN in column 2", ridge_pce(2).fit, X, y)
    weights = np.arange(70) < 10
    y[:, 2] = X[:, 2]
    message = "y has 0 values that are no NaN in column 1"
    refuses(message, ridge_pce(1).fit, X, y, sample_weight=weights)


def test_partial_fit_has_no_use_for_missing_targets(X, y):
    pce = ridge_pce(2, distribution=norm(0, 1), criterion="gcv")
    refuses("NaN", pce.partial_fit, X, y)
    pce.partial_fit(X, np.nan_to_num(y))
    refuses("NaN", pce.partial_fit, X, y)
    with_none = y.astype(object)
    with_none[0, 0] = None
    refuses("NaN", pce.partial_fit, X, with_none)
    pce.fit(X, y)
    message = "cannot go on from a fit whose y has NaN; expected"
    refuses(message, pce.partial_fit, X, np.nan_to_num(y))


@cases("options", {}, {"noise": "inputs"}, {"method": "conformal", "random_state": 0})
def test_prediction_intervals_are_those_of_the_parts(X, y, options):
    law = {"distribution": norm(0, 1), "solver": "ridge"}
    whole = PolynomialChaosRegressor(2, **law).fit(X, y).predict_interval(X, **options)
    assert whole.lower.shape == (70, 4)
    for target in range(2):
        one = alone(X, y, target, **law).predict_interval(X, **options)
        assert_allclose(whole.lower[:, target], one.lower)
        assert_allclose(whole.upper[:, target], one.upper)
