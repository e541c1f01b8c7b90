"""Names in any writing are drawn in a font that is installed."""

import io
import warnings

import pytest

from skpce._fonts import choose_fonts, label
from tests.skpce.pictures import displays

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


@pytest.mark.parametrize("name", displays())
def test_an_installed_font_is_used(font, name):
    with warnings.catch_warnings(action="error"):
        figure = displays(NAME)[name].plot().figure_
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
