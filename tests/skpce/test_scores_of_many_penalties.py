"""Scores of all penalties together are those of one penalty after the other."""

import numpy as np
import pytest

from skpce import PolynomialChaosRegressor
from skpce._solvers import problem, ridge
from skpce._solvers.problem import DesignDecomposition


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", ["loo", "gcv"])
@pytest.mark.parametrize(("n", "p"), [(40, 9), (12, 20)])
def test_one_penalty_after_the_other(n, p, criterion, weighted):
    rng, alphas = np.random.default_rng(0), np.logspace(-4, 4, 9)
    design = np.hstack([np.ones((n, 1)), rng.normal(size=(n, p))])
    weights = rng.integers(1, 4, size=n).astype(float) if weighted else np.ones(n)
    decomposition = DesignDecomposition.from_design(design, weights)
    targets = 10.0 + rng.normal(size=(n, 3))
    mean, centred = decomposition.center_targets(targets)
    loadings = decomposition.project(centred)
    complement = decomposition.path_complement(alphas)
    if criterion == "gcv":
        complement[:] = np.average(complement, axis=0, weights=weights)
    expected = [
        weights
        @ np.square(
            decomposition.residuals(centred, loadings, alpha)
            / complement[:, row, np.newaxis]
        )
        / weights.sum()
        for row, alpha in enumerate(alphas)
    ]
    found = ridge.path_scores(
        decomposition, targets, loadings, alphas, criterion, center=mean
    )
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_blocks_of_rows_are_one_fit(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=(30, 7))
    whole = PolynomialChaosRegressor(3, solver="ridge", distribution="normal").fit(X, y)
    monkeypatch.setattr(ridge, "_LARGEST_PATH_BLOCK", 20)
    monkeypatch.setattr(problem, "_BLOCK", 20)
    monkeypatch.setattr(ridge, "FEWEST_ROWS", 1)
    monkeypatch.setattr(problem, "FEWEST_ROWS", 1)
    parts = PolynomialChaosRegressor(3, solver="ridge", distribution="normal").fit(X, y)
    for name in ("coefficients_", "alpha_", "loo_error_", "q2_"):
        one, other = getattr(whole, name), getattr(parts, name)
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
    for one, other in zip(
        whole.predict(X, return_std=True),
        parts.predict(X, return_std=True),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
