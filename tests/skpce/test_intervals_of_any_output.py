"""Draws and intervals of real targets, and conformal intervals of any y."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax
from scipy.stats import norm, t
from sklearn.model_selection import KFold

from skpce import PolynomialChaosFeatures, PolynomialChaosRegressor
from skpce._expansion.predictive import order_statistic
from skpce.metrics import coverage_interval
from tests.shared import OLS, cases, inside, refuses, ridge_pce, ridge_surrogate

LAW = norm(0, 1)


def linear_with_noise(size, seed, n_targets=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(size, 2))
    shape = (size,) if n_targets is None else (size, n_targets)
    signal = X[:, 0] - X[:, 1]
    noise = rng.normal(size=shape)
    return X, (signal if n_targets is None else signal[:, np.newaxis]) + noise


def design_of(X, degree=1):
    features = PolynomialChaosFeatures(degree, distribution=LAW)
    return features.fit(X).transform(X)


def leverage(design, new):
    """Leverage of new rows, and of the rows themselves, by the normal equations."""
    inverse = np.linalg.inv(design.T @ design)
    return (np.einsum("ij,jk,ik->i", D, inverse, D) for D in (new, design))


# The residual distribution.


def test_residual_interval_of_least_squares_by_hand():
    X, y = linear_with_noise(40, seed=1)
    X_new = np.random.default_rng(2).normal(size=(7, 2))
    design, new = design_of(X), design_of(X_new)
    h_new, h = leverage(design, new)
    slopes = np.linalg.lstsq(design, y, rcond=None)[0]
    scaled = (y - design @ slopes) / np.sqrt(1 - h)
    tails = np.quantile(scaled, [0.1, 0.9], method="median_unbiased")
    expected = new @ slopes + tails[:, np.newaxis] * np.sqrt(1 + h_new)
    model = PolynomialChaosRegressor(1, distribution=LAW, solver="ols").fit(X, y)
    found = model.predict_interval(X_new, confidence_level=0.8)
    assert_allclose(found, expected, rtol=1e-10)


def test_normal_residuals_give_the_interval_of_normal_theory():
    X, y = linear_with_noise(400, seed=3)
    X_new = np.random.default_rng(4).normal(size=(5, 2))
    design, new = design_of(X), design_of(X_new)
    h_new, _ = leverage(design, new)
    slopes = np.linalg.lstsq(design, y, rcond=None)[0]
    s = np.sqrt(np.square(y - design @ slopes).sum() / (400 - 3))
    half = t.ppf(0.95, 400 - 3) * s * np.sqrt(1 + h_new)
    model = PolynomialChaosRegressor(1, distribution=LAW, solver="ols").fit(X, y)
    how = {"residual": "gaussian", "n_samples": 200_000, "random_state": 0}
    lower, upper = model.predict_interval(X_new, confidence_level=0.9, **how)
    assert_allclose((upper - lower) / 2, half, rtol=0.02)
    assert_allclose((upper + lower) / 2, new @ slopes, atol=0.02)


def test_bands_hold_all_targets_as_often_as_claimed():
    rates = []
    for seed in range(40):
        X, y = linear_with_noise(60, seed, n_targets=4)
        X_new, y_new = linear_with_noise(300, 1000 + seed, n_targets=4)
        model = PolynomialChaosRegressor(1, distribution=LAW, solver="ols").fit(X, y)
        band = model.predict_interval(X_new, confidence_level=0.9, joint="targets")
        rates.append(inside(band, y_new).all(axis=1).mean())
    assert np.mean(rates) == pytest.approx(0.9, abs=0.02)


def test_draws_have_the_moments_of_the_predictive_distribution():
    X, y = linear_with_noise(200, seed=5, n_targets=2)
    model = ridge_pce(1, distribution=LAW).fit(X, y)
    draws = model.sample(20_000, X[:3], random_state=0)
    mean, deviation = model.predict(X[:3], return_std=True)
    assert_allclose(draws.mean(axis=0), mean, atol=0.1)
    assert_allclose(draws.std(axis=0), deviation, rtol=0.03)
    unconditional = model.sample(20_000, random_state=0)
    assert_allclose(unconditional.std(axis=0), y.std(axis=0), rtol=0.1)
    narrow = model.sample(20_000, inputs=norm(0, 0.01), residual=None, random_state=0)
    assert narrow.std() < 0.05


# Conformal intervals.


def wrong_and_heavy_tailed(size, rng):
    X = rng.normal(size=(size, 2))
    return X, np.sin(3 * X[:, 0]) * X[:, 1] + rng.standard_t(2.5, size=size)


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["constant", "inputs"])
def test_split_conformal_covers_within_its_guarantee(noise, rng):
    # The model is wrong and the noise has heavy tails: 700 sets of 24 members.
    model = ridge_pce(1).fit(*wrong_and_heavy_tailed(60, rng))
    how, coverage = {"method": "conformal", "noise": noise}, []
    for _ in range(700):
        X_new, y_new = wrong_and_heavy_tailed(200, rng)
        how["calibration"] = wrong_and_heavy_tailed(24, rng)
        interval = model.predict_interval(X_new, confidence_level=0.9, **how)
        coverage.append(inside(interval, y_new).mean())
    error = 3 * np.std(coverage) / np.sqrt(len(coverage))
    assert 0.9 - error <= np.mean(coverage) <= 0.9 + 1 / 25 + error
    # Exactly ceil(0.9 * 25) / 25, as no two distances are equal.
    assert np.mean(coverage) == pytest.approx(23 / 25, abs=error)


def random_policies(size, rng):
    X = rng.normal(size=(size, 2))
    first = np.c_[X[:, 0], np.exp(X[:, 1]), np.zeros(size)]
    noise = rng.standard_t(3, size=(size, 5))
    y = [softmax(first + noise[:, :3], axis=1), softmax(noise[:, 3:], axis=1)]
    return X, np.hstack(y)


@pytest.mark.slow
@pytest.mark.parametrize("joint", [None, "step", "trajectory"])
def test_split_conformal_covers_policies_within_its_guarantee(joint, rng):
    surrogate = ridge_surrogate(1, steps=(3, 2), random_state=0)
    surrogate.fit(*random_policies(60, rng))
    how, coverage = {"method": "conformal", "joint": joint}, []
    for _ in range(500):
        X_new, y_new = random_policies(100, rng)
        how["calibration"] = random_policies(19, rng)
        band = surrogate.predict_interval(X_new, confidence_level=0.8, **how)
        held = inside(band, y_new)
        if joint == "step":
            score = coverage_interval(y_new, *band, steps=(3, 2), kind="joint")
            held = score.coverage
        elif joint == "trajectory":
            held = held.all(axis=1)
        coverage.append(np.mean(held))
    error = 3 * np.std(coverage) / np.sqrt(len(coverage))
    assert np.mean(coverage) == pytest.approx(16 / 20, abs=error)


@pytest.mark.slow
def test_cross_conformal_covers_typically_as_claimed():
    rng, coverage = np.random.default_rng(0), []
    for seed in range(150):
        X, y = wrong_and_heavy_tailed(25, rng)
        X_new, y_new = wrong_and_heavy_tailed(300, rng)
        how = {"method": "conformal", "random_state": seed, "confidence_level": 0.8}
        interval = ridge_pce(1).fit(X, y).predict_interval(X_new, **how)
        coverage.append(inside(interval, y_new).mean())
    error = 3 * np.std(coverage) / np.sqrt(len(coverage))
    assert np.mean(coverage) >= 1 - 2 * 0.2 - np.sqrt(2 / 25)
    assert np.mean(coverage) == pytest.approx(0.8, abs=0.03 + error)


def test_cross_conformal_by_hand():
    X, y = linear_with_noise(23, seed=7)
    X_new = np.random.default_rng(8).normal(size=(4, 2))
    design, new = design_of(X), design_of(X_new)
    low, high = [], []
    folds = KFold(4)
    for train, test in folds.split(X):
        slopes = np.linalg.lstsq(design[train], y[train], rcond=None)[0]
        h_new, _ = leverage(design[train], new)
        h_test, _ = leverage(design[train], design[test])
        scores = np.abs(y[test] - design[test] @ slopes) / np.sqrt(1 + h_test)
        width = np.outer(scores, np.sqrt(1 + h_new))
        low.extend(new @ slopes - width)
        high.extend(new @ slopes + width)
    rank = int(np.ceil(0.8 * 24))
    expected = np.sort(low, axis=0)[23 - rank], np.sort(high, axis=0)[rank - 1]
    model = PolynomialChaosRegressor(1, distribution=LAW, solver="ols").fit(X, y)
    how = {"method": "conformal", "cv": folds}
    found = model.predict_interval(X_new, confidence_level=0.8, **how)
    assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("noise", ["constant", "inputs"])
@pytest.mark.parametrize("method", ["residual", "split", "cross"])
def test_two_actions_have_the_interval_of_their_logit(method, noise):
    rng = np.random.default_rng(9)
    X = rng.normal(size=(60, 2))
    z = X[:, 0] + (0.3 + np.abs(X[:, 1])) * rng.normal(size=60)
    y = np.c_[expit(z), expit(-z)]
    options = {"noise": noise, "confidence_level": 0.8}
    if method != "residual":
        options |= {"method": "conformal", "cv": KFold(5)}
    if method == "split":
        options["calibration"] = X[40:], z[40:]
    fit = slice(0, 40) if method == "split" else slice(None)
    model = ridge_pce(2).fit(X[fit], z[fit])
    surrogate = ridge_surrogate(2).fit(X[fit], y[fit])
    expected = model.predict_interval(X[:9], joint="targets", **options)
    if method == "split":
        options["calibration"] = X[40:], y[40:]
    for joint in ("step", "trajectory"):
        found = surrogate.predict_interval(X[:9], joint=joint, **options)
        assert_allclose(found.lower[:, 0], expit(expected.lower), atol=1e-9)
        assert_allclose(found.upper[:, 0], expit(expected.upper), atol=1e-9)
        assert_allclose(found.lower[:, 1], expit(-expected.upper), atol=1e-9)


def test_input_laws_are_learned_again_in_each_fold(monkeypatch):
    seen = []
    fit = PolynomialChaosRegressor.fit

    def remember(self, X, y, sample_weight=None):
        found = fit(self, X, y, sample_weight)
        seen.append(self.basis_.laws[0].location)
        return found

    X, y = linear_with_noise(30, seed=10)
    model = ridge_pce(1).fit(X, y)
    monkeypatch.setattr(PolynomialChaosRegressor, "fit", remember)
    model.predict_interval(X[:2], method="conformal", cv=3, random_state=0)
    assert len(set(seen)) == 3
    assert model.basis_.laws[0].location not in seen


def test_a_weight_is_a_number_of_copies():
    rng = np.random.default_rng(11)
    values, weights = rng.normal(size=(9, 3)), rng.integers(1, 4, size=9).astype(float)
    for level in (0.5, 0.8, 0.9, 0.99):
        repeated = np.repeat(values, weights.astype(int), axis=0)
        expected = order_statistic(repeated, np.ones(len(repeated)), level)
        assert_array_equal(order_statistic(values, weights, level), expected)


@pytest.mark.parametrize("calibrated", [True, False])
def test_too_few_members_say_so(calibrated):
    X, y = linear_with_noise(15, seed=13)
    X_other, y_other = linear_with_noise(15, seed=14)
    model = ridge_pce(1).fit(X, y)
    options = {"method": "conformal", "confidence_level": 0.95}
    given = {"calibration": (X_other, y_other)} if calibrated else {}
    with pytest.warns(UserWarning, match=r"15 members are too few .* needs 19"):
        interval = model.predict_interval(X[:2], **given, **options)
    assert_array_equal(interval, [[-np.inf] * 2, [np.inf] * 2])
    surrogate = ridge_surrogate(1).fit(X, np.c_[expit(y), expit(-y), np.zeros(15)])
    with pytest.warns(UserWarning, match="too few"):
        lower, upper = surrogate.predict_interval(X[:2], **options)
    assert_array_equal(lower, 0)
    assert_array_equal(upper, [[1, 1, 0], [1, 1, 0]])  # masked: never
    with warnings.catch_warnings(action="error"):
        model.predict_interval(X[:2], method="conformal", confidence_level=0.9)


# Noise that depends on the inputs.


def growing_noise(size, rng):
    X = rng.normal(size=(size, 3))
    return X, X[:, 0] + np.abs(X[:, 0]) * rng.normal(size=size)


@pytest.mark.parametrize("method", ["residual", "conformal"])
def test_a_scale_model_covers_where_the_noise_is_large(method):
    rng, covered = np.random.default_rng(0), {"constant": [], "inputs": []}
    for seed in range(30):
        model = ridge_pce(1).fit(*growing_noise(120, rng))
        X, y = growing_noise(1000, rng)
        tail = np.abs(X[:, 0]) > 1.5
        for noise, rates in covered.items():
            how = {"noise": noise, "method": method, "random_state": seed}
            held = inside(model.predict_interval(X, confidence_level=0.9, **how), y)
            rates.append((held.mean(), held[tail].mean()))
    constant, inputs = (np.mean(rates, axis=0) for rates in covered.values())
    assert constant[0] == pytest.approx(0.9, abs=0.02)
    assert inputs[0] == pytest.approx(0.9, abs=0.02)
    assert constant[1] < 0.7
    assert inputs[1] > 0.82


def test_a_target_without_residuals_has_a_scale_of_one():
    X, y = linear_with_noise(40, seed=16)
    with warnings.catch_warnings(action="ignore"):
        model = ridge_pce(1).fit(X, np.c_[y, np.full(40, 3.0)])
    for method in ("residual", "conformal"):
        how = {"noise": "inputs", "method": method, "random_state": 0}
        interval = model.predict_interval(X[:5], **how)
        assert_allclose(np.array(interval)[:, :, 1], 3.0)


# Bad arguments.


OF_METHOD = (
    ({"cv": 1}, "'cv' .* from 2 to 30, the number of members. Got 1"),
    ({"cv": "five"}, "'cv' .* an int, a splitter"),
    ({"cv": [([0, 1], [2, 3])]}, "hold out each of the 30 members once"),
    ({"calibration": 3}, r"'calibration' .* a pair \(X, y\)"),
    ({"calibration": ([[0.0, 0.0]], [np.nan])}, "Input y of calibration contains NaN"),
    ({"calibration": ([[0.0, 0.0]], [[0.0, 1.0]])}, r"expected \(n_members, 1\)"),
)


@cases(
    ("options", "message"),
    ({"method": "jackknife"}, "'method' .* one of 'conformal', 'residual'"),
    ({"noise": "gaussian"}, "'noise' .* one of 'constant', 'inputs'"),
    ({"joint": "step"}, "'joint' .* must be one of 'targets' or None. Got 'step'"),
    ({"inputs": norm(0, 1)}, "Got both"),
    ({"calibration": ([[0.0, 0.0]], [0.0])}, "unless method='conformal'"),
    *(({"method": "conformal", **bad}, words) for bad, words in OF_METHOD),
)
def test_bad_arguments(options, message):
    X, y = linear_with_noise(30, seed=17)
    model = ridge_pce(1).fit(X, y)
    refuses(message, model.predict_interval, X, **options)


def test_conformal_intervals_need_inputs_and_other_members():
    X, y = linear_with_noise(30, seed=19)
    model = ridge_pce(1).fit(X, y)
    conformal = partial(model.predict_interval, method="conformal")
    refuses("needs X with method='conformal'", conformal)
    known = X[:10], y[:10]
    refuses(r"All 10 members .* are in the fit", conformal, X, calibration=known)
    refuses("contains NaN", conformal, np.full((1, 2), np.nan))


def test_a_fit_without_residuals_or_samples_says_so():
    X, y = linear_with_noise(40, seed=21)
    saturated = PolynomialChaosRegressor(3, **OLS).fit(X[:10], y[:10])
    refuses("residual distribution is not defined", saturated.predict_interval, X)
    sums = ridge_pce(1, distribution=LAW, criterion="gcv").fit(X, y)
    refuses("criterion='loo'", sums.predict_interval, X)
    refuses("criterion='loo'", sums.predict_interval, X, method="conformal")
    other = linear_with_noise(30, seed=22)
    split = sums.predict_interval(X, method="conformal", calibration=other)
    assert np.isfinite(split.lower).all()  # needs predictions and leverages alone


def test_calibration_has_the_columns_of_the_fit():
    X, values = np.random.default_rng(0).normal(size=(2, 60, 2))
    X = pd.DataFrame(X, columns=["size", "rate"])
    y = pd.DataFrame(values, columns=["score", "loss"])
    model = ridge_pce(1).fit(X[:30], y[:30])
    conformal = partial(model.predict_interval, X, method="conformal")
    assert conformal(calibration=(X[30:], y[30:])).lower.shape == (60, 2)
    other = X[30:], y[30:][["loss", "score"]]
    refuses("y of calibration has the outputs", conformal, calibration=other)
    other = X[30:][["rate", "size"]], y[30:]
    refuses("feature names", conformal, calibration=other)
