"""Sobol indices against closed forms, scipy and the laws that they obey."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone

from skpce import PolynomialChaosRegressor
from tests.shared import CIRCLE, agree, ishigami, ishigami_indices, ridge_pce


@pytest.mark.parametrize("solver", ["ols", "ridge"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_ishigami_under_frozen_laws(solver, seed):
    X = np.random.default_rng(seed).uniform(-np.pi, np.pi, size=(1000, 3))
    pce = PolynomialChaosRegressor(12, distribution=CIRCLE, solver=solver)
    pce.fit(X, ishigami(X))
    first, total, variance = ishigami_indices()
    assert np.abs(pce.total_sobol_indices_[0] - total).max() < 1e-4
    assert np.abs(pce.sobol_indices_[0] - first).max() < 1e-4
    assert pce.total_variance_[0] == pytest.approx(variance, rel=1e-3)
    assert pce.q2_[0] > 0.9999


SEEDS, DEGREES = st.integers(0, 2**32 - 1), st.integers(1, 3)
UNITS = [st.floats(*ends) for ends in ((0.01, 100), (-10, 10), (0.1, 10), (-10, 10))]


@settings(max_examples=40)
@given(SEEDS, DEGREES, st.sampled_from(["normal", "uniform"]), *UNITS)
def test_units_do_not_matter(seed, degree, law, scale, shift, unit, offset):
    rng = np.random.default_rng(seed)
    X, noise = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
    y = X @ rng.normal(size=(3, 2)) + X[:, :1] * X[:, 1:] + noise
    plain = ridge_pce(degree, distribution=law, solver="ols").fit(X, y)
    moved = clone(plain).fit(scale * X * [1, -1, 1] + shift, unit * y + offset)
    agree(moved, plain, "sobol_indices_", "total_sobol_indices_", atol=1e-6)
    assert_allclose(moved.shapley_effects(), plain.shapley_effects(), atol=1e-6)
    found, moments = moved.moments(), plain.moments()
    assert_allclose(found.variance, unit**2 * moments.variance, rtol=1e-6)
    agree(found, moments, "kurtosis", atol=1e-5)
    assert_allclose(found.mean, unit * moments.mean + offset, atol=1e-6)
