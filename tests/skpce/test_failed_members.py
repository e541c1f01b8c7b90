"""Members that failed in a step of a composition: they count in the others."""

from __future__ import annotations

import warnings
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from scipy.stats import norm
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsRegressor

from skpce import (
    CompositionalPCESurrogate,
    FailedSamplesWarning,
)
from skpce._solvers import SOLVERS
from skpce.inspection import verdict
from tests.shared import cases, inside, refuses, ridge_surrogate

pytestmark = pytest.mark.filterwarnings("ignore::skpce.FailedSamplesWarning")

STEPS = {"first": 3, "second": 2, "third": 4, "only": 1}
ENDS = [0, 3, 5, 9, 10]
COLUMNS = dict(zip(STEPS, map(slice, ENDS, ENDS[1:]), strict=False))
FROZEN = {"distribution": norm(0, 1), "solver": "ridge"}


@pytest.fixture(scope="module")
def data():
    """Return 70 members, of which 12 lack the second step and 20 the other two."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 2))
    effects = rng.normal(size=(2, 9))
    logits = X @ effects + 0.3 * rng.normal(size=(70, 9))
    parts = [softmax(logits[:, COLUMNS[name]], axis=1) for name in list(STEPS)[:3]]
    y = np.hstack([*parts, np.ones((70, 1))])
    y[:12, COLUMNS["second"]] = np.nan
    y[5:25, COLUMNS["first"]] = y[5:25, COLUMNS["third"]] = np.nan
    return X, y


def whole(data, **parameters):
    return CompositionalPCESurrogate(2, steps=STEPS, **FROZEN | parameters).fit(*data)


def alone(data, step, **parameters):
    """Fit one step to the members that have it."""
    X, y = data
    has = ~np.isnan(y[:, COLUMNS[step]]).any(axis=1)
    one = CompositionalPCESurrogate(2, **FROZEN | parameters)
    return one.fit(X[has], y[has, COLUMNS[step]])


@cases(
    "parameters",
    *({"solver": name} for name in SOLVERS),
    *({"log_ratio": name} for name in ("alr", "clr")),
    *({"regressor": LinearRegression()}, {"amalgamate": 0.01}),
    ids=str,
)
@pytest.mark.parametrize("step", ["second", "first", "third"])
def test_each_step_is_that_of_the_members_that_have_it(data, parameters, step):
    found, one = whole(data, **parameters), alone(data, step, **parameters)
    k = list(STEPS).index(step)
    close = {"rtol": 1e-10, "atol": 1e-10}
    X = data[0]
    assert_allclose(found.predict(X)[:, COLUMNS[step]], one.predict(X), **close)
    names = "sobol_indices_", "total_sobol_indices_", "total_variance_"
    for name in (*names, "unexplained_share_"):
        name = f"step_{name}"
        assert_allclose(getattr(found, name)[k], getattr(one, name)[0], **close)
    rows = found.coordinate_steps_ == k
    assert_allclose(found.sobol_indices_[rows], one.sobol_indices_, **close)
    assert_allclose(found.diagnostics_.loo_q2[k], one.diagnostics_.loo_q2[0], **close)


def test_the_warning_names_steps_and_members(X, y):
    match = "of 70 members first has 50, second has 58, third has 50. A member that"
    with pytest.warns(FailedSamplesWarning, match=match) as caught:
        ridge_surrogate(1, steps=STEPS).fit(X, y)
    assert caught[0].filename == __file__
    complete = ~np.isnan(y).any(axis=1)
    with warnings.catch_warnings(action="error"):
        ridge_surrogate(1, steps=STEPS).fit(X[complete], y[complete])


@pytest.mark.parametrize("step", ["first", "second", "third"])
@cases(
    "options",
    *({}, {"noise": "inputs"}, {"residual": "gaussian"}, {"joint": "step"}),
    *({"method": "conformal"}, {"method": "conformal", "joint": "step"}),
    ids=str,
)
def test_prediction_intervals_are_those_of_the_steps(data, options, step):
    X, _ = data
    if step != "second" and options.get("noise", options.get("residual")):
        pytest.skip("steps with the same members share draws")
    given = {**options, "random_state": 0}
    found = whole(data).predict_interval(X[:5], **given)
    assert found.lower.shape == (5, 10)
    assert_array_equal(found.lower[:, -1], 1.0)
    one = alone(data, step).predict_interval(X[:5], **given)
    own = COLUMNS[step]
    assert_allclose(np.array(found)[:, :, own], one, rtol=1e-10)


def test_intervals_of_unknown_inputs_and_of_other_members(data):
    X, y = data
    surrogate = whole(data)
    low, high = surrogate.predict_interval(random_state=0)
    assert low.shape == (1, 10)
    assert (low <= high).all()
    held_out = ~np.isnan(y).any(axis=1)
    conformal = partial(surrogate.predict_interval, X, method="conformal")
    band = conformal(calibration=(X[held_out] + 0.1, y[held_out]))
    assert inside(band, y)[held_out].mean() > 0.9
    message = "y of calibration contains NaN; expected num"
    refuses(message, conformal, calibration=(X + 0.1, y))


def test_drawn_indices_are_those_of_the_step(data):
    found, one = whole(data), alone(data, "second")  # the first step to be drawn
    fitted = found._fitted
    assert fitted.steps_of(fitted.parts[0][1]).tolist() == [1, 3]
    own = {"step": [1], "coordinate": np.flatnonzero(found.coordinate_steps_ == 1)}
    for level, method in product(own, ("bootstrap", "residual")):
        if (level, method) == ("coordinate", "residual"):
            continue  # residuals give intervals of steps
        how = {"method": method, "n_resamples": 30, "random_state": 0}
        drawn, expected = (fit.sobol_interval(level, **how) for fit in (found, one))
        for name in ("first_order", "total_order"):
            values = getattr(drawn, name)[:, own[level]]
            assert_allclose(values, getattr(expected, name), rtol=1e-8)


def test_the_trajectory_adds_variances_of_a_member(data):
    """A step that few members have weighs as much as if all had it."""
    surrogate = whole(data)
    frame = surrogate.sobol_frame("trajectory")
    explained = unexplained = 0.0
    for step in ("first", "second", "third"):
        one = alone(data, step)._fitted
        press, spread = (
            sums[0] / one.members.weights.sum() for sums in one.press_and_spread
        )
        explained, unexplained = explained + spread, unexplained + press
    assert_allclose(frame["unexplained_share"], unexplained / explained)


def test_a_regressor_of_the_inputs_needs_every_step(data):
    regressor = KNeighborsRegressor(5)
    refuses("has no coefficients: its models", whole, data, regressor=regressor)


def test_a_step_that_members_lack_is_left_out_of_scores(data):
    X, y = data
    surrogate = whole(data)
    filled = np.where(np.isnan(y), surrogate.predict(X), y)
    assert 0.5 < surrogate.score(X, y) < 1
    has = ~np.isnan(y[:, 3])
    only = np.where(has[:, np.newaxis], y, np.nan)
    only[:, :3] = only[:, 5:9] = np.nan
    one = alone(data, "second").score(X[has], y[has, 3:5])
    assert surrogate.score(X, only) == pytest.approx(one, rel=1e-12)
    assert surrogate.score(X, filled) > surrogate.score(X, y) - 0.2
    model = ridge_surrogate(2, steps=STEPS, mask=surrogate.mask_)
    assert (cross_val_score(model, X, y) > 0).all()
    with pytest.raises(ValueError, match="Input y contains NaN; expected numbers"):
        surrogate.score(X, np.full_like(y, np.nan))


@pytest.mark.slow
def test_a_verdict_judges_each_step_by_the_members_that_have_it(data):
    X, y = data
    model = CompositionalPCESurrogate(2, steps=STEPS, **FROZEN)
    found = verdict(model, X, y)
    assert_array_equal(found.members, [50, 58, 50, 0])  # without choice
    assert found.attributable == (True, True, True, False)
    one = alone(data, "second")
    has = ~np.isnan(y[:, 3])
    other = verdict(one, X[has], y[has, 3:5])
    assert found.q2[1] == pytest.approx(other.q2[0], rel=1e-10)
    assert "second has 58, third has 50 of 70" in str(found)
    names = [f"{step}__{k}" for step, n in STEPS.items() for k in range(n)]
    model = CompositionalPCESurrogate(2, **FROZEN)
    framed = verdict(model, X, pd.DataFrame(y, columns=names))
    assert_array_equal(framed.q2, found.q2)


def test_a_verdict_of_steps_and_outputs_counts_each(X, y):
    score = X[:, :1] + 0.1 * y[:, [3]]
    table = np.hstack([y[:, :5], np.nan_to_num(score)])
    table[60:, 5] = np.nan
    columns = {"steps": {"first": 3, "second": 2}, "outputs": {"score": 1}}
    found = verdict(KNeighborsRegressor(5), X, table, **columns)
    assert_array_equal(found.members, [50, 58, 60])


def test_what_needs_joint_residuals_is_refused(data):
    surrogate, level = whole(data), "trajectory"
    refuses("no joint residuals of steps that diff", surrogate.sample, 3)
    message = r"of steps that .* Got joint='traj"
    refuses(message, surrogate.predict_interval, data[0], joint=level)
    message = "has level='trajectory' for steps of the"
    for method in ("bootstrap", "residual"):
        refuses(message, surrogate.sobol_interval, level, method=method)


def test_members_that_lack_the_same_steps_are_one_part(rng):
    X = rng.normal(size=(40, 1))
    y = np.hstack([softmax(np.c_[X, X**2], axis=1)] * 2)
    y[:8] = np.nan
    found = CompositionalPCESurrogate(1, steps=(2, 2), **FROZEN).fit(X, y)
    one = CompositionalPCESurrogate(1, steps=(2, 2), **FROZEN).fit(X[8:], y[8:])
    for fit in (found, one):
        assert fit.sample(3, random_state=0).shape == (3, 4)
    for read in (
        lambda fit: fit.sample(5, X[:2], random_state=0),
        lambda fit: fit.sobol_interval("trajectory", random_state=0).total_order,
        lambda fit: fit.predict_interval(X, joint="trajectory", random_state=0).lower,
    ):
        assert_allclose(read(found), read(one), rtol=1e-9)


@pytest.mark.parametrize("use", ["fit", "verdict", "amalgamated"])
@cases(
    ("rows", "columns", "value", "message"),
    (40, 3, np.inf, "inf in row 40, part '0' of step 'second'.*diverged, give NaN"),
    (40, 4, np.nan, "nan in row 40, part '1' of step 'second'.*give NaN in all parts"),
    (slice(1, None), slice(3, 5), np.nan, "0 of 70 members have step 'second'.*Leave"),
    (40, 3, -0.5, "-0.5 in row 40, part '0' of step 'second'"),
)
def test_other_entries_are_refused_in_words(X, y, use, rows, columns, value, message):
    amalgamate = 0.01 if use == "amalgamated" else None
    model = ridge_surrogate(2, steps=STEPS, amalgamate=amalgamate)
    y = y.copy()
    y[rows, columns] = value
    refuses(message, partial(verdict, model) if use == "verdict" else model.fit, X, y)
