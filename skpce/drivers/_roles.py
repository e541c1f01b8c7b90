"""What the columns of a table of runs are: decided once, for all readers of runs.

By the table of names in ``skpce/ensembles/_table.py``, and by the values. First each
column by itself: an input, or what names, numbers or dates the runs, or a result. Then
the inputs beside one another: what counts repeats or names runs of several rows, along
what runs have rows, and what shifts all settings. And the labels that somebody gives.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from .._checks import (
    FEWEST_MEMBERS,
    BoolArray,
    FloatArray,
    IndexArray,
    as_numbers,
    is_missing,
    numbers_of_text,
)
from ..ensembles._table import (
    LIKE_A_NUMBER,
    is_named,
    known_names,
    quoted,
    states_among,
)
from ._cautions import said
from ._design import (
    FEWEST_SIGNS,
    FEWEST_UNITS,
    MANY_RUNS,
    OF_A_LABEL,
    RECURS,
    first_of,
    mean_of,
    numbers_of,
    same_in_all,
    varies_within,
    without_means,
)

# A column by itself

# Part of the rows that have a value of their own, from which on text is no category,
# and numbers are no levels of a factor.
_DISTINCT_TEXT, _DISTINCT_NUMBERS = 0.5, 0.25

# Level at which inputs and outputs are said to change with dates.
_WITH_DATE = 0.01
_DATES = "holds dates", "hold dates"
_DATE = re.compile(
    r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?$|\d{1,2}[./]\d{1,2}[./]\d{4}"
)


def inputs_of(
    table: Mapping[str, NDArray[Any]],
    taken: Collection[str],  # columns that have another role
    outputs: Sequence[str],
    index: Sequence[str],  # names of the labels of rows
) -> tuple[list[str], list[str]]:
    """Return the columns that are taken as inputs, and notes about the others."""
    columns = {name: values for name, values in table.items() if name not in taken}
    inputs = [
        name
        for name, values in columns.items()
        if is_named(name, "parameter") and not _numbers_the_runs(name, values)
    ]
    notes = []
    if inputs:
        left = [name for name in columns if name not in inputs]
        why_not = f"{_said(left, 'is left out', 'are left out')}, {_unless(left)}"
        notes = [f"The inputs are the columns of parameters; {why_not}"] if left else []
    else:
        why = {n: why_no_input(n, values, outputs) for n, values in columns.items()}
        written = _written_by_trackers({n: columns[n] for n in why if why[n] is None})
        why |= dict.fromkeys(
            written, ("is written by a tracker", "are written by a tracker")
        )
        for reason in dict.fromkeys(filter(None, why.values())):
            names = [name for name, own in why.items() if own == reason]
            notes.append(
                f"{_said(names, *reason)}, and {_no_input(names)} {_unless(names)}"
            )
        inputs = [name for name, reason in why.items() if reason is None]
    if index:
        notes.append(
            f"{_said(index, 'labels', 'label')} the rows, and {_no_input(index)}: "
            "reset_index() makes columns of labels"
        )
    if not inputs:
        raise ValueError(
            "No column is left that can be an input, of "
            f"{quoted(list(table))}{': ' if notes else ''}{'; '.join(notes)}. "
            "Expected some; name them by inputs=."
        )
    return inputs, notes


def _written_by_trackers(columns: Mapping[str, NDArray[Any]]) -> list[str]:
    """Return columns of trackers; what says which row of a run a row is may be none."""
    written = [name for name in columns if is_named(name, "tracker")]
    counts = [name for name in columns if is_named(name, "row of a run")]
    others = [n for n in columns if n not in written and n not in counts]
    for name in counts:
        rows = list(zip(*(columns[n].tolist() for n in [*others, name]), strict=True))
        n_rows, n_runs = len(set(map(str, rows))), len({str(row[:-1]) for row in rows})
        if n_rows < len(rows) or n_runs > len(rows) // 2:
            written.append(name)
    return written


def why_no_input(
    name: str, values: NDArray[Any], outputs: Sequence[str]
) -> tuple[str, str] | None:
    """Say why a column is no input, of one and of several; None for an input."""
    entries = [v for v in values.tolist() if not is_missing(v) and v != ""]
    if not entries:
        return "is empty", "are empty"
    if states_among({name: values}) is not None:
        return "says how the runs ended", "say how the runs ended"
    if values.dtype.kind == "m":
        return "holds durations", "hold durations"
    are_dates = (
        _DATE.match(v.strip()) if isinstance(v, str) else isinstance(v, date)
        for v in entries
    )
    if values.dtype.kind == "M" or all(are_dates):
        return _DATES
    distinct = len(set(map(str, entries))) / len(values)
    numbers = _numbers(values)
    if numbers is None:
        texts = [v for v in entries if isinstance(v, str)]
        like = sum(bool(LIKE_A_NUMBER.fullmatch(text.strip())) for text in texts)
        is_name = distinct > _DISTINCT_TEXT and like <= len(entries) / 2
        return ("names the runs", "name the runs") if is_name else None
    if _numbers_the_runs(name, values):
        return "numbers the runs", "number the runs"
    ends = {output.rpartition("/")[2] for output in outputs if "/" in output}
    is_beside = "/" in name and name.rpartition("/")[2] in ends  # as in "arc/match"
    if distinct > _DISTINCT_NUMBERS and (is_beside or is_named(name, "result")):
        return "looks like a result", "look like results"
    return None


def results_among(columns: Mapping[str, NDArray[Any]]) -> list[str]:
    """Return the columns that look like what a run gave."""
    return [
        name
        for name, values in columns.items()
        if is_named(name, "result")
        and values.dtype.kind not in "mM"
        and _numbers(values) is not None
    ]


def find_label(
    X: FloatArray,  # shape: (n_rows, n_inputs)
    names: Sequence[str],
    left: Mapping[str, NDArray[Any]],  # columns that are no inputs
) -> tuple[str, list[str]]:
    """Return what names rows that belong together, and the inputs that it determines.

    Such as a column of models in a table of models and tasks, of whose inputs one is
    the size of the model. Of several the one with the fewest labels; "" without any.
    """
    found = []
    for name, values in left.items():
        is_label = is_named(name, "identifier") or _numbers(values) is None
        if not is_label or any(map(is_missing, values.tolist())):
            continue
        label = numbers_of(list(map(str, values.tolist())))
        n_labels = int(label.max()) + 1
        if not FEWEST_SIGNS <= n_labels <= len(X) // 2:
            continue
        levels = list(map(numbers_of, X.T))
        own = [not varies_within(level, label).any() for level in levels]
        agree = [np.square(np.bincount(level) / len(X)).sum() for level in levels]
        if any(own) and not all(own):  # nor by chance
            by_chance = max(a for a, is_own in zip(agree, own, strict=True) if is_own)
            if by_chance ** (len(X) - n_labels) <= _SHIFTED:
                found.append((n_labels, name, list(compress(names, own))))
    return min(found)[1:] if found else ("", [])


def say_of_repeats(
    X: FloatArray, left: Mapping[str, NDArray[Any]], outputs: Sequence[str]
) -> list[str]:
    """Say what could be an input, and differs between runs with equal inputs."""
    setting = numbers_of(X)
    names = [
        name
        for name, values in left.items()
        if not is_named(name, "repeat")
        and why_no_input(name, values, outputs) is None
        and varies_within(numbers_of(list(map(str, values.tolist()))), setting).any()
    ]
    said_of = _said(names, "is no input and differs", "are no inputs and differ")
    words = f"{said_of} between runs with equal inputs, where it counts as noise"
    return [words] if names else []


def say_of_dates(
    X: FloatArray,  # shape: (n_rows, n_inputs)
    names: Sequence[str],
    values: FloatArray,  # of outputs, shape: (n_rows, n_columns), NaN where missing
    left: Mapping[str, NDArray[Any]],  # columns that are no inputs
) -> list[str]:
    """Say which inputs change with the date of the runs, where outputs do too."""

    def changing(columns: FloatArray, place: FloatArray) -> list[int]:
        p_values = [
            stats.spearmanr(column, place, nan_policy="omit")[1] for column in columns.T
        ]
        level = _WITH_DATE / len(p_values)
        return [k for k, p_value in enumerate(p_values) if p_value <= level]

    notes = []
    for name, column in left.items():
        if why_no_input(name, column, ()) != _DATES:
            continue
        with suppress(ValueError):  # dates that do not read as such
            place = positions(column, np.ones(len(column), dtype=bool))
            inputs = [repr(names[k]) for k in changing(X, place)]
            if inputs and changing(values, place):
                notes.append(
                    f"{said(inputs, 'changes', 'change')} with {name!r}, and so do "
                    "outputs: what else changed with time can look like an effect, "
                    f"unless order={name!r} is given"
                )
    return notes


def _numbers_the_runs(name: str, values: NDArray[Any]) -> bool:
    """Return whether a column, by its name, has a number of its own for each run."""
    numbers = _numbers(values)
    if numbers is None or not is_named(name, "number"):
        return False
    known = np.unique(numbers[~np.isnan(numbers)])
    return len(known) == len(values) and bool((known == known.round()).all())


def _numbers(values: NDArray[Any]) -> FloatArray | None:
    """Return a column as numbers, also those that are refused as inputs, or None."""
    return as_numbers(values.real if values.dtype.kind == "c" else values)


def _said(names: Sequence[str], one: str, several: str) -> str:
    return said(list(map(repr, names)), one, several, 5)


def _no_input(names: Sequence[str]) -> str:
    return "is no input" if len(names) == 1 else "are no inputs"


def _unless(names: Sequence[str]) -> str:
    return f"unless inputs= has {'it' if len(names) == 1 else 'them'}"


# Inputs beside one another

# P-value from which on means of the labels of repeats are taken out, as of blocks, and
# rows with a label and equal other inputs belong together.
_SHIFTED = 0.001


def find_counter(
    X: FloatArray,  # shape: (n_rows, n_inputs)
    names: Sequence[str],
    levels: Mapping[str, Sequence[Any]],  # of labels
) -> int | None:
    """Return the input that only counts repeats of the settings of the others.

    Its name says so, and labels are numbered. Without it settings repeat, and each of
    them has another of its values in every repeat.
    """
    n_rows, n_inputs = X.shape
    for column, name in enumerate(names if n_inputs > 1 else ()):
        numbered = all(re.search(r"\d", str(label)) for label in levels.get(name, ()))
        if not (numbered and is_named(name, "repeat")):
            continue
        setting = numbers_of(np.delete(X, column, axis=1))
        if not 1 < setting.max() + 1 <= n_rows // 2:
            continue
        values = X[:, column]
        pairs = np.unique(np.column_stack([setting, numbers_of(values)]), axis=0)
        if len(pairs) == n_rows and (values == np.round(values)).all():
            return column
    return None


def find_runs(
    X: FloatArray,  # shape: (n_rows, n_inputs)
    names: Sequence[str],
) -> int | None:
    """Return the input that names runs, each with several rows, as of its metrics.

    Its name says so. Some other inputs have one value in each run, others the same
    values in all of them, and at most one any.
    """
    for column, name in enumerate(names):
        if not is_named(name, "run"):
            continue
        run = numbers_of(X[:, column])
        if not 1 < run.max() + 1 <= (1.0 - RECURS) * len(X):
            continue
        levels = [numbers_of(values) for values in np.delete(X, column, axis=1).T]
        varying = [level for level in levels if varies_within(level, run).any()]
        free = [level for level in varying if not same_in_all(level, run)]
        if len(varying) < len(levels) and len(free) < 2:
            return column
    return None


def shifts(
    labels: IndexArray,  # shape: (n_rows,)
    setting: IndexArray,  # shape: (n_rows,)
    values: FloatArray,  # shape: (n_rows, n_columns), NaN where missing
) -> bool:
    """Whether labels, such as folds, that settings have once shift some values.

    By an F-test of two ways, with Bonferroni's correction. Some runs may be missing.
    """
    n_labels, n_settings = int(labels.max()) + 1, int(setting.max()) + 1
    pairs = np.unique(np.column_stack([labels, setting]), axis=0)
    once = len(pairs) == len(labels) >= n_labels * n_settings / 2
    if min(n_labels, n_settings) < 2 or not once:
        return False
    p_values = []
    for column in values.T:
        known = ~np.isnan(column)
        strata = numbers_of(setting[known])
        indicators = np.eye(n_labels)[labels[known]]
        left = without_means(np.column_stack([indicators, column[known]]), strata)
        fit, _, rank, _ = np.linalg.lstsq(left[:, :-1], left[:, -1], rcond=1e-9)
        misses = left[:, -1] - left[:, :-1] @ fit
        within = int(known.sum() - strata.max(initial=-1) - 1 - rank)
        if rank and within > 0:
            shift, rest = np.square(left[:, -1]).sum(), np.square(misses).sum()
            ratio = (shift - rest) / rank / max(rest / within, 1e-300)
            p_values.append(stats.f.sf(ratio, rank, within))
    return min(p_values, default=1.0) * len(p_values) <= _SHIFTED


def find_curves(
    X: FloatArray,  # shape: (n_rows, n_inputs)
    names: Sequence[str],
    repeat: IndexArray | None,  # shape: (n_rows,), labels of repeats
    values: FloatArray,  # shape: (n_rows, n_columns), NaN where missing
) -> tuple[list[int], IndexArray]:  # and (n_rows,)
    """Return inputs that differ between rows of a run, such as epochs, and the runs.

    Rows of a run have equal other inputs, one label of repeats, and one row for each
    value of such an input. Its name says so, or rows with a label lie above or below
    their settings together, by an F-test with Bonferroni's correction. Where all inputs
    but one would differ within runs, labels shift the output, or act together with it.
    """
    label = np.zeros(len(X), dtype=np.int64) if repeat is None else repeat

    def runs(along: Sequence[int]) -> IndexArray:
        return numbers_of(np.column_stack([np.delete(X, along, axis=1), label]))

    along = []
    for k, name in enumerate(names):
        is_one = is_named(name, "curve")
        if is_one or is_named(name, "budget"):
            value = numbers_of(X[:, k])
            if value.max() > 1 and (is_one or not same_in_all(value, runs([k]))):
                along.append(k)
    if along:
        run = runs(along)
        n_rows = int(numbers_of(np.column_stack([run, X[:, along]])).max()) + 1
        enough = FEWEST_UNITS <= run.max() + 1 <= (1.0 - RECURS) * len(X)
        along = along if enough and n_rows == len(X) else []
    named = list(along)
    rows = runs(along) if along else np.arange(len(X))
    left = [k for k in range(X.shape[1]) if k not in along]
    while repeat is not None and left:  # of runs so far the means
        first, means = first_of(rows), mean_of(values, rows)
        p_values = [_of_runs(X[first], k, along, label[first], means) for k in left]
        if min(p_values) * len(left) > _SHIFTED:
            break
        along.append(left.pop(int(np.argmin(p_values))))
        rows = runs(along)
    if along != named and (len(left) < 2 or rows.max() < 2 * MANY_RUNS - 1):
        along = named
    return sorted(along), runs(along) if along else np.arange(len(X))


def _of_runs(
    X: FloatArray, k: int, along: Sequence[int], label: IndexArray, values: FloatArray
) -> float:
    """Return the p-value of what rows have in common that differ in an input alone.

    Other inputs along which runs have rows, whose means these are, are left aside.
    """
    setting = numbers_of(np.delete(X, along, axis=1))
    others = numbers_of(np.delete(X, [*along, k], axis=1))
    run = numbers_of(np.column_stack([others, label]))
    n_settings, n_others, n_runs = (
        int(one.max()) + 1 for one in (setting, others, run)
    )
    between, whole = n_runs - n_others, len(X) - n_settings
    if not (0 < between < whole and 1 < n_runs <= len(X) // 2):
        return 1.0
    left = without_means(values, setting)
    if len(label) > OF_A_LABEL * label.max():  # what it does everywhere is no run's
        left = without_means(left, label)
        between -= int(label.max())
    return _differ(left, run, max(between, 1), whole - between)


def _differ(
    values: FloatArray,  # shape: (n_rows, n_columns), NaN where missing
    labels: IndexArray,  # shape: (n_rows,)
    *degrees: int,  # of freedom, between labels and within
) -> float:
    """Return the p-value of an F-test of the means of labels, of all columns."""
    means = mean_of(values, labels)[labels]
    between, within = (
        np.square(part).sum(axis=0) / max(free, 1)
        for part, free in zip((means, values - means), degrees, strict=True)
    )
    ratio = between / np.maximum(within, 1e-300)
    known = ~np.isnan(ratio)
    p_values = stats.f.sf(ratio[known], *degrees)
    return float(p_values.min(initial=1.0) * max(np.count_nonzero(known), 1))


@dataclass
class Roles:
    """Labels of the runs: those that somebody gave, and those that are found."""

    counted: list[str]  # columns of the labels of repeats
    notes: list[str]
    order: Any  # positions; False where the order of the rows means nothing
    setting: IndexArray | None = None  # each of shape (n_runs,)
    groups: IndexArray | None = None
    blocks: IndexArray | None = None
    repeat: IndexArray | None = None
    counter: str = ""  # an input that is no input: it counts repeats

    def find(
        self,
        X: FloatArray,  # shape: (n_runs, n_inputs)
        names: Sequence[str],
        levels: Mapping[str, Sequence[Any]],  # of labels
        values: FloatArray,  # shape: (n_runs, n_columns), NaN where missing
        inputs_told: bool,
    ) -> str:
        """Find what nobody has said; return the input that is none, or ""."""
        left_out = ""
        is_open = self.blocks is None and self.order is None
        if self.setting is None and self.groups is None and not inputs_told:
            run = find_runs(X, names) if is_open else None
            counter = find_counter(X, names, levels) if run is None else None
            if run is not None:
                left_out, self.groups = names[run], numbers_of(X[:, run])
                self.notes.append(
                    f"{left_out!r} names runs of several rows, which belong together, "
                    "as those of groups= do"
                )
            elif counter is not None:
                left_out, self.repeat = names[counter], numbers_of(X[:, counter])
                self.counter, self.counted = left_out, [left_out]
        if self.groups is not None or not is_open:
            return left_out
        if left_out:
            X = np.delete(X, names.index(left_out), axis=1)
            names = [name for name in names if name != left_out]
        along, runs = find_curves(X, names, self.repeat, values)
        if along:
            self.groups = runs
            varying = said([repr(names[k]) for k in along], "varies", "vary")
            self.notes.append(
                f"{varying} within runs, whose rows belong together, as those of "
                "groups= do: they have equal other inputs. Where each row is a run of "
                "its own, give order=False"
            )
        elif self.repeat is not None:
            settings = numbers_of(X) if self.setting is None else self.setting
            if shifts(self.repeat, settings, values):
                self.blocks = self.repeat
                self.notes.append(
                    f"{said(self.counted, 'shifts', 'shift')} all settings: means are "
                    "taken out, as blocks= does"
                )
        return left_out


# Labels that are given


def replicate_columns(given: Any, known: Collection[str]) -> list[str]:
    """Return the columns that count repeats; none where labels are given."""
    if given is None:
        return []
    names = np.ravel(np.array(given, dtype=object)).tolist()
    are_names = isinstance(given, str)
    if not are_names and known and all(isinstance(name, str) for name in names):
        # Labels are as many as the runs, and none of them is the name of a column.
        are_names = any(name in known for name in names) or len(names) < FEWEST_MEMBERS
    if not are_names:
        return []
    return known_names(names, known, "replicate", "column of data")


def equal_inputs(X: FloatArray, names: Sequence[str]) -> IndexArray:
    """Return the setting of each run, where repeats were declared."""
    rows, setting = np.unique(X, axis=0, return_inverse=True)
    if len(rows) < len(X):
        return np.asarray(setting.reshape(-1))
    other = []
    for place, name in enumerate(names if len(names) > 1 else ()):
        rest = np.delete(X, place, axis=1)
        counts = np.unique(rest, axis=0, return_counts=True)[1]
        if counts.min() > 1 and len(counts) > 1:
            other.append(repr(name))
    remedy = "Where each run is a setting of its own, leave replicate= out."
    if other:
        remedy += (
            f" Without {other[0]} all settings repeat: where it is no input, leave it "
            "out by inputs=, or name it in outputs= or replicate=."
        )
    raise ValueError(
        f"No two of {len(X)} runs have equal inputs, so that there are no repeats; "
        f"expected some. {remedy}"
    )


def refuse_other_inputs(X: NDArray[Any], setting: IndexArray) -> None:
    """Refuse rows of one setting whose inputs differ."""
    first = first_of(setting)[setting]
    reference = X[first]
    same = (reference == X) | ((X != X) & (reference != reference))
    if X.dtype.kind == "f":  # rounding of an isometry such as a PCA is no change
        largest = np.abs(X).max(axis=0, initial=0.0, where=~np.isnan(X))
        same |= np.abs(X - reference) <= 1e-9 * largest
    differs = ~same.reshape(len(X), -1).all(axis=1)
    if differs.any():
        row = int(np.argmax(differs))
        raise ValueError(
            f"Rows {int(first[row])} and {row} have one label in replicate= and other "
            "inputs; expected the same: repeats share their inputs, before any "
            "embedding that is random. For runs that belong together but differ, give "
            "groups=."
        )


def _one_each(
    role: str, given: Any, used: BoolArray, expected: str
) -> NDArray[Any]:  # shape: (n_used,)
    """Return what was given for each row that is used; refuse gaps."""
    if np.ma.is_masked(given):
        raise ValueError(f"{role} is masked; expected {expected}.")
    try:
        values = np.asarray(given)
    except ValueError:  # entries of different length
        values = np.array(None)
    if values.shape != used.shape:
        raise ValueError(
            f"{role} has shape {values.shape}; expected ({len(used)},), {expected}."
        )
    values = values[used]
    entries = values.tolist()
    has_nan = values.dtype.kind in "fmM"
    missing = np.isnan(values) if has_nan else list(map(is_missing, entries))
    if np.any(missing):
        raise ValueError(
            f"{role} is missing in {np.sum(missing)} of {len(entries)} runs; expected "
            f"{expected}."
        )
    for entry in entries:
        if not isinstance(entry, Hashable) or isinstance(entry, complex):
            raise ValueError(f"{role} has the entry {entry!r}; expected {expected}.")
    return values


def numbered(role: str, given: Any, used: BoolArray) -> IndexArray:
    """Return labels of runs as numbers."""
    values = _one_each(role, given, used, "one label for each run")
    if values.dtype.kind != "O":
        return numbers_of(values)
    found = numbers_of(values.astype(str))
    if len(set(values.tolist())) > found.max(initial=-1) + 1:
        raise ValueError(
            f"{role} has labels that differ and read alike, as 1 and '1' do; expected "
            "labels of one kind."
        )
    return found


def positions(given: Any, used: BoolArray) -> FloatArray:
    """Return the place of each run in a series."""
    expected = (
        "a number or a date for each run, or False where the order of the rows means "
        "nothing"
    )
    values = _one_each("order", given, used, expected)
    numbers = numbers_of_text(values)
    if numbers is not None:
        values = _one_each("order", numbers, used[used], expected)
    if values.dtype.kind in "OU":
        values = values.astype(str)
        try:  # dates as text sort as they are only if they all read as dates
            with warnings.catch_warnings():
                # of time zones, which it converts
                warnings.simplefilter("ignore", UserWarning)
                values = values.astype("datetime64[us]")
        except ValueError:
            raise ValueError(
                f"order has the entry {str(values[0])!r}; expected {expected}."
            ) from None
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise ValueError(f"order is infinite in some runs; expected {expected}.")
    return numbers_of(values).astype(np.float64)
