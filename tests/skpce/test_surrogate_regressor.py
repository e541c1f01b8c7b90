"""Regressors of scikit-learn in place of a solver."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import helmert
from scipy.special import softmax
from scipy.stats import norm
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from skpce import CompositionalPCESurrogate
from tests.shared import copies, refuses

WIDTHS = (3, 2, 4)
LAW = norm(0, 1)
COLUMNS = [slice(0, 3), slice(3, 5), slice(5, 9)]


def surrogate_of(regressor, degree=2, **options):
    options = {"steps": WIDTHS, "distribution": LAW, "random_state": 0} | options
    return CompositionalPCESurrogate(degree, regressor=regressor, **options)


def test_a_regressor_of_the_inputs_predicts_by_itself(X, y):
    neighbours = KNeighborsRegressor(4)
    fitted = surrogate_of(neighbours).fit(X, y)
    expected, held_out, total = [], [], []
    for columns in COLUMNS:
        width = columns.stop - columns.start
        basis = helmert(width)
        ilr = np.log(y[:, columns]) @ basis.T
        ilr = ilr[:, 0] if width == 2 else ilr
        model = clone(neighbours).fit(X, ilr)
        expected.append(softmax(model.predict(X).reshape(60, -1) @ basis, axis=1))
        missed = np.empty_like(ilr)
        order = np.lexsort(X.T)
        for fold in KFold(5, shuffle=True, random_state=0).split(order):
            training, out = (order[places] for places in fold)
            fold_fit = clone(neighbours).fit(X[training], ilr[training])
            missed[out] = ilr[out] - fold_fit.predict(X[out])
        held_out.append(np.sum(missed**2))
        total.append(np.sum((ilr - ilr.mean(axis=0)) ** 2))
    assert_allclose(fitted.predict(X), np.hstack(expected), atol=1e-10)
    q2 = 1 - np.array(held_out) / total
    assert_allclose(fitted.diagnostics_.loo_q2, q2, atol=1e-9)
    assert fitted.indices_from_ == "sampling"
    assert np.all((fitted.fidelity_ > 0.3) & (fitted.fidelity_ < 1.0))
    coordinates = fitted.transform(X)
    assert_allclose(
        fitted.inverse_transform(coordinates), fitted.predict(X), atol=1e-12
    )


def test_indices_of_a_gaussian_process_are_those_of_the_truth():
    """logit = x0 + x0 x1: the first input alone has half, together all."""
    X = np.random.default_rng(0).normal(size=(150, 2))
    logit = X[:, 0] + X[:, 0] * X[:, 1]
    y = softmax(np.column_stack([logit, 0 * logit]), axis=1)
    process = GaussianProcessRegressor(RBF(3.0), alpha=1e-6, optimizer=None)
    fitted = surrogate_of(process, steps=None).fit(X, y)
    assert fitted.fidelity_[0] > 0.99
    assert_allclose(fitted.step_sobol_indices_[0], [0.5, 0.0], atol=0.05)
    assert_allclose(fitted.step_total_sobol_indices_[0], [1.0, 0.5], atol=0.05)
    assert_allclose(fitted.shapley_effects()[0], [0.75, 0.25], atol=0.05)
    found = fitted.probability_sobol_indices(2000)
    assert found.total_order[0, 0] > 0.9


def test_fidelity_shows_a_coarse_expansion():
    """A sign has 2/π of its variance in the first Hermite polynomial."""
    X = np.random.default_rng(0).normal(size=(400, 1))
    y = softmax(np.column_stack([2 * np.sign(X[:, 0]), 0 * X[:, 0]]), axis=1)
    fitted = surrogate_of(DecisionTreeRegressor(max_depth=1), steps=None, degree=1)
    fitted.fit(X, y)
    assert fitted.fidelity_[0] == pytest.approx(2 / np.pi, abs=0.05)
    assert_allclose(fitted.predict(X), y, atol=1e-9)
    assert fitted.step_unexplained_share_[0] < 0.02
    constant = clone(fitted).set_params(degree=0).fit(X, y)
    assert constant.fidelity_[0] == pytest.approx(0.0, abs=0.02)
    alike = clone(fitted).fit(X, np.full((400, 2), 0.5))
    assert np.isnan(alike.fidelity_[0])


def test_coverage_of_a_forest(rng):
    X = rng.normal(size=(1200, 2))
    logits = np.column_stack([np.sign(X[:, 0]), X[:, 1], 0 * X[:, 0]])
    y = softmax(logits + 0.5 * rng.normal(size=logits.shape), axis=1)
    forest = RandomForestRegressor(40, min_samples_leaf=5, random_state=0)
    fitted = surrogate_of(forest, steps=None, distribution="normal")
    fitted.fit(X[:300], y[:300])
    lower, upper = fitted.predict_interval(X[300:], confidence_level=0.9)
    inside = (lower <= y[300:]) & (y[300:] <= upper)
    assert_allclose(inside.mean(axis=0), 0.9, atol=0.05)


def test_weights_reach_the_regressor(rng):
    X = rng.normal(size=(40, 2))
    y = softmax(np.column_stack([X, rng.normal(size=40)]), axis=1)
    weights = rng.integers(1, 4, size=40)
    tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    model = surrogate_of(tree, steps=None)
    repeated = clone(model).fit(*copies(weights, X, y))
    weighted = model.fit(X, y, weights)
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-9)
    neighbours = surrogate_of(KNeighborsRegressor(3), steps=None).fit(X, y)
    refuses("KNeighborsRegressor.fit takes no sample_w", neighbours.fit, X, y, weights)
