"""Indices of any fitted model: against Monte Carlo, closed forms, and refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor

from skpce.inspection import shapley_effects, sobol_indices
from tests.shared import CIRCLE, cases, ishigami, refuses


@pytest.fixture(scope="module")
def box():
    return np.random.default_rng(0).uniform(-np.pi, np.pi, size=(1000, 3))


@pytest.fixture(scope="module")
def normal_rows():
    return np.random.default_rng(1).normal(size=(300, 3)) * [1.0, 2.0, 3.0]


def monte_carlo(model, n_features=3):
    draws = {"n": 2**13, "random_state": np.random.default_rng(5)}
    laws = [CIRCLE] * n_features
    return stats.sobol_indices(func=lambda x: model(x.T), dists=laws, **draws)


def test_ishigami_itself(box):
    found = sobol_indices(ishigami, box, distribution=CIRCLE, random_state=0)
    assert found.supported == (True,)
    assert found.fidelity[0] > 0.9999
    assert_allclose(found.total_order[0], [0.5576, 0.4424, 0.2437], atol=1e-3)
    assert_allclose(found.first_order[0], [0.3139, 0.4424, 0.0], atol=1e-3)
    assert_allclose(found.shapley[0], [0.4357, 0.4424, 0.1218], atol=1e-3)
    assert np.ptp(found.total_order_interval, axis=0).max() < 0.01
    effects = shapley_effects(ishigami, box, distribution=CIRCLE, random_state=0)
    assert_allclose(effects.effects, found.shapley, rtol=1e-12)
    assert found.total_variance[0] == pytest.approx(13.845, rel=1e-3)


@pytest.mark.parametrize("seed", [0, 1])
@cases(
    "model",
    RandomForestRegressor(50, min_samples_leaf=5, random_state=0),
    KNeighborsRegressor(5, weights="distance"),
    ids=["forest", "neighbours"],
)
def test_a_fitted_model_against_monte_carlo(box, model, seed):
    """Truth in the intervals, up to the error of Monte Carlo."""
    model.fit(box, ishigami(box))
    given = {"distribution": CIRCLE, "n_samples": 100, "random_state": seed}
    found = sobol_indices(model, box, **given)
    truth = monte_carlo(model.predict)
    assert found.fidelity[0] < 0.95  # the expansion is another function
    for estimate, ends, value in [
        (found.first_order, found.first_order_interval, truth.first_order),
        (found.total_order, found.total_order_interval, truth.total_order),
    ]:
        assert_allclose(estimate[0], value, atol=0.06)
        assert np.all(ends[0, 0] - 0.02 <= value)
        assert np.all(value <= ends[1, 0] + 0.02)
    variance = model.predict(CIRCLE.rvs((40_000, 3), random_state=3)).var()
    assert found.total_variance[0] == pytest.approx(variance, rel=0.05)


@pytest.mark.slow
def test_intervals_of_a_model_that_the_expansion_misses(normal_rows):
    """A step, and steps that act together."""

    def steps(X):
        return (X[:, 0] > 0) + 2.0 * (X[:, 1] > 0) * (X[:, 2] > 0)

    first, total = np.full(3, 0.25), np.array([0.25, 0.5, 0.5])
    X = np.vstack([normal_rows, -normal_rows])  # half of each column is positive
    held = []
    for seed in range(40):
        found = sobol_indices(steps, X, n_samples=60, random_state=seed)
        assert found.fidelity[0] < 0.9
        for ends, value in [
            (found.first_order_interval, first),
            (found.total_order_interval, total),
        ]:
            held.append((ends[0, 0] <= value) & (value <= ends[1, 0]))
    assert 0.85 < np.mean(held) < 0.97


def test_rare_events_are_not_supported(normal_rows):
    """A few predictions have the variance: intervals would be too narrow."""

    def rare(X):
        return ((X[:, 0] > 1.5) & (X[:, 1] > 3.0)) * 1.0

    found = sobol_indices(rare, normal_rows, random_state=0)
    assert found.supported == (False,)
    assert "a few predictions have nearly all of the variance" in found.reasons[0][0]


def test_shapley_effects_of_what_the_expansion_misses(box):
    """Two columns that act only together have a half each of what they do."""

    def waves(X):
        return np.sin(40 * X[:, 0]) * np.sin(40 * X[:, 1]) + 0.5 * X[:, 2]

    found = sobol_indices(waves, box, distribution=CIRCLE, random_state=0)
    assert_allclose(found.shapley[0], [0.117, 0.117, 0.767], atol=0.03)
    ignored = sobol_indices(lambda X: np.tanh(3 * X[:, 0]), box, random_state=0)
    assert not ignored.shapley[0, 1:].any()


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


LABELS = np.random.default_rng(2).choice(["u", "v", "w"], 400, p=[0.5, 0.3, 0.2])
LABELLED = pd.DataFrame({"c": LABELS, "a": np.random.default_rng(3).normal(size=400)})


@cases(
    "X",
    LABELLED,
    LABELLED.astype({"c": "category"}),
    LABELLED.set_axis([7, 3], axis=1),
    pl.from_pandas(LABELLED),
    pl.from_pandas(LABELLED.astype({"c": "category"})),
    ids=["text", "category", "numbered", "polars", "polars category"],
)
def test_labels_are_drawn_as_often_as_they_are_seen(X):
    """In the container and types of X; against shares in closed form."""
    label, number = X.columns

    def model(rows):
        assert type(rows) is type(X)
        assert rows[label].dtype == X[label].dtype
        return np.asarray(rows[number]) + 2.0 * (np.asarray(rows[label]) == "u")

    found = sobol_indices(model, X, random_state=0)
    assert found.supported == (True,)
    parts = np.array([4.0 * np.var(LABELS == "u"), LABELLED["a"].var(ddof=0)])
    assert_allclose(found.total_order[0], parts / parts.sum(), atol=1e-6)
    effects = shapley_effects(model, X, random_state=0)
    assert_allclose(effects.effects[0], parts / parts.sum(), atol=1e-6)


def test_a_label_that_depends_on_a_number_is_named():
    X = LABELLED.assign(a=LABELLED["a"] + 3.0 * (LABELS == "u"))
    found = sobol_indices(lambda X: np.asarray(X["a"]), X, random_state=0)
    assert "c and a are correlated" in found.reasons[0][0]


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
    assert found.reasons[0] == ("the predictions do not vary",)
    assert not found.total_order.any()


def test_a_model_that_draws_is_refused(normal_rows, rng):
    def draws(X):
        return X[:, 0] + rng.normal(size=len(X))

    for indices in (sobol_indices, shapley_effects):
        refuses("predicts other values for the same rows", indices, draws, normal_rows)


def test_a_callable_sees_only_rows_after_every_check(normal_rows):
    def never(X):
        raise AssertionError("called")

    one = {"distribution": ["normal"]}
    refuses("1 entries but X has 3", sobol_indices, never, normal_rows, **one)
    refuses("NaN", sobol_indices, never, np.full((5, 2), np.nan))


def test_estimators_that_cannot_answer(normal_rows):
    with pytest.raises(NotFittedError):
        sobol_indices(LinearRegression(), normal_rows)
    fitted = LinearRegression().fit(normal_rows, normal_rows[:, 0])
    refuses("X has 2 features; expected", sobol_indices, fitted, normal_rows[:, :2])
    with pytest.raises(ValueError, match="PCA has no 'predict'; expected by sobol"):
        sobol_indices(PCA().fit(normal_rows), normal_rows)
    refuses("shape \\(3,\\)", sobol_indices, lambda X: np.ones(3), normal_rows)
    refuses("Rescale it", sobol_indices, lambda X: 1e-100 * X[:, 0], normal_rows)
