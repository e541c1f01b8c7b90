"""Policies that are compared with a fitted surrogate, and the measure of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import rel_entr

from .._checks import (
    FloatArray,
    ItemTable,
    one_table,
    refuse_nan,
    refuse_other_items,
)
from .._expansion.expansion import read_numbers
from .log_ratio import (
    StepLayout,
    close_compositions,
    column_labels,
    label_text,
    refuse_masked,
)


def checked_policies(
    y: Any,
    surrogate: Any,
    n_members: int | None = None,
    name: str = "y",
    *,
    may_fail: bool = False,  # whether members may have NaN in a whole step
) -> FloatArray:  # shape: (n_members, n_parts)
    """Return policies to compare with a fitted surrogate, closed to one."""
    y = one_table(y, name)
    values = read_numbers(y, name)
    if not may_fail or np.isnan(values).all():
        refuse_nan(values, name)
    values = values.reshape(len(values), -1)
    n_rows = len(values) if n_members is None else n_members
    layout, mask = surrogate.geometry_.layout, surrogate.mask_
    amalgamation, widths = surrogate._amalgamation, [layout.n_parts]
    if amalgamation is not None:
        widths = [amalgamation.given.n_parts, layout.n_parts]
    if len(values) != n_rows or values.shape[1] not in widths:
        expected = " or ".join(str((n_rows, width)) for width in widths)
        raise ValueError(
            f"{name} has shape {np.shape(y)}; expected {expected}: "
            "the members of X, one or more, and the parts seen in fit."
        )
    is_given = amalgamation is not None and values.shape[1] == widths[0]
    seen = surrogate._labels_of_y
    if is_given:
        given = amalgamation.given
        _refuse_other_columns(y, given, seen, name)
        refuse_masked(values, amalgamation.possible, given, name)
        closed = close_compositions(values, given, name)
        values = amalgamation.of(closed)
    else:
        _refuse_other_columns(y, layout, seen if amalgamation is None else (), name)
    refuse_masked(values, mask, layout, name)
    return close_compositions(values, layout, name)


def _refuse_other_columns(
    y: Any, layout: StepLayout, seen: Sequence[tuple[str, str]], name: str
) -> None:
    """Refuse columns labelled neither as in ``fit`` nor as by ``predict_frame``."""
    refuse_other_items(y, layout.widths, "the fit", name)
    if isinstance(y, ItemTable):
        return  # its items have no names
    given = column_labels(y, layout.n_parts)
    if not seen or not given:
        return  # one of the two has no names to compare
    steps = [layout.step_names[step] for step in layout.step_of_part]
    if given in (list(seen), list(zip(steps, layout.part_names, strict=True))):
        return
    pairs = enumerate(zip(given, seen, strict=True))
    position = next(at for at, (found, wanted) in pairs if found != wanted)
    raise ValueError(
        f"Column {position} of {name} is {label_text(given[position])!r}; expected "
        f"{label_text(seen[position])!r}: the columns seen in fit, in the same order."
    )


def d2_kl_deviance(
    y_true: FloatArray,  # shape: (n_members, n_parts), steps closed to one
    y_pred: FloatArray,  # shape: (n_members, n_parts)
    weights: FloatArray,  # shape: (n_members,)
) -> float:
    """Return ``1 - KL(y || prediction) / KL(y || mean of y)``.

    Where all members are alike: 1 for a perfect prediction and 0 otherwise. What is NaN
    in y is left out of both.
    """
    has = ~np.isnan(y_true)
    if has.all():
        mean = np.average(y_true, axis=0, weights=weights)
    else:  # members count in the steps that they have; 0 has no divergence
        y_true = np.where(has, y_true, 0.0)
        count = weights @ has
        mean = weights @ y_true / np.where(count > 0, count, 1.0)
    # In nats, over all steps; a prediction of 0 counts as the smallest positive float.
    floor = np.where(y_true > 0, np.finfo(np.float64).tiny, 0.0)
    baseline, deviance = (
        float(weights @ rel_entr(y_true, np.maximum(one, floor)).sum(axis=1))
        for one in (mean, y_pred)
    )
    baseline, deviance = baseline / weights.sum(), deviance / weights.sum()
    rounding = 10 * np.finfo(np.float64).eps * y_true.shape[1]
    if baseline > rounding:
        return 1.0 - deviance / baseline
    return 1.0 if deviance <= rounding else 0.0
