"""Compositions: from any non-negative table to points on simplices."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import rel_entr

from .._checks import BoolArray, FloatArray
from .steps import StepLayout, column_labels, label_text, refuse_nan, refuse_ragged

CLOSURES = ("renormalize", "strict")

# Rows further than this from one are renormalised with a warning.
_WARNING_TOLERANCE = 1e-3
# Rows further than this from one are refused by closure="strict".
_STRICT_TOLERANCE = 1e-6


class ClosureWarning(UserWarning):
    """Rows of a step were not closed to one and had to be renormalised visibly."""


def close_compositions(
    values: FloatArray,  # shape: (n_members, n_parts)
    layout: StepLayout,
    closure: str,
    name: str = "y",
    *,
    zero_rows_to: BoolArray | None = None,  # shape: (n_parts,)
) -> FloatArray:  # shape: (n_members, n_parts)
    """Return the table with every step of every row summing to one.

    A row of zeros is refused; with ``zero_rows_to`` it becomes uniform over the
    possible parts instead. ``closure="strict"`` refuses a row further than 1e-6 from
    one, ``"renormalize"`` warns of one further than 1e-3.
    """
    refuse_negative(values, layout, name)
    closed = np.empty_like(values)
    for step, columns in enumerate(layout.slices):
        total = values[:, columns].sum(axis=1)
        where = f"step {layout.step_names[step]!r} of {name}"
        block = values[:, columns]
        if layout.widths[step] == 1:  # the only part: 1, whatever its value
            block = np.ones_like(block)
        elif zero_rows_to is not None and closure == "renormalize":
            block = np.where(total[:, np.newaxis] == 0, zero_rows_to[columns], block)
        elif np.any(total == 0):
            raise ValueError(
                f"Row {int(np.argmin(total))} of {where} is all zero; each row must "
                "be a composition with a positive sum."
            )
        worst = int(np.argmax(np.abs(total - 1.0)))
        advice = _advice_on_steps(total, layout) if layout.n_steps == 1 else ""
        _judge_closure(total[worst], worst, where, closure, advice)
        closed[:, columns] = block / block.sum(axis=1, keepdims=True)
    return closed


def refuse_negative(values: FloatArray, layout: StepLayout, name: str) -> None:
    """Raise ``ValueError`` for a negative entry, naming it."""
    if values.size and values.min() < 0:
        row, column = np.unravel_index(int(np.argmin(values)), values.shape)
        lowest = float(values[row, column])
        raise ValueError(
            f"Negative values in data: {name} has {lowest!r} in row "
            f"{row}, {layout.describe_column(int(column))}; probabilities must be "
            f"non-negative.{_advice_on_logits(values, layout)}"
        )


def _advice_on_logits(values: FloatArray, layout: StepLayout) -> str:
    """Return how to make probabilities where the rows do not sum to one."""
    sums = np.stack([values[:, columns].sum(axis=1) for columns in layout.slices])
    if np.abs(sums - 1.0).max() <= _WARNING_TOLERANCE:
        return ""
    return (
        " If these are logits, take the softmax of each step; if log-ratio "
        "coordinates, LogRatioTransformer.inverse_transform gives probabilities."
    )


def _judge_closure(
    total: float, row: int, where: str, closure: str, advice: str
) -> None:
    """Refuse or warn of the row that is furthest from one."""
    distance = abs(total - 1.0)
    if closure == "strict" and distance > _STRICT_TOLERANCE:
        raise ValueError(
            f"Row {row} of {where} sums to {total:.9g}, not to 1 (closure='strict' "
            f"allows {_STRICT_TOLERANCE:g}). closure='renormalize' divides each row "
            f"by its sum.{advice}"
        )
    if distance > _WARNING_TOLERANCE:
        warnings.warn(
            f"Row {row} of {where} sums to {total:.6g}, not to 1; rows were divided "
            f"by their sum.{advice}",
            ClosureWarning,
            stacklevel=4,
        )


def _advice_on_steps(totals: FloatArray, layout: StepLayout) -> str:
    """Recommend ``steps=`` where every row sums to one and the same larger integer."""
    n_steps = float(np.rint(totals[0]))
    several = 2 <= n_steps < layout.n_parts  # sums of 100 are percentages
    if not several or np.abs(totals - n_steps).max() > _WARNING_TOLERANCE:
        return ""
    return f" {n_steps:g} steps side by side? Give steps=, the width of each."


def resolve_mask(
    mask: Any,
    values: FloatArray,  # shape: (n_members, n_parts)
    layout: StepLayout,
    owner: str,
) -> BoolArray:  # shape: (n_parts,)
    """Return which parts are possible: given, or inferred from columns of zeros."""
    if isinstance(mask, str) and mask == "infer":
        refuse_negative(values, layout, "y")
        flags = np.asarray(np.any(values > 0, axis=0))
    else:
        flags = _checked_flags(mask, layout, owner)
    for step, columns in enumerate(layout.slices):
        if not flags[columns].any():
            raise ValueError(
                f"No part of step {layout.step_names[step]!r} is possible: the mask "
                "is False for each, or every row is all zero."
            )
    return flags


def _checked_flags(mask: Any, layout: StepLayout, owner: str) -> BoolArray:
    flags = np.asarray(mask)
    if flags.dtype != bool or flags.ndim not in (1, 2):
        raise ValueError(
            f"The 'mask' parameter of {owner} must be 'infer' or {layout.n_parts} "
            f"bools, True where a part is possible. Got {mask!r} instead."
        )
    if flags.ndim == 2:
        if np.any(flags != flags[:1]):
            raise ValueError(
                f"The 'mask' parameter of {owner} differs between members. Members "
                "with other possible parts are on other simplices; fit them separately."
            )
        flags = flags[0]
    if flags.shape != (layout.n_parts,):
        raise ValueError(
            f"The 'mask' parameter of {owner} has {flags.size} entries but y has "
            f"{layout.n_parts} columns."
        )
    return flags


def refuse_masked(
    values: FloatArray,  # shape: (n_members, n_parts)
    mask: BoolArray,  # shape: (n_parts,)
    layout: StepLayout,
    name: str = "y",
) -> None:
    """Raise ``ValueError`` when a masked part has a positive value."""
    offending = (values > 0) & ~mask
    if offending.any():
        row, column = np.unravel_index(int(np.argmax(offending)), values.shape)
        raise ValueError(
            f"{name} has {float(values[row, column])!r} in row {row}, "
            f"{layout.describe_column(int(column))}, which is masked (always 0)."
        )


def replace_zeros(
    closed: FloatArray,  # shape: (n_members, n_parts), each step sums to one
    mask: BoolArray,  # shape: (n_parts,)
    layout: StepLayout,
    zero_replacement: float,
) -> FloatArray:  # shape: (n_members, n_parts)
    """Replace the zeros of possible parts; the other parts shrink in proportion.

    Multiplicative replacement [1]_ preserves the ratios between positive parts.

    References
    ----------
    .. [1] J. A. Martín-Fernández, C. Barceló-Vidal and V. Pawlowsky-Glahn,
       "Dealing with zeros and missing values in compositional data sets",
       Mathematical Geology 35 (2003), eq. (4).
    """
    zero = (closed == 0) & mask
    if not zero.any():
        return closed
    replaced = np.where(zero, zero_replacement, closed)
    for columns in layout.slices:
        added = zero_replacement * zero[:, columns].sum(axis=1, keepdims=True)
        replaced[:, columns] = np.where(
            zero[:, columns], zero_replacement, closed[:, columns] * (1.0 - added)
        )
    return replaced


def checked_policies(
    y: Any, surrogate: Any, n_members: int | None = None, name: str = "y"
) -> FloatArray:  # shape: (n_members, n_parts)
    """Return policies to compare with a fitted surrogate, closed to one."""
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
    """Refuse columns labelled neither as in ``fit`` nor as by ``predict_frame``."""
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
        f"{label_text(seen[position])!r}: the columns seen in fit, in the same order."
    )


def mean_kl_divergence(
    y_true: FloatArray,  # shape: (n_members, n_parts), steps closed to one
    y_pred: FloatArray,  # shape: (n_members, n_parts)
    weights: FloatArray,  # shape: (n_members,)
) -> float:
    """Return the weighted mean over members of ``KL(true || predicted)``, in nats.

    It is summed over the steps; a prediction of 0 counts as the smallest positive
    float.
    """
    floor = np.where(y_true > 0, np.finfo(np.float64).tiny, 0.0)
    divergence = rel_entr(y_true, np.maximum(y_pred, floor)).sum(axis=1)
    return float(np.average(divergence, weights=weights))


def d2_kl_deviance(
    y_true: FloatArray,  # shape: (n_members, n_parts), steps closed to one
    y_pred: FloatArray,  # shape: (n_members, n_parts)
    weights: FloatArray,  # shape: (n_members,)
) -> float:
    """Return ``1 - KL(y || prediction) / KL(y || mean of y)``.

    Where all members are alike: 1 for a perfect prediction and 0 otherwise.
    """
    mean = np.average(y_true, axis=0, weights=weights)
    baseline = mean_kl_divergence(y_true, np.broadcast_to(mean, y_true.shape), weights)
    deviance = mean_kl_divergence(y_true, y_pred, weights)
    rounding = 10 * np.finfo(np.float64).eps * y_true.shape[1]
    if baseline > rounding:
        return 1.0 - deviance / baseline
    return 1.0 if deviance <= rounding else 0.0
