"""The report of a run: the verdict first, then tables and figures."""

from __future__ import annotations

import numpy as np

from gflownet_envs.experiments import tables
from gflownet_envs.experiments.task import TOLERANCE, RunResults, SourceResults, Table
from gflownet_envs.storage import environment_versions
from skpce._report import HtmlReport


def build_report(
    results: RunResults, figures: dict[str, tuple[bytes, str]]
) -> HtmlReport:
    """Build the HTML report from PNG files, each with a description."""
    report = HtmlReport(f"{results.task.title} – preset {results.preset_name}")
    report.add_text(results.task.summary)
    _add_verdict(report, results, figures)
    report.add_heading("What drives each step")
    for name in results.sources:
        report.add_png(*figures[f"sobol_{name}"])
        _add_table(report, tables.shares_table(results.sources[name]))
    _add_policies(report, results, figures)
    _add_own_figures(report, results, figures)
    _add_calibration(report, results, figures)
    _add_original_coordinates(report, results)
    _add_paper(report, results)
    report.add_heading("How this was made")
    for table in results.study.tables:
        _add_table(report, table)
    _add_table(report, tables.cost_table(results))
    versions = ", ".join(f"{k} {v}" for k, v in environment_versions().items() if v)
    report.add_text(f"Seed {results.seed}. {versions}.")
    return report


def verdict_words(source: SourceResults) -> str:
    """Return the verdict of the main analysis, with what the inputs explain."""
    main = source.main
    return (
        f"{source.dataset.source} policies, degree {main.degree}:\n"
        f"{main.verdict}\n{explained_words(source)}"
    )


def explained_words(source: SourceResults) -> str:
    """Say in one sentence what share of the variance the inputs explain."""
    shares = [
        f"{step.step} {max(step.q2, 0.0):.0%}"
        for step in source.main.verdict.steps
        if not np.isnan(step.q2)
    ]
    return (
        "Share of the policy's variance that the inputs explain (cross-fitted): "
        f"{', '.join(shares)}. The rest is drawn as unexplained."
    )


def _add_table(report: HtmlReport, table: Table | None) -> None:
    if table is not None:
        report.add_table(table.columns, table.rows, table.caption)


def _add_verdict(
    report: HtmlReport, results: RunResults, figures: dict[str, tuple[bytes, str]]
) -> None:
    report.add_heading("Verdict")
    for source in results.sources.values():
        report.add_preformatted(verdict_words(source))
    report.add_png(*figures["overview"])
    _add_table(report, tables.verdict_table(results))
    report.add_text(
        "Cross-fitted Q² refits the whole pipeline, embedding included, without the "
        "members it predicts. Supported (attributable): Q² of at least 0.25, p of at "
        "most 0.05, training noise below one half. Exact policies stand beside "
        "trained ones; they never fill in for them."
    )


def _add_policies(
    report: HtmlReport, results: RunResults, figures: dict[str, tuple[bytes, str]]
) -> None:
    report.add_heading("Policies")
    _add_table(report, tables.training_table(results))
    _add_table(report, tables.noise_table(results))
    _add_table(report, tables.fragility_table(results))
    report.add_text(
        "The measures can rank the steps differently. Aitchison variance and ALR sum "
        "grow with the number of actions and weigh rare actions like frequent ones; "
        "the ALR sum depends on its reference action too. Total variation and "
        "Jensen–Shannon divergence (in nats) are distances of probabilities. “Of "
        "largest” divides by the largest value that so many actions allow."
    )
    for name in results.sources:
        report.add_png(*figures[f"policies_{name}"])


def _add_own_figures(
    report: HtmlReport, results: RunResults, figures: dict[str, tuple[bytes, str]]
) -> None:
    """Add the figures of the task itself, which no other section shows."""
    kinds = ("sobol", "coverage", "policies")
    others = {f"{kind}_{name}" for kind in kinds for name in results.sources}
    for name in figures:
        if name not in others | {"overview", "summary"}:
            report.add_png(*figures[name])


def _add_calibration(
    report: HtmlReport, results: RunResults, figures: dict[str, tuple[bytes, str]]
) -> None:
    report.add_heading("Calibration on held-out members")
    _add_table(report, tables.coverage_table(results))
    for name, source in results.sources.items():
        _add_table(report, tables.step_coverage_table(source))
        report.add_png(*figures[f"coverage_{name}"])
    report.add_text(
        "The push-forward of the inputs alone (the paper's interval) leaves out what "
        "the inputs do not explain."
    )


def _add_original_coordinates(report: HtmlReport, results: RunResults) -> None:
    if not results.study.levels:
        return
    report.add_heading("In the original coordinates")
    report.add_text(
        f"The reward features ({results.study.feature_unit}) of all objects with a "
        "level vary as they do between the members, all others stay at their mean. "
        "Entries are shares of each step's variance that the surrogate then shows. "
        "Levels overlap and rewards are correlated: entries need not add up."
    )
    for name, source in results.sources.items():
        if not any(source.main.verdict.attributable):
            report.add_text(
                f"No step of the {name} policies supports an attribution: the entries "
                "below describe the fit, not the policies."
            )
        for component in source.level_shares:
            _add_table(report, tables.level_table(source, component))


def _add_paper(report: HtmlReport, results: RunResults) -> None:
    table = tables.paper_table(results)
    if table is None:
        return
    report.add_heading("Beside the paper")
    _add_table(report, table)
    report.add_text(
        f"Figures agree within {TOLERANCE:.0%}, coverages within 0.05. ALR sums depend "
        "on the reference action and on the reference trajectory, which the paper does "
        "not state. A disagreement is a result, not a failure."
    )
