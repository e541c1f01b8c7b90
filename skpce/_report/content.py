"""What the sections of a report read."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from .._checks import FloatArray, IndexArray
from .._compositions.outputs import Outputs, checked_outputs
from .._compositions.scoring import checked_policies
from .._input_laws.scores import SurrogateDiagnostics
from ..drivers import Answer
from ..inspection._reading import Reading
from ..plotting import StepVarianceDisplay
from ..plotting._steps import spread_of
from ..plotting._style import (
    NO_VARIANCE,
    NOT_SUPPORTED,
    Support,
    composition_q2,
    output_q2,
    refuse_other_steps,
)
from .page import Column
from .shown import (
    MOST_DRAWN,
    MOST_INPUTS,
    MOST_LISTED,
    of_largest,
    some_of,
    some_rows,
    some_spread,
)


class ReportContent:
    """What the sections read: the fit, its inputs' names, the test data."""

    def __init__(
        self,
        pipeline: Any,
        reading: Reading,
        y: Any,
        verdict: Answer | None,
        random_state: int,
        outputs: Any = None,
    ) -> None:
        self.pipeline, self.surrogate = pipeline, reading.estimator
        self.reading, self.outputs = reading, outputs
        self.expansion, self.is_sampled = reading.expansion, reading.is_sampled
        self.input_names = self.expansion.input_names
        self.step_names = self.expansion.group_names
        self.inputs = reading.inputs
        self.y = self._checked(y)
        if verdict is not None:
            refuse_other_steps(verdict, self.step_names)
            if len(verdict.input_names) == len(self.input_names):
                verdict = verdict.with_names(self.input_names)
        self.verdict, self.random_state = verdict, random_state
        self.support = Support.of(self.expansion, verdict)
        self.fragility: Any = spread_of(reading, self.y)

    def _checked(self, y: Any) -> FloatArray:
        n_members = len(self.inputs)
        if self.is_real:
            names = self.expansion.output_names
            return checked_outputs(y, names, n_members, "y_test")
        return checked_policies(y, self.surrogate, n_members, "y_test")

    @property
    def is_real(self) -> bool:
        """Whether the fit is one of real outputs, not of compositions."""
        return self.reading.compositions is None

    @property
    def noun(self) -> str:
        """What a row of the tables is."""
        return "output" if self.is_real else "decision"

    @property
    def one(self) -> str:
        """The same at the start of a sentence."""
        return "An output" if self.is_real else "A decision"

    @property
    def model(self) -> str:
        """What was fitted."""
        return "expansion" if self.is_real else "surrogate"

    @property
    def sizes(self) -> tuple[str, Any]:
        """Column of the number of possible actions, or of columns of y."""
        if self.is_real:
            return "columns", self.fragility.columns["columns"]
        return "actions", self.fragility.n_possible

    @property
    def known(self) -> dict[str, Any]:
        """Arguments of displays."""
        return {
            "verdict": self.verdict,
            "input_features": self.input_names,
            "outputs": self.outputs,
        }

    @property
    def is_scaled(self) -> bool:
        """Whether the columns of an output are added up in units of their own."""
        measured = None if self.verdict is None else self.verdict.figures
        judged = (measured or {}).get("measured_as")
        is_outputs = isinstance(judged, Outputs) and judged.is_scaled
        return is_outputs and self.expansion.groups is not None

    @property
    def test_q2(self) -> FloatArray:
        """Q² of each step or output on the test data."""
        predicted = np.reshape(self.surrogate.predict(self.inputs), self.y.shape)
        if self.is_real:
            scales: Any = 1.0
            if self.is_scaled and self.verdict is not None:
                scales = self.verdict.measured_as.scales
            return output_q2(self.y / scales, predicted / scales, self.expansion)
        geometry, zero = self.surrogate.geometry_, self.surrogate.zero_replacement
        return composition_q2(self.y, predicted, geometry, zero)

    @property
    def source(self) -> str:
        """Where shares of the variance come from."""
        if self.verdict is None:
            return "first order times leave-one-out Q²"
        return "those of the table of drivers"

    @cached_property
    def answers(self) -> list[str]:
        """Say in a word whether something is shown to drive each step."""
        judged = ["not judged"] * len(self.step_names)
        if self.verdict is not None:
            words = {True: "driven", False: NOT_SUPPORTED}
            judged = [words[good] for good in self.verdict.attributable]
        if self.is_real:
            choices, without = ~np.isnan(self.support.unexplained), NO_VARIANCE
        else:
            choices, without = self.surrogate.geometry_.has_choice, "no choice"
        return [
            answer if choice else without
            for answer, choice in zip(judged, choices, strict=True)
        ]

    @property
    def variance(self) -> FloatArray:
        """Variance of the members at each step, or of each output."""
        found = self.fragility
        variance = found.variance if self.is_real else found.aitchison_variance
        return np.nan_to_num(variance)

    @cached_property
    def listed(self) -> IndexArray:
        """Steps or outputs that tables list."""
        return of_largest(self.variance, MOST_LISTED)

    @cached_property
    def drawn(self) -> IndexArray:
        """Steps or outputs that figures draw."""
        return of_largest(self.variance, MOST_DRAWN)

    @cached_property
    def leading(self) -> IndexArray:
        """Inputs that tables and figures show: all, or those that matter most."""
        total = self.expansion.sobol_indices().total_order
        return of_largest(np.nan_to_num(total).max(axis=0), MOST_INPUTS)

    @cached_property
    def leading_shares(self) -> IndexArray:
        """Inputs whose shares are shown: those of a verdict, else the leading ones."""
        if self.verdict is None or not self.verdict.input_names:
            return self.leading
        total = self.verdict.drivers.total
        return of_largest(np.nan_to_num(total).max(axis=0), MOST_INPUTS)

    def rows(self, columns: Iterable[Column]) -> list[Column]:
        """Return the rows of a table that are listed."""
        return some_rows(columns, self.listed)

    def spread_display(self) -> StepVarianceDisplay:
        """Draw how much the members disagree, cut into what is predicted."""
        display = StepVarianceDisplay(
            some_spread(self.fragility, self.drawn),
            unexplained=self.support.unexplained[self.drawn],
            supported=some_of(self.support.supported, self.drawn),
        )
        return display.plot()

    @cached_property
    def diagnostics(self) -> SurrogateDiagnostics:
        """Inputs of the fit; those of the test data where it retained none."""
        if not self.is_real:
            found: SurrogateDiagnostics = self.surrogate.diagnostics_
            return found
        problem = self.reading.problem
        assert problem is not None  # refused before
        inputs = np.asarray(self.inputs, dtype=np.float64)
        if problem.samples is not None:
            inputs = problem.samples.inputs
        return SurrogateDiagnostics(
            self.expansion.q2,
            round(problem.total_weight),
            self.expansion.basis.n_terms,
            None,
            inputs,
            self.expansion.basis,
        )

    def ranked_steps(self, share: float | FloatArray = 1.0) -> list[int]:
        """Return the steps with this share of a variance, the largest first."""
        variance = share * self.variance
        order = np.argsort(-variance, kind="stable")
        return [int(step) for step in order if variance[step] > 0]

    def explained_steps(self) -> list[int]:
        """Return the steps of which something is predicted, the largest first."""
        share = 1.0 - np.nan_to_num(self.support.unexplained, nan=1.0)
        if self.support.supported is not None:
            share = share * np.array(self.support.supported)
        return self.ranked_steps(share)
