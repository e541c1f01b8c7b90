"""Names in any writing are drawn in a font that is installed."""

import io
import warnings

import pytest

from skpce._fonts import choose_fonts, label
from tests.skpce.pictures import displays

plt = pytest.importorskip("matplotlib.pyplot")

# Two characters of the private area, which matplotlib brings a font of.
NAME, FONT = "\ue00a\ue00b flow", "STIXNonUnicode"


def shown_names(figure):
    """The texts that are drawn; warnings of matplotlib are errors."""
    with warnings.catch_warnings(action="error"):
        figure.savefig(io.BytesIO(), format="png")
    return [text for text in figure.findobj(plt.Text) if text.get_text()]


@pytest.mark.parametrize("name", displays())
def test_an_installed_font_is_used(name, monkeypatch):
    monkeypatch.setattr("skpce._fonts.PREFERRED_FAMILIES", (FONT,))
    with warnings.catch_warnings(action="error"):
        figure = displays(NAME)[name].plot().figure_
    found = [text for text in shown_names(figure) if NAME[0] in text.get_text()]
    assert found
    assert all(FONT in text.get_fontfamily() for text in found)
    assert plt.rcParams["font.family"] == ["sans-serif"]


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
