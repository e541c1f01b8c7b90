"""Runs that explain reads: a table, a file, a study, a search, an Ensemble, or X and y.

Inputs and outputs become numbers, labels and names the roles of the runs.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._basis.basis import MoreTermsThanRowsWarning
from .._checks import (
    BoolArray,
    FloatArray,
    IndexArray,
    OutputGroups,
    Steps,
    as_numbers,
    at_hand,
    check_rows,
    is_table,
    make_frame,
    numbers_of_text,
    one_table,
    opened,
    refuse_extremes,
    refuse_no_numbers,
    refuse_other_rows,
    refuse_swapped,
    refuse_twice,
    take,
    take_columns,
)
from .._compositions.outputs import Outputs, read_outputs, zeros_among
from .._expansion.expansion import ConstantTargetWarning
from .._input_laws import check_distribution, learn_input_laws
from .._input_laws.families import of_logarithm
from .._regressor import PolynomialChaosRegressor
from .._surrogate import CompositionalPCESurrogate
from ..ensembles._files import of_dicts, read_file
from ..ensembles._searches import NOT_ADAPTIVE, from_cv_results, from_study
from ..ensembles._table import (
    MOST_SHOWN,
    Columns,
    Ensemble,
    ReadRuns,
    as_names,
    known_names,
    names_in_log,
    names_of,
    quoted,
    read_table,
    states_among,
)
from ._cautions import Caution, listed
from ._design import Design, first_of, sum_of
from ._roles import (
    Roles,
    equal_inputs,
    find_label,
    inputs_of,
    numbered,
    positions,
    refuse_other_inputs,
    replicate_columns,
    results_among,
    say_of_dates,
    say_of_repeats,
)

# What was read


@dataclass(frozen=True, eq=False)
class Data:
    """Inputs as numbers, outputs, and what is known of them.

    Parameters
    ----------
    X : ndarray of shape (n_runs, n_inputs)
        Inputs: categories as numbers of their levels, ``logarithms`` to base 10.
    stated : dict of str to distribution
        Distributions of the inputs by their names; "empirical" where none was stated.
    levels : dict of str to tuple
        Labels of each category, in the order of their numbers.
    logarithms : tuple of str
        Inputs of which the logarithm is taken.
    y : ndarray of shape (n_runs, n_columns)
        Outputs, NaN where a run failed.
    read : Outputs
        Which columns of ``y`` belong together, and how they are measured.
    like : data frame or None, default=None
        The table that the inputs came from, if they did.
    ranks : dict of str to tuple
        Labels of each category that is taken as a number, its rank.
    """

    X: FloatArray
    stated: Mapping[str, Any]
    levels: Mapping[str, tuple[Any, ...]]
    logarithms: tuple[str, ...]
    y: FloatArray
    read: Outputs
    like: Any = None
    ranks: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, runs: ReadRuns, read: Outputs, like: Any) -> Data:
        """Return runs that were read from columns."""
        logarithms = tuple(runs.logarithms)
        given = runs.X, runs.laws, runs.levels, logarithms, runs.y, read, like
        return cls(*given, ranks=runs.ranks)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(self.stated)

    @property
    def is_category(self) -> BoolArray:
        """Which inputs are labels."""
        return np.array([law == "categorical" for law in self.stated.values()], bool)

    @property
    def distribution(self) -> tuple[Any, ...]:
        """Distribution of each input, "auto" where it is chosen."""
        laws = self.stated.values()
        return tuple("auto" if law == "empirical" else law for law in laws)

    def __str__(self) -> str:
        shown = [
            ", ".join(names[:MOST_SHOWN]) + (", ..." if names[MOST_SHOWN:] else "")
            for names in (self.names, self.read.names)
        ]
        inputs, outputs = shown
        return f"{len(self.X)} runs; inputs: {inputs or 'none'}; outputs: {outputs}."

    @property
    def laws(self) -> Any:
        """Distributions of the inputs; None where they are chosen."""
        laws = self.distribution
        if all(law in ("auto", "categorical") for law in laws):
            return None
        given = check_distribution("explain", laws, list(self.names))
        return learn_input_laws(given, self.X, np.ones(len(self.X)))

    @property
    def coordinates(self) -> FloatArray:
        """Log-ratios and real columns, NaN where a run failed."""
        return self.read.member_coordinates(self.y)

    def without(self, names: Collection[str]) -> Data:
        """Leave inputs out."""
        stated = {name: law for name, law in self.stated.items() if name not in names}
        kept = [name in stated for name in self.names]
        return replace(self, X=self.X[:, kept], stated=stated)

    def fit(self, blocks: IndexArray | None = None) -> Any:
        """Return the estimator, fitted: to a data frame where the runs were in one.

        Real outputs without what blocks differ by, as they were tested.
        """
        law: Any = self.distribution
        if all(one == "auto" for one in law):
            law = "auto"
        table = self.table_of(self.X)
        with warnings.catch_warnings():
            # the answer says which outputs do not vary, and has Q² of settings left out
            warnings.simplefilter("ignore", ConstantTargetWarning)
            warnings.simplefilter("ignore", MoreTermsThanRowsWarning)
            if self.read.are_compositions:
                assert self.read.geometry is not None
                layout = self.read.geometry.layout
                steps = dict(zip(layout.step_names, layout.widths, strict=True))
                mask = self.read.geometry.mask
                surrogate = CompositionalPCESurrogate(
                    steps=steps, mask=mask, distribution=law
                )
                return surrogate.fit(table, self.y)
            model = PolynomialChaosRegressor(distribution=law)
            if blocks is None:
                return model.fit(table, self._labelled(self.y))
            # What blocks differ by is what a fit leaves of them, once more.
            shift = _means_of_blocks(self.y, blocks)
            model.fit(table, self.y - shift)
            predicted = np.reshape(model.predict(table), self.y.shape)
            shift = _means_of_blocks(self.y - predicted, blocks)
            return model.fit(table, self._labelled(self.y - shift))

    def _labelled(self, y: FloatArray) -> Any:
        """Return outputs in one dimension, or with names, as the runs had them."""
        if y.shape[1] == 1:
            return y[:, 0]
        if self.like is None or len(self.read.names) < y.shape[1]:
            return y
        return make_frame(self.read.names, y.T, like=self._kind)

    def table_of(self, X: FloatArray) -> Any:
        """Return inputs as what the estimator was fitted to: a frame has labels."""
        if self.like is None:
            return X
        columns = [
            np.array(self.levels[name])[column.astype(np.intp)]
            if all(isinstance(label, str) for label in self.levels.get(name, (0,)))
            else column  # labels of other types, too, stay numbers of levels
            for name, column in zip(self.names, X.T, strict=True)
        ]
        return make_frame(self.names, columns, like=self._kind)

    def inputs_of(self, settings: Any) -> Any:
        """Return settings in the units of the runs as inputs of the estimator."""
        if isinstance(settings, Mapping) and not any(map(np.ndim, settings.values())):
            settings = [settings]  # one setting
        rows = settings if isinstance(settings, (list, tuple)) else ()
        is_table = isinstance(settings, (Mapping, str, os.PathLike))
        if is_table or names_of(settings) or any(isinstance(r, Mapping) for r in rows):
            columns: Mapping[Any, NDArray[Any]] = table_of(settings)
        else:
            try:
                values = np.asarray(settings)
            except ValueError:  # rows of different length
                values = np.asarray(settings, dtype=object)
            if values.ndim != 2 or values.shape[1] != len(self.names):
                raise ValueError(
                    f"settings has the shape {values.shape}; expected a table with the "
                    f"columns {list(self.names)}, or an array of as many columns."
                )
            columns = dict(zip(self.names, values.T, strict=True))
        missing = [name for name in self.names if name not in columns]
        if missing:
            raise ValueError(
                f"settings has no column {missing[0]!r}; expected one for each of the "
                f"inputs {list(self.names)}."
            )
        found = [self._numbers_of(name, columns[name]) for name in self.names]
        return self.table_of(np.column_stack(found))

    def _numbers_of(self, name: str, values: NDArray[Any]) -> FloatArray:
        """Return a column of settings as the estimator takes it."""
        levels = self.levels.get(name, self.ranks.get(name))
        if levels is not None:
            code = {str(level): float(n) for n, level in enumerate(levels)}
            code |= {level: float(n) for n, level in enumerate(levels)}  # not as text
            entries = [v if v in levels else str(v) for v in values.tolist()]
            other = [entry for entry in entries if entry not in code]
            if other:
                raise ValueError(
                    f"settings has {other[0]!r} as {name!r}, which no run had; "
                    f"expected one of {', '.join(map(repr, levels))}."
                )
            return np.array([code[entry] for entry in entries])
        numbers, is_log = as_numbers(values), name in self.logarithms
        if numbers is None or not np.isfinite(numbers).all():
            raise ValueError(
                f"settings has values of {name!r} that are no finite numbers; expected "
                "a number in each row."
            )
        if is_log and numbers.min(initial=np.inf) <= 0:
            raise ValueError(
                f"settings has the value {numbers.min():g} of {name!r}, whose "
                "logarithm is taken; expected positive ones."
            )
        return np.log10(numbers) if is_log else numbers

    @property
    def _kind(self) -> Any:
        """A frame of the library of the runs that has no labels of rows."""
        return None if hasattr(self.like, "iloc") else self.like


def _means_of_blocks(
    values: FloatArray,  # shape: (n_runs, n_columns), NaN where missing
    blocks: IndexArray,
) -> FloatArray:  # shape: (n_runs, n_columns)
    """Return the mean of the block of each run, over that of all."""
    known = ~np.isnan(values)
    sums, counts = np.where(known, values, 0.0), known.astype(np.float64)
    means = sum_of(sums, blocks) / np.maximum(sum_of(counts, blocks), 1.0)
    return np.asarray(means[blocks] - sums.sum(axis=0) / counts.sum(axis=0))


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs that were read, and what may be exchanged with what."""

    data: Data
    rows: IndexArray  # shape: (n_runs,), their places in the source
    design: Design
    cautions: tuple[Caution, ...]


