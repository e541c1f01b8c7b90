"""Colours and axes shared by the displays."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

#: Okabe and Ito's palette, which colour-blind readers can tell apart.
COLORS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#000000",
)

#: Of what is not explained.
UNEXPLAINED_COLOR = "#DDDDDD"
#: Of the interactions between inputs.
INTERACTION_COLOR = "#888888"


def make_axes(ax: Any, figsize: tuple[float, float]) -> Any:
    """Return the given axes, or those of a new figure.

    Raises
    ------
    ImportError
        With the command that installs matplotlib, when it is missing.
    """
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Displays need matplotlib: python -m pip install 'skpce[plot]'"
        ) from error
    _, ax = plt.subplots(figsize=figsize, layout="constrained")
    return ax


def legend_below(ax: Any, handles: Any = None) -> Any:
    """Put the legend under the label of the x axis, where no data are.

    Half an inch holds tick labels and axis label, whatever the size of the axes.
    """
    from matplotlib.transforms import ScaledTranslation

    shift = ScaledTranslation(0.0, -0.5, ax.figure.dpi_scale_trans)
    return ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + shift,
        frameon=False,
        ncols=2,
    )


def color(position: int) -> str:
    """Return the colour of an input; after eight come lighter and darker ones."""
    if position < len(COLORS):
        return COLORS[position]
    hues = COLORS[:-1]  # black has no tints that differ from the greys
    turn, hue = divmod(position - len(COLORS), len(hues))
    toward = 255 if turn % 2 == 0 else 0
    channels = (int(hues[hue][start : start + 2], 16) for start in (1, 3, 5))
    mixed = (round(0.5 * value + 0.5 * toward) for value in channels)
    return "#" + "".join(f"{value:02X}" for value in mixed)


def label(name: Any, width: int = 28, max_lines: int = 3) -> str:
    """Return a name that matplotlib draws as it stands, on short lines.

    A dollar sign starts no formula, and a leading underscore does not hide the name
    from a legend.
    """
    text = " ".join(str(name).split())
    lines = textwrap.wrap(text, width, max_lines=max_lines, placeholder=" …")
    shown = "\n".join(lines).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def make_panels(
    ax: Any, n_panels: int, figsize: tuple[float, float], n_columns: int | None = None
) -> list[Any]:
    """Return axes in rows: of a new figure, inside the given axes, or as given.

    Raises
    ------
    ValueError
        If another number of axes is given, or axes that cannot be divided.
    """
    n_columns = n_panels if n_columns is None else min(n_columns, n_panels)
    n_rows = -(-n_panels // n_columns)
    if ax is None:
        figure = make_axes(None, figsize).figure
        figure.clear()
        grid = figure.add_gridspec(n_rows, n_columns)
    elif not hasattr(ax, "get_subplotspec"):
        given = list(np.ravel(np.asarray(ax, dtype=object)))
        if len(given) != n_panels:
            raise ValueError(f"ax has {len(given)} axes; expected one or {n_panels}.")
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
        grid = ax.get_subplotspec().subgridspec(n_rows, n_columns)
    places = [divmod(panel, n_columns) for panel in range(n_panels)]
    return [figure.add_subplot(grid[row, column]) for row, column in places]


def hide_spines(ax: Any) -> None:
    """Leave only the axes on the left and below."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def legend_right(ax: Any, **kwargs: Any) -> Any:
    """Put the legend to the right of the axes, where no data are."""
    return ax.legend(
        loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, **kwargs
    )


def draw_heat_map(
    ax: Any,
    values: Any,  # shape: (n_rows, n_columns); NaN cells stay empty
    rows: Any,
    columns: Any,
    **kwargs: Any,
) -> Any:
    """Draw a table in colours, with its numbers, and return the image."""
    image = ax.imshow(values, aspect="auto", **kwargs)
    ax.set_yticks(np.arange(len(rows)), [label(name) for name in rows])
    names = [label(name, 16) for name in columns]
    longest = max((len(line) for name in names for line in name.split("\n")), default=0)
    turned = longest * len(names) > 60 or longest > 8
    if turned:  # a second line would run into the next label
        names = [label(name, 24, 1) for name in columns]
    ax.set_xticks(
        np.arange(len(names)),
        names,
        rotation=45 if turned else 0,
        ha="right" if turned else "center",
        rotation_mode="anchor" if turned else "default",
    )
    if np.size(values) <= 200:
        _write_cells(ax, image, np.asarray(values))
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.tick_params(length=0)
    return image


def _write_cells(ax: Any, image: Any, values: Any) -> None:
    for (row, column), value in np.ndenumerate(values):
        if np.isnan(value):
            continue
        red, green, blue, _ = image.cmap(image.norm(value))
        is_dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
        text = f"{value:.2f}"
        ax.text(
            column,
            row,
            "0.00" if text == "-0.00" else text,
            ha="center",
            va="center",
            fontsize=9,
            color="white" if is_dark else "black",
        )
