"""A table of runs as an ensemble: what names of columns say, inputs as numbers."""

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
from scipy import stats

from .._checks import (
    FEWEST_MEMBERS,
    BoolArray,
    FloatArray,
    IndexArray,
    OutputGroups,
    as_numbers,
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
    refuse_twice,
    stated_order,
)
from .._input_laws import NAMES
from .._input_laws.families import is_frozen
from .._input_laws.other_libraries import all_in_scipy
from .._result import with_number

_IDENTIFIER = "id|uuid|index|idx|hash"

# What the name of a column says that it is. One column may have several of these names;
# its values decide, in ``skpce/drivers/_roles.py``.
_NAMES = {
    # Parameters: of Optuna, MLflow, scikit-learn, Weights & Biases, Ray.
    "parameter": r"^(?-i:params?_|params[.]|config[./])",
    # How a run ended.
    "state": r"^((trial|run)[_. ])?(state|status)\Z",
    # Names and numbers of runs or rows; the first are those of an index of pandas.
    "identifier": rf"(^|[^a-z])({_IDENTIFIER})$",
    "number": (
        r"^(Unnamed: \d+|\s*)$"
        rf"|(^|[^a-z])({_IDENTIFIER}|run|trial|row|seed|random_state)$"
    ),
    # Numbers that are labels where they recur; an index may be the place of a layer.
    "labels": r"(^|[^a-z])(id|uuid|hash)$",
    "run": r"(^|[^a-z])(run|trial|experiment)([^a-z]?(id|name|number|no))?$",
    # What a run gives.
    "result": (
        r"^metrics?[._]|^(metrics?|eval|val|valid|test)/"
        r"|(^|[^a-z])(accuracy|acc|loss|score|auc|auroc|f1(?!\d)|rmse|mse|mae|r2|error|metric"
        r"|objective|reward|perplexity|bleu|recall|precision|likelihood|elbo|regret"
        r"|yield|result|target|outcome|response|duration|runtime|value|corr|correlation"
        r"|mape|map|ap\d*|iou|dice|mcc|mrr|ndcg|rouge|fid|wer|cer|psnr|ssim|ece|nll"
        r"|exact_match|latency|throughput|(fit|score|train|wall)_time"
        r"|top[-_@]?\d+)s?($|[^a-z])"
    ),
    # What trackers write by themselves (Weights & Biases, Ray), and which row of a run
    # a row is.
    "tracker": (
        r"(?-i:^_(timestamp|runtime|wandb)$|^(pid|hostname|node_ip|timestamp)$"
        r"|^time_(this_iter|total|since_restore)(_s)?$)"
    ),
    "row of a run": (
        r"(?-i:^(_step|training_iteration|episodes_total"
        r"|(iterations|timesteps)_since_restore|timesteps_total)$)"
    ),
    # Repeats of a setting; "folds" is how many there are.
    "repeat": (
        r"(^|[^a-z])(seed|random_state|rep|repeat|replicate|repetition|fold|split|trial"
        r"|run|attempt)$"
    ),
    # Columns along which a run has several rows; budgets are factors where each run has
    # all of their values, as in a grid.
    "curve": r"^(.*[./])?(global|training)?_?(epoch|step|iteration)$",
    "budget": r"^(.*[./])?(budget|fidelity|n_resources)$",
}
_PATTERNS = {role: re.compile(name, re.IGNORECASE) for role, name in _NAMES.items()}


def is_named(name: str, role: str) -> bool:
    """Return whether the name of a column says that it is of a role."""
    return _PATTERNS[role].search(name) is not None


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


def states_among(
    table: Mapping[str, NDArray[Any]],
    taken: Collection[str] = (),  # columns that are something else
) -> list[str] | None:
    """Return what became of each run, if a column tells, and some finished."""
    for name, values in table.items():
        if name in taken or not is_named(name, "state"):
            continue
        words = (str(getattr(v, "name", v)) for v in values.tolist())
        found = [STATES.get(w.strip().lower().rpartition(".")[2]) for w in words]
        if "" in found and None not in found:
            return [state or "" for state in found]
    return None


