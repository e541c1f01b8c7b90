"""One HTML file about a fitted surrogate and members that it has not seen.

No server, no script, no address of another host: figures are inlined as PNG.
"""

from __future__ import annotations

import base64
import io
import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._checks import FloatArray, check_integer, fail, html_table, write_file
from ._compositions.steps import checked_policies
from ._version import __version__, installed_version
from .inspection import Result
from .inspection._reading import Reading, compositions_of
from .metrics import CoverageInterval, PolicyFragility, coverage_interval
from .plotting import (
    CoverageDisplay,
    EmbeddingDisplay,
    InteractionDisplay,
    PolicyDistributionDisplay,
    PrismDisplay,
    SobolDisplay,
    StepVarianceDisplay,
)
from .plotting._steps import fragility_of
from .plotting._style import NOT_SUPPORTED, Support, composition_q2


def report(
    pipeline: Any,
    X_test: ArrayLike,
    y_test: ArrayLike,
    *,
    verdict: Result | None = None,
    path: str | os.PathLike[str] | None = None,
    title: str = "What drives each step",
    input_features: Sequence[str] | None = None,
    date: str | None = None,
    random_state: int = 0,
) -> str:
    """Describe a fitted surrogate in one self-contained HTML page.

    The verdict comes first, then Q², fragility, Sobol indices with the unexplained
    part, and coverage on members that were held out. The page has no script and asks
    nothing of another host; the same arguments give the same bytes. All arguments
    are checked before anything is computed or written: a ``ValueError`` says which
    data, verdict or path does not fit.

    Parameters
    ----------
    pipeline : fitted estimator
        A :class:`skpce.CompositionalPCESurrogate`, or a Pipeline that ends in one.
    X_test : array-like of shape (n_members, n_features)
        Inputs of members that were not fitted, before any embedding.
    y_test : array-like of shape (n_members, n_parts) or data frame
        Their policies, the steps side by side.
    verdict : Result or None, default=None
        From :func:`skpce.inspection.verdict`, on the members that were fitted. With
        None the page says that there is none.
    path : str, path-like or None, default=None
        Where to write the page, in one piece; None only returns it.
    title : str, default="What drives each step"
        Heading of the page.
    input_features : sequence of str or None, default=None
        Names of the inputs of the surrogate; None asks the pipeline.
    date : str or None, default=None
        Printed with the versions. None prints no date.
    random_state : int, default=0
        Randomness of the draws behind intervals and figures.

    Returns
    -------
    page : str
        The HTML text.

    See Also
    --------
    skpce.inspection.verdict : Is the attribution supported?
    skpce.metrics.policy_fragility : The measures of disagreement.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from skpce import CompositionalPCESurrogate
    >>> from skpce import report
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> y = softmax(np.c_[X[:, 0], 0 * X[:, 0], rng.normal(size=60)], axis=1)
    >>> surrogate = CompositionalPCESurrogate(1, steps={"first": 3})
    >>> page = report(surrogate.fit(X[:40], y[:40]), X[40:], y[40:])
    >>> page.startswith("<!doctype html>"), "No verdict was given" in page
    (True, True)
    """
    _check_arguments(path, title, date, random_state)
    reading, _ = compositions_of(pipeline, X_test, input_features)
    inputs = reading.inputs
    if len(inputs) < 2:
        raise ValueError(f"X_test has {len(inputs)} members; expected two or more.")
    values = checked_policies(y_test, reading.estimator, len(inputs), "y_test")
    content = ReportContent(pipeline, reading, values, verdict, random_state)
    page = HtmlReport(title)
    _add_verdict(page, content)
    _add_goodness(page, content)
    _add_fragility(page, content)
    _add_indices(page, content)
    _add_coverage(page, content)
    _add_policies(page, content)
    _add_inputs(page, content)
    _add_origin(page, content, date)
    if path is not None:
        page.save(path)
    return page.to_html()


def _check_arguments(path: Any, title: Any, date: Any, random_state: Any) -> None:
    """Refuse what no section could use, and a path where no page could be saved."""
    if not isinstance(title, str):
        raise fail("report", "title", "a str", title)
    if not (date is None or isinstance(date, str)):
        raise fail("report", "date", "a str or None", date)
    check_integer("report", "random_state", random_state)
    if path is None:
        return
    if not isinstance(path, (str, os.PathLike)):
        raise ValueError(f"path={path!r} must be a str, a path or None.")
    target = Path(path)
    if target.is_dir():
        raise ValueError(f"path={str(path)!r} is a folder; expected that of a file.")
    if not target.parent.is_dir():
        raise ValueError(f"path={str(path)!r} is in a folder that does not exist.")
    if not os.access(target.parent, os.W_OK):
        raise ValueError(f"path={str(path)!r} is in a folder that is not writable.")


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

