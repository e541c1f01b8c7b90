"""Sparse solvers that never hold the design: sums over blocks of samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import norm

from skpce import CompositionalPCESurrogate, PolynomialChaosRegressor, _regressor
from skpce.ensembles import member_blocks

LAW = norm(0, 1)


def sample(n_samples=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 4))
    y = np.c_[X[:, 0] * X[:, 1] + X[:, 2], X[:, 3] ** 2, rng.normal(size=n_samples)]
    return X, y + 0.1 * rng.normal(size=y.shape)


def terms_of(model):
    return [set(np.flatnonzero(row)) for row in model.coefficients_]


def test_blocks_are_one_fit():
    X, y = sample()
    given = {"distribution": LAW, "solver": "subspace_pursuit", "criterion": "gcv"}
    whole = PolynomialChaosRegressor(3, **given).fit(X, y)
    parts = PolynomialChaosRegressor(3, **given)
    for block in member_blocks(X, y, n_rows=170):
        parts.partial_fit(*block)
    np.testing.assert_allclose(parts.coefficients_, whole.coefficients_, atol=1e-10)
    np.testing.assert_array_equal(parts.solver_, whole.solver_)


def test_terms_are_those_of_leave_one_out():
    X, y = sample()
    loo = PolynomialChaosRegressor(3, distribution=LAW, solver="subspace_pursuit")
    sums = PolynomialChaosRegressor(
        3, distribution=LAW, solver="subspace_pursuit", criterion="gcv"
    )
    loo.fit(X, y), sums.fit(X, y)
    assert terms_of(sums) == terms_of(loo)
    np.testing.assert_allclose(sums.coefficients_, loo.coefficients_, atol=1e-9)
    np.testing.assert_allclose(sums.q2_, loo.q2_, atol=0.01)
    design = sums.transform(X)
    for target, terms in zip(y.T, terms_of(sums), strict=True):
        columns = sorted(terms | {0})
        expected = np.linalg.lstsq(design[:, columns], target, rcond=None)[0]
        found = sums.coefficients_[:, columns]
        assert np.abs(found - expected).max(axis=1).min() < 1e-9


def test_large_designs_are_summed(monkeypatch):
    """What is fitted whole up to a size is fitted in blocks beyond it."""
    X, y = sample(900)
    whole = PolynomialChaosRegressor(
        2, solver="subspace_pursuit", distribution="normal"
    ).fit(X, y[:, 0])
    monkeypatch.setattr(_regressor, "LARGEST_WHOLE_DESIGN", 1000)
    sums = PolynomialChaosRegressor(
        2, solver="subspace_pursuit", distribution="normal"
    ).fit(X, y[:, 0])
    assert whole._problem.samples is not None
    assert sums._problem.samples is None
    np.testing.assert_allclose(sums.coefficients_, whole.coefficients_, atol=1e-9)


def test_noise_free_targets_and_constants():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    y = np.c_[3.0 + 2.0 * X[:, 1], np.full(300, 5.0)]
    model = PolynomialChaosRegressor(
        2, distribution=LAW, solver="subspace_pursuit", criterion="gcv"
    )
    with pytest.warns(UserWarning, match="no variance"):
        model.fit(X, y)
    assert terms_of(model) == [{0, 2}, {0}]
    np.testing.assert_allclose(model.coefficients_[0, [0, 2]], [3.0, 2.0], atol=1e-10)


def test_surrogates_share_terms_by_step():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 3))
    logits = np.c_[X[:, 0] * X[:, 1], X[:, 2], 0 * X[:, 0]] + 0.05 * rng.normal(
        size=(400, 3)
    )
    y = softmax(logits, axis=1)
    mask = np.ones(3, dtype=bool)
    given = {"distribution": LAW, "solver": "subspace_pursuit", "mask": mask}
    parts = CompositionalPCESurrogate(2, **given)
    for block in member_blocks(X, y, n_rows=150):
        parts.partial_fit(*block)
    whole = CompositionalPCESurrogate(2, **given).fit(X, y)
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), atol=2e-3)
