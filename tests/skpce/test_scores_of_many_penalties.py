"""Scores of all penalties from sums of few combinations are those of the residuals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skpce._solvers import ridge
from skpce._solvers.problem import DesignDecomposition
from tests.shared import agree, ridge_pce

ALPHAS = np.logspace(-8, 4, 25)
NAMES = "alpha_", "coefficients_", "loo_error_", "q2_"


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", ["loo", "gcv"])
@pytest.mark.parametrize(("n", "p"), [(40, 9), (40, 30), (12, 20)])
def test_equal_to_the_residuals(n, p, criterion, weighted, monkeypatch, rng):
    design = np.hstack([np.ones((n, 1)), rng.normal(size=(n, p))])
    design[0, 1] = 30.0  # a leverage of nearly 1
    weights = rng.integers(1, 4, size=n).astype(float) if weighted else np.ones(n)
    decomposition = DesignDecomposition.from_design(design, weights)
    targets = design[:, 1:2] + rng.normal(size=(n, 50))
    _, centred = decomposition.center_targets(targets)
    given = centred, decomposition.project(centred), ALPHAS, criterion
    expected = ridge.path_scores(decomposition, *given)
    monkeypatch.setattr(ridge, "_LARGE_PATH", 0)
    monkeypatch.setattr(ridge, "_SMALLEST_SUM", 0.0)
    found = ridge.path_scores(decomposition, *given)
    defined = np.isfinite(expected)
    assert_array_equal(defined, np.isfinite(found))
    large = defined & (expected > 1e-6 * expected[-1])
    assert large.sum() > 100
    assert_allclose(found[large], expected[large], rtol=1e-7)


@pytest.mark.parametrize("n_targets", [1, 40])
@pytest.mark.parametrize("noise", [1e-3, 1.0, 1e3])
def test_penalties_that_cannot_win_are_left_out(noise, n_targets, monkeypatch, rng):
    X = rng.normal(size=(300, 2))
    y = X @ rng.normal(size=(2, n_targets)) + noise * rng.normal(size=(300, n_targets))
    expected = ridge_pce(3).fit(X, y)
    monkeypatch.setattr(ridge, "_LARGE_PATH", 0)
    given = []
    scores = ridge.path_scores

    def counted(*arguments):
        given.append(len(arguments[3]))
        return scores(*arguments)

    monkeypatch.setattr(ridge, "path_scores", counted)
    found = ridge_pce(3).fit(X, y)
    assert (given[0] < len(ALPHAS)) == (noise < 1)
    agree(expected, found, *NAMES, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("alphas", [ALPHAS, np.r_[0.0, ALPHAS]])
@pytest.mark.parametrize("outlier", [1e2, 1e3, 1e7])
def test_one_sample_with_all_the_leverage(outlier, alphas, monkeypatch, rng):
    """What cancels is larger than the targets; without a penalty it is undefined."""
    n = 60
    design = np.hstack([np.ones((n, 1)), rng.normal(size=(n, 4)), np.eye(n)[:, :1]])
    design[1, 4] = outlier
    decomposition = DesignDecomposition.from_design(design, np.ones(n))
    targets = design[:, 1:4] @ rng.normal(size=(3, 50))
    _, centred = decomposition.center_targets(targets + 1e-3 * rng.normal(size=(n, 50)))
    given = centred, decomposition.project(centred), alphas
    expected = ridge.path_scores(decomposition, *given)
    monkeypatch.setattr(ridge, "_LARGE_PATH", 0)
    found = ridge.path_scores(decomposition, *given)
    assert_allclose(found, expected, rtol=1e-6)
