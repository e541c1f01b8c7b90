"""A table of runs as an ensemble: inputs as numbers, distributions, outputs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from numbers import Real
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import (
    FloatArray,
    IndexArray,
    floats_with_nan,
    is_missing,
    listed,
)
from .._checks.frames import make_frame, opened
from .._input_laws import NAMED_LAWS
from .._input_laws.families import is_frozen

_FEWEST = 4  # members; a verdict needs as many


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

    def __len__(self) -> int:
        return len(self.X)

    def __str__(self) -> str:
        head = (
            f"{len(self)} members, {_counted(self.X.shape[1], 'input')} "
            f"({', '.join(map(str, self.X.columns))}), "
            f"{_counted(self.y.shape[1], 'output')}"
        )
        if self.setting is not None:
            head += f", {len(np.unique(self.setting))} different settings"
        return "\n".join([f"{head}.", *self.notes])


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def from_frame(
    frame: Any,
    inputs: Sequence[str] | Mapping[str, Any],
    outputs: Any,
    *,
    replicate: str | Sequence[str] | None = None,
    log: Sequence[str] = (),
) -> Ensemble:
    """Read an ensemble from a table with one row for each run.

    Parameters
    ----------
    frame : data frame
        Of pandas or polars, or of another library that narwhals reads, where it is
        installed. X and y of the ensemble are of the same library.
    inputs : sequence of str, or dict of str to distribution
        Columns that differ between the runs. A dict gives distributions, as in
        ``distribution=`` of :class:`skpce.PolynomialChaosRegressor`; None stands for
        the choice that is made without one: ``"categorical"`` for text, booleans and
        categories, else ``"empirical"``. That of an input in ``log`` is the
        distribution of its logarithm.
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
        inputs that do not vary too; ``notes`` says how many.

    Raises
    ------
    ValueError
        For columns that do not exist or occur twice, inputs that are missing, outputs
        that are no numbers, do not vary or are infinite, or fewer than four runs.
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
    given_frame, frame = frame, opened(frame)
    laws = dict.fromkeys(_names(inputs, "inputs"))
    if isinstance(inputs, Mapping):
        laws = dict(inputs)
    given = outputs if isinstance(outputs, Mapping) else {None: outputs}
    groups = {name: _names(columns, "outputs") for name, columns in given.items()}
    repeated = () if replicate is None else _names(replicate, "replicate")
    of_outputs = [column for columns in groups.values() for column in columns]
    empty = [name for name, columns in groups.items() if not columns]
    if empty or not of_outputs or not laws:
        which = "" if empty in ([], [None]) else f", with a column for {empty[0]!r}"
        raise ValueError(
            f"inputs and outputs must be at least one input and one output{which}."
        )
    _refuse_columns(frame, [*laws, *of_outputs, *repeated], log, laws)
    columns = {name: np.asarray(frame[name]) for name in laws}
    values = {
        (name if group is None else (str(group), name)): np.asarray(frame[name])
        for group, names in groups.items()
        for name in names
    }
    return build(
        columns,
        laws,
        values,
        log=log,
        replicated=replicate is not None,
        what="runs",
        like=given_frame,
    )


def _names(given: Any, what: str) -> list[Any]:
    """Return the names of columns; one that is no sequence stands alone."""
    is_listed = isinstance(given, Iterable) and not isinstance(given, str)
    is_listed = is_listed and getattr(given, "ndim", 1) > 0
    names = list(given) if is_listed else [given]
    if not all(isinstance(name, Hashable) for name in names):
        raise ValueError(f"{what} must be names of columns. Got {given!r} instead.")
    return names


def _refuse_columns(
    frame: Any, wanted: Sequence[str], log: Sequence[str], laws: Mapping[str, Any]
) -> None:
    """Raise ``ValueError`` for columns that are missing, or are given twice."""
    known = getattr(frame, "columns", None)
    if known is None:
        raise ValueError(f"frame must be a data frame. Got {type(frame).__name__}.")
    known = list(known)
    for name in wanted:
        if known.count(name) != 1:
            what = "several columns" if name in known else "no column"
            raise ValueError(
                f"frame has {what} {name!r}; it has {', '.join(map(repr, known))}. "
                "Expected these in inputs, outputs and replicate."
            )
        if wanted.count(name) > 1:
            raise ValueError(
                f"The column {name!r} is given for two purposes; expected one of "
                "inputs, outputs and replicate."
            )
    for name in listed(log, "log"):
        if not isinstance(name, Hashable) or name not in laws:
            raise ValueError(
                f"log has {name!r}, which is no input: expected {list(laws)}."
            )


