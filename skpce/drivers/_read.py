"""Readers: a table, a CSV file, a study, a search, an Ensemble, or X and y, as runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .._compositions.outputs import read_outputs
from ..ensembles._searches import NOT_ADAPTIVE, from_cv_results, from_study
from ..ensembles._table import Ensemble
from ._answer import Caution
from ._arrays import read_arrays
from ._data import Data, Runs
from ._names import (
    as_names,
    is_categorical,
    known_names,
    last_names,
    names_of,
    stated_laws,
    take_columns_of,
    take_rows_of,
)
from ._roles import (
    SAY_REPLICATE,
    Asked,
    Table,
    numbered,
    positions,
    replicate_columns,
    setting_of,
    share_inputs,
)
from ._tables import read_table_of, table_of


def read_runs(data: Any, y: Any, asked: Asked) -> Runs:
    """Read data of any kind."""
    if y is not None:
        table = read_arrays(data, y, asked)
    else:
        ensemble, cautions = _ensemble_of(data, asked)
        if ensemble is not None:
            table = replace(_of_ensemble(ensemble, asked), cautions=cautions)
        else:
            table = read_table_of(table_of(data), asked)
    notes = [Caution("note", {"words": note.rstrip(".")}) for note in table.notes]
    labels = {
        role: numbered(role, given, table.used)
        for role, given in table.labels.items()
        if role != "order"
    }
    setting = setting_of(table)
    order: Any = table.labels.get("order")
    if order is not None:
        order = positions(order, table.used)
    elif asked.order is False or table.is_shuffled:
        order = False
    same = labels.get("groups")
    if same is not None and share_inputs(table.data.X, same):
        notes.append(Caution("note", {"words": SAY_REPLICATE}))
    cautions = (*notes, *table.cautions)
    found = Runs(
        *(table.data, setting, labels.get("blocks"), labels.get("groups"), order),
        cautions=cautions,
    )
    return found.without_counter()


def _ensemble_of(
    data: Any, asked: Asked
) -> tuple[Ensemble | None, tuple[Caution, ...]]:
    """Return the ensemble of a study or a search; None for a table."""
    if isinstance(data, Ensemble):
        _refuse_log(asked, "an Ensemble", "Take logarithms where it is made")
        return data, ()
    if hasattr(data, "trials") and not hasattr(data, "columns"):
        _refuse_log(asked, "a study", "Its search space says which are logarithmic")
        named = asked.inputs if isinstance(asked.inputs, (str, Iterable)) else None
        wanted = None if named is None else as_names(named, "inputs")
        counted = replicate_columns(asked.replicate, _parameters_of(data))
        if wanted is not None:
            known_names(
                wanted, _parameters_of(data), "inputs", "parameter of the study"
            )
            wanted = [*wanted, *(n for n in counted if n not in wanted)]
        return _said_here(lambda: from_study(data, wanted)), _adaptive(data)
    if hasattr(data, "cv_results_") or _is_results(data):
        return _said_here(lambda: from_cv_results(data, log=asked.log)), ()
    return None, ()


def _parameters_of(study: Any) -> list[str]:
    return list(dict.fromkeys(name for t in study.trials for name in t.params))


def _adaptive(study: Any) -> tuple[Caution, ...]:
    """Return a caution where a sampler looked at earlier results."""
    sampler = type(getattr(study, "sampler", None)).__name__
    if sampler in (*NOT_ADAPTIVE, "NoneType"):
        return ()
    return (Caution("adaptive", {"sampler": sampler}),)


def _said_here(read: Callable[[], Ensemble]) -> Ensemble:
    """Let messages speak of the parameters of explain."""
    try:
        return read()
    except ValueError as error:
        text = str(error).replace("parameters=", "inputs=")
        raise ValueError(text) from None


def _refuse_log(asked: Asked, what: str, remedy: str) -> None:
    if asked.log:
        raise ValueError(
            f"log={list(asked.log)!r} is for tables and arrays, and data is {what}. "
            f"{remedy}; expected log= to be left out."
        )


def _is_results(data: Any) -> bool:
    """Return whether this is ``cv_results_``, as a dict or a data frame."""
    names = [str(name) for name in names_of(data)]
    has_params = any(name.startswith("param_") for name in names)
    return has_params and any("_test_" in name for name in names)


def _of_ensemble(ensemble: Ensemble, asked: Asked) -> Table:
    names = tuple(map(str, ensemble.X.columns))
    with_roles = set(map(str, asked.columns_with_roles(names)))
    counted = set(map(str, replicate_columns(asked.replicate, names)))
    wanted = [name for name in names if name not in with_roles]
    stated: Mapping[str, Any] = {}
    if asked.inputs is not None:
        wanted = known_names(asked.inputs, names, "inputs", "input")
        stated = asked.inputs if isinstance(asked.inputs, Mapping) else {}
    columns = list(ensemble.y.columns)
    y = ensemble.y
    if asked.outputs is not None and asked.steps is None:
        chosen = known_names(asked.outputs, last_names(columns), "outputs", "output")
        y = take_columns_of(y, [last_names(columns).index(name) for name in chosen])
    X = np.asarray(ensemble.X.to_numpy(), dtype=np.float64)
    laws = dict(zip(names, ensemble.distribution, strict=True)) | dict(stated)
    is_category = [is_categorical(laws[name]) for name in names]
    values = np.asarray(y.to_numpy(), dtype=np.float64)
    used = np.asarray(~np.isnan(values).all(axis=1))
    data = Data(
        X[used],
        names,
        np.array(is_category),
        ensemble.levels,
        tuple(map(str, ensemble.logarithms)),
        stated_laws(laws[name] for name in names),
        values[used],
        read_outputs(
            take_rows_of(y, used), "explain", steps=asked.steps, may_fail=True
        ),
        ensemble.X,
    )
    labels = asked.labels(ensemble.X)
    setting: Any = ensemble.setting
    if asked.replicate is not None:
        setting = True if counted else asked.replicate
    left_out = [name for name in names if name not in wanted or name in with_roles]
    if len(left_out) == len(names):
        raise ValueError("No input is left; expected at least one.")
    return Table(
        *(data.without(left_out), labels, used, setting, tuple(ensemble.notes)),
        is_shuffled=ensemble.order is False,
    )
