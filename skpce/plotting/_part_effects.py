"""Shares of the variance of named parts, by recombination: bars and pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import BoolArray, FloatArray, as_floats, check_integer
from .._fonts import label
from ..inspection import Result
from ._style import (
    INTERACTION_COLOR,
    NO_VARIANCE,
    color,
    draw_stacked,
    draw_whisker,
    hatch,
    ink_on,
    make_axes,
    points_beside,
    readable,
    text_width,
    write_over,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OWNER = "PartEffectsDisplay"
#: Of the parts that have no colour of their own together.
OTHERS_COLOR = INTERACTION_COLOR
#: Of what no part causes alone: a light grey that no colour of a part turns into.
TOGETHER_COLOR = "#C6C6C6"
#: Of training noise: white, with lines that lean the other way than those of a bar
#: that is not supported.
NOISE_COLOR = "#FFFFFF"
_NOISE_LOOK = {"facecolor": NOISE_COLOR, "edgecolor": "#777777", "hatch": "\\\\\\\\"}
_NOISE = "training noise"
#: Label of a bar without room for parts.
DROWNED = "training noise exceeds the differences between inputs"
#: Rows of a panel of bars, and parts of a map of pairs, at most.
MOST_ROWS = 12

# Parts below this share in every output have no colour of their own.
_VISIBLE = 0.005
# Height of a bar, and size of the numbers inside, in points.
_HEIGHT, _SIZE = 0.74, 8.0


class PartEffectsDisplay:
    r"""What named parts of an input cause: a stacked bar for each output.

    A bar holds the first-order index of each part, the largest over all outputs first,
    what the parts cause only together (*interactions*, one minus the sum of the first
    orders) and, with ``noise_share``, the training noise. It adds up to one.

    Parameters
    ----------
    effects : Result
        From :func:`skpce.inspection.part_effects`.
    noise_share : array-like of shape (n_outputs,) or None, default=None
        Share of training noise in the variance of trained policies, where the effects
        are those of the rewards that they were trained on. All other shares are
        multiplied by one minus it. One or more leaves nothing to be attributed; below
        zero and NaN count as zero.
    noise_error : array-like of shape (n_outputs,) or None, default=None
        Standard errors of ``noise_share``.
    max_parts : int, default=7
        Parts with a colour of their own; all others are drawn as one.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the bars are.
    bars_ : list of matplotlib BarContainer
        One for each of ``segment_names``.

    Raises
    ------
    ValueError
        If ``effects`` is no Result of named parts, or ``noise_share`` has another
        length than its outputs, as ``noise_error``.

    See Also
    --------
    skpce.inspection.part_effects : Computes the effects.
    SobolDisplay : Shares of the inputs of an expansion.

    Notes
    -----
    Numbers inside the bars are estimates in per cent with one standard error; segments
    that are too narrow for them carry a whisker of the same length at their end. The
    standard error of a sum of parts (*others*, *interactions*) is the root of the
    summed squares, as if the estimates of parts were independent. A first-order index
    below zero is sampling error and has no width, as *others* and interactions below
    zero have none; where the widths of the parts exceed the bar, all of them shrink in
    proportion, and the numbers remain the estimates.

    Outputs that are not *supported* (dependent parts) are hatched and have no numbers.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from skpce.inspection import part_effects
    >>> from skpce.plotting import PartEffectsDisplay
    >>> rng = np.random.default_rng(0)
    >>> parts = {"level": rng.normal(size=300), "trend": 0.5 * rng.normal(size=300)}
    >>> effects = part_effects(lambda z: 3 * z, parts, random_state=0)
    >>> display = PartEffectsDisplay(effects, noise_share=[0.5]).plot()
    >>> display.segment_names
    ['level', 'trend', 'interactions', 'training noise']
    >>> display.shares.sum(axis=1)
    array([1.])
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        effects: Result,
        *,
        noise_share: ArrayLike | None = None,
        noise_error: ArrayLike | None = None,
        max_parts: int = 7,
    ) -> None:
        check_integer(OWNER, "max_parts", max_parts, low=1)
        self.effects, self.max_parts = effects, max_parts
        self._first = _table_of(effects, "first")
        n_outputs = len(self._first)
        self.output_names: list[str] = list(map(str, next(iter(effects.keys.values()))))
        self.part_names: list[str] = list(map(str, effects.part_names))
        self.has_noise = noise_share is not None
        share = _by_output(noise_share, "noise_share", n_outputs, 0.0)
        self.noise_share: FloatArray = np.clip(np.nan_to_num(share), 0.0, 1.0)
        self.noise_error = _by_output(noise_error, "noise_error", n_outputs, np.nan)
        # Outputs without variance between members.
        self._is_flat: BoolArray = np.asarray(np.isnan(self._first).any(axis=1))

    @property
    def leading(self) -> NDArray[np.intp]:
        """Positions of the parts with a colour of their own, the largest first."""
        whole = np.maximum(np.nan_to_num(self._first), 0.0)
        order = np.argsort(-whole.sum(axis=0), kind="stable")
        seen = order[whole[:, order].max(axis=0, initial=0.0) >= _VISIBLE]
        return seen[: self.max_parts]

    @property
    def _segments(self) -> list[tuple[str, Any, NDArray[np.intp]]]:
        """Name and look of what a bar is cut into, and the parts of it."""
        named, none = self.leading, np.zeros(0, dtype=np.intp)
        found: list[tuple[str, Any, NDArray[np.intp]]] = [
            (self.part_names[part], color(place), named[[place]])
            for place, part in enumerate(named)
        ]
        rest = np.setdiff1d(np.arange(len(self.part_names)), named)
        if len(rest):
            one = self.part_names[rest[0]]
            name = one if len(rest) == 1 else f"others ({len(rest)})"
            found.append((name, OTHERS_COLOR, rest))
        found.append(("interactions", TOGETHER_COLOR, none))
        if self.has_noise:
            found.append((_NOISE, _NOISE_LOOK | {"linewidth": 0.5}, none))
        return found

    @property
    def segment_names(self) -> list[str]:
        """Names of what a bar is cut into."""
        return [name for name, _, _ in self._segments]

    def _sums(self, parts: FloatArray) -> FloatArray:
        """Add up a table of parts in segments of parts."""
        owned = (own for _, _, own in self._segments if len(own))
        return np.column_stack([parts[:, own].sum(axis=1) for own in owned])

    def _table(
        self, sums: FloatArray, together: FloatArray, noise: FloatArray
    ) -> FloatArray:  # shape: (n_outputs, n_segments)
        """Return segments of parts beside interactions and noise."""
        table = np.column_stack([sums, together]) * (1.0 - self.noise_share)[:, None]
        return np.column_stack([table, noise]) if self.has_noise else table

    @property
    def shares(self) -> FloatArray:
        """Widths of the segments (n_outputs, n_segments); rows add up to 1, or NaN."""
        drawn = np.maximum(self._sums(self._first), 0.0)
        drawn = drawn / np.maximum(drawn.sum(axis=1, keepdims=True), 1.0)
        together = np.maximum(1.0 - drawn.sum(axis=1), 0.0)
        noise = np.where(self._is_flat, np.nan, self.noise_share)
        return self._table(drawn, together, noise)

    @property
    def estimates(self) -> tuple[FloatArray, FloatArray]:
        """Estimates of the segments and their standard errors, (n_outputs, n_segments).

        Unlike ``shares`` they are not clipped. The standard error of training noise
        is ``noise_error``, NaN where that is not given.
        """
        sums = self._sums(self._first)
        values = self._table(sums, 1.0 - sums.sum(axis=1), self.noise_share)
        # Variances take the square of the scale, which the table has once.
        scale = 1.0 - self.noise_share
        squares = np.square(_table_of(self.effects, "first_error")) * scale[:, None]
        noise = np.square(self.noise_error)
        whole = squares.sum(axis=1)
        return values, np.sqrt(self._table(self._sums(squares), whole, noise))

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> PartEffectsDisplay:
        """Draw a bar for each output, a dozen at most.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs
            Passed on to ``Axes.barh``.
        """
        n_outputs, segments = len(self.output_names), self._segments
        shown, notes = np.arange(n_outputs), []
        if n_outputs > MOST_ROWS:  # those with a choice first
            chosen = np.argsort(self._is_flat, kind="stable")[:MOST_ROWS]
            shown = np.sort(chosen)
            notes.append(f"{MOST_ROWS} of {n_outputs} are shown; the table has all.")
        height = max(1.5 + 0.55 * len(shown), 0.9 + 0.24 * len(segments))
        ax = make_axes(ax, (9.0, height))
        widths = np.nan_to_num(self.shares[shown])
        rows = [self.output_names[i] for i in shown]
        looks = [(name, look) for name, look, _ in segments]
        style = {"height": _HEIGHT} | kwargs
        self.bars_: list[Any]
        self.bars_, positions = draw_stacked(ax, widths, rows, looks, **style)
        ax.set_xlabel("\n".join(["share of the variance", *notes]))
        # Points of a bar of length one, about, beside names, legend, and spaces.
        legend: Any = ax.get_legend()
        keys = [text.get_text() for text in legend.get_texts()]
        shown_rows = [text.get_text() for text in ax.get_yticklabels()]
        taken = 45.0 + 0.88 * text_width("\n".join(keys).split("\n"), 10.0)
        room = max(points_beside(ax, "\n".join(shown_rows).split("\n"), taken), 60.0)
        for row, output in enumerate(shown.tolist()):
            self._write(ax, output, positions[row], row, room)
        self.ax_, self.figure_ = readable(ax)
        return self

    def _write(
        self, ax: Any, output: int, position: float, row: int, room: float
    ) -> None:
        """Write the numbers into a bar, or why there are none."""
        if self._is_flat[output]:
            ax.text(0.015, position, NO_VARIANCE, va="center", color="#555555")
            return
        reason = self._reason(output)
        if self.noise_share[output] >= 1.0:
            reason = DROWNED
        elif reason:
            hatch(bars[row] for bars in self.bars_[: len(self.bars_) - self.has_noise])
        if reason:
            write_over(ax, position, label(reason, max(12, int(room / 5.5)), 2))
            return
        values, errors = (table[output] for table in self.estimates)
        narrow = 0
        for segment, bars in enumerate(self.bars_):
            bar = bars[row]
            text = _fitting_text(
                values[segment], errors[segment], room * bar.get_width()
            )
            if text:
                style: dict[str, Any] = {"ha": "center", "va": "center"}
                if self.segment_names[segment] == _NOISE:
                    box = {"facecolor": "white", "linewidth": 0, "pad": 1.5}
                    style["bbox"] = box
                style |= {"fontsize": _SIZE, "color": ink_on(bar.get_facecolor())}
                middle = bar.get_x() + bar.get_width() / 2.0
                ax.text(middle, bar.get_y() + bar.get_height() / 2.0, text, **style)
                narrow = 0
            elif bar.get_width() >= _VISIBLE and not np.isnan(errors[segment]):
                # Neighbours that are all narrow have whiskers at different heights.
                place = position + (0.33, -0.33, 0.24)[narrow % 3]
                draw_whisker(ax, bar, errors[segment], place)
                narrow += 1

    def _reason(self, output: int) -> str:
        """Say in short why the effects of an output are not supported."""
        if not self.effects.supported or self.effects.supported[output]:
            return ""
        reasons = self.effects.reasons[output]
        ratio = self.effects.columns.get("variance_ratio")
        if ratio is None:
            return "; ".join(map(str, reasons))
        if abs(ratio[output] - 1.0) <= 0.5 and "too few" in reasons[0]:
            return "too few draws to test independence"
        return f"recombined: {ratio[output]:.2f} × the variance"


