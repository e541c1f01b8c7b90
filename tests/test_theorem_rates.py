"""Theorems T1, T2 and A as properties of the code: truncation, coefficients, indices.

Names as in docs/theorems.md.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial.legendre import leggauss
from numpy.testing import assert_allclose

from skpce import PolynomialChaosFeatures, PolynomialChaosRegressor
from skpce._basis.basis import Truncation
from skpce._expansion.expansion import index_of_set, partial_variances, shares
from skpce.sample_size._bounds import sobol_error_bound
from tests.shared import cases
from tests.skpce.test_sample_size import (
    NORMAL,
    UNIFORM,
    coefficient_error_bound,
    of_gram,
)
from tests.test_theorems import few, seeds, several

ROUNDING = 1e-12
KINDS = ("exact", "closed", "total")


# T1: truncation


def power_expansion(law, power, degree):
    """Return coefficients and squared norm of |x|^power, by quadrature on one side."""
    end = 1.0 if law is UNIFORM else 45.0  # Hermite functions of degree 400 end at 40
    nodes, weights = leggauss(2000)
    x = 0.5 * end * (nodes + 1.0)
    weights = end * weights * law.pdf(x)  # twice the half line
    features = PolynomialChaosFeatures(degree, distribution=law).fit(np.zeros((1, 1)))
    even = np.arange(degree + 1) % 2 == 0
    coefficients = np.zeros(degree + 1)
    coefficients[even] = (weights * x**power) @ features.transform(x[:, None])[:, even]
    return coefficients, float(weights @ x ** (2 * power))


@cases(
    ("law", "power", "norm", "rate"),
    *((UNIFORM, 1, 1 / 3, 1.5), (UNIFORM, 3, 1 / 7, 3.5)),
    *((NORMAL, 1, 1.0, 0.75), (NORMAL, 3, 15.0, 1.75)),
    ids=["legendre-x", "legendre-x3", "hermite-x", "hermite-x3"],
)
def test_t1_rate_of_a_kink(law, power, norm, rate):
    """|x|^a has a + 1/2 derivatives in L2: rate s for Legendre, s/2 for Hermite."""
    coefficients, measured_norm = power_expansion(law, power, degree=400)
    assert_allclose(measured_norm, norm)
    tail = np.cumsum(np.square(coefficients[::-1]))[::-1]
    # What lies beyond degree 400 is what the same power law leaves there.
    beyond = tail[300] / ((400 / 300) ** (2 * rate) - 1.0)
    degrees = np.array([80, 100, 126, 160, 200, 252])
    errors = np.sqrt(tail[degrees + 1] + beyond)
    slope = np.polyfit(np.log(1 + degrees), np.log(errors), 1)[0]
    assert abs(slope + rate) < 0.03


# T2 and A: indices


def every_share(c, j):
    """Return all kinds of indices of one target as one vector."""
    c = np.atleast_2d(c)
    indices = shares(*partial_variances(c, j))
    groups = [[0], [1], [0, 1], [1, 2]]
    of_sets = [index_of_set(kind, c, j, u) for u in groups for kind in KINDS]
    names = ("first_order", "total_order", "shapley")
    return np.concatenate([*(getattr(indices, name)[0] for name in names), *of_sets])


@several
@given(
    seeds,
    st.sampled_from([1e-9, 1e-3, 0.1, 0.5, 1.0, 10.0]),
    st.sampled_from([0.0, 1e-6, 1.0, 1e6]),
)
def test_a_shares_move_by_at_most_the_bound(seed, noise, scale):
    rng = np.random.default_rng(seed)
    j = Truncation.of_degree(3, 3).listed()
    c = rng.normal(size=len(j)) * 10.0 ** rng.uniform(-3, 0, size=len(j))
    estimate = scale * c if scale != 1.0 else c
    estimate = estimate + noise * rng.normal(size=len(j)) * (rng.random(len(j)) < 0.5)
    squared_error = float(np.sum(np.square(estimate - c)))
    difference = np.abs(every_share(estimate, j) - every_share(c, j))
    for known in (c, estimate):
        variance = shares(*partial_variances(known[None], j)).total_variance[0]
        bound = sobol_error_bound(squared_error, variance)
        assert np.all(difference <= bound + ROUNDING)


@pytest.mark.parametrize("angle", [1e-6, 0.1, 0.3, np.pi / 4 - 1e-3, 0.7])
def test_a_is_attained(angle):
    """Angles mirrored at the diagonal, the estimate the foot of the perpendicular."""
    j = Truncation.of_degree(3, 1).listed()
    other = np.pi / 2 - angle
    c = np.array([0.0, np.cos(angle), np.sin(angle), 0.0])
    direction = np.array([0.0, np.cos(other), np.sin(other), 0.0])
    estimate = (c @ direction) * direction
    bound = sobol_error_bound(np.sum(np.square(estimate - c)), 1.0)
    difference = abs(every_share(estimate, j) - every_share(c, j))[0]
    assert_allclose(difference, bound, rtol=1e-7)


@few
@given(seeds, st.floats(0.5, 3))
def test_t2_indices_of_the_truncation_converge(seed, decay):
    rng = np.random.default_rng(seed)
    j = Truncation.of_degree(3, 10).listed()
    total = j.sum(axis=1)
    c = rng.normal(size=len(j)) * np.exp(-decay * total)
    variance = shares(*partial_variances(c[None], j)).total_variance[0]
    for degree in range(1, 11):
        kept = np.where(total <= degree, c, 0.0)
        distance = np.linalg.norm(c - kept)
        difference = np.abs(every_share(kept, j) - every_share(c, j))
        assert np.all(difference <= distance / np.sqrt(variance) + ROUNDING)
    assert np.all(difference == 0.0), "nothing is cut off at the largest degree"


# A: from the noise to the coefficients


@few
@given(seeds, st.integers(12, 60), st.sampled_from([1e-6, 0.3, 10.0]))
def test_a_least_squares_fits_the_projection_of_the_noise(seed, n_members, noise):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n_members, 2))
    pce = PolynomialChaosRegressor(2, distribution=UNIFORM, solver="ols")
    c = rng.normal(size=6)
    design = pce.fit(X, X[:, 0]).transform(X)
    error = noise * rng.standard_t(3, size=n_members)
    missed = pce.fit(X, design @ c + error).coefficients_[0] - c
    fitted = design @ missed
    assert_allclose(fitted @ fitted, error @ fitted, rtol=1e-6)
    eigenvalue = of_gram(design)
    assert n_members * eigenvalue * (missed @ missed) <= (fitted @ fitted) * (1 + 1e-6)


def test_a_all_indices_are_within_the_bound_as_often_as_promised(rng):
    n_members, n_trials, risk = 40, 2000, 0.2
    X = rng.uniform(-1, 1, size=(n_members, 2))
    features = PolynomialChaosFeatures(2, distribution=UNIFORM).fit(X)
    design, j = features.transform(X), features.multi_indices_
    c = np.array([0.3, 1.0, -0.5, 0.2, 0.4, 0.0])
    noise = 0.4 * rng.normal(size=(n_trials, n_members))
    estimates = c + noise @ np.linalg.pinv(design).T
    known = {"smallest_eigenvalue": of_gram(design), "confidence_level": 1 - risk}
    squared_error = coefficient_error_bound(0.16, n_members, len(c), **known)
    exceeded = np.sum(np.square(estimates - c), axis=1) > squared_error
    assert exceeded.mean() <= risk + 3 * np.sqrt(risk * (1 - risk) / n_trials)
    true, found = (
        shares(*partial_variances(c[None], j)),
        shares(*partial_variances(estimates, j)),
    )
    wrong = np.maximum(
        np.abs(found.first_order - true.first_order).max(axis=1),
        np.abs(found.total_order - true.total_order).max(axis=1),
    )
    bound = sobol_error_bound(squared_error, true.total_variance[0])
    assert bound < 1.0
    assert np.all(exceeded[wrong > bound])
