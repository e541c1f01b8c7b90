"""A weight of two is two copies, whatever law is learned.

Solvers are in test_solvers.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skpce import PolynomialChaosFeatures, PolynomialChaosRegressor
from skpce._input_laws import NAMES

LAWS = [*NAMES, ["empirical", "categorical", "gamma"]]


@pytest.fixture
def data():
    """Positive inputs of few values, so that they are categories as well."""
    rng = np.random.default_rng(0)
    X = rng.integers(1, 5, size=(80, 3)) / 4
    y = np.column_stack([np.exp(X[:, 0]), X[:, 0] * X[:, 1] + rng.normal(size=80)])
    return X, y, rng.integers(0, 4, size=80)


@pytest.mark.parametrize("distribution", LAWS, ids=str)
@pytest.mark.parametrize("solver", ["ridge", "ols", "subspace_pursuit"])
def test_a_weight_is_a_number_of_copies(X, y, weights, distribution, solver):
    weighted, repeated = (
        PolynomialChaosRegressor(2, solver=solver, distribution=distribution)
        for _ in range(2)
    )
    weighted.fit(X, y, sample_weight=weights)
    repeated.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights, axis=0))
    for name in ("coefficients_", "sobol_indices_", "total_sobol_indices_", "q2_"):
        assert_allclose(
            getattr(weighted, name),
            getattr(repeated, name),
            rtol=1e-8,
            atol=1e-9,
            err_msg=name,
        )


@pytest.mark.parametrize("distribution", LAWS, ids=str)
def test_features_learn_from_copies(X, weights, distribution):
    weighted = PolynomialChaosFeatures(2, distribution=distribution)
    weighted.fit(X, sample_weight=weights)
    repeated = PolynomialChaosFeatures(2, distribution=distribution)
    repeated.fit(np.repeat(X, weights, axis=0))
    assert_allclose(weighted.transform(X), repeated.transform(X), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("distribution", LAWS, ids=str)
def test_learned_variances_count_copies(X, y, weights, distribution):
    """To the tolerance of the search for them."""
    weighted, repeated = (
        PolynomialChaosRegressor(2, distribution=distribution) for _ in range(2)
    )
    weighted.fit(X, y, sample_weight=weights)
    repeated.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights, axis=0))
    for name in ("coefficients_", "sobol_indices_", "total_sobol_indices_", "q2_"):
        assert_allclose(
            getattr(weighted, name), getattr(repeated, name), atol=5e-4, err_msg=name
        )


def test_a_choice_of_terms_counts_copies(X, y, weights):
    weighted = PolynomialChaosRegressor().fit(X, y, sample_weight=weights)
    repeated = PolynomialChaosRegressor()
    repeated.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights, axis=0))
    assert_array_equal(weighted.multi_indices_, repeated.multi_indices_)
    assert_allclose(weighted.sobol_indices_, repeated.sobol_indices_, atol=5e-4)
