"""One call from a study, a search, a table of runs, or arrays, to the drivers."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._checks import (
    FEWEST_MEMBERS,
    BoolArray,
    FloatArray,
    check_real,
    refuse_extremes,
    refuse_no_numbers,
)
from .._checks.frames import as_table, opened, refuse_other_rows
from .._checks.levels import label_columns, levels_in_order
from .._checks.tables import one_table
from .._compositions.outputs import Outputs, read_outputs
from .._input_laws import check_distribution, learn_input_laws
from .._regressor import PolynomialChaosRegressor
from .._surrogate import CompositionalPCESurrogate
from ..ensembles._searches import from_cv_results, from_study
from ..ensembles._table import Columns, Ensemble, read_table
from ._answer import Caution, find_drivers
from ._design import Design, find_counter
from ._result import Answer, make_answer


@dataclass(frozen=True, eq=False)
class _Data:
    """Inputs as numbers, outputs, and what is known of them."""

    X: FloatArray
    names: tuple[str, ...]
    is_category: BoolArray
    levels: Mapping[str, tuple[Any, ...]]
    logarithms: tuple[str, ...]
    distribution: tuple[Any, ...] | None  # None where all are chosen from the data
    y: FloatArray  # shape: (n_rows, n_columns)
    read: Outputs
    notes: tuple[str, ...] = ()

    @property
    def laws(self) -> Any:
        """Distributions of the inputs; None where they are chosen."""
        if self.distribution is None:
            return None
        given = check_distribution("explain", self.distribution, list(self.names))
        return learn_input_laws(given, self.X, np.ones(len(self.X)))

    def fit(self) -> Any:
        """Return the estimator, fitted."""
        X = self.X
        distribution = self.distribution
        if distribution is None and self.is_category.any():
            distribution = tuple(
                "categorical" if c else "auto" for c in self.is_category
            )
        given: dict[str, Any] = {}
        if distribution is not None:
            given["distribution"] = distribution
        if self.read.are_compositions:
            assert self.read.geometry is not None
            layout = self.read.geometry.layout
            steps = dict(zip(layout.step_names, layout.widths, strict=True))
            mask = self.read.geometry.mask
            model: Any = CompositionalPCESurrogate(steps=steps, mask=mask, **given)
        else:
            model = PolynomialChaosRegressor(**given)
        y = self.y[:, 0] if self.y.shape[1] == 1 else self.y
        return model.fit(X, y)


def explain(
    data: Any,
    y: ArrayLike | None = None,
    *,
    inputs: Sequence[str] | Mapping[str, Any] | None = None,
    outputs: Any = None,
    steps: Any = None,
    log: Sequence[str] = (),
    replicate: Any = None,
    blocks: Any = None,
    groups: Any = None,
    order: Any = None,
    together: Mapping[str, Sequence[str]] | None = None,
    negligible: float = 0.05,
) -> Answer:
    """Say which input drives which output, with an error rate.

    Parameters
    ----------
    data : table, study, search, Ensemble, path, or array-like of shape (n_runs, \
n_inputs)
        A data frame or the path of a CSV file, with one row for each run; a study of
        Optuna; a fitted search of scikit-learn, or its ``cv_results_``; an
        :class:`skpce.ensembles.Ensemble`; or, with ``y``, the inputs alone.
    y : array-like of shape (n_runs,) or (n_runs, n_columns), default=None
        Outputs, or probabilities with their steps side by side; NaN where a run
        failed. Only with inputs in ``data``.
    inputs : sequence of str, or dict of str to distribution, default=None
        Columns of a table that differ between runs, with their distributions where
        these are known. None takes all that have no other role.
    outputs : str, sequence of str, or dict, default=None
        Columns of a table with what a run gave; a dict names groups of columns. With
        ``y``: as in :func:`skpce.inspection.verdict`.
    steps : sequence of int, or dict of str to int, default=None
        Widths of the steps of probabilities in ``y``.
    log : sequence of str, default=()
        Inputs of which the logarithm is taken.
    replicate : str, sequence of str, or array-like of shape (n_runs,), default=None
        Columns that count repeats of a setting, such as the seed. With ``y``: the label
        of the setting of each run. Equal inputs are repeats without it.
    blocks : str or array-like of shape (n_runs,), default=None
        Day, machine, batch: exchanged within, their means taken out.
    groups : str or array-like of shape (n_runs,), default=None
        Runs that belong together, such as lineages: exchanged as a whole. Inputs may
        vary within.
    order : str, array-like of shape (n_runs,), or False, default=None
        Time or position of each run in a series. False says that the order of the rows
        means nothing.
    together : dict of str to sequence of str, default=None
        Groups of inputs that are tested, and shared, as one.
    negligible : float, default=0.05
        Share of the variance below which an input does not matter.

    Returns
    -------
    answer : Answer
        ``print`` gives it in words. ``answer.drivers`` has, for each output and input:

        state : "drives", "acts on the spread", "does not matter" or "not settled"
            *Drives* and *acts on the spread* are tested: the probability that any of
            them is wrong, in all of the answer, is at most 5 %. *Does not matter*: the
            simultaneous upper end of its total share is below ``negligible``.
        p_value, q_value : float
            Of the test, adjusted by Holm, and by Benjamini and Hochberg.
        first, total : float
            Share of the variance of the output between runs that the input explains
            alone, and in all with interactions; ``..._low`` and ``..._high`` are
            simultaneous 90 % intervals of all shares of the output.
        partners : str
            Inputs that it acts together with.
        more_runs : float
            About how many more runs would settle it; infinite where too many, NaN where
            it is settled.
        scope : "beyond" or "tried"
            Whether the test speaks of settings like those that were tried, or of these
            alone.

    Raises
    ------
    ValueError
        For data that cannot be read, columns that do not exist, or fewer than eight
        runs, before any fit.
    ImportError
        If a study or search is read and no library of data frames is installed.

    See Also
    --------
    skpce.inspection.verdict : The same for a pipeline, with an embedding of the inputs.

    Notes
    -----
    The test of an input is described in the user guide. It finds inputs that act alone
    or in pairs; what three inputs do only together, or what varies faster than a
    polynomial of degree four, it does not see. Nothing depends on a random state, or on
    the order of rows and columns.

    Examples
    --------
    >>> import numpy as np
    >>> import skpce
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(60, 3))
    >>> y = np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=60)
    >>> answer = skpce.explain(X, y)
    >>> answer.drivers.state.tolist()
    [['drives', 'drives', 'does not matter']]
    """
    check_real("explain", "negligible", negligible, low=0, high=1)
    found = _read(
        data, y, inputs, outputs, steps, log, replicate, blocks, groups, order
    )
    data_, replicated, blocked, grouped, ordered, series, cautions = found
    members, names = _members(data_, together)
    design = Design.of(
        data_.X,
        replicate=replicated,
        blocks=blocked,
        groups=grouped,
        order=ordered,
        counter=series.pop("counter", ""),
    )
    coordinates = _coordinates(data_)
    findings = find_drivers(
        data_.X,
        data_.is_category,
        data_.laws,
        coordinates,
        data_.read,
        design,
        members,
        names,
        negligible,
    )
    return make_answer(
        *(findings, names, data_.read, design, data_),
        negligible=negligible,
        cautions=cautions,
    )


def _coordinates(data: _Data) -> FloatArray:
    """Return log-ratios and real columns, NaN where a run failed."""
    values = data.y
    missing = np.isnan(values)
    if not missing.any():
        return data.read.coordinates(values)
    groups = data.read.group_of_coordinate
    found = np.full((len(values), len(groups)), np.nan)
    for rows, own in data.read.blocks(values):
        some, columns = data.read.of_groups(own)
        at = np.flatnonzero(np.isin(groups, own))
        found[np.ix_(rows, at)] = some.coordinates(values[np.ix_(rows, columns)])
    return found


def _members(
    data: _Data, together: Mapping[str, Sequence[str]] | None
) -> tuple[list[tuple[int, ...]], list[str]]:
    """Return the inputs of each row of the answer, and the names of the rows."""
    known = {str(name): i for i, name in enumerate(data.names)}
    if together is not None and not isinstance(together, Mapping):
        raise ValueError(
            "together must be a dict of names of groups to inputs. Got "
            f"{together!r} instead."
        )
    groups: list[tuple[str, tuple[int, ...]]] = []
    used: dict[int, str] = {}
    for name, members in (together or {}).items():
        own = []
        for member in [members] if isinstance(members, str) else list(members):
            if str(member) not in known:
                raise ValueError(
                    f"together has {member!r} in {name!r}, which is no input that "
                    f"varies: expected some of {list(data.names)}."
                )
            place = known[str(member)]
            if place in used:
                raise ValueError(
                    f"together has {member!r} in {used[place]!r} and in {name!r}; "
                    "expected each input in one group."
                )
            used[place] = str(name)
            own.append(place)
        if not own:
            raise ValueError(f"together has no input in {name!r}; expected some.")
        groups.append((str(name), tuple(sorted(own))))
    singles = [(str(n), (i,)) for i, n in enumerate(data.names) if i not in used]
    rows = [*singles, *groups]
    return [members for _, members in rows], [name for name, _ in rows]


def _read(
    data: Any,
    y: Any,
    inputs: Any,
    outputs: Any,
    steps: Any,
    log: Sequence[str],
    replicate: Any,
    blocks: Any,
    groups: Any,
    order: Any,
) -> Any:
    """Read data of any kind: inputs, roles of the runs, and notes."""
    cautions: list[Caution] = []
    labels = {"blocks": blocks, "groups": groups, "order": order}
    setting = None
    if y is not None:
        table, setting = _of_arrays(data, y, inputs, outputs, steps, log), replicate
        if replicate is not None:
            setting = _labels("replicate", replicate, len(table.X))
    else:
        if isinstance(data, (str, os.PathLike)):
            data = _read_csv(data)
        ensemble = _ensemble_of(data, log)
        if ensemble is not None:
            table, setting = _of_ensemble(ensemble, steps), ensemble.setting
            if ensemble.order is not None and labels["order"] is None:
                labels["order"] = False
        else:
            if isinstance(data, Mapping):
                data = Columns({k: np.asarray(v) for k, v in data.items()})
            table, used, setting, labels = _of_table(
                opened(data), inputs, outputs, steps, log, replicate, labels
            )
            labels = {
                k: v if v is None or v is False else np.asarray(v)[used]
                for k, v in labels.items()
            }
        cautions += [
            Caution("note", {"words": note.rstrip(".")}) for note in table.notes
        ]
    n_rows = len(table.X)
    for name in ("blocks", "groups"):
        if labels[name] is not None:
            labels[name] = _labels(name, labels[name], n_rows)
    series: dict[str, str] = {}
    counter = None
    if setting is None and labels["groups"] is None:
        counter = find_counter(table.X, table.names)
    if counter is not None:
        series["counter"] = str(table.names[counter])
        table = _without(table, counter)
    if setting is not None:
        _check_settings(table.X, np.unique(setting, return_inverse=True)[1])
    ordered = labels["order"]
    if ordered is False:
        ordered = None
    elif ordered is not None:
        ordered = _positions(ordered, n_rows)
    return (
        table,
        setting,
        labels["blocks"],
        labels["groups"],
        ordered,
        series,
        tuple(cautions),
    )


def _ensemble_of(data: Any, log: Sequence[str]) -> Ensemble | None:
    """Return the ensemble of a study or a search; None for a table."""
    if isinstance(data, Ensemble):
        return data
    if hasattr(data, "trials") and not hasattr(data, "columns"):
        return from_study(data)
    is_results = isinstance(data, Mapping) and any(
        str(name).startswith("param_") for name in data
    )
    if hasattr(data, "cv_results_") or is_results:
        return from_cv_results(data, log=log)
    return None


def _of_ensemble(ensemble: Ensemble, steps: Any) -> _Data:
    X = np.asarray(ensemble.X.to_numpy(), dtype=np.float64)
    names = tuple(map(str, ensemble.X.columns))
    is_category = np.array(
        [isinstance(law, str) and law == "categorical" for law in ensemble.distribution]
    )
    read = read_outputs(ensemble.y, "explain", steps=steps, may_fail=True)
    y = np.asarray(ensemble.y.to_numpy(), dtype=np.float64)
    return _Data(
        X,
        names,
        is_category,
        ensemble.levels,
        (),
        _chosen(ensemble.distribution),
        y,
        read,
        tuple(ensemble.notes),
    )


def _chosen(distribution: Iterable[Any]) -> tuple[Any, ...] | None:
    """Return distributions that were stated; None where none was."""
    given = tuple(distribution)
    stated = [law for law in given if not isinstance(law, str)]
    if not stated:
        return None
    return tuple("auto" if law == "empirical" else law for law in given)


def _read_csv(path: Any) -> Columns:
    """Read a CSV file as columns of text."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = list(csv.reader(file))
    rows = [row for row in rows if row]
    if len(rows) < 2:
        raise ValueError(f"{os.fspath(path)!r} has no rows; expected a table of runs.")
    header, body = rows[0], rows[1:]
    wrong = next((k for k, row in enumerate(body) if len(row) != len(header)), None)
    if wrong is not None:
        raise ValueError(
            f"Row {wrong + 2} of {os.fspath(path)!r} has {len(body[wrong])} entries; "
            f"expected {len(header)}, one for each name in the first row."
        )
    table = np.array(body, dtype=object)
    table[table == ""] = None
    return Columns({name: table[:, k] for k, name in enumerate(header)})


