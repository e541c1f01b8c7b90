"""Indices of probabilities, against quadrature of a known softmax."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from scipy.stats import norm

from skpce import CompositionalPCESurrogate
from tests.shared import ridge_surrogate


def policy(X):
    zero = 0 * X[:, 0]
    first = np.column_stack([1.5 * X[:, 0], X[:, 0] * X[:, 1], zero])
    second = np.column_stack([2 * X[:, 1] - 3.0, zero])
    return np.hstack([softmax(first, axis=1), softmax(second, axis=1)])


@pytest.fixture(scope="module")
def fitted():
    X = np.random.default_rng(0).normal(size=(80, 3))
    return CompositionalPCESurrogate(
        2, steps=(3, 2), distribution=norm(0, 1), solver="ols", random_state=0
    ).fit(X, policy(X))


def by_quadrature(n_nodes=80):
    """Partial variances of two inputs on a tensor grid; the third has no effect."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    weights = weights / weights.sum()
    grid = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    values = policy(grid).reshape(n_nodes, n_nodes, 5)
    mean = np.einsum("i,j,ijk->k", weights, weights, values)
    variance = np.einsum("i,j,ijk->k", weights, weights, (values - mean) ** 2)
    of_first = weights @ (np.einsum("j,ijk->ik", weights, values) - mean) ** 2
    of_second = weights @ (np.einsum("i,ijk->jk", weights, values) - mean) ** 2
    none = np.zeros(5)
    first = np.column_stack([of_first, of_second, none])
    total = np.column_stack([variance - of_second, variance - of_first, none])
    return first, total, variance


def test_against_quadrature(fitted):
    first, total, variance = by_quadrature()
    found = fitted.probability_sobol_indices(20000, random_state=1)
    assert_allclose(found.variance, variance, rtol=0.05)
    expected = {"first_order": first, "total_order": total}
    for name, parts in expected.items():
        shares = parts / variance[:, np.newaxis]
        error = getattr(found, f"{name}_error")
        miss = np.abs(getattr(found, name) - shares)
        assert np.all(miss <= 4 * error + 1e-12), name
        assert error.max() < 0.02
        steps = np.array([parts[:3].sum(axis=0), parts[3:].sum(axis=0)])
        steps /= np.array([[variance[:3].sum()], [variance[3:].sum()]])
        miss = np.abs(getattr(found, f"step_{name}") - steps)
        assert np.all(miss <= 4 * getattr(found, f"step_{name}_error") + 1e-12)
    steps = [found.variance[:3].sum(), found.variance[3:].sum()]
    assert_allclose(found.step_variance, steps)
    without_effect = found.first_order[:, 2], found.total_order[:, 2]
    assert_allclose(without_effect, 0.0, atol=1e-12)
    assert found.n_samples == 20000


def test_the_standard_error_is_that_of_repetitions(fitted):
    runs = [fitted.probability_sobol_indices(1000, random_state=s) for s in range(60)]
    for name in ("first_order", "total_order"):
        spread = np.std([getattr(run, name) for run in runs], axis=0)
        stated = np.mean([getattr(run, f"{name}_error") for run in runs], axis=0)
        used = spread > 1e-6
        assert np.all(stated[used] / spread[used] > 0.7)
        assert np.all(stated[used] / spread[used] < 1.4)


def test_masked_and_certain_parts_have_no_indices():
    X = np.random.default_rng(0).normal(size=(40, 1))
    y = np.column_stack([softmax(np.c_[X, -X], axis=1), np.zeros(40), np.ones(40)])
    fitted = ridge_surrogate(1, steps=(3, 1), random_state=0).fit(X, y)
    found = fitted.probability_sobol_indices(100)
    assert not found.total_order[2:].any()
    assert not found.first_order_error[2:].any()
    assert_allclose(found.total_order[:2], 1.0, atol=0.4)
    assert_array_equal(found.step_total_order[1], 0.0)
