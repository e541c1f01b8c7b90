"""A table of runs as an ensemble: inputs as numbers, distributions, outputs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from html import escape
from numbers import Real
from types import NoneType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._checks import (
    FEWEST_MEMBERS,
    BoolArray,
    FloatArray,
    IndexArray,
    OutputGroups,
    at_hand,
    floats_with_nan,
    html_table,
    is_category,
    is_missing,
    levels_in_order,
    listed,
    make_frame,
    numbers_of_text,
    opened,
    stated_order,
)
from .._input_laws import NAMES
from .._input_laws.families import is_frozen
from .._input_laws.other_libraries import all_in_scipy
from .._result import with_number


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Members of an ensemble: their inputs, the distributions of these, and outputs.

    Parameters
    ----------
    X : data frame of shape (n_members, n_inputs)
        Inputs as floats: categories as codes, logarithms to base 10.
    y : data frame of shape (n_members, n_outputs)
        Outputs as floats, NaN where a run failed. Two levels of columns where the
        outputs were given in groups, in polars names ``group__output``.
    distribution : tuple
        Distribution of each input, for ``distribution=`` of an estimator.
    setting : ndarray of int of shape (n_members,) or None, default=None
        Number of the row of inputs of each member, for ``groups=`` of
        :func:`skpce.inspection.verdict`: members of one number are replicates. None
        where no replicates were declared.
    levels : dict of str to tuple, optional
        Levels of each categorical input, in the order of their codes.
    notes : tuple of str, default=()
        What was left out or converted, in sentences.
    order : False or None, default=None
        False where the order of the members is known to mean nothing, as in a search
        by a grid or at random; else None. For ``order=`` of
        :func:`skpce.inspection.verdict`.
    logarithms : tuple of str, default=()
        Inputs of which the logarithm to base 10 was taken.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skpce import PolynomialChaosRegressor
    >>> from skpce.ensembles import from_frame
    >>> from skpce.inspection import verdict
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"rate": rng.uniform(size=60), "seed": range(60)})
    >>> table["loss"] = (table["rate"] - 0.3) ** 2 + 0.01 * rng.normal(size=60)
    >>> runs = from_frame(table, inputs=["rate"], outputs="loss")
    >>> model = PolynomialChaosRegressor(2, distribution=runs.distribution)
    >>> model.fit(runs.X, runs.y).feature_names_in_
    array(['rate'], dtype=object)
    """

    X: Any
    y: Any
    distribution: tuple[Any, ...]
    setting: IndexArray | None = None
    levels: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    order: Literal[False] | None = None
    logarithms: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.X)

    def __str__(self) -> str:
        names = opened(self.X).columns
        head = (
            f"{len(self)} members, {with_number(self.X.shape[1], 'input')} "
            f"({', '.join(map(str, names))}), "
            f"{with_number(self.y.shape[1], 'output')}"
        )
        if self.setting is not None:
            head += f", {len(np.unique(self.setting))} different settings"
        return "\n".join([f"{head}.", *self.notes])

    def to_frame(self) -> Any:
        """Return inputs and outputs side by side, categories by their names.

        Returns
        -------
        frame : data frame
            Of the library of ``X``, one row for each member.
        """
        X, y = opened(self.X), opened(self.y)
        columns = {}
        for name in X.columns:
            values = np.asarray(X[name])
            if str(name) in self.levels:
                levels = self.levels[str(name)]
                values = np.array([levels[int(v)] for v in values], dtype=object)
            columns[name] = values
        columns |= {name: np.asarray(y[name]) for name in y.columns}
        kind = None if hasattr(self.X, "iloc") else self.X
        return make_frame([_named(n) for n in columns], columns.values(), like=kind)

    def _repr_html_(self) -> str:
        lines = "".join(f"<p>{escape(line)}</p>" for line in str(self).splitlines())
        table = opened(self.to_frame())
        shown = [np.asarray(table[name])[:_SHOWN].tolist() for name in table.columns]
        rows = zip(*shown, strict=True)
        return lines + html_table(map(str, table.columns), rows)


