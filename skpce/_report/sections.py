"""Sections that a report has of compositions and of real outputs."""

from __future__ import annotations

import platform
import re
from typing import Any

import numpy as np

from .._version import __version__, installed_version
from ..plotting import EmbeddingDisplay, InteractionDisplay, SobolDisplay
from ..plotting._style import NOT_PREDICTED
from .columns import interval_in_words, share_columns, total_columns
from .content import ReportContent
from .page import Column, HtmlReport
from .shown import (
    driver_columns,
    drivers_in_words,
    pair_columns,
    some_inputs,
    some_of_prism,
    some_rows,
)

_GOODNESS = {
    "decision": "Q² is one minus the squared error over the squared deviation from the "
    "mean, in Aitchison geometry: free of any reference action. Leave-one-out is that "
    "of the surrogate alone, conditional on its inputs. The test data are members "
    "that were not fitted, provided that whoever made this page held them out.",
    "output": "Q² is one minus the squared error over the squared deviation from the "
    "mean; the columns of an output are added up {units}. Leave-one-out is that of the "
    "expansion alone, conditional on its inputs. The test data are members that were "
    "not fitted, provided that whoever made this page held them out.",
}


def add_answer(page: HtmlReport, content: ReportContent) -> None:
    """Say the answer, show it, and list it: a row for each decision or output."""
    verdict = content.verdict
    page.add_heading("Answer")
    if len(content.listed) < len(content.step_names):
        page.add_text(
            f"There are {len(content.step_names)} {content.noun}s. Tables list the "
            f"{len(content.listed)} and figures draw the {len(content.drawn)} of the "
            "largest variance in the test data; a verdict and the fit have all."
        )
    if verdict is None:
        page.add_text(
            "No verdict was given. All figures below are conditional on the inputs as "
            f"the {content.model} got them: a transformation of X that was fitted "
            "before has seen every member that leave-one-out leaves out. Which input "
            "drives what is not tested; skpce.inspection.verdict does it."
        )
    else:
        page.add_answer(verdict.sentences)
    shares = SobolDisplay.from_fit(content.pipeline, **content.known)
    page.add_figure(
        shares.some(content.drawn).plot(),
        "Shares of the variance between members: of each input alone, of several "
        f"together, and what is not predicted ({content.source}).",
    )
    columns: list[Column] = [
        (content.noun, content.step_names),
        ("attribution", content.answers),
    ]
    if verdict is None:
        columns.append(("explains most", _leading(shares)))
    else:
        outputs = range(len(content.step_names))
        drivers = [drivers_in_words(verdict, output) for output in outputs]
        columns.append(("drivers, share in all", drivers))
    columns.append((NOT_PREDICTED, [_percent(rest) for rest in shares.unexplained]))
    if verdict is not None:
        if not np.isnan(verdict.noise_share).all():
            noise = [_percent(share) for share in verdict.noise_share]
            columns.append(("noise between repeats", noise))
        columns.append(("p (Holm)", verdict.p_value))
    page.add_columns(content.rows(columns))


def _leading(shares: SobolDisplay) -> list[str]:
    """Name what explains most of each step alone, or of several inputs together."""
    explained = shares.shares[:, :-1]
    largest = explained.argmax(axis=1)
    known = ~np.isnan(shares.unexplained) & (explained.max(axis=1) > 0)
    return [
        f"{shares.column_names[i]} {_percent(row[i])}" if is_known else "–"
        for i, row, is_known in zip(largest, explained, known, strict=True)
    ]


def _percent(share: float) -> str:
    return "–" if np.isnan(share) else f"{100.0 * max(share, 0.0):.0f}\u00a0%"


def add_verdict(page: HtmlReport, content: ReportContent) -> None:
    verdict = content.verdict
    if verdict is None:
        return
    page.add_heading("Verdict")
    page.add_preformatted("\n".join(verdict.evidence))
    level = f"{100.0 * verdict.confidence_level:.3g}\u00a0%"
    if verdict.input_names:
        page.add_columns(
            driver_columns(verdict, content.listed),
            f"The drivers: shares of the variance of the {content.noun}, with {level} "
            "intervals that hold together",
        )
    if len(verdict.pairs.rows):
        page.add_columns(pair_columns(verdict), "Pairs that act together")
    ends = zip(verdict.q2_low, verdict.q2_high, strict=True)
    repeats = {"noise between repeats": "noise_share", "lack of fit, p": "lack_of_fit"}
    columns: list[Column] = [
        (content.noun, verdict.step_names),
        ("members", verdict.members),
        ("Q², runs left out", verdict.q2),
        (f"{level} interval", [interval_in_words(*pair) for pair in ends]),
        (NOT_PREDICTED, [_percent(share) for share in verdict.not_predicted]),
    ]
    for heading, name in repeats.items():
        values = verdict.columns[name]
        if not np.isnan(values).all():
            cells = [_percent(v) for v in values] if name == "noise_share" else values
            columns.append((heading, cells))
    columns += [("p (Holm)", verdict.p_value), ("attribution", content.answers)]
    page.add_columns(content.rows(columns), f"The {content.noun}s")
    page.add_text(
        "Q² is that of the pipeline, refitted whole without the members it predicts. "
        "Shares, and what is not predicted, are those of a fit that learns its own "
        f"degree from the inputs. Of {content.one.lower()} that nothing is shown to "
        "drive the shares are not to be read."
    )