_DOTS_PER_INCH = 110
_LEVELS = (0.5, 0.8, 0.9, 0.95)  # of intervals

Column = tuple[str, Any]  # heading and values


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
        table = html_table(columns, rows, caption)
        self._parts.append(f'<div class="scroll">{table}</div>')

    def add_columns(self, columns: Iterable[Column], caption: str = "") -> None:
        """Add a table of columns, each with its heading."""
        headings, values = zip(*columns, strict=True)
        self.add_table(headings, list(zip(*values, strict=True)), caption)

    def add_png(self, payload: bytes, description: str) -> None:
        """Add the bytes of a PNG file, inlined."""
        encoded = base64.b64encode(payload).decode("ascii")
        self._parts.append(
            f'<figure><img alt="{escape(description, quote=True)}" '
            f'src="data:image/png;base64,{encoded}">'
            f"<figcaption>{escape(description)}</figcaption></figure>"
        )

    def add_figure(self, display: Any, description: str) -> None:
        """Inline the figure of a display and close it."""
        import matplotlib.pyplot as plt

        stream = io.BytesIO()
        style = {"dpi": _DOTS_PER_INCH, "metadata": {"Software": None}}
        try:
            display.figure_.savefig(stream, format="png", **style)
        finally:
            plt.close(display.figure_)
        self.add_png(stream.getvalue(), description)

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


class ReportContent:
    """What the sections read: the fit, its inputs' names, the test data."""

    def __init__(
        self,
        pipeline: Any,
        reading: Reading,
        y: FloatArray,
        verdict: Result | None,
        random_state: int,
    ) -> None:
        self.pipeline, self.surrogate = pipeline, reading.estimator
        self.expansion, self.is_sampled = reading.expansion, reading.is_sampled
        self.input_names = self.expansion.input_names
        self.step_names = self.expansion.group_names
        self.inputs, self.y = reading.inputs, y
        self.verdict, self.random_state = verdict, random_state
        self.support = Support.of(self.expansion, verdict)
        self.fragility = fragility_of(self.surrogate, y)

    @property
    def test_q2(self) -> FloatArray:
        """Q² of each step on the test data."""
        predicted = np.reshape(self.surrogate.predict(self.inputs), self.y.shape)
        geometry, zero = self.surrogate.geometry_, self.surrogate.zero_replacement
        return composition_q2(self.y, predicted, geometry, zero)

    @property
    def source(self) -> str:
        """Where the Q² of shares comes from."""
        return "leave-one-out" if self.verdict is None else "cross-fitted"

    @cached_property
    def answers(self) -> list[str]:
        """Say in a word whether the attribution of each step is supported."""
        judged = ["not judged"] * len(self.step_names)
        if self.verdict is not None:
            words = {True: "supported", False: NOT_SUPPORTED}
            judged = [words[good] for good in self.verdict.attributable]
        choices = self.surrogate.geometry_.has_choice
        return [
            answer if choice else "no choice"
            for answer, choice in zip(judged, choices, strict=True)
        ]

    def ranked_steps(self, share: float | FloatArray = 1.0) -> list[int]:
        """Return the steps with this share of a variance, the largest first."""
        variance = share * np.nan_to_num(self.fragility.aitchison_variance)
        order = np.argsort(-variance, kind="stable")
        return [int(step) for step in order if variance[step] > 0]

    def explained_steps(self) -> list[int]:
        """Return the steps of which something is explained, the largest first."""
        share = 1.0 - np.nan_to_num(self.support.unexplained, nan=1.0)
        if self.support.supported is not None:
            share = share * np.array(self.support.supported)
        return self.ranked_steps(share)


