"""What the leading drivers do: the mean prediction along an input, and the runs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import FloatArray, import_extra
from .._fonts import choose_fonts, labels, log_axis, name_levels
from ._findings import State
from ._runs import Data

# Panels, inputs of an output, curves of an output, and points of a curve.
MOST_PANELS, MOST_INPUTS, MOST_CURVES, _POINTS = 8, 4, 4, 41

# Runs over which predictions are averaged.
_MOST_RUNS = 200

_COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")
_SIZE = 2.7, 2.2  # inches of a panel: two of them are legible on 400 pixels


@dataclass(frozen=True, eq=False)
class Effect:
    """The mean prediction of the columns of an output along one input.

    Inputs in logarithms are given as they were before, and ``is_log``; categories as
    the numbers of their ``levels``.
    """

    output: str
    input: str
    columns: tuple[str, ...]  # of the output that are shown
    grid: FloatArray  # shape: (n_points,)
    means: FloatArray  # shape: (n_points, n_columns)
    x: FloatArray  # shape: (n_runs,)
    y: FloatArray  # shape: (n_runs, n_columns)
    is_log: bool
    levels: tuple[Any, ...]  # empty for numbers
    is_driver: bool


def effects_of(answer: Any) -> list[Effect]:
    """Return the effects of the leading drivers; of no driver, of leading inputs."""
    data = answer.source
    if not isinstance(data, Data):
        raise ValueError(
            "Effects are drawn for the answers of skpce.explain; of a pipeline use "
            "skpce.plotting.MainEffectsDisplay."
        )
    found: list[Effect] = []
    for output in range(len(answer.q2)):
        if np.isnan(answer.q2[output]):
            continue
        total, states = answer.drivers.total[output], answer.drivers.state[output]
        order = np.argsort(-np.nan_to_num(total), kind="stable").tolist()
        single = [i for i in order if answer.input_names[i] in data.names]
        drivers = [i for i in single if states[i] == State.DRIVES]
        for i in (drivers or single[:2])[:MOST_INPUTS]:
            if len(found) < MOST_PANELS:
                name = answer.input_names[i]
                is_driver = states[i] == State.DRIVES
                found.append(_effect(answer.model, data, output, name, is_driver))
    return found


def _effect(model: Any, data: Data, output: int, name: str, is_driver: bool) -> Effect:
    place = data.names.index(name)
    x = data.X[:, place]
    levels = tuple(data.levels.get(name, ())) if data.is_category[place] else ()
    is_even = bool(x.min() > 0 and model.basis_.laws[place].is_logarithmic)
    points = np.geomspace if is_even else np.linspace
    grid = np.unique(x) if levels else points(x.min(), x.max(), _POINTS)
    columns = list(range(data.y.shape[1]))[data.read.layout.slices[output]]
    rows = np.unique(np.linspace(0, len(x) - 1, _MOST_RUNS).astype(int))
    tables = np.repeat(data.X[rows][np.newaxis], len(grid), axis=0)
    tables[:, :, place] = grid[:, np.newaxis]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # combinations that no run has
        flat = model.predict(data.table_of(tables.reshape(-1, data.X.shape[1])))
    predicted = np.asarray(flat).reshape(len(grid), len(rows), -1).mean(axis=1)
    means = predicted[:, columns]
    if len(columns) > MOST_CURVES:  # those that the input moves most
        moved = np.argsort(-np.ptp(means, axis=0), kind="stable")[:MOST_CURVES]
        columns, means = [columns[k] for k in moved], means[:, moved]
    names = data.read.layout.part_names
    is_log = name in data.logarithms
    grid, x = (10.0**at if is_log else at for at in (grid, x))
    return Effect(
        output=data.read.names[output],
        input=name,
        columns=tuple(names[k] for k in columns),
        grid=grid,
        means=means,
        x=x,
        y=data.y[:, columns],
        is_log=is_log or is_even,
        levels=levels,
        is_driver=is_driver,
    )


def draw_effects(effects: list[Effect]) -> Any:
    """Draw a panel for each effect; return the figure."""
    plt = import_extra("matplotlib.pyplot", "plot", "the picture of effects")
    n_columns = min(2, len(effects)) or 1
    n_rows = max(-(-len(effects) // n_columns), 1)
    size = _SIZE[0] * n_columns, _SIZE[1] * n_rows + 0.2
    options: dict[str, Any] = {"layout": "constrained", "squeeze": False}
    figure, axes = plt.subplots(n_rows, n_columns, figsize=size, **options)
    panels = axes.ravel()
    for panel in panels[len(effects) :]:
        panel.set_axis_off()
    told: set[str] = set()
    names = [f"{e.input} (log scale)" if e.is_log else e.input for e in effects]
    xlabels, ylabels = labels(names, 20, 2), labels([e.output for e in effects], 19, 2)
    for place, (effect, panel) in enumerate(zip(effects, panels, strict=False)):
        _draw(effect, panel, has_legend=effect.output not in told)
        panel.set(xlabel=xlabels[place], ylabel=ylabels[place])
        told.add(effect.output)
    choose_fonts(*panels)
    return figure


def _draw(effect: Effect, ax: Any, has_legend: bool) -> None:
    several = len(effect.columns) > 1
    for k, text in enumerate(labels(effect.columns, 14, 1)):
        color = _COLORS[k] if several or effect.is_driver else "#777777"
        at, shown = effect.x, effect.y[:, k]
        if effect.levels:  # beside one another, in the order of the runs
            at = at + 0.3 * (np.arange(len(at)) % 7 - 3) / 3
        points = {"s": 9, "alpha": 0.35, "linewidths": 0}
        ax.scatter(at, shown, color=color if several else "#777777", **points)
        if effect.levels:
            ends = effect.grid - 0.35, effect.grid + 0.35
            ax.hlines(effect.means[:, k], *ends, color=color, linewidth=2.2)
        else:
            ax.plot(effect.grid, effect.means[:, k], color=color, linewidth=2)
        if several:
            ax.plot([], [], color=color, linewidth=2, label=text)
    if effect.levels:
        name_levels(ax, effect.grid, [effect.levels[int(k)] for k in effect.grid])
    elif effect.is_log:
        log_axis(ax)
    if several and has_legend:
        ax.legend(fontsize=8, frameon=False, handlelength=1.2)
    ax.spines[["top", "right"]].set_visible(False)
