"""Variance against decision: what moves the utilities, and what changes the choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

from .._checks import FloatArray
from .._fonts import labels
from ..inspection import Result
from ._style import color, hide_spines, make_axes, readable, size_in_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inputs of the largest shares that have a label.
_MOST_LABELS = 12

# Of what is not supported.
_GREY = "#777777"
# Size of a line of a label of nine points, in inches.
_LINE = 0.19


class ValueOfInformationDisplay:
    """Share of the variance against share of the value of knowing, a point an input.

    An input far to the right of the diagonal moves the utilities of all actions alike,
    or of actions that are not taken anyway; one above it decides more than its variance
    suggests.

    Parameters
    ----------
    values : Result
        From :func:`skpce.decision.value_of_information`.

    Attributes
    ----------
    names : list of str
        Of the rows, without that of all inputs.
    variance_share, decision_share : ndarray of shape (n_rows,)
        Coordinates; the second is the value of the expansion over that of all inputs.
    supported : ndarray of bool of shape (n_rows,)
        Which points are filled.
    ax_, figure_ : matplotlib Axes and Figure
        Where the points are.
    points_ : list of matplotlib Line2D
        One for each row.

    Raises
    ------
    ValueError
        If ``values`` is no Result of :func:`skpce.decision.value_of_information`.

    See Also
    --------
    skpce.decision.value_of_information : Computes the values.
    SobolDisplay : Shares of the variance alone.

    Notes
    -----
    Bars are the 5 % and 95 % quantiles of the expansion's value over resampled members,
    divided by the value of all inputs as it is. A hollow grey point is *not supported*:
    what the actions differ by is not shown to depend on it.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from skpce import PolynomialChaosRegressor
    >>> from skpce.decision import value_of_information
    >>> from skpce.plotting import ValueOfInformationDisplay
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> utility = np.c_[5 * X[:, 0], 5 * X[:, 0] + X[:, 1]]
    >>> found = value_of_information(
    ...     PolynomialChaosRegressor(1, solver="ridge"), X, utility, random_state=0
    ... )
    >>> display = ValueOfInformationDisplay.from_values(found)
    >>> display.variance_share.round(2), display.decision_share.round(2)
    (array([0.98, 0.02]), array([0., 1.]))
    >>> plt.close(display.figure_)
    """

    def __init__(self, values: Result) -> None:
        columns = getattr(values, "columns", {})
        if not isinstance(values, Result) or "plug_in" not in columns:
            raise ValueError(
                "values must be the Result of value_of_information. Got "
                f"{values!r:.80}."
            )
        self.values = values
        self.names: list[str] = [str(name) for name in values.input_names[:-1]]
        self.variance_share: FloatArray = columns["variance_share"][:-1]
        self.decision_share: FloatArray = self._share("plug_in")
        self.supported: NDArray[np.bool_] = np.array(values.supported[:-1], dtype=bool)

    @classmethod
    def from_values(
        cls,
        values: Result,
        *,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> ValueOfInformationDisplay:
        """Draw what :func:`skpce.decision.value_of_information` found.

        Parameters
        ----------
        values : Result
            From :func:`skpce.decision.value_of_information`.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs
            Passed on to ``Axes.errorbar``.
        """
        return cls(values).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> ValueOfInformationDisplay:
        """Draw a point for each row.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs
            Passed on to ``Axes.errorbar``.
        """
        ax = make_axes(ax, (7.0, 4.6))
        low, high = self._share("low"), self._share("high")
        top = float(np.nanmax([1.0, *self.decision_share, *high[~np.isnan(high)]]))
        ax.plot([0, 1], [0, 1], color="#888888", lw=1.0, ls="--", zorder=0)
        self.points_: list[Any] = []
        for i, (x, y) in enumerate(
            zip(self.variance_share, self.decision_share, strict=True)
        ):
            shade = color(i) if self.supported[i] else _GREY
            bars = None
            if np.isfinite(low[i] + high[i]):
                bars = [[max(y - low[i], 0.0)], [max(high[i] - y, 0.0)]]
            look: dict[str, Any] = {"fmt": "o", "ms": 7, "color": shade, "capsize": 3}
            look |= {"elinewidth": 1.1, "mew": 1.3, "clip_on": False}
            look["mfc"] = shade if self.supported[i] else "white"
            drawn = ax.errorbar([x], [y], yerr=bars, **look | kwargs)
            self.points_.append(drawn.lines[0])
        ax.set_xlim(-0.03, 1.03)
        ax.set_ylim(-0.04 * top, 1.04 * top)
        n_named, n_rows = min(len(self.names), _MOST_LABELS), len(self.names)
        note = "" if n_named == n_rows else f"\n{n_named} of {n_rows} are named"
        ax.set_xlabel(f"share of the variance of the utilities{note}")
        ax.set_ylabel("share of the value of knowing all inputs")
        hide_spines(ax)
        self._name_points(ax, top)
        open_points = [
            point
            for point, good in zip(self.points_, self.supported, strict=True)
            if not good
        ]
        if open_points:
            place: Any = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0)}
            ax.legend(open_points[:1], ["not supported"], frameon=False, **place)
        self.ax_: Any = ax
        self.figure_: Any = readable(ax)[1]
        return self

    def _share(self, column: str) -> FloatArray:
        """Return a column over the value of all inputs; 0 where this is 0."""
        values = np.asarray(self.values.columns[column], dtype=np.float64)[:-1]
        whole = float(self.values.columns["plug_in"][-1])
        return values / whole if whole > 0 else np.zeros_like(values)

    def _name_points(self, ax: Any, top: float) -> None:
        """Write the names beside the axes, with a line to each point."""
        size = np.maximum(self.variance_share, self.decision_share)
        chosen = np.argsort(-size, kind="stable")[:_MOST_LABELS]
        chosen = chosen[np.argsort(-self.decision_share[chosen], kind="stable")]
        inches = size_in_points(ax.figure)[1] * ax.get_position().height / 72.0
        names = labels([self.names[i] for i in chosen], 24, 2)
        lines = max((name.count("\n") + 1 for name in names), default=1)
        apart = 1.08 * top * _LINE * lines / max(inches, 0.3)
        apart = min(apart, 1.08 * top / max(len(chosen), 1))
        # The nearest places that far apart: runs of crowded labels stay centred.
        steps = apart * np.arange(len(chosen))
        places = self.decision_share[chosen] + steps
        if len(chosen):
            places = isotonic_regression(places, increasing=False)
        places = places - steps
        places = places + max(0.0, -0.04 * top + apart / 2.0 - places.min(initial=top))
        for i, name, place in zip(chosen.tolist(), names, places, strict=True):
            point = (self.variance_share[i], self.decision_share[i])
            ax.plot(
                *zip(point, (1.04, place), strict=True),
                **{"color": "#BBBBBB", "lw": 0.6, "zorder": 0, "clip_on": False},
            )
            shade = "black" if self.supported[i] else _GREY
            style = {"va": "center", "fontsize": 9, "color": shade, "linespacing": 1.0}
            ax.text(1.05, place, name, **style)
