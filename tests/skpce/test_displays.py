"""The numbers of the displays are those of the estimators, and they add up."""

import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm, uniform
from sklearn.decomposition import PCA
from sklearn.metrics import r2_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skpce import PolynomialChaosRegressor
from skpce._checks import make_generator
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
from tests.shared import cases, printed_by, refuses, ridge_pce, ridge_surrogate
from tests.skpce.pictures import STEPS, displays, make_verdict

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def fitted(ensemble):
    X, y = ensemble
    return ridge_surrogate(2, steps=STEPS).fit(X, y)


@pytest.fixture(scope="module")
def pipeline(ensemble):
    X, y = ensemble
    surrogate = ridge_surrogate(2, steps=STEPS, random_state=0)
    return make_pipeline(StandardScaler(), PCA(2, whiten=True), surrogate).fit(X, y)


@pytest.fixture(scope="module")
def regressor():
    X = np.random.default_rng(0).uniform(-1, 1, size=(200, 3))
    y = np.c_[X[:, 0] + X[:, 0] * X[:, 1] + X[:, 2] ** 2, X.prod(axis=1)]
    law = uniform(-1, 2)
    return X, PolynomialChaosRegressor(3, distribution=law, solver="ols").fit(X, y)


def texts(figure):
    return [text.get_text() for text in figure.findobj(plt.Text)]


@pytest.mark.slow
def test_matplotlib_is_not_imported_before_something_is_drawn():
    code = (
        "import sys, numpy as np, skpce; skpce.report; import skpce.plotting as p;"
        "p.CoverageDisplay([0.5], {'plain': [0.5]});"
        "p.SobolDisplay(np.ones((1, 1)), [0.5], ['a'], ['x0']).shares;"
        "sys.exit('matplotlib' in sys.modules)"
    )
    printed_by("-c", code)


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
    display.figure_.canvas.draw()
    parts = plt.figure(layout="constrained").subfigures(1, 2)
    assert display.plot(ax=parts[1].subplots()).ax_.figure is parts[1]


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


@cases(
    ("first", "unexplained", "shares"),
    ([[0, 0]], [0.25], [[0, 0, 0.75, 0.25]]),  # interactions alone
    ([[np.nan, np.nan]], [0.2], [[0, 0, 0, 1]]),  # an expansion without variance
    ([[0.6, -0.2]], [0.5], [[0.3, -0.1, 0.3, 0.5]]),
)
def test_shares_add_up(first, unexplained, shares):
    display = SobolDisplay(first, unexplained, ["a"], ["x0", "x1"])
    assert_allclose(display.shares, shares)


def test_bars_are_the_shares_of_the_verdict_and_the_rest(fitted):
    alone = SobolDisplay.from_estimator(fitted)
    explained = 1 - fitted.step_unexplained_share_[:, np.newaxis]
    assert_allclose(alone.shares[:, :3], fitted.step_sobol_indices_ * explained)
    assert_allclose(alone.shares[:, -1:], 1 - explained)
    assert_allclose(alone.shares.sum(axis=1), 1)
    found = make_verdict(q2=(-0.3, 0.1, 0.9))
    display = SobolDisplay.from_estimator(fitted, verdict=found)
    assert_allclose(display.shares[0], [0, 0, 0, 0, 1])  # Q² is negative
    assert_allclose(display.shares[:, :3], found.drivers.first)
    assert_allclose(display.share_bounds[1], found.drivers.first_high)
    assert_allclose(display.shares[:, -1], found.not_predicted)
    widths = [[bar.get_width() for bar in bars] for bars in display.bars_]
    assert_allclose(np.transpose(widths), display.shares)
    ends = [bar.get_x() + bar.get_width() for bar in display.bars_[-1]]
    assert_allclose(ends, 1.0)
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["x0", "x1", "x2", "interactions", "not predicted"]
    for drawn, has_errors in ((alone, False), (display, True)):
        assert (drawn.share_bounds is not None) == has_errors
        errors = {line.get_linewidth() for line in drawn.ax_.lines}
        assert (1.2 in errors) == has_errors
    assert display.ax_.get_xlabel() == "share of the variance (90 % intervals)"
    heat = display.plot(kind="heatmap")
    assert_allclose(heat.image_.get_array(), heat.shares)
    cells = [text.get_text() for text in heat.ax_.texts]
    assert any("± 0." in cell for cell in cells)


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
    model = make_pipeline(FunctionTransformer(), ridge_surrogate(1)).fit(X, y[:, :3])
    assert list(SobolDisplay.from_fit(model).input_names) == ["x0", "x1", "x2"]
    given = ["level", "contrast"]
    assert SobolDisplay.from_fit(pipeline, input_features=given).input_names == given
    with pytest.raises(ValueError, match=r"input_features=\['a'\] must be 2 names"):
        SobolDisplay.from_fit(pipeline, input_features=["a"])


# Coverage.


def test_coverage_behind_an_embedding(pipeline, simulate):
    X, y = simulate(n_members=90)
    X, y = X[60:], y[60:]
    model = Pipeline([("inner", pipeline)])
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
    assert display.ax_.get_xlim()[0] < 0 < display.ax_.get_xlim()[1]


