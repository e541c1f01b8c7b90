"""A weight of two is two copies, whatever the solver and the law that is learned."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from skpce import PolynomialChaosRegressor
from skpce._input_laws import NAMES
from skpce._solvers import SOLVERS
from tests.shared import agree, copies

LAWS = [*NAMES, ["empirical", "categorical", "gamma"]]


@pytest.fixture
def data():
    """Positive inputs of few values, so that they are categories as well."""
    rng = np.random.default_rng(0)
    X = rng.integers(1, 5, size=(80, 3)) / 4
    y = np.column_stack([np.exp(X[:, 0]), X[:, 0] * X[:, 1] + rng.normal(size=80)])
    return X, y, rng.integers(0, 4, size=80)


NAMES_OF_FIT = (
    *("coefficients_", "sobol_indices_", "total_sobol_indices_", "q2_"),
    *("alpha_", "total_variance_", "loo_error_", "feature_importances_"),
)


@pytest.mark.parametrize("distribution", LAWS, ids=str)
@pytest.mark.parametrize("solver", [*SOLVERS, None])
def test_a_weight_is_a_number_of_copies(X, y, weights, distribution, solver):
    model = PolynomialChaosRegressor(2, solver=solver, distribution=distribution)
    repeated = clone(model).fit(*copies(weights, X, y))
    weighted = model.fit(X, y, sample_weight=weights)
    if solver is None:  # to the tolerance of the search for variances
        agree(weighted, repeated, *NAMES_OF_FIT[:4], atol=5e-4)
    else:
        agree(weighted, repeated, *NAMES_OF_FIT, rtol=1e-8, atol=1e-9)