# What the runs are to each other


@dataclass(frozen=True, eq=False)
class Asked:
    """What explain was told of its data."""

    inputs: Any = None
    outputs: OutputGroups = None
    steps: Steps = None
    log: tuple[Any, ...] = ()
    replicate: Any = None
    blocks: Any = None
    groups: Any = None
    order: Any = None

    def in_logarithms(self) -> Asked:
        """Take inputs that are log-uniform or log-normal in their logarithms."""
        if not isinstance(self.inputs, Mapping):
            return self
        found = {name: of_logarithm(law) for name, law in self.inputs.items()}
        found = {name: law for name, law in found.items() if law is not None}
        log = dict.fromkeys([*self.log, *found])
        return replace(self, inputs={**self.inputs, **found}, log=tuple(log))

    @property
    def roles(self) -> dict[str, Any]:
        """Labels of the runs, or the names of their columns."""
        given = {"blocks": self.blocks, "groups": self.groups, "order": self.order}
        return {k: v for k, v in given.items() if v is not None and v is not False}

    def columns_with_roles(self, known: Collection[str]) -> list[str]:
        """Return the columns that are named for a role; refuse those that are none."""
        found = replicate_columns(self.replicate, known)
        for role, name in self.roles.items():
            if isinstance(name, str):
                noun = "column of data, nor an array with a value for each run"
                found += known_names(name, known, role, noun)
        return found

    def parameters(self, known: Sequence[str], noun: str) -> list[str] | None:
        """Return the parameters to read: inputs that were asked for, and roles."""
        if self.inputs is None:
            return None
        wanted = known_names(self.inputs, known, "inputs", noun)
        return list(dict.fromkeys([*wanted, *self.columns_with_roles(known)]))


