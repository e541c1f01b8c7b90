"""What an inspection returns: one table with reasons, notes and further figures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ._bars import draw_bars, drawn_columns, error_in_words, make_panels
from ._checks import FloatArray, format_cell, html_table, make_frame
from ._fonts import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PRINTED_ROWS = 12  # rows of the printed table; the frame has them all
_PRINTED_WIDTH = 88  # characters of a line of it, as far as columns go


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """A table, what of it is supported, and why not: what inspections return.

    Columns, figures and labels are read as attributes: ``verdict.q2`` is a column,
    ``verdict.n_members`` a figure, ``verdict.step_names`` the labels of the key
    ``step`` and ``verdict.steps`` the rows, of which each has the same attributes
    (``verdict.steps[0].q2``). ``result[label]`` is the row of a label. The function
    that made a result says which names it has.

    Parameters
    ----------
    keys : dict of str to sequence
        Labels of the rows, such as ``{"target": ("y",), "feature": ("x0", "x1")}``;
        the last key runs fastest.
    columns : dict of str to array
        Values, with one axis for each key (of length one where the key makes no
        difference), or with a single axis for the first key.
    supported : tuple of bool, default=()
        For each label of the first key; empty where nothing is judged.
    reasons : tuple of tuple of str, default=()
        Each condition that failed, for each label of the first key.
    facts : tuple of str, default=()
        The figures behind the answer, in words, for each label of the first key.
    title : str, default=""
        First line of the printed text.
    notes : tuple of str, default=()
        Sentences that hold for all rows.
    figures : dict of str to object, optional
        Facts that are no columns. One with the name of a column is read in its place.
    tables : dict of str to Result, optional
        Further tables: ``effect_frame()`` is ``tables["effect"].to_frame()``.
    answer : str, default="supported"
        What is said of a supported row, and another name of ``supported``.
    framed : tuple of str, default=()
        What the data frame shows, in its order; empty for keys, columns, answer and
        reasons.
    printed : tuple of str, default=()
        Columns that are printed for each label of the second key, the largest values
        of the first of them on top.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.inspection import Result
    >>> shares = np.array([[0.8, 0.1], [0.0, 0.0]])
    >>> found = Result(
    ...     {"target": ("y", "z"), "feature": ("x0", "x1")},
    ...     {"share": shares},
    ...     supported=(True, False),
    ...     reasons=((), ("z does not vary",)),
    ...     facts=("variance 2", "variance 0"),
    ...     printed=("share",),
    ... )
    >>> found.share.sum(axis=1), found.targets[0].share
    (array([0.9, 0. ]), array([0.8, 0.1]))
    >>> print(found)
    y: SUPPORTED (variance 2).
    - x0: share 0.800
    - x1: share 0.100
    z: NOT SUPPORTED (variance 0), because z does not vary.
    - x0: share 0.000
    - x1: share 0.000
    >>> found.to_frame().columns.tolist()
    ['target', 'feature', 'share', 'supported', 'reasons']
    """

    keys: Mapping[str, Sequence[Any]]
    columns: Mapping[str, Any]
    supported: tuple[bool, ...] = ()
    reasons: tuple[tuple[str, ...], ...] = ()
    facts: tuple[str, ...] = ()
    title: str = ""
    notes: tuple[str, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Result] = field(default_factory=dict)
    answer: str = "supported"
    framed: tuple[str, ...] = ()
    printed: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[ResultRow, ...]:
        """One view for each label of the first key."""
        return tuple(ResultRow(self, place) for place in range(len(self._labels)))

    def __getitem__(self, label: Any) -> ResultRow:
        labels = list(self._labels)
        if label not in labels:
            known = ", ".join(map(repr, labels))
            raise KeyError(f"{label!r} is no {self._first_key}; there are {known}.")
        return ResultRow(self, labels.index(label))

    if TYPE_CHECKING:  # columns and figures that many results have, and no fields
        q2: ClassVar[FloatArray]
        p_value: ClassVar[FloatArray]
        noise_share: ClassVar[FloatArray]
        first: ClassVar[FloatArray]
        total: ClassVar[FloatArray]
        first_order: ClassVar[FloatArray]
        total_order: ClassVar[FloatArray]
        shapley: ClassVar[FloatArray]
        state: ClassVar[NDArray[np.object_]]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # nothing of pickle or numpy
            raise AttributeError(name)
        for values in (self.figures, self.columns):
            if name in values:
                return values[name]
        if name == self.answer:
            return self.supported
        if name.endswith("_names") and name.removesuffix("_names") in self.keys:
            return self.keys[name.removesuffix("_names")]
        if name.endswith("_frame") and name.removesuffix("_frame") in self.tables:
            return self.tables[name.removesuffix("_frame")].to_frame
        if name == f"{self._first_key}s":
            return self.rows
        if name in self._labels:
            return self[name]
        known = ", ".join(self._further_names())
        raise AttributeError(f"The result has no {name!r}; it has {known}.")

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *self._further_names()]

    def _further_names(self) -> list[str]:
        """Names of attributes that belong to this table alone."""
        names = [*self.columns, *self.figures, *(f"{key}_names" for key in self.keys)]
        names += [f"{table}_frame" for table in self.tables]
        if self.supported:
            names.append(self.answer)
        return list(dict.fromkeys([*names, f"{self._first_key}s"]))

    def largest(self, column: str) -> float:
        """Return the value of a column that is largest in size; NaN for none.

        Parameters
        ----------
        column : str
            One of ``columns``.

        Returns
        -------
        value : float
            With its sign.

        Raises
        ------
        ValueError
            If there is no such column.
        """
        if not isinstance(column, str) or column not in self.columns:
            known = ", ".join(map(repr, self.columns))
            raise ValueError(f"column must be one of {known}. Got {column!r}.")
        values = np.ravel(self.columns[column])
        values = values[~np.isnan(values)]
        return float(values[np.argmax(np.abs(values))]) if values.size else float("nan")

    def to_frame(self) -> Any:
        """Return the table, one row for each combination of labels.

        Returns
        -------
        frame : data frame of pandas or polars
            Keys, columns, whether the row is supported, and the reasons where not.
            Of the library that ``sklearn.set_config(transform_output=...)`` names,
            else pandas where it is installed, else polars.
        """
        return make_frame(self._framed, map(self._cells, self._framed))

    def plot(self, ax: Axes | None = None) -> Any:
        """Draw the leading columns as sorted bars, with their errors where known.

        One panel for each label of the first key where there are two keys (the first
        four), else one; at most twelve rows a panel. What is not supported is grey.

        Parameters
        ----------
        ax : matplotlib axes, sequence of axes, or None, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        axes : matplotlib axes, or list of axes
            One, or one for each panel.

        Raises
        ------
        ValueError
            If there are fewer axes than panels, or the table has no numbers.
        ImportError
            Without matplotlib.
        """
        names = drawn_columns(self.columns, self.printed)
        if not names or not len(self._labels):
            raise ValueError("The result has no column of numbers that can be drawn.")
        columns = {
            name: np.asarray(values, dtype=np.float64)
            for name, values in self.columns.items()
            if np.asarray(values).dtype.kind in "fiu"
        }
        if len(self.keys) == 1:
            (panel,) = make_panels(1, len(self._labels), ax)
            draw_bars(self._labels, columns, names, panel, self.supported or None)
            return panel
        labels = list(self.keys.values())[1]
        panels = make_panels(len(self._labels), len(labels), ax)
        for row, panel in zip(self.rows, panels, strict=False):
            own = {n: getattr(row, n) for n in columns}
            own = {n: np.broadcast_to(v, len(labels)) for n, v in own.items()}
            supported = [bool(row.supported)] * len(labels) if self.supported else None
            draw_bars(labels, own, names, panel, supported)
            panel.set_title(label(getattr(row, self._first_key), 32))
        return panels if len(panels) > 1 else panels[0]

    def __str__(self) -> str:
        lines = [self.title] if self.title else []
        for row in self.rows if self.facts else ():
            lines.append(f"- {row}" if self.title else str(row))
            lines += self._printed_rows(row)
        is_told = bool(self.facts or (self.title and self.notes))
        lines += [] if is_told else self._lines_of_table()
        return "\n".join([*lines, *self.notes])

    def _lines_of_table(self) -> list[str]:
        """Return the leading rows and columns as text, of a table without facts."""
        size = int(np.prod([len(labels) for labels in self.keys.values()]))
        if not size:
            return [] if self.title else ["No rows."]
        names = [n for n in self._framed if n in self.keys or not self._is_empty(n)]
        columns = []
        for name in names:
            cells = [format_cell(v) for v in self._cells(name)[:_PRINTED_ROWS]]
            width = max(map(len, [name, *cells]))
            is_text = name in self.keys or self._cells(name).dtype.kind in "OU"
            columns.append(
                [f"{c:{width}}" if is_text else f"{c:>{width}}" for c in (name, *cells)]
            )
        ends = np.cumsum([len(column[0]) + 2 for column in columns]) - 2
        shown = max(int((ends <= _PRINTED_WIDTH).sum()), min(2, len(columns)))
        lines = ["  ".join(row).rstrip() for row in zip(*columns[:shown], strict=True)]
        further = []
        if size > _PRINTED_ROWS:
            further.append(with_number(size - _PRINTED_ROWS, "more row"))
        if shown < len(columns):
            further.append(f"the columns {', '.join(names[shown:])}")
        if further:
            lines.append(f"(to_frame() also has {' and '.join(further)})")
        return lines

    def _is_empty(self, name: str) -> bool:
        """Whether a column holds nothing but empty texts and NaN."""
        return all(v == "" or v != v for v in self._cells(name).tolist())

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rows={self.rows!r}, notes={self.notes!r})"

    def _repr_html_(self) -> str:
        """The frame, with the reasons below it where several rows share them."""
        apart = bool(self.facts) and len(self.keys) > 1
        names = [name for name in self._framed if not (apart and name == "reasons")]
        rows = zip(*map(self._cells, names), strict=True)
        texts = [*(map(str, self.rows) if apart else ()), *self.notes]
        return html_table(names, rows) + "".join(f"<p>{escape(t)}</p>" for t in texts)

    @property
    def _first_key(self) -> str:
        return next(iter(self.keys))

    @property
    def _labels(self) -> Sequence[Any]:
        return self.keys[self._first_key]

    @property
    def _framed(self) -> tuple[str, ...]:
        judged = (self.answer, "reasons") if self.supported else ()
        return self.framed or (*self.keys, *self.columns, *judged)

    def _cells(self, name: str) -> NDArray[Any]:
        """Return what the frame shows under a name, one value for each row."""
        shape = tuple(map(len, self.keys.values()))
        if name in self.keys:
            axis = list(self.keys).index(name)
            labels = np.array(self.keys[name], dtype=object)
            values = labels.reshape([-1 if i == axis else 1 for i in range(len(shape))])
        elif name in self.columns:
            values = np.asarray(self.columns[name])
        elif name == self.answer:
            values = np.array(self.supported, dtype=bool)
        else:
            values = np.array([format_cell(r) for r in self.reasons], dtype=object)
        if values.ndim < len(shape):
            values = values.reshape(-1, *[1] * (len(shape) - 1))
        return np.broadcast_to(values, shape).ravel()

    def _words(self, place: int) -> str:
        """Say whether a row is supported, and why not."""
        reasons, facts = format_cell(self.reasons[place]), self.facts[place]
        if not facts:
            return f"{reasons}."
        head = self.answer.upper()
        head = head if self.supported[place] else f"NOT {head}"
        return f"{head} ({facts}){f', because {reasons}' if reasons else ''}."

    def _printed_rows(self, row: ResultRow) -> list[str]:
        """Return a line for each of the leading labels of the second key."""
        if not self.printed:
            return []
        labels = list(self.keys.values())[1]
        columns = [np.broadcast_to(getattr(row, n), len(labels)) for n in self.printed]
        own = {n: np.atleast_1d(getattr(row, n)) for n in self.columns}
        own = {n: v for n, v in own.items() if v.shape == (len(labels),)}
        # Errors stand behind their columns.
        errors = {f"{name}_standard_error" for name in self.printed}
        lines = []
        for i in np.argsort(-columns[0], kind="stable")[:_PRINTED_ROWS]:
            pairs = zip(self.printed, columns, strict=True)
            cells = [
                f"{name} {values[i]:z.3f}{error_in_words(own, name, i)}"
                for name, values in pairs
                if name not in errors
            ]
            lines.append(f"- {labels[i]}: {', '.join(cells)}")
        left_out = len(labels) - len(lines)
        return [*lines, f"- ({left_out} more)"] if left_out else lines


def with_number(number: int, noun: str) -> str:
    """Return how many there are of a noun."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


