"""Conditional means, marginals and slopes against quadrature and differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from numpy.polynomial.legendre import leggauss
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm, uniform

from skpce import Expansion, InputOutsideSupportWarning, PolynomialChaosRegressor
from tests.shared import cases, refuses

pandas = pytest.importorskip("pandas")

LAWS = [norm(1, 2), uniform(-1, 3), norm(0, 0.5)]


# One of the targets of ``function`` is constant.
pytestmark = pytest.mark.filterwarnings("ignore::skpce.ConstantTargetWarning")


PCE = PolynomialChaosRegressor


def draw(n_samples, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([law.rvs(size=n_samples, random_state=rng) for law in LAWS])


def function(X):
    a, b, c = X.T
    one = a + b**2 * c + 0.3 * a * b
    return np.column_stack([one, c**3 - a * c, np.full(len(X), 4.0)])


@pytest.fixture(scope="module")
def model():
    X = draw(200)
    return PCE(3, distribution=LAWS, solver="ols").fit(X, function(X))


def rule(i, n_nodes=8):
    """Nodes and weights of input i, from numpy."""
    if i == 1:
        nodes, weights = leggauss(n_nodes)
        return 0.5 + 1.5 * nodes, weights / weights.sum()
    nodes, weights = hermegauss(n_nodes)
    return LAWS[i].mean() + LAWS[i].std() * nodes, weights / weights.sum()


def average_over_the_others(X, features):
    others = [i for i in range(3) if i not in features]
    total = np.zeros((len(X), 3))
    for nodes in itertools.product(*(zip(*rule(i), strict=True) for i in others)):
        moved = X.copy()
        moved[:, others] = [node for node, _ in nodes]
        total += np.prod([weight for _, weight in nodes]) * function(moved)
    return total


SETS = [[0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]]


@pytest.mark.parametrize("features", SETS)
def test_marginals_average_over_the_other_inputs(model, features):
    X = draw(20, seed=1)
    expected = average_over_the_others(X, features)
    found = model.conditional_expectation(X, features)
    assert_allclose(found, expected, atol=1e-9)
    hidden = np.full_like(X, np.nan)
    hidden[:, features] = X[:, features]
    assert_array_equal(model.conditional_expectation(hidden, features), found)
    if len(features) == 1:
        effect = model.main_effects(X)[:, features[0]]
        assert_allclose(effect, expected - model.coefficients_[:, 0], atol=1e-9)
    narrow = model.marginal(features)
    assert isinstance(narrow, Expansion)
    assert narrow.n_inputs == len(features)
    assert_allclose(narrow(X[:, features]), found, atol=1e-12)
    share = model.closed_sobol_index(features)
    assert_allclose(narrow.total_variance, share * model.total_variance_, atol=1e-12)
    assert np.isnan(narrow.q2).all()
    assert narrow.moments().mean == pytest.approx(model.moments().mean)


def test_other_columns_are_not_checked_and_the_chosen_ones_are(model):
    X = draw(4)
    X[0, 1] = 50.0  # outside [-1, 2]
    model.conditional_expectation(X, [0, 2])
    with pytest.warns(InputOutsideSupportWarning, match="1 of 4 values of x1"):
        model.conditional_expectation(X, 1)
    X[0, 0] = np.nan
    refuses("Input X contains NaN", model.conditional_expectation, X, 0)
    refuses("expecting 3 features", model.conditional_expectation, X[:, :1], 0)


def test_marginal_has_the_names():
    X = pandas.DataFrame(draw(100), columns=["a", "b", "c"])
    pce = PCE(2, distribution=LAWS).fit(X, function(X.to_numpy())[:, 0])
    narrow = pce.marginal(["c", "a"])
    assert list(narrow.input_names) == ["a", "c"]
    assert_allclose(narrow(X[["a", "c"]]), pce.conditional_expectation(X, ["a", 2]))
    assert narrow(X[["a", "c"]]).shape == (100,)
    refuses(r"X has the inputs \['a', 'b'\]", narrow, X[["a", "b"]])
    refuses(r"X has shape \(.*\); expected 2 features", narrow, draw(3))
    assert narrow.marginal("c").input_names == ("c",)


@cases(
    ("features", "message"),
    ([], "one or more inputs"),
    ([0, 0], "each of them once"),
    (3, "has 3; expected .* a position from 0 to 2"),
    ("nothing", "has 'nothing'; expected one of x0, x1, x2 or"),
)
def test_unknown_inputs_are_refused(model, features, message):
    indices = model.sobol_index, model.closed_sobol_index, model.total_sobol_index
    for call in (*indices, model.marginal):
        refuses(message, call, features)
    refuses(message, model.conditional_expectation, draw(3), features)


def test_gradient_of_a_polynomial_is_known(model):
    X = draw(20, seed=1)
    a, b, c = X.T
    zero = np.zeros(20)
    expected = [
        [1 + 0.3 * b, 2 * b * c + 0.3 * a, b**2],
        [-c, zero, 3 * c**2 - a],
        [zero, zero, zero],
    ]
    assert_allclose(model.gradient(X), np.moveaxis(expected, 2, 0), atol=1e-9)


def test_categorical_inputs_have_no_slope(rng):
    X = np.column_stack([rng.integers(0, 3, size=60), rng.normal(size=60)])
    pce = PCE(2, distribution=["categorical", norm(0, 1)], solver="ols")
    pce.fit(X, X[:, 1] * (1 + X[:, 0]))
    refuses("no derivative", pce.gradient, X)
    share = np.bincount(X[:, 0].astype(int)) / 60
    only = pce.main_effects(X)
    assert_allclose(share @ [1, 2, 3] * X[:, 1], only[:, 1], atol=1e-9)


def test_frame_of_pairs(model):
    frame = model.sobol_frame(order=2)
    assert frame["input"].tolist()[:6] == ["x0", "x1", "x2", "x0*x1", "x0*x2", "x1*x2"]
    pairs = frame[frame["order"] == 2]
    assert pairs["shapley"].isna().all()
    found = pairs.set_index(["target", "input"])["first_order"]
    for target, (i, j) in itertools.product(range(3), [(0, 1), (0, 2), (1, 2)]):
        expected = model.sobol_index([i, j])[target]
        assert found[target, f"x{i}*x{j}"] == pytest.approx(expected)
    sums = model.sobol_frame(order=3).groupby("target")["first_order"].sum()
    assert_allclose(sums, [1, 1, 0], atol=1e-9)


def test_frame_with_intervals(model):
    frame = model.sobol_frame(order=2, ci=0.8)
    singles, pairs = (frame[frame["order"] == order] for order in (1, 2))
    assert (singles["low"] <= singles["high"]).all()
    assert (singles["first_low"] <= singles["first_high"]).all()
    names = ["low", "high", "first_low", "first_high"]
    assert pairs[names].isna().all(axis=None)
