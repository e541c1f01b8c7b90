"""Displays draw when called, on the given axes, and are never too optimistic."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skpce.metrics import coverage_interval, policy_fragility
from skpce.plotting import (
    ConvergenceDisplay,
    CoverageDisplay,
    EmbeddingDisplay,
    InteractionDisplay,
    MainEffectsDisplay,
    PolicyDistributionDisplay,
    SobolDisplay,
    StepVarianceDisplay,
)
from tests.shared import cases, ridge_surrogate
from tests.skpce.verdicts import verdict_by_hand

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

STEPS = {"first": 3, "second": 2, "third": 4}


@pytest.fixture(autouse=True)
def _no_figure_stays():
    assert plt.get_fignums() == []
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def fitted(ensemble):
    X, y = ensemble
    return ridge_surrogate(2, steps=STEPS).fit(X, y)


@pytest.fixture(scope="module")
def pipeline(ensemble):
    X, y = ensemble
    surrogate = ridge_surrogate(1, steps=STEPS, random_state=0)
    return make_pipeline(StandardScaler(), PCA(2, whiten=True), surrogate).fit(X, y)


def make_verdict(attributable=(True, False, True), q2=(0.6, 0.1, 0.9)):
    return verdict_by_hand(tuple(STEPS), attributable, q2, interval=(0.0, 1.0))


FLOWS = [[0.3, 0.0], [0.1, 0.2], [0.05, 0.0], [0.15, 0.2]]
POLICIES = [[0.9, 0.1, 0.2, 0.3, 0.5], [0.5, 0.5, 0.3, 0.3, 0.4]]
LINE = np.linspace(-1, 1, 5)


def displays():
    return {
        "variance": StepVarianceDisplay(
            policy_fragility(POLICIES, steps={"a": 2, "b": 3})
        ),
        "effects": MainEffectsDisplay([LINE], [LINE[:, np.newaxis]], ["x0"], ["y"]),
        "pairs": InteractionDisplay([[0.5, 0], [0.2, 0.1]], 0.1, 0.1, ["x0", "x1"]),
        "embedding": EmbeddingDisplay(
            np.eye(2), np.c_[LINE, LINE], np.c_[LINE, LINE], ["x0", "x1"]
        ),
        "convergence": ConvergenceDisplay(
            [10, 20], np.array([[[0.1], [0.5]], [[-3.0], [0.4]]]), ["a"]
        ),
        "sobol": SobolDisplay(np.array([[0.7, 0.2]]), [0.4], ["a"], ["x0", "x1"]),
        "coverage": CoverageDisplay([0.5, 0.9], {"plain": [0.4, 0.8]}, n_members=9),
        "policies": PolicyDistributionDisplay.from_samples(
            {"ensemble": np.array([[0.2, 0.8], [0.4, 0.6]])}, ["left", "right"]
        ),
    }


@pytest.mark.slow
def test_matplotlib_is_not_imported_before_something_is_drawn():
    code = (
        "import sys, numpy as np, skpce; skpce.report; import skpce.plotting as p;"
        "p.CoverageDisplay([0.5], {'plain': [0.5]});"
        "p.SobolDisplay(np.ones((1, 1)), [0.5], ['a'], ['x0']).shares;"
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", list(displays()))
def test_a_missing_matplotlib_names_the_extra(name, monkeypatch):
    for module in [m for m in sys.modules if m.startswith("matplotlib")]:
        monkeypatch.setitem(sys.modules, module, None)
    expected = r'a display needs matplotlib: pip install "\.\[plot\]", in a copy of'
    with pytest.raises(ImportError, match=expected):
        displays()[name].plot()


@pytest.mark.parametrize("name", list(displays()))
def test_contract_of_the_displays(name):
    display = displays()[name]
    assert plt.get_fignums() == []
    assert not hasattr(display, "ax_")
    assert display.plot() is display
    assert display.figure_ is display.ax_.figure
    assert len(plt.get_fignums()) == 1
    _, ax = plt.subplots(layout="constrained")
    assert display.plot(ax=ax).figure_ is ax.figure
    if not hasattr(display, "axes_") or len(display.axes_) == 1:
        assert display.ax_ is ax
    else:
        assert display.axes_[0] is display.ax_
        given = plt.subplots(1, len(display.axes_))[1]
        assert display.plot(ax=given).axes_ == list(given)
        plt.close(given[0].figure)
    assert len(plt.get_fignums()) == 2
    assert matplotlib.get_backend().lower() == "agg"
    display.figure_.canvas.draw()


@cases("name", "sobol", "coverage", "policies", "convergence", "effects")
def test_no_legend_lies_on_the_data(name):
    display = displays()[name].plot()
    display.figure_.canvas.draw()
    legend = display.ax_.get_legend().get_window_extent()
    assert not legend.overlaps(display.ax_.get_window_extent())
    label = display.ax_.xaxis.label.get_window_extent()
    assert not (display.ax_.get_xlabel() and legend.overlaps(label))
    assert display.figure_.bbox.containsx(legend.x0)
    assert display.figure_.bbox.containsy(legend.y0 + 1)


# Sobol shares.


def test_shares_sum_to_one(fitted):
    display = SobolDisplay.from_fit(fitted)
    assert_allclose(display.shares.sum(axis=1), 1.0)
    explained = 1 - fitted.step_unexplained_share_
    assert_allclose(
        display.shares[:, :3], fitted.step_sobol_indices_ * explained[:, np.newaxis]
    )
    assert_allclose(display.shares[:, -1], fitted.step_unexplained_share_)
    assert plt.get_fignums() == []


def test_pure_interactions_are_explained():
    display = SobolDisplay(np.zeros((1, 2)), [0.25], ["a"], ["x0", "x1"])
    assert_allclose(display.shares, [[0, 0, 0.75, 0.25]])


def test_an_expansion_without_variance_explains_nothing(X):
    y = np.tile([0.2, 0.3, 0.5], (len(X), 1))
    flat = ridge_surrogate(1).fit(X, y)
    display = SobolDisplay.from_fit(flat, unexplained=[0.4])
    assert_allclose(display.shares, [[0, 0, 0, 0, 1]])


def test_bars_are_the_shares_of_the_verdict_and_the_rest(fitted):
    found = make_verdict()
    display = SobolDisplay.from_estimator(fitted, verdict=found)
    assert_allclose(display.shares[:, :3], found.drivers.first)
    assert_allclose(display.total_shares, found.drivers.total)
    assert_allclose(display.share_bounds[1, 1], found.drivers.total_high)
    assert_allclose(display.shares[:, -1], found.not_predicted)
    widths = [[bar.get_width() for bar in bars] for bars in display.bars_]
    assert_allclose(np.transpose(widths), display.shares)
    assert_allclose(widths[-1], [0.4, 0.9, 0.1])
    ends = [bar.get_x() + bar.get_width() for bar in display.bars_[-1]]
    assert_allclose(ends, 1.0)
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["x0", "x1", "x2", "interactions", "not predicted"]


def test_steps_that_are_not_supported_are_hatched_and_labelled(fitted):
    display = SobolDisplay.from_estimator(fitted, verdict=make_verdict())
    hatched = [[bool(bar.get_hatch()) for bar in bars] for bars in display.bars_]
    assert hatched == [[False, True, False]] * 4 + [[False] * 3]
    (text,) = display.ax_.texts
    assert text.get_text() == "not attributable"
    ticks = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert ticks[round(2 - text.get_position()[1])] == "second"
    # The keys of the legend are not hatched with the first bar.
    good = SobolDisplay.from_estimator(fitted, verdict=make_verdict((False,) * 3))
    handles = good.ax_.get_legend().legend_handles
    assert not any(handle.get_hatch() for handle in handles)


def test_a_negative_q2_is_drawn_as_nothing_explained(fitted):
    found = make_verdict(q2=(-0.3, 0.1, 0.9))
    display = SobolDisplay.from_fit(fitted, verdict=found)
    assert_allclose(display.shares[0], [0, 0, 0, 0, 1])


def test_a_step_without_choice_has_no_bar(X, y):
    wider = np.hstack([y, np.ones((len(y), 1))])
    steps = STEPS | {"stop": 1}
    model = ridge_surrogate(1, steps=steps).fit(X, wider)
    display = SobolDisplay.from_estimator(model)
    assert np.isnan(display.unexplained[3])
    assert all(bars[3].get_width() == 0 for bars in display.bars_)
    assert [text.get_text() for text in display.ax_.texts] == ["no variance"]


def test_names_of_the_inputs_come_from_the_pipeline(X, y, pipeline, fitted):
    assert SobolDisplay.from_fit(fitted).input_names == ["x0", "x1", "x2"]
    assert SobolDisplay.from_fit(pipeline).input_names == ["pca0", "pca1"]
    alone = Pipeline([("surrogate", ridge_surrogate(1))]).fit(X, y[:, :3])
    assert SobolDisplay.from_fit(alone).input_names == ["x0", "x1", "x2"]
    inner = make_pipeline(PCA(2), ridge_surrogate(1))
    nested = make_pipeline(StandardScaler(), inner).fit(X, y[:, :3])
    assert SobolDisplay.from_fit(nested).input_names == ["pca0", "pca1"]
    nameless = make_pipeline(FunctionTransformer(), ridge_surrogate(1))
    nameless.fit(X, y[:, :3])
    assert SobolDisplay.from_fit(nameless).input_names == ["x0", "x1", "x2"]


# Coverage.


@pytest.mark.parametrize("depth", ["pipeline", "nested"])
def test_coverage_behind_an_embedding(pipeline, ensemble, simulate, depth):
    X, y = simulate(n_members=90)
    X, y = X[60:], y[60:]
    model = Pipeline([("inner", pipeline)]) if depth == "nested" else pipeline
    display = CoverageDisplay.from_estimator(model, X, y, levels=(0.5, 0.9))
    assert display.n_members == 30
    surrogate, inputs = pipeline[-1], pipeline[:-1].transform(X)
    for position, level in enumerate((0.5, 0.9)):
        interval = surrogate.predict_interval(
            inputs, confidence_level=level, random_state=0
        )
        expected = coverage_interval(y, *interval, steps=STEPS).coverage.mean()
        line = display.lines_[0].get_ydata()
        assert line[position] == pytest.approx(expected)
    push_forward = display.coverages["push-forward alone"]
    assert np.all(push_forward < display.coverages["ignoring the inputs"])
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["nominal", "95 % chance band", *display.coverages]


# Policies.


def test_policies_of_a_step_stand_beside_the_surrogate(y, pipeline):
    display = PolicyDistributionDisplay.from_estimator(pipeline, y, step=2)
    assert_allclose(display.mean["ensemble"], y[:, 5:].mean(axis=0))
    assert_allclose(display.spread["ensemble"], y[:, 5:].std(axis=0))
    assert display.mean["surrogate"].sum() == pytest.approx(1)
    assert display.ax_.get_title() == "third"
    named = PolicyDistributionDisplay.from_estimator(pipeline, y, step="third")
    assert_array_equal(named.mean["ensemble"], display.mean["ensemble"])
    assert display.ax_.get_ylim()[0] < 0 < display.ax_.get_ylim()[1]


def test_masked_parts_are_not_drawn(X, y):
    y = np.insert(y, 1, 0.0, axis=1)
    model = ridge_surrogate(1, steps=(4, 2, 4)).fit(X, y)
    display = PolicyDistributionDisplay.from_estimator(model, y)
    assert display.part_names == ["0", "2", "3"]  # 1 is masked
    ticks = [label.get_text() for label in display.ax_.get_xticklabels()]
    assert ticks == ["0", "2", "3"]


def test_long_names_of_parts_are_rows_that_do_not_overlap():
    names = [f"ethyl-{i}-methylisoxazole-5-carboxylate" for i in range(12)]
    y = np.full((4, 12), 1 / 12)
    display = PolicyDistributionDisplay.from_samples({"ensemble": y}, names)
    assert display.is_horizontal
    assert not displays()["policies"].is_horizontal
    display.plot()
    display.figure_.canvas.draw()
    labels = [label.get_window_extent() for label in display.ax_.get_yticklabels()]
    assert len(labels) == 12
    for above, below in pairwise(labels):
        assert not above.overlaps(below)
    assert all(display.figure_.bbox.containsx(box.x0) for box in labels)
