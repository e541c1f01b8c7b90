"""What the runs are to each other: the roles that somebody gave them, as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import (
    FEWEST_MEMBERS,
    BoolArray,
    FloatArray,
    IndexArray,
    is_missing,
    numbers_of_text,
)
from ._answer import Caution
from ._data import Data
from ._names import quoted


@dataclass(frozen=True, eq=False)
class Asked:
    """What explain was told of its data."""

    inputs: Any = None
    outputs: Any = None
    steps: Any = None
    log: tuple[Any, ...] = ()
    replicate: Any = None
    blocks: Any = None
    groups: Any = None
    order: Any = None

    @property
    def roles(self) -> dict[str, Any]:
        """Labels of the runs, or the names of their columns."""
        given = {"blocks": self.blocks, "groups": self.groups, "order": self.order}
        return {
            name: v for name, v in given.items() if v is not None and v is not False
        }

    def columns_with_roles(self, known: Sequence[Any]) -> list[Any]:
        """Return the columns that are named for a role; refuse those that are none."""
        found = replicate_columns(self.replicate, known)
        for role, name in self.roles.items():
            if isinstance(name, str):
                if name not in known:
                    raise ValueError(
                        f"{role}={name!r} is no column of data; it has {quoted(known)}."
                    )
                found.append(name)
        return found

    def labels(self, columns: Mapping[Any, Any] | Any) -> dict[str, Any]:
        """Return the labels of the runs, those of columns too."""
        return {
            role: np.asarray(columns[v]) if isinstance(v, str) else v
            for role, v in self.roles.items()
        }


@dataclass(frozen=True, eq=False)
class Table:
    """Runs as they stand in their source."""

    data: Data
    labels: Mapping[str, Any]  # of all rows of the source
    used: BoolArray  # shape: (n_rows,), rows of the source that are runs
    setting: Any = None  # True: equal inputs; or labels, of all rows
    notes: tuple[str, ...] = ()
    cautions: tuple[Caution, ...] = ()
    is_shuffled: bool = False  # whether the order of the rows is known to mean nothing


SAY_REPLICATE = (
    "the inputs are the same in all runs of each group, as in repeats of a setting: "
    "for these give replicate= in place of groups="
)


def share_inputs(X: FloatArray, groups: IndexArray) -> bool:
    """Return whether inputs are equal within groups of several runs."""
    first = np.unique(groups, return_index=True)[1]
    is_same = bool((X[first[groups]] == X).all())
    return is_same and len(first) < len(groups)


def replicate_columns(given: Any, known: Sequence[Any]) -> list[Any]:
    """Return the columns that count repeats; none where labels are given."""
    if given is None:
        return []
    if isinstance(given, str):
        if given not in known:
            raise ValueError(
                f"replicate={given!r} is no column of data; it has {quoted(known)}."
            )
        return [given]
    names = np.ravel(np.array(given, dtype=object)).tolist()
    if not all(isinstance(name, str) for name in names):
        return []
    unknown = [name for name in names if name not in known]
    if not unknown:
        return names
    if known and (len(unknown) < len(names) or len(names) < FEWEST_MEMBERS):
        raise ValueError(
            f"replicate has {unknown[0]!r}, which is no column of data; it has "
            f"{quoted(known)}."
        )
    return []


def setting_of(table: Table) -> IndexArray | None:
    """Return the setting of each run, where repeats were declared."""
    X, names = table.data.X, table.data.names
    if table.setting is None:
        return None
    if table.setting is not True:
        found = numbered("replicate", table.setting, table.used)
        _refuse_other_inputs(X, found)
        return found
    rows, setting = np.unique(X, axis=0, return_inverse=True)
    if len(rows) < len(X):
        return np.asarray(setting.reshape(-1))
    other = [repr(name) for k, name in enumerate(names) if _hides_repeats(X, k)]
    remedy = "leave replicate= out"
    if other:
        remedy = (
            f"without {other[0]} all settings repeat: leave it out by inputs=, or name "
            "it in outputs= or replicate="
        )
    raise ValueError(
        f"No two of {len(X)} runs have equal inputs, so that there are no repeats. "
        f"Expected some; {remedy}."
    )


def _hides_repeats(X: FloatArray, column: int) -> bool:
    """Return whether every setting of the other inputs is repeated."""
    if X.shape[1] < 2:
        return False
    rest = np.delete(X, column, axis=1)
    counts = np.unique(rest, axis=0, return_counts=True)[1]
    return bool(counts.min() > 1 and len(counts) > 1)


def _refuse_other_inputs(X: FloatArray, setting: IndexArray) -> None:
    """Refuse runs of one setting whose inputs differ."""
    first = np.unique(setting, return_index=True)[1]
    reference = X[first[setting]]
    differs = (np.abs(X - reference) > 1e-9 * np.abs(X).max(axis=0)).any(axis=1)
    if differs.any():
        row = int(np.argmax(differs))
        raise ValueError(
            f"Runs {int(first[setting[row]])} and {row} have one label in replicate= "
            "and other inputs; expected the same: repeats share their inputs. For runs "
            "that belong together but differ, give groups=."
        )


def numbered(role: str, given: Any, used: BoolArray) -> IndexArray:
    """Return labels of runs as numbers."""
    values = np.asarray(given)
    if values.shape != used.shape:
        raise ValueError(
            f"{role} has the shape {values.shape}; expected ({len(used)},), one label "
            "for each run."
        )
    entries = values[used].tolist()
    if any(map(is_missing, entries)):
        raise ValueError(
            f"{role} is missing in {sum(map(is_missing, entries))} of {len(entries)} "
            "runs; expected a label for each."
        )
    labels = values[used].astype(str) if values.dtype.kind == "O" else values[used]
    return np.unique(labels, return_inverse=True)[1].reshape(-1)


def positions(given: Any, used: BoolArray) -> FloatArray:
    """Return the place of each run in a series."""
    values = np.asarray(given)
    expected = (
        "expected a number or a date for each run, or False where the order of the "
        "rows means nothing"
    )
    if values.shape != used.shape:
        raise ValueError(
            f"order has the shape {values.shape}, and there are {len(used)} runs; "
            f"{expected}."
        )
    values = values[used]
    numbers = numbers_of_text(values)
    values = values if numbers is None else numbers
    if any(map(is_missing, values.tolist())):
        raise ValueError(f"order is missing in some runs; {expected}.")
    texts = values.dtype.kind in "OU"
    if texts:
        values = values.astype(str)
        try:  # dates as text sort as they are only if they all read as dates
            values = values.astype("datetime64[us]")
        except ValueError:
            raise ValueError(
                f"order has the entry {str(values[0])!r}; {expected}."
            ) from None
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.float64)
