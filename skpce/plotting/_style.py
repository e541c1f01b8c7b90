"""Colours and axes of the displays, and the support of the indices they show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._checks import FloatArray, as_floats, import_extra, is_position
from .._compositions.log_ratio import clr_of, sum_by_step, transformer_of
from .._expansion.expansion import Expansion
from .._fonts import choose_fonts, label
from .._solvers.problem import LOG_RATIO_FLOOR, q2_from_sums, weighted_spread
from ..drivers import Answer
from ..inspection._reading import Reading, group_matrix

#: Okabe and Ito's palette, which colour-blind readers can distinguish.
COLORS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7"),
    *("#56B4E9", "#D55E00", "#F0E442", "#000000"),
)
MARKERS = "osD^vP"

#: Of what is not predicted.
UNEXPLAINED_COLOR = "#DDDDDD"
#: Of the interactions between inputs: a grey that no colour above turns into.
INTERACTION_COLOR = "#666666"
#: Label of a step whose attribution a verdict does not support.
NOT_SUPPORTED = "not attributable"
#: What a fit leaves of a variance: its own misfit, and noise.
NOT_PREDICTED = "not predicted"
#: Label of a step with one possible action, or whose members agree.
NO_VARIANCE = "no variance"
#: Of what belongs to a step that is not attributable.
HATCH = "////"

# Points that a letter, a digit and a line take at ten points of type.
_LETTER, _DIGIT, _LINE = 6.3, 5.5, 13.0


def make_axes(ax: Any, figsize: tuple[float, float]) -> Any:
    """Return the given axes, or those of a new figure."""
    if ax is not None:
        if not hasattr(ax, "get_subplotspec"):
            raise ValueError(f"ax must be axes of matplotlib or None. Got {ax!r}.")
        return ax
    plt = import_extra("matplotlib.pyplot", "plot", "a display")
    _, ax = plt.subplots(figsize=figsize, layout="constrained")
    return ax


def given_floats(values: ArrayLike | None) -> FloatArray | None:
    """Return an array of floats; None stays None."""
    return None if values is None else np.asarray(values, dtype=np.float64)


def readable(*axes: Any) -> tuple[Any, Any]:
    """Choose fonts for all texts; return the first axes and the figure."""
    choose_fonts(*axes)
    return axes[0], axes[0].figure


def legend_below(ax: Any) -> None:
    """Put the legend under the label of the x axis, where no data are."""
    from matplotlib.transforms import ScaledTranslation

    # Half an inch holds tick labels and axis label, whatever the size of the axes.
    shift = ScaledTranslation(0.0, -0.5, ax.figure.dpi_scale_trans)
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0)}
    place["bbox_transform"] = ax.transAxes + shift
    ax.legend(**place, frameon=False, ncols=2)


def color(position: int) -> str:
    """Return the colour of an input; after eight come darker and lighter ones."""
    if position < len(COLORS):
        return COLORS[position]
    hues = COLORS[:-1]  # black has no tints that differ from the greys
    turn, hue = divmod(position - len(COLORS), len(hues))
    toward, part = (0, 0.55) if turn % 2 == 0 else (255, 0.4)
    channels = (int(hues[hue][start : start + 2], 16) for start in (1, 3, 5))
    mixed = (round((1.0 - part) * value + part * toward) for value in channels)
    return "#" + "".join(f"{value:02X}" for value in mixed)


def series_style(position: int, name: Any, width: int = 28) -> dict[str, Any]:
    """Return colour, marker and label of the lines or points of one series."""
    marker = MARKERS[position % len(MARKERS)]
    return {"color": color(position), "marker": marker, "label": label(name, width)}


def share_names(input_names: Sequence[str]) -> list[str]:
    """Name what a step is cut into: inputs alone, together, and the rest."""
    return [*input_names, "interactions", NOT_PREDICTED]


def share_colors(n_inputs: int) -> list[str]:
    """Return the colours that go with these names."""
    return [*map(color, range(n_inputs)), INTERACTION_COLOR, UNEXPLAINED_COLOR]


def make_panels(
    ax: Any,
    n_panels: int,
    figsize: tuple[float, float],
    n_columns: int | None = None,
    width_ratios: Sequence[float] | None = None,
) -> list[Any]:
    """Return axes in rows: of a new figure, inside the given axes, or as given."""
    n_columns = n_panels if n_columns is None else min(n_columns, n_panels)
    n_rows = -(-n_panels // n_columns)
    if ax is None:
        figure = make_axes(None, figsize).figure
        figure.clear()
        figure.get_layout_engine().set(wspace=0.04)
        grid = figure.add_gridspec(n_rows, n_columns, width_ratios=width_ratios)
    elif not hasattr(ax, "get_subplotspec"):
        given = list(np.ravel(np.asarray(ax, dtype=object)))
        axes = [one for one in given if hasattr(one, "get_subplotspec")]
        if len(given) != n_panels or len(axes) != n_panels:
            raise ValueError(
                f"ax has {len(axes)} axes of matplotlib; expected one or {n_panels}."
            )
        return given
    elif n_panels == 1:
        return [ax]
    elif ax.get_subplotspec() is None:
        raise ValueError(
            f"ax={ax!r} belongs to no grid of subplots and cannot be divided; give "
            f"{n_panels} axes instead."
        )
    else:
        ax.set_axis_off()
        figure = ax.figure
        spec = ax.get_subplotspec()
        grid = spec.subgridspec(n_rows, n_columns, width_ratios=width_ratios)
    places = [divmod(panel, n_columns) for panel in range(n_panels)]
    return [figure.add_subplot(grid[row, column]) for row, column in places]


def hide_spines(ax: Any, sides: Sequence[str] = ("top", "right")) -> None:
    """Leave only the axes on the left and below, or none of the given sides."""
    ax.spines[list(sides)].set_visible(False)


def legend_right(ax: Any, keys: Iterable[tuple[str, Any]] | None = None) -> None:
    """Put a legend beside the axes; of names with colours, or with looks of patches."""
    from matplotlib.patches import Patch

    place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False}
    if keys is not None:
        looks = (
            (name, look if isinstance(look, dict) else {"facecolor": look})
            for name, look in keys
        )
        place["handles"] = [Patch(label=label(name), **look) for name, look in looks]
    ax.legend(**place)


def draw_stacked(
    ax: Any,
    widths: FloatArray,  # shape: (n_rows, n_segments)
    rows: Sequence[str],  # labels, the first on top
    segments: Sequence[tuple[str, Any]],  # names, and colours or looks of patches
    **kwargs: Any,
) -> tuple[list[Any], Any]:
    """Draw a bar for each row; return the bars by segment, and the places of rows."""
    places = np.arange(len(rows))[::-1]
    left = np.zeros(len(rows))
    drawn = []
    for width, (name, look) in zip(widths.T, segments, strict=True):
        style = {"edgecolor": "white", "linewidth": 0.5, "height": 0.7, "left": left}
        style |= look if isinstance(look, dict) else {"color": look}
        drawn.append(ax.barh(places, width, label=label(name), **(style | kwargs)))
        left = left + width
    ax.set_yticks(places, rows)
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(-0.6, len(rows) - 0.4)
    legend_right(ax, segments)
    hide_spines(ax)
    return drawn, places


def hatch(bars: Iterable[Any]) -> None:
    """Mark bars that are not to be read."""
    for bar in bars:
        bar.set_hatch(HATCH)


def finish_bars(
    ax: Any, places: Any, names: Iterable[Any], heads: Sequence[str]
) -> None:
    """Label the bars of a panel, from zero, and write lines above."""
    ax.set_yticks(places, [label(name, 28, 1) for name in names])
    ax.axvline(0.0, color="black", linewidth=0.8)
    ax.set_title("\n".join(heads), loc="left", fontsize=10)
    hide_spines(ax)


def draw_heat_map(
    ax: Any,
    values: Any,  # shape: (n_rows, n_columns); NaN cells stay empty
    rows: Any,
    columns: Any,
    *,
    marks: Sequence[str] | None = None,  # after names of rows, however short these
    errors: Any = None,  # shape: (n_rows, n_columns); NaN cells have none
    scale: str = "share of the variance",  # label of the colours
    heads: Sequence[str] = (),  # lines above
    **kwargs: Any,
) -> Any:
    """Draw a table in colours, with its numbers, and return the image."""
    image = ax.imshow(values, aspect="auto", **kwargs)
    marks = [""] * len(rows) if marks is None else marks
    names = [f"{label(row)}{mark}" for row, mark in zip(rows, marks, strict=True)]
    ax.set_yticks(np.arange(len(rows)), names)
    name_columns(ax, columns)
    _write_cells(ax, image, np.asarray(values), errors)
    hide_spines(ax, ax.spines)
    ax.tick_params(length=0)
    ax.figure.colorbar(image, ax=ax, label=scale)
    ax.set_title("\n".join(heads), fontsize=10, loc="left")
    return image


def name_columns(ax: Any, columns: Any) -> None:
    """Name the places 0, 1, ... of the x axis, turned where they are narrow."""
    width = _points_per_column(ax, len(columns))
    names = [label(name, 16) for name in columns]
    longest = max((len(line) for name in names for line in name.split("\n")), default=0)
    angle = 0 if _LETTER * longest < width else 45
    if angle:  # a second line would run into the next label
        names = [label(name, 24, 1) for name in columns]
        angle = 45 if width > 1.4 * _LINE else 90
    ax.set_xticks(
        np.arange(len(names)),
        names,
        rotation=angle,
        ha="right" if angle else "center",
        va="center" if angle == 90 else "top",
        rotation_mode="anchor" if angle else "default",
    )


def _points_per_column(ax: Any, n_columns: int) -> float:
    """Return the approximate width of a column beside labels and a colour bar."""
    return 0.85 * points_across(ax) / max(n_columns, 1)


def points_across(ax: Any) -> float:
    """Return the width of axes before labels take their part of it."""
    width = ax.figure.get_size_inches()[0] * ax.get_position().width
    return float(72.0 * width)


def _write_cells(ax: Any, image: Any, values: Any, errors: Any) -> None:
    """Write the numbers, unless the cells are too narrow for legible ones."""
    texts = {
        place: f"{value:z.2f}"
        for place, value in np.ndenumerate(values)
        if not np.isnan(value)
    }
    if errors is not None:
        for place in texts:
            if not np.isnan(errors[place]):
                texts[place] += f"\n± {errors[place]:.2f}"
    lines = [line for text in texts.values() for line in text.split("\n")]
    longest = max(map(len, lines), default=1)
    width = _points_per_column(ax, values.shape[1])
    size = min(9.0, 10.0 * width / (_DIGIT * (longest + 0.5)))
    if size < 6.0:
        return
    for (row, column), text in texts.items():
        shade = image.cmap(image.norm(values[row, column]))
        style = {"fontsize": size, "color": ink_on(shade)}
        ax.text(column, row, text, ha="center", va="center", **style)


def ink_on(
    shade: Sequence[float],  # red, green, blue and opacity, from 0 to 1
) -> str:
    """Return black or white, whichever has the higher contrast to a colour.

    Contrast is that of the Web Content Accessibility Guidelines 2.2, from the
    luminance: both are equal at 0.179.
    """
    srgb = np.asarray(shade[:3], dtype=np.float64)
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    return "white" if linear @ [0.2126, 0.7152, 0.0722] < 0.179 else "black"


def draw_whisker(
    ax: Any, bar: Any, error: float | tuple[float, float], place: float
) -> None:
    """Draw an error, or those to the left and to the right, at the end of a segment.

    A dot there has the colour of the segment.
    """
    from matplotlib.patheffects import withStroke

    end = bar.get_x() + bar.get_width()
    left, right = error if isinstance(error, tuple) else (error, error)
    low, high = max(end - left, 0.0), min(end + right, 1.0)
    style: dict[str, Any] = {"color": "black", "linewidth": 1.2}
    style["path_effects"] = [withStroke(linewidth=3.0, foreground="white")]
    ax.plot([low, high], [place, place], solid_capstyle="butt", **style)
    dot = {"color": bar.get_facecolor(), "markeredgecolor": "black", "markersize": 6}
    ax.plot([end], [place], "o", clip_on=False, **dot)


def heads_of(name: Any, unexplained: float, supported: bool) -> list[str]:
    """Name a step, what is not predicted of it, and whether it is supported."""
    if np.isnan(unexplained):
        return [label(name), NO_VARIANCE]
    tail = [] if supported else [NOT_SUPPORTED]
    return [label(name), f"{NOT_PREDICTED}: {unexplained:z.2f}", *tail]


def write_over(ax: Any, position: float, text: str) -> None:
    """Write why a bar is not to be read over its end."""
    style = {"ha": "right", "va": "center", "fontsize": 9}
    box = {"facecolor": "white", "alpha": 0.9, "linewidth": 0, "pad": 2}
    ax.text(0.985, position, text, bbox=box, **style)


def text_width(lines: Iterable[str], size: float) -> float:
    """Return the approximate width of the longest line in points."""
    return _LETTER * size / 10.0 * max(map(len, lines), default=0)


def refused(supported: Sequence[bool] | None, has_variance: Any) -> Any:
    """Return whether each step has a variance that a verdict does not attribute."""
    if supported is None:
        return np.zeros(len(has_variance), dtype=bool)
    return has_variance & ~np.asarray(supported, dtype=bool)


class Support(NamedTuple):
    """What stands behind the indices of each step, or of each target."""

    unexplained: FloatArray  # (n_groups,), one minus Q²; NaN without variance
    supported: tuple[bool, ...] | None  # None without a verdict


def support_of(
    expansion: Expansion, verdict: Answer | None, unexplained: ArrayLike | None = None
) -> Support:
    """Take shares that are given, else what a verdict says, else leave-one-out Q²."""
    supported = None
    if verdict is not None:
        refuse_other_steps(verdict, expansion.group_names)
        supported = verdict.attributable
        if unexplained is None:
            return Support(verdict.not_predicted, supported)
    share = expansion.unexplained_share if unexplained is None else unexplained
    given = as_floats(share, "unexplained")
    n_groups = expansion.n_groups
    if given.shape != (n_groups,):
        raise ValueError(
            f"unexplained has shape {given.shape}; expected ({n_groups},), "
            "one share per step or output."
        )
    outside = (given < 0) | (given > 1)
    if outside.any():
        worst = given[int(np.argmax(outside))]
        raise ValueError(
            f"unexplained holds {float(worst)!r}; expected shares from 0 to 1, or "
            "NaN for a step without choice or an output without variance."
        )
    # An expansion without variance explains nothing, whatever its Q².
    flat = (expansion.total_variance <= 0) & ~np.isnan(given)
    return Support(np.where(flat, 1.0, given), supported)


def refuse_other_steps(verdict: Answer, step_names: Sequence[str]) -> None:
    """Raise ``ValueError`` when a verdict is none, or about other steps or outputs."""
    if not isinstance(verdict, Answer):
        raise ValueError(
            f"verdict={verdict!r} must be what verdict or explain returns, or None."
        )
    key = next(iter(verdict.keys))
    found = tuple(verdict.step_names)
    if found != tuple(step_names):
        raise ValueError(
            f"verdict is about the {key}s {found!r}; expected those of the estimator, "
            f"{tuple(step_names)!r}."
        )


def check_position(
    name: str, value: Any, size: int, labels: Sequence[str] | None = None
) -> int:
    """Return a position from 0 to ``size - 1``, also of one of the labels."""
    if isinstance(value, str) and labels is not None:
        if value in labels:
            return list(labels).index(value)
        shown = ", ".join(labels[:5]) + (", ..." if len(labels) > 5 else "")
        raise ValueError(f"{name}={value!r} must be one of {shown}.")
    if not is_position(value, size):
        raise ValueError(f"{name}={value!r} must be an int from 0 to {size - 1}.")
    return int(value)


def held_out_q2(
    reading: Reading, y: ArrayLike, predicted: ArrayLike
) -> FloatArray:  # shape: (n_groups,); NaN without choice, or where members agree
    """Return Q² per step in Aitchison geometry, or per output, of these members."""
    if reading.compositions is None:
        return output_q2(y, predicted, reading.expansion)
    geometry = reading.compositions.geometry
    zero = transformer_of(reading.estimator).zero_replacement
    observed = clr_of(y, geometry, zero, "y")
    clr = clr_of(predicted, geometry, zero, "prediction")
    press = sum_by_step(np.square(observed - clr).sum(axis=0), geometry)
    spread = weighted_spread(observed, np.ones(len(observed)), LOG_RATIO_FLOOR)
    q2 = q2_from_sums(press, sum_by_step(spread, geometry))
    return np.where(geometry.has_choice, q2, np.nan)


def output_q2(
    y: ArrayLike, predicted: ArrayLike, expansion: Expansion
) -> FloatArray:  # shape: (n_groups,); NaN where the members agree
    """Return Q² per output of a regressor, about the mean of the members that have it.

    A member counts in an output when it has all of its columns (no NaN).
    """
    observed = np.asarray(y, dtype=np.float64)
    observed = observed.reshape(len(observed), -1)
    values = np.asarray(predicted, dtype=np.float64).reshape(observed.shape)
    member = group_matrix(expansion)
    failed = np.isnan(observed).astype(np.float64) @ member.T > 0
    q2 = np.full(expansion.n_groups, np.nan)
    for group, columns in enumerate(member > 0):
        rows = ~failed[:, group]
        some = observed[np.ix_(rows, columns)]
        if len(some):
            press = np.square(some - values[np.ix_(rows, columns)]).sum()
            spread = weighted_spread(some, np.ones(len(some))).sum()
            q2[group] = q2_from_sums(press, spread)
    return q2
