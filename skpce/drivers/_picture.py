"""An answer as a picture: the shares of the variance as bars, with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._bars import make_panels
from .._checks import import_extra
from .._fonts import choose_fonts, label, labels, width_in_letters
from ._findings import State, between, parts_of, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inputs and outputs that are drawn, and letters of a name on one of its two lines.
MOST_BARS, MOST_PANELS, LETTERS = 12, 4, 18

# In all, and alone; Okabe and Ito's palette, and greys that differ in print.
_COLORS = {State.DRIVES: ("#9CC9E6", "#0072B2"), State.SPREAD: ("#F5D590", "#E69F00")}
_OTHER = "#D9D9D9", "#8A8A8A"
_REST = "#BFBFBF"
_WIDTH = 5.4  # inches: ten points stay legible on a page of 400 pixels


def draw_answer(answer: Any, ax: Axes | None = None) -> Any:
    """Draw a panel for each output, the first four; return one axes, or a list."""
    drawn = [o for o in range(len(answer.q2)) if not np.isnan(answer.q2[o])]
    n_known, drawn = len(drawn), drawn[:MOST_PANELS] or [0]
    bars = min(len(answer.input_names), MOST_BARS + 1) + 3
    if ax is not None:
        panels = list(make_panels(len(drawn), bars, ax))
    else:
        plt = import_extra("matplotlib.pyplot", "plot", "the picture of an answer")
        long = [n for n in answer.input_names if width_in_letters(str(n)) > LETTERS]
        each = 0.27 if len(long) < 2 else 0.38  # neighbours of two lines
        size = _WIDTH, 0.75 + len(drawn) * (0.35 + each * bars)
        known: dict[str, Any] = {"layout": "constrained", "squeeze": False}
        panels = list(plt.subplots(len(drawn), 1, figsize=size, **known)[1][:, 0])
    for output, panel in zip(drawn, panels, strict=True):
        _draw_panel(answer, output, panel)
    scale = "share of the variance between runs, in %"
    if n_known > len(drawn):
        scale += f"\n(the first {len(drawn)} of {n_known} outputs)"
    panels[-1].set_xlabel(scale)
    _draw_legend(panels[-1], answer.drivers, is_given=ax is not None)
    choose_fonts(*panels)
    return panels if len(panels) > 1 else panels[0]


def _draw_panel(answer: Any, output: int, ax: Any) -> None:
    table = answer.drivers
    order = np.argsort(-np.nan_to_num(table.total[output]), kind="stable")
    shown = order[:MOST_BARS].tolist()
    names = labels([answer.input_names[i] for i in shown], LETTERS, 2)
    for at, i in enumerate(shown):  # in all, alone inside it, and the interval
        pale, strong = _COLORS.get(State(str(table.state[output, i])), _OTHER)
        total, first = table.total[output, i], table.first[output, i]
        low, high = table.total_low[output, i], table.total_high[output, i]
        ends = [100 * low, 100 * high]
        ax.barh(at, 100 * total, 0.62, color=pale)
        ax.barh(at, 100 * first, 0.62, color=strong)
        ax.plot(ends, [at, at], color="#222222", linewidth=1.3)
        ax.plot(ends, [at, at], "|", color="#222222", markersize=7)
        text = between(low, high) if strong == _OTHER[1] else percent(total)
        _write(ax, at, 100 * max(total, high), text)
    if len(order) > len(shown):
        names.append(f"({len(order) - len(shown)} more inputs)")
    first = len(names)
    for text, share in parts_of(answer.findings, output):
        ax.barh(len(names), 100 * share, 0.62, color=_REST, hatch="///", edgecolor="w")
        _write(ax, len(names), 100 * share, percent(share))
        names.append(text)
    ax.axhline(first - 0.5, color="#999999", linewidth=0.6)
    ax.set_yticks(np.arange(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlim(0, 112)
    ax.set_xticks(range(0, 101, 20))
    ax.set_title(label(str(answer._labels[output]), 48, 2), loc="left", fontsize=11)
    ax.spines[["top", "right"]].set_visible(False)


def _write(ax: Any, at: float, end: float, text: str) -> None:
    place = {"xytext": (4, 0), "textcoords": "offset points"}
    ax.annotate(text, (end, at), **place, va="center", fontsize=9)


def _draw_legend(ax: Any, table: Any, is_given: bool) -> None:
    """Draw the legend under a figure of ours; of axes that were given, under these."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.transforms import ScaledTranslation

    states = set(map(str, np.ravel(table.state)))
    handles: list[Any] = []
    if State.DRIVES in states:
        pale, strong = _COLORS[State.DRIVES]
        handles += [Patch(color=strong, label="drives: alone")]
        handles += [Patch(color=pale, label="and with others")]
    if State.SPREAD in states:
        strong = _COLORS[State.SPREAD][1]
        handles.append(Patch(color=strong, label="acts on the spread"))
    if states & {State.NOTHING, State.OPEN}:
        handles.append(Patch(color=_OTHER[1], label="not shown to drive"))
    line: dict[str, Any] = {"marker": "|", "markersize": 7, "linewidth": 1.3}
    handles.append(Line2D([], [], color="#222222", **line, label="90 % interval"))
    place: dict[str, Any] = {"loc": "outside lower center"}
    if is_given:  # under ticks and label, which half an inch holds
        shift = ScaledTranslation(0.0, -0.5, ax.figure.dpi_scale_trans)
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0)}
        place["bbox_transform"] = ax.transAxes + shift
    style: dict[str, Any] = {"frameon": False, "fontsize": 9, "handlelength": 1.4}
    (ax if is_given else ax.figure).legend(handles=handles, ncols=2, **place, **style)


