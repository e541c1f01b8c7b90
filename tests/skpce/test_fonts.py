"""Names in any writing are drawn in a font that is installed."""

import io
import warnings

import numpy as np
import pytest

from skpce._fonts import choose_fonts, label
from skpce.inspection import Result
from skpce.metrics import policy_fragility
from skpce.plotting import (
    ConvergenceDisplay,
    CoverageDisplay,
    EmbeddingDisplay,
    InteractionDisplay,
    MainEffectsDisplay,
    PartEffectsDisplay,
    PolicyDistributionDisplay,
    SobolDisplay,
    StepVarianceDisplay,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

# Two characters of the private area: no other font of this machine has them.
NAME = "\ue9a1\ue9a2 flow"


@pytest.fixture
def font(tmp_path, monkeypatch):
    """A font that has these characters and no others."""
    builder = pytest.importorskip("fontTools.fontBuilder").FontBuilder(1000)
    pen = pytest.importorskip("fontTools.pens.ttGlyphPen").TTGlyphPen(None)
    pen.moveTo((0, 0))
    for point in ((0, 700), (500, 700), (500, 0)):
        pen.lineTo(point)
    pen.closePath()
    square, names = pen.glyph(), [".notdef", "one", "two"]
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap({0xE9A1: "one", 0xE9A2: "two"})
    builder.setupGlyf(dict.fromkeys(names, square))
    builder.setupHorizontalMetrics(dict.fromkeys(names, (600, 0)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Private Flow", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(tmp_path / "flow.ttf")
    manager = matplotlib.font_manager.fontManager
    before = list(manager.ttflist)
    manager.addfont(tmp_path / "flow.ttf")
    monkeypatch.setattr("skpce._fonts.PREFERRED_FAMILIES", ("Private Flow",))
    yield "Private Flow"
    manager.ttflist[:] = before
    manager._findfont_cached.cache_clear()


def shown_names(figure):
    """The texts that are drawn; warnings of matplotlib are errors."""
    with warnings.catch_warnings(action="error"):
        figure.savefig(io.BytesIO(), format="png")
    return [text for text in figure.findobj(matplotlib.text.Text) if text.get_text()]


LINE = np.linspace(-1, 1, 5)
FLOWS = [[0.3, 0.0], [0.1, 0.2], [0.05, 0.0], [0.15, 0.2]]
INPUTS = [NAME, "x1"]


def displays():
    """Every display, with names of steps, inputs and outputs that need a font."""
    fragility = policy_fragility([[0.9, 0.1], [0.5, 0.5]], steps={NAME: 2})
    effects = Result(
        {"output": (NAME,), "part": tuple(INPUTS)},
        {"first": np.array([[0.5, 0.2]]), "first_error": np.array([[0.1, 0.1]])},
    )
    loadings, points = np.eye(2), np.c_[LINE, LINE]
    return {
        "variance": StepVarianceDisplay(fragility),
        "effects": MainEffectsDisplay([LINE], [LINE[:, np.newaxis]], INPUTS, [NAME]),
        "pairs": InteractionDisplay([[0.5, 0], [0.2, 0.1]], 0.1, 0.1, INPUTS),
        "embedding": EmbeddingDisplay(loadings, points, points, INPUTS),
        "convergence": ConvergenceDisplay([10, 20], np.full((1, 2, 1), 0.4), [NAME]),
        "sobol": SobolDisplay(np.array([[0.7, 0.2]]), [0.4], [NAME], INPUTS),
        "coverage": CoverageDisplay([0.5, 0.9], {NAME: [0.4, 0.8]}, n_members=9),
        "policies": PolicyDistributionDisplay.from_samples(
            {NAME: np.array([[0.2, 0.8], [0.4, 0.6]])}, INPUTS
        ),
        "parts": PartEffectsDisplay(effects),
    }


@pytest.mark.parametrize("name", displays())
def test_an_installed_font_is_used(font, name):
    with warnings.catch_warnings(action="error"):
        figure = displays()[name].plot().figure_
    found = [text for text in shown_names(figure) if "\ue9a1" in text.get_text()]
    assert found
    assert all(font in text.get_fontfamily() for text in found)
    assert matplotlib.rcParams["font.family"] == ["sans-serif"]


def test_a_missing_font_is_no_option(monkeypatch):
    monkeypatch.setattr("skpce._fonts.PREFERRED_FAMILIES", ("Nobody Has This",))
    figure, ax = plt.subplots()
    ax.bar(["Größe"], [1.0])
    choose_fonts(figure)
    shown_names(figure)


def test_accents_and_greek_letters_need_no_other_font():
    with warnings.catch_warnings(action="error"):
        assert label("Größe σ² → ∞") == "Größe σ² → ∞"


def test_wide_characters_count_twice():
    lines = label("学习率与深度与批量大小", 10).splitlines()
    assert max(map(len, lines)) <= 5