def test_a_dozen_inputs_have_colours_of_their_own_and_others_are_added_up():
    first = np.linspace(0.09, 0.01, 20)[np.newaxis]
    display = SobolDisplay(first, [0], ["a"], [f"x{i}" for i in range(20)])
    bars = display.plot().bars_
    assert len({bar[0].get_facecolor() for bar in bars}) == 14
    assert bars[11][0].get_width() == pytest.approx(first[0, 11:].sum())
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names[10:] == ["x10", "others (9)", "interactions", "not predicted"]


# Fragility.


def test_step_variances_are_those_of_the_metrics(y, pipeline):
    display = StepVarianceDisplay.from_estimator(pipeline, y, verdict=make_verdict())
    expected = policy_fragility(y, steps=STEPS)
    for bars, name in zip(
        display.bars_,
        ("aitchison_variance", "variance_per_freedom", "total_variation"),
        strict=True,
    ):
        lengths = [bar.get_width() for bar in bars]
        assert_allclose(lengths, getattr(expected, name))
    assert display.fragility.step_names == tuple(STEPS)
    explained = display.axes_[0].containers[1]
    shares = [bar.get_width() for bar in explained] / expected.aitchison_variance
    assert_allclose(shares, [0.6, 0.1, 0.9])
    assert all(panel.get_xlim()[0] == 0 for panel in display.axes_)
    assert any(text == "second\n(not attributable)" for text in texts(display.figure_))
    alone = StepVarianceDisplay.from_predictions(y, steps=STEPS)
    lengths = [bar.get_width() for bar in alone.bars_[2]]
    assert_allclose(lengths, expected.total_variation)


# Main effects and interactions.


def test_main_effects_of_a_regressor_are_its_own(regressor):
    X, pce = regressor
    display = MainEffectsDisplay.from_estimator(pce, X, features=[0, "x2"])
    assert display.input_names == ["x0", "x2"]
    assert display.target_names == ["y0", "y1"]
    rows = np.repeat(display.grids[1][:, np.newaxis], 3, axis=1)
    own, deviation = pce.main_effects(rows)[:, 2], np.sqrt(pce.total_variance_)
    assert_allclose(display.effects[1], own / deviation)
    alone = MainEffectsDisplay.from_estimator(pce, X, features=["x2"], targets=["y0"])
    assert_allclose(alone.effects[0][:, 0], rows[:, 0] ** 2 - 1 / 3)
    labels = [panel.get_ylabel() for panel in (display.ax_, alone.ax_)]
    assert labels == ["change of y / its standard\ndeviation", "change of y0"]
    assert_allclose(display.rugs[1], X[:, 2])
    assert display.grids[0][[0, -1]].tolist() == [X[:, 0].min(), X[:, 0].max()]
    assert_allclose(display.lines_[0][1].get_ydata(), display.effects[0][:, 1])
    without = MainEffectsDisplay.from_estimator(pce)
    assert without.rugs is None
    assert np.all(np.abs(np.concatenate(without.grids)) <= 1)


def test_main_effects_of_probabilities_add_up_to_nothing(X, y):
    model = ridge_surrogate(1, distribution=norm(0, 1)).fit(X, y[:, :3])
    targets = [f"{model.step_names_[0]}:{part}" for part in model.part_names_]
    display = MainEffectsDisplay.from_estimator(model, targets=targets, n_samples=500)
    for effect in display.effects:
        assert_allclose(effect.sum(axis=1), 0, atol=1e-12)
    # By quadrature in the two other inputs.
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    weights = weights / weights.sum()
    value = display.grids[0][10]
    total, mean = np.zeros(3), np.zeros(3)
    for a, wa in zip(nodes, weights, strict=True):
        for b, wb in zip(nodes, weights, strict=True):
            total += wa * wb * model.predict([[value, a, b]])[0]
            for c, wc in zip(nodes, weights, strict=True):
                mean += wa * wb * wc * model.predict([[c, a, b]])[0]
    assert_allclose(display.effects[0][10], total - mean, atol=0.06)


def test_categorical_inputs_are_points_at_their_levels():
    X = np.random.default_rng(0).integers(0, 3, size=(60, 1)).astype(float)
    pce = PolynomialChaosRegressor(1, distribution=["categorical"], solver="ols")
    display = MainEffectsDisplay.from_estimator(pce.fit(X, X[:, 0] ** 2), X)
    assert display.grids[0].tolist() == [0, 1, 2]
    assert display.lines_[0][0].get_marker() == "o"


def test_interactions_add_up(fitted, regressor):
    _, pce = regressor
    display = InteractionDisplay.from_estimator(pce)
    together = display.values.sum() + display.higher_order + display.unexplained
    assert together == pytest.approx(1)
    pairs = pce.interaction_indices()
    explained = 1 - pce.unexplained_share_[0]
    found = display.values[1, 0]
    assert found == pytest.approx(
        explained * pairs.values[0, pairs.subsets.index((0, 1))]
    )
    triple = InteractionDisplay.from_estimator(pce, step=1)
    assert triple.higher_order == pytest.approx(1, abs=1e-6)
    judged = make_verdict()
    step = InteractionDisplay.from_estimator(fitted, step=1, verdict=judged)
    assert_allclose(np.diag(step.values), judged.drivers.first[1])
    assert step.values[1, 0] == pytest.approx(judged.findings.shares.pairs[1, 0, 1])
    assert step.values.sum() + step.higher_order + step.unexplained == pytest.approx(1)
    assert "not attributable" in step.ax_.get_title(loc="left")


