"""The sections of a report on attribution: verdict, Q², fragility, indices."""

from __future__ import annotations

import numpy as np

from ._report import HtmlReport
from ._report_content import ReportContent, add_figure, interval_text
from .plotting import (
    InteractionDisplay,
    PrismDisplay,
    SobolDisplay,
    StepVarianceDisplay,
)


def add_attribution(page: HtmlReport, content: ReportContent) -> None:
    """Add the verdict, then what it is about."""
    _add_verdict(page, content)
    _add_goodness(page, content)
    _add_fragility(page, content)
    _add_indices(page, content)


def _add_verdict(page: HtmlReport, content: ReportContent) -> None:
    page.add_heading("Verdict")
    if content.verdict is None:
        page.add_text(
            "No verdict was given. All figures below are conditional on the inputs as "
            "the surrogate got them: a transformation of X that was fitted before has "
            "seen every member that leave-one-out leaves out. Whether the attribution "
            "is supported is not known; skpce.inspection.verdict would tell."
        )
        return
    page.add_preformatted(str(content.verdict))
    level = f"{content.verdict.confidence_level:.0%} interval"
    columns = ["Q², cross-fitted", level, "Q² of the mean", "Q² at degree 1"]
    rows = [
        [
            judged.step,
            judged.q2,
            interval_text(judged.q2_low, judged.q2_high),
            judged.mean_only_q2,
            judged.degree_one_q2,
            judged.p_value,
            judged.noise_share,
            content.answer(step),
        ]
        for step, judged in enumerate(content.verdict.steps)
    ]
    page.add_table(
        ["step", *columns, "p (Holm)", "training noise", "attribution"],
        rows,
        "The same in figures, beside two simpler models",
    )
    page.add_text(
        "Cross-fitted Q² refits the whole pipeline without the members it predicts. A "
        "step that is not attributable has shares below like any other; do not read "
        "them."
    )


def _add_goodness(page: HtmlReport, content: ReportContent) -> None:
    page.add_heading("How well the inputs predict each step")
    columns = ["step", "actions", "Q², leave-one-out", "Q², test data"]
    if content.verdict is not None:
        columns.append("Q², cross-fitted")
    rows = []
    for step, name in enumerate(content.step_names):
        row = [
            name,
            int(content.fragility.n_possible[step]),
            float(content.surrogate.diagnostics_.loo_q2[step]),
            float(content.test_q2[step]),
        ]
        if content.verdict is not None:
            row.append(content.verdict.steps[step].q2)
        rows.append([*row, content.answer(step)])
    page.add_table([*columns, "attribution"], rows)
    page.add_text(
        "Q² is one minus the squared error over the squared deviation from the mean, "
        "in Aitchison geometry: free of any reference action. Leave-one-out is that "
        "of the surrogate alone, conditional on its inputs. The test data are members "
        "that were not fitted, provided that whoever made this page held them out."
    )


def _add_fragility(page: HtmlReport, content: ReportContent) -> None:
    found = content.fragility
    page.add_heading("How much the members disagree")
    columns = {
        "variance, summed": found.aitchison_variance,
        "per degree of freedom": found.variance_per_freedom,
        "TV to the mean": found.total_variation,
        "of largest TV to the mean": found.normalized_total_variation,
        "TV of pairs": found.pairwise_total_variation,
        "of largest TV of pairs": found.normalized_pairwise_total_variation,
        "JS to the mean": found.jensen_shannon,
        "of largest JS": found.normalized_jensen_shannon,
        "mutual information (MI)": found.mutual_information,
        "of largest MI": found.normalized_mutual_information,
        "alr sum": found.alr_sum,
    }
    rows = [
        [
            name,
            *(_without_rounding(column[step]) for column in columns.values()),
            found.alr_reference[step],
        ]
        for step, name in enumerate(content.step_names)
    ]
    page.add_table(
        ["step", *columns, "alr reference"],
        rows,
        f"Fragility of the {len(content.y)} members of the test data",
    )
    page.add_text(
        "The measures can rank the steps differently. Summed variances grow with the "
        "number of actions and weigh rare actions like frequent ones; the alr sum "
        "depends on its reference action too. Total variation (TV) and Jensen-Shannon "
        "divergence (JS, in nats) are distances of probabilities, to the mean policy "
        "or between two members. Mutual information is that of member and action, in "
        "nats. “Of largest” divides by the largest value that so many actions allow."
    )
    display = StepVarianceDisplay(
        found,
        unexplained=content.attribution.unexplained,
        supported=content.attribution.supported,
    ).plot()
    add_figure(
        page,
        display,
        "Disagreement per step. Variance bars are cut into what the inputs explain "
        f"({content.source}) and the rest.",
    )


