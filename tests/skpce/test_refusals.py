"""Refusals that name the argument and say what is expected; found by the fuzz suite."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.linear_model import LassoCV
from sklearn.neighbors import KNeighborsRegressor

from skpce import (
    NatafTransformer,
    PolynomialChaosRegressor,
)
from skpce.decision import InputBelief
from skpce.embedding import BetaVAE
from skpce.inspection import (
    Result,
    back_to_reward,
    modes_test,
    part_effects,
    shapley_effects,
    sobol_indices,
    verdict,
)
from skpce.metrics import (
    coverage_interval,
    crps_score,
    policy_fragility,
    total_variation_distance,
)
from skpce.plotting import MainEffectsDisplay
from tests.shared import agree, cases, refuses, ridge_pce, ridge_surrogate

N = 30


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    return X, X @ [1.0, 2.0, 3.0]


@pytest.fixture
def fitted(data):
    return ridge_pce(2).fit(*data)


@pytest.fixture
def policies(X):
    parts = np.exp(np.outer(X[:, 0], [1.0, -1.0, 0.5]))
    return parts / parts.sum(axis=1, keepdims=True)


# What a verdict is given beside X and y: labels of rewards, and an order.


@pytest.fixture
def repeated():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(N // 2, 2)), 2, axis=0)
    return ridge_pce(1), X, X[:, 0] + rng.normal(size=N)


NO_DATES = np.full(N, "NaT", dtype="datetime64[D]")
IN_PAIRS = np.arange(N) // 2


@cases(
    ("name", "values"),
    ("replicate", IN_PAIRS + 1j),
    ("replicate", [{"a": 1}] * N),
    ("replicate", np.ma.array(IN_PAIRS, mask=np.arange(N) == 0)),
    ("replicate", [None, "a"] * (N // 2)),
    ("order", NO_DATES),
    ("order", np.arange(N) + 1j),
    ("order", [[1, 2]] * (N - 1) + [[3]]),
)
def test_labels_and_orders_that_are_none(repeated, name, values):
    refuses(rf"^{name} .*expected", verdict, *repeated, **{name: values})


def test_steps_of_one_part_have_nothing_that_varies(X):
    surrogate = ridge_surrogate(2, steps=(1, 1)).fit(X, np.ones((N, 2)))
    found = back_to_reward(surrogate, X)
    assert found.supported == (False, False)
    for name in ("share", "explained_alone", "predicted_variance"):
        assert not np.any(getattr(found, name))
    pytest.importorskip("matplotlib")
    message = "no step with a choice; expected"
    refuses(message, MainEffectsDisplay.from_estimator, surrogate, X)


@pytest.mark.parametrize("function", [sobol_indices, shapley_effects])
@pytest.mark.parametrize("kind", [int, PolynomialChaosRegressor])
def test_classes_are_no_models(function, kind, X):
    refuses(f"estimator of .* is the class {kind.__name__}", function, kind, X)


# Metrics have the limit of the fits: beyond it squares overflow.


def test_magnitudes_in_metrics(policies):
    message, large = "has .*expected numbers up to", 1e158
    draws, y = np.zeros((4, 5, 2)), np.zeros((5, 2))
    refuses(r"y_true has .*e\+158 in row 0", crps_score, y + large, draws)
    beyond = policies + large
    refuses(f"upper {message}", coverage_interval, policies, policies, beyond)
    refuses(f"p {message}", total_variation_distance, beyond, policies)
    refuses(f"particles {message}", InputBelief, np.full((3, 1), 1e160))
    infinite = np.full_like(policies, np.inf)  # no ends at all
    found = coverage_interval(policies, -infinite, infinite)
    assert found.coverage == [1.0]


# The message names the argument that is wrong, not another one.


def test_sample_weight(policies):
    message = r"sample_weight.* expected"
    refuses(message, policy_fragility, policies, sample_weight=np.full(N, np.nan))


def test_rows_of_different_length(policies, X):
    model = ridge_surrogate(1, steps=(3,), mask=[[True], [True, False]])
    refuses(r"'mask' parameter .* must be 'infer' or", model.fit, X, policies)
    refuses(r"\by\b", ridge_pce(1).fit, X[:3], [[1.0], [2.0], [1.0, 2.0]])


def test_regressors_that_refuse(X, y):
    model = ridge_pce(1, solver=None, regressor=LassoCV(cv=2))
    message = "'regressor' parameter is LassoCV.*expected"
    refuses(message, model.fit, X, y, sample_weight=np.eye(N)[0])
    model = ridge_pce(1, solver=None, regressor=KNeighborsRegressor())
    message = "expected a 'regressor' that does"
    refuses(message, model.fit, X, y, sample_weight=np.arange(N) + 1.0)


def test_parts(X):
    parts, message = {"a": X, "b": X[:, :2]}, "parts have the shapes .*; expected"
    refuses(message, part_effects, np.sum, parts, n_draws=16)
    message, sets = "'b' of sets must be a sequence of some", {"b": 1}
    refuses(message, part_effects, np.sum, dict.fromkeys("ac", X), sets=sets)
    parts, message = {"a": X, "b": X * 1e200}, "part .b. of parts has .*expected"
    refuses(message, part_effects, np.sum, parts, n_draws=16)


def test_names_of_parameters(X):
    found = Result({"step": ("a",)}, {"q2": np.ones(1)})
    refuses("column must be one of 'q2'", found.largest, [1])
    refuses("n_components=1000000", BetaVAE(10**6).fit, X)
    refuses("scores", NatafTransformer().fit(X).from_scores, np.zeros((2, 5)))


def test_nothing_goes_with_y():
    """Matching pursuit may stop before its first column."""
    X = np.array([[1.0], [1.0 + 1e-12]])
    model = PolynomialChaosRegressor(2, solver="lars", distribution=norm(0, 1))
    assert np.isfinite(model.fit(X, [0.0, 1.0]).coefficients_).all()


# Extremes that are no mistakes.


@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_modes_do_not_depend_on_the_unit(scale, X):
    """Trees read inputs in single precision, where 1e60 is infinite."""
    logits = np.outer(np.sign(X[:, 0]) * 3.0 + 0.1 * X[:, 1], [1.0, -1.0])
    y = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    rules = []
    for unit in (1.0, scale):
        model = ridge_surrogate(3, distribution="empirical", random_state=0)
        found = modes_test(model.fit(X * unit, y))
        assert found.bimodal == (True, True)
        rules.append((found.dip[0], found.expansion_dip[0], found.rule_accuracy[0]))
    assert_allclose(rules[0], rules[1], rtol=1e-6)


LEARNED = ["normal", "uniform", "exponential", "gamma", "beta"]


@pytest.mark.parametrize("kind", LEARNED)
@pytest.mark.parametrize("value", [5e19, -3.0, 0.0])
def test_moments_beside_a_constant_column(kind, value, rng):
    """Excess kurtosis is at least skewness squared minus 2, whatever the constant."""
    X = np.c_[rng.normal(size=30), np.full(30, value)]
    found = ridge_pce(2, distribution=["normal", kind]).fit(X, X[:, 0] ** 2).moments()
    assert found.kurtosis >= found.skewness**2 - 2.0
    expected = ridge_pce(2).fit(X[:, :1], X[:, 0] ** 2).moments()
    agree(found, expected, "kurtosis", rtol=0.05)


@pytest.mark.parametrize("kind", LEARNED)
def test_resamples_of_one_value(kind):
    """A resample of one member alone says nothing of the scale of an input."""
    X = np.array([[0.4, -3.5e-51], [-0.1, -1.9e-51]]) ** 2
    y = [[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]
    model = ridge_surrogate(6, distribution=kind, interaction_order=2)
    found = model.fit(np.abs(X) ** 0.5, y).sobol_interval(n_resamples=9, random_state=1)
    assert np.isfinite(found.total_order).all()


def test_counts_of_draws_are_compared_with_the_memory(fitted, X):
    many = 10**12
    message, draws = "GiB for n_samples=.*; expected less", {"n_samples": many}
    refuses(message, fitted.sample, **draws)
    refuses(message, fitted.predict_interval, None, **draws)
    refuses(message, NatafTransformer().fit(X).sample, many)
    refuses(message, sobol_indices, fitted, X, **draws)
    refuses("GiB for n_resamples=", fitted.sobol_interval, n_resamples=many)
    parts = {"a": X, "b": X}
    refuses("GiB for n_draws=", part_effects, np.sum, parts, n_draws=many)


# Powers of two, since Shapiro's test rounds to single precision before scipy 1.12.


def test_scores_that_hardly_vary(X):
    """With a frozen law 1e-250 is the middle of the distribution."""
    found = NatafTransformer(norm(0, 1)).fit(X * 1e-60)
    assert np.isfinite(found.transform(X * 1e-60)).all()
