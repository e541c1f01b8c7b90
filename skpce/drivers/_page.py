"""An answer as one HTML page: sentences, picture, drivers, effects, evidence."""

from __future__ import annotations

import platform
from types import SimpleNamespace
from typing import Any

import numpy as np

from .._checks import check_target
from .._page import HtmlReport
from .._version import __version__, installed_version
from ._cautions import listed
from ._effects import draw_effects, effects_of
from ._picture import draw_answer
from ._runs import Data

_TERMS = (
    "Drives: tested; the probability that any such claim on this page is wrong is at "
    "most 5 %. Does not matter: its share is below the limit, with all that the runs "
    "leave open. Not settled: neither. The share in all counts what an input does "
    "together with others, and that for each of them, so that shares in all can add "
    "up to more than 100 %. Intervals hold for all inputs of an output together, with "
    "90 %. p is adjusted for all inputs and outputs."
)


def write_report(answer: Any, path: Any) -> None:
    """Write the page in one piece; nothing is drawn where it cannot be written."""
    check_target("path=", path)
    page = HtmlReport(f"What drives {listed(list(map(str, answer._labels)))}")
    page.add_answer(answer.sentences)
    panels = np.ravel(draw_answer(answer))
    shares = SimpleNamespace(figure_=panels[0].figure)
    page.add_figure(shares, "Shares of the variance between the runs")
    page.add_heading("Drivers")
    page.add_text(_TERMS)
    for output, name in enumerate(answer._labels):
        if not np.isnan(answer.q2[output]):
            page.add_columns(answer.columns_in_words(output), str(name))
    if isinstance(answer.source, Data) and not np.isnan(answer.q2).all():
        page.add_heading("Effects")
        page.add_text(
            "Points are runs. Lines are the mean prediction of the model where one "
            "input varies and the others are as in the runs."
        )
        effects = SimpleNamespace(figure_=draw_effects(effects_of(answer)))
        page.add_figure(effects, "Effects of leading inputs")
    page.add_heading("Evidence")
    for line in answer.evidence:
        page.add_text(line)
    page.add_heading("How it was made")
    data = answer.source
    lines = [str(answer.design)]
    if isinstance(data, Data):
        lines.append(
            f"{len(data.X)} runs, {len(data.names)} inputs ({listed(data.names, 12)})."
        )
        if data.logarithms:
            lines.append(f"Logarithms to base 10: {listed(data.logarithms, 12)}.")
    libraries = ("numpy", "scipy", "scikit-learn")
    versions = ", ".join(f"{name} {installed_version(name)}" for name in libraries)
    lines.append(
        f"skpce.explain of skpce {__version__}, Python {platform.python_version()}, "
        f"{versions}."
    )
    for line in lines:
        page.add_text(line)
    page.save(path)
