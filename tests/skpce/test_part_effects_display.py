"""Bars of named parts add up, say how sure they are, and can be read."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skpce.inspection import Result
from skpce.plotting import PartEffectsDisplay
from skpce.plotting._part_effects import (
    DROWNED,
    NOISE_COLOR,
    OTHERS_COLOR,
    TOGETHER_COLOR,
)
from skpce.plotting._style import COLORS, UNEXPLAINED_COLOR
from tests.shared import cases, refuses
from tests.skpce.pictures import LONG, assert_distinct, assert_legible

plt = pytest.importorskip("matplotlib.pyplot")


def effects_by_hand(first, errors=0.02, ratio=None, outputs=None, parts=None):
    first = np.asarray(first, dtype=float)
    n_outputs, n_parts = first.shape
    outputs = tuple(outputs or (f"choice {i}" for i in range(n_outputs)))
    parts = tuple(parts or (f"part {i}" for i in range(n_parts)))
    ratio = np.ones(n_outputs) if ratio is None else np.asarray(ratio, dtype=float)
    good = tuple(bool(abs(r - 1) <= 0.25) for r in ratio)
    reasons = tuple(() if g else ("the parts are dependent",) for g in good)
    columns = {"first": first, "first_error": np.full(first.shape, errors)}
    columns["variance_ratio"] = ratio
    keys = {"output": outputs, "part": parts}
    return Result(keys, columns, supported=good, reasons=reasons)


def written(display):
    return [text.get_text() for text in display.ax_.texts]


def widths(display):
    return np.array([[bar.get_width() for bar in bars] for bars in display.bars_]).T


def test_bars_hold_the_first_orders_the_interactions_and_the_noise():
    effects = effects_by_hand([[0.1, 0.6], [0.2, 0.5]])
    display = PartEffectsDisplay(effects, noise_share=[0.5, 0.0]).plot()
    names = ["part 1", "part 0", "interactions", "training noise"]
    assert display.segment_names == names  # the largest first
    expected = [[0.3, 0.05, 0.15, 0.5], [0.5, 0.2, 0.3, 0.0]]
    assert_allclose(display.shares, expected)
    assert_allclose(widths(display), expected)
    alone = PartEffectsDisplay(effects)
    assert alone.segment_names == names[:3]
    assert_allclose(alone.shares, [[0.6, 0.1, 0.3], [0.5, 0.2, 0.3]])


def test_numbers_are_estimates_with_their_standard_errors():
    effects = effects_by_hand([[0.3, 0.4]], errors=0.03)
    display = PartEffectsDisplay(effects).plot()
    # the sum of two estimates: the root of two squares
    assert written(display) == ["40 ± 3 %", "30 ± 3 %", "30 ± 4 %"]
    noisy = PartEffectsDisplay(effects, noise_share=[0.6], noise_error=[0.02]).plot()
    assert written(noisy)[-1] == "60 ± 2 %"
    noisy = PartEffectsDisplay(effects, noise_share=[0.5]).plot()
    assert written(noisy) == ["20 ± 2 %", "15 ± 2 %", "15 ± 2 %", "50 %"]


def test_estimates_below_zero_have_no_width_and_do_not_break_the_sum():
    effects = effects_by_hand([[0.7, -0.05, 0.2], [0.9, -0.1, 0.3]])
    display = PartEffectsDisplay(effects).plot()
    assert display.segment_names == ["part 0", "part 2", "part 1", "interactions"]
    assert_allclose(display.shares[0], [0.7, 0.2, 0.0, 0.1])
    assert_allclose(display.shares[1], [0.75, 0.25, 0.0, 0.0])
    assert_allclose(display.estimates[0][1], [0.9, 0.3, -0.1, -0.1])


def test_small_parts_are_drawn_as_one():
    first = np.r_[0.3, 0.2, np.full(8, 0.05)][np.newaxis]
    display = PartEffectsDisplay(effects_by_hand(first), max_parts=3).plot()
    assert display.segment_names[-2:] == ["others (7)", "interactions"]
    assert_allclose(display.shares, [[0.3, 0.2, 0.05, 0.35, 0.1]])
    # one is named, and parts that cannot be seen need no colour
    nearly = PartEffectsDisplay(effects_by_hand(first[:, :4]), max_parts=3)
    assert nearly.segment_names[3] == "part 3"
    hidden = PartEffectsDisplay(effects_by_hand([[0.5, 0.001, 0.002]]))
    assert hidden.segment_names == ["part 0", "others (2)", "interactions"]


def test_noise_above_all_differences_leaves_nothing_to_attribute():
    effects = effects_by_hand([[0.5, 0.3]] * 3)
    display = PartEffectsDisplay(effects, noise_share=[1.7, np.nan, -0.2]).plot()
    assert_allclose(display.shares[0], [0, 0, 0, 1])
    assert_allclose(display.shares[1:], [[0.5, 0.3, 0.2, 0]] * 2)
    words = " ".join(written(display)[0].split())
    assert words == DROWNED
    assert display.bars_[-1][0].get_hatch()


def test_dependent_parts_are_hatched_with_the_reason():
    effects = effects_by_hand([[0.5, 0.3]] * 2, ratio=[2.31, 1.1])
    display = PartEffectsDisplay(effects, noise_share=[0.2, 0.2]).plot()
    hatches = [[bool(bar.get_hatch()) for bar in bars] for bars in display.bars_]
    assert hatches == [[True, False]] * 3 + [[True, True]]
    assert "2.31 × the variance" in " ".join(written(display)[0].split())
    assert not any("±" in text for text in written(display)[:1])
    other = Result(
        {"output": ("a",), "part": ("p", "q")},
        {"first": np.array([[0.5, 0.3]]), "first_error": np.full((1, 2), 0.1)},
        supported=(False,),
        reasons=(("the pilot is poor",),),
    )
    assert written(PartEffectsDisplay(other).plot()) == ["the pilot is poor"]


@pytest.mark.parametrize("n_outputs", [1, 4, 18])
@pytest.mark.parametrize("noise", [None, 0.3])
def test_nothing_overlaps_or_is_cut(n_outputs, noise):
    rng = np.random.default_rng(n_outputs)
    first = rng.dirichlet(np.full(12, 0.4), size=n_outputs)[:, :11]
    names = [f"{name} {i}" for i, name in enumerate(LONG * 3)][:11]
    ratio = np.where(np.arange(n_outputs) % 4 == 2, 2.0, 1.0)
    effects = effects_by_hand(
        first, ratio=ratio, parts=names, outputs=(LONG * 5)[:n_outputs]
    )
    shares = None if noise is None else np.where(np.arange(n_outputs) == 3, 1.2, noise)
    display = PartEffectsDisplay(effects, noise_share=shares).plot()
    assert_legible(display.figure_)
    # numbers stay inside their segments
    boxes = [bar for bars in display.bars_ for bar in bars if bar.get_width() > 0]
    for text in display.ax_.texts:
        if "±" not in text.get_text():
            continue
        box = text.get_window_extent()
        inside = [bar.get_window_extent() for bar in boxes]
        assert any(
            bar.x0 <= box.x0 and box.x1 <= bar.x1 and bar.y0 <= box.y0 <= bar.y1
            for bar in inside
        ), text.get_text()


def test_colour_blind_readers_can_distinguish_the_segments():
    assert_distinct([*COLORS[:7], OTHERS_COLOR, TOGETHER_COLOR, NOISE_COLOR], 15)
    assert_distinct([TOGETHER_COLOR, UNEXPLAINED_COLOR], 5)


TOTALS = Result({"output": "a", "part": ("p", "q")}, {"total": np.ones((1, 2))})


@cases(
    ("arguments", "message"),
    ({"effects": TOTALS}, "effects has no column 'first'"),
    ({"max_parts": 0}, "max_parts"),
    ({"noise_share": [0.1]}, r"noise_share has shape \(1,\); expected \(2,\)"),
)
def test_bad_input_is_refused(arguments, message):
    given = {"effects": effects_by_hand([[0.5, 0.3]] * 2)} | arguments
    refuses(message, lambda: PartEffectsDisplay(**given).plot())
    assert plt.get_fignums() == []