def say_left_out(states: Sequence[str], what: str) -> list[str]:
    """Say how many runs are left out, by what became of them."""
    return [
        f"{count} of {len(states)} {what} {state} and are left out."
        for state, count in Counter(states).items()
        if state
    ]


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
        columns = {str(name): np.asarray(X[name]) for name in X.columns}
        for name, levels in self.levels.items():
            labels = [levels[int(code)] for code in columns[name]]
            columns[name] = np.array(labels, dtype=object)
        columns |= {_named(name): np.asarray(y[name]) for name in y.columns}
        kind = None if hasattr(self.X, "iloc") else self.X
        return make_frame(columns, columns.values(), like=kind)

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
        Of pandas or polars, whose frames X and y of the ensemble are then too, or of
        another library that narwhals reads, such as pyarrow, where it is installed. A
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
    table = opened(frame)
    if not hasattr(table, "columns"):
        raise ValueError(f"frame must be a data frame. Got {type(frame).__name__}.")
    inputs = all_in_scipy(inputs) if isinstance(inputs, Mapping) else inputs
    groups = outputs if isinstance(outputs, Mapping) else {None: outputs}
    named = [
        (name if group is None else (str(group), name), name)
        for group, own in groups.items()
        for name in as_names(own, "outputs" if group is None else f"outputs[{group!r}]")
    ]
    repeated = [] if replicate is None else as_names(replicate, "replicate")
    names = [name for _, name in named]
    found = read_table(Columns(table, "frame"), inputs, names, repeated, log, "frame")
    outputs_of = [shown for shown, _ in named]
    return make_ensemble(found, outputs_of, frame, replicated=replicate is not None)


def make_ensemble(
    found: ReadRuns,
    outputs: Iterable[Any],  # names, of groups two
    like: Any = None,  # the table, if it is a frame
    *,
    replicated: bool = False,
    order: Literal[False] | None = None,
) -> Ensemble:
    """Make an ensemble of runs that were read."""
    kind = None if hasattr(like, "iloc") else like  # rows have other labels here
    X, y = found.X, found.y
    rows, setting = np.unique(X, axis=0, return_inverse=True)
    if replicated and len(rows) == len(X):
        raise ValueError(
            f"No two of {len(X)} {found.what} have equal inputs, so that there are no "
            "replicates; expected replicate to be left out."
        )
    lost = np.isnan(y).any(axis=1).sum()
    failed = f"{lost} of {len(y)} {found.what} failed in some output and count in the "
    return Ensemble(
        make_frame(found.inputs, X.T, like=kind),
        make_frame(outputs, y.T, like=kind),
        tuple(found.laws.values()),
        setting.ravel() if replicated else None,
        found.levels,
        (*found.notes, f"{failed}others.") if lost else tuple(found.notes),
        order,
        tuple(name for name in found.inputs if name in found.logarithms),
    )


# Names of columns, which are compared as text


MOST_SHOWN = 12  # names of columns in a message


def names_of(table: Any) -> list[str]:
    """Return the names of the columns of a frame or dict; none of all else."""
    names = table if isinstance(table, Mapping) else getattr(table, "columns", ())
    return list(map(str, names))


def as_names(given: Any, what: str) -> list[str]:
    """Return names; one alone is a list of one."""
    is_one = isinstance(given, str) or not isinstance(given, Iterable)
    names = [given] if is_one or getattr(given, "ndim", 1) == 0 else list(given)
    if not names:
        raise ValueError(f"{what} is empty; expected at least one name.")
    if not all(isinstance(name, Hashable) for name in names):
        raise ValueError(f"{what} must be names of columns. Got {given!r} instead.")
    return list(map(str, names))


def known_names(given: Any, known: Iterable[Any], what: str, noun: str) -> list[str]:
    """Return names that were asked for, all of which are known."""
    names, texts = as_names(given, what), dict.fromkeys(map(str, known))
    for name in names:
        if name not in texts:
            near = [
                text
                for text in texts
                if re.split("[./]", text)[-1] == name or text.startswith(f"{name}.")
            ]
            meant = f" (perhaps {min(near)!r})" if near else ""
            raise ValueError(
                f"{what} has {name!r}, which is no {noun}{meant}; expected one of "
                f"{quoted(list(texts))}."
            )
    refuse_twice(names, what)
    return names


def quoted(names: Sequence[Any]) -> str:
    """Return the first names in quotation marks."""
    shown = ", ".join(map(repr, names[:MOST_SHOWN]))
    return shown + (f", ... ({len(names)} in all)" if len(names) > MOST_SHOWN else "")


def names_in_log(log: Any, inputs: Iterable[str]) -> list[str]:
    """Return the inputs of which a logarithm is asked."""
    log = listed(log, "log")
    return known_names(log, inputs, "log", "input") if log else []


# Columns


