"""The surrogate: invariances, masks, the paper's formula, containers, weights."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.base import clone
from sklearn.neighbors import KNeighborsRegressor

from skpce import LogRatioTransformer, PolynomialChaosFeatures
from skpce._solvers import SOLVERS
from tests.shared import agree, cases, copies, ridge_surrogate

WIDTHS = (3, 2, 4)
COLUMNS = [slice(0, 3), slice(3, 5), slice(5, 9)]


OF_STEPS = (
    *("step_sobol_indices_", "step_total_sobol_indices_"),
    *("step_total_variance_", "step_unexplained_share_"),
)


def assert_same_fit(a, b, X, columns=slice(None), steps=slice(None), tolerance=1e-10):
    assert_allclose(a.predict(X)[:, columns], b.predict(X), atol=tolerance, rtol=0)
    for name in OF_STEPS:
        found, expected = getattr(a, name)[steps], getattr(b, name)
        assert_allclose(found, expected, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("solver", ["ridge", "ols"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_fit_is_the_same_in_every_log_ratio(simulate, solver, seed):
    X, y = simulate(seed=seed)
    plain = ridge_surrogate(2, steps=WIDTHS, solver=solver).fit(X, y)
    references = {"clr": (-1,), "alr": (-1, 0, 1), "ilr": (0,)}
    for log_ratio, reference in [(k, r) for k, rs in references.items() for r in rs]:
        how = LogRatioTransformer(log_ratio, reference=reference)
        other = clone(plain).set_params(log_ratio=how).fit(X, y)
        assert_same_fit(plain, other, X)
        agree(plain, other, "feature_importances_", atol=1e-10)
        assert_array_equal(plain.alpha_, other.alpha_)


@pytest.mark.parametrize("log_ratio", ["alr", "clr", "ilr"])
@pytest.mark.parametrize("solver", ["ridge", "ols"])
def test_the_fit_follows_members_actions_and_steps(X, y, solver, log_ratio):
    plain = ridge_surrogate(2, steps=WIDTHS, solver=solver, log_ratio=log_ratio)
    plain.fit(X, y)
    rows = np.random.default_rng(0).permutation(len(X))
    assert_same_fit(plain, clone(plain).fit(X[rows], y[rows]), X)
    actions = [2, 0, 1, 4, 3, 8, 6, 5, 7]
    moved = clone(plain).fit(X, y[:, actions])
    assert_same_fit(plain, moved, X, actions)
    a, b = (m.sobol_indices(coordinates="clr").total_order for m in (plain, moved))
    assert_allclose(a[actions], b, atol=1e-10)
    order = [2, 0, 1]
    columns = np.concatenate([np.arange(9)[COLUMNS[step]] for step in order])
    moved = clone(plain).set_params(steps=(4, 3, 2)).fit(X, y[:, columns])
    assert_same_fit(plain, moved, X, columns, order)


@pytest.mark.parametrize("solver", ["ridge", "ols", "paper"])
def test_steps_are_fitted_apart(X, y, solver):
    together = ridge_surrogate(2, steps=WIDTHS, solver=solver).fit(X, y)
    for step, columns in enumerate(COLUMNS):
        alone = ridge_surrogate(2, solver=solver).fit(X, y[:, columns])
        assert_same_fit(together, alone, X, columns, slice(step, step + 1))
        if solver == "ridge":  # one penalty for each step
            assert together.alpha_[step] == alone.alpha_


def test_the_paper_by_an_independent_implementation(X, y):
    """Eqs. (2)-(5): alr to the last action, Ψ'Ψ + λI, GCV per target."""
    standardised = (X - X.mean(axis=0)) / X.std(axis=0)
    x, z, w = standardised.T
    h2 = [(column**2 - 1) / np.sqrt(2) for column in (x, z, w)]
    terms = [np.ones(len(X)), x, z, w, h2[0], x * z, x * w, h2[1], z * w, h2[2]]
    design = np.column_stack(terms)
    n_members, n_terms = design.shape
    coefficients, expected = [], []
    for columns in COLUMNS:
        step, logits = y[:, columns], np.zeros_like(y[:, columns])
        for k in range(step.shape[1] - 1):
            target = np.log(step[:, k] / step[:, -1])
            best = (np.inf, None)
            for alpha in 10.0 ** np.arange(-8, 0.1, 0.5):
                inverse = np.linalg.inv(design.T @ design + alpha * np.eye(n_terms))
                hat = design @ inverse @ design.T
                residual = target - hat @ target
                gcv = residual @ residual / (1 - np.trace(hat) / n_members) ** 2
                if gcv < best[0]:
                    best = (gcv, inverse @ design.T @ target)
            coefficients.append(best[1])
            logits[:, k] = design @ best[1]
        expected.append(softmax(logits, axis=1))
    surrogate = ridge_surrogate(2, steps=WIDTHS, solver="paper", log_ratio="alr")
    surrogate.fit(X, y)
    assert_allclose(surrogate.coefficients_, coefficients, atol=1e-7)
    assert_allclose(surrogate.predict(X), np.hstack(expected), atol=1e-8)
    squares = np.square(coefficients)[:, 1:]
    assert_allclose(surrogate.total_variance_, squares.sum(axis=1), rtol=1e-6)


