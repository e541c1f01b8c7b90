"""Polynomial families: orthonormal under quadrature, equal to scipy.special."""

from __future__ import annotations

import numpy as np
import pytest
from numpy import polynomial
from numpy.testing import assert_allclose
from scipy import special
from scipy.stats import norm, uniform, vonmises

from skpce import PolynomialChaosFeatures
from skpce._basis.basis import PolynomialBasis, Truncation, sort_graded
from skpce._input_laws.families import NormalLaw
from tests.shared import cases, refuses


@pytest.mark.parametrize("degree", [0, 1, 2, 5, 12, 30])
def test_recurrences_match_scipy(degree):
    x = np.linspace(-1, 1, 41)
    hermite = PolynomialChaosFeatures(degree, distribution=norm(0, 1))
    expected = special.eval_hermitenorm(degree, x) / np.sqrt(special.factorial(degree))
    found = hermite.fit_transform(x[:, np.newaxis])[:, -1]
    assert_allclose(found, expected, rtol=1e-9, atol=1e-10)
    legendre = PolynomialChaosFeatures(degree, distribution=uniform(-1, 2))
    expected = special.eval_legendre(degree, x) * np.sqrt(2 * degree + 1)
    found = legendre.fit_transform(x[:, np.newaxis])[:, -1]
    assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


@cases(
    ("distribution", "message"),
    (vonmises(2.0), "repeats itself .* expected scipy.stats.vonmises_line"),
    (["normal"], "has 1 entries but X has 2 features"),
    (["normal", "cauchy"], "Got 'cauchy'"),
    (norm(0, 0), "mean .*nan.*positive scale"),
    (norm([0, 1], 1), "frozen scipy.stats.norm"),
)
def test_bad_distribution(distribution, message):
    features = PolynomialChaosFeatures(distribution=distribution)
    message = f"(?s)'distribution' parameter.*{message}"
    refuses(message, features.fit, np.eye(4, 2))


def direct_products(multi_indices, X):
    """Normalised Hermite times Legendre times Legendre, by numpy's classes."""

    def hermite(k, x):
        scale = np.sqrt(special.factorial(k))
        return polynomial.HermiteE.basis(k)(x) / scale

    def legendre(k, x):
        return polynomial.Legendre.basis(k)(x) * np.sqrt(2 * k + 1)

    a, b, c = X.T
    rows = multi_indices.tolist()
    terms = [hermite(i, a) * legendre(j, b) * legendre(k, c) for i, j, k in rows]
    return np.column_stack(terms)


LAW_OF_THREE = [norm(0, 1), uniform(-1, 2), uniform(-1, 2)]

SETS = {
    "total degree": Truncation.of_degree(3, 4).listed(),
    "hyperbolic": Truncation.of_degree(3, 5, 0.5).listed(),
    "one interaction": [[0, 0, 0], [1, 2, 3]],
    "not downward closed": sort_graded(
        np.array([[0, 0, 0], [0, 0, 5], [2, 0, 1], [1, 3, 1], [0, 3, 1], [0, 1, 1]]),
        np.zeros(3, dtype=bool),
    ),
    "without one input": [[0, 0, 0], [2, 0, 1], [3, 0, 0]],
    "constant": [[0, 0, 0]],
}


def basis_of(name, laws=LAW_OF_THREE):
    features = PolynomialChaosFeatures(1, distribution=laws).fit(np.zeros((2, 3)))
    return PolynomialBasis(features.basis_.laws, np.array(SETS[name]))


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    return np.column_stack([rng.normal(size=301), rng.uniform(-1, 1, size=(301, 2))])


@pytest.mark.parametrize("name", SETS)
def test_any_set_evaluates_to_its_products(name, points):
    basis = basis_of(name)
    design = basis.evaluate(points)
    expected = direct_products(basis.multi_indices, points)
    assert_allclose(design, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("column", [0, 1, 2])
def test_an_overflow_is_found_in_its_column(column):
    laws = [NormalLaw(0.0, 1.0)] * 2 + [NormalLaw(0.0, 2.0)]
    basis = PolynomialBasis(laws, np.array([[0, 0, 0], [8, 8, 8]]))
    X = np.zeros((4, 3))
    X[2, column] = 1e30
    refuses(rf"1e\+30 in column {column}", basis.evaluate, X)