class Columns(dict[str, NDArray[Any]]):
    """The columns of a table by name; entries of dicts are columns like ``config.lr``.

    ``orders`` names the columns that are declared to hold categories, with the order of
    these where they have one.
    """

    def __init__(self, table: Any, what: str = "data") -> None:
        super().__init__()
        self.orders: dict[str, Sequence[Any]] = {}
        refuse_twice(names_of(table), what)
        names = table if isinstance(table, Mapping) else getattr(table, "columns", ())
        for name in names:
            self._add(str(name), table[name])

    def _add(self, name: str, column: Any) -> None:
        dtype = getattr(column, "dtype", None)
        if is_category(dtype):
            has_order = getattr(dtype, "ordered", True)
            self.orders[name] = stated_order(dtype) if has_order else ()
        if getattr(dtype, "kind", type(dtype).__name__) in ("O", "Object", "Struct"):
            known = (row for row in column if isinstance(row, (Mapping, str)))
            if isinstance(next(known, None), Mapping):
                self._add_entries(name, list(column))
                return
        self[name] = np.asarray(column)

    def _add_entries(self, name: str, rows: Sequence[Any]) -> None:
        """Add a column for each entry of dicts, and of the dicts in them."""
        rows = [row if isinstance(row, Mapping) else {} for row in rows]
        for key in dict.fromkeys(key for row in rows for key in row):
            entries = [row.get(key) for row in rows]
            if any(isinstance(entry, Mapping) for entry in entries):
                self._add_entries(f"{name}.{key}", entries)
            else:
                self[f"{name}.{key}"] = np.fromiter(entries, object, len(entries))


def read_table(
    table: Columns,
    inputs: Any,
    outputs: Sequence[str],
    others: Sequence[str],  # such as those that count repeats
    log: Any,
    what: str = "data",
    may_agree: Collection[str] = (),
) -> ReadRuns:
    """Read runs from columns of a table that are asked for by name."""
    noun = f"column of {what}"
    laws = dict.fromkeys(known_names(inputs, table, "inputs", noun))
    if isinstance(inputs, Mapping):
        laws = {str(name): law for name, law in inputs.items()}
    known_names(outputs, table, "outputs", noun)
    if others:
        known_names(others, table, "replicate", noun)
    wanted = Counter([*laws, *outputs, *others])
    twice = next((name for name in wanted if wanted[name] > 1), None)
    if twice is not None:
        raise ValueError(
            f"The column {twice!r} is given for two purposes; expected one of inputs, "
            "outputs and replicate."
        )
    return ReadRuns(
        {name: table[name] for name in laws},
        laws,
        {name: table[name] for name in outputs},
        may_agree=may_agree,
        log=names_in_log(log, laws),
        orders=table.orders,
        states=states_among(table, wanted),
    )


# Numbers


