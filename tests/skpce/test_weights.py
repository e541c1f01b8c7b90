"""A weight of two is two copies, whatever law is learned.

Solvers are in test_solvers.py, the choice among them in test_regressor_cv.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from skpce import (
    PolynomialChaosFeatures,
    PolynomialChaosRegressor,
    PolynomialChaosRegressorCV,
)
from skpce._input_laws import NAMED_LAWS

SEED = 0
LAWS = [*sorted(NAMED_LAWS), ["empirical", "categorical", "gamma"]]


@pytest.fixture
def data():
    """Positive inputs of few values, so that they are categories as well."""
    rng = np.random.default_rng(SEED)
    X = rng.integers(1, 5, size=(80, 3)) / 4
    y = np.column_stack([np.exp(X[:, 0]), X[:, 0] * X[:, 1] + rng.normal(size=80)])
    return X, y, rng.integers(0, 4, size=80)


@pytest.mark.parametrize("distribution", LAWS, ids=str)
@pytest.mark.parametrize("solver", ["ridge", "ols", "auto"])
def test_a_weight_is_a_number_of_copies(data, distribution, solver):
    X, y, weights = data
    weighted, repeated = (
        PolynomialChaosRegressor(2, solver=solver, distribution=distribution)
        for _ in range(2)
    )
    weighted.fit(X, y, sample_weight=weights)
    repeated.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights, axis=0))
    for name in ("coefficients_", "sobol_indices_", "total_sobol_indices_", "q2_"):
        np.testing.assert_allclose(
            getattr(weighted, name),
            getattr(repeated, name),
            rtol=1e-8,
            atol=1e-9,
            err_msg=name,
        )


@pytest.mark.parametrize("distribution", LAWS, ids=str)
def test_features_learn_from_copies(data, distribution):
    X, _, weights = data
    weighted = PolynomialChaosFeatures(2, distribution=distribution)
    weighted.fit(X, sample_weight=weights)
    repeated = PolynomialChaosFeatures(2, distribution=distribution)
    repeated.fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(
        weighted.transform(X), repeated.transform(X), rtol=1e-8, atol=1e-10
    )


def test_a_choice_of_degree_counts_copies(data):
    X, y, weights = data
    weighted = PolynomialChaosRegressorCV((1, 2, 3)).fit(X, y, sample_weight=weights)
    repeated = PolynomialChaosRegressorCV((1, 2, 3))
    repeated.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights, axis=0))
    assert weighted.degree_ == repeated.degree_
    np.testing.assert_allclose(
        weighted.sobol_indices_, repeated.sobol_indices_, atol=1e-12
    )
    np.testing.assert_allclose(
        weighted.cv_results_["error"], repeated.cv_results_["error"]
    )
