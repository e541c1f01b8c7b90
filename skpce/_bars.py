"""Bars of a result, sorted and with their errors: what ``result.plot()`` draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._checks import FloatArray, import_extra
from ._fonts import labels

# Bars of one panel; the frame has the others.
_MOST_BARS = 12
_MOST_PANELS = 4
_COLORS = ("#0072B2", "#E69F00", "#009E73")
_UNSUPPORTED = ("#777777", "#A6A6A6", "#D0D0D0")

#: Ends of the names of columns that are errors of others.
_ERRORS = ("_standard_error", "_error", "_distribution_error", "_low", "_high")


def draw_bars(
    rows: Sequence[Any],  # names
    columns: Mapping[str, FloatArray],  # each of shape (n_rows,)
    names: Sequence[str],  # of the columns that are drawn side by side
    ax: Any,
    supported: Sequence[bool] | None = None,
) -> None:
    """Draw one group of bars for each row, the largest on top."""
    order = np.argsort(-np.nan_to_num(columns[names[0]]), kind="stable")[:_MOST_BARS]
    height = 0.8 / len(names)
    for place, name in enumerate(names):
        values = columns[name][order]
        at = np.arange(len(order)) + (place - (len(names) - 1) / 2) * height
        color, grey = _COLORS[place % len(_COLORS)], _UNSUPPORTED[place % len(_COLORS)]
        shown: Any = color
        if supported is not None:
            shown = [color if supported[i] else grey for i in order]
        ax.barh(at, values, height, color=shown, label=name.replace("_", " "))
        error = errors_of(columns, name)
        if error is not None:
            ax.errorbar(
                values,
                at,
                xerr=error[:, order],
                fmt="none",
                ecolor="#333333",
                capsize=2,
            )
    ax.set_yticks(np.arange(len(order)), labels([rows[i] for i in order], 32, 1))
    ax.locator_params(axis="x", nbins=5)
    ax.invert_yaxis()
    ax.axvline(0.0, color="#333333", linewidth=0.8)
    if len(names) > 1:
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    else:
        ax.set_xlabel(names[0].replace("_", " "))


def errors_of(columns: Mapping[str, FloatArray], name: str) -> FloatArray | None:
    """Return the distances to both ends of an interval; None where none is known."""
    if f"{name}_low" in columns:
        ends = columns[f"{name}_low"], columns[f"{name}_high"]
        low, high = columns[name] - ends[0], ends[1] - columns[name]
        return np.clip(np.nan_to_num(np.stack([low, high])), 0.0, None)
    for end in _ERRORS[:2]:
        if name + end in columns:
            error = np.nan_to_num(columns[name + end])
            return np.stack([error, error])
    return None


def error_in_words(columns: Mapping[str, FloatArray], name: str, place: int) -> str:
    """Return an interval in brackets or a standard error; nothing where it is unknown.

    A standard error that is 0 in the digits that are shown is not shown.
    Two standard errors make about 95 %; this is one.
    """
    if f"{name}_low" in columns:
        low, high = columns[f"{name}_low"][place], columns[f"{name}_high"][place]
        return "" if np.isnan(low) else f" [{low:z.3f}, {high:z.3f}]"
    for end in _ERRORS[:2]:
        if name + end in columns:
            error = columns[name + end][place]
            return f" ± {error:.3f}" if error >= 0.0005 else ""
    return ""


def drawn_columns(columns: Mapping[str, Any], printed: Sequence[str]) -> list[str]:
    """Return the columns that are drawn: printed ones without errors, else one.

    That is the first whose errors are known, the first of the others, or a p-value.
    """
    named = [n for n in printed if not n.endswith(_ERRORS)]
    numbers = [
        n
        for n, values in columns.items()
        if np.asarray(values).dtype.kind == "f" and not n.endswith(_ERRORS)
    ]
    known = {n for n in numbers if any(n + end in columns for end in _ERRORS)}
    numbers.sort(key=lambda n: (n.endswith(("p_value", "q_value")), n not in known))
    return named[:3] or numbers[:1]


def make_panels(n_panels: int, n_bars: int, ax: Any) -> Sequence[Any]:
    """Return axes: those given, or a column of new ones."""
    n_panels = min(n_panels, _MOST_PANELS)
    if ax is not None:
        panels: Sequence[Any] = np.ravel(np.asarray(ax, dtype=object)).tolist()
        if len(panels) < n_panels or not all(hasattr(a, "barh") for a in panels):
            raise ValueError(
                f"ax must be None or {n_panels} axes of matplotlib, one for each "
                f"panel. Got {ax!r}."
            )
        return panels[:n_panels]
    plt = import_extra("matplotlib.pyplot", "plot", "the plot of a result")
    height = 0.8 + n_panels * (0.5 + 0.28 * min(n_bars, _MOST_BARS))
    _, axes = plt.subplots(n_panels, 1, figsize=(6.4, height), layout="constrained")
    return list(np.ravel(axes))
