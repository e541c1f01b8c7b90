"""A self-contained HTML page and its sections: text, tables and figures in one file.

No server, no script, no address of another host: figures are inlined as PNG.
"""

from __future__ import annotations

import base64
import io
import os
import platform
import re
from collections.abc import Iterator, Sequence
from html import escape
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import FloatArray, format_cell, write_file
from .._version import __version__
from ..inspection import Result
from ..inspection._reading import Reading
from ..metrics import coverage_interval
from ..plotting import (
    CoverageDisplay,
    EmbeddingDisplay,
    InteractionDisplay,
    PolicyDistributionDisplay,
    PrismDisplay,
    SobolDisplay,
    StepVarianceDisplay,
)
from ..plotting._members import interval_kinds
from ..plotting._steps import fragility_of
from ..plotting._style import NOT_SUPPORTED, Support, surrogate_q2

# Text keeps to a length that one reads; tables and figures may be wider.
_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto;
       padding: 0 1rem; color: #1a1a1a; background: #fff; }
h1, h2, p, pre { max-width: 60rem; }
h1 { font-size: 1.7rem; } h2 { margin-top: 2.2rem; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.9rem; }
th, td { padding: 0.25rem 0.6rem; text-align: right; border-bottom: 1px solid #ddd; }
th { vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; }
caption { text-align: left; font-weight: 600; padding-bottom: 0.3rem; }
figure { margin: 1rem 0; } img { max-width: 100%; }
pre { background: #f6f6f6; padding: 0.8rem; white-space: pre-wrap;
      overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
@media print {
  body { margin: 0; font-size: 10pt; } h2 { break-after: avoid; }
  table { font-size: 7.5pt; } th, td { padding: 0.1rem 0.3rem; }
  tr, figure { break-inside: avoid; } .scroll { overflow: visible; }
}
"""


class HtmlReport:
    """Collects sections and writes them to one file."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._parts: list[str] = []

    def add_heading(self, text: str) -> None:
        """Start a section."""
        self._parts.append(f"<h2>{escape(text)}</h2>")

    def add_text(self, text: str) -> None:
        """Add a paragraph."""
        self._parts.append(f"<p>{escape(text)}</p>")

    def add_preformatted(self, text: str) -> None:
        """Add text whose line breaks count."""
        self._parts.append(f"<pre>{escape(text)}</pre>")

    def add_table(
        self, columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = ""
    ) -> None:
        """Add a table; numbers are shortened to three digits."""
        head = "".join(f"<th>{escape(str(name))}</th>" for name in columns)
        cells = [
            [f"<td>{escape(format_cell(cell))}</td>" for cell in row] for row in rows
        ]
        body = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
        title = f"<caption>{escape(caption)}</caption>" if caption else ""
        self._parts.append(
            f'<div class="scroll"><table>{title}<thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>"
        )

    def add_png(self, payload: bytes, description: str) -> None:
        """Add the bytes of a PNG file, inlined."""
        encoded = base64.b64encode(payload).decode("ascii")
        self._parts.append(
            f'<figure><img alt="{escape(description, quote=True)}" '
            f'src="data:image/png;base64,{encoded}">'
            f"<figcaption>{escape(description)}</figcaption></figure>"
        )

    def to_html(self) -> str:
        """Return the page."""
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f"<title>{escape(self.title)}</title><style>{_STYLE}</style></head>"
            f"<body><h1>{escape(self.title)}</h1>{''.join(self._parts)}</body></html>\n"
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page in one piece: a reader never finds half of it."""
        write_file(path, self.to_html().encode())


_DOTS_PER_INCH = 110


class ReportContent:
    """What the sections read: the fit, its inputs' names, the test data."""

    def __init__(
        self, pipeline: Any, reading: Reading, y: FloatArray, verdict: Result | None
    ) -> None:
        expansion = reading.expansion
        self.pipeline, self.surrogate = pipeline, reading.estimator
        self.expansion, self.is_sampled = expansion, reading.is_sampled
        self.input_names, self.verdict = expansion.input_names, verdict
        self.inputs, self.y = reading.inputs, y
        self.step_names = expansion.group_names
        self.support = Support.of(expansion, verdict)
        self.test_q2 = surrogate_q2(self.surrogate, self.inputs, y)
        self.fragility = fragility_of(self.surrogate, y)

    @property
    def source(self) -> str:
        """Where the Q² of shares comes from."""
        return "leave-one-out" if self.verdict is None else "cross-fitted"

    def answer(self, step: int) -> str:
        """Say in a word whether the attribution of a step is supported."""
        if not self.surrogate.geometry_.has_choice[step]:
            return "no choice"
        if self.verdict is None:
            return "not judged"
        return "supported" if self.verdict.attributable[step] else NOT_SUPPORTED

    def steps_with_variance(self) -> list[int]:
        """Return the steps whose members differ, the largest variance first."""
        variance = np.nan_to_num(self.fragility.aitchison_variance)
        order = np.argsort(-variance, kind="stable")
        return [int(step) for step in order if variance[step] > 0]


def add_figure(page: HtmlReport, display: Any, description: str) -> None:
    """Inline the figure of a display and close it."""
    import matplotlib.pyplot as plt

    stream = io.BytesIO()
    try:
        style = {"dpi": _DOTS_PER_INCH, "metadata": {"Software": None}}
        display.figure_.savefig(stream, format="png", **style)
    finally:
        plt.close(display.figure_)
    page.add_png(stream.getvalue(), description)


def interval_text(low: float, high: float) -> str:
    """Return the ends of an interval; a dash where there is none."""
    return "–" if np.isnan(low) else f"[{low:.2f}, {high:.2f}]"


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
    figures = [
        [
            *(judged.step, judged.q2, interval_text(judged.q2_low, judged.q2_high)),
            *(judged.mean_only_q2, judged.degree_one_q2, judged.p_value),
            *(judged.noise_share, content.answer(step)),
        ]
        for step, judged in enumerate(content.verdict.steps)
    ]
    page.add_table(
        ["step", *columns, "p (Holm)", "training noise", "attribution"],
        figures,
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
            float(content.expansion.q2[step]),
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
        [name, *(_without_rounding(x[step]) for x in columns.values()), reference]
        for step, (name, reference) in enumerate(
            zip(content.step_names, found.alr_reference, strict=True)
        )
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
    support = content.support
    display = StepVarianceDisplay(
        found, unexplained=support.unexplained, supported=support.supported
    )
    add_figure(
        page,
        display.plot(),
        "Disagreement per step. Variance bars are cut into what the inputs explain "
        f"({content.source}) and the rest.",
    )


def _add_indices(page: HtmlReport, content: ReportContent) -> None:
    page.add_heading("What drives each step")
    known: Any = {"verdict": content.verdict, "input_features": content.input_names}
    shares = SobolDisplay.from_fit(content.pipeline, **known)
    empty = np.isnan(shares.unexplained)[:, np.newaxis]
    page.add_table(
        ["step", *shares.column_names, "attribution"],
        _step_rows(content, np.where(empty, np.nan, shares.shares)),
        "Shares of the variance between members: first order times Q² "
        f"({content.source})",
    )
    total = np.where(empty, np.nan, content.expansion.sobol_indices().total_order)
    page.add_table(
        ["step", *content.input_names, "explained", "attribution"],
        _step_rows(content, np.column_stack([total, 1.0 - shares.unexplained])),
        "Total Sobol indices: shares of the variance of the expansion alone",
    )
    if content.is_sampled:
        _add_fidelity(page, content)
    page.add_text(
        "Indices assume independent inputs with the stated laws. Total indices count "
        "an interaction once for each of its inputs, so a row can exceed one."
    )
    add_figure(
        page, shares.plot(), "Shares of the variance, with the unexplained part."
    )
    if np.nansum(content.fragility.aitchison_variance) > 0:
        prism = PrismDisplay.from_estimator(content.pipeline, content.y, **known)
        add_figure(page, prism, "From inputs to steps: widths add up to one.")
    if len(content.input_names) > 1:
        for step in _best_explained(content)[:1]:
            add_figure(
                page,
                InteractionDisplay.from_estimator(content.pipeline, step=step, **known),
                "Inputs alone (diagonal) and in pairs, as shares of the variance of "
                f"the step whose inputs explain most: {content.step_names[step]}.",
            )


def _step_rows(content: ReportContent, table: FloatArray) -> list[list[Any]]:
    """Return rows of numbers between the name of the step and the answer."""
    rows = zip(content.step_names, table.tolist(), strict=True)
    return [[name, *row, content.answer(i)] for i, (name, row) in enumerate(rows)]


def _add_fidelity(page: HtmlReport, content: ReportContent) -> None:
    page.add_text(
        "The indices are by sampling: those of an expansion of the regressor's "
        "predictions at draws of its inputs. Its fidelity is the share of their "
        "variance that the expansion has on fresh draws."
    )
    fidelity = np.asarray(content.surrogate.fidelity_, dtype=np.float64).tolist()
    rows = list(zip(content.step_names, fidelity, strict=True))
    page.add_table(["step", "fidelity"], rows)


def _best_explained(content: ReportContent) -> list[int]:
    """Return the steps of which something is explained, the largest variance first."""
    found = content.support
    share = 1.0 - np.nan_to_num(found.unexplained, nan=1.0)
    if found.supported is not None:
        share = share * np.array(found.supported)
    explained = share * np.nan_to_num(content.fragility.aitchison_variance)
    order = np.argsort(-explained, kind="stable")
    return [int(step) for step in order if explained[step] > 0]


def _without_rounding(value: float) -> float:
    return 0.0 if abs(value) < 1e-12 else float(value)


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
    curves: dict[str, list[float]] = {}
    rows: list[list[Any]] = []
    try:
        for name, arguments in interval_kinds(content.inputs).items():
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
        name = content.step_names[step]
        add_figure(page, display, f"{name}: test data beside the predictive law.")


def _mean(values: NDArray[np.float64]) -> float:
    """Return the mean over the steps with a choice; NaN without any."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


_PACKAGES = ("skpce", "numpy", "scipy", "scikit-learn", "matplotlib")


def add_origin(
    page: HtmlReport, content: ReportContent, date: str | None, random_state: int
) -> None:
    """Add the inputs that were fitted, and what it takes to make the page again."""
    _add_inputs(page, content)
    _add_sizes(page, content, date, random_state)


def _add_inputs(page: HtmlReport, content: ReportContent) -> None:
    diagnostics = content.surrogate.diagnostics_
    page.add_heading("The inputs")
    rows = [
        ["members fitted", diagnostics.n_members],
        ["terms of the expansion", diagnostics.n_terms],
        ["largest correlation of two inputs", diagnostics.largest_correlation],
        ["condition number of the design", diagnostics.condition_number],
    ]
    page.add_table(["figure", "value"], rows)
    p_values = np.asarray(diagnostics.law_p_values, dtype=np.float64).tolist()
    laws = list(zip(content.input_names, p_values, strict=True))
    page.add_table(["input", "p-value"], laws, "Fit of each input to its law")
    display = EmbeddingDisplay.from_estimator(
        content.pipeline, input_features=content.input_names
    )
    add_figure(
        page,
        display,
        "The fitted members' inputs: correlations, and quantiles against their laws.",
    )


def _add_sizes(
    page: HtmlReport, content: ReportContent, date: str | None, random_state: int
) -> None:
    page.add_heading("How this was made")
    rows = [
        ["members fitted", content.surrogate.diagnostics_.n_members],
        ["members of the test data", len(content.y)],
        ["inputs of the surrogate", len(content.input_names)],
        ["steps", len(content.step_names)],
        ["parts", int(content.y.shape[1])],
        ["random_state", random_state],
    ]
    rows += [[name, _version(name)] for name in ("python", *_PACKAGES)]
    if date is not None:
        rows.append(["date", date])
    page.add_table(["what", "value"], rows)
    # Addresses of objects in memory differ from run to run.
    page.add_preformatted(re.sub(r" at 0x[0-9a-fA-F]+", "", repr(content.pipeline)))


def _version(name: str) -> str:
    if name == "python":
        return platform.python_version()
    if name == "skpce":
        return __version__
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "unknown"