def add_goodness(page: HtmlReport, content: ReportContent) -> None:
    page.add_heading(f"How well the inputs predict each {content.noun}")
    columns: list[Column] = [
        (content.noun, content.step_names),
        content.sizes,
        ("Q², leave-one-out", content.expansion.q2),
        ("Q², test data", content.test_q2),
    ]
    if content.verdict is not None:
        columns.append(("Q², runs left out", content.verdict.q2))
    page.add_columns(content.rows([*columns, ("attribution", content.answers)]))
    units = "in units of their standard deviations" if content.is_scaled else "as given"
    page.add_text(_GOODNESS[content.noun].format(units=units))


def add_indices(page: HtmlReport, content: ReportContent) -> None:
    page.add_heading("Shares of the variance and Sobol indices")
    known, leading = content.known, content.leading_shares
    every = SobolDisplay.from_fit(content.pipeline, **known)
    shares = some_inputs(every, leading)
    if shares is not every:
        page.add_text(
            f"There are {len(every.input_names)} inputs. Tables and figures show the "
            f"{len(leading)} of the largest total shares; shares of the others are "
            "added up."
        )
    page.add_columns(
        content.rows(
            [*share_columns(shares, content.noun), ("attribution", content.answers)]
        ),
        f"Shares of the variance between members, alone ({content.source})",
    )
    alone = every
    if content.verdict is not None:
        alone = SobolDisplay.from_fit(content.pipeline, **(known | {"verdict": None}))
    page.add_columns(
        content.rows(total_columns(alone, content.noun, content.leading)),
        "Total Sobol indices: shares of the variance of the expansion, not of the "
        f"{content.noun}",
    )
    if content.verdict is not None:
        page.add_text(
            f"In brackets: {100.0 * content.verdict.confidence_level:.3g} % intervals "
            f"of the shares, which hold for all inputs of {content.one.lower()} "
            "together and contain the error of the fit."
        )
    if alone.interval is not None:
        page.add_text(
            f"In brackets: {100.0 * alone.interval.confidence_level:.3g} % intervals "
            "of the indices, percentiles over resamples of the members. They contain "
            f"the error of the coefficients; what the {content.model} leaves out is "
            "what is not predicted."
        )
    if content.is_sampled:
        page.add_text(
            "The indices are by sampling: those of an expansion of the regressor's "
            "predictions at draws of its inputs. Its fidelity is the share of their "
            "variance that the expansion has on fresh draws."
        )
        fidelity = content.surrogate.fidelity_
        page.add_columns(
            content.rows([(content.noun, content.step_names), ("fidelity", fidelity)])
        )
    page.add_text(
        "Indices assume independent inputs with the stated distributions. Total "
        "indices count an interaction once for each of its inputs, so a row can "
        "exceed one."
    )
    if not content.is_real and content.variance.sum() > 0:
        prism = some_of_prism(shares, content.variance, content.drawn)
        page.add_figure(prism.plot(), "From inputs to decisions: widths add up to one.")
    if len(content.input_names) > 1:
        for step in content.explained_steps()[:1]:
            pairs = InteractionDisplay.from_estimator(
                content.pipeline, step=step, **known
            )
            page.add_figure(
                pairs,
                "Inputs alone (diagonal) and in pairs, as shares of the variance of "
                f"the {content.noun} of which most is predicted: "
                f"{content.step_names[step]}.",
            )


_FITTED_INPUTS = "The fitted members' inputs"
_PACKAGES = ("numpy", "scipy", "scikit-learn", "matplotlib")


def add_inputs(page: HtmlReport, content: ReportContent) -> None:
    diagnostics = content.diagnostics
    page.add_heading("The inputs")
    figures = {
        "members fitted": diagnostics.n_members,
        "terms of the expansion": diagnostics.n_terms,
        # what is below is rounding
        "largest correlation of two inputs": round(diagnostics.largest_correlation, 12),
        "condition number of the design": diagnostics.condition_number,
    }
    page.add_table(["figure", "value"], list(figures.items()))
    p_values = diagnostics.distribution_p_values
    page.add_columns(
        some_rows(
            [("input", content.input_names), ("p-value", p_values)], content.leading
        ),
        "Fit of each input to its distribution",
    )
    # A regressor retains no inputs that were not transformed.
    X = content.reading.X if content.is_real else None
    display = EmbeddingDisplay.from_estimator(
        content.pipeline,
        X,
        input_features=content.input_names,
        features=content.leading.tolist(),
    )
    whose = "The inputs of the test data" if content.is_real else _FITTED_INPUTS
    page.add_figure(
        display, f"{whose}: correlations, and quantiles against their distributions."
    )


def add_origin(page: HtmlReport, content: ReportContent, date: str | None) -> None:
    page.add_heading("How this was made")
    rows: list[list[Any]] = [
        ["members fitted", content.diagnostics.n_members],
        ["members of the test data", len(content.y)],
        [f"inputs of the {content.model}", len(content.input_names)],
        [f"{content.noun}s", len(content.step_names)],
        ["columns" if content.is_real else "parts", int(content.y.shape[1])],
        ["random_state", content.random_state],
        ["python", platform.python_version()],
        ["skpce", __version__],
    ]
    rows += [[name, installed_version(name)] for name in _PACKAGES]
    if date is not None:
        rows.append(["date", date])
    page.add_table(["what", "value"], rows)
    # Addresses of objects in memory differ from run to run.
    page.add_preformatted(re.sub(r" at 0x[0-9a-fA-F]+", "", repr(content.pipeline)))
