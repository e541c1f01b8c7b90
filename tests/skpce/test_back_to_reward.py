"""From embedded inputs back to the entries of the reward, and its picture."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skpce import LogRatioTransformer, PolynomialChaosRegressor
from skpce.inspection import _back_to_reward, back_to_reward
from tests.shared import OLS, refuses, ridge_pce, ridge_surrogate
from tests.skpce.verdicts import verdict_by_hand

STEPS = {"catalyst": 3, "base": 2, "stop": 1}


def rewards(size=120, seed=0):
    """Six correlated entries; the policies follow the first source only."""
    rng = np.random.default_rng(seed)
    source = rng.normal(size=(size, 3)) * [2.0, 1.5, 1.0]
    mixing = np.random.default_rng(9).normal(size=(3, 6))
    X = 5.0 + source @ mixing + 0.1 * rng.normal(size=(size, 6))
    logits = np.c_[source[:, 0], 0.5 * source[:, 1], 0 * source[:, 0]]
    noise = rng.normal(size=(size, 2))
    y = [softmax(logits, axis=1), softmax(noise, axis=1), np.ones((size, 1))]
    return X, np.hstack(y)


@pytest.fixture(scope="module")
def fitted():
    X, y = rewards()
    pipeline = make_pipeline(
        StandardScaler(), PCA(3, whiten=True), ridge_surrogate(2, steps=STEPS)
    )
    return pipeline.fit(X, y), X


def test_moves_by_prediction(fitted):
    """The same moves through ``predict`` of the whole pipeline."""
    pipeline, X = fitted
    groups = {"one": [0], "pair": [1, 4], "all": range(6)}
    found = back_to_reward(pipeline, X, groups=groups)
    clr = LogRatioTransformer("clr", steps=STEPS, mask=np.ones(6, bool))
    clr.fit(pipeline.predict(X))
    whole = clr.transform(pipeline.predict(X))
    step = clr.coordinate_steps_
    mean = X.mean(axis=0)
    rows = ("catalyst:0", "catalyst:1", "catalyst:2", "base:0", "base:1")
    assert found.row_names == rows  # none of a step without choice
    for player, columns in enumerate(groups.values()):
        columns = list(columns)
        moved = np.tile(mean, (len(X), 1))
        moved[:, columns] = X[:, columns]
        part = clr.transform(pipeline.predict(moved))
        shift = np.zeros(6)
        shift[columns] = X.std(axis=0)[columns]
        up, down = (clr.transform(pipeline.predict(X + s * shift)) for s in (1, -1))
        effect = 0.5 * (up - down).mean(axis=0)
        for target in (0, 1):
            own = step == target
            variance = whole[:, own].var(axis=0).sum()
            assert found.predicted_variance[target] == pytest.approx(variance)
            alone = part[:, own].var(axis=0).sum() / variance
            share = found.variance_share[target, player]
            assert share == pytest.approx(alone, abs=1e-8)
            product = (part - part.mean(axis=0)) * (whole - whole.mean(axis=0))
            share = product[:, own].mean(axis=0).sum() / variance
            assert found.share[target, player] == pytest.approx(share, abs=1e-8)
            given = found.effect[found.row_targets == target, player]
            assert_allclose(given, effect[own], atol=1e-8)
            size = np.linalg.norm(effect[own])
            assert found.effect_size[target, player] == pytest.approx(size)
    assert_allclose(found.share[:2, 2], 1.0, atol=1e-9)
    assert_allclose(found.variance_share[:2, 2], 1.0, atol=1e-9)
    assert found.explained_alone is None


def test_a_nonlinear_embedding_is_moved_before_it(rng):
    X = rng.normal(size=(200, 3))
    pipeline = make_pipeline(
        FunctionTransformer(np.square), PolynomialChaosRegressor(1, **OLS)
    ).fit(X, X[:, 0] ** 2 + 2 * X[:, 1] ** 2)
    found = back_to_reward(pipeline, X)
    assert not found.linear
    squares = X[:, :2] ** 2 * [1, 2]
    whole = squares.sum(axis=1).var()
    assert_allclose(found.variance_share[0, :2], squares.var(axis=0) / whole)
    assert found.variance_share[0, 2] == pytest.approx(0, abs=1e-12)
    # f(x + s) - f(x - s) = 4 s x_i: nothing on average but for the mean of X.
    mean, s = X.mean(axis=0), X.std(axis=0)
    assert_allclose(found.effect[0, 0], 2 * s[0] * mean[0], atol=1e-9)
    explained = found.explained_alone[0]
    assert explained[1] == pytest.approx(found.variance_share[0, 1], abs=0.1)
    assert abs(explained[2]) < 0.1


def test_what_a_column_explains_alone_is_the_closed_form():
    """Between-bin share of draws of the components, with what PCA drops as noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 6))
    X += 0.3 * rng.normal(size=X.shape)
    y = X[:, 0] + 0.2 * X[:, 1] * X[:, 2]
    pipeline = make_pipeline(PCA(3), ridge_pce(2, distribution="normal")).fit(X, y)
    found = back_to_reward(pipeline, X)
    pca, size = pipeline[0], 400_000
    Z = rng.normal(size=(size, 3)) * pca.transform(X).std(axis=0)
    dropped = X - pca.inverse_transform(pca.transform(X))
    rows = pca.inverse_transform(Z) + dropped[rng.integers(400, size=size)]
    values = pipeline[-1].predict(Z)
    for i, x in enumerate(rows.T):
        blocks = values[np.argsort(x)].reshape(1000, -1)
        share = blocks.mean(axis=1).var() / values.var()
        assert found.explained_alone[0, i] == pytest.approx(share, abs=0.01)


