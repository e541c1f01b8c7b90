"""Readers of tables: data frames, dicts, lists of runs, CSV files."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import numbers_of_text
from .._checks.frames import is_table, opened
from .._compositions.outputs import read_outputs
from ..ensembles._table import Columns, entries_of_dicts, read_table
from ._columns import inputs_of, outputs_among
from ._data import Data
from ._names import (
    MOST_SHOWN,
    as_names,
    is_categorical,
    known_names,
    names_of,
    quoted,
    refuse_twice,
    stated_laws,
)
from ._roles import Asked, Table, replicate_columns


def table_of(data: Any) -> Any:
    """Return a table whose columns are read by name."""
    if isinstance(data, (str, os.PathLike)):
        return read_csv(data)
    if isinstance(data, Mapping):
        columns = {name: np.asarray(values) for name, values in data.items()}
        lengths = {name: len(np.atleast_1d(v)) for name, v in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(
                f"The columns of data have the lengths {lengths}; expected one."
            )
        return Columns(columns)
    if isinstance(data, (list, tuple)) and data and isinstance(data[0], Mapping):
        names = dict.fromkeys(name for row in data for name in row)
        rows = [{name: row.get(name) for name in names} for row in data]
        return Columns({n: np.array([r[n] for r in rows], object) for n in names})
    if not names_of(data):
        if hasattr(data, "fit") and not hasattr(data, "shape"):
            raise ValueError(
                f"data is an estimator, {type(data).__name__}, and has no results of "
                "a search: call fit first. To explain a pipeline, use "
                "skpce.inspection.verdict."
            )
        raise ValueError(
            "data must be a table of runs, the path of a CSV file, a study of Optuna, "
            "a fitted search of scikit-learn or an Ensemble; inputs alone go with y, "
            f"as in explain(X, y). Got {type(data).__name__}."
        )
    return opened(data)


def read_csv(path: Any) -> Columns:
    """Read a CSV file as columns of text."""
    shown = repr(os.fspath(path))
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            text = file.read()
    except UnicodeDecodeError:
        raise ValueError(
            f"{shown} is no text in UTF-8; expected a CSV file. Read other files by a "
            "library of data frames, and give the frame."
        ) from None
    lines = text.splitlines()
    first = next((line for line in lines if line.strip()), "")
    delimiter = max(",;\t", key=first.count)
    rows = [row for row in csv.reader(lines, delimiter=delimiter) if any(row)]
    if len(rows) < 2:
        raise ValueError(f"{shown} has no rows; expected a table of runs.")
    header, body = [name.strip() for name in rows[0]], rows[1:]
    wrong = next((k for k, row in enumerate(body) if len(row) != len(header)), None)
    if wrong is not None:
        raise ValueError(
            f"Row {wrong + 2} of {shown} has {len(body[wrong])} entries; expected "
            f"{len(header)}, one for each name in the first row."
        )
    refuse_twice(header, shown)
    table = np.array(body, dtype=object)
    table[table == ""] = None
    return Columns({n: _numbers_or_text(table[:, k]) for k, n in enumerate(header)})


def _numbers_or_text(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column of a file as numbers where all of its entries are some."""
    numbers = numbers_of_text(column)
    if numbers is None:
        return column
    empty = [entry is None for entry in column.tolist()]
    return numbers if np.array_equal(np.isnan(numbers), empty) else column


