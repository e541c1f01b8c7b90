"""Sections of a report on compositions: fragility, coverage and policies."""

from __future__ import annotations

from ..metrics import coverage_interval
from ..plotting import CoverageDisplay, PolicyDistributionDisplay
from .columns import LEVELS, coverage_columns, fragility_columns
from .content import ReportContent
from .page import HtmlReport

# More steps than this have no panel of their own in a report.
_MOST_POLICY_FIGURES = 8

# Draws behind such a panel: fewer where a draw has very many parts (32 MiB in all).
_MOST_DRAWS, _FEWEST_DRAWS, _MOST_VALUES = 2000, 200, 4_194_304


def add_fragility(page: HtmlReport, content: ReportContent) -> None:
    found = content.fragility
    page.add_heading("How much the members disagree")
    page.add_columns(
        content.rows(fragility_columns(found)),
        f"Fragility of the {len(content.y)} members of the test data",
    )
    page.add_text(
        "The measures can rank the decisions differently. Summed variances grow with "
        "the number of actions and weigh rare actions like frequent ones; the alr sum "
        "depends on its reference action too. Total variation (TV) and Jensen-Shannon "
        "divergence (JS, in nats) are distances of probabilities, to the mean policy "
        "or between two members. Mutual information is that of member and action, in "
        "nats. “Of largest” divides by the largest value that so many actions allow."
    )
    page.add_figure(
        content.spread_display(),
        "Disagreement per decision. Variance bars are cut into what is predicted from "
        "the inputs and what is not.",
    )


def add_coverage(page: HtmlReport, content: ReportContent) -> None:
    page.add_heading("Coverage on the test data")
    surrogate = content.surrogate
    layout = {"steps": surrogate.geometry_.layout.widths, "mask": surrogate.mask_}
    seed = {"random_state": content.random_state}
    try:
        bounds = [
            surrogate.predict_interval(content.inputs, confidence_level=level, **seed)
            for level in LEVELS
        ]
        display = CoverageDisplay.from_estimator(
            surrogate, content.inputs, content.y, levels=LEVELS, **seed
        )
    except ValueError as error:  # no residual law: more terms than members
        page.add_text(f"There are no intervals. {error}")
        return
    scores = {
        kind: [coverage_interval(content.y, *b, kind=kind, **layout) for b in bounds]
        for kind in ("marginal", "joint")
    }
    page.add_columns(
        coverage_columns(content.step_names, scores, content.listed),
        f"Intervals given the inputs, {len(content.y)} members of the test data",
    )
    page.add_text(
        "Marginal: the share of probabilities inside their interval, which should be "
        "the level. Joint: the share of members with all actions of the decision "
        "inside; marginal intervals are not made for it, so it is lower. Errors are "
        "Wilson intervals with one trial a member."
    )
    page.add_figure(display, "Nominal and empirical marginal coverage, all decisions.")


def add_policies(page: HtmlReport, content: ReportContent) -> None:
    ranked, seed = content.ranked_steps(), content.random_state
    steps = sorted(ranked[:_MOST_POLICY_FIGURES])
    if not steps:
        return
    try:
        content.surrogate.sample(1, random_state=seed)
    except ValueError:
        return
    page.add_heading("Policies: members and surrogate")
    most = max(_FEWEST_DRAWS, _MOST_VALUES // content.y.shape[1])
    n_samples = min(_MOST_DRAWS, most)
    if len(steps) < len(ranked):
        page.add_text(
            f"The {len(steps)} decisions of the largest summed variance are shown."
        )
    for step in steps:
        display = PolicyDistributionDisplay.from_estimator(
            content.pipeline,
            content.y,
            step=step,
            random_state=seed,
            n_samples=n_samples,
        )
        name = content.step_names[step]
        page.add_figure(
            display, f"{name}: test data beside the predictive distribution."
        )
