"""Pictures can be read: no text is cut, none lies on another, colours differ."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from skpce import PolynomialChaosRegressor
from skpce.metrics import policy_fragility
from skpce.plotting import (
    CoverageDisplay,
    EmbeddingDisplay,
    InteractionDisplay,
    MainEffectsDisplay,
    PolicyDistributionDisplay,
    RewardEffectsDisplay,
    SobolDisplay,
    StepVarianceDisplay,
)
from skpce.plotting._style import INTERACTION_COLOR, UNEXPLAINED_COLOR, color
from tests.shared import cases, refuses, ridge_surrogate
from tests.skpce.pictures import (
    ALIKE,
    LONG,
    STEPS,
    assert_distinct,
    assert_legible,
    make_verdict,
)

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def fitted(ensemble):
    X, y = ensemble
    return ridge_surrogate(2, steps=STEPS).fit(X, y)


def sobol(kind, inputs, steps):
    shares = np.full((len(steps), len(inputs)), 0.8 / len(inputs))
    unexplained = np.linspace(0.1, 0.95, len(steps))
    good = [step % 2 == 1 for step in range(len(steps))]
    display = SobolDisplay(shares, unexplained, steps, inputs, supported=good)
    return display.plot(kind=kind)


def embedding(n_inputs, n_components=None, names=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, n_inputs))
    ratios = None if n_components is None else np.full(n_components, 0.9 / n_components)
    correlation = np.corrcoef(X.T) if n_inputs > 1 else np.ones((1, 1))
    given = correlation, *[np.sort(X, 0)] * 2, names or names_of(n_inputs)
    return EmbeddingDisplay(*given, explained_variance_ratio=ratios).plot()


def interaction(names, **kwargs):
    values = np.tril(np.full((len(names),) * 2, 0.01))
    return InteractionDisplay(values, 0.0, 0.9, names, title=LONG[0], **kwargs).plot()


def reward_effects(n_features, kind, measure="share"):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, n_features))
    names = [f"{name} {i}" for i, name in enumerate(LONG * n_features)][:n_features]
    groups = {name: [i] for i, name in enumerate(names)}
    y = np.hstack([many(3, 60), many(2, 60)])
    model = make_pipeline(PCA(2), ridge_surrogate(1, steps={LONG[0]: 3, LONG[1]: 2}))
    options = {"groups": groups, "kind": kind, "measure": measure}
    return RewardEffectsDisplay.from_estimator(model.fit(X, y), X, **options)


def actions(*names, **options):
    policies = {name: many(47) for name in names}
    options["step_name"] = LONG[0]
    made = PolicyDistributionDisplay.from_samples(policies, range(47), **options)
    return made.plot()


def variances():
    steps = {LONG[0]: 2, LONG[1]: 3}
    fragility = policy_fragility(np.hstack([many(2), many(3)]), steps=steps)
    known = {"unexplained": [0.2, 0.9], "supported": [True, False]}
    return StepVarianceDisplay(fragility, **known).plot()


def many(n_actions, size=30):
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.full(n_actions, 2.0), size=size)


def names_of(n):
    return [f"x{i}" for i in range(n)]


def few_actions(name, parts):
    policies = {f"{name} {i}": many(3) for i in range(2)}
    options = {"step_name": ALIKE[0]}
    return PolicyDistributionDisplay.from_samples(policies, parts, **options).plot()


ALIKE_60 = [f"{name} {i}" for name in ALIKE for i in range(10)]
PICTURES = {
    "alike, stacked": lambda: sobol("stacked", ALIKE, ALIKE),
    "alike, heat map": lambda: sobol("heatmap", ALIKE, ALIKE),
    "embedding of 12, alike": lambda: embedding(12, None, [*ALIKE, *LONG, *"ab"]),
    "60 alike": lambda: sobol("stacked", ALIKE_60, ["a"]),
    "a long step": lambda: few_actions("ensemble", [*"abc"]),
    "long names of all": lambda: few_actions(ALIKE[0], ALIKE[:3]),
    "long names, stacked": lambda: sobol("stacked", LONG, LONG),
    "long names, heat map": lambda: sobol("heatmap", LONG, LONG),
    "20 inputs": lambda: sobol("stacked", names_of(20), ["a", "b"]),
    "1 input": lambda: sobol("stacked", ["x0"], ["only"]),
    "1 pair": lambda: interaction(["x0"], supported=False),
    "long pairs": lambda: interaction(LONG, supported=False),
    "embedding": lambda: embedding(3, 3),
    "embedding of 20": lambda: embedding(20, 20),
    "reward, bars": lambda: reward_effects(4, "bars"),
    "reward, bars of 12": lambda: reward_effects(12, "bars", "effect_size"),
    "reward, heat map": lambda: reward_effects(12, "heatmap", "variance_share"),
    "47 actions": lambda: actions("ensemble", "surrogate", max_parts=None),
    "12 of 47 actions": lambda: actions(*"abc"),
    "variances": variances,
}


@pytest.mark.parametrize("name", list(PICTURES))
def test_no_text_is_cut_or_lies_on_another(name):
    assert_legible(PICTURES[name]().figure_)


def test_a_legend_keeps_what_was_drawn_before():
    _, ax = plt.subplots()
    ax.plot([0, 1], [0, 1], label="$x^2$")
    CoverageDisplay([0.5, 0.9], {"mine": [0.4, 0.8]}).plot(ax)
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["$x^2$", "nominal", "mine"]


@cases(("n_inputs", "least"), (8, 15), (10, 15), (20, 8))
def test_colour_blind_readers_can_distinguish_colours(n_inputs, least):
    names = [color(i) for i in range(n_inputs)]
    assert_distinct([*names, INTERACTION_COLOR, UNEXPLAINED_COLOR], least)


# What a verdict does not support is never drawn as if it were.


def test_the_star_survives_a_name_that_is_cut():
    display = sobol("heatmap", ["x0"], [LONG[0], "b"])
    ticks = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert ticks[0].endswith("\n… or on as many as three *")
    assert ticks[1] == "b"
    empty = SobolDisplay([[0.5]], [np.nan], [LONG[0]], ["x0"]).plot(kind="heatmap")
    assert empty.ax_.get_yticklabels()[0].get_text().endswith("(no variance)")


def test_negative_shares_are_never_stacked():
    display = SobolDisplay([[0.6, -0.2]], [0.5], ["a"], ["x0", "x1"])
    refuses(r"cannot show a share of -0\.1; expected", display.plot)
    assert plt.get_fignums() == []
    assert "-0.10" in [
        text.get_text() for text in display.plot(kind="heatmap").ax_.texts
    ]


def test_what_explains_a_refused_step_is_hatched(fitted, ensemble):
    display = StepVarianceDisplay.from_estimator(
        fitted, ensemble[1], verdict=make_verdict((False, True, True))
    )
    for panel in display.axes_[:2]:
        hatches = [bool(bar.get_hatch()) for bar in panel.containers[1]]
        assert hatches == [True, False, False]
    legend = display.axes_[-1].get_legend()
    assert not any(key.get_hatch() for key in legend.legend_handles)
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["predicted from the inputs", "not predicted"]


def test_curves_of_a_refused_step_are_dashed_and_labelled(fitted):
    parts = ["first:0", "second:1"]
    display = MainEffectsDisplay.from_estimator(
        fitted, targets=parts, verdict=make_verdict(), n_samples=50
    )
    assert display.supported == (True, False)
    assert [line.get_linestyle() for line in display.lines_[0]] == ["-", "--"]
    legend = [text.get_text() for text in display.axes_[-1].get_legend().get_texts()]
    assert legend == [parts[0], f"{parts[1]}\n(not attributable)"]


def test_unlikely_actions_are_drawn_as_one():
    y = many(20)
    names = [f"a{i}" for i in range(20)]
    display = PolicyDistributionDisplay.from_samples({"ensemble": y}, names)
    assert len(display.part_names) == 12
    assert display.part_names[-1] == "others (9)"
    shown = [names.index(name) for name in display.part_names[:-1]]
    assert shown == sorted(shown)
    reach = y.mean(axis=0) + y.std(axis=0)
    assert set(shown) == set(np.argsort(-reach)[:11])
    rest = np.delete(y, shown, axis=1).sum(axis=1)
    assert display.mean["ensemble"][-1] == pytest.approx(rest.mean())
    assert display.spread["ensemble"][-1] == pytest.approx(rest.std())
    assert display.mean["ensemble"].sum() == pytest.approx(1.0)
    whole = PolicyDistributionDisplay.from_samples({"a": y[:, :12]}, names[:12])
    assert whole.part_names == names[:12]


def test_bars_of_probabilities_end_at_0_and_1():
    policies = {"ensemble": np.array([[0.0, 1.0], [0.0, 1.0], [0.9, 0.1]])}
    ax = PolicyDistributionDisplay.from_samples(policies, ["a", "b"]).plot().ax_
    ends = np.concatenate([np.ravel(c.get_segments()) for c in ax.collections])
    across = ends.reshape(-1, 2)[:, 0]
    assert across.min() == 0
    assert across.max() == 1
    assert "cut at 0 and 1" in ax.get_xlabel()


# Data that do not belong to the surrogate.


def test_axes_have_the_names_of_levels_and_say_that_they_are_logarithmic(rng):
    n = 80
    kinds = np.array(["adam", "rmsprop", "sgd", "adagrad"])[rng.integers(4, size=n)]
    table = pd.DataFrame({"rate": 10 ** rng.uniform(-4, 0, n), "kind": kinds})
    table["width"] = rng.choice([8, 16], n)
    y = np.log10(table["rate"]) + (kinds == "sgd") + table["width"] / 16
    laws = {"rate": "loguniform", "kind": "categorical", "width": "categorical"}
    model = PolynomialChaosRegressor(2, distribution=laws, solver="ols").fit(table, y)
    display = MainEffectsDisplay.from_estimator(model, table)
    rate, kind, width = display.axes_
    assert rate.get_xscale() == "log"
    assert rate.get_xlabel() == "rate (log scale)"
    assert kind.get_xscale() == width.get_xscale() == "linear"
    ticks = [[text.get_text() for text in ax.get_xticklabels()] for ax in (kind, width)]
    assert ticks == [["adagrad", "adam", "rmsprop", "sgd"], ["8", "16"]]
    assert_legible(display.figure_)
    # linear in the logarithm: from one end of the axis to the other
    effect = display.effects[0][:, 0]
    assert_allclose(np.diff(effect), np.diff(np.log10(display.grids[0])))