def build(
    columns: Mapping[str, NDArray[Any]],
    laws: Mapping[str, Any],  # distributions; None where they are to be chosen
    outputs: Mapping[Any, NDArray[Any]],
    *,
    log: Iterable[str] = (),
    replicated: bool = False,
    notes: Sequence[str] = (),
    what: str = "runs",
    like: Any = None,  # the table, if it is a frame
) -> Ensemble:
    """Make an ensemble of columns."""
    kind = None if hasattr(like, "iloc") else like  # rows have other labels here
    y = np.column_stack([_numbers(name, values) for name, values in outputs.items()])
    used = np.asarray(~np.isnan(y).all(axis=1))
    y = y[used]
    if len(y) < _FEWEST:
        raise ValueError(
            f"{len(y)} {what} have an output; expected at least {_FEWEST}."
        )
    _refuse_constant(list(outputs), y, what)
    found, lost = _Inputs(what), np.isnan(y).any(axis=1).sum()
    found.notes += notes
    if not used.all():
        found.notes.append(
            f"{(~used).sum()} of {len(used)} {what} have no output and are left out."
        )
    if lost:
        found.notes.append(
            f"{lost} of {len(y)} {what} failed in some output and count in the others."
        )
    logarithms = set(log)
    for name, values in columns.items():
        found.add(name, values[used], laws[name], name in logarithms)
    if not found.columns:
        raise ValueError(
            f"No input varies in the {len(y)} {what}; expected inputs or parameters "
            "that "
            "do."
        )
    X = make_frame(found.columns, found.columns.values(), like=kind)
    return Ensemble(
        X,
        make_frame(outputs, y.T, like=kind),
        tuple(found.laws),
        _settings(X.to_numpy(), what) if replicated else None,
        found.levels,
        tuple(found.notes),
    )


class _Inputs:
    """Inputs as they are read, one column after another."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.columns: dict[str, FloatArray] = {}
        self.laws: list[Any] = []
        self.levels: dict[str, tuple[Any, ...]] = {}
        self.notes: list[str] = []

    def add(self, name: str, values: NDArray[Any], law: Any, is_log: bool) -> None:
        """Read a column, unless it does not vary."""
        _refuse_missing(name, values, self.what)
        if len(set(values.tolist())) < 2:
            self.notes.append(
                f"The input {name} is {values[0]} in all {self.what} and is left out."
            )
            return
        if law is None:
            law = "categorical" if _is_categorical(values) else "empirical"
        _check_law(name, law)
        if isinstance(law, str) and law == "categorical":
            if is_log:
                raise ValueError(
                    f"log has the input {name!r}, which is categorical; expected "
                    "inputs that are numbers."
                )
            self.levels[name], codes = _coded(values)
            self.columns[name] = codes.astype(np.float64)
        else:
            self.columns[name] = _checked_input(name, values, is_log)
        self.laws.append(law)


def _settings(X: FloatArray, what: str) -> IndexArray:
    """Number the different rows of inputs."""
    rows, setting = np.unique(X, axis=0, return_inverse=True)
    if len(rows) == len(X):
        raise ValueError(
            f"No two of {len(X)} {what} have equal inputs, so that there are no "
            "replicates; expected replicate to be left out."
        )
    return setting.ravel()


def _refuse_constant(names: Sequence[Any], y: FloatArray, what: str) -> None:
    """Raise ``ValueError`` for an output that never varies."""
    for name, column in zip(names, y.T, strict=True):
        known = column[~np.isnan(column)]
        if not known.size or np.ptp(known) == 0:
            value = known[0] if known.size else "NaN"
            raise ValueError(
                f"The output {_shown(name)} is {value} in all {what}; expected outputs "
                "that vary."
            )


def _shown(name: Any) -> str:
    return repr(name[1] if isinstance(name, tuple) else name)


def _numbers(name: Any, values: NDArray[Any]) -> FloatArray:
    """Return an output as floats; None and NaN are failures."""
    try:
        found = floats_with_nan(values)
    except ValueError:
        # of an array of dates no element is a Python number; tolist gives integers
        other = [v for v in values if not isinstance(v, (Real, NoneType))]
        raise ValueError(
            f"The output {_shown(name)} has values that are no numbers, such as "
            f"{other[0]!r}; expected floats, NaN where a run failed."
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
            "expected a value in each. Leave the input or these rows out."
        )


def _is_categorical(values: NDArray[Any]) -> bool:
    if values.dtype.kind in "iuf":
        return False
    return not all(
        isinstance(v, (int, float, np.number)) and not isinstance(v, bool)
        for v in values.tolist()
    )


def _check_law(name: str, law: Any) -> None:
    if not is_frozen(law) and not (isinstance(law, str) and law in NAMED_LAWS):
        raise ValueError(
            f"The distribution of the input {name!r} must be None, a frozen one of "
            f"scipy.stats, or one of {', '.join(map(repr, sorted(NAMED_LAWS)))}. Got "
            f"{law!r}."
        )


def _coded(values: NDArray[Any]) -> tuple[tuple[Any, ...], IndexArray]:
    """Return the levels, sorted where they can be, and the code of each row."""
    found = list(dict.fromkeys(values.tolist()))
    with suppress(TypeError):  # levels of several types stay in the table's order
        found = sorted(found)
    code = {level: number for number, level in enumerate(found)}
    return tuple(found), np.array([code[value] for value in values.tolist()])


def _checked_input(name: str, values: NDArray[Any], is_log: bool) -> FloatArray:
    try:
        column = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"The input {name!r} has values that are no numbers, such as "
            f"{values[0]!r}; expected floats, or the distribution 'categorical'."
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