def runs_of(
    asked: Asked,
    data: Data,
    columns: Columns,  # all rows of the source
    used: BoolArray,  # shape: (n_rows,), rows of the source that are runs
    notes: Sequence[str],
    *,
    setting: Any = None,  # of all rows, where it is not asked for
    sampler: str = "",  # one that chose settings by earlier results
    is_shuffled: bool = False,  # whether the order of the rows is known to mean nothing
) -> Runs:
    """Return runs with what may be exchanged with what."""
    labels: dict[str, Any] = {
        role: columns[label] if isinstance(label, str) else label
        for role, label in asked.roles.items()
    }
    order: Any = labels.pop("order", None)
    counted = replicate_columns(asked.replicate, columns)
    if counted:  # one label, such as a seed, of the columns that count repeats
        rows = zip(*(columns[name].tolist() for name in counted), strict=True)
        labels["repeat"] = np.array([repr(row) for row in rows])
    for role, label in labels.items():
        labels[role] = numbered(role, label, used)
    blocks, same = labels.get("blocks"), labels.get("groups")
    if blocks is not None and blocks.max() + 1 == len(blocks):
        raise ValueError(
            f"blocks has a label of its own for each of {len(blocks)} runs; expected "
            "labels that several runs share: runs are compared within blocks."
        )
    if same is not None and not same.any():
        raise ValueError(
            f"groups has one label for all {len(same)} runs; expected several "
            "groups, which are compared. Leave groups= out if runs are independent."
        )
    refuse_extremes(data.X, "X", varying=True)
    refuse_extremes(data.y, "y", varying=not data.read.are_compositions)
    if counted:
        setting = equal_inputs(data.X, data.names)
    elif asked.replicate is not None or setting is not None:
        own = setting if asked.replicate is None else asked.replicate
        setting = numbered("replicate", own, used)
        refuse_other_inputs(data.X, setting)
    if order is not None:
        order = positions(order, used)
    elif asked.order is False or is_shuffled:
        order = False
    told = list(notes)
    if same is not None:
        first = first_of(same)
        if len(first) < len(same) and (data.X[first[same]] == data.X).all():
            told.append(
                "the inputs are the same in all runs of each group, as in repeats of a "
                "setting: for these give replicate= in place of groups="
            )
    roles = Roles(setting=setting, order=order, counted=counted, notes=told, **labels)
    table = data.X, data.names, data.levels, data.coordinates
    left_out = roles.find(*table, inputs_told=asked.inputs is not None)
    data = data.without([left_out]) if left_out else data
    known = {"replicate": setting, "groups": roles.groups, "blocks": roles.blocks}
    design = Design.of(data.X, order=order, counter=roles.counter, **known)
    design = replace(design, adaptive=bool(sampler), repeat=roles.repeat)
    cautions = [Caution("note", {"words": note.rstrip(".")}) for note in told]
    if sampler:
        cautions.append(Caution("adaptive", {"sampler": sampler}))
    if data.read.geometry is not None:
        zero = zeros_among(data.y, data.read.geometry)
        if zero.any():
            counts = {"n": int(zero.sum()), "of": int(zero.any(axis=1).sum())}
            cautions.append(Caution("zeros", counts))
    return Runs(data, np.flatnonzero(used), design, tuple(cautions))