class ReadRuns:
    """Runs as numbers: those that have an output, and the inputs that vary."""

    def __init__(
        self,
        columns: Mapping[str, NDArray[Any]],  # of inputs
        laws: Mapping[str, Any],  # distributions; None where they are to be chosen
        outputs: Mapping[Any, NDArray[Any]],  # numbers, also as text
        *,
        may_agree: Collection[Any] = (),  # outputs that need not vary
        states: Sequence[str] | None = None,
        log: Collection[str] = (),
        orders: Mapping[str, Sequence[Any]] | None = None,  # of columns of categories
        what: str = "runs",
        notes: Sequence[str] = (),
    ) -> None:
        y = np.column_stack([read_output(name, v) for name, v in outputs.items()])
        ends = np.array(states or [""] * len(y), dtype=object)
        ends[np.isnan(y).all(axis=1) & (ends == "")] = "have no output"
        self.used = np.asarray(ends == "", dtype=bool)
        self.y = y[self.used]
        if len(self.y) < FEWEST_MEMBERS:
            done = " finished and" if any(states or ()) else ""
            raise ValueError(
                f"{len(self.y)} of {len(y)} {what}{done} have an output; expected at "
                f"least {FEWEST_MEMBERS}, of which inputs can be exchanged."
            )
        self.what, self.logarithms, self.orders = what, log, orders or {}
        self.inputs: dict[str, FloatArray] = {}
        self.laws: dict[str, Any] = {}
        self.levels: dict[str, tuple[Any, ...]] = {}
        self.ranks: dict[str, tuple[Any, ...]] = {}  # of categories taken as numbers
        self.notes = list(notes)
        if not self.used.all():
            self.notes += say_left_out(ends.tolist(), what)
            self._note_failures(columns, np.isin(ends, ("failed", "have no output")))
        self.texts = [n for n, v in outputs.items() if numbers_of_text(v) is not None]
        for name, values in columns.items():
            self._add(name, values[self.used], laws[name])
        if not self.inputs:
            raise ValueError(
                f"No input varies in the {len(self.y)} {what}; expected inputs or "
                "parameters that do."
            )
        self.X: FloatArray = np.column_stack(list(self.inputs.values()))
        if self.texts:
            told = ", ".join(map(repr, self.texts))
            self.notes.append(f"Text that reads as numbers is numbers: {told}.")
        for name, column in zip(outputs, self.y.T, strict=True):
            known = column[~np.isnan(column)]
            if name not in may_agree and (not known.size or np.ptp(known) == 0):
                raise ValueError(
                    f"The output {name!r} is {known[0] if known.size else 'NaN'} in "
                    f"all {what}; expected outputs that vary."
                )

    def _note_failures(
        self, columns: Mapping[str, NDArray[Any]], failed: BoolArray
    ) -> None:
        """Say which inputs have other values in the runs that failed, by a test."""
        found = {}
        for name, values in columns.items():
            if not any(map(is_missing, values[failed | self.used].tolist())):
                found[name] = _differ(values[self.used], values[failed])
        level = _OF_FAILURES / max(len(found), 1)
        names = [repr(name) for name, p_value in found.items() if p_value <= level]
        if names:
            self.notes.append(
                f"Runs without an output have other values of {', '.join(names)}: an "
                "input that decides which runs fail can look as if it acted on what "
                "the others give. A column of 1 and 0, for runs with an output and "
                "without, can be explained too."
            )

    def _note_few_labels(self, name: str, values: NDArray[Any]) -> None:
        """Say that a column is labels, most of whose entries read as numbers."""
        counts = Counter(v for v in values.tolist() if isinstance(v, str))
        other = {
            t: n for t, n in counts.items() if numbers_of_text(np.array([t])) is None
        }
        if 0 < 2 * sum(other.values()) < counts.total():
            self.notes.append(
                f"The input {name} is labels: {next(iter(other))!r} is no number."
            )

    def _add(self, name: str, values: NDArray[Any], law: Any) -> None:
        """Read an input, unless it does not vary."""
        _refuse_missing(name, values, self.what)
        has_name = isinstance(law, str) and law in NAMES
        if not (law is None or has_name or is_frozen(law)):
            raise ValueError(
                f"The distribution of the input {name!r} must be None, a frozen one of "
                f"scipy.stats, or one of {', '.join(map(repr, NAMES))}. Got {law!r}."
            )
        is_log, order = name in self.logarithms, self.orders.get(name, ())
        most = min(len(values) // 2, _MOST_NUMBERED)
        are_ids = is_named(name, "labels") and len(set(values.tolist())) <= most
        if law is None and (name in self.orders or are_ids):
            law = "categorical"
        given, numbers = values, None
        if law != "categorical":
            numbers = numbers_of_text(values)
        if numbers is not None:
            gaps = given[np.isnan(numbers)]
            if gaps.size:  # such as "None"
                raise ValueError(
                    f"The input {name!r} is {gaps.tolist()[0]!r} in {len(gaps)} of "
                    f"{len(values)} {self.what}, and a number in the others; expected "
                    "a number in each. Leave these rows out, or say that all are "
                    f"labels: inputs={{{name!r}: 'categorical'}}."
                )
            self.texts.append(name)
            values = numbers
        if len(set(values.tolist())) < 2:
            self.notes.append(
                f"The input {name} is {given[0]} in all {self.what} and is left out."
            )
            return
        are_labels = _are_labels(values)
        if law is None:
            if numbers is None:
                _refuse_text_of_numbers(name, given)
                self._note_few_labels(name, given)
            if not is_log:
                _refuse_names_of_runs(name, given, self.what)
            law = "categorical" if are_labels else "empirical"
        self.laws[name] = law
        if law == "categorical":
            if is_log:
                raise ValueError(
                    f"log has the input {name!r}, which is categorical; expected "
                    "inputs that are numbers."
                )
            self.levels[name] = levels_in_order(values, order)
            counts = Counter(str(label).lower() for label in self.levels[name])
            if max(counts.values()) > 1:
                self.notes.append(f"Some labels of {name} differ in case alone.")
            self.inputs[name] = codes_of(values, self.levels[name])
            return
        if order and are_labels:
            ranks = self.ranks[name] = levels_in_order(values, order)
            values = codes_of(values, ranks)
            self.notes.append(
                f"The input {name} is the rank of its category, from 0 ({ranks[0]}) to "
                f"{len(ranks) - 1} ({ranks[-1]})."
            )
        try:
            column = floats_with_nan(values)
        except ValueError:
            raise ValueError(
                f"The input {name!r} has values that are no numbers, such as "
                f"{values.tolist()[0]!r}; expected floats, or the distribution "
                "'categorical'."
            ) from None
        if not np.isfinite(column).all():
            raise ValueError(
                f"The input {name!r} has infinite values; expected finite ones."
            )
        if is_log and column.min() <= 0:
            raise ValueError(
                f"log has the input {name!r}, which has the value {column.min():g}; "
                "expected positive ones."
            )
        self.inputs[name] = np.log10(column) if is_log else column


# Level of the tests of what is said of runs that failed.
_OF_FAILURES = 0.01


def _differ(one: NDArray[Any], other: NDArray[Any]) -> float:
    """Return the p-value of a column having the same distribution in two tables."""
    numbers = as_numbers(np.concatenate([one, other]))
    if not len(one) or not len(other):
        return 1.0
    if numbers is not None:
        return float(stats.mannwhitneyu(numbers[: len(one)], numbers[len(one) :])[1])
    counts = [Counter(map(str, part.tolist())) for part in (one, other)]
    labels = sorted(set().union(*counts))
    table = np.array([[own[label] for label in labels] for own in counts])
    few = 5 * len(labels) > len(one) + len(other) or len(labels) < 2
    return 1.0 if few else float(stats.chi2_contingency(table)[1])


def read_output(name: str, values: NDArray[Any]) -> FloatArray:
    """Return an output as floats; None and NaN are failures, text may be true."""
    if values.dtype.kind in "OU":
        texts = [v.strip().lower() for v in values.tolist() if isinstance(v, str)]
        if len(texts) == len(values) and set(texts) <= {"true", "false"}:
            return np.array([text == "true" for text in texts], dtype=np.float64)
    found = as_numbers(values)
    if found is None:
        # of an array of dates no element is a Python number; tolist gives integers
        other = [v for v in values.tolist() if not isinstance(v, (Real, NoneType))]
        other = other or [str(values[0])]
        pairs = ((v, np.array([v, "0"], dtype=object)) for v in other)
        bad = next((v for v, two in pairs if numbers_of_text(two) is None), other[0])
        raise ValueError(
            f"The output {name!r} has values that are no numbers, such as {bad!r}; "
            "expected floats, such as 1 and 0 for two labels, and NaN where a run "
            "failed."
        )
    if np.isinf(found).any():
        raise ValueError(
            f"The output {name!r} is infinite in {np.isinf(found).sum()} rows; "
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
            "expected a value in each. Leave it or these rows out; if other settings "
            "switch it off, fill in values of elsewhere, or a label such as 'none'."
        )


#: Text that a person reads as a number, of which so many different ones are no labels.
LIKE_A_NUMBER = re.compile(
    r"[$€£¥]?\s*[-+]?([\d.,_'\s]*\d([dDeE][-+]?\d+)?\s*(%|[a-zA-Z]{1,2})?|0[xX][\da-fA-F]+)"
)
_MOST_LABELS = 10

# Numbers of identifiers that are labels; a fit to more takes minutes.
_MOST_NUMBERED = 100


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


def _refuse_names_of_runs(name: str, values: NDArray[Any], what: str) -> None:
    """Raise ``ValueError`` for what tells the runs apart, and is no setting of them."""
    entries = values.tolist()
    if len(set(entries)) < len(entries):
        return
    own = f"of its own in each of {len(entries)} {what}"
    if _are_labels(values) and numbers_of_text(values) is None:
        raise ValueError(
            f"The input {name!r} has a label {own}, such as {entries[0]!r}, as names "
            "of runs are; expected numbers, or labels that repeat. Leave it out; make "
            "dates numbers, or name them by order= of skpce.explain; read dicts by "
            "ast.literal_eval."
        )
    if not all(str(entry).strip().isdigit() for entry in entries):
        return
    numbers = sorted(map(int, entries))
    low, high = numbers[0], numbers[-1]
    if high - low == len(numbers) - 1 or is_named(str(name), "identifier"):
        raise ValueError(
            f"The input {name!r} is a whole number {own}, from {low} to {high}, as "
            f"numbers of runs are; expected a setting. Leave it out, or give its "
            f"distribution if it is a setting: inputs={{{name!r}: 'empirical'}}."
        )


def _are_labels(values: NDArray[Any]) -> bool:
    if values.dtype.kind in "iufmM":
        return values.dtype.kind in "mM"
    return not all(
        isinstance(v, (Real, Decimal)) and not isinstance(v, bool)
        for v in values.tolist()
    )


def codes_of(values: NDArray[Any], levels: Sequence[Any]) -> FloatArray:
    """Return the number of the level of each row."""
    code = {level: float(number) for number, level in enumerate(levels)}
    return np.array([code[value] for value in values.tolist()])
