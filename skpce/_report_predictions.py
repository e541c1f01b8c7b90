"""The sections of a report on predictions: coverage, and policies beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._report import HtmlReport
from ._report_content import ReportContent, add_figure, interval_text
from .metrics import coverage_interval
from .plotting import CoverageDisplay, PolicyDistributionDisplay

_LEVELS = (0.5, 0.8, 0.9, 0.95)
# More steps than this have no panel of their own in a report.
_MOST_POLICY_FIGURES = 8


def add_predictions(
    page: HtmlReport, content: ReportContent, random_state: int
) -> None:
    """Add the coverage of the test data, and policies beside the predictive law."""
    _add_coverage(page, content, random_state)
    _add_policies(page, content, random_state)


def _add_coverage(page: HtmlReport, content: ReportContent, random_state: int) -> None:
    page.add_heading("Coverage on the test data")
    kinds = {
        "given the inputs": {"X": content.inputs},
        "ignoring the inputs": {"X": None},
        "push-forward alone": {"X": None, "residual": None},
    }
    curves: dict[str, list[float]] = {}
    rows: list[list[Any]] = []
    try:
        for name, arguments in kinds.items():
            found = list(_coverages(content, arguments, random_state))
            curves[name] = [_mean(marginal.coverage) for _, marginal, _ in found]
            if name == "given the inputs":
                rows = list(_coverage_rows(content, found))
    except ValueError as error:  # no residual law: more terms than members
        page.add_text(f"There are no intervals. {error}")
        return
    page.add_table(
        ["step", "level", "marginal", "95 % error", "joint", "95 % error"],
        rows,
        f"Intervals given the inputs, {len(content.y)} members of the test data",
    )
    page.add_text(
        "Marginal: the share of probabilities inside their interval, which should be "
        "the level. Joint: the share of members with all actions of the step inside; "
        "marginal intervals are not made for it, so it is lower. Errors are Wilson "
        "intervals with one trial a member."
    )
    display = CoverageDisplay(_LEVELS, curves, n_members=len(content.y)).plot()
    add_figure(page, display, "Nominal and empirical marginal coverage, all steps.")


def _coverages(
    content: ReportContent, arguments: dict[str, Any], random_state: int
) -> Iterator[tuple[float, Any, Any]]:
    """Yield level, marginal and joint coverage."""
    surrogate = content.surrogate
    layout = {"steps": surrogate.geometry_.layout.widths, "mask": surrogate.mask_}
    for level in _LEVELS:
        bounds = surrogate.predict_interval(
            confidence_level=level, random_state=random_state, **arguments
        )
        marginal, joint = (
            coverage_interval(content.y, *bounds, kind=kind, **layout)
            for kind in ("marginal", "joint")
        )
        yield level, marginal, joint


def _coverage_rows(
    content: ReportContent, found: Sequence[tuple[float, Any, Any]]
) -> Iterator[list[Any]]:
    for step in np.flatnonzero(content.surrogate.geometry_.has_choice):
        for level, marginal, joint in found:
            row: list[Any] = [content.step_names[step], level]
            for score in (marginal, joint):
                bounds = interval_text(score.lower[step], score.upper[step])
                row += [float(score.coverage[step]), bounds]
            yield row


def _add_policies(page: HtmlReport, content: ReportContent, random_state: int) -> None:
    steps = sorted(content.steps_with_variance()[:_MOST_POLICY_FIGURES])
    if not steps:
        return
    try:
        content.surrogate.sample(1, random_state=random_state)
    except ValueError:
        return
    page.add_heading("Policies: members and surrogate")
    if len(steps) < len(content.steps_with_variance()):
        page.add_text(
            f"The {len(steps)} steps of the largest summed variance are shown."
        )
    for step in steps:
        display = PolicyDistributionDisplay.from_estimator(
            content.pipeline, content.y, step=step, random_state=random_state
        )
        add_figure(
            page,
            display,
            f"{content.step_names[step]}: test data beside the predictive law.",
        )


def _mean(values: NDArray[np.float64]) -> float:
    """Return the mean over the steps with a choice; NaN without any."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")
