"""Names of columns that somebody gave: known ones, each once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._checks import BoolArray

MOST_SHOWN = 12  # names of columns in a message


def names_of(table: Any) -> list[Any]:
    if isinstance(table, Mapping):
        return list(table)
    return list(getattr(table, "columns", ()))


def last_names(names: Iterable[Any]) -> list[str]:
    """Return the names of columns; of those with two levels the second."""
    return [str(name[-1] if isinstance(name, tuple) else name) for name in names]


def as_names(given: Any, what: str) -> list[Any]:
    """Return names; one alone is a list of one."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        return [given]
    names = list(given)
    if not names:
        raise ValueError(f"{what} is empty; expected at least one name.")
    return names


def known_names(
    given: Any, known: Sequence[Any], what: str, noun: str, shown: Any = None
) -> list[str]:
    """Return names that were asked for, all of which are known."""
    names = [str(name) for name in as_names(given, what)]
    texts = set(map(str, known))
    for name in names:
        if name not in texts:
            ends = [k for k in texts if re.split("[./]", k)[-1] == name]
            meant = f" (perhaps {min(ends)!r})" if ends else ""
            raise ValueError(
                f"{what} has {name!r}, which is no {noun}{meant}; there are "
                f"{quoted(known if shown is None else shown)}."
            )
    refuse_twice(names, what)
    return names


def refuse_twice(names: Sequence[Any], what: str) -> None:
    shown = [str(name) for name in names]
    twice = next((name for name in shown if shown.count(name) > 1), None)
    if twice is not None:
        raise ValueError(
            f"{what} has {shown.count(twice)} columns {twice!r}; expected names that "
            "differ."
        )


def quoted(names: Sequence[Any]) -> str:
    shown = ", ".join(map(repr, names[:MOST_SHOWN]))
    return shown + (f", ... ({len(names)} in all)" if len(names) > MOST_SHOWN else "")


def take_columns_of(table: Any, places: Sequence[int]) -> Any:
    """Return some columns of a data frame."""
    if hasattr(table, "iloc"):
        return table.iloc[:, list(places)]
    return table[:, list(places)]


def take_rows_of(table: Any, used: BoolArray) -> Any:
    """Return some rows of a data frame."""
    return table[used] if hasattr(table, "iloc") else table.filter(used)


def is_categorical(law: Any) -> bool:
    return isinstance(law, str) and law == "categorical"


def stated_laws(laws: Iterable[Any]) -> tuple[Any, ...] | None:
    """Return distributions; None where none but those of categories was stated."""
    found = tuple("auto" if _is_named(law, "empirical") else law for law in laws)
    chosen = [_is_named(law, "auto") or is_categorical(law) for law in found]
    return None if all(chosen) else found


def _is_named(law: Any, name: str) -> bool:
    return isinstance(law, str) and law == name
