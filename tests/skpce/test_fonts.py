"""Names in any writing: in an installed font, else by their numbers and one warning."""

import io
import warnings

import numpy as np
import pytest

from skpce import CompositionalPCESurrogate
from skpce.plotting import PrismDisplay, StepVarianceDisplay
from skpce.plotting._style import label

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

# Two characters of the private area: no font of this machine has them.
NAME = "\ue9a1\ue9a2 flow"


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def fitted(ensemble):
    X, y = ensemble
    frame = pytest.importorskip("pandas").DataFrame(
        X, columns=[NAME, *(f"x{i}" for i in range(1, X.shape[1]))]
    )
    steps = {NAME: 3, "second": 2, "third": 4}
    return CompositionalPCESurrogate(1, steps=steps).fit(frame, y), y


@pytest.fixture
def font(tmp_path):
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
    yield "Private Flow"
    manager.ttflist[:] = before
    manager._findfont_cached.cache_clear()


def shown_names(figure):
    """The texts that are drawn; warnings of matplotlib are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.savefig(io.BytesIO(), format="png")
    return [text for text in figure.findobj(matplotlib.text.Text) if text.get_text()]


@pytest.mark.parametrize("display", [PrismDisplay, StepVarianceDisplay])
def test_an_installed_font_is_used(fitted, font, display):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = display.from_estimator(*fitted).figure_
    found = [text for text in shown_names(figure) if "\ue9a1" in text.get_text()]
    assert found
    assert all(font in text.get_fontfamily() for text in found)
    assert matplotlib.rcParams["font.family"] == ["sans-serif"]


@pytest.mark.parametrize("display", [PrismDisplay, StepVarianceDisplay])
def test_without_a_font_numbers_and_advice_are_shown(fitted, display):
    with pytest.warns(UserWarning, match=r"Install a font .* Noto Sans CJK") as found:
        figure = display.from_estimator(*fitted).figure_
    assert {str(w.message) for w in found} == {str(found[0].message)}  # shown once
    texts = [text.get_text() for text in shown_names(figure)]
    assert any(r"\ue9a1\ue9a2 flow" in " ".join(text.split()) for text in texts)


def test_chinese_names_are_never_boxes():
    """Whatever fonts this machine has, matplotlib has nothing to warn of."""
    figure, ax = plt.subplots()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = [label(name) for name in ("学习率", "学習率", "학습률", "แดง", "سرعة")]
        ax.bar(names, np.ones(5))
        from skpce.plotting._fonts import choose_fonts

        choose_fonts(figure)
    shown_names(figure)
    assert len(set(names)) == 5


def test_accents_and_greek_letters_need_no_other_font():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert label("Größe σ² → ∞") == "Größe σ² → ∞"


def test_wide_characters_count_twice(monkeypatch):
    monkeypatch.setattr("skpce.plotting._style.in_installed_fonts", lambda text: text)
    lines = label("学习率与深度与批量大小", 10).splitlines()
    assert max(map(len, lines)) <= 5