class Watched(TransformerMixin, BaseEstimator):
    """Principal components that remember the largest table they saw."""

    def fit(self, X, y=None):
        self.pca_ = PCA(2).fit(X)
        self.largest_ = 0
        return self

    def transform(self, X):
        self.largest_ = max(self.largest_, np.size(X))
        return self.pca_.transform(X)


def test_tables_of_moved_rows_stay_small():
    X = np.random.default_rng(0).normal(size=(10, 5000))
    model = make_pipeline(Watched(), ridge_pce(1)).fit(X, X[:, 0])
    model[0].largest_ = 0
    found = back_to_reward(model, X, groups={"a": [0], "b": [1]})
    V = model[0].pca_.components_
    assert_allclose(found.retained, np.square(V).sum(axis=0)[:2], atol=1e-12)
    assert model[0].largest_ <= _back_to_reward._LARGEST_TABLE < X.shape[1] ** 2


def agreement_with_solving_again(n_components, seed):
    """R² of predicted against actual changes, each entry up by one deviation."""
    rng = np.random.default_rng(seed)
    source = rng.normal(size=(100, 3))
    X = 0.5 * source @ rng.normal(size=(3, 12)) + 0.5 * rng.normal(size=(100, 12))
    choice = np.arange(12) // 4  # an object is of one of three actions

    def solve(X):
        weights = [np.exp(X[:, choice == k]).sum(axis=1) for k in range(3)]
        policy = np.column_stack(weights)
        return policy / policy.sum(axis=1, keepdims=True)

    pipeline = make_pipeline(PCA(n_components, whiten=True), ridge_surrogate(2))
    found = back_to_reward(pipeline.fit(X, solve(X)), X)
    clr = LogRatioTransformer("clr").fit(solve(X))
    actual = np.empty_like(found.effect)
    for i in range(12):
        shift = X.std(axis=0)[i] * np.eye(12)[i]
        up, down = (clr.transform(solve(X + s * shift)) for s in (1, -1))
        actual[:, i] = 0.5 * (up - down).mean(axis=0)
    error = np.square(found.effect - actual).sum()
    return 1 - error / np.square(actual - actual.mean()).sum(), found


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_predicted_changes_are_those_of_rewards_solved_again(seed):
    """If the embedding retains the entries; else the result says that it does not."""
    r2, found = agreement_with_solving_again(12, seed)
    assert r2 > 0.9
    assert_allclose(found.retained, 1.0)
    assert found.cautions == ()
    few, found = agreement_with_solving_again(3, seed)
    assert few < 0.8
    assert found.supported == (True,)
    assert found.retained.mean() == pytest.approx(0.25, abs=0.1)
    assert "retains less than half of a move of" in str(found)