# Lines of curves: Okabe and Ito's palette without yellow, which is too pale.
_LINES = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"


def draw_curves(curves: Any, ax: Axes | None = None) -> Any:
    """Draw shares in all along the axis, a band and a name for each input."""
    if ax is None:
        plt = import_extra("matplotlib.pyplot", "plot", "the picture of curves")
        ax = plt.subplots(figsize=(_WIDTH, 3.6), layout="constrained")[1]
    axis, names = curves.axis, curves.keys["input"]
    largest = np.nan_to_num(curves.total).max(axis=1)
    drives = curves.state == State.DRIVES
    order = np.lexsort((-largest, ~drives))
    shown = order[drives[order]] if drives.any() else order
    ends = []
    for i, color in zip(shown.tolist(), _LINES, strict=False):
        color = color if drives.any() else _OTHER[1]
        low, high = 100 * curves.total_low[i], 100 * curves.total_high[i]
        ax.fill_between(axis, low, high, color=color, alpha=0.18, linewidth=0)
        ax.plot(axis, 100 * curves.total[i], color=color, linewidth=2)
        begin = np.flatnonzero(axis == curves.begins[i])
        ax.plot(axis[begin], 100 * curves.total[i][begin], "o", color=color)
        ends.append((100 * np.nan_to_num(curves.total[i])[-1], str(names[i]), color))
    _label_ends(ax, ends)
    left = len(names) - len(ends)
    rest = "not shown to matter" if len(shown) == len(ends) else "not drawn"
    noun = "input" if left == 1 else "inputs"
    ax.set_title(f"{left} {noun} {rest}" if left else "", loc="left", fontsize=9)
    if axis[0] > 0 and _is_geometric(axis):
        ax.set_xscale("log")
        some = axis[:: -(-len(axis) // 8)]
        ax.set_xticks(some, [f"{at:g}" for at in some])
        ax.set_xticks([], minor=True)
    ax.set_ylim(0, 103)
    ax.set_xlabel(curves.axis_name)
    ax.set_ylabel("share in all of the variance, in %")
    ax.spines[["top", "right"]].set_visible(False)
    choose_fonts(ax)
    return ax


def _label_ends(ax: Any, ends: list[tuple[float, str, str]]) -> None:
    """Write names behind the ends of lines, so far apart that they can be read."""
    height, lines = -np.inf, 0
    ends = sorted(ends)
    texts = labels([name for _, name, _ in ends], LETTERS, 2)
    for (end, _, color), text in zip(ends, texts, strict=True):
        above, lines = lines, text.count("\n") + 1
        height = max(end, height + 3.3 * (above + lines))
        place: dict[str, Any] = {"xytext": (5, 0), "textcoords": "offset points"}
        place |= {"xycoords": ("axes fraction", "data"), "annotation_clip": False}
        ax.annotate(text, (1, height), **place, va="center", fontsize=10, color=color)


def _is_geometric(axis: Any) -> bool:
    """Whether positions are more evenly spaced as logarithms."""
    steps, ratios = np.diff(axis), np.diff(np.log(axis))
    return bool(np.std(ratios) / np.mean(ratios) < np.std(steps) / np.mean(steps))