def _add_verdict(page: HtmlReport, content: ReportContent) -> None:
    verdict = content.verdict
    page.add_heading("Verdict")
    if verdict is None:
        page.add_text(
            "No verdict was given. All figures below are conditional on the inputs as "
            "the surrogate got them: a transformation of X that was fitted before has "
            "seen every member that leave-one-out leaves out. Whether the attribution "
            "is supported is not known; skpce.inspection.verdict would tell."
        )
        return
    page.add_preformatted(str(verdict))
    ends = zip(verdict.q2_low, verdict.q2_high, strict=True)
    page.add_columns(
        [
            ("step", verdict.step_names),
            ("Q², cross-fitted", verdict.q2),
            (
                f"{verdict.confidence_level:.0%} interval",
                [interval_in_words(low, high) for low, high in ends],
            ),
            ("Q² of the mean", verdict.mean_only_q2),
            ("Q² at degree 1", verdict.degree_one_q2),
            ("p (Holm)", verdict.p_value),
            ("training noise", verdict.noise_share),
            ("attribution", content.answers),
        ],
        "The same in figures, beside two simpler models",
    )
    page.add_text(
        "Cross-fitted Q² refits the whole pipeline without the members it predicts. A "
        "step that is not attributable has shares below like any other; do not read "
        "them."
    )


def _add_goodness(page: HtmlReport, content: ReportContent) -> None:
    page.add_heading("How well the inputs predict each step")
    columns: list[Column] = [
        ("step", content.step_names),
        ("actions", content.fragility.n_possible),
        ("Q², leave-one-out", content.expansion.q2),
        ("Q², test data", content.test_q2),
    ]
    if content.verdict is not None:
        columns.append(("Q², cross-fitted", content.verdict.q2))
    page.add_columns([*columns, ("attribution", content.answers)])
    page.add_text(
        "Q² is one minus the squared error over the squared deviation from the mean, "
        "in Aitchison geometry: free of any reference action. Leave-one-out is that "
        "of the surrogate alone, conditional on its inputs. The test data are members "
        "that were not fitted, provided that whoever made this page held them out."
    )