_SHOWN = 8  # members that a notebook shows


def _named(name: Any) -> str:
    """Return the name of a column; of one with two levels both."""
    return ": ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def from_frame(
    frame: Any,
    inputs: Sequence[str] | Mapping[str, Any],
    outputs: OutputGroups,
    *,
    replicate: str | Sequence[str] | None = None,
    log: Sequence[str] = (),
) -> Ensemble:
    """Read an ensemble from a table with one row for each run.

    Parameters
    ----------
    frame : data frame
        Of pandas or polars, or of another library that narwhals reads, such as pyarrow,
        where it is installed; X and y of the ensemble are of the same library. A
        dataset of xarray has a row for each of its values.
    inputs : sequence of str, or dict of str to distribution
        Columns that differ between the runs. A dict gives distributions, as in
        ``distribution=`` of :class:`skpce.PolynomialChaosRegressor`; None stands for
        the choice that is made without one: ``"categorical"`` for labels, booleans and
        categories, else ``"empirical"``. Text that reads as numbers is numbers, unless
        it is said to be ``"categorical"``; ordered categories under another
        distribution are their ranks. That of an input in ``log`` is the distribution
        of its logarithm. The entries of a column of dicts, as Weights & Biases gives
        them, are columns such as ``config.optimizer.lr``.
    outputs : str, sequence of str, or dict of str to sequence of str
        Columns with what a run gave; NaN where it failed. A dict names groups of
        columns, which are judged together.
    replicate : str, sequence of str or None, default=None
        Columns that count repetitions, such as the seed. Rows with equal inputs are
        then replicates, numbered in ``setting``.
    log : sequence of str, default=()
        Inputs of which the logarithm to base 10 is taken, such as a learning rate.

    Returns
    -------
    ensemble : Ensemble
        Rows in the order of the table. Runs that failed in every output are left out,
        those that did not finish, as a column such as ``state`` or ``status`` says, and
        inputs that do not vary; ``notes`` says how many.

    Raises
    ------
    ValueError
        For columns that do not exist or occur twice, inputs that are missing or that
        name or number the runs, outputs that are no numbers, do not vary or are
        infinite, or fewer than eight runs.
    ImportError
        If no library of data frames is installed.

    See Also
    --------
    from_study : A study of Optuna.
    from_cv_results : A search of scikit-learn.

    Examples
    --------
    >>> import pandas as pd
    >>> from skpce.ensembles import from_frame
    >>> table = pd.DataFrame({
    ...     "learner": ["tree", "svm"] * 4, "rate": [0.1, 0.1, 1, 1] * 2,
    ...     "seed": [0] * 4 + [1] * 4, "score": [0.7, 0.9, 0.8, 0.8] * 2,
    ... })
    >>> runs = from_frame(
    ...     table, ["learner", "rate"], "score", replicate="seed", log=["rate"]
    ... )
    >>> runs.distribution, runs.levels
    (('categorical', 'empirical'), {'learner': ('svm', 'tree')})
    >>> runs.setting
    array([2, 0, 3, 1, 2, 0, 3, 1])
    """
    frame = at_hand(frame)
    *columns, read = columns_of(opened(frame), inputs, outputs, replicate, log)
    return build(*columns, **read, replicated=replicate is not None, like=frame)


class Columns(dict[Any, Any]):
    """A table as a dict of columns, where no library of frames is needed."""

    @property
    def columns(self) -> list[Any]:
        """Names of the columns."""
        return list(self)


