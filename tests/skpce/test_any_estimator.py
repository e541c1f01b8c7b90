"""Indices of any fitted model: against Monte Carlo, closed forms, and refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.stats import uniform
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpce.inspection import shapley_effects, sobol_indices
from tests.shared import cases, refuses

LAW = uniform(-np.pi, 2 * np.pi)


def ishigami(X):
    return np.sin(X[:, 0]) * (1 + 0.1 * X[:, 2] ** 4) + 7 * np.sin(X[:, 1]) ** 2


@pytest.fixture(scope="module")
def box():
    return np.random.default_rng(0).uniform(-np.pi, np.pi, size=(1000, 3))


@pytest.fixture(scope="module")
def normal_rows():
    return np.random.default_rng(1).normal(size=(300, 3)) * [1.0, 2.0, 3.0]


def monte_carlo(model, n_features=3):
    draws = {"n": 2**13, "random_state": np.random.default_rng(5)}
    laws = [LAW] * n_features
    return stats.sobol_indices(func=lambda x: model(x.T), dists=laws, **draws)


def test_ishigami_itself(box):
    found = sobol_indices(ishigami, box, distribution=LAW, random_state=0)
    assert found.supported == (True,)
    assert found.fidelity[0] > 0.9999
    assert_allclose(found.total_order[0], [0.5576, 0.4424, 0.2437], atol=1e-3)
    assert_allclose(found.first_order[0], [0.3139, 0.4424, 0.0], atol=1e-3)
    assert_allclose(found.shapley[0], [0.4357, 0.4424, 0.1218], atol=1e-3)
    effects = shapley_effects(ishigami, box, distribution=LAW, random_state=0)
    assert_array_equal(effects.effects, found.shapley)
    assert found.model_variance[0] == pytest.approx(13.845, rel=1e-3)
    assert np.all(found.total_order_bounds[0] <= found.total_order + 1e-3)
    assert np.all(found.total_order_bounds[1] >= found.total_order - 1e-3)
    assert np.ptp(found.total_order_bounds, axis=0).max() < 0.01


@pytest.mark.parametrize("seed", [0, 1])
@cases(
    "model",
    RandomForestRegressor(50, min_samples_leaf=5, random_state=0),
    KNeighborsRegressor(5, weights="distance"),
    ids=["forest", "neighbours"],
)
def test_a_fitted_model_against_monte_carlo(box, model, seed):
    """Truth within the bounds, up to the error of Monte Carlo."""
    model.fit(box, ishigami(box))
    found = sobol_indices(model, box, distribution=LAW, random_state=seed)
    truth = monte_carlo(model.predict)
    assert found.fidelity[0] > 0.8
    slack = 0.02
    for bounds, value in [
        (found.first_order_bounds, truth.first_order),
        (found.total_order_bounds, truth.total_order),
    ]:
        assert np.all(bounds[0, 0] - slack <= value)
        assert np.all(value <= bounds[1, 0] + slack)
    assert_allclose(found.first_order[0], truth.first_order, atol=0.06)
    assert_allclose(found.total_order[0], truth.total_order, atol=0.06)
    variance = model.predict(LAW.rvs((40_000, 3), random_state=3)).var()
    assert found.model_variance[0] == pytest.approx(variance, rel=0.03)


def test_bounds_hold_when_the_degree_is_too_low(box):
    found = sobol_indices(ishigami, box, distribution=LAW, degree=3, random_state=0)
    assert found.supported == (False,)
    assert "the expansion reproduces" in found.reasons[0][0]
    truth = np.array([0.5576, 0.4424, 0.2437])
    assert np.all(found.total_order_bounds[0, 0] <= truth)
    assert np.all(truth <= found.total_order_bounds[1, 0])
    assert not np.allclose(found.total_order[0], truth, atol=0.05)


def test_a_linear_model_in_closed_form(normal_rows):
    slopes = np.array([3.0, 2.0, 0.0])
    model = LinearRegression().fit(normal_rows, normal_rows @ slopes + 7)
    found = sobol_indices(model, normal_rows, random_state=0, solver="ols")
    part = (slopes * normal_rows.std(axis=0)) ** 2
    assert_allclose(found.first_order[0], part / part.sum(), atol=1e-9)
    assert_allclose(found.total_order[0], part / part.sum(), atol=1e-9)
    assert_allclose(found.shapley[0], part / part.sum(), atol=1e-9)
    assert found.total_variance[0] == pytest.approx(part.sum())
    assert found.fidelity[0] == pytest.approx(1.0)
    assert 0.01 < found.outside_share < 0.12
    assert found.supported == (True,)


def test_the_laws_are_those_of_x_and_not_of_the_design(normal_rows):
    """The variance is exact: no sampling error of the design in the scales."""
    for seed in (0, 1):
        few = {"n_samples": 50, "random_state": seed}
        found = sobol_indices(lambda X: X[:, 0], normal_rows, **few)
        assert found.total_variance[0] == pytest.approx(normal_rows[:, 0].var(), 1e-5)


def test_fidelity_is_that_of_the_held_out_points():
    """A step under a normal law: a line explains 2/pi of its variance."""
    X = np.random.default_rng(0).normal(size=(500, 1))
    X = (X - X.mean()) / X.std()
    found = sobol_indices(
        lambda X: np.sign(X[:, 0]), X, degree=1, n_samples=20_000, random_state=0
    )
    error = found.fidelity_standard_error[0]
    assert abs(found.fidelity[0] - 2 / np.pi) < 4 * error
    assert 0.01 < error < 0.05
    assert not found.supported[0]
    assert "reproduces 6" in found.reasons[0][0]


def test_tails_that_no_point_has_seen_are_a_reason():
    """A wave under a normal law: high Hermite degrees explode outside the points."""
    X = np.random.default_rng(0).normal(size=(200, 1))

    def wave(X):
        return np.sin(6 * X[:, 0])

    given = {"n_samples": 40, "solver": "ols", "random_state": 0}
    found = sobol_indices(wave, X, degree=11, **given)
    assert found.total_variance[0] > 2
    assert any("tails that no point has seen" in r for r in found.reasons[0])
    chosen = sobol_indices(wave, X, **given)
    assert chosen.total_variance[0] < 1


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_heavy_tails_of_an_exact_expansion_are_no_reason(seed):
    """x^5 has a larger variance than its samples show, and is exact."""
    X = np.random.default_rng(0).normal(size=(200, 1))
    mean, scale = X.mean(), X.std()
    given = {"n_samples": 100, "solver": "ols", "random_state": seed}
    found = sobol_indices(lambda Z: ((Z[:, 0] - mean) / scale) ** 5, X, **given)
    assert found.supported == (True,)


def test_the_standard_error_is_the_spread_over_designs(normal_rows):
    def model(X):
        return X[:, 0] * np.abs(X[:, 1])

    runs = [
        sobol_indices(model, normal_rows, degree=3, random_state=seed)
        for seed in range(30)
    ]
    spread = np.std([run.fidelity[0] for run in runs])
    stated = np.mean([run.fidelity_standard_error[0] for run in runs])
    assert 0.5 < spread / stated < 2.0


def test_correlated_columns_are_named(rng):
    values = rng.multivariate_normal([0, 0], [[1, -0.8], [-0.8, 1]], size=200)
    X = pd.DataFrame(values, columns=["width", "height"])
    found = sobol_indices(lambda X: X["width"], X, random_state=0)
    assert found.fidelity[0] > 0.999
    assert not found.supported[0]
    assert "width and height are correlated" in found.reasons[0][0]
    assert found.largest_correlation == pytest.approx(abs(np.corrcoef(values.T)[0, 1]))


def test_correlation_by_chance_is_no_reason():
    X = np.random.default_rng(3).normal(size=(12, 6))
    assert np.abs(np.triu(np.corrcoef(X.T), 1)).max() > 0.3
    found = sobol_indices(lambda X: X[:, 0], X, random_state=0)
    assert not any("correlat" in reason for reason in found.reasons[0])


def test_a_design_off_the_data_is_a_reason(rng):
    """A circle: no correlation, and yet dependent."""
    angle = rng.uniform(0, 2 * np.pi, size=500)
    X = np.c_[np.cos(angle), np.sin(angle)] + 0.02 * rng.normal(size=(500, 2))
    found = sobol_indices(lambda X: X[:, 0], X, random_state=0)
    assert found.largest_correlation < 0.2
    assert found.outside_share > 0.5
    assert "the model extrapolates" in found.reasons[0][0]


def test_data_frames_and_names(normal_rows):
    X = pd.DataFrame(normal_rows, columns=["a", "b", "c"])
    y = pd.DataFrame({"one": X["a"], "two": X["b"] * X["c"]})
    model = make_pipeline(StandardScaler(), KNeighborsRegressor()).fit(X, y)
    found = sobol_indices(model, X, n_samples=100, random_state=0)
    assert found.feature_names == ("a", "b", "c")
    assert found.target_names == ("y0", "y1")
    frame = found.to_frame()
    assert frame.shape[0] == 6
    assert frame["feature"].tolist() == ["a", "b", "c"] * 2
    assert set(frame["supported"]) <= {True, False}
    row = frame[(frame["target"] == "y1") & (frame["feature"] == "c")].iloc[0]
    assert row["total_order"] == found.total_order[1, 2]
    assert row["reasons"] == "; ".join(found.reasons[1])


def test_classifiers_answer_with_probabilities(normal_rows):
    two = np.where(normal_rows[:, 0] > 0, "yes", "no")
    model = LogisticRegression().fit(normal_rows, two)
    found = sobol_indices(model, normal_rows, random_state=0)
    assert found.target_names == ("yes",)
    assert np.argmax(found.total_order[0]) == 0
    three = np.digitize(normal_rows[:, 1], [-1, 1])
    model = RandomForestClassifier(20, random_state=0).fit(normal_rows, three)
    found = sobol_indices(model, normal_rows, n_samples=200, random_state=0)
    assert found.target_names == ("0", "1", "2")
    assert set(np.argmax(found.total_order, axis=1)) == {1}
    line = LogisticRegression().fit(normal_rows, two)
    refuses("give its method predict_proba", sobol_indices, line.predict, normal_rows)
    found = sobol_indices(line.decision_function, normal_rows, random_state=0)
    assert_allclose(found.fidelity, 1)


def test_columns_that_do_not_vary_stay_fixed(normal_rows):
    X = np.c_[normal_rows, np.full(len(normal_rows), 5.0)]

    def model(X):
        assert np.all(X[:, 3] == 5.0)
        return X[:, 0] * X[:, 3] + X[:, 3]

    found = sobol_indices(model, X, distribution=["normal"] * 4, random_state=0)
    assert_allclose(found.total_order[0], [1, 0, 0, 0], atol=1e-6)
    refuses("no column that varies", sobol_indices, model, np.ones((5, 2)))


def test_a_constant_model_has_no_attribution(normal_rows):
    found = sobol_indices(lambda X: np.full(len(X), 2.0), normal_rows, random_state=0)
    assert found.supported == (False,)
    assert found.reasons[0] == ("the predictions do not vary",)
    assert np.isnan(found.fidelity[0])
    assert not found.total_order.any()


def test_a_callable_sees_only_rows_after_every_check(normal_rows):
    def never(X):
        raise AssertionError("called")

    one = {"distribution": ["normal"]}
    refuses("1 entries but X has 3", sobol_indices, never, normal_rows, **one)
    refuses("'solver'", sobol_indices, never, normal_rows, solver="magic")
    refuses("NaN", sobol_indices, never, np.full((5, 2), np.nan))
    refuses("'dependence'", shapley_effects, never, normal_rows, dependence="copula")


def test_estimators_that_cannot_answer(normal_rows):
    with pytest.raises(NotFittedError):
        sobol_indices(LinearRegression(), normal_rows)
    fitted = LinearRegression().fit(normal_rows, normal_rows[:, 0])
    refuses("X has 2 features; expected", sobol_indices, fitted, normal_rows[:, :2])
    with pytest.raises(ValueError, match="PCA has no 'predict'; expected by sobol"):
        sobol_indices(PCA().fit(normal_rows), normal_rows)
    refuses("shape \\(3,\\)", sobol_indices, lambda X: np.ones(3), normal_rows)
    with pytest.raises(ValueError, match="NaN or infinity"):
        sobol_indices(lambda X: np.full(len(X), np.nan), normal_rows)
    refuses("list of 2 arrays", sobol_indices, lambda X: [X, X], normal_rows)
