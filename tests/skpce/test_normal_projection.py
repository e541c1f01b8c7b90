"""Variance of an expansion along directions of normal inputs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from skpce import PolynomialChaosRegressor
from skpce._basis.basis import Truncation
from skpce._expansion.moments import (
    explained_variance,
    symmetric_tensors,
)


@pytest.fixture(scope="module")
def expansion():
    multi_indices = Truncation.of_degree(3, 3).listed()
    coefficients = np.random.default_rng(0).normal(size=(2, len(multi_indices)))
    return coefficients, multi_indices


@pytest.mark.filterwarnings("ignore::skpce.ConstantTargetWarning")
def test_mehler_against_monte_carlo(expansion):
    """E[f(t) f(t')] - mean^2 for t, t' with cross-covariance P."""
    coefficients, multi_indices = expansion
    rng = np.random.default_rng(1)
    basis = PolynomialChaosRegressor(3, distribution=norm(0, 1), solver="ols")
    basis.fit(rng.normal(size=(50, 3)), np.zeros(50))
    root = rng.normal(size=(3, 2))
    root /= 1.2 * np.linalg.norm(root, 2)
    shared = rng.normal(size=(400_000, 2)) @ root.T
    rest = np.linalg.cholesky(np.eye(3) - root @ root.T)
    first, second = (
        basis.transform(shared + rng.normal(size=shared.shape) @ rest.T)[:, 1:]
        @ coefficients[:, 1:].T
        for _ in range(2)
    )
    sampled = np.mean(first * second, axis=0)
    error = np.std(first * second, axis=0) / np.sqrt(len(first))
    exact = explained_variance(symmetric_tensors(coefficients, multi_indices), root)
    assert np.all(np.abs(sampled - exact) < 4 * error)
