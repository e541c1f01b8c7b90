"""Sections of a report on real outputs: their spread, coverage and effects."""

from __future__ import annotations

from typing import Any

from ..inspection._reading import group_matrix
from ..metrics._output_coverage import output_coverage
from ..plotting import CoverageDisplay, MainEffectsDisplay
from .columns import LEVELS, coverage_columns
from .content import ReportContent
from .page import Column, HtmlReport

_SPREAD = {
    "members": "members",
    "columns": "columns",
    "variance": "variance",
    "variance per column": "variance_per_column",
    "standard deviation": "standard_deviation",
    "smallest": "minimum",
    "largest": "maximum",
}


def add_spread(page: HtmlReport, content: ReportContent) -> None:
    found = content.fragility
    page.add_heading("How much the members disagree")
    columns: list[Column] = [("output", content.step_names)]
    columns += [(heading, found.columns[name]) for heading, name in _SPREAD.items()]
    page.add_columns(
        content.rows(columns),
        f"Spread of the {len(content.y)} members of the test data",
    )
    text = (
        "Variances are in squared units of each output, those of its columns added up; "
        "outputs in different units cannot be compared by them. The standard deviation "
        "is the root of the variance per column."
    )
    if (found.members < len(content.y)).any():
        text += " A member that failed in one output (NaN) counts in the others."
    page.add_text(text)
    page.add_figure(
        content.spread_display(),
        "Disagreement per output. Variance bars are cut into what is predicted from "
        "the inputs and what is not.",
    )


def add_coverage(page: HtmlReport, content: ReportContent) -> None:
    page.add_heading("Coverage on the test data")
    seed: Any = {"random_state": content.random_state}
    groups = group_matrix(content.expansion).argmax(axis=0)
    try:
        bounds = [
            content.surrogate.predict_interval(
                content.inputs, confidence_level=level, **seed
            )
            for level in LEVELS
        ]
        display = CoverageDisplay.from_estimator(
            content.pipeline,
            content.reading.X,
            content.y,
            levels=LEVELS,
            outputs=content.outputs,
            **seed,
        )
    except ValueError as error:  # no residual law: more terms than members
        page.add_text(f"There are no intervals. {error}")
        return
    kinds = ("marginal", "joint") if len(groups) > len(content.step_names) else ()
    scores = {
        kind: [
            output_coverage(content.y, lower, upper, groups, kind)
            for lower, upper in bounds
        ]
        for kind in kinds or ("marginal",)
    }
    page.add_columns(
        coverage_columns(content.step_names, scores, content.listed, "output"),
        f"Intervals given the inputs, {len(content.y)} members of the test data",
    )
    text = "Marginal: the share of values inside their interval, which should be the "
    text += "level. "
    if kinds:
        text += (
            "Joint: the share of members with all columns of the output inside; "
            "marginal intervals are not made for it, so it is lower. "
        )
    page.add_text(f"{text}Errors are Wilson intervals with one trial a member.")
    page.add_figure(display, "Nominal and empirical marginal coverage, all outputs.")


def add_effects(page: HtmlReport, content: ReportContent) -> None:
    if not (content.expansion.total_variance > 0).any():
        return
    page.add_heading("What each input does")
    display = MainEffectsDisplay.from_estimator(
        content.pipeline,
        content.reading.X,
        features=content.leading.tolist(),
        random_state=content.random_state,
        **content.known,
    )
    page.add_figure(
        display,
        "Mean of the prediction at each value of an input, the others averaged out, "
        "less the mean of all; at most the six columns that change most.",
    )