def _of_table(
    data: Any,
    inputs: Any,
    outputs: Any,
    steps: Any,
    log: Sequence[str],
    replicate: Any,
    labels: dict[str, Any],
) -> Any:
    names = list(getattr(data, "columns", []))
    if not names:
        raise ValueError(
            "data must be a table of runs, the path of a CSV file, a study of Optuna, "
            "a search of scikit-learn or an Ensemble; inputs alone go with y. Got "
            f"{type(data).__name__}."
        )
    if outputs is None:
        raise ValueError(
            "explain needs outputs=, the columns with what a run gave: some of "
            f"{', '.join(map(repr, names))}."
        )
    roles = {k: v for k, v in labels.items() if isinstance(v, str)}
    for role, name in roles.items():
        if name not in names:
            raise ValueError(
                f"{role}={name!r} is no column of data; it has "
                f"{', '.join(map(repr, names))}."
            )
    counted = (
        [] if replicate is None else np.ravel(np.array(replicate, object)).tolist()
    )
    given = outputs.values() if isinstance(outputs, Mapping) else [outputs]
    taken = {str(n) for one in given for n in np.ravel(np.array(one, object))}
    taken |= {*map(str, counted), *map(str, roles.values())}
    if inputs is None:
        inputs = [name for name in names if str(name) not in taken]
    runs = read_table(data, inputs, outputs, log=log, leave_out=counted)
    found = {
        k: np.asarray(data[v]) if isinstance(v, str) else v for k, v in labels.items()
    }
    is_category = np.array(
        [isinstance(law, str) and law == "categorical" for law in runs.laws]
    )
    widths = None
    if isinstance(outputs, Mapping):
        widths = {str(name): len(np.atleast_1d(v)) for name, v in outputs.items()}
    elif steps is None:
        last = [n[1] if isinstance(n, tuple) else n for n in runs.output_names]
        widths = {str(n): 1 for n in last}
    read = read_outputs(runs.y, "explain", steps=steps, outputs=widths, may_fail=True)
    table = _Data(
        runs.X,
        tuple(map(str, runs.input_names)),
        is_category,
        runs.levels,
        tuple(log),
        _chosen(runs.laws),
        runs.y,
        read,
        runs.notes,
    )
    setting = None
    if counted:
        setting = np.unique(runs.X, axis=0, return_inverse=True)[1].reshape(-1)
        if setting.max() + 1 == len(setting):
            raise ValueError(
                f"No two of {len(setting)} runs have equal inputs, so that there are "
                "no repeats; expected replicate= to be left out."
            )
    return table, runs.used, setting, found


