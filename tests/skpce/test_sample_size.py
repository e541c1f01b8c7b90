"""Bounds on the ensemble size."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from skpce import PolynomialChaosFeatures, PolynomialChaosRegressor
from skpce.sample_size import _bounds
from skpce.sample_size._bounds import sobol_error_bound
from skpce.sample_size._required import smallest_of_gram
from tests.shared import cases


def coefficient_error_bound(variances, n_members, n_terms, method="chi2", **how):
    """The bound for coordinates of these variances; Theorem 1 of the user guide."""
    if method == "f":  # the variances are estimated
        sizes = n_members, n_terms, np.size(variances)
        return _bounds.coefficient_error_bound(np.sum(variances), *sizes, **how)
    risk = 1.0 - how.get("confidence_level", 0.95)
    quantile = n_terms / risk
    if method == "chi2":
        quantile = stats.chi2.isf(risk / np.size(variances), n_terms)
    scale = n_members * how["smallest_eigenvalue"]
    return np.sum(variances) * quantile / scale


def of_gram(design):
    return smallest_of_gram(design.T @ design) / len(design)


NORMAL = stats.norm(0, 1)
UNIFORM = stats.uniform(-1, 2)

SETTING = {"n_members": 40, "n_terms": 6, "smallest_eigenvalue": 0.3}


# The bound on the coefficients


@cases(
    ("level", "variances"), (0.5, [2.0]), (0.9, [2.0]), (0.99, [2.0]), (0.95, [1, 2, 3])
)
def test_the_bound_in_closed_form(level, variances):
    L, P, eigenvalue = 40, 6, 0.3
    options = SETTING | {"confidence_level": level, "method": "f"}
    quantile = stats.f(P, L - P).ppf(1 - (1 - level) / len(variances))
    expected = sum(variances) * P * quantile / (L * eigenvalue)
    assert coefficient_error_bound(variances, **options) == pytest.approx(expected)


def test_without_full_rank_there_is_no_bound():
    for change in ({"n_members": 6}, {"smallest_eigenvalue": 0.0}):
        given = SETTING | change
        assert coefficient_error_bound(1.0, **given, method="f") == math.inf


def simulate(law, degree, n_members, n_repetitions, draw, n_coordinates=1):
    """Return designs' eigenvalues, squared errors and residual variances."""
    rng = np.random.default_rng(0)
    X = law.rvs((n_members, 2), random_state=rng)
    template = PolynomialChaosRegressor(degree, distribution=law, solver="ols")
    template.fit(X, rng.normal(size=n_members))
    n_terms = len(template.multi_indices_)
    eigenvalue, error, variance = [], [], []
    for _ in range(n_repetitions):
        design = template.transform(law.rvs((n_members, 2), random_state=rng))
        noise = draw(rng, (n_members, n_coordinates))
        off = np.linalg.lstsq(design, noise, rcond=None)[0]
        rest = noise - design @ off
        eigenvalue.append(of_gram(design))
        error.append(np.square(off).sum())
        variance.append(np.square(rest).sum(axis=0) / (n_members - n_terms))
    return n_terms, np.array(eigenvalue), np.array(error), np.array(variance)


def gaussian(rng, shape):
    return rng.normal(size=shape)


def correlated(rng, shape):
    return rng.normal(size=shape) @ np.array([[1.0, 0.9], [0.0, 0.2]])


def skewed(rng, shape):
    return rng.exponential(size=shape) - 1.0


@pytest.mark.parametrize("law", [NORMAL, UNIFORM])
@cases(
    ("method", "draw", "known"),
    ("chi2", gaussian, [1.0]),
    ("chi2", correlated, [1.0, 0.85]),
    ("f", gaussian, None),
    ("f", correlated, None),
    ("markov", skewed, [1.0]),
)
def test_bounds_hold_as_often_as_they_say(law, method, draw, known):
    n_repetitions, level, n_members = 300, 0.8, 40
    n_coordinates = 2 if draw is correlated else 1
    n_terms, eigenvalue, error, variance = simulate(
        law, 2, n_members, n_repetitions, draw, n_coordinates
    )
    options = {"confidence_level": level, "method": method}
    variances = variance if known is None else [known] * n_repetitions
    held = 0
    for one, own, least in zip(error, variances, eigenvalue, strict=True):
        sizes = {"n_members": n_members, "n_terms": n_terms}
        bound = coefficient_error_bound(
            own, **sizes, smallest_eigenvalue=least, **options
        )
        held += one <= bound
    # No fewer than a coin of that probability would show, one time in a thousand.
    assert held >= stats.binom(n_repetitions, level).ppf(1e-3)


def test_mean_square_is_the_trace_and_exceeds_the_papers(rng):
    """E||e||² = σ² tr(G⁻¹)/L; the paper has σ² P/(L - P), which is too small."""
    features = PolynomialChaosFeatures(3, distribution=NORMAL)
    design = features.fit_transform(rng.normal(size=(20, 2)))
    off = np.linalg.lstsq(design, rng.normal(size=(20, 4000)), rcond=None)[0]
    squares = np.square(off).sum(axis=0)
    trace = np.trace(np.linalg.inv(design.T @ design))
    error = squares.std(ddof=1) / np.sqrt(4000)
    assert squares.mean() == pytest.approx(trace, abs=4 * error)
    assert trace > 3 * 10 / (20 - 10)


# The bound on the indices


def test_index_bounds_at_the_edges():
    assert sobol_error_bound(4.0, 1.0) == 1.0
    assert sobol_error_bound(math.inf, 1.0) == 1.0
    assert sobol_error_bound(0.0, 0.0) == 1.0
    assert_array_equal(sobol_error_bound([0.0, 1.0], 4.0), [0.0, 0.5])
