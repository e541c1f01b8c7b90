"""Columns of tables, for the report and those of experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._checks import FloatArray, IndexArray
from .._result import error_in_percent
from ..metrics import CoverageInterval, PolicyFragility
from ..plotting import SobolDisplay
from .page import Column

LEVELS = (0.5, 0.8, 0.9, 0.95)  # of intervals

_MEASURES = {
    "variance, summed": "aitchison_variance",
    "per degree of freedom": "variance_per_freedom",
    "total variation (TV) to the mean": "total_variation",
    "of largest TV to the mean": "normalized_total_variation",
    "TV of pairs": "pairwise_total_variation",
    "of largest TV of pairs": "normalized_pairwise_total_variation",
    "Jensen–Shannon (JS) to the mean": "jensen_shannon",
    "of largest JS": "normalized_jensen_shannon",
    "mutual information (MI)": "mutual_information",
    "of largest MI": "normalized_mutual_information",
    "alr sum": "alr_sum",
}


def fragility_columns(found: PolicyFragility) -> list[Column]:
    """Return measures of disagreement; what is 0 but for rounding is 0."""
    columns: list[Column] = [("decision", found.step_names)]
    for heading, name in _MEASURES.items():
        columns.append((heading, without_rounding(getattr(found, name))))
    return [*columns, ("alr reference", found.alr_reference)]


def share_columns(display: SobolDisplay, noun: str = "decision") -> list[Column]:
    """Return shares of the variance; NaN for a step without variance."""
    shares = display.shares
    columns: list[Any] = list(_without_empty(display, shares).T)
    if display.share_bounds is not None:
        cells = _with_intervals(display, shares, display.share_bounds[0])
        columns = [*cells, *columns[len(cells) :]]
    return list(
        zip([noun, *display.column_names], [display.step_names, *columns], strict=True)
    )


def total_columns(display: SobolDisplay, noun: str, inputs: IndexArray) -> list[Column]:
    """Return total indices of some inputs, shares of the variance of the expansion."""
    total = display.total_order
    assert total is not None  # of a fit
    assert not display.of_variance
    cells: list[Any] = list(_without_empty(display, total).T)
    if display.interval is not None:
        cells = _with_intervals(display, total, display.interval.total_order)
    names = [display.input_names[i] for i in inputs]
    chosen = [cells[i] for i in inputs]
    return list(zip([noun, *names], [display.step_names, *chosen], strict=True))


def _without_empty(display: SobolDisplay, values: FloatArray) -> FloatArray:
    """Return numbers that are NaN for a step without variance."""
    empty = np.isnan(display.unexplained)[:, np.newaxis]
    return np.asarray(np.where(empty, np.nan, without_rounding(values)))


def _with_intervals(
    display: SobolDisplay,
    values: FloatArray,  # shape: (n_steps, n_features or more)
    bounds: FloatArray,  # shape: (2, n_steps, n_features)
) -> list[list[str]]:
    """Return a column of cells for each input: the number and its interval."""
    values = without_rounding(values[:, : bounds.shape[2]])
    empty = np.isnan(display.unexplained)

    def cell(step: int, i: int) -> str:
        ends = interval_in_words(*bounds[:, step, i])
        return "–" if empty[step] else f"{values[step, i]:z.2f} {ends}"

    return [
        [cell(step, i) for step in range(len(values))] for i in range(values.shape[1])
    ]


def coverage_columns(
    names: Sequence[str],
    scores: Mapping[str, Sequence[CoverageInterval]],  # by kind, one a level
    listed: IndexArray,  # positions of the names
    noun: str = "decision",
) -> list[Column]:
    """Return coverage with its error, level by level, of listed steps with a choice."""
    first = next(iter(scores.values()))[0]
    steps = listed[~np.isnan(first.coverage[listed])]
    columns: list[Column] = [
        (noun, [names[int(step)] for step in steps for _ in LEVELS]),
        ("level", [*LEVELS] * len(steps)),
    ]
    for kind, found in scores.items():
        coverage, low, high = (
            np.array([getattr(score, name)[steps] for score in found]).T.ravel()
            for name in ("coverage", "lower", "upper")
        )
        error = [interval_in_words(*ends) for ends in zip(low, high, strict=True)]
        columns += [(kind, coverage), ("95 % error", error)]
    return columns


def without_rounding(values: FloatArray) -> FloatArray:
    """Return numbers; what is 0 but for rounding is 0."""
    return np.where(np.abs(values) < 1e-12, 0.0, values)


def percent_with_error(value: float, error: float) -> str:
    """Return a share and its standard error in percent; "<1%" if both round to zero."""
    if 0.0 < abs(value) < 0.005 and error < 0.005:
        return "<1%"
    return f"{value:z.0%} ± {error_in_percent(error)}"


def interval_in_words(low: float, high: float) -> str:
    """Return the ends of an interval on one line; a dash where there is none."""
    return "–" if np.isnan(low) else f"[{low:z.2f},\u00a0{high:z.2f}]"