def _of_arrays(
    X: Any, y: Any, inputs: Any, outputs: Any, steps: Any, log: Sequence[str]
) -> _Data:
    refuse_other_rows(X=X, y=y)
    labels = label_columns(X)
    if not labels:
        refuse_no_numbers(X, "X")
    refuse_no_numbers(y, "y")
    table = as_table(X)
    if np.ndim(table) != 2:
        raise ValueError(f"X must be 2-D, got {np.ndim(table)} dimensions.")
    names = tuple(map(str, getattr(X, "columns", range(np.shape(table)[1]))))
    if not hasattr(X, "columns"):
        names = tuple(f"x{name}" for name in names)
    columns: list[FloatArray] = []
    levels: dict[str, tuple[Any, ...]] = {}
    kept = list(getattr(X, "columns", range(np.shape(table)[1])))
    values = None if hasattr(X, "columns") else np.asarray(table)
    for name, shown in zip(kept, names, strict=True):
        if name in labels:
            levels[shown] = levels_in_order(labels[name])
            code = {level: float(k) for k, level in enumerate(levels[shown])}
            columns.append(np.array([code[v] for v in labels[name].tolist()]))
        else:
            column = X[name] if values is None else values[:, name]
            columns.append(np.asarray(column, dtype=np.float64))
    inputs_ = np.column_stack(columns).astype(np.float64)
    if inputs is not None and not hasattr(X, "columns"):
        names = tuple(map(str, inputs))
        if len(names) != inputs_.shape[1]:
            raise ValueError(
                f"inputs has {len(names)} names; expected {inputs_.shape[1]}, one for "
                "each column of X."
            )
    if not np.isfinite(inputs_).all():
        column = names[int(np.argmin(np.isfinite(inputs_).all(axis=0)))]
        raise ValueError(
            f"The input {column!r} has NaN or infinite values; expected a value in "
            "each run. Leave the input or these runs out."
        )
    refuse_extremes(inputs_, "X", varying=True)
    is_category = np.array([name in levels for name in names])
    y = one_table(y)
    if len(inputs_) != len(y):
        raise ValueError(
            f"X has {len(inputs_)} runs and y has {len(y)}; expected as many."
        )
    if len(y) < FEWEST_MEMBERS:
        raise ValueError(
            f"There are {len(y)} runs; expected at least {FEWEST_MEMBERS}."
        )
    for name in log:
        if str(name) not in names:
            raise ValueError(f"log has {name!r}, which is no input: {list(names)}.")
        place = names.index(str(name))
        if inputs_[:, place].min() <= 0:
            raise ValueError(
                f"log has the input {name!r}, which has the value "
                f"{inputs_[:, place].min():g}; expected positive ones."
            )
        inputs_[:, place] = np.log10(inputs_[:, place])
    read = read_outputs(y, "explain", steps=steps, outputs=outputs, may_fail=True)
    values = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
    varies = np.ptp(inputs_, axis=0) > 0
    notes = tuple(
        f"The input {name} is the same in all runs and is left out"
        for name, v in zip(names, varies, strict=True)
        if not v
    )
    if not varies.any():
        raise ValueError("No input varies; expected inputs that do.")
    return _Data(
        inputs_[:, varies],
        tuple(n for n, v in zip(names, varies, strict=True) if v),
        is_category[varies],
        levels,
        tuple(log),
        None,
        values,
        read,
        notes,
    )