def test_masked_parts_and_forced_steps(simulate):
    X, free = simulate(widths=(3, 4))
    y = np.zeros((len(X), 10))
    y[:, 1:4] = free[:, :3]  # part 0 masked
    y[:, 4] = 1.0  # a step of three parts with one possible
    y[:, [7, 8, 9]] = free[:, 3:6] / free[:, 3:6].sum(axis=1, keepdims=True)
    surrogate = ridge_surrogate(2, steps=(4, 3, 3)).fit(X, y)
    predicted = surrogate.predict(5 * X)
    assert np.all(predicted[:, [0, 5, 6]] == 0.0)
    assert np.all(predicted[:, 4] == 1.0)
    assert surrogate.coordinate_steps_.tolist() == [0, 0, 2, 2]
    assert surrogate.step_total_variance_[1] == 0.0
    assert not surrogate.step_total_sobol_indices_[1].any()
    assert np.isnan(surrogate.diagnostics_.loo_q2[1])
    assert np.isnan(surrogate.alpha_[1])
    assert np.isnan(surrogate.step_unexplained_share_[1])
    without = ridge_surrogate(2).fit(X, free[:, :3])
    assert_allclose(predicted[:, 1:4], without.predict(5 * X), atol=1e-12)
    drawn = surrogate.sample(7, random_state=0)
    for law in (drawn, surrogate.predict_interval().upper):
        assert np.all(law[:, [0, 5, 6]] == 0.0)
        assert np.all(law[:, 4] == 1.0)


NEIGHBOURS = {"solver": None, "regressor": KNeighborsRegressor(4)}


@cases("how", *({"solver": name} for name in sorted(SOLVERS)), NEIGHBOURS, ids=str)
def test_no_step_has_a_choice(how, rng):
    X = rng.normal(size=(12, 2))
    y = np.tile([1.0, 0.0, 0.0, 1.0], (12, 1))
    surrogate = ridge_surrogate(1, steps=(2, 2), random_state=0, **how).fit(X, y)
    assert_array_equal(surrogate.predict(X), y)
    assert surrogate.transform(X).shape == (12, 0)
    assert np.isnan(surrogate.diagnostics_.loo_q2).all()
    assert not surrogate.feature_importances_.any()
    assert not surrogate.step_total_sobol_indices_.any()
    assert surrogate.score(X, y) == 1.0
    assert_array_equal(surrogate.predict_interval(X).lower, y)


