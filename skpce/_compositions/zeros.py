"""Zeros that some members have and others do not: what they do to the variance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._checks import FloatArray
from .._checks.cross_validation import warn_outside_folds
from .log_ratio import LogRatioGeometry
from .steps import StepLayout, replace_zeros

# In place of a zero where nothing else is given.
_DEFAULT_REPLACEMENT = 1e-12


class ZeroReplacedWarning(UserWarning):
    """Zeros of some members were replaced by a small probability."""


def warn_of_zeros(
    values: FloatArray,  # shape: (n_members, n_parts)
    geometry: LogRatioGeometry,
    zero_replacement: float,
) -> None:
    """Warn of zeros that other members do not have, and of their share of variance."""
    if zero_replacement != _DEFAULT_REPLACEMENT:
        return  # somebody has thought about it
    zero = (values == 0) & geometry.mask
    zero[:, np.setdiff1d(np.arange(zero.shape[1]), geometry.active_parts)] = False
    if not zero.any():
        return
    layout = geometry.layout
    columns = layout.slices[int(layout.step_of_part[zero.sum(axis=0).argmax()])]
    part = replace(
        geometry,
        layout=StepLayout((columns.stop - columns.start,), ("",), ("",) * 0),
        mask=geometry.mask[columns],
    )
    positive = replace_zeros(
        values[:, columns], part.mask, part.layout, zero_replacement
    )
    clr = part.clr(positive)
    others = clr[~zero[:, columns].any(axis=1)]
    members, count = int(zero.any(axis=1).sum()), int(zero.sum())
    zeros = "1 zero" if count == 1 else f"{count} zeros"
    known = f"{clr.var(axis=0).sum():.3g} with such members"
    if len(others) > 1:
        known += f" and {others.var(axis=0).sum():.3g} without them"
    warn_outside_folds(
        f"y has {zeros}, in {members} of {len(values)} members, which "
        f"{zero_replacement:g} replaces: the variance of the log-ratios of step "
        f"{layout.step_names[layout.step_of_part[columns.start]]!r} is {known}. Give "
        "zero_replacement=, about half of the smallest probability that could be "
        "seen, or leave these members out.",
        ZeroReplacedWarning,
        stacklevel=3,
    )