# Tables


def table_of(data: Any) -> Columns:
    """Return the columns of data by their names."""
    if isinstance(data, (str, os.PathLike)):
        return read_file(data)
    if isinstance(data, Mapping):
        columns = {name: np.asarray(values) for name, values in data.items()}
        lengths = {name: len(v) if v.ndim else None for name, v in columns.items()}
        if None in lengths.values() or len(set(lengths.values())) > 1:
            raise ValueError(
                f"The columns of data have the lengths {lengths}; expected one."
            )
        return Columns(columns)
    if isinstance(data, (list, tuple)) and data and isinstance(data[0], Mapping):
        return of_dicts(data)
    if not names_of(data):
        _refuse_estimator(data, "it has no results of a search: call fit first")
        raise ValueError(
            "data must be a table of runs, the path of a CSV or JSON file, a study of "
            "Optuna, a fitted search of scikit-learn or an Ensemble; inputs alone go "
            f"with y, as in explain(X, y). Got {type(data).__name__}."
        )
    return Columns(opened(data))


def read_table_of(data: Any, asked: Asked) -> Runs:
    every = table_of(data)
    with_roles = asked.columns_with_roles(every)
    steps, outputs, widths = _outputs_of(every, with_roles, asked)
    for role, name in asked.roles.items():
        if isinstance(name, str) and name in outputs:
            raise ValueError(
                f"{role}={name!r} is an output too; expected a column that says which "
                "runs belong together, or in which order they were made."
            )
    notes: list[str] = []
    inputs = asked.inputs
    if inputs is None:
        index = getattr(getattr(data, "index", None), "names", ())  # of pandas
        named = [str(name) for name in index if name is not None]
        inputs, notes = inputs_of(every, {*with_roles, *outputs}, outputs, named)
    counted = replicate_columns(asked.replicate, every)
    of_steps = [] if steps is None else outputs
    found = read_table(every, inputs, outputs, counted, asked.log, may_agree=of_steps)
    read = read_outputs(found.y, "explain", steps=steps, outputs=widths, may_fail=True)
    read_data = Data.of(found, read, data if is_table(data) else None)
    taken = {*inputs, *outputs, *with_roles}
    left = {n: v[found.used] for n, v in every.items() if n not in taken}
    told = bool(asked.roles) or asked.order is False
    label, own = "", list[str]()
    if not told and asked.inputs is not None:
        label, own = find_label(found.X, list(found.inputs), left)
    if label:
        asked = replace(asked, groups=label)
        notes.append(
            f"Rows of one {label!r} have equal {listed(list(map(repr, own)))}, and "
            "belong together, as those of groups= do. Where each row is a run of its "
            "own, give order=False"
        )
        del left[label]
    notes += say_of_repeats(found.X, left, outputs)
    if not told:
        notes += say_of_dates(found.X, list(found.inputs), found.y, left)
    return runs_of(asked, read_data, every, found.used, [*notes, *found.notes])


