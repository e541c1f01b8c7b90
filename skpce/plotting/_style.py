"""Colours and axes shared by the displays."""

from __future__ import annotations

from typing import Any

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

    down = ScaledTranslation(0.0, -0.5, ax.figure.dpi_scale_trans)
    return ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + down,
        frameon=False,
        ncols=2,
    )


def color(position: int) -> str:
    """Return the colour of an input; they repeat after eight."""
    return COLORS[position % len(COLORS)]