def read_table_of(table: Any, asked: Asked) -> Table:
    names = names_of(table)
    refuse_twice(names, "data")
    with_roles = asked.columns_with_roles(names)
    steps, outputs, widths = _outputs_of(table, names, with_roles, asked)
    notes: list[str] = []
    inputs = asked.inputs
    every = _all_columns(table)
    known_names(
        outputs, [*names, *every], "outputs", "column of data", shown=list(every)
    )
    if inputs is not None:
        known_names(
            inputs, [*names, *every], "inputs", "column of data", shown=list(every)
        )
    else:
        taken = {*map(str, with_roles), *map(str, outputs)}
        free = {name: v for name, v in every.items() if str(name) not in taken}
        inputs, notes = inputs_of(free)
        if not inputs:
            raise ValueError(
                "No column is left that can be an input, of "
                f"{quoted(names)}{': ' if notes else ''}{'; '.join(notes)}. Expected "
                "some; name them by inputs=."
            )
    counted = replicate_columns(asked.replicate, names)
    of_steps = [] if steps is None else outputs
    runs = read_table(
        *(table, inputs, outputs), log=asked.log, leave_out=counted, may_agree=of_steps
    )
    stated = inputs if isinstance(inputs, Mapping) else {}
    laws = [
        law if stated.get(name) is not None or is_categorical(law) else "auto"
        for name, law in zip(runs.input_names, runs.laws, strict=True)
    ]
    y = runs.y
    if widths is not None:
        read = read_outputs(y, "explain", steps=steps, outputs=widths, may_fail=True)
    else:
        read = read_outputs(y, "explain", steps=steps, may_fail=True)
    data = Data(
        runs.X,
        tuple(map(str, runs.input_names)),
        np.array([is_categorical(law) for law in laws]),
        runs.levels,
        tuple(map(str, asked.log)),
        stated_laws(laws),
        y,
        read,
        table if is_table(table) else None,
    )
    setting = None
    if asked.replicate is not None:
        setting = True if counted else asked.replicate
    return Table(data, asked.labels(table), runs.used, setting, (*notes, *runs.notes))


def _outputs_of(
    table: Any, names: Sequence[Any], with_roles: Sequence[Any], asked: Asked
) -> tuple[Any, Any, Any]:
    """Return steps, columns of outputs (those of steps first), and groups of them."""
    steps, given = asked.steps, asked.outputs
    of_steps: list[Any] = []
    if isinstance(steps, Mapping) and not all(
        isinstance(columns, (int, np.integer)) for columns in steps.values()
    ):
        of_steps = [column for own in steps.values() for column in own]
        steps = {name: len(own) for name, own in steps.items()}
    if given is None and not of_steps:
        raise ValueError(_no_outputs(table, names, with_roles, asked.inputs))
    if steps is not None and not of_steps:  # widths of the steps among the outputs
        if isinstance(given, Mapping):
            raise ValueError(
                f"steps={steps!r} are widths; expected the columns of each step, "
                "beside outputs= that name others."
            )
        return steps, as_names(given, "outputs"), None
    groups = dict(given) if isinstance(given, Mapping) else {}
    single = [] if given is None or groups else as_names(given, "outputs")
    of_groups = {name: as_names(own, "outputs") for name, own in groups.items()}
    of_groups |= {name: [name] for name in single}
    columns = of_steps + [column for own in of_groups.values() for column in own]
    widths = {str(name): len(own) for name, own in of_groups.items()}
    return steps, columns, widths or None


def _no_outputs(
    table: Any, names: Sequence[Any], with_roles: Sequence[Any], inputs: Any
) -> str:
    """Say that outputs are missing, and which columns look like them."""
    taken = {*map(str, with_roles)}
    if inputs is not None:
        taken |= {*map(str, as_names(inputs, "inputs"))}
    columns = {n: v for n, v in _all_columns(table).items() if str(n) not in taken}
    found = outputs_among(columns)
    meant = ""
    if len(found) == 1:
        meant = f" Perhaps outputs={found[0]!r}."
    elif found:
        meant = f" Perhaps {' or '.join(map(repr, found[:MOST_SHOWN]))}."
    return (
        "explain needs outputs=, the columns with what a run gave: some of "
        f"{quoted(list(columns))}.{meant}"
    )


def _all_columns(table: Any) -> dict[Any, NDArray[Any]]:
    """Return all columns as arrays, those of dicts entry by entry."""
    entries = entries_of_dicts(table)
    found: dict[Any, NDArray[Any]] = {}
    for name in names_of(table):
        if name in entries:
            found |= entries[name]
        else:
            found[name] = np.asarray(table[name])
    return found