def _outputs_of(
    every: Mapping[str, NDArray[Any]], with_roles: Sequence[str], asked: Asked
) -> tuple[Any, list[str], dict[str, int] | None]:
    """Return steps, columns of outputs (those of steps first), and groups of them."""
    steps, given = asked.steps, asked.outputs
    of_steps: list[str] = []
    if isinstance(steps, Mapping) and not all(
        isinstance(columns, (int, np.integer)) for columns in steps.values()
    ):
        of_steps = [str(column) for own in steps.values() for column in own]
        steps = {name: len(own) for name, own in steps.items()}
    if given is None and not of_steps:
        inputs = [] if asked.inputs is None else as_names(asked.inputs, "inputs")
        taken = {*with_roles, *inputs}
        columns = {name: every[name] for name in every if name not in taken}
        found = results_among(columns)
        meant = f" Perhaps {' or '.join(map(repr, found[:MOST_SHOWN]))}."
        meant = f" Perhaps outputs={found[0]!r}." if len(found) == 1 else meant
        raise ValueError(
            "explain needs outputs=, the columns with what a run gave: some of "
            f"{quoted(list(columns))}.{meant if found else ''}"
        )
    if steps is not None and not of_steps:  # widths of the steps among the outputs
        if isinstance(given, Mapping):
            raise ValueError(
                f"steps={steps!r} are widths; expected the columns of each step, "
                "beside outputs= that name others."
            )
        return steps, as_names(given, "outputs"), None
    if isinstance(given, Mapping):
        groups = {str(name): as_names(own, "outputs") for name, own in given.items()}
    else:
        groups = {n: [n] for n in ([] if given is None else as_names(given, "outputs"))}
    names = of_steps + [column for own in groups.values() for column in own]
    return steps, names, {name: len(own) for name, own in groups.items()} or None


# X and y


def read_arrays(X: Any, y: Any, asked: Asked) -> Runs:
    _refuse_no_arrays(X, y)
    refuse_other_rows(X=X, y=y)
    refuse_swapped(X, y)
    given = _input_columns_of(X, asked)
    with_roles = asked.columns_with_roles(given)
    wanted = list(given)
    if asked.inputs is not None:
        wanted = known_names(asked.inputs, given, "inputs", "column of X")
    laws: dict[str, Any] = {name: None for name in wanted if name not in with_roles}
    if isinstance(asked.inputs, Mapping):
        laws |= {str(name): law for name, law in asked.inputs.items()}
    for name in laws:
        kind = given[name].dtype.kind
        if kind in "mM":
            raise ValueError(
                f"The input {name!r} holds dates; expected numbers, such as days since "
                "the first."
            )
        if laws[name] is None and kind in "fiu" and name not in given.orders:
            laws[name] = "empirical"  # somebody chose it: it is no name of runs
    log = names_in_log(asked.log, laws)
    values, read = _outputs_of_arrays(y, len(next(iter(given.values()))), asked)
    outputs = dict(enumerate(values.T))
    found = ReadRuns(
        {name: given[name] for name in laws},
        laws,
        outputs,
        may_agree=outputs,
        states=states_among(given, laws),
        log=log,
        orders=given.orders,
    )
    like = X if is_table(X) and hasattr(X, "columns") else None
    data = Data.of(found, read, like)
    return runs_of(asked, data, given, found.used, found.notes)


