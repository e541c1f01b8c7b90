"""The sections of a report on where it comes from: inputs, sizes, versions."""

from __future__ import annotations

import platform
import re
from importlib import metadata

from ._report import HtmlReport
from ._report_content import ReportContent, add_figure
from ._version import __version__
from .plotting import EmbeddingDisplay

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
    laws = [
        [name, float(p_value)]
        for name, p_value in zip(
            content.input_names, diagnostics.law_p_values, strict=True
        )
    ]
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
