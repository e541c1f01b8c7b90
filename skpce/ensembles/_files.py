"""Files of runs: CSV and JSON, read as columns without a library of data frames."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import numbers_of_text, refuse_twice
from ._table import Columns

# A number with a comma as its point.
_DECIMAL = re.compile(r"\s*[-+]?\d*(,\d+)?([eE][-+]?\d+)?\s*")


def read_file(path: Any) -> Columns:
    """Read a file of JSON, by its name, or else of CSV."""
    is_json = os.fspath(path).lower().endswith((".json", ".jsonl", ".ndjson"))
    return of_dicts(read_json(path)) if is_json else read_csv(path)


def of_dicts(rows: Sequence[Mapping[Any, Any]]) -> Columns:
    """Return the columns of rows; None where a row has no such entry."""
    names = dict.fromkeys(name for row in rows for name in row)
    return Columns({n: np.array([r.get(n) for r in rows], object) for n in names})


def read_json(path: Any) -> list[dict[str, Any]]:
    """Read a JSON file of a list of runs, or one with a run in each line."""
    shown = repr(os.fspath(path))
    with open(path, encoding="utf-8-sig") as file:
        text = file.read().strip()
    try:
        lines = [line for line in text.splitlines() if line.strip()]
        is_list = text.startswith("[")
        rows = json.loads(text) if is_list else [json.loads(line) for line in lines]
    except ValueError as error:
        raise ValueError(
            f"{shown} is no list of runs in JSON, and has no run in each line: {error}."
        ) from None
    if len(rows) == 1 and isinstance(rows[0], dict):
        columns = {
            name: dict(enumerate(column)) if isinstance(column, list) else column
            for name, column in rows[0].items()
        }
        keys = {tuple(c) if isinstance(c, dict) else () for c in columns.values()}
        first = keys.pop() if len(keys) == 1 else ()
        if len(first) > 1:  # it is of columns, as frames are written by default
            rows = [{n: c[k] for n, c in columns.items()} for k in first]
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise ValueError(
            f"{shown} has no runs; expected objects, such as "
            '{"rate": 0.1, "loss": 2.3}, in a list or one in each line.'
        )
    return rows


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
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(",;\t", key=first.count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows = [row for row in lines if any(row)]
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
    if delimiter != ",":  # then a comma may be the point of numbers
        for column in table.T:
            given = [entry for entry in column if entry is not None]
            if given and all(map(_DECIMAL.fullmatch, given)):
                column[:] = [e and e.replace(",", ".") for e in column]
    return Columns({n: _numbers_or_text(table[:, k]) for k, n in enumerate(header)})


def _numbers_or_text(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column of a file as numbers where all of its entries are some."""
    numbers = numbers_of_text(column)
    if numbers is None:
        return column
    entries = column.tolist()
    if not np.array_equal(np.isnan(numbers), [entry is None for entry in entries]):
        return column
    are_whole = all(entry is not None and entry.strip().isdigit() for entry in entries)
    whole = are_whole and numbers.max() < 2**53  # what counts the runs is seen by this
    return numbers.astype(np.int64) if whole else numbers
