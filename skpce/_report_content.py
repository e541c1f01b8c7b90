"""What the sections of a report read and write: fit, test data, figures, cells."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from ._checks import FloatArray
from ._report import HtmlReport
from .inspection import Verdict
from .plotting._steps import fragility_of
from .plotting._style import NOT_SUPPORTED, attribution_of, surrogate_q2

_DOTS_PER_INCH = 110


class ReportContent:
    """What the sections read: the fit, its inputs' names, the test data."""

    def __init__(
        self,
        pipeline: Any,
        surrogate: Any,
        input_names: list[str],
        inputs: Any,
        y: FloatArray,
        verdict: Verdict | None,
    ) -> None:
        self.pipeline, self.surrogate = pipeline, surrogate
        self.input_names, self.verdict = input_names, verdict
        self.inputs, self.y = inputs, y
        self.step_names = list(surrogate.step_names_)
        self.attribution = attribution_of(pipeline, input_names).judged(verdict)
        self.test_q2 = surrogate_q2(surrogate, inputs, y)
        self.fragility = fragility_of(surrogate, y)

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
        display.figure_.savefig(
            stream,
            format="png",
            dpi=_DOTS_PER_INCH,
            metadata={"Software": None},
        )
    finally:
        plt.close(display.figure_)
    page.add_png(stream.getvalue(), description)


def interval_text(low: float, high: float) -> str:
    """Return the ends of an interval; a dash where there is none."""
    return "–" if np.isnan(low) else f"[{low:.2f}, {high:.2f}]"