def test_what_is_retained_of_a_move_is_the_projection():
    X = np.random.default_rng(0).normal(size=(50, 5)) @ np.diag([5, 4, 3, 2, 1.0])
    model = make_pipeline(PCA(2), ridge_pce(1)).fit(X, X[:, 0])
    V = model[0].components_
    alone = back_to_reward(model, X)
    assert_allclose(alone.retained, np.square(V).sum(axis=0), atol=1e-9)
    pair = back_to_reward(model, X, groups={"pair": [0, 3]})
    s = X.std(axis=0)[[0, 3]]
    image = V[:, [0, 3]] @ s
    assert_allclose(pair.retained, [image @ image / (s @ s)], atol=1e-9)
    squares = make_pipeline(FunctionTransformer(np.square), ridge_pce(1))
    assert np.isnan(back_to_reward(squares.fit(X, X[:, 0]), X).retained).all()


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_moves_that_leave_the_domain_of_a_step_have_no_effect(display_class):
    X = np.exp(np.random.default_rng(0).normal(size=(100, 2)) * [1.0, 0.1])
    model = make_pipeline(FunctionTransformer(np.log), ridge_pce(1))
    found = back_to_reward(model.fit(X, np.log(X).sum(axis=1)), X)
    assert np.isnan(found.effect[0, 0])
    assert found.effect[0, 1] == pytest.approx(0.1, rel=0.2)
    assert found.share[0, 0] > 0.9
    (caution,) = found.cautions
    assert caution.startswith("1 of 2 features (x0) have no effect of one standard")
    display = display_class(found).plot(kind="heatmap", measure="effect_size")
    assert display.leading(0, "effect_size").tolist() == [1, 0]
    assert display.image_.get_clim()[1] == pytest.approx(found.effect[0, 1])


# The picture.


@pytest.fixture
def display_class():
    pytest.importorskip("matplotlib").use("Agg")
    from skpce.plotting import RewardEffectsDisplay

    return RewardEffectsDisplay


def test_bars_are_the_leading_features(fitted, display_class):
    pipeline, X = fitted
    display = display_class.from_estimator(pipeline, X, n_shown=4)
    share = display.effects.share[0]
    leading = np.argsort(-np.abs(share))[:4]
    assert_array_equal(display.leading(0, "share", 4), leading)
    widths = [bar.get_width() for bar in display.bars_[0]]
    assert_allclose(widths, share[leading])
    ticks = [text.get_text() for text in display.axes_[0].get_yticklabels()]
    assert ticks == [f"x{i}" for i in leading]
    titles = [ax.get_title(loc="left") for ax in display.axes_]
    assert titles[0].startswith("catalyst\nnot predicted: 0.")
    assert titles[1].endswith("not attributable")
    assert titles[2] == "stop\nno variance"
    hatched = [bool(bars[0].get_hatch()) for bars in display.bars_]
    assert hatched == [False, True, True]
    for measure in ("variance_share", "effect_size"):
        widths = [b.get_width() for b in display.plot(measure=measure).bars_[0]]
        assert widths == sorted(widths, reverse=True)


def test_a_verdict_decides(fitted, display_class):
    pipeline, X = fitted
    verdict = verdict_by_hand(tuple(STEPS), (False,) * len(STEPS))
    display = display_class.from_estimator(pipeline, X, verdict=verdict)
    title = display.axes_[0].get_title(loc="left")
    assert title == "catalyst\nnot predicted: 0.50\nnot attributable"
    other = make_pipeline(PCA(2), ridge_pce(1)).fit(X, X[:, 0])
    draw = display_class.from_estimator
    refuses("verdict is about the steps", draw, other, X, verdict=verdict)
    message = "target=3 must be an int from 0 to 2"
    refuses(message, display.plot, kind="heatmap", target=3)