def columns_of(
    frame: Any, inputs: Any, outputs: OutputGroups, replicate: Any, log: Sequence[str]
) -> Any:
    """Return the columns of a frame, or of a dict of columns, as arrays."""
    if isinstance(inputs, Mapping):
        inputs = all_in_scipy(inputs)
    names = as_names(inputs, "inputs")
    laws = dict(inputs) if isinstance(inputs, Mapping) else dict.fromkeys(names)
    given = outputs if isinstance(outputs, Mapping) else {None: outputs}
    groups = {
        name: as_names(own, "outputs" if name is None else f"outputs[{name!r}]")
        for name, own in given.items()
    }
    repeated = [] if replicate is None else as_names(replicate, "replicate")
    of_outputs = [column for columns in groups.values() for column in columns]
    as_names(of_outputs, "outputs")
    entries = entries_of_dicts(frame)
    wanted = [*laws, *of_outputs, *repeated]
    if not hasattr(frame, "columns"):
        raise ValueError(f"frame must be a data frame. Got {type(frame).__name__}.")
    known = [name for name in frame.columns if name not in entries]
    known += [name for column in entries.values() for name in column]
    for name in wanted:
        if name in entries:
            raise ValueError(
                f"The column {name!r} holds dicts; expected some of their entries, "
                f"which are columns: {', '.join(map(repr, entries[name]))}."
            )
        if known.count(name) != 1:
            what = "several columns" if name in known else "no column"
            meant = perhaps(name, known) if what == "no column" else ""
            raise ValueError(
                f"frame has {what} {name!r}{meant}; it has "
                f"{', '.join(map(repr, known))}. Expected these in inputs, outputs and "
                "replicate."
            )
        if wanted.count(name) > 1:
            raise ValueError(
                f"The column {name!r} is given for two purposes; expected one of "
                "inputs, outputs and replicate."
            )
    refuse_no_input(log, laws)
    table = {name: frame[name] for name in wanted if name in frame.columns}
    for found in entries.values():
        table |= found
    columns, orders = input_columns(table, laws)
    values = {
        (name if group is None else (str(group), name)): np.asarray(table[name])
        for group, names in groups.items()
        for name in names
    }
    free = {name: frame[name] for name in frame.columns if name not in wanted}
    states = states_among(free)
    return columns, laws, values, {"log": log, "orders": orders, "states": states}


#: What became of a run, by the words of trackers; "" of one that finished.
STATES = {
    **dict.fromkeys(("complete", "completed", "finished", "terminated"), ""),
    **dict.fromkeys(("succeeded", "success", "ok", "done"), ""),
    **dict.fromkeys(("fail", "failed", "error", "crashed", "invalid"), "failed"),
    "pruned": "were pruned",
    "early_stopped": "were stopped early",
    **dict.fromkeys(("killed", "preempted", "preempting"), "were killed"),
    **dict.fromkeys(("canceled", "cancelled", "aborted"), "were cancelled"),
    **dict.fromkeys(("abandoned", "timeout"), "were abandoned"),
    "running": "are still running",
    **dict.fromkeys(("waiting", "pending", "scheduled", "queued"), "are waiting"),
    "paused": "are paused",
}
_STATE = re.compile(r"((trial|run)[_. ])?(state|status)", re.IGNORECASE)


def states_among(table: Mapping[Any, Any]) -> list[str] | None:
    """Return what became of each run, if a column tells, and some finished."""
    for name, values in table.items():
        if not _STATE.fullmatch(str(name)):
            continue
        words = (str(getattr(v, "name", v)) for v in np.asarray(values).tolist())
        found = [STATES.get(w.strip().lower().rpartition(".")[2]) for w in words]
        if "" in found and None not in found:
            return [state or "" for state in found]
    return None


def with_failed(states: Sequence[str] | None, y: FloatArray) -> list[str]:
    """Return what became of each run, of those without an output too."""
    failed = np.asarray(np.isnan(y).all(axis=1)).tolist()
    pairs = zip(states or [""] * len(y), failed, strict=True)
    return [state or "have no output" * is_failed for state, is_failed in pairs]


def say_left_out(states: Sequence[str], what: str) -> list[str]:
    """Say how many runs are left out, by what became of them."""
    return [
        f"{count} of {len(states)} {what} {state} and are left out."
        for state, count in Counter(states).items()
        if state
    ]


