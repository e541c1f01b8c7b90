"""Groups of columns that share one index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from .._conditional import checked_features


def column_groups(
    groups: Any, names: Sequence[str], *, overlapping: bool = False
) -> dict[str, list[int]]:
    """Return the positions of each group, the groups in their order.

    Parameters
    ----------
    groups : mapping of str to columns, or None
        Columns by position or by name. Of disjoint groups, columns in none stand
        alone after them. None: every column stands alone.
    names : sequence of str
        Of all columns.
    overlapping : bool, default=False
        Whether groups may share columns, and leave some out.

    Raises
    ------
    ValueError
        If the groups are no mapping, one is empty or unknown, a name comes twice, or
        groups that must not share a column do.

    Examples
    --------
    >>> from skpce.inspection._column_groups import column_groups
    >>> column_groups({"size": ["a", "c"]}, ["a", "b", "c"])
    {'size': [0, 2], 'b': [1]}
    """
    if groups is None:
        return {name: [i] for i, name in enumerate(names)}
    if not isinstance(groups, Mapping) or not groups:
        raise ValueError(
            "groups must be None or a mapping of names to columns, such as "
            f"{{'size': ['a', 'b']}}. Got {groups!r}."
        )
    found = {
        str(name): _positions(name, columns, names) for name, columns in groups.items()
    }
    if overlapping:
        return found
    taken: dict[int, str] = {}
    for name, columns in found.items():
        for i in columns:
            if i in taken:
                raise ValueError(
                    f"groups {taken[i]!r} and {name!r} both hold the column "
                    f"{names[i]!r}; expected groups without a common column."
                )
            taken[i] = name
    alone = {names[i]: [i] for i in range(len(names)) if i not in taken}
    twice = sorted(set(found) & set(alone))
    if twice:
        raise ValueError(
            f"groups has the name {twice[0]!r}, which is a column outside the group."
        )
    return found | alone


def _positions(name: Any, columns: Any, names: Sequence[str]) -> list[int]:
    if isinstance(columns, np.ndarray):
        columns = columns.tolist()
    if isinstance(columns, (str, Integral)):
        columns = [columns]
    try:
        return checked_features(columns, names)
    except ValueError as error:
        raise ValueError(f"The group {name!r} is no set of columns: {error}") from error