def _refuse_no_arrays(X: Any, y: Any) -> None:
    """Refuse y beside data that has outputs, and names in its place."""
    named = [y] if isinstance(y, str) else y
    if isinstance(named, (list, tuple)) and named:
        known = set(names_of(X))
        are_names = len(named) <= len(known) and {str(n) for n in named} <= known
        if isinstance(y, str) or are_names:
            raise ValueError(
                f"y is {y!r}; expected numbers. Columns of a table are named by "
                f"outputs={y!r}."
            )
    if kind := _kind_of(X):
        raise ValueError(
            f"data is {kind}, which has outputs of its own; expected y to be left out."
        )
    _refuse_estimator(X, "expected X, then y")


def _refuse_estimator(data: Any, expected: str) -> None:
    if hasattr(data, "fit") and not hasattr(data, "shape"):
        raise ValueError(
            f"data is an estimator, {type(data).__name__}; {expected}. To explain a "
            "pipeline, use skpce.inspection.verdict."
        )


def _input_columns_of(X: Any, asked: Asked) -> Columns:
    """Return the columns of X by their names."""
    table = opened(X)
    if isinstance(X, Mapping):
        return table_of(X)
    if names_of(table):
        return Columns(table, "X")
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
        names = as_names(asked.inputs, "inputs")
        if len(names) != values.shape[1]:
            raise ValueError(
                f"inputs has {len(names)} names; expected {values.shape[1]}, one for "
                "each column of X."
            )
        refuse_twice(names, "inputs")
    if not names:
        raise ValueError("X has no columns; expected at least one input.")
    return Columns(dict(zip(names, values.T, strict=True)))


def _outputs_of_arrays(
    y: Any, n_rows: int, asked: Asked
) -> tuple[FloatArray, Outputs]:  # values of shape (n_rows, n_columns)
    """Return y as numbers, and what its columns are."""
    check_rows("explain", "y", y, dense=False)
    outputs: Any = asked.outputs
    entries = np.asarray(y)
    numbers = numbers_of_text(entries.ravel()) if entries.dtype.kind in "OU" else None
    if numbers is not None:  # text that reads as numbers
        given, names = numbers.reshape(entries.shape), names_of(y)
        y = make_frame(names, given.T, like=y) if names else given
    refuse_no_numbers(y, "y")
    named = [outputs] if isinstance(outputs, str) else outputs
    refuse_twice(names_of(y), "y")
    is_named = isinstance(named, (list, tuple)) and len(named) > 0
    if is_named and all(isinstance(name, str) for name in named):
        outputs = dict.fromkeys(named, 1)
        if hasattr(y, "columns") and asked.steps is None:
            names = names_of(y)
            chosen = known_names(named, names, "outputs", "column of y")
            y = take_columns(y, [names.index(name) for name in chosen])
    table = one_table(y)
    if len(table) != n_rows:
        raise ValueError(
            f"data has {n_rows} runs and y has {len(table)}; expected as many."
        )
    read = read_outputs(
        table, "explain", steps=asked.steps, outputs=outputs, may_fail=True
    )
    return np.asarray(table, dtype=np.float64).reshape(n_rows, -1), read


# Data of any kind


def _kind_of(data: Any) -> str:
    """Say what data with outputs of its own is; of tables and arrays nothing."""
    if isinstance(data, (str, os.PathLike)):
        return "the path of a file"
    if isinstance(data, Ensemble):
        return "an Ensemble"
    if hasattr(data, "trials") and not hasattr(data, "columns"):
        return "a study"
    return "a search" if hasattr(data, "cv_results_") else ""


# Kinds of data whose inputs may be in logarithms already.
_IN_LOGARITHMS = {
    "an Ensemble": "Take logarithms where it is made",
    "a study": "Its search space says which are logarithmic",
}