def _add_indices(page: HtmlReport, content: ReportContent) -> None:
    surrogate = content.surrogate
    page.add_heading("What drives each step")
    shares = SobolDisplay.from_fit(
        content.pipeline, verdict=content.verdict, input_features=content.input_names
    )
    empty = np.isnan(shares.unexplained)[:, np.newaxis]
    rows = [
        [name, *row, content.answer(step)]
        for step, (name, row) in enumerate(
            zip(
                content.step_names,
                np.where(empty, np.nan, shares.shares).tolist(),
                strict=True,
            )
        )
    ]
    page.add_table(
        ["step", *shares.column_names, "attribution"],
        rows,
        "Shares of the variance between members: first order times Q² "
        f"({content.source})",
    )
    total = np.where(empty, np.nan, surrogate.step_total_sobol_indices_)
    rows = [
        [name, *row, 1.0 - shares.unexplained[step], content.answer(step)]
        for step, (name, row) in enumerate(
            zip(content.step_names, total.tolist(), strict=True)
        )
    ]
    page.add_table(
        ["step", *content.input_names, "explained", "attribution"],
        rows,
        "Total Sobol indices: shares of the variance of the expansion alone",
    )
    if content.attribution.sampled:
        _add_fidelity(page, content)
    page.add_text(
        "Indices assume independent inputs with the stated laws. Total indices count "
        "an interaction once for each of its inputs, so a row can exceed one."
    )
    add_figure(
        page, shares.plot(), "Shares of the variance, with the unexplained part."
    )
    if np.nansum(content.fragility.aitchison_variance) > 0:
        display = PrismDisplay.from_estimator(
            content.pipeline,
            content.y,
            verdict=content.verdict,
            input_features=content.input_names,
        )
        add_figure(page, display, "From inputs to steps: widths add up to one.")
    if len(content.input_names) > 1 and hasattr(surrogate, "coefficients_"):
        for step in _best_explained(content)[:1]:
            pairs = InteractionDisplay.from_estimator(
                content.pipeline,
                step=step,
                verdict=content.verdict,
                input_features=content.input_names,
            )
            add_figure(
                page,
                pairs,
                "Inputs alone (diagonal) and in pairs, as shares of the variance of "
                f"the step whose inputs explain most: {content.step_names[step]}.",
            )


def _add_fidelity(page: HtmlReport, content: ReportContent) -> None:
    page.add_text(
        "The indices are by sampling: those of an expansion of the regressor's "
        "predictions at draws of its inputs. Its fidelity is the share of their "
        "variance that the expansion has on fresh draws."
    )
    fidelity = content.surrogate.fidelity_
    rows = [
        [name, float(share)]
        for name, share in zip(content.step_names, fidelity, strict=True)
    ]
    page.add_table(["step", "fidelity"], rows)


def _best_explained(content: ReportContent) -> list[int]:
    """Return the steps of which something is explained, the largest variance first."""
    found = content.attribution
    share = 1.0 - np.nan_to_num(found.unexplained, nan=1.0)
    if found.supported is not None:
        share = share * np.array(found.supported)
    explained = share * np.nan_to_num(content.fragility.aitchison_variance)
    order = np.argsort(-explained, kind="stable")
    return [int(step) for step in order if explained[step] > 0]


def _without_rounding(value: float) -> float:
    return 0.0 if abs(value) < 1e-12 else float(value)
