"""Scores of all penalties are those of the residuals of each."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skpce._solvers import ridge
from skpce._solvers.problem import DesignDecomposition

ALPHAS = np.logspace(-8, 4, 25)
NAMES = "alpha_", "coefficients_", "loo_error_", "q2_"


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", ["loo", "gcv"])
@pytest.mark.parametrize(("n", "p"), [(40, 9), (40, 30), (12, 20)])
def test_equal_to_the_residuals(n, p, criterion, weighted, rng):
    design = np.hstack([np.ones((n, 1)), rng.normal(size=(n, p))])
    design[0, 1] = 30.0  # a leverage of nearly 1
    weights = rng.integers(1, 4, size=n).astype(float) if weighted else np.ones(n)
    decomposition = DesignDecomposition.from_design(design, weights)
    targets = design[:, 1:2] + rng.normal(size=(n, 50))
    mean, loadings = decomposition.project(targets)
    given = targets, loadings, ALPHAS, criterion, mean
    found = ridge.path_scores(decomposition, *given)
    for row, alpha in zip(found, ALPHAS, strict=True):
        residuals = decomposition.residuals(targets - mean, loadings, alpha)
        freedom = decomposition.path_complement(np.array([alpha]))
        if criterion == "gcv":
            freedom = np.average(freedom, weights=weights, axis=0)
        expected = np.average(np.square(residuals / freedom), weights=weights, axis=0)
        assert_allclose(row, expected, rtol=1e-7, atol=1e-15)
