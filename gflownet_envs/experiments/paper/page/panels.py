"""Panels: one small picture each, so that the page can put them side by side or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skpce.plotting._style import COLORS, MARKERS, UNEXPLAINED_COLOR

#: Of the paper's figures, exact and trained policies.
SOURCE_COLORS = {"paper": "#999999", "exact": COLORS[0], "trained": COLORS[5]}
#: Of members and surrogate, as in the paper.
MEMBERS_COLOR, SURROGATE_COLOR = "#C0392B", "#2E6DA4"

#: Figures over the draws, (3, …): the smallest, the median and the largest of each; or
#: figures alone. None leaves a gap.
Drawn = Any

_WIDTH = 4.6  # inches: as wide as a column of the page, and as a telephone
_LETTERS = 22  # of a name


def new_figure(height: float = 3.4, width: float = _WIDTH) -> Any:
    """Return a figure that needs no screen and leaves pyplot as it is."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def short(name: str, letters: int = _LETTERS) -> str:
    """Return a name that fits beside an axis, line by line."""
    return "\n".join(
        line if len(line) <= letters else f"{line[: letters - 1]}…"
        for line in name.split("\n")
    )


def bars(
    categories: Sequence[str],
    series: Mapping[str, Drawn],
    label: str,
    *,
    log: bool = False,
    colors: Mapping[str, str] = SOURCE_COLORS,
) -> Any:
    """Draw grouped bars, with ranges as whiskers."""
    figure = new_figure(max(2.6, 0.9 + 0.2 * len(categories) * len(series)))
    ax = figure.subplots()
    height = 0.8 / len(series)
    places = np.arange(len(categories))
    for number, (name, values) in enumerate(series.items()):
        drawn = _with_ends(values)
        shift = (number - (len(series) - 1) / 2) * height
        color = colors.get(name, COLORS[number])
        ax.barh(places + shift, drawn[1], height, label=name, color=color)
        _whiskers(ax, drawn, places + shift)
    ax.set_yticks(places, [short(c) for c in categories])
    ax.invert_yaxis()
    ax.set_xlabel(label)
    if log:
        ax.set_xscale("log")
    _legend(figure, ax)
    return figure


def _with_ends(values: Drawn) -> np.ndarray:  # shape: (3, n)
    """Return smallest, median and largest; the ends of single figures are NaN."""
    found = np.array(values, dtype=float)
    return found if found.ndim == 2 else found * [[np.nan], [1.0], [np.nan]]


def shares(
    steps: Sequence[str],
    by_source: Mapping[str, Drawn],  # shapes: (3, n_steps, n_inputs)
    names: Sequence[str],
    label: str,
    *,
    stacked: bool,
) -> Any:
    """Draw indices per step and input, one column for each kind of policies.

    First-order indices are stacked, up to one; total ones stand side by side. The
    whiskers are the ranges over the draws, each around its own index.
    """
    per_row = 0.3 if stacked else 0.13 * len(names) + 0.12
    figure = new_figure(max(2.6, 1.1 + per_row * len(steps)))
    axes = figure.subplots(1, len(by_source), sharey=True, squeeze=False)[0]
    places, height = np.arange(len(steps)), 0.8 / len(names)
    for ax, (source, found) in zip(axes, by_source.items(), strict=True):
        left = np.zeros(len(steps))
        columns = np.moveaxis(np.array(found, dtype=float), 2, 0)
        for column, drawn in enumerate(columns):
            shift = (column - (len(names) - 1) / 2) * height
            values = np.nan_to_num(drawn[1])
            kind = {"color": COLORS[column % len(COLORS)], "label": names[column]}
            if stacked:  # the whisker is around where the bar of the input ends
                ax.barh(places, values, 0.75, left=left, **kind)
                drawn[1], drawn[::2] = left + values, left + drawn[::2]
                left += values
            else:
                ax.barh(places + shift, values, height, **kind)
                drawn[1] = values
            _whiskers(ax, drawn, places + shift)
        if stacked:
            rest = np.where(left > 0, np.maximum(1 - left, 0), 0)
            kind = {"color": UNEXPLAINED_COLOR, "label": "interactions"}
            ax.barh(places, rest, 0.75, left=left, **kind)
        ax.set_title(source, fontsize=9)
        ax.set_xlim(0, 1.02)
        ax.set_xlabel(label, fontsize=9)
    axes[0].set_yticks(places, [short(step) for step in steps])
    axes[0].invert_yaxis()
    _legend(figure, axes[0])
    return figure


def _whiskers(ax: Any, drawn: np.ndarray, places: np.ndarray) -> None:
    """Draw the smallest and the largest figure of the draws."""
    low, middle, high = drawn
    size = [np.maximum(middle - low, 0.0), np.maximum(high - middle, 0.0)]
    ax.errorbar(
        middle, places, xerr=size, fmt="none", ecolor="0.25", elinewidth=0.7, capsize=1
    )


def lines(
    x: Sequence[float],
    series: Mapping[str, Drawn],
    labels: tuple[str, str],
    *,
    diagonal: bool = False,
    logy: bool = False,
    styles: Mapping[str, Mapping[str, Any]] | None = None,
) -> Any:
    """Draw lines with markers, and ranges as bands."""
    figure = new_figure(3.6)
    ax = figure.subplots()
    if diagonal:
        ax.plot([0, 1], [0, 1], color="0.6", linestyle=":", linewidth=1)
        ax.set_xlim(0.45, 1.0)
        ax.set_ylim(0, 1.03)
    for number, (name, values) in enumerate(series.items()):
        low, middle, high = _with_ends(values)
        kind = {
            "color": COLORS[number % len(COLORS)],
            "marker": MARKERS[number % len(MARKERS)],
            "markersize": 4,
        } | dict((styles or {}).get(name, {}))
        ax.plot(x, middle, label=name, **kind)
        ax.fill_between(x, low, high, color=kind["color"], alpha=0.12, linewidth=0)
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    if logy:
        ax.set_yscale("log")
    _legend(figure, ax, columns=2)
    return figure


def policies(panels: Sequence[Mapping[str, Any]]) -> Any:
    """Draw members and surrogate with their standard deviations, step by step."""
    n_rows = [len(panel["actions"]) for panel in panels]
    figure = new_figure(0.7 + sum(0.62 + 0.26 * n for n in n_rows))
    axes = figure.subplots(
        len(panels), 1, squeeze=False, height_ratios=[2 + n for n in n_rows]
    )[:, 0]
    for ax, panel in zip(axes, panels, strict=True):
        places = np.arange(len(panel["actions"]))
        for name, color, shift in (
            ("members", MEMBERS_COLOR, -0.19),
            ("surrogate", SURROGATE_COLOR, 0.19),
        ):
            mean, spread = panel[name]
            ax.barh(
                places + shift,
                mean,
                0.36,
                xerr=spread,
                color=color,
                alpha=0.8,
                label=name,
                error_kw={"elinewidth": 0.8, "ecolor": "0.25"},
            )
        ax.set_yticks(places, [short(a) for a in panel["actions"]], fontsize=8)
        ax.invert_yaxis()
        ax.set_xlim(0, max(0.05, min(1.0, ax.get_xlim()[1])))
        ax.set_title(panel["step"], fontsize=9, loc="left")
    axes[-1].set_xlabel("probability, ± standard deviation")
    _legend(figure, axes[0])
    return figure


def _legend(figure: Any, ax: Any, columns: int = 3) -> None:
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        figure.legend(
            handles,
            labels,
            loc="outside lower center",
            ncols=min(columns, len(labels)),
            frameon=False,
            fontsize=8,
        )
