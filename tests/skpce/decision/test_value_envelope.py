"""The value of knowing one input is exact, whatever its distribution."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import brentq

from skpce._input_laws import NAMED_LAWS
from skpce._input_laws.families import NormalLaw
from skpce._input_laws.pieces import means_of_pieces, rule_of_pieces
from skpce.decision._value.envelope import (
    upper_envelope,
    value_of_input,
)
from tests.skpce.decision.decision_problems import (
    categorical,
    coefficients_of,
    gain_of_normal,
    law,
)

CONTINUOUS = {
    "normal": stats.norm(1, 2),
    "uniform": stats.uniform(2, 3),
    "exponential": stats.expon(1, 2),
    "gamma": stats.gamma(0.7, 2, 3),
    "beta": stats.beta(0.6, 2.5, -1, 3),
    "triangular": stats.triang(0.3, 1, 2),
    "lognormal": stats.lognorm(0.3),
    "logistic": stats.logistic(0, 1),
}
STANDARD = NormalLaw(0.0, 1.0)


def against_zero(function, one, degree):
    found = coefficients_of(function, one, degree)
    return value_of_input(one, np.stack([np.zeros_like(found), found]))


@pytest.mark.parametrize("deviation", [1.0, 2.0, np.sqrt(5.0), 1e-3, 1e3])
def test_a_line_of_a_normal_input(deviation):
    found = value_of_input(STANDARD, np.array([[0.0, 0.0], [1.0, deviation]]))
    assert found.value == pytest.approx(gain_of_normal(1.0, deviation), abs=1e-12)
    flip = stats.norm.cdf(-1.0 / deviation)
    assert found.flip_probability == pytest.approx(flip, abs=1e-14)


def test_levels_of_a_categorical_input():
    one = categorical([0.2, 0.5, 0.3])
    utilities = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, -2.0], [0.3, 0.2, 0.9]])
    levels = np.arange(3.0)
    weights = np.array([0.2, 0.5, 0.3])
    found = value_of_input(one, (utilities * weights) @ one.evaluate(levels, 2).T)
    means = utilities @ weights
    expected = utilities.max(axis=0) @ weights - means.max()
    assert found.value == pytest.approx(expected, abs=1e-14)
    flips = weights[utilities.argmax(axis=0) != means.argmax()].sum()
    assert found.flip_probability == pytest.approx(flips)


def test_an_empirical_input_is_its_sample():
    column = np.random.default_rng(0).exponential(size=40)
    one = NAMED_LAWS["empirical"].learn(column, np.ones(40))
    found = against_zero(lambda x: x**2 - 1.5 * x, one, 2)
    values = column**2 - 1.5 * column
    expected = np.maximum(values, 0.0).mean() - max(values.mean(), 0.0)
    assert found.value == pytest.approx(expected, abs=1e-12)


def mean_of_the_largest(frozen, one, table):
    """Integrate between all crossings on a fine grid; by quadrature of scipy."""
    degree = table.shape[1] - 1

    def values(x):
        return table @ one.evaluate(np.atleast_1d(x), degree)

    grid = frozen.ppf(np.linspace(1e-14, 1 - 1e-14, 4001))
    owners = values(grid).argmax(axis=0)
    edges = [grid[0]]
    for place in np.flatnonzero(np.diff(owners)):
        i, j = owners[place], owners[place + 1]

        def gap(x, i=i, j=j):
            return (values(x)[i] - values(x)[j]).item()

        edges.append(brentq(gap, *grid[place : place + 2], xtol=1e-15))
    edges = [frozen.support()[0], *edges[1:], frozen.support()[1]]
    middles = frozen.ppf([0.01, 0.1, 0.5, 0.9, 0.99])
    edges = np.unique(np.concatenate([edges, middles]))
    exactly = {"epsabs": 1e-14, "epsrel": 1e-13, "limit": 400}

    def largest(x):
        return values(x).max() * frozen.pdf(x)

    return sum(quad(largest, *pair, **exactly)[0] for pair in pairwise(edges))


@pytest.mark.parametrize("name", [n for n in CONTINUOUS if n not in ("gamma", "beta")])
@pytest.mark.parametrize(("n_actions", "degree"), [(3, 1), (4, 3)])
def test_several_polynomials_by_quadrature(name, n_actions, degree):
    frozen, one = CONTINUOUS[name], law(CONTINUOUS[name])
    table = np.random.default_rng(3).normal(size=(n_actions, degree + 1))
    expected = mean_of_the_largest(frozen, one, table) - table[:, 0].max()
    assert value_of_input(one, table).value == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_means_of_pieces_are_those_of_a_finer_rule(name):
    frozen, one = CONTINUOUS[name], law(CONTINUOUS[name])
    edges = frozen.ppf([0.05, 0.3, 0.31, 0.9])
    found = means_of_pieces(one, edges, 4)
    assert_allclose(found.sum(axis=0), [1, 0, 0, 0, 0], atol=1e-9)
    points, masses = rule_of_pieces(one, edges, 4, parts=2)
    place = np.searchsorted(edges, points)
    by_rule = np.zeros_like(found)
    np.add.at(by_rule, place, (one.evaluate(points, 4) * masses).T)
    assert_allclose(found, by_rule, atol=1e-9)


def test_many_actions_are_compared_in_parts():
    rng = np.random.default_rng(1)
    table = rng.normal(size=(300, 4)) * [1.0, 1.0, 0.5, 0.2]
    found = upper_envelope(STANDARD, table)
    points = np.linspace(-6.0, 6.0, 20001)
    best = (table @ STANDARD.evaluate(points, 3)).argmax(axis=0)
    at = found.owners[np.searchsorted(found.edges, points)]
    values = table @ STANDARD.evaluate(points, 3)
    place = np.arange(len(points))
    assert_allclose(values[at, place], values[best, place], atol=1e-9)


def test_a_polynomial_that_only_touches_is_worth_nothing():
    """``-(x - 1)^2`` never beats 0."""
    found = against_zero(lambda x: -((x - 1.0) ** 2), STANDARD, 2)
    assert found.value == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("tiny", [1e-6, 1e-10, 1e-12, 1e-15, 1e-30])
def test_a_tiny_leading_coefficient_changes_nothing(tiny):
    table = np.array([[0.0, 0.0, 0.0, 0.0], [0.1, 1.0, 0.3, tiny]])
    expected = value_of_input(STANDARD, table[:, :3]).value
    assert value_of_input(STANDARD, table).value == pytest.approx(
        expected, abs=2 * tiny + 1e-13
    )


def test_another_action_of_equal_utility_flips_nothing():
    table = np.array([[0.0, 1.0], [0.0, 1.0], [-9.0, 0.0]])
    assert value_of_input(STANDARD, table).flip_probability < 1e-15