def input_columns(
    table: Any, laws: dict[Any, Any]
) -> tuple[dict[Any, NDArray[Any]], dict[Any, Sequence[Any]]]:
    """Return the columns of inputs as arrays, and the orders of ordered categories.

    Declared categories are categorical where no other distribution was given.
    """
    dtypes = {name: getattr(table[name], "dtype", None) for name in laws}
    for name, dtype in dtypes.items():
        if laws[name] is None and is_category(dtype):
            laws[name] = "categorical"
    orders: dict[Any, Sequence[Any]] = {
        name: stated_order(dtype)
        for name, dtype in dtypes.items()
        if getattr(dtype, "ordered", True)
    }
    return {name: np.asarray(table[name]) for name in laws}, orders


def entries_of_dicts(frame: Any) -> dict[Any, dict[str, NDArray[Any]]]:
    """Return the entries of each column of dicts, by names such as ``config.rate``."""
    found = {}
    for name in dict.fromkeys(getattr(frame, "columns", ())):
        dtype = getattr(frame[name], "dtype", None)  # two columns of one name have none
        if getattr(dtype, "kind", type(dtype).__name__) in ("O", "Object", "Struct"):
            known = (row for row in frame[name] if isinstance(row, (Mapping, str)))
            if isinstance(next(known, None), Mapping):
                found[name] = _flat(str(name), list(frame[name]))
    return found


def _flat(name: str, rows: Sequence[Any]) -> dict[str, NDArray[Any]]:
    """Return a column for each entry of dicts, and of the dicts in them."""
    rows = [row if isinstance(row, Mapping) else {} for row in rows]
    found: dict[str, NDArray[Any]] = {}
    for key in dict.fromkeys(key for row in rows for key in row):
        entries = [row.get(key) for row in rows]
        if any(isinstance(entry, Mapping) for entry in entries):
            found |= _flat(f"{name}.{key}", entries)
        else:
            found[f"{name}.{key}"] = np.fromiter(entries, object, len(entries))
    return found


def as_names(given: Any, what: str) -> list[Any]:
    """Return names; one alone is a list of one."""
    is_one = isinstance(given, str) or not isinstance(given, Iterable)
    names = [given] if is_one or getattr(given, "ndim", 1) == 0 else list(given)
    if not names:
        raise ValueError(f"{what} is empty; expected at least one name.")
    if not all(isinstance(name, Hashable) for name in names):
        raise ValueError(f"{what} must be names of columns. Got {given!r} instead.")
    return names


def perhaps(name: Any, known: Iterable[Any]) -> str:
    """Return the column whose name ends in this one, in words; "" if none does."""
    ends = [k for k in map(str, known) if re.split("[./]", k)[-1] == str(name)]
    return f" (perhaps {min(ends)!r})" if ends else ""


def refuse_no_input(log: Any, inputs: Collection[Any]) -> None:
    """Raise ``ValueError`` for a name of which a logarithm is asked, and no input."""
    for name in listed(log, "log"):
        if not isinstance(name, Hashable) or name not in inputs:
            raise ValueError(
                f"log has {name!r}, which is no input: expected {list(inputs)}."
            )


def build(
    columns: Mapping[str, NDArray[Any]],
    laws: Mapping[str, Any],
    outputs: Mapping[Any, NDArray[Any]],
    *,
    replicated: bool = False,
    what: str = "runs",
    like: Any = None,  # the table, if it is a frame
    order: Literal[False] | None = None,
    **read: Any,
) -> Ensemble:
    """Make an ensemble of columns; see ``read_columns``."""
    kind = None if hasattr(like, "iloc") else like  # rows have other labels here
    found, y, notes, _ = read_columns(columns, laws, outputs, what=what, **read)
    X = found.table
    if replicated and len(np.unique(X, axis=0)) == len(X):
        raise ValueError(
            f"No two of {len(X)} {what} have equal inputs, so that there are no "
            "replicates; expected replicate to be left out."
        )
    return Ensemble(
        make_frame(found.columns, X.T, like=kind),
        make_frame(outputs, y.T, like=kind),
        tuple(found.laws),
        np.unique(X, axis=0, return_inverse=True)[1].ravel() if replicated else None,
        found.levels,
        notes,
        order,
        tuple(name for name in found.columns if name in set(read.get("log", ()))),
    )


