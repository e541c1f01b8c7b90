"""Targets of an expansion: their names and groups, constant ones and missing ones."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import (
    FloatArray,
    IndexArray,
    as_floats,
    floats_with_nan,
    listed,
    refuse_not_finite,
)
from .._solvers.problem import q2_from_sums


class ConstantTargetWarning(UserWarning):
    """A target does not vary: it has no variance to attribute to the inputs."""


class FailedSamplesWarning(UserWarning):
    """Some samples lack a target (NaN) and count in the others only."""


def without_missing(y: Any) -> tuple[Any, NDArray[np.bool_] | None]:
    """Return targets with zeros in place of NaN, and where these were."""
    if y is None:
        raise ValueError("This fit requires y to be passed, but the target y is None.")
    values = np.asarray(y)
    if values.dtype.kind == "O":  # nullable types of pandas, None among numbers
        with suppress(ValueError):
            values = floats_with_nan(values)
    if values.dtype.kind != "f" or not np.isnan(values).any():
        return y, None
    missing = np.isnan(values)
    count = np.ravel((~missing).sum(axis=0))
    if count.min() < 2:
        raise ValueError(
            f"y has {count.min()} values that are no NaN in column {count.argmin()}; "
            "expected two or more."
        )
    return np.where(missing, 0.0, values), missing


def warn_of_targets(expansion: Any, problem: Any, wrappers: int = 0) -> None:
    """Warn of constant targets and of missing ones, from two calls up.

    ``wrappers`` counts the functions around the caller.
    """
    constant = np.flatnonzero(problem.spread == 0.0).tolist()
    if constant:
        named = [expansion.output_names[i] for i in constant]
        shown = constant if named == [f"y{i}" for i in constant] else named
        which = "y has" if expansion.scalar else f"The targets {shown} of y have"
        warnings.warn(
            f"{which} no variance: the Sobol indices are 0 and q2_ is NaN.",
            ConstantTargetWarning,
            stacklevel=3 + wrappers,
        )
    warn_of_failed(
        expansion.output_names,
        problem.weight_of_targets,
        problem.total_weight,
        "sample",
        "target",
        stacklevel=4 + wrappers,
    )


def warn_of_failed(
    names: Sequence[str],
    weights: FloatArray,  # shape: (n_targets,), of the samples that have each
    total: float,
    sample: str,
    target: str,
    stacklevel: int,
) -> None:
    """Warn of targets that some samples lack."""
    lacking = [
        f"{name} has {weight:g}"
        for name, weight in zip(names, weights, strict=True)
        if weight < total
    ]
    if lacking:
        listed = ", ".join(lacking[:5]) + (", ..." if len(lacking) > 5 else "")
        warnings.warn(
            f"y has NaN: of {total:g} {sample}s {listed}. A {sample} that lacks a "
            f"{target} counts in the others.",
            FailedSamplesWarning,
            stacklevel=stacklevel,
        )


def output_labels(y: Any, n_columns: int) -> list[tuple[str, str]]:
    """Return (output, column) of each column of y; empty where it has no names.

    Columns with two levels of names, or names such as ``logits__3``, belong to an
    output; any other column is an output of its own, with its name twice.
    """
    columns = getattr(y, "columns", None)
    if columns is None:  # a series has one name
        name = getattr(y, "name", None) if hasattr(y, "dtype") else None
        columns = [name] if n_columns == 1 and isinstance(name, str) else []
    columns = list(columns)
    if len(columns) != n_columns:
        return []
    if not all(isinstance(column, (str, tuple)) for column in columns):
        return []
    return [_output_label(column, i) for i, column in enumerate(columns)]


def _output_label(column: Any, position: int) -> tuple[str, str]:
    if isinstance(column, tuple):
        output, part = str(column[0]), ":".join(map(str, column[1:]))
    else:
        output, _, part = column.partition("__")
        output, part = (output, part) if output and part else (column, "")
    output = output if output.strip() else f"y{position}"
    return output, part or output


def names_of_columns(
    labels: Sequence[tuple[str, str]],  # output and column, of each column of y
) -> list[str] | None:
    """Return names of outputs, such as ``logits:3`` where one has several columns."""
    if not labels:
        return None
    return [
        output if output == column else f"{output}:{column}"
        for output, column in labels
    ]


def columns_of_outputs(
    labels: Sequence[tuple[str, str]],  # output and column, of each column of y
) -> dict[str, list[int]] | None:
    """Return the columns of each output; None where each has one."""
    if all(output == column for output, column in labels):
        return None
    columns: dict[str, list[int]] = {}
    for position, (output, _) in enumerate(labels):
        columns.setdefault(output, []).append(position)
    return columns


def numbered_outputs(n_columns: int) -> tuple[str, ...]:
    """Return names of outputs that have none."""
    return ("y",) if n_columns == 1 else tuple(f"y{i}" for i in range(n_columns))


def refuse_other_outputs(y: Any, names: Sequence[str], what: str) -> None:
    """Raise ``ValueError`` for columns with other names than those that were fitted."""
    found, expected = names_of_columns(output_labels(y, len(names))), list(names)
    if found not in (None, expected) and expected != list(numbered_outputs(len(names))):
        raise ValueError(
            f"{what} has the outputs {found}; expected {expected}, in this order."
        )


_EXPECTED = (
    "a dict of names to numbers of columns, or to columns (names or positions), such "
    "as {'accuracy': 1, 'logits': 10}, or a sequence of these"
)


def checked_names(
    name: str, given: Sequence[str] | None, prefix: str, size: int
) -> tuple[str, ...]:
    """Return names as a tuple; numbered ones for None."""
    if given is None:
        if prefix == "y" and size == 1:
            return ("y",)
        return tuple([f"{prefix}{i}" for i in range(size)])
    names = () if isinstance(given, str) else tuple(map(str, listed(given, name)))
    if len(names) != size:
        raise ValueError(f"{name} must be {size} names. Got {given!r}.")
    return names


def one_per_output(name: str, given: ArrayLike | None, size: int) -> FloatArray | None:
    """Return one number for each output, or None."""
    if given is None:
        return None
    values = as_floats(given, name)
    if values.shape != (size,):
        raise ValueError(
            f"{name} has shape {values.shape}; expected ({size},), one per output."
        )
    return values


# Of larger coefficients the variance, a sum of squares, is infinite.
_LARGEST_COEFFICIENT = 1e140


def checked_coefficients(
    coefficients: Any, n_terms: int
) -> FloatArray:  # shape: (n_outputs, n_terms)
    """Return finite coefficients, one for each output and term."""
    values = as_floats(coefficients, "coefficients")
    if values.ndim != 2 or values.shape[1] != n_terms:
        raise ValueError(
            f"coefficients has shape {values.shape}; expected (n_outputs, {n_terms}), "
            "one column for each term of the basis."
        )
    if not np.abs(values).max(initial=0.0) <= _LARGEST_COEFFICIENT:  # or NaN
        refuse_not_finite(values, "coefficients")
        raise ValueError(
            f"coefficients has {np.abs(values).max():g}; expected numbers up to "
            f"{_LARGEST_COEFFICIENT:g}, whose squares add up. Rescale y."
        )
    return values


def checked_groups(
    groups: Any, names: Sequence[str] | None, n_outputs: int
) -> IndexArray:
    """Return the group of each output; refuse another number of them."""
    try:
        values = np.asarray(groups)
    except ValueError:  # rows of different length
        values = np.zeros(0)  # refused with the others
    whole = values.dtype.kind in "iu" and values.shape == (n_outputs,)
    n_groups = np.inf if names is None else len(names)
    if not whole or (values < 0).any() or (values >= n_groups).any():
        raise ValueError(
            f"groups must be {n_outputs} ints, the group of each output, from 0 to "
            f"{n_groups - 1}. Got {groups!r}."
        )
    return values.astype(np.int64)


def groups_of_outputs(
    outputs: Any,
    names: Sequence[str],
    name: str = "outputs",  # of the argument
) -> tuple[IndexArray, list[str]]:
    """Return the group of each column, and the names of the groups."""
    if isinstance(outputs, Mapping):
        labels, entries = [str(name) for name in outputs], list(outputs.values())
    elif isinstance(outputs, (list, tuple, np.ndarray)):
        entries = listed(outputs, name, _EXPECTED)
        labels = [f"output{i}" for i in range(len(entries))]
    else:
        raise ValueError(f"{name} must be {_EXPECTED}. Got {outputs!r}.")
    groups = np.full(len(names), -1, dtype=np.int64)
    start = 0
    for group, entry in enumerate(entries):
        columns = _columns_of(entry, start, names, name)
        start += len(columns)
        if not columns or (groups[columns] >= 0).any():
            raise ValueError(
                f"{name}={outputs!r}: {labels[group]!r} must have one or more columns "
                "that no other output has."
            )
        groups[columns] = group
    if (groups < 0).any():
        left = [names[i] for i in np.flatnonzero(groups < 0)[:5]]
        raise ValueError(
            f"{name}={outputs!r} has {start} of {len(names)} columns; expected each "
            f"of them once, also {', '.join(left)}."
        )
    return groups, labels


def _columns_of(entry: Any, start: int, names: Sequence[str], name: str) -> list[int]:
    """Return the positions of the columns of one output; a number takes the next."""
    known = list(names)
    if isinstance(entry, Integral) and not isinstance(entry, bool):
        if not 0 < int(entry) <= len(known) - start:
            raise ValueError(
                f"{name} has an output of {entry} columns after the first {start} of "
                f"{len(known)}; expected at least one, and no more than there are."
            )
        return list(range(start, start + int(entry)))
    if isinstance(entry, str) or not isinstance(entry, (Sequence, range, np.ndarray)):
        raise ValueError(f"{name} must be {_EXPECTED}. Got {entry!r} in it.")
    columns = []
    for column in entry:
        is_position = isinstance(column, Integral) and not isinstance(column, bool)
        if is_position and 0 <= column < len(known):
            columns.append(int(column))
        elif isinstance(column, str) and column in known:
            columns.append(known.index(column))
        else:
            shown = ", ".join(known[:5]) + (", ..." if len(known) > 5 else "")
            raise ValueError(
                f"{name} has the column {column!r}; expected one of {shown} or a "
                f"position from 0 to {len(known) - 1}."
            )
    if len(set(columns)) < len(columns):
        raise ValueError(f"{name} has a column twice: {entry!r}; expected each once.")
    return columns


def sum_by_group(
    values: FloatArray,  # shape: (..., n_outputs)
    groups: IndexArray | None,  # shape: (n_outputs,); None leaves each alone
    n_groups: int,
) -> FloatArray:  # shape: (..., n_groups)
    """Add up what belongs to the outputs of each group."""
    if groups is None:
        return values
    sums = np.zeros((*values.shape[:-1], n_groups))
    for output, group in enumerate(groups):
        sums[..., group] += values[..., output]
    return sums


def q2_of_groups(
    loo_error: FloatArray | None,  # shape: (n_outputs,)
    target_variance: FloatArray | None,  # shape: (n_outputs,)
    groups: IndexArray | None,
    n_groups: int,
) -> FloatArray:  # shape: (n_groups,); NaN where it is not known
    """Return Q² of groups, whose errors and variances are added up."""
    if loo_error is None or target_variance is None:
        return np.full(n_groups, np.nan)
    varies = target_variance > 0
    error = np.where(varies, loo_error, 0.0)
    return q2_from_sums(
        sum_by_group(error, groups, n_groups),
        sum_by_group(target_variance, groups, n_groups),
    )


def group_numbers(
    labels: Sequence[tuple[str, str]],  # output and column, of each column of y
    n_columns: int,
) -> IndexArray:  # shape: (n_columns,)
    """Number the outputs that the columns belong to, in their order."""
    columns = columns_of_outputs(labels)
    if columns is None:
        return np.arange(n_columns)
    numbers = np.empty(n_columns, dtype=np.int64)
    for number, of_output in enumerate(columns.values()):
        numbers[of_output] = number
    return numbers
