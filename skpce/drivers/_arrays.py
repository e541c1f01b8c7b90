"""Readers of X and y."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import (
    FEWEST_MEMBERS,
    BoolArray,
    FloatArray,
    numbers_of_text,
    refuse_extremes,
    refuse_no_numbers,
)
from .._checks.frames import is_table, make_frame, opened, refuse_other_rows
from .._checks.tables import one_table, refuse_swapped
from .._compositions.outputs import Outputs, read_outputs
from ..ensembles._table import Columns, Ensemble, ReadInputs, input_columns, read_inputs
from ._data import Data
from ._names import (
    as_names,
    is_categorical,
    known_names,
    names_of,
    quoted,
    refuse_twice,
    stated_laws,
    take_columns_of,
)
from ._roles import Asked, Table, replicate_columns


def read_arrays(X: Any, y: Any, asked: Asked) -> Table:
    _refuse_no_arrays(X, y)
    refuse_other_rows(X=X, y=y)
    refuse_swapped(None, X, y)
    given = _input_columns_of(X, asked)
    n_rows = len(next(iter(given.values())))
    y, read, used = _outputs_of_arrays(y, n_rows, asked)
    with_roles = set(asked.columns_with_roles(list(given)))
    wanted = [name for name in given if name not in with_roles]
    laws: dict[Any, Any] = dict.fromkeys(wanted)
    if asked.inputs is not None and hasattr(X, "columns"):
        names = known_names(asked.inputs, list(given), "inputs", "column of X")
        laws = {name: None for name in names if name not in with_roles}
    if isinstance(asked.inputs, Mapping):
        laws |= {str(name): law for name, law in asked.inputs.items()}
    unknown = [name for name in asked.log if name not in laws]
    if unknown:
        raise ValueError(
            f"log has {unknown[0]!r}, which is no input: expected some of "
            f"{quoted(list(laws))}."
        )
    stated = {name for name, law in laws.items() if law is not None}
    found = _inputs_of_arrays(given, laws, used, asked)
    laws_ = [
        law if name in stated or is_categorical(law) else "auto"
        for name, law in zip(found.columns, found.laws, strict=True)
    ]
    inputs = np.column_stack(list(found.columns.values()))
    refuse_extremes(inputs, "X", varying=True)
    notes = found.notes
    if not used.all():
        n_left = int((~used).sum())
        notes = [f"{n_left} of {n_rows} runs have no output and are left out.", *notes]
    data = Data(
        inputs,
        tuple(map(str, found.columns)),
        np.array([is_categorical(law) for law in laws_]),
        found.levels,
        tuple(map(str, asked.log)),
        stated_laws(laws_),
        y[used],
        read,
        X if is_table(X) and hasattr(X, "columns") else None,
    )
    setting = None
    if asked.replicate is not None:
        counted = replicate_columns(asked.replicate, list(given))
        setting = True if counted else asked.replicate
    return Table(data, asked.labels(given), used, setting, tuple(notes))


def _refuse_no_arrays(X: Any, y: Any) -> None:
    """Refuse y beside data that has outputs, and names in its place."""
    named = [y] if isinstance(y, str) else y
    if isinstance(named, (list, tuple)) and named:
        known = set(map(str, names_of(X)))
        are_names = len(named) <= len(known) and {str(n) for n in named} <= known
        if isinstance(y, str) or are_names:
            raise ValueError(
                f"y is {y!r}; expected numbers. Columns of a table are named by "
                f"outputs={y!r}."
            )
    kinds = {
        "the path of a file": isinstance(X, (str, os.PathLike)),
        "an Ensemble": isinstance(X, Ensemble),
        "a study": hasattr(X, "trials") and not hasattr(X, "columns"),
        "a search": hasattr(X, "cv_results_"),
        "an estimator": hasattr(X, "fit") and not hasattr(X, "shape"),
    }
    wrong = next((kind for kind, is_one in kinds.items() if is_one), None)
    if wrong == "an estimator":
        raise ValueError(
            f"data is an estimator, {type(X).__name__}; expected X, then y. To explain "
            "a pipeline, use skpce.inspection.verdict."
        )
    if wrong is not None:
        raise ValueError(
            f"data is {wrong}, which has outputs of its own; expected y to be left out."
        )


def _input_columns_of(X: Any, asked: Asked) -> dict[Any, Any]:
    """Return the columns of X by their names."""
    if isinstance(X, Mapping):
        X = Columns({name: np.asarray(values) for name, values in X.items()})
    if isinstance(X, Columns) or (hasattr(X, "columns") and is_table(opened(X))):
        table = opened(X)
        names = names_of(table)
        refuse_twice(names, "X")
        return {str(name): table[name] for name in names}
    values = np.asarray(X)
    if values.dtype.kind not in "OU":
        refuse_no_numbers(X, "X")
    if values.ndim != 2:
        remedy = " One input is X.reshape(-1, 1)." if values.ndim == 1 else ""
        raise ValueError(
            f"X has {values.ndim} dimensions; expected 2, runs by inputs.{remedy}"
        )
    names = [f"x{place}" for place in range(values.shape[1])]
    if asked.inputs is not None:
        names = [str(name) for name in as_names(asked.inputs, "inputs")]
        if len(names) != values.shape[1]:
            raise ValueError(
                f"inputs has {len(names)} names; expected {values.shape[1]}, one for "
                "each column of X."
            )
        refuse_twice(names, "inputs")
    if not names:
        raise ValueError("X has no columns; expected at least one input.")
    return {name: values[:, place] for place, name in enumerate(names)}


def _inputs_of_arrays(
    given: Mapping[Any, Any], laws: dict[Any, Any], used: BoolArray, asked: Asked
) -> ReadInputs:
    """Read inputs that somebody chose: none of them is taken for a name of runs."""
    columns, orders = input_columns(given, laws)
    for name, values in columns.items():
        if values.dtype.kind in "mM":
            raise ValueError(
                f"The input {name!r} holds dates; expected numbers, such as days since "
                "the first."
            )
        if laws[name] is None and values.dtype.kind in "fiu":
            laws[name] = "empirical"
    return read_inputs(
        {name: values[used] for name, values in columns.items()},
        laws,
        log=asked.log,
        orders=orders,
    )


def _outputs_of_arrays(
    y: Any, n_rows: int, asked: Asked
) -> tuple[FloatArray, Outputs, BoolArray]:
    """Return y as numbers, what its columns are, and which rows have an output."""
    outputs = asked.outputs
    if isinstance(y, Mapping):
        y, outputs = _columns_of_dict(y, asked)
    y = _with_numbers(y)
    refuse_no_numbers(y, "y")
    named = [outputs] if isinstance(outputs, str) else outputs
    if hasattr(y, "columns"):
        refuse_twice(list(y.columns), "y")
    is_named = isinstance(named, (list, tuple)) and len(named) > 0
    if is_named and all(isinstance(name, str) for name in named):
        outputs = dict.fromkeys(map(str, named), 1)
        if hasattr(y, "columns") and asked.steps is None:
            names = [str(name) for name in y.columns]
            chosen = known_names(named, names, "outputs", "column of y")
            y = take_columns_of(y, [names.index(name) for name in chosen])
    table = one_table(y)
    if len(table) != n_rows:
        raise ValueError(
            f"data has {n_rows} runs and y has {len(table)}; expected as many."
        )
    read_all = read_outputs(
        table, "explain", steps=asked.steps, outputs=outputs, may_fail=True
    )
    values = np.asarray(table, dtype=np.float64).reshape(n_rows, -1)
    used = np.asarray(~np.isnan(values).all(axis=1))
    if used.sum() < FEWEST_MEMBERS:
        failed = "" if used.all() else " that have an output"
        raise ValueError(
            f"data has {used.sum()} runs{failed}; expected at least {FEWEST_MEMBERS}."
        )
    return values, read_all, used


def _columns_of_dict(y: Mapping[Any, Any], asked: Asked) -> tuple[NDArray[Any], Any]:
    """Return outputs in a dict side by side, and their names."""
    names = [str(name) for name in y]
    columns = dict(zip(names, map(np.asarray, y.values()), strict=True))
    if any(column.ndim != 1 for column in columns.values()):
        return one_table(y), None  # refused there
    if asked.steps is not None:
        return np.column_stack(list(columns.values())), asked.outputs
    if asked.outputs is not None:
        names = known_names(asked.outputs, names, "outputs", "column of y")
    return np.column_stack([columns[name] for name in names]), names


def _with_numbers(y: Any) -> Any:
    """Return y with numbers in place of text that reads as numbers."""
    values = np.asarray(y)
    if values.dtype.kind not in "OU":
        return y
    numbers = numbers_of_text(values.ravel())
    if numbers is None:
        return y
    numbers = numbers.reshape(values.shape)
    return make_frame(list(y.columns), numbers.T, like=y) if names_of(y) else numbers
