"""The diagnostics of a fit."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm, uniform

from skpce import PolynomialChaosFeatures
from tests.shared import ridge_surrogate

WIDTHS = (3, 2, 4)


def diagnose(X, y, **parameters):
    return ridge_surrogate(steps=WIDTHS, **parameters).fit(X, y).diagnostics_


def test_leave_one_out_q2_is_that_of_refits(simulate):
    X, y = simulate(n_members=30)
    parameters = {"distribution": norm(0, 1), "solver": "ols"}
    found = diagnose(X, y, **parameters)
    log = [np.log(block) for block in np.split(y, [3, 5], axis=1)]
    clr = [block - block.mean(axis=1, keepdims=True) for block in log]
    press = np.zeros(3)
    for row in range(30):
        others = np.arange(30) != row
        surrogate = ridge_surrogate(steps=WIDTHS, log_ratio="clr", **parameters)
        surrogate.fit(X[others], y[others])
        predicted = np.split(surrogate.transform(X[[row]])[0], [3, 5])
        pairs = zip(clr, predicted, strict=True)
        press += [np.sum((block[row] - p) ** 2) for block, p in pairs]
    spread = [np.sum((block - block.mean(axis=0)) ** 2) for block in clr]
    assert_allclose(found.loo_q2, 1 - press / spread, rtol=1e-8)


def test_sizes_correlation_and_condition(simulate):
    X, y = simulate()
    found = diagnose(X, y, degree=2)
    assert (found.n_members, found.n_terms) == (60, 10)
    correlation = np.corrcoef(X, rowvar=False)[np.triu_indices(3, 1)]
    assert found.largest_correlation == pytest.approx(np.abs(correlation).max())
    design = PolynomialChaosFeatures(2, distribution="normal").fit_transform(X)[:, 1:]
    centred = np.linalg.svd(design - design.mean(axis=0), compute_uv=False)
    assert found.condition_number == pytest.approx(centred[0] / centred[-1])
    assert diagnose(X, y, degree=6).condition_number == np.inf


def test_laws_are_tested(simulate):
    X, y = simulate(n_members=200)
    skewed = X.copy()
    skewed[:, 1] = np.exp(X[:, 1])
    assert diagnose(X, y).distribution_p_values.min() > 1e-3
    assert diagnose(skewed, y).distribution_p_values[1] < 1e-6
    flat, law = norm.cdf(X), uniform(0, 1)
    assert diagnose(flat, y, distribution=law).distribution_p_values.min() > 1e-3
    flat[:, 2] **= 3
    assert diagnose(flat, y, distribution=law).distribution_p_values[2] < 1e-6
