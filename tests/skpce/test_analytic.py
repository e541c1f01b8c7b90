"""Functions whose indices are known, projected exactly: errors of rounding.

A fit to Gauss nodes with their weights is the orthogonal projection, so nothing is left
of the error but the truncation, which these bases make smaller than rounding.
Other functions with known indices are in test_sobol.py.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from numpy.polynomial.legendre import leggauss
from numpy.testing import assert_allclose
from scipy.stats import norm, uniform

from skpce import PolynomialChaosRegressor


def legendre(n_nodes, low, high, n_pieces=1):
    """Nodes and weights of a composite rule for the uniform law."""
    nodes, weights = leggauss(n_nodes)
    edges = np.linspace(low, high, n_pieces + 1)
    places = [a + (b - a) * (1 + nodes) / 2 for a, b in itertools.pairwise(edges)]
    return np.concatenate(places), np.tile(weights, n_pieces) / (2 * n_pieces)


def hermite(n_nodes):
    nodes, weights = hermegauss(n_nodes)
    return nodes, weights / weights.sum()


def tensor(*rules):
    nodes, weights = zip(*rules, strict=True)
    X = np.stack(np.meshgrid(*nodes, indexing="ij"), axis=-1).reshape(-1, len(rules))
    return X, np.prod(np.meshgrid(*weights, indexing="ij"), axis=0).ravel()


def project(function, rules, **parameters):
    X, weights = tensor(*rules)
    pce = PolynomialChaosRegressor(solver="ols", **parameters)
    return pce.fit(X, function(X), sample_weight=weights).expansion_


def assert_parts(expansion, first, total, variance, atol):
    """Check indices against parts of the variance, known in closed form."""
    found = expansion.sobol_indices()
    assert found.total_variance[0] == pytest.approx(variance, rel=atol)
    assert_allclose(found.first_order[0], np.divide(first, variance), atol=atol)
    assert_allclose(found.total_order[0], np.divide(total, variance), atol=atol)


def test_a_polynomial_of_uniform_inputs():
    """y = x + 2 x z + z^2 on the unit square: variances by hand."""
    pce = project(
        lambda X: X[:, 0] + 2 * X[:, 0] * X[:, 1] + X[:, 1] ** 2,
        [legendre(4, 0, 1)] * 2,
        degree=2,
        distribution=uniform(0, 1),
    )
    # E[y|x] = 2 x + 1/3; E[y|z] = 1/2 + z + z^2; the rest is 2 (x - 1/2)(z - 1/2).
    first = np.array([4 / 12, 1 / 12 + 2 * (1 / 4 - 1 / 6) + 1 / 5 - 1 / 9])
    both = 4 / 144
    assert_parts(pce, first, first + both, first.sum() + both, 1e-12)


def test_a_polynomial_of_normal_inputs():
    """y = x + x^2 z + 3 z^3 for x ~ N(1, 2^2) and z ~ N(0, 1)."""
    x, weights = hermite(8)
    pce = project(
        lambda X: X[:, 0] + X[:, 0] ** 2 * X[:, 1] + 3 * X[:, 1] ** 3,
        [(1 + 2 * x, weights), hermite(8)],
        degree=3,
        distribution=[norm(1, 2), norm(0, 1)],
    )
    # E[y|x] = x; E[y|z] = 1 + 5 z + 3 z^3; the rest is (x^2 - 5) z.
    first = np.array([4.0, 25 + 30 * 3 + 9 * 15])
    both = 73.0 - 25.0  # E[x^4] = 1 + 6 * 4 + 3 * 16
    assert_parts(pce, first, first + both, first.sum() + both, 1e-12)