def _add_fragility(page: HtmlReport, content: ReportContent) -> None:
    found = content.fragility
    page.add_heading("How much the members disagree")
    page.add_columns(
        fragility_columns(found),
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
    display = StepVarianceDisplay.from_estimator(
        content.pipeline, content.y, verdict=content.verdict
    )
    page.add_figure(
        display,
        "Disagreement per step. Variance bars are cut into what the inputs explain "
        f"({content.source}) and the rest.",
    )


def _add_indices(page: HtmlReport, content: ReportContent) -> None:
    page.add_heading("What drives each step")
    known: Any = {"verdict": content.verdict, "input_features": content.input_names}
    shares = SobolDisplay.from_fit(content.pipeline, **known)
    page.add_columns(
        [*share_columns(shares), ("attribution", content.answers)],
        "Shares of the variance between members: first order times Q² "
        f"({content.source})",
    )
    total = content.expansion.sobol_indices().total_order
    total = np.where(np.isnan(shares.unexplained)[:, np.newaxis], np.nan, total)
    page.add_columns(
        [
            ("step", content.step_names),
            *zip(content.input_names, total.T, strict=True),
            ("explained", 1.0 - shares.unexplained),
            ("attribution", content.answers),
        ],
        "Total Sobol indices: shares of the variance of the expansion alone",
    )
    if content.is_sampled:
        page.add_text(
            "The indices are by sampling: those of an expansion of the regressor's "
            "predictions at draws of its inputs. Its fidelity is the share of their "
            "variance that the expansion has on fresh draws."
        )
        fidelity = content.surrogate.fidelity_
        page.add_columns([("step", content.step_names), ("fidelity", fidelity)])
    page.add_text(
        "Indices assume independent inputs with the stated laws. Total indices count "
        "an interaction once for each of its inputs, so a row can exceed one."
    )
    page.add_figure(shares.plot(), "Shares of the variance, with the unexplained part.")
    if np.nansum(content.fragility.aitchison_variance) > 0:
        display = PrismDisplay.from_estimator(content.pipeline, content.y, **known)
        page.add_figure(display, "From inputs to steps: widths add up to one.")
    if len(content.input_names) > 1:
        for step in content.explained_steps()[:1]:
            pairs = InteractionDisplay.from_estimator(
                content.pipeline, step=step, **known
            )
            page.add_figure(
                pairs,
                "Inputs alone (diagonal) and in pairs, as shares of the variance of "
                f"the step whose inputs explain most: {content.step_names[step]}.",
            )


# Columns of tables, for this report and those of experiments.


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
    columns: list[Column] = [("step", found.step_names)]
    for heading, name in _MEASURES.items():
        columns.append((heading, without_rounding(getattr(found, name))))
    return [*columns, ("alr reference", found.alr_reference)]


def share_columns(display: SobolDisplay) -> list[Column]:
    """Return shares of the variance; NaN for a step without variance."""
    empty = np.isnan(display.unexplained)[:, np.newaxis]
    shares = np.where(empty, np.nan, without_rounding(display.shares))
    names = ["step", *display.column_names]
    return list(zip(names, [display.step_names, *shares.T], strict=True))


def coverage_columns(
    names: Sequence[str],
    scores: Mapping[str, Sequence[CoverageInterval]],  # by kind, one a level
) -> list[Column]:
    """Return coverage with its error, level by level, of each step with a choice."""
    first = next(iter(scores.values()))[0]
    steps = np.flatnonzero(~np.isnan(first.coverage))
    columns: list[Column] = [
        ("step", [names[int(step)] for step in steps for _ in _LEVELS]),
        ("level", [*_LEVELS] * len(steps)),
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


def interval_in_words(low: float, high: float) -> str:
    """Return the ends of an interval; a dash where there is none."""
    return "–" if np.isnan(low) else f"[{low:.2f}, {high:.2f}]"


# More steps than this have no panel of their own in a report.
_MOST_POLICY_FIGURES = 8


def _add_coverage(page: HtmlReport, content: ReportContent) -> None:
    page.add_heading("Coverage on the test data")
    surrogate = content.surrogate
    layout = {"steps": surrogate.geometry_.layout.widths, "mask": surrogate.mask_}
    seed = {"random_state": content.random_state}
    try:
        bounds = [
            surrogate.predict_interval(content.inputs, confidence_level=level, **seed)
            for level in _LEVELS
        ]
        display = CoverageDisplay.from_estimator(
            surrogate, content.inputs, content.y, levels=_LEVELS, **seed
        )
    except ValueError as error:  # no residual law: more terms than members
        page.add_text(f"There are no intervals. {error}")
        return
    scores = {
        kind: [coverage_interval(content.y, *b, kind=kind, **layout) for b in bounds]
        for kind in ("marginal", "joint")
    }
    page.add_columns(
        coverage_columns(content.step_names, scores),
        f"Intervals given the inputs, {len(content.y)} members of the test data",
    )
    page.add_text(
        "Marginal: the share of probabilities inside their interval, which should be "
        "the level. Joint: the share of members with all actions of the step inside; "
        "marginal intervals are not made for it, so it is lower. Errors are Wilson "
        "intervals with one trial a member."
    )
    page.add_figure(display, "Nominal and empirical marginal coverage, all steps.")


def _add_policies(page: HtmlReport, content: ReportContent) -> None:
    ranked, seed = content.ranked_steps(), content.random_state
    steps = sorted(ranked[:_MOST_POLICY_FIGURES])
    if not steps:
        return
    try:
        content.surrogate.sample(1, random_state=seed)
    except ValueError:
        return
    page.add_heading("Policies: members and surrogate")
    if len(steps) < len(ranked):
        page.add_text(
            f"The {len(steps)} steps of the largest summed variance are shown."
        )
    for step in steps:
        display = PolicyDistributionDisplay.from_estimator(
            content.pipeline, content.y, step=step, random_state=seed
        )
        name = content.step_names[step]
        page.add_figure(display, f"{name}: test data beside the predictive law.")


_PACKAGES = ("numpy", "scipy", "scikit-learn", "matplotlib")


def _add_inputs(page: HtmlReport, content: ReportContent) -> None:
    diagnostics = content.surrogate.diagnostics_
    page.add_heading("The inputs")
    figures = {
        "members fitted": diagnostics.n_members,
        "terms of the expansion": diagnostics.n_terms,
        "largest correlation of two inputs": diagnostics.largest_correlation,
        "condition number of the design": diagnostics.condition_number,
    }
    page.add_table(["figure", "value"], list(figures.items()))
    p_values = diagnostics.law_p_values
    page.add_columns(
        [("input", content.input_names), ("p-value", p_values)],
        "Fit of each input to its law",
    )
    display = EmbeddingDisplay.from_estimator(
        content.pipeline, input_features=content.input_names
    )
    page.add_figure(
        display,
        "The fitted members' inputs: correlations, and quantiles against their laws.",
    )


def _add_origin(page: HtmlReport, content: ReportContent, date: str | None) -> None:
    page.add_heading("How this was made")
    rows = [
        ["members fitted", content.surrogate.diagnostics_.n_members],
        ["members of the test data", len(content.y)],
        ["inputs of the surrogate", len(content.input_names)],
        ["steps", len(content.step_names)],
        ["parts", int(content.y.shape[1])],
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
