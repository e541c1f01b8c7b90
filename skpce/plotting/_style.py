"""Colours and axes of the displays, and the support of the indices they show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._checks import FloatArray, import_extra, is_position
from .._compositions.log_ratio import clr_of, sum_by_step, transformer_of
from .._expansion.expansion import Expansion
from .._fonts import choose_fonts, label, labels
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

# Points that a letter, a digit, a line, and the space between entries of a legend take
# at ten points of type.
LETTER, _DIGIT, LINE, _SPACE = 6.3, 5.5, 13.0, 5.0
# Letters of a line of a name, and lines.
_WIDTH, _MOST_LINES = 28, 3
# Points that a colour bar takes with its labels.
_COLOR_BAR = 75.0


def make_axes(ax: Any, figsize: tuple[float, float]) -> Any:
    """Return the given axes, or those of a new figure."""
    return make_panels(ax, 1, figsize)[0]


def given_floats(values: ArrayLike | None) -> FloatArray | None:
    """Return an array of floats; None stays None."""
    return None if values is None else np.asarray(values, dtype=np.float64)


def readable(*axes: Any) -> tuple[Any, Any]:
    """Choose fonts for all texts; return the first axes and the figure."""
    choose_fonts(*axes)
    return axes[0], axes[0].figure


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


def series_style(position: int, name: Any) -> dict[str, Any]:
    """Return colour, marker and label of the lines or points of one series."""
    marker = MARKERS[position % len(MARKERS)]
    return {"color": color(position), "marker": marker, "label": label(name)}


def make_panels(
    ax: Any,
    n_panels: int,
    figsize: tuple[float, float],
    n_columns: int | None = None,
    width_ratios: Sequence[float] | None = None,
) -> list[Any]:
    """Return axes in rows: of a new figure, inside the given axes, or as given."""
    n_columns = min(n_columns or n_panels, n_panels)
    n_rows = -(-n_panels // n_columns)
    if ax is None:
        plt = import_extra("matplotlib.pyplot", "plot", "a display")
        figure = plt.figure(figsize=figsize, layout="constrained")
        figure.get_layout_engine().set(wspace=0.04)
        grid = figure.add_gridspec(n_rows, n_columns, width_ratios=width_ratios)
    else:
        given = np.ravel(np.asarray(ax, dtype=object)).tolist()
        axes = [one for one in given if hasattr(one, "get_subplotspec")]
        if len(given) not in (1, n_panels) or len(axes) != len(given):
            expected = "one" if n_panels == 1 else f"one or {n_panels}"
            raise ValueError(
                f"ax has {len(axes)} axes of matplotlib; expected {expected}."
            )
        if len(axes) == n_panels:
            return axes
        figure, spec = axes[0].figure, axes[0].get_subplotspec()
        if spec is None:
            raise ValueError(
                f"ax={ax!r} belongs to no grid of subplots and cannot be divided; give "
                f"{n_panels} axes instead."
            )
        axes[0].set_axis_off()
        grid = spec.subgridspec(n_rows, n_columns, width_ratios=width_ratios)
    places = [divmod(panel, n_columns) for panel in range(n_panels)]
    return [figure.add_subplot(grid[row, column]) for row, column in places]


def hide_spines(ax: Any, sides: Sequence[str] = ("top", "right")) -> None:
    """Leave only the axes on the left and below, or none of the given sides."""
    ax.spines[list(sides)].set_visible(False)


def legend_right(
    ax: Any,
    names: Sequence[Any],
    drawn: Sequence[Any] = (),
    *,
    looks: Iterable[Any] | None = None,  # colours or looks of patches, if not drawn
    marks: Sequence[str] | None = None,  # after names, however short these
    width: int = _WIDTH,
) -> None:
    """Put a legend beside the axes; names have as many lines as there is room for."""
    from matplotlib.patches import Patch

    room = size_in_points(ax.figure)[1] * ax.get_position().y1
    texts = _marked(names, marks, width, room / max(len(names), 1) - _SPACE)
    place: dict[str, Any] = {
        "loc": "upper left",
        "bbox_to_anchor": (1.0, 1.0),
        "frameon": False,
    }
    if looks is None:
        for one, text in zip(drawn, texts, strict=True):
            one.set_label(text)
    else:
        styles = [x if isinstance(x, dict) else {"facecolor": x} for x in looks]
        pairs = zip(styles, texts, strict=True)
        place["handles"] = [Patch(**style, label=text) for style, text in pairs]
    ax.legend(**place)


def _marked(
    names: Sequence[Any], marks: Sequence[str] | None, width: int, height: float
) -> list[str]:
    """Label names with marks on as many lines as a height in points holds."""
    marks = [""] * len(names) if marks is None else marks
    lines = int(height / LINE) - max((mark.count("\n") for mark in marks), default=0)
    texts = labels(names, width, min(max(lines, 1), _MOST_LINES))
    return [f"{text}{mark}" for text, mark in zip(texts, marks, strict=True)]


def draw_stacked(
    ax: Any,
    widths: FloatArray,  # shape: (n_rows, n_segments)
    rows: Sequence[Any],  # names, the first on top
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
    name_rows(ax, places, rows)
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(-0.6, len(rows) - 0.4)
    names, looks = zip(*segments, strict=True)
    legend_right(ax, names, looks=looks)
    hide_spines(ax)
    return drawn, places


def hatch(bars: Iterable[Any]) -> None:
    """Mark bars that are not to be read."""
    for bar in bars:
        bar.set_hatch(HATCH)


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
    foot = name_columns(ax, columns, rows) + LINE * len(heads)
    name_rows(ax, np.arange(len(rows)), rows, marks, foot)
    texts = {}
    for place, value in np.ndenumerate(values):
        if not np.isnan(value):
            texts[place] = f"{value:z.2f}"
            if errors is not None and not np.isnan(errors[place]):
                texts[place] += f"\n± {errors[place]:.2f}"
    lines = [line for text in texts.values() for line in text.split("\n")]
    longest = max(map(len, lines), default=1)
    width = _points_per_column(ax, len(columns), rows)
    size = min(9.0, 10.0 * width / (_DIGIT * (longest + 0.5)))
    if size >= 6.0:  # else the cells are too narrow for legible numbers
        for (row, column), text in texts.items():
            ink = ink_on(image.cmap(image.norm(values[row, column])))
            style = {"ha": "center", "va": "center", "fontsize": size, "color": ink}
            ax.text(column, row, text, **style)
    hide_spines(ax, ax.spines)
    ax.tick_params(length=0)
    ax.figure.colorbar(image, ax=ax, label=scale)
    ax.set_title("\n".join(heads), fontsize=10, loc="left")
    return image


def name_rows(
    ax: Any,
    places: Any,
    names: Sequence[Any],
    marks: Sequence[str] | None = None,
    foot: float = 3.0 * LINE,  # points that are taken above and below the rows
) -> None:
    """Name places of the y axis, on as many lines as a row has room for."""
    height = (points_with_labels(ax)[1] - foot) / max(len(names), 1)
    ax.set_yticks(places, _marked(names, marks, _WIDTH, height))


def name_columns(ax: Any, columns: Sequence[Any], rows: Iterable[Any] = ()) -> float:
    """Name the places 0, 1, ... of the x axis, turned where they are narrow.

    Return the height of the names in points.
    """
    width = _points_per_column(ax, len(columns), rows)
    names = labels(columns, 16)
    longest = max((len(line) for name in names for line in name.split("\n")), default=0)
    angle = 0 if LETTER * longest < width else 45
    if angle:  # a second line would run into the next label
        names = labels(columns, 24, 1)
        longest = max(map(len, names))
        angle = 45 if width > 1.4 * LINE else 90
    ax.set_xticks(
        np.arange(len(names)),
        names,
        rotation=angle,
        ha="right" if angle else "center",
        va="center" if angle == 90 else "top",
        rotation_mode="anchor" if angle else "default",
    )
    if angle:
        return float(LETTER * longest * np.sin(np.radians(angle)) + LINE)
    return LINE * max((1 + name.count("\n") for name in names), default=0)


def _points_per_column(ax: Any, n_columns: int, rows: Iterable[Any] = ()) -> float:
    """Return the approximate width of a column, beside a colour bar and names."""
    names = [str(row)[:_WIDTH] for row in rows]
    return 0.85 * points_beside(ax, names, _COLOR_BAR) / max(n_columns, 1)


def points_beside(ax: Any, lines: Iterable[str], taken: float = 0.0) -> float:
    """Return the approximate width of axes beside names of rows and what else is."""
    return points_with_labels(ax)[0] - 0.88 * text_width(lines, 10.0) - taken


def size_in_points(figure: Any) -> FloatArray:
    """Return width and height of a figure, or of a part of one."""
    pixels = np.array([figure.bbox.width, figure.bbox.height])
    return 72.0 * pixels / figure.dpi


def points_with_labels(ax: Any) -> tuple[float, float]:
    """Return width and height of axes with the labels for which room is made."""
    figure, box = ax.figure, ax.get_position()
    width, height = size_in_points(figure) * [box.width, box.height]
    if figure.get_layout_engine() is not None:
        edges = figure.subplotpars
        width /= edges.right - edges.left
        height /= edges.top - edges.bottom
    return float(width), float(height)


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


def write_over(ax: Any, position: float, text: str) -> None:
    """Write why a bar is not to be read over its end."""
    style = {"ha": "right", "va": "center", "fontsize": 9}
    box = {"facecolor": "white", "alpha": 0.9, "linewidth": 0, "pad": 2}
    ax.text(0.985, position, text, bbox=box, **style)


def text_width(lines: Iterable[str], size: float) -> float:
    """Return the approximate width of the longest line in points."""
    return LETTER * size / 10.0 * max(map(len, lines), default=0)


def refused(supported: Sequence[bool] | None, has_variance: Any) -> Any:
    """Return whether each step has a variance that a verdict does not attribute."""
    if supported is None:
        return np.zeros(len(has_variance), dtype=bool)
    return has_variance & ~np.asarray(supported, dtype=bool)


class Support(NamedTuple):
    """What stands behind the indices of each step, or of each target."""

    unexplained: FloatArray  # (n_groups,), one minus Q²; NaN without variance
    supported: tuple[bool, ...] | None  # None without a verdict


def support_of(expansion: Expansion, verdict: Answer | None) -> Support:
    """Take what a verdict says, else the leave-one-out Q² of the fit."""
    if verdict is not None:
        refuse_other_steps(verdict, expansion.group_names)
        return Support(verdict.not_predicted, verdict.attributable)
    # An expansion without variance explains nothing, whatever its Q².
    share = expansion.unexplained_share
    flat = (expansion.total_variance <= 0) & ~np.isnan(share)
    return Support(np.where(flat, 1.0, share), None)


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
        observed = np.asarray(y, dtype=np.float64)
        observed = observed.reshape(len(observed), -1)
        values = np.asarray(predicted, dtype=np.float64).reshape(observed.shape)
        q2 = np.full(reading.expansion.n_groups, np.nan)
        # About the mean of the members that have the output.
        for group, columns in enumerate(group_matrix(reading.expansion) > 0):
            rows = ~np.isnan(observed[:, columns]).any(axis=1)
            some = observed[np.ix_(rows, columns)]
            if len(some):
                press = np.square(some - values[np.ix_(rows, columns)]).sum()
                spread = weighted_spread(some, np.ones(len(some))).sum()
                q2[group] = q2_from_sums(press, spread)
        return q2
    geometry = reading.compositions.geometry
    zero = transformer_of(reading.estimator).zero_replacement
    observed = clr_of(y, geometry, zero, "y")
    clr = clr_of(predicted, geometry, zero, "prediction")
    press = sum_by_step(np.square(observed - clr).sum(axis=0), geometry)
    spread = weighted_spread(observed, np.ones(len(observed)), LOG_RATIO_FLOOR)
    q2 = q2_from_sums(press, sum_by_step(spread, geometry))
    return np.where(geometry.has_choice, q2, np.nan)
