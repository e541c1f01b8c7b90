"""Input laws: one contract over all, and closed forms for the polynomials."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special, stats

from skpce import InputOutsideSupportWarning, PolynomialChaosFeatures
from skpce._input_laws import NAMED_LAWS
from skpce._input_laws.families import warn_outside
from skpce._input_laws.tabulated import (
    ContinuousLaw,
    DiscreteLaw,
    LevelsLaw,
    SmoothedLaw,
)
from tests.shared import ridge_pce
from tests.skpce.laws import gram, law_of

DEGREE = 30
TOLERANCE = 1e-8
SHARES = [0.1, 0.2, 0.3, 0.4]


def data_of(name, size=200):
    """A column that suits a named law."""
    rng = np.random.default_rng(0)
    return {
        "normal": rng.normal(3, 2, size),
        "uniform": rng.uniform(1, 4, size),
        "exponential": rng.exponential(2.0, size) + 5,
        "lognormal": rng.lognormal(1.0, 0.7, size),
        "loguniform": np.exp(rng.uniform(-9.0, -2.0, size)),
        "ordinal": rng.choice([1e-5, 1e-4, 1e-3, 0.1], p=SHARES, size=size),
        "smoothed": rng.standard_t(2, size),
        "gamma": rng.gamma(2.5, 2.0, size) - 1,
        "beta": 10 + 2 * rng.beta(2, 3, size),
        "empirical": rng.gumbel(size=size),
        "categorical": rng.choice([1.0, 4.0, 7.0, 9.0], p=SHARES, size=size),
    }[name]


# Quadrature of the laws by scipy or by hand: (law, degree, nodes, weights).


def laguerre(shape, loc=0.0, scale=1.0):
    nodes, weights = special.roots_genlaguerre(DEGREE + 5, shape - 1)
    return loc + scale * nodes, weights


def jacobi(a, b, low=0.0, high=1.0):
    nodes, weights = special.roots_jacobi(DEGREE + 5, b - 1, a - 1)
    return low + (high - low) * (nodes + 1) / 2, weights


def hermite(mean, sd):
    nodes, weights = special.roots_hermitenorm(DEGREE + 5)
    return mean + sd * nodes, weights


def legendre(low, high, n_nodes=DEGREE + 5):
    nodes, weights = special.roots_legendre(n_nodes)
    return low + (high - low) * (nodes + 1) / 2, weights


def trapezoid(frozen, low, high, n_nodes=20001):
    """For densities that are analytic and vanish at both ends."""
    nodes = np.linspace(low, high, n_nodes)
    return nodes, frozen.pdf(nodes)


def triangular(mode):
    """Exact: the density is linear on either side of the mode."""
    (x, v), (y, w) = legendre(0, mode), legendre(mode, 1)
    f = stats.triang(mode).pdf
    return np.append(x, y), np.append(v * f(x) * mode, w * f(y) * (1 - mode))


def two_sided(nodes, weights):
    return np.append(-nodes, nodes), np.append(weights, weights)


def lognormal(sigma):
    z, weights = special.roots_hermitenorm(150)
    return np.exp(sigma * z), weights


def loguniform(low, high):
    z, weights = legendre(np.log(low), np.log(high), 300)
    return np.exp(z), weights


def weibull(power):
    """The power of an exponential variable."""
    e, weights = special.roots_laguerre(60)
    return e**power, weights


def generalised_pareto():
    """Infinite density at the upper end; quadratic in a uniform variable."""
    u, weights = legendre(0, 1, 2 * DEGREE + 5)
    return (1 - u**2) / 2, weights


def truncated_normal(low, high):
    x, weights = legendre(low, high, 120)
    return x, weights * stats.norm.pdf(x)


def table(frozen, degree, values):
    return frozen, degree, values, frozen.pmf(values)


VALUES = stats.rv_discrete(values=([0.5, 2, 7], [0.2, 0.3, 0.5]))


def histogram(edges, masses):
    pieces = [legendre(a, b) for a, b in itertools.pairwise(edges)]
    scaled = [(x, m * w / w.sum()) for m, (x, w) in zip(masses, pieces, strict=True)]
    return tuple(np.hstack(scaled))


MASSES, EDGES = np.array([0.2, 0.5, 0.3]), np.array([0.0, 1.0, 4.0, 5.0])
HISTOGRAM = stats.rv_histogram((MASSES, EDGES), density=False)()

CLASSICAL = {
    "norm": (stats.norm(-3, 0.2), *hermite(-3, 0.2)),
    "uniform": (stats.uniform(5, 0.5), *legendre(5, 5.5)),
    "expon": (stats.expon(2, 3), *laguerre(1, 2, 3)),
    "gamma": (stats.gamma(2.7, loc=-4, scale=0.1), *laguerre(2.7, -4, 0.1)),
    "gamma of a small shape": (stats.gamma(a=0.3), *laguerre(0.3)),
    "chi2": (stats.chi2(5, 1, 2), *laguerre(2.5, 1, 4)),
    "beta": (stats.beta(2, 5, loc=-1, scale=4), *jacobi(2, 5, -1, 3)),
    "beta of small shapes": (stats.beta(0.3, 0.6), *jacobi(0.3, 0.6)),
    "semicircular": (stats.semicircular(1, 2), *jacobi(1.5, 1.5, -1, 3)),
    "rdist": (stats.rdist(3.0), *jacobi(1.5, 1.5, -1, 1)),
    "powerlaw": (stats.powerlaw(0.4), *jacobi(0.4, 1.0)),
}

GENERAL = {
    "truncnorm": (stats.truncnorm(-1, 2), 30, *truncated_normal(-1, 2)),
    "truncnorm in the tail": (stats.truncnorm(4, 9), 30, *truncated_normal(4, 9)),
    "lognorm": (stats.lognorm(0.25), 10, *lognormal(0.25)),
    "weibull infinite at 0": (stats.weibull_min(0.5), 12, *weibull(2)),
    "infinite at the end": (stats.genpareto(-2.0), 30, *generalised_pareto()),
    "gumbel": (stats.gumbel_r(), 20, *trapezoid(stats.gumbel_r(), -8, 160)),
    "logistic": (stats.logistic(), 20, *trapezoid(stats.logistic(), -150, 150)),
    "triang": (stats.triang(0.3), 30, *triangular(0.3)),
    "laplace": (stats.laplace(), 30, *two_sided(*laguerre(1))),
    "loguniform": (stats.loguniform(0.01, 10), 30, *loguniform(0.01, 10)),
    "histogram": (HISTOGRAM, 20, *histogram(EDGES, MASSES)),
    "binom": table(stats.binom(12, 0.3), 12, np.arange(13.0)),
    "poisson": table(stats.poisson(4), 12, np.arange(120.0)),
    "poisson large": table(stats.poisson(1e5), 10, np.arange(90000.0, 110000.0)),
    "randint": table(stats.randint(3, 23), 15, np.arange(3.0, 23)),
    "geom": table(stats.geom(0.3), 15, np.arange(1.0, 900)),
    "hypergeom": table(stats.hypergeom(20, 7, 12), 7, np.arange(8.0)),
    "values": table(VALUES(loc=1), 2, np.array([1.5, 3.0, 8.0])),
}

# Every kind of law once, with a degree it carries, for what all have in common.
EVERY = {
    **{name: (law_of(name, data_of(name)), 3) for name in NAMED_LAWS},
    "frozen gamma": (law_of(stats.gamma(2.7, loc=-4, scale=0.1)), 6),
    "frozen beta": (law_of(stats.beta(2, 5, loc=-1, scale=4)), 6),
    **{name: (law_of(GENERAL[name][0]), min(GENERAL[name][1], 6)) for name in GENERAL},
}
POLYNOMIAL = [name for name in EVERY if EVERY[name][0].is_polynomial]


@pytest.mark.parametrize("name", CLASSICAL)
def test_classical_families_are_orthonormal(name):
    frozen, nodes, weights = CLASSICAL[name]
    law = law_of(frozen)
    assert not isinstance(law, ContinuousLaw)
    assert not law.learned
    expected = np.eye(DEGREE + 1)
    found = gram(law, DEGREE, nodes, weights)
    assert_allclose(found, expected, atol=TOLERANCE)


@pytest.mark.parametrize("name", GENERAL)
def test_general_laws_are_orthonormal(name):
    frozen, degree, nodes, weights = GENERAL[name]
    law = law_of(frozen)
    law.check_degree("PCE", "x0", degree)
    found = gram(law, degree, nodes, weights)
    assert_allclose(found, np.eye(degree + 1), atol=TOLERANCE)


@pytest.mark.parametrize("name", EVERY)
def test_quadrature_and_samples_follow_the_law(name):
    law, degree = EVERY[name]
    nodes, weights = law.quadrature(degree + 1)
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    degree = int(min(degree, law.largest_degree))
    found = gram(law, degree, nodes, weights)
    assert_allclose(found, np.eye(degree + 1), atol=TOLERANCE)
    draws = law.sample(20000, np.random.default_rng(0))
    assert draws.shape == (20000,)
    assert not law.outside(draws).any()
    # The mean of function 1 is 0 and its variance 1.
    first = law.evaluate(draws, 1)[1]
    assert first.mean() == pytest.approx(0.0, abs=0.05)
    assert_array_equal(draws, law.sample(20000, np.random.default_rng(0)))


@pytest.mark.parametrize("name", EVERY)
def test_p_value_is_large_for_the_law_and_small_for_another(name):
    law, _ = EVERY[name]
    draws = law.sample(400, np.random.default_rng(1))
    if isinstance(law, DiscreteLaw | LevelsLaw | SmoothedLaw):
        assert np.isnan(law.p_value(draws))
        return
    assert 1e-3 < law.p_value(draws) <= 1
    other = np.random.default_rng(0).choice([draws.min(), draws.max()], 400)
    assert law.p_value(other) < 1e-3


@pytest.mark.parametrize("name", sorted({*POLYNOMIAL} - {"ordinal", "smoothed"}))
def test_derivatives_match_finite_differences(name):
    law, degree = EVERY[name]
    degree = min(degree, 4)
    nodes, _ = law.quadrature(9)
    step = 1e-5 * np.maximum(law.scale, np.abs(nodes))
    difference = law.evaluate(nodes + step, degree) - law.evaluate(nodes - step, degree)
    found = law.differentiate(nodes, degree)
    size = np.abs(found).max(axis=1, keepdims=True) + 1e-300
    assert_allclose(found / size, difference / (2 * step) / size, atol=1e-6)


@pytest.mark.parametrize("name", NAMED_LAWS)
@pytest.mark.parametrize("value", [0.0, 0.1, -1e8 - 0.1])
def test_constant_column_is_finite(name, value):
    if name in ("lognormal", "loguniform") and value <= 0:
        pytest.skip("has no logarithm")
    law = law_of(name, np.full(12, value))
    degree = int(min(3, law.largest_degree))
    law.check_degree("PCE", "x0", degree)
    assert np.isfinite(law.evaluate(np.full(4, value), degree)).all()
    features = PolynomialChaosFeatures(3, distribution=name)
    X = np.column_stack([np.full(12, value), 1 + np.arange(12.0) % 6])
    assert np.isfinite(features.fit_transform(X)).all()
    pce = ridge_pce(3, distribution=name).fit(X, X[:, 1] ** 2)
    assert np.isfinite(pce.predict(X)).all()
    assert pce.total_sobol_indices_[0, 1] == pytest.approx(1.0)


def test_learned_parameters_are_moments_above_the_smallest_value():
    x, w = np.array([9.0, 2.0, 4.0, 3.0, -50.0]), np.array([1.0, 2.0, 1.0, 1.0, 0.0])
    rise = np.repeat(x, w.astype(int)) - 2.0
    assert law_of("exponential", x, w).scale == pytest.approx(rise.mean())
    gamma = law_of("gamma", x, w)
    assert gamma.location == 2.0
    assert gamma.describe().startswith("gamma (shape ")
    assert gamma.shape * gamma.scale == pytest.approx(rise.mean())
    assert gamma.shape * gamma.scale**2 == pytest.approx(rise.var())
    beta = law_of("beta", x, w)
    assert beta.support == pytest.approx((2.0, 9.0))
    assert beta.describe().endswith(") on [2, 9]")
    fitted = stats.beta(*beta.shapes, loc=2, scale=7)
    assert fitted.mean() == pytest.approx(rise.mean() + 2)
    assert fitted.var() == pytest.approx(rise.var())


def test_unseen_levels_are_average_and_warn():
    law = law_of("categorical", [1.0, 2.0, 2.0, 5.0])
    column = np.array([2.0, 3.0, 1.5, 99.0])
    values = law.evaluate(column, 2)
    assert_array_equal(values[1:, 1:], 0.0)
    assert np.abs(values[1:, 0]).max() > 0
    message = r"3 of 4 values of x0 are levels not seen in fit \(1.5, 3, 99\)"
    with pytest.warns(InputOutsideSupportWarning, match=message):
        warn_outside([law], column[:, np.newaxis], ["x0"])


# Estimators.


@pytest.mark.parametrize("levels", [[0.0, 1.0], [1.0, 4.0, 7.0, 9.0], np.arange(12.0)])
def test_contrasts_are_orthonormal_under_the_frequencies(levels):
    column = np.random.default_rng(0).choice(levels, size=300)
    column[: len(levels)] = levels
    weights = np.random.default_rng(0).uniform(0.1, 2, size=300)
    law = law_of("categorical", column, weights)
    assert law.largest_degree == len(levels) - 1
    found = gram(law, len(levels) - 1, column, weights)
    assert_allclose(found, np.eye(len(levels)), atol=1e-12)