def _table_of(effects: Any, column: str) -> FloatArray:
    """Return a column of shape (n_outputs, n_parts)."""
    columns: Mapping[str, Any] = getattr(effects, "columns", {})
    if not isinstance(effects, Result) or list(effects.keys)[1:] != ["part"]:
        raise ValueError(
            f"effects must be the Result of part_effects. Got {effects!r:.80}."
        )
    if column not in columns:
        raise ValueError(
            f"effects has no column {column!r}; expected what part_effects returns. "
            f"It has {list(columns)}."
        )
    return np.asarray(columns[column], dtype=np.float64)


def _by_output(
    values: ArrayLike | None, name: str, n_outputs: int, default: float
) -> FloatArray:  # shape: (n_outputs,)
    """Return numbers, one for each output."""
    if values is None:
        return np.full(n_outputs, default)
    given = as_floats(values, name)
    if given.shape != (n_outputs,):
        raise ValueError(
            f"{name} has shape {given.shape}; expected ({n_outputs},), one number for "
            "each output."
        )
    return given


def _fitting_text(value: float, error: float, width: float) -> str:
    """Return a share with its standard error that fits a width in points, or none."""
    if np.isnan(error):
        texts = [f"{100 * value:.0f} %"]
    else:
        shown = "<1" if error < 0.005 else f"{100 * error:.0f}"  # never zero
        texts = [f"{100 * value:.0f} ± {shown} %", f"{100 * value:.0f}\n± {shown}"]
    for text in texts:
        if text_width(text.split("\n"), _SIZE) + 4.0 < width:
            return text
    return ""
