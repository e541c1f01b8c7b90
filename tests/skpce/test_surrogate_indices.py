"""Indices of coordinates, steps and the trajectory, against known softmaxes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import helmert
from scipy.special import softmax
from scipy.stats import norm

from skpce import (
    CompositionalPCESurrogate,
    PolynomialChaosFeatures,
)
from tests.shared import (
    cases,
    clr,
    inside,
    refuses,
    shares_of_terms,
)

WIDTHS = (3, 4)
LAW = norm(0, 1)


def known(n_members=200, seed=0, noise=0.0):
    """Softmax of known polynomials; returns X, y and the coefficients by step."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_members, 3))
    features = PolynomialChaosFeatures(2, distribution=LAW).fit(X)
    truth = np.random.default_rng(99)
    coefficients = [truth.normal(size=(width, 10)) for width in WIDTHS]
    design = features.transform(X)
    y = [
        softmax(design @ c.T + noise * rng.normal(size=(n_members, len(c))), axis=1)
        for c in coefficients
    ]
    return X, np.hstack(y), coefficients, features.multi_indices_


def surrogate_of(**options):
    return CompositionalPCESurrogate(
        2, steps=WIDTHS, distribution=LAW, solver="ols", random_state=0, **options
    )


@pytest.mark.parametrize("reference", [0, 1, -1])
@pytest.mark.parametrize("coordinates", ["alr", "clr", "ilr"])
@pytest.mark.parametrize("fitted_in", ["alr", "ilr"])
def test_every_coordinate_from_one_fit(coordinates, reference, fitted_in):
    X, y, coefficients, multi_indices = known()
    maps = {
        "alr": lambda c: np.delete(c - c[reference], reference % len(c), axis=0),
        "clr": lambda c: c - c.mean(axis=0),
        "ilr": lambda c: helmert(len(c)) @ c,
    }
    squares = np.vstack([maps[coordinates](c) for c in coefficients]) ** 2
    first, total, shapley = shares_of_terms(squares, multi_indices)
    fitted = surrogate_of(log_ratio=fitted_in).fit(X, y)
    shown = {"coordinates": coordinates, "reference": reference}
    found = fitted.sobol_indices(**shown)
    assert_allclose(found.first_order, first, atol=1e-9)
    assert_allclose(found.total_order, total, atol=1e-9)
    effects = fitted.shapley_effects("coordinate", **shown)
    assert_allclose(effects, shapley, atol=1e-9)
    assert_allclose(found.total_variance, squares[:, 1:].sum(axis=1))


def test_steps_and_trajectory_against_the_truth():
    X, y, coefficients, multi_indices = known()
    by_step = np.array([((c - c.mean(axis=0)) ** 2).sum(axis=0) for c in coefficients])
    fitted = surrogate_of().fit(X, y)
    levels = {"step": by_step, "trajectory": by_step.sum(axis=0, keepdims=True)}
    for level, squares in levels.items():
        first, total, shapley = shares_of_terms(squares, multi_indices)
        found = fitted.sobol_indices(level)
        assert_allclose(found.first_order, first, atol=1e-9)
        assert_allclose(found.total_order, total, atol=1e-9)
        assert_allclose(fitted.shapley_effects(level), shapley, atol=1e-9)
        assert_allclose(found.total_variance, squares[:, 1:].sum(axis=1))
    assert_array_equal(found.total_order[0], fitted.feature_importances_)
    default = fitted.sobol_indices()
    assert_array_equal(default.total_order, fitted.total_sobol_indices_)


def test_intervals_contain_the_truth_mostly():
    coefficients = np.random.default_rng(3).normal(size=(3, 6))
    centred = coefficients - coefficients.mean(axis=0)
    squares = np.square(centred[:, 1:]).sum(axis=0)
    hits = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(150, 2))
        features = PolynomialChaosFeatures(2, distribution=LAW).fit(X)
        truth = squares @ (features.multi_indices_[1:] > 0) / squares.sum()
        logits = features.transform(X) @ coefficients.T
        y = softmax(logits + 0.5 * rng.normal(size=logits.shape), axis=1)
        fitted = CompositionalPCESurrogate(2, distribution=LAW, solver="ols").fit(X, y)
        bounds = fitted.sobol_interval("step", 0.95, n_resamples=60, random_state=seed)
        hits.append(inside(bounds.total_order[:, 0], truth))
    assert np.mean(hits) > 0.8


def test_frames_at_every_level():
    pytest.importorskip("pandas")
    X, y, _, _ = known(60, noise=0.5)
    fitted = surrogate_of().fit(X, y)
    trajectory = fitted.sobol_frame("trajectory", ci=0.8)
    assert trajectory["step"].tolist() == ["trajectory"] * 3
    assert_allclose(trajectory["shapley"].sum(), 1.0)
    assert np.all(trajectory["low"] <= trajectory["high"])
    action = fitted.sobol_frame("action")
    assert action["coordinate"].unique().tolist()[2:4] == ["step0:2", "step1:0"]
    alr = fitted.sobol_frame("action", coordinates="alr", reference=0)
    assert alr["coordinate"].iloc[0] == "step0:1/0"
    found = fitted.sobol_indices(coordinates="alr", reference=0)
    assert_array_equal(alr["total_order"], found.total_order.ravel())
    assert "low" not in fitted.sobol_frame()
    bounds = fitted.sobol_frame(ci=0.9)
    expected = fitted.sobol_interval("step", 0.9).total_order
    assert_array_equal(bounds["high"], expected[1].ravel())


def test_unexplained_shares_of_steps_and_the_trajectory_by_hand():
    pytest.importorskip("pandas")
    X, y, _, _ = known(60, noise=0.8)
    fitted = surrogate_of().fit(X, y)
    truth = np.hstack([clr(y[:, :3]), clr(y[:, 3:])])
    held_out = np.empty_like(truth)
    design = PolynomialChaosFeatures(2, distribution=LAW).fit_transform(X)
    for i in range(60):
        others = np.arange(60) != i
        slopes = np.linalg.lstsq(design[others], truth[others], rcond=None)[0]
        held_out[i] = design[i] @ slopes
    press = np.square(truth - held_out).sum(axis=0)
    spread = np.square(truth - truth.mean(axis=0)).sum(axis=0)
    shares = [press[own].sum() / spread[own].sum() for own in (slice(3), slice(3, 7))]
    assert_allclose(fitted.diagnostics_.loo_q2, 1 - np.array(shares))
    frame = fitted.sobol_frame("trajectory")
    assert_allclose(frame["unexplained_share"], press.sum() / spread.sum())


@cases(
    ("arguments", "message"),
    ({"level": "part"}, "'level' .* Got 'part'"),
    ({"coordinates": "log"}, "'coordinates' .* Got 'log'"),
    ({"reference": 3}, r"\[-3, 3\).* Got 3"),
    ({"level": "step", "coordinates": "alr"}, "level='coordinate'. Got 'alr'"),
)
def test_bad_arguments(arguments, message):
    X, y, _, _ = known(40)
    refuses(message, surrogate_of().fit(X, y).sobol_indices, **arguments)
