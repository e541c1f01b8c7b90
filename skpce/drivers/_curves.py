"""Drivers along an axis: where an input begins to matter, with simultaneous bands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from .._checks import FEWEST_MEMBERS, FloatArray, IndexArray, one_thread_for
from .._result import Result
from ._cautions import cautions_in_words, said
from ._design import first_of
from ._exchange import Inputs, Problem
from ._findings import LEVEL, State, canonical_order, order_of_inputs, percent
from ._runs import Data
from ._shares import Shares, shares_along

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Curves(Result):
    """Which input matters where along an axis: what :meth:`Answer.over` returns.

    A table with one row for each input and point of the axis. Of an input:

    state : "drives" or "not settled"
        Whether it is shown to matter at some point. The probability that any of the
        points that are shown, of any input, is wrong is at most 5 %.
    begins, last : float
        First and last point at which it is shown to matter; NaN where at none.

    Of an input at a point:

    p_value : float
        Adjusted for all points and inputs.
    first, total : float
        Share of the variance of the output that it explains alone, and in all;
        ``..._low`` and ``..._high`` are 90 % intervals that hold together for all
        inputs and points.

    Parameters
    ----------
    keys, columns, supported, reasons, facts, title, notes, figures, tables, answer, \
framed, printed
        As of :class:`skpce.inspection.Result`.
    """

    @property
    def sentences(self) -> tuple[str, ...]:
        """Which inputs matter from where on, in words."""
        return tuple(self.title.split("\n"))

    def __str__(self) -> str:
        table = self.tables["summary"]._lines_of_table()
        return "\n".join([self.title, "", *table, "", *self.notes])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        words = "".join(f"<p><b>{escape(text)}</b></p>" for text in self.sentences)
        notes = "".join(f"<p>{escape(text)}</p>" for text in self.notes)
        return f"{words}{self.tables['summary']._repr_html_()}{notes}"

    def plot(self, ax: Axes | None = None) -> Any:
        """Draw the shares in all along the axis, with their bands.

        A line for each input that drives, at most six, with a dot where it begins to
        matter. Where none does, those with the largest shares.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        ax : matplotlib axes
            With the drawing.

        Raises
        ------
        ImportError
            Without matplotlib.
        """
        from ._picture import draw_curves

        return draw_curves(self, ax)


def positions_of(
    names: Sequence[Any], axis: Any, name: str | None
) -> tuple[FloatArray, str]:
    """Return the positions of outputs along an axis, and its name."""
    if axis is None:
        found = [re.search(r"([^\W\d_]*)\W*_?(\d+\.?\d*)\D*$", str(n)) for n in names]
        if None in found:
            missing = names[found.index(None)]
            raise ValueError(
                f"axis is not given, and the output {str(missing)!r} has no number in "
                "its name; expected the position of each output, such as its epoch."
            )
        axis = [float(one[2]) for one in found if one is not None]
        words = {one[1] for one in found if one is not None}
        name = name or (words.pop() if len(words) == 1 else None)
    try:
        positions = np.asarray(axis, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"axis must be numbers. Got {axis!r} instead.") from None
    if positions.shape != (len(names),) or len(names) < 2:
        raise ValueError(
            f"axis has shape {positions.shape}; expected {(len(names),)}, the position "
            "of each output, of which there are two or more."
        )
    if not np.isfinite(positions).all() or len(np.unique(positions)) < len(positions):
        raise ValueError(
            f"axis must be finite numbers that differ. Got {positions.tolist()}; where "
            "the outputs are several curves, explain each of them by outputs=."
        )
    return positions, name or "point"


def curves_of(answer: Any, axis: Any, name: str | None) -> Curves:
    """Test and measure all inputs along an axis."""
    data = answer.source
    if not isinstance(data, Data):
        raise ValueError(
            "over() needs the runs, and the answer is of a pipeline; call "
            "skpce.explain(X, Y).over(axis)."
        )
    axis, name = positions_of(answer._labels, axis, name)
    whole = np.flatnonzero(~np.isnan(data.coordinates).any(axis=1))
    if len(whole) < FEWEST_MEMBERS:
        raise ValueError(
            f"{len(whole)} runs have all {len(axis)} outputs; expected at least "
            f"{FEWEST_MEMBERS}. Leave points out that most runs do not reach."
        )
    along = np.argsort(axis)
    with one_thread_for(len(whole)):
        columns = _found(answer, data, whole, along)
    left_out = len(data.X) - len(whole)
    notes = [
        f"Design: {answer.design}",
        "The probability that an input is wrongly said to matter at some "
        f"{name} is at most 5 %; the bands of all inputs hold together with 90 %.",
    ]
    if left_out:
        notes.append(f"{left_out} runs that failed at some {name} are left out.")
    notes += cautions_in_words(answer.cautions)
    return _as_curves(answer.input_names, axis[along], name, columns, notes)


def _found(
    answer: Any, data: Data, rows: IndexArray, along: IndexArray
) -> dict[str, FloatArray]:  # shapes: (n_inputs, n_outputs)
    """Return p-values, adjusted for all, and the shares, of some runs.

    Outputs are in the order of the axis, ``along``.
    """
    groups = np.argsort(along)[data.read.group_of_coordinate]
    order = rows[canonical_order(data.X[rows], data.coordinates[rows])]
    values, X = data.coordinates[order], data.X[order]
    design, laws = answer.design.of_rows(order), data.laws
    columns, members = order_of_inputs(
        X, values, answer.findings.members, answer.input_names
    )
    laws = None if laws is None else [laws[k] for k in columns]
    X = X[first_of(design.setting)][design.setting][:, columns]
    outputs = np.unique(groups[data.read.spread(values) > 0])
    used = np.flatnonzero(np.isin(groups, outputs))
    used = used[np.argsort(groups[used], kind="stable")]
    own = np.searchsorted(outputs, groups[used])
    p_values = np.ones((len(members), len(along)))
    shares = Shares.nothing(len(along), len(members))
    if len(outputs) and members:
        inputs = Inputs.of(X, data.is_category[columns], laws)
        n_hypotheses = 2 * X.shape[1]
        problem = Problem(
            inputs, values[:, used], own, design, tuple(members), n_hypotheses
        )
        if not design.series:
            each = [problem.p_values_of_all(row) for row in range(len(members))]
            p_values[:, outputs] = adjusted_for_families(np.array(each))
        q2 = answer.findings.shares.q2[:, along[outputs]]
        shares.put(outputs, shares_along(problem, q2))
        shares.first[1, p_values.T > LEVEL] = shares.total[1, p_values.T > LEVEL] = 0.0
    parts = {name: part.T for name, part in shares.columns().items()}
    return {"p_value": p_values, **parts}


def adjusted_for_families(p_values: FloatArray) -> FloatArray:
    """Adjust p-values of families, each adjusted within its family by stepping down.

    Holm's procedure over families: the factor is the number of those of which something
    is not rejected yet, so that the family-wise error of all is at most the level.
    """
    n_families, width = p_values.shape
    order = np.argsort(p_values, axis=None, kind="stable")
    family = order // width
    ends = np.sort([np.flatnonzero(family == k)[-1] for k in range(n_families)])
    factor = n_families - np.searchsorted(ends, np.arange(len(order)))
    found = np.empty(len(order))
    found[order] = np.maximum.accumulate(factor * p_values.ravel()[order])
    return np.minimum(found, 1.0).reshape(p_values.shape)


def _as_curves(
    names: Sequence[str],
    axis: FloatArray,
    name: str,
    columns: dict[str, FloatArray],
    notes: Sequence[str],
) -> Curves:
    shown = np.asarray(columns["p_value"] <= LEVEL)
    drives = np.asarray(shown.any(axis=1))
    last = len(axis) - 1
    begins = np.where(drives, axis[shown.argmax(axis=1)], np.nan)
    ends = np.where(drives, axis[last - shown[:, ::-1].argmax(axis=1)], np.nan)
    total = np.nan_to_num(columns["total"])
    peak = total.argmax(axis=1)
    at_peak = np.arange(len(names)), peak
    summary = {
        "state": np.where(drives, str(State.DRIVES), str(State.OPEN)).astype(object),
        "begins": np.array(_short(begins), dtype=object),
        "last": np.array(_short(ends), dtype=object),
        "shown": np.array([f"{row.sum()} of {len(axis)}" for row in shown]),
        "p_value": columns["p_value"].min(axis=1),
        "largest": total[at_peak],
        "low": columns["total_low"][at_peak],
        "high": columns["total_high"][at_peak],
        "at": axis[peak],
    }
    order = np.lexsort((-summary["largest"], ~drives))
    table = Result(
        {"input": tuple(names[i] for i in order)},
        {key: values[order] for key, values in summary.items() if key != "at"},
    )
    sentences = [
        _sentence(names[i], name, axis, {k: v[i] for k, v in summary.items()})
        for i in order
        if drives[i]
    ]
    rest = [names[i] for i in order if not drives[i]]
    if rest:
        sentences.append(
            f"{said(rest, 'is', 'are')} not shown to matter at any {name}."
        )
    return Curves(
        {"input": tuple(names), name: tuple(axis.tolist())},
        {"state": summary["state"], "begins": begins, "last": ends, **columns},
        title="\n".join(sentences),
        notes=tuple(notes),
        figures={"axis": axis, "axis_name": name, "confidence_level": 0.9},
        tables={"summary": table},
    )


def _short(positions: FloatArray) -> list[Any]:
    """Return whole numbers as such, which are printed with all of their digits."""
    return [int(at) if at == np.round(at) else at for at in positions.tolist()]


def _sentence(name: str, along: str, axis: FloatArray, row: dict[str, Any]) -> str:
    start, end = row["begins"], row["last"]
    if start == end:
        text = f"{name} is shown to matter at {along} {start:g} only"
    else:
        text = f"{name} begins to matter at {along} {start:g}"
        until = "the end" if end == axis[-1] else f"{end:g}"
        text += f", and is shown to until {until}"
    bounds = f"[{100 * row['low']:.0f}, {100 * row['high']:.0f}]"
    return (
        f"{text}: its share in all is largest at {row['at']:g}, "
        f"{percent(row['largest'])} {bounds}."
    )
