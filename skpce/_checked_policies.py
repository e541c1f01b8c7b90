"""Policies that a fitted surrogate can be compared with."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._checks import FloatArray
from ._composition import close_compositions, refuse_masked
from ._steps import column_labels, label_text, refuse_nan, refuse_ragged


def checked_policies(
    y: Any, surrogate: Any, n_members: int | None = None, name: str = "y"
) -> FloatArray:  # shape: (n_members, n_parts)
    """Return policies that a fitted surrogate can be compared with, closed to one.

    Raises
    ------
    ValueError
        If they have another shape or other columns than in ``fit``, are not finite,
        are no compositions, or are positive on a masked part.
    """
    refuse_ragged(y, name)
    refuse_nan(y, name)
    values = np.asarray(y, dtype=np.float64)
    if values.ndim == 1:
        values = values[:, np.newaxis]
    layout = surrogate.geometry_.layout
    n_rows = len(values) if n_members is None else n_members
    if values.shape != (n_rows, layout.n_parts):
        raise ValueError(
            f"{name} has shape {values.shape}; expected {(n_rows, layout.n_parts)}: "
            "the members of X and the parts seen in fit."
        )
    if np.isinf(values).any():
        raise ValueError(f"{name} has infinite entries; expected probabilities.")
    _refuse_other_columns(y, surrogate, name)
    refuse_masked(values, surrogate.mask_, layout, name)
    return close_compositions(values, layout, surrogate.closure, name)


def _refuse_other_columns(y: Any, surrogate: Any, name: str) -> None:
    """Raise ``ValueError`` for a data frame whose columns are not those of ``fit``.

    They may be labelled as in ``fit`` or as by ``predict_frame``.
    """
    layout = surrogate.geometry_.layout
    seen, given = surrogate._labels_of_y, column_labels(y, layout.n_parts)
    if not seen or not given:
        return  # one of the two has no names to compare
    steps = [layout.step_names[step] for step in layout.step_of_part]
    if given in (seen, list(zip(steps, layout.part_names, strict=True))):
        return
    pairs = enumerate(zip(given, seen, strict=True))
    position = next(at for at, (found, wanted) in pairs if found != wanted)
    raise ValueError(
        f"Column {position} of {name} is {label_text(given[position])!r}; expected "
        f"{label_text(seen[position])!r}: the columns that fit has seen, in the same "
        "order."
    )