@pytest.mark.parametrize("solver", ["ridge", "ols"])
def test_a_step_alike_in_all_members_has_no_attribution(simulate, solver, rng):
    X, y = simulate(widths=(4,))
    # Equal up to rounding, as a dynamic programme would return it.
    logits = np.array([0.3, 0.1, 0.7]) + rng.normal(size=(len(X), 1))
    y = np.hstack([softmax(logits, axis=1), y])
    surrogate = ridge_surrogate(2, steps=(3, 4), solver=solver, random_state=0)
    surrogate.fit(X, y)
    assert surrogate.step_total_variance_[0] == 0.0
    assert not surrogate.step_total_sobol_indices_[0].any()
    assert not surrogate.total_sobol_indices_[:2].any()
    assert not surrogate.sobol_interval(n_resamples=9).total_order[:, 0].any()
    whole = surrogate.sobol_indices("trajectory").total_order
    assert_allclose(whole[0], surrogate.step_total_sobol_indices_[1])
    assert np.isnan(surrogate.diagnostics_.loo_q2[0])
    assert_allclose(surrogate.predict(X)[:, :3], y[:, :3], rtol=1e-9)
    assert surrogate.step_total_variance_[1] > 0.1


@pytest.mark.parametrize("solver", ["ridge", "ols", "paper"])
def test_a_weight_is_a_number_of_copies(simulate, solver):
    X, free = simulate(n_members=50, widths=(3, 2))
    y = np.zeros((50, 7))
    y[:, :3], y[:, 4:6] = free[:, :3], free[:, 3:]
    y[7] = [0.2, 0.3, 0.4, 0.1, 0.2, 0.3, 0.5]  # dropped: its weight is zero
    weights = np.random.default_rng(0).integers(0, 4, size=50)
    weights[7] = 0
    surrogate = ridge_surrogate(2, steps=(4, 3), solver=solver)
    weighted = clone(surrogate).fit(X, y, sample_weight=weights)
    repeated = clone(surrogate).fit(*copies(weights, X, y))
    assert weighted.mask_.tolist() == [True] * 3 + [False] + [True] * 2 + [False]
    assert_array_equal(weighted.mask_, repeated.mask_)
    names = "coefficients_", "alpha_", "sobol_indices_", "feature_importances_"
    agree(weighted, repeated, *names, *OF_STEPS, rtol=1e-8, atol=1e-10)
    agree(weighted.diagnostics_, repeated.diagnostics_, "loo_q2", rtol=1e-8)
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-10)
    how = {"n_samples": 4000, "random_state": 0}
    bounds = [model.predict_interval(X[:3], **how) for model in (weighted, repeated)]
    assert_allclose(*bounds, atol=0.05)


def test_score_is_the_share_of_the_deviance(X, y):
    surrogate = ridge_surrogate(2, steps=WIDTHS).fit(X, y)
    predicted = surrogate.predict(X)
    weights = np.random.default_rng(0).integers(1, 4, size=len(X))
    for w in (np.ones(len(X)), weights):
        mean = np.average(y, axis=0, weights=w)
        deviance = w @ (y * np.log(y / predicted)).sum(axis=1)
        baseline = w @ (y * np.log(y / mean)).sum(axis=1)
        found = surrogate.score(X, y, sample_weight=w)
        assert found == pytest.approx(1 - deviance / baseline, abs=1e-12)
    assert surrogate.score(X, predicted) == pytest.approx(1.0)
    mean = np.tile(y.mean(axis=0), (len(X), 1))
    constant = ridge_surrogate(0, steps=WIDTHS).fit(X, mean)
    assert constant.score(X, y) == pytest.approx(0.0, abs=1e-12)


def test_diagnostics_have_sizes_a_correlation_and_a_condition(X, y):
    found = ridge_surrogate(2, steps=WIDTHS).fit(X, y).diagnostics_
    assert (found.n_members, found.n_terms) == (60, 10)
    correlation = np.corrcoef(X, rowvar=False)[np.triu_indices(3, 1)]
    assert found.largest_correlation == pytest.approx(np.abs(correlation).max())
    design = PolynomialChaosFeatures(2, distribution="normal").fit_transform(X)[:, 1:]
    centred = np.linalg.svd(design - design.mean(axis=0), compute_uv=False)
    assert found.condition_number == pytest.approx(centred[0] / centred[-1])
    many = ridge_surrogate(6, steps=WIDTHS).fit(X, y)
    assert many.diagnostics_.condition_number == np.inf