def read_columns(
    columns: Mapping[str, NDArray[Any]],
    laws: Mapping[str, Any],  # distributions; None where they are to be chosen
    outputs: Mapping[Any, NDArray[Any]],
    *,
    notes: Sequence[str] = (),
    what: str = "runs",
    may_agree: Collection[Any] = (),
    states: Sequence[str] | None = None,
    **read_as: Any,
) -> tuple[ReadInputs, FloatArray, tuple[str, ...], BoolArray]:
    """Read columns as numbers, inputs as ``ReadInputs`` does.

    Returns inputs, outputs (NaN where a run failed), notes, and which rows of the table
    are runs.
    """
    read = {name: numbers_of_text(values) for name, values in outputs.items()}
    of_text = {name: values for name, values in read.items() if values is not None}
    given = {**outputs, **of_text}
    y = np.column_stack([_numbers(name, values) for name, values in given.items()])
    ends = with_failed(states, y)
    used = np.array([not end for end in ends], dtype=bool)
    y = y[used]
    if len(y) < FEWEST_MEMBERS:
        done = " finished and" if any(states or ()) else ""
        raise ValueError(
            f"{len(y)} of {len(used)} {what}{done} have an output; expected at least "
            f"{FEWEST_MEMBERS}, of which inputs can be exchanged."
        )
    for name, column in zip(outputs, y.T, strict=True):
        known = column[~np.isnan(column)]
        if name not in may_agree and (not known.size or np.ptp(known) == 0):
            raise ValueError(
                f"The output {_shown(name)} is {known[0] if known.size else 'NaN'} in "
                f"all {what}; expected outputs that vary."
            )
    lost = np.isnan(y).any(axis=1).sum()
    told = [*notes, *say_left_out(ends, what)]
    if lost:
        told.append(
            f"{lost} of {len(y)} {what} failed in some output and count in the others."
        )
    of_runs = {name: values[used] for name, values in columns.items()}
    texts = list(map(_shown, of_text))
    found = ReadInputs(of_runs, laws, what=what, texts=texts, **read_as)
    return found, y, (*told, *found.notes), used