# Inputs.


def test_embedding_of_a_pipeline(X, pipeline):
    display = EmbeddingDisplay.from_estimator(pipeline)
    scores = pipeline[:-1].transform(X)
    assert_allclose(display.correlation, np.eye(2), atol=1e-12)
    shares = pipeline[1].explained_variance_ratio_
    assert_allclose(display.explained_variance_ratio, shares)
    heights = [bar.get_height() for bar in display.axes_[2].patches]
    assert_allclose(heights, [*shares, 1 - shares.sum()])
    n = len(X)
    expected = norm.ppf((np.arange(n) + 0.5) / n)
    assert_allclose(display.distribution_quantiles[:, 0], expected, atol=0.05)
    standard = (np.sort(scores, axis=0) - scores.mean(axis=0)) / scores.std(axis=0)
    assert_allclose(display.data_quantiles, standard, atol=0.05)
    some = EmbeddingDisplay.from_estimator(pipeline, X[:20])
    assert len(some.data_quantiles) == 20


# Convergence.


def test_convergence_of_a_regressor_is_the_held_out_r2(rng):
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + 0.5 * rng.normal(size=60)
    display = ConvergenceDisplay.from_estimator(
        ridge_pce(1), X, y, sizes=[15, 45], n_repeats=2, random_state=3
    )
    generator = make_generator(3)
    for row in display.values:
        order = generator.permutation(60)
        for size, found in zip((15, 45), row[:, 0], strict=True):
            chosen = order[15 : 15 + size]
            model = ridge_pce(1).fit(X[chosen], y[chosen])
            test = order[:15]
            assert found == pytest.approx(r2_score(y[test], model.predict(X[test])))
    assert_allclose(
        display.lines_[0].get_ydata(), np.median(display.values[:, :, 0], axis=0)
    )


def test_convergence_does_not_warn_of_ranges_of_few_members(rng):
    """What is held out lies outside what a few of the others have."""
    X = rng.uniform(size=(60, 2))
    model = ridge_pce(1, distribution="uniform")
    with warnings.catch_warnings(action="error"):
        ConvergenceDisplay.from_estimator(model, X, X[:, 0], sizes=(5, 40), n_repeats=3)


def test_convergence_of_a_pipeline(simulate):
    X, y = simulate(n_members=160, noise=0.1)
    wider = np.hstack([y, np.ones((len(y), 1))])
    surrogate = ridge_surrogate(2, steps=STEPS | {"stop": 1})
    model = make_pipeline(StandardScaler(), surrogate)
    arguments = {"sizes": (20, 120), "n_repeats": 2}
    display = ConvergenceDisplay.from_estimator(model, X, wider, **arguments)
    assert display.curve_names == [*STEPS, "stop"]
    assert np.isnan(display.values[:, :, 3]).all()
    few, many = np.median(display.values, axis=0)[:, :3]
    assert np.all((many > few) & (many > 0.9))
    assert not hasattr(surrogate, "coefficients_")  # the pipeline stays as it was


# What is refused.


def test_bad_arguments_are_named(X, y, fitted, regressor):
    of_abc, learned = make_verdict(names="abc"), {"X": X, "y": y}
    for display, given, message in (
        (InteractionDisplay, {"step": 3}, "step=3 must be an int from 0 to 2"),
        (PolicyDistributionDisplay, {"y": y, "step": -1}, "step=-1 must be"),
        (MainEffectsDisplay, {"targets": ["first:9"]}, "='first:9' must be one of"),
        (EmbeddingDisplay, {"X": X[:1]}, r"X has shape \(1, 3\); expected"),
        (ConvergenceDisplay, learned | {"sizes": [90]}, "holds 90; .* from 2 to 45"),
        (ConvergenceDisplay, {"X": X, "y": y[1:]}, "X has 60 members and y has 59; ex"),
    ):
        refuses(message, display.from_estimator, fitted, **given)
    message = r"verdict is about the steps \('a', 'b', 'c'\)"
    refuses(message, SobolDisplay.from_fit, fitted, verdict=of_abc)
    message = "X=None, but PolynomialChaosRegressor"
    refuses(message, EmbeddingDisplay.from_estimator, regressor[1])


def test_axes_that_cannot_hold_the_panels_are_refused(fitted):
    figure, axes = plt.subplots(1, 2)
    draw = MainEffectsDisplay.from_estimator
    message = "ax has 2 axes of matplotlib; expected one or 3"
    refuses(message, draw, fitted, ax=axes)
    loose = figure.add_axes((0.1, 0.1, 0.5, 0.5))
    refuses("cannot be divided; give 3 axes", draw, fitted, ax=loose)