def _without(table: _Data, column: int) -> _Data:
    """Leave an input out."""
    keep = np.delete(np.arange(len(table.names)), column)
    distribution = table.distribution
    if distribution is not None:
        distribution = tuple(distribution[k] for k in keep)
    return _Data(
        table.X[:, keep],
        tuple(table.names[k] for k in keep),
        table.is_category[keep],
        table.levels,
        table.logarithms,
        distribution,
        table.y,
        table.read,
        table.notes,
    )


def _labels(name: str, given: Any, n_rows: int) -> Any:
    values = np.asarray(given)
    if values.shape != (n_rows,):
        raise ValueError(
            f"{name} has the shape {values.shape}; expected ({n_rows},), one label for "
            "each run."
        )
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise ValueError(f"{name} has NaN labels; expected one label for each run.")
    return np.unique(
        values.astype(str) if values.dtype.kind == "O" else values, return_inverse=True
    )[1].reshape(-1)


def _positions(given: Any, n_rows: int) -> FloatArray:
    values = np.asarray(given)
    if values.shape != (n_rows,) or values.dtype.kind not in "fiubMmO":
        raise ValueError(
            f"order must be {n_rows} numbers or dates, one for each run, or False "
            f"where the order of the rows means nothing. Got shape {values.shape} and "
            f"type {values.dtype}."
        )
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.float64)


def _check_settings(X: FloatArray, setting: Any) -> None:
    """Refuse runs of one setting whose inputs differ."""
    first = np.unique(setting, return_index=True)[1]
    reference = X[first[setting]]
    largest = np.abs(X).max(axis=0)
    differs = (np.abs(X - reference) > 1e-9 * largest).any(axis=1)
    if differs.any():
        row = int(np.argmax(differs))
        raise ValueError(
            f"Runs {int(first[setting[row]])} and {row} have one label in replicate= "
            "and other inputs; expected the same: repeats share their inputs. For runs "
            "that belong together but differ, give groups=."
        )
