"""Scores of all penalties together are those of one penalty after the other."""

import numpy as np
import pytest

from skpce._solvers import ridge
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