def read_runs(data: Any, y: Any, asked: Asked) -> Runs:
    """Read data of any kind."""
    data = at_hand(data)
    if y is None and hasattr(data, "step_names"):
        data, y, asked = _of_policies(data, asked)
    if y is not None:
        return read_arrays(data, y, asked.in_logarithms())
    kind = _kind_of(data)
    if asked.log and kind in _IN_LOGARITHMS:
        raise ValueError(
            f"log={list(asked.log)!r} is for tables and arrays, and data is {kind}. "
            f"{_IN_LOGARITHMS[kind]}; expected log= to be left out."
        )
    if kind == "an Ensemble":
        return _of_ensemble(data, asked)
    if kind == "a study":
        known = list(dict.fromkeys(name for t in data.trials for name in t.params))
        wanted = asked.parameters(known, "parameter of the study")
        sampler = type(getattr(data, "sampler", None)).__name__
        sampler = "" if sampler in (*NOT_ADAPTIVE, "NoneType") else sampler
        return _of_ensemble(from_study(data, wanted), asked, sampler)
    results = opened(getattr(data, "cv_results_", data))
    names = names_of(results)
    known = [n.removeprefix("param_") for n in names if n.startswith("param_")]
    if kind == "a search" or (known and any("_test_" in n for n in names)):
        wanted = asked.parameters(known, "parameter of the search")
        left_out = {f"param_{n}" for n in known if n not in (wanted or known)}
        some = {n: results[n] for n in names if n not in left_out}
        if asked.outputs is not None:  # "mean_test_score" too
            chosen = np.ravel(np.array(asked.outputs, dtype=object)).tolist()
            chosen = [str(name).removeprefix("mean_test_") for name in chosen]
            asked = replace(asked, outputs=chosen)
        runs = _of_ensemble(from_cv_results(some, log=asked.log), asked)
        left = {n: np.asarray(results[n], dtype=object) for n in sorted(left_out)}
        left = {n.removeprefix("param_"): v[runs.rows] for n, v in left.items()}
        notes = say_of_repeats(runs.data.X, left, runs.data.read.names)
        said = (Caution("note", {"words": note}) for note in notes)
        return replace(runs, cautions=(*runs.cautions, *said))
    return read_table_of(data, asked.in_logarithms())


def _of_policies(data: Any, asked: Asked) -> tuple[Any, Any, Asked]:
    """Return inputs, probabilities and steps of a dataset of policies."""
    if asked.steps is not None:
        raise ValueError(
            f"steps={asked.steps!r} are for arrays, and data is a dataset of policies "
            f"with the steps {quoted(data.step_names)}; expected steps= to be left "
            "out. Some of the steps are chosen by outputs=."
        )
    columns = dict(zip(data.step_names, data.step_slices, strict=True))
    chosen = list(columns)
    if asked.outputs is not None:
        chosen = known_names(asked.outputs, chosen, "outputs", "step of the policies")
    widths = {name: columns[name].stop - columns[name].start for name in chosen}
    found = replace(asked, steps=widths, outputs=None)
    if asked.replicate is None and len(np.unique(data.rewards)) < len(data.rewards):
        found = replace(found, replicate=data.rewards)
    table = dict(zip(data.feature_names, np.asarray(data.X).T, strict=True))
    return table, np.hstack([data.y[:, columns[name]] for name in chosen]), found


def _of_ensemble(ensemble: Ensemble, asked: Asked, sampler: str = "") -> Runs:
    inputs, outputs = Columns(opened(ensemble.X)), opened(ensemble.y)
    names = list(inputs)
    with_roles = asked.columns_with_roles(names)
    wanted, laws = names, dict(zip(names, ensemble.distribution, strict=True))
    if asked.inputs is not None:
        wanted = known_names(asked.inputs, names, "inputs", "input")
        stated = asked.inputs if isinstance(asked.inputs, Mapping) else {}
        laws |= {str(n): law for n, law in stated.items() if law is not None}
    if asked.outputs is not None and asked.steps is None:
        # Of names with two levels the second.
        known = [str(n[-1] if isinstance(n, tuple) else n) for n in outputs.columns]
        chosen = known_names(asked.outputs, known, "outputs", "output")
        outputs = take_columns(outputs, [known.index(name) for name in chosen])
    values = np.asarray(outputs.to_numpy(), dtype=np.float64)
    used = np.asarray(~np.isnan(values).all(axis=1))
    X = np.column_stack(list(inputs.values())).astype(np.float64)[used]
    some = take(outputs, np.flatnonzero(used))
    read = read_outputs(some, "explain", steps=asked.steps, may_fail=True)
    logarithms = tuple(map(str, ensemble.logarithms))
    levels, like = ensemble.levels, ensemble.X
    data = Data(X, laws, levels, logarithms, values[used], read, like)
    left_out = [name for name in names if name not in wanted or name in with_roles]
    if len(left_out) == len(names):
        raise ValueError("No input is left; expected at least one.")
    return runs_of(
        asked,
        data.without(left_out),
        inputs,
        used,
        ensemble.notes,
        setting=ensemble.setting,
        sampler=sampler,
        is_shuffled=ensemble.order is False,
    )
