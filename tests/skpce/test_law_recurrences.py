"""Recurrences of laws in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from skpce._input_laws.tabulated import ContinuousLaw, DiscreteLaw
from tests.shared import cases
from tests.skpce.laws import gram, law_of

TOLERANCE = 1e-8


Q = np.exp(-(0.3**2))


@cases(
    ("frozen", "a", "b"),
    (stats.norm(1, 2), lambda k: 1 + 0 * k, lambda k: 4 * k),
    (stats.uniform(-1, 2), lambda k: 0 * k, lambda k: k**2 / (4 * k**2 - 1)),
    (stats.expon(), lambda k: 2 * k + 1, lambda k: k**2),
    (stats.gamma(0.2), lambda k: 2 * k + 0.2, lambda k: k * (k - 0.8)),
    (stats.arcsine(-1, 2), lambda k: 0 * k, lambda k: np.where(k == 1, 0.5, 0.25)),
    (stats.semicircular(), lambda k: 0 * k, lambda k: 0.25 + 0 * k),
    (  # Stieltjes and Wigert, with q = exp(-sigma^2)
        stats.lognorm(0.3),
        lambda k: Q ** (-2 * k - 0.5) * (1 + Q - Q ** (k + 1)),
        lambda k: Q ** (2 - 4 * k) * (1 - Q**k),
    ),
    ids=str.split("Hermite Legendre Laguerre small Chebyshev second Stieltjes-Wigert"),
)
def test_a_density_gives_the_recurrence_of_its_family(frozen, a, b):
    law = ContinuousLaw.from_frozen(frozen)
    degree = 12
    found_a, found_b = law.recurrence(degree)
    k = np.arange(degree + 1.0)
    expected_a = (a(k[:-1]) - law.location) / law.scale
    assert_allclose(found_a, expected_a, rtol=1e-8, atol=1e-8)
    assert_allclose(found_b, b(k[1:]) / law.scale**2, rtol=1e-8)


def of_randint(k):
    return k**2 * (400 - k**2) / (4 * (4 * k**2 - 1))


def of_nbinom(k):
    return (k + 0.4 * (k + 4)) / 0.6


@cases(
    ("frozen", "a", "b"),
    (stats.randint(2, 22), lambda k: 11.5 + 0 * k, of_randint),
    (stats.poisson(3.5), lambda k: k + 3.5, lambda k: 3.5 * k),
    (stats.binom(15, 0.3), lambda k: 4.5 + 0.4 * k, lambda k: 0.21 * k * (16 - k)),
    (stats.nbinom(4, 0.6), of_nbinom, lambda k: 0.4 * k * (k + 3) / 0.36),
    ids=["Chebyshev", "Charlier", "Krawtchouk", "Meixner"],
)
def test_a_table_gives_the_recurrence_of_its_family(frozen, a, b):
    law = DiscreteLaw.from_frozen(frozen)
    found_a, found_b = law.recurrence(10)
    k = np.arange(11.0)
    expected_a = (a(k[:-1]) - law.location) / law.scale
    assert_allclose(found_a, expected_a, rtol=1e-9, atol=1e-9)
    assert_allclose(found_b, b(k[1:]) / law.scale**2, rtol=1e-9)


def test_empirical_polynomials_are_orthonormal_under_the_data():
    column = np.random.default_rng(0).exponential(size=300)
    weights = np.random.default_rng(0).integers(0, 3, size=300).astype(float)
    law = law_of("empirical", column, weights)
    found = gram(law, 8, column, weights)
    assert_allclose(found, np.eye(9), atol=TOLERANCE)


@pytest.mark.parametrize("levels", [[0.0, 1.0], [1.0, 4.0, 7.0, 9.0], np.arange(12.0)])
def test_contrasts_are_orthonormal_under_the_frequencies(levels):
    column = np.random.default_rng(0).choice(levels, size=300)
    column[: len(levels)] = levels
    weights = np.random.default_rng(0).uniform(0.1, 2, size=300)
    law = law_of("categorical", column, weights)
    assert law.largest_degree == len(levels) - 1
    found = gram(law, len(levels) - 1, column, weights)
    assert_allclose(found, np.eye(len(levels)), atol=1e-12)