class Shown(ABC):
    """Figures that are printed, drawn and framed as a table."""

    @abstractmethod
    def _table(self) -> Result:
        """Return the figures as a table."""

    def _named(self, outputs: Sequence[Any] = (), inputs: Sequence[Any] = ()) -> Self:
        """Remember names for the table."""
        vars(self)["_names"] = tuple(map(str, outputs)), tuple(map(str, inputs))
        return self

    def _labels(self, n_outputs: int, n_inputs: int) -> tuple[Sequence[str], ...]:
        """Return the names of outputs and of inputs; numbered ones where unknown."""
        outputs, inputs = vars(self).get("_names", ((), ()))
        if len(outputs) != n_outputs:
            outputs = ("y",) if n_outputs == 1 else [f"y{i}" for i in range(n_outputs)]
        if len(inputs) != n_inputs:
            inputs = [f"x{i}" for i in range(n_inputs)]
        return outputs, inputs

    def to_frame(self) -> Any:
        """Return the figures as a table, one row for each combination of labels.

        Returns
        -------
        frame : data frame of pandas or polars
            As :meth:`skpce.inspection.Result.to_frame`.
        """
        return self._table().to_frame()

    def plot(self, ax: Axes | None = None) -> Any:
        """Draw the figures as sorted bars.

        Parameters
        ----------
        ax : matplotlib axes, sequence of axes, or None, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        axes : matplotlib axes, or list of axes
            As :meth:`skpce.inspection.Result.plot`.
        """
        return self._table().plot(ax)

    def __str__(self) -> str:
        return str(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()


@dataclass(frozen=True, eq=False, repr=False)
class ResultRow:
    """The part of a result that belongs to one label of its first key.

    Has the columns as attributes: a number where the result has one key, else an
    array along the others; and the label, the answer and ``reasons``.

    Parameters
    ----------
    result : Result
        The whole table.
    place : int
        Position of the label.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.inspection import Result
    >>> found = Result({"step": ("a", "b")}, {"q2": np.array([0.5, 0.25])})
    >>> found.steps[1].step, found["b"].q2
    ('b', 0.25)
    """

    result: Result
    place: int

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = self.result
        known = {"reasons": found.reasons, "supported": found.supported}
        known |= {found.answer: found.supported, **found.columns}
        values = found._labels if name == found._first_key else known.get(name)
        if values is not None and len(values):
            value = values[self.place if len(values) > 1 else 0]
            return value.item() if isinstance(value, np.generic) else value
        names = ", ".join([found._first_key, *found.columns])
        raise AttributeError(f"The row has no {name!r}; it has {names}.")

    def to_dict(self) -> dict[str, Any]:
        """Return what the frame shows of the label, by name.

        Returns
        -------
        values : dict of str to object
            Numbers, or arrays along the other keys.
        """
        others = list(self.result.keys)[1:]
        names = [name for name in self.result._framed if name not in others]
        return {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        return f"{self.result._labels[self.place]}: {self.result._words(self.place)}"

    def __repr__(self) -> str:
        cells = ", ".join(f"{name}={v!r}" for name, v in self.to_dict().items())
        return f"{type(self).__name__}({cells})"


def table_of_targets(
    targets: Sequence[str],
    features: Sequence[str],
    columns: Mapping[str, Any],
    reasons: Sequence[tuple[str, ...]],
    facts: Iterable[str],
    *,
    printed: Sequence[str],
    notes: Sequence[str] = (),
    **figures: Any,
) -> Result:
    """Return a result of targets and features; a column that is None is no column."""
    return Result(
        keys={"target": tuple(targets), "feature": tuple(features)},
        columns={name: v for name, v in columns.items() if v is not None},
        supported=tuple(not reason for reason in reasons),
        reasons=tuple(reasons),
        facts=tuple(facts),
        notes=tuple(notes),
        figures={name: v for name, v in columns.items() if v is None} | figures,
        printed=tuple(name for name in printed if columns[name] is not None),
    )


def cautions_in_words(cautions: Iterable[str]) -> tuple[str, ...]:
    """Return cautions as notes."""
    return tuple(f"Caution: {caution}." for caution in cautions)


def too_little(share: float, limit: float, of_what: str) -> str:
    """Say that a share is below its limit; one that rounds to zero is below one."""
    if share < 0.005:
        needed = f", and {limit:.0%} is needed" if limit >= 0.01 else ""
        return f"less than 1% {of_what}{needed}"
    places = 0 if f"{share:.0%}" != f"{limit:.0%}" else 1
    return f"{share:.{places}%} {of_what}, less than {limit:.0%}"


def error_in_percent(error: float) -> str:
    """Return an error in percent; one that rounds to zero is below one."""
    return "<1%" if 0.0 < error < 0.005 else f"{error:.0%}"