class ReadInputs:
    """Inputs as numbers, read from columns, without those that do not vary."""

    def __init__(
        self,
        columns: Mapping[Any, NDArray[Any]],
        laws: Mapping[Any, Any],  # distributions; None where they are to be chosen
        *,
        log: Iterable[str] = (),
        orders: Mapping[Any, Sequence[Any]] | None = None,  # of ordered categories
        what: str = "runs",
        texts: Iterable[str] = (),  # outputs that were text
    ) -> None:
        self.what, self.orders = what, orders or {}
        self.columns: dict[str, FloatArray] = {}
        self.laws: list[Any] = []
        self.levels: dict[str, tuple[Any, ...]] = {}
        self.notes: list[str] = []
        self.texts = list(texts)  # columns of text that are numbers
        logarithms = set(log)
        for name, values in columns.items():
            self.add(name, values, laws[name], name in logarithms)
        if not self.columns:
            n_runs = len(next(iter(columns.values()), ()))
            raise ValueError(
                f"No input varies in the {n_runs} {what}; expected inputs or "
                "parameters that do."
            )
        if self.texts:
            told = ", ".join(self.texts)
            self.notes.append(f"Text that reads as numbers is numbers: {told}.")

    @property
    def table(self) -> FloatArray:  # shape: (n_runs, n_inputs)
        return np.column_stack(list(self.columns.values()))

    def add(self, name: str, values: NDArray[Any], law: Any, is_log: bool) -> None:
        """Read a column, unless it does not vary."""
        _refuse_missing(name, values, self.what)
        is_named = isinstance(law, str) and law in NAMES
        if not (law is None or is_named or is_frozen(law)):
            raise ValueError(
                f"The distribution of the input {name!r} must be None, a frozen one of "
                f"scipy.stats, or one of {', '.join(map(repr, NAMES))}. Got {law!r}."
            )
        is_categorical = isinstance(law, str) and law == "categorical"
        numbers = None if is_categorical else numbers_of_text(values)
        if numbers is not None:
            gaps = values[np.isnan(numbers)]
            if gaps.size:  # such as "None"
                raise ValueError(
                    f"The input {name!r} is {gaps.tolist()[0]!r} in {len(gaps)} of "
                    f"{len(values)} {self.what}, and a number in the others; expected "
                    "a number in each. Leave these rows out, or say that all are "
                    f"labels: inputs={{{name!r}: 'categorical'}}."
                )
            self.texts.append(repr(name))
        given, values = values, values if numbers is None else numbers
        if len(set(values.tolist())) < 2:
            self.notes.append(
                f"The input {name} is {given[0]} in all {self.what} and is left out."
            )
            return
        if law is None:
            if numbers is None and not self.orders.get(name):
                _refuse_text_of_numbers(name, given)
            if not is_log:
                _refuse_names_of_runs(name, given, self.what)
            law = "categorical" if _is_categorical(values) else "empirical"
            is_categorical = law == "categorical"
        order = self.orders.get(name, ())
        if is_categorical and is_log:
            raise ValueError(
                f"log has the input {name!r}, which is categorical; expected inputs "
                "that are numbers."
            )
        if is_categorical:
            levels = levels_in_order(values, order)
            self.levels[name], self.columns[name] = levels, _codes(values, levels)
        elif order and _is_categorical(values):
            ranks = levels_in_order(values, order)
            self.columns[name] = _checked_input(name, _codes(values, ranks), is_log)
            self.notes.append(
                f"The input {name} is the rank of its category, from 0 ({ranks[0]}) to "
                f"{len(ranks) - 1} ({ranks[-1]})."
            )
        else:
            self.columns[name] = _checked_input(name, values, is_log)
        self.laws.append(law)


def _shown(name: Any) -> str:
    return repr(name[1] if isinstance(name, tuple) else name)


def _numbers(name: Any, values: NDArray[Any]) -> FloatArray:
    """Return an output as floats; None and NaN are failures, text may be true."""
    if values.dtype.kind in "OU":
        texts = [v.strip().lower() for v in values.tolist() if isinstance(v, str)]
        if len(texts) == len(values) and set(texts) <= {"true", "false"}:
            return np.array([text == "true" for text in texts], dtype=np.float64)
    try:
        found = floats_with_nan(values)
    except ValueError:
        # of an array of dates no element is a Python number; tolist gives integers
        other = [v for v in values.tolist() if not isinstance(v, (Real, NoneType))]
        other = other or [str(values[0])]
        pairs = ((v, np.array([v, "0"], dtype=object)) for v in other)
        bad = next((v for v, two in pairs if numbers_of_text(two) is None), other[0])
        raise ValueError(
            f"The output {_shown(name)} has values that are no numbers, such as "
            f"{bad!r}; expected floats, such as 1 and 0 for two labels, and NaN where "
            "a run failed."
        ) from None
    if np.isinf(found).any():
        raise ValueError(
            f"The output {_shown(name)} is infinite in {np.isinf(found).sum()} rows; "
            "expected finite values, NaN where a run failed."
        )
    return found


def _refuse_missing(name: str, values: NDArray[Any], what: str) -> None:
    missing = [is_missing(value) for value in values.tolist()]
    unhashable = [v for v in values.tolist() if not isinstance(v, Hashable)]
    if unhashable:
        raise ValueError(
            f"The input {name!r} has values such as {unhashable[0]!r}; expected "
            "numbers or labels."
        )
    if any(missing):
        raise ValueError(
            f"The input {name!r} is missing in {sum(missing)} of {len(values)} {what}; "
            "expected a value in each. Leave the input or these rows out; where other "
            "settings switch it off, fill in values that it has elsewhere."
        )


