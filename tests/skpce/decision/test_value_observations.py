"""Noisy observations, several inputs and measurements, against closed forms."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import brentq

from skpce._basis.basis import PolynomialBasis
from skpce._input_laws.families import NormalLaw
from skpce.decision._measure import value_of_signal
from skpce.decision._value.expected_value import value_of_inputs
from tests.shared import cases
from tests.skpce.decision.decision_problems import (
    categorical,
    expansion_of_lines,
    gain_of_normal,
    law,
)

HOW = 2**14, 0
STANDARD = NormalLaw(0.0, 1.0)
NORMALS = [law(stats.norm(1, 1)), law(stats.norm(0, 2))]
LINES = expansion_of_lines(NORMALS, [0.0, 1.0], [[0.0, 0.0], [1.0, -2.0]])


def worths(expansion, sets):
    """Return values, flips and errors of knowing sets of inputs."""
    known = expansion.basis, expansion.coefficients
    return np.transpose([value_of_inputs(*known, own, 2**16, 0) for own in sets])


# Several inputs


def test_the_difference_of_two_normal_inputs():
    value, _, error = worths(LINES, [[0], [1], [0, 1]])
    expected = [gain_of_normal(1.0, s) for s in (1.0, 2.0, np.sqrt(5.0))]
    assert_allclose(value[:2], expected[:2], atol=1e-12)
    assert error[:2].tolist() == [0.0, 0.0]
    assert_allclose(value.round(4), [0.0833, 0.3956, 0.4798])
    assert 0.0 < error[2] < 3e-4
    assert abs(value[2] - expected[2]) <= 5.0 * error[2]


@cases(("n_actions", "expected"), (2, 0.5642), (3, 0.8463), (4, 1.0294), (5, 1.1630))
def test_independent_standard_normal_utilities(n_actions, expected):
    """The mean of the largest of K; exact for two, within five errors beyond."""
    laws = [STANDARD] * n_actions
    lines = expansion_of_lines(laws, np.zeros(n_actions), np.eye(n_actions))
    every = list(range(n_actions))
    value, flip, errors = worths(lines, [*([i] for i in every), every])

    def integrand(x):
        return x * n_actions * stats.norm.pdf(x) * stats.norm.cdf(x) ** (n_actions - 1)

    exact = quad(integrand, -12, 12, epsabs=1e-13)[0]
    assert exact == pytest.approx(expected, abs=5e-5)
    error = errors[-1]
    assert abs(value[-1] - exact) <= 5.0 * error + 1e-12
    assert error < 3e-4
    assert_allclose(value[:-1], stats.norm.pdf(0.0), atol=1e-14)
    assert_allclose(flip[:-1].round(3)[1:], 0.5)


def test_inputs_of_few_values():
    laws = [categorical([0.3, 0.7]), law(stats.binom(3, 0.4))]
    indices = np.array([[0, 0], [1, 0], [0, 1], [1, 1], [0, 2]])
    table = np.random.default_rng(0).normal(size=(3, 5))
    found = value_of_inputs(PolynomialBasis(laws, indices), table, [0, 1], *HOW)
    total = 0.0
    for level, p in enumerate([0.3, 0.7]):
        for k in range(4):
            at = PolynomialBasis(laws, indices).combine(np.array([[level, k]]), table)
            total += p * stats.binom(3, 0.4).pmf(k) * at.max()
    exact = total - table[:, 0].max()
    assert abs(found.value - exact) <= 5.0 * found.standard_error < 0.02 * exact


# Observations


def test_a_signal_of_points_is_the_posterior_of_particles():
    """Two points and one noisy observation, by quadrature."""
    points, masses = np.array([0.0, 1.0]), np.array([0.4, 0.6])
    utilities = np.array([[1.0, 0.0], [0.0, 0.5]])

    def best(signal):
        weights = masses * stats.norm.pdf(signal, points, 0.4)
        return (utilities @ weights).max()

    def ahead(signal):
        return 0.4 * stats.norm.pdf(signal, 0, 0.4) - 0.3 * stats.norm.pdf(
            signal, 1, 0.4
        )

    ends = [-5, 0, brentq(ahead, 0, 1, xtol=1e-15), 1, 6]
    mean = sum(quad(best, *pair, epsabs=1e-14)[0] for pair in pairwise(ends))
    found = value_of_signal(points, masses, utilities, 0.4)
    assert found == pytest.approx(mean - 0.4, abs=1e-10)


POINTS = np.random.default_rng(0).normal(size=300)
UTILITIES = np.stack([POINTS, 0.0 * POINTS, POINTS**2 - 1.2])
MASSES = np.full(300, 1.0 / 300.0)


@pytest.mark.parametrize("deviation", [1e-300, 1e-12, 1e-6, 1e-5])
def test_points_are_told_apart_where_noise_is_small(deviation):
    """Then it is known which point it is."""
    known = UTILITIES.max(axis=0).mean() - UTILITIES.mean(axis=1).max()
    found = value_of_signal(POINTS, MASSES, UTILITIES, deviation)
    assert found == pytest.approx(known, abs=1e-12)
