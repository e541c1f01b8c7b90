"""Names in any writing are drawn in a font that is installed."""

import io
import warnings

import pytest

from skpce._fonts import choose_fonts, labels
from tests.shared import cases
from tests.skpce.pictures import ALIKE, displays

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


PAIRS = [f"{one} and {two}" for one in ALIKE for two in ALIKE]
WORDS = ["x" * 30 + f"{i}" + "y" * 30 for i in range(12)]
WIDE = [f"{'学习率与深度与批量大小' * 3}{i}{'与深度' * 9}" for i in range(12)]


@cases(
    "names",
    ALIKE,
    PAIRS,
    WORDS,
    WIDE,
    [f"a.{i}.{'long_' * 20}{i % 2}" for i in range(5)],
    [f"{'x' * 40}{i}{'y' * 40}{k}{'z' * 40}" for i in range(3) for k in range(3)],
)
@pytest.mark.parametrize("shape", [(16, 1), (24, 1), (18, 2), (28, 3)])
def test_labels_of_different_names_differ_and_fit(names, shape):
    width, max_lines = shape
    found = labels([*names, names[0]], width, max_lines)
    assert len(set(found)) == len(names)
    assert found[-1] == found[0]
    lines = [text.split("\n") for text in found]
    assert max(map(len, lines)) <= max_lines
    assert max(len(line) for own in lines for line in own) <= width