#: Text that a person reads as a number, of which so many different ones are no labels.
LIKE_A_NUMBER = re.compile(
    r"[$€£¥]?\s*[-+]?([\d.,_'\s]*\d([dDeE][-+]?\d+)?\s*(%|[a-zA-Z]{1,2})?|0[xX][\da-fA-F]+)"
)
_MOST_LABELS = 10


def _refuse_text_of_numbers(name: str, values: NDArray[Any]) -> None:
    """Raise ``ValueError`` for many labels most of which look like numbers."""
    labels = {entry.strip() for entry in values.tolist() if isinstance(entry, str)}
    like = sorted(text for text in labels if LIKE_A_NUMBER.fullmatch(text))
    if len(like) <= max(_MOST_LABELS, len(labels) / 2):
        return
    no = (t for t in sorted(labels) if numbers_of_text(np.array([t])) is None)
    raise ValueError(
        f"The input {name!r} is text: {len(like)} of {len(labels)} values look like "
        f"numbers, such as {like[0]!r}, but {next(no)!r} does not read as one. Convert "
        "the column to numbers, leave such rows out, or say that all are labels: "
        f"inputs={{{name!r}: 'categorical'}}."
    )


# Names of columns that number the runs.
_NUMBERS_OF_RUNS = re.compile(r"(^|[^a-z])(id|uuid|index|idx|hash)$", re.IGNORECASE)


def _refuse_names_of_runs(name: str, values: NDArray[Any], what: str) -> None:
    """Raise ``ValueError`` for what tells the runs apart, and is no setting of them."""
    entries = values.tolist()
    if len(set(entries)) < len(entries):
        return
    own = f"of its own in each of {len(entries)} {what}"
    if _is_categorical(values) and numbers_of_text(values) is None:
        is_dict = str(entries[0]).startswith("{")
        remedy = "Read the dicts by ast.literal_eval" if is_dict else "Leave it out"
        raise ValueError(
            f"The input {name!r} has a label {own}, such as {entries[0]!r}, as names "
            f"of runs are; expected numbers, or labels that repeat. {remedy}."
        )
    if not all(str(entry).strip().isdigit() for entry in entries):
        return
    numbers = sorted(map(int, entries))
    low, high = numbers[0], numbers[-1]
    if high - low == len(numbers) - 1 or _NUMBERS_OF_RUNS.search(str(name)):
        raise ValueError(
            f"The input {name!r} is a whole number {own}, from {low} to {high}, as "
            f"numbers of runs are; expected a setting. Leave it out, or give its "
            f"distribution if it is a setting: inputs={{{name!r}: 'empirical'}}."
        )


def _is_categorical(values: NDArray[Any]) -> bool:
    if values.dtype.kind in "iufmM":
        return values.dtype.kind in "mM"
    return not all(
        isinstance(v, (Real, Decimal)) and not isinstance(v, bool)
        for v in values.tolist()
    )


def _codes(values: NDArray[Any], levels: Sequence[Any]) -> FloatArray:
    """Return the number of the level of each row."""
    code = {level: float(number) for number, level in enumerate(levels)}
    return np.array([code[value] for value in values.tolist()])


def _checked_input(name: str, values: NDArray[Any], is_log: bool) -> FloatArray:
    entries = values.tolist()
    try:
        if values.dtype.kind in "mMU" or any(isinstance(v, str) for v in entries):
            raise ValueError  # numpy reads dates and "1_000" as numbers
        column = np.array(entries, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"The input {name!r} has values that are no numbers, such as "
            f"{entries[0]!r}; expected floats, or the distribution 'categorical'."
        ) from None
    if not np.isfinite(column).all():
        raise ValueError(
            f"The input {name!r} has infinite values; expected finite ones."
        )
    if not is_log:
        return column
    if column.min() <= 0:
        raise ValueError(
            f"log has the input {name!r}, which has the value {column.min():g}; "
            "expected positive ones."
        )
    return np.log10(column)
