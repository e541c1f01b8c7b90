"""One HTML file about a fit and members that it has not seen."""

from __future__ import annotations

import os
import platform
import re
import warnings
from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._checks import (
    BoolArray,
    FloatArray,
    IndexArray,
    OutputGroups,
    check_integer,
    check_rows,
    check_target,
    fail,
    refuse_other_rows,
)
from ._compositions.outputs import Outputs
from ._compositions.scoring import checked_policies
from ._expansion.expansion import checked_outputs
from ._expansion.intervals import SobolInterval
from ._input_laws.families import InputOutsideSupportWarning, warn_outside
from ._input_laws.scores import SurrogateDiagnostics
from ._page import Column, HtmlReport
from ._result import Result, error_in_percent
from ._version import __version__, installed_version
from .drivers import Answer, State
from .drivers._findings import percent
from .inspection._reading import (
    Reading,
    expansion_of,
    refuse_expansion,
)
from .plotting import (
    CoverageDisplay,
    MainEffectsDisplay,
    SobolDisplay,
)
from .plotting._indices import spread_of
from .plotting._members import coverage_of
from .plotting._style import (
    NO_VARIANCE,
    NOT_PREDICTED,
    NOT_SUPPORTED,
    held_out_q2,
    refuse_other_steps,
    support_of,
)

# Columns of tables, for the report and those of experiments.


LEVELS = (0.5, 0.8, 0.9, 0.95)  # of intervals

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


def fragility_columns(found: Result) -> list[Column]:
    """Return measures of disagreement; what is 0 but for rounding is 0."""
    columns: list[Column] = [("decision", found.step_names)]
    for heading, name in _MEASURES.items():
        columns.append((heading, without_rounding(getattr(found, name))))
    return [*columns, ("alr reference", found.alr_reference)]


def share_columns(display: SobolDisplay, noun: str = "decision") -> list[Column]:
    """Return shares of the variance; NaN for a step without variance."""
    empty = np.isnan(display.unexplained)
    columns = _cells(empty, display.shares, display.share_bounds)
    return list(
        zip([noun, *display.column_names], [display.step_names, *columns], strict=True)
    )


def _cells(
    empty: BoolArray,  # shape: (n_steps,)
    values: FloatArray,  # shape: (n_steps, n_features or more)
    bounds: FloatArray | None,  # shape: (2, n_steps, n_features)
) -> list[Any]:
    """Return columns of numbers, with intervals where known; none for no variance."""
    values = np.where(empty[:, np.newaxis], np.nan, without_rounding(values))
    columns: list[Any] = list(values.T)
    if bounds is None:
        return columns
    for i in range(bounds.shape[2]):
        columns[i] = [
            "–" if np.isnan(value) else f"{value:z.2f} {interval_in_words(*ends)}"
            for value, ends in zip(columns[i], bounds[:, :, i].T, strict=True)
        ]
    return columns


def driver_columns(verdict: Answer, rows: IndexArray) -> list[Column]:
    """Return the table of drivers, of some of many steps and the leading inputs."""
    table = verdict.drivers
    total = np.nan_to_num(table.total)
    inputs = np.argsort(-total.max(axis=0, initial=0.0), kind="stable")[:MOST_INPUTS]
    every = [
        (o, i)
        for o in rows.tolist()
        if not np.isnan(verdict.q2[o])
        for i in inputs[np.argsort(-total[o, inputs], kind="stable")].tolist()
    ]

    def of(name: str) -> list[Any]:
        return [table.columns[name][cell] for cell in every]

    def share(name: str) -> list[str]:
        ends = [of(name + end) for end in _ENDS]
        return [with_ends(*known) for known in zip(*ends, strict=True)]

    return [
        (next(iter(verdict.keys)), [verdict.step_names[o] for o, _ in every]),
        ("input", [verdict.input_names[i] for _, i in every]),
        ("state", of("state")),
        ("p (Holm)", of("p_value")),
        ("q (Benjamini–Hochberg)", of("q_value")),
        ("share alone", share("first")),
        ("share in all", share("total")),
        ("acts with", of("partners")),
    ]


def _drivers_in_words(verdict: Answer, output: int) -> str:
    """Return the inputs that drive an output with their shares in all."""
    table = verdict.drivers
    order = np.argsort(-np.nan_to_num(table.total[output]), kind="stable")
    driving = [i for i in order.tolist() if table.state[output, i] == State.DRIVES]
    shown = [
        f"{verdict.input_names[i]} "
        + with_ends(*(table.columns[f"total{end}"][output, i] for end in _ENDS))
        for i in driving[:_MOST_DRIVERS]
    ]
    if len(driving) > len(shown):
        shown.append(f"{len(driving) - len(shown)} more")
    return ", ".join(shown) or "–"


def _noise_of(verdict: Answer) -> list[Column]:
    """Return the column of the noise between repeats, where there are some."""
    noise = ("noise between repeats", list(map(_percent, verdict.noise_share)))
    return [] if np.isnan(verdict.noise_share).all() else [noise]


def with_ends(share: float, low: float, high: float) -> str:
    """Return a share in percent with its interval; a dash for none."""
    if np.isnan(share):
        return "–"
    text = f"{percent(share)} [{100 * low:.0f}, {100 * high:.0f}]"
    return text.replace(" ", "\u00a0")


def without_rounding(values: FloatArray) -> FloatArray:
    """Return numbers; what is 0 but for rounding is 0."""
    return np.where(np.abs(values) < 1e-12, 0.0, values)


def percent_with_error(value: float, error: float) -> str:
    """Return a share and its standard error in percent; "<1%" if both round to zero."""
    if 0.0 < abs(value) < 0.005 and error < 0.005:
        return "<1%"
    return f"{value:z.0%} ± {error_in_percent(error)}"


def interval_in_words(low: float, high: float) -> str:
    """Return the ends of an interval on one line; a dash where there is none."""
    return "–" if np.isnan(low) else f"[{low:z.2f},\u00a0{high:z.2f}]"


def _percent(share: float) -> str:
    return "–" if np.isnan(share) else f"{100.0 * max(share, 0.0):.0f}\u00a0%"


# Which of many steps, or outputs, a report shows: those of the largest variance.


#: Rows of a table, and bars of a figure, at most.
MOST_LISTED = 60
MOST_DRAWN = 12

#: Inputs in tables and figures, at most: those of the largest total indices.
MOST_INPUTS = 24

# Drivers that are named in a row; names of a share and of its ends.
_MOST_DRIVERS = 4
_ENDS = ("", "_low", "_high")


def _largest(values: FloatArray, most: int) -> IndexArray:
    """Return the positions of the largest values, in their order."""
    return np.sort(np.argsort(-values, kind="stable")[:most])


# The page.


_OF_FRAGILITY = (
    "The measures can rank the decisions differently. Summed variances grow with the "
    "number of actions and weigh rare actions like frequent ones; the alr sum depends "
    "on its reference action too. Total variation (TV) and Jensen-Shannon divergence "
    "(JS, in nats) are distances of probabilities, to the mean policy or between two "
    "members. Mutual information is that of member and action, in nats. “Of largest” "
    "divides by the largest value that so many actions allow."
)
_OF_SPREAD = (
    "Variances are in squared units of each output, those of its columns added up; "
    "outputs in different units cannot be compared by them. The standard deviation is "
    "the root of the variance per column."
)
_GOODNESS = (
    "Q² is one minus the squared error over the squared deviation from the mean{how}. "
    "Leave-one-out is that of the {model} alone, conditional on its inputs. The test "
    "data are members that were not fitted, provided that whoever made this page held "
    "them out."
)
_PACKAGES = ("numpy", "scipy", "scikit-learn", "matplotlib")


class FitReport(HtmlReport):
    """The sections about a fit, whose step or output is a row of the tables."""

    def __init__(
        self,
        title: str,
        pipeline: Any,
        reading: Reading,
        y: Any,
        verdict: Answer | None,
        random_state: int,
        outputs: OutputGroups = None,
    ) -> None:
        super().__init__(title)
        self.pipeline, self.surrogate = pipeline, reading.estimator
        self.reading, self.outputs = reading, outputs
        self.expansion = reading.expansion
        self.input_names = self.expansion.input_names
        self.step_names = self.expansion.group_names
        self.inputs, n_members = reading.inputs, len(reading.inputs)
        self.is_real = reading.compositions is None  # else of compositions
        # What a row of the tables is, one of them, the fit.
        self.noun, self.one, self.model = "decision", "a decision", "surrogate"
        if self.is_real:
            self.noun, self.one, self.model = "output", "an output", "expansion"
            names = self.expansion.output_names
            self.y = checked_outputs(y, names, n_members, "y_test")
        else:
            self.y = checked_policies(y, self.surrogate, n_members, "y_test")
        if verdict is not None:
            refuse_other_steps(verdict, self.step_names)
            if len(verdict.input_names) == len(self.input_names):
                verdict = verdict.with_names(self.input_names)
        self.verdict, self.random_state = verdict, random_state
        # Arguments of displays.
        self.known: dict[str, Any] = {
            "verdict": verdict,
            "input_features": self.input_names,
            "outputs": outputs,
        }
        self.support = support_of(self.expansion, verdict)
        self.source = "those of the table of drivers"  # of shares of the variance
        if verdict is None:
            self.source = "first order times leave-one-out Q²"
        self.spread: Any = spread_of(reading, self.y)
        name = "variance" if self.is_real else "aitchison_variance"
        self.variance = np.nan_to_num(getattr(self.spread, name))
        # Rows of tables, those of figures, and inputs: all, or those that matter most.
        self.listed = _largest(self.variance, MOST_LISTED)
        self.drawn = _largest(self.variance, MOST_DRAWN)
        self.leading = self._leading(self.expansion.sobol_indices().total_order)

    @staticmethod
    def _leading(total: FloatArray) -> IndexArray:
        """Return the inputs of the largest total indices in any row."""
        return _largest(np.nan_to_num(total).max(axis=0), MOST_INPUTS)

    @cached_property
    def answers(self) -> list[str]:
        """Say in a word whether something is shown to drive each step."""
        judged: Any = "not judged"
        if self.verdict is not None:
            judged = np.where(self.verdict.attributable, "driven", NOT_SUPPORTED)
        if self.is_real:
            choices, without = ~np.isnan(self.support.unexplained), NO_VARIANCE
        else:
            choices, without = self.surrogate.geometry_.has_choice, "no choice"
        answers: list[str] = np.where(choices, judged, without).tolist()
        return answers

    @cached_property
    def diagnostics(self) -> SurrogateDiagnostics:
        """Inputs of the fit; those of the test data where it retained none."""
        if not self.is_real:
            found: SurrogateDiagnostics = self.surrogate.diagnostics_
            return found
        problem, basis = self.reading.problem, self.expansion.basis
        assert problem is not None  # refused before
        inputs = np.asarray(self.inputs, dtype=np.float64)
        if problem.samples is not None:
            inputs = problem.samples.inputs
        n_members = round(problem.total_weight)
        return SurrogateDiagnostics(
            self.expansion.q2, n_members, basis.n_terms, inputs, basis
        )

    def add_rows(
        self, columns: Iterable[Column], caption: str = "", answered: bool = False
    ) -> None:
        """Add the rows of a table that are listed, with their answers if asked for."""
        known = [(self.noun, self.step_names), *columns]
        known += [("attribution", self.answers)] if answered else []
        rows = [(head, [values[i] for i in self.listed]) for head, values in known]
        self.add_columns(rows, caption)

    def add_answers(self) -> None:
        """Say the answer, show it, and list it: a row for each decision or output."""
        verdict = self.verdict
        self.add_heading("Answer")
        if len(self.listed) < len(self.step_names):
            self.add_text(
                f"There are {len(self.step_names)} {self.noun}s. Tables list the "
                f"{len(self.listed)} and figures draw the {len(self.drawn)} of the "
                "largest variance in the test data; a verdict and the fit have all."
            )
        if verdict is None:
            self.add_text(
                "No verdict was given. All figures below are conditional on the inputs "
                f"as the {self.model} got them: a transformation of X that was fitted "
                "before has seen every member that leave-one-out leaves out. Which "
                "input drives what is not tested; skpce.inspection.verdict does it."
            )
        else:
            self.add_answer(verdict.sentences)
        shares = SobolDisplay.from_fit(self.pipeline, **self.known)
        self.add_figure(
            shares.some(self.drawn).plot(),
            "Shares of the variance between members: of each input alone, of several "
            f"together, and what is not predicted ({self.source}).",
        )
        columns: list[Column] = [("attribution", self.answers)]
        if verdict is not None:
            every = range(len(self.step_names))
            drivers = [_drivers_in_words(verdict, output) for output in every]
            columns.append(("drivers, share in all", drivers))
        columns.append((NOT_PREDICTED, list(map(_percent, shares.unexplained))))
        if verdict is not None:
            columns += [*_noise_of(verdict), ("p (Holm)", verdict.p_value)]
        self.add_rows(columns)

    def add_verdict(self) -> None:
        verdict = self.verdict
        if verdict is None:
            return
        self.add_heading("Verdict")
        self.add_preformatted("\n".join(verdict.evidence))
        level = f"{100.0 * verdict.confidence_level:.3g}\u00a0%"
        if verdict.input_names:
            self.add_columns(
                driver_columns(verdict, self.listed),
                f"The drivers: shares of the variance of the {self.noun}, with {level} "
                "intervals that hold together",
            )
        if len(verdict.pairs.rows):
            table = verdict.pairs
            columns = [
                ("pair", list(table.keys["pair"])),
                ("p (Holm)", table.p_value),
                ("share that neither explains alone", list(map(percent, table.share))),
            ]
            self.add_columns(columns, "Pairs that act together")
        ends = zip(verdict.q2_low, verdict.q2_high, strict=True)
        columns = [
            ("members", verdict.members),
            ("Q², runs left out", verdict.q2),
            (f"{level} interval", [interval_in_words(*pair) for pair in ends]),
            (NOT_PREDICTED, list(map(_percent, verdict.not_predicted))),
            *_noise_of(verdict),
        ]
        if not np.isnan(verdict.columns["lack_of_fit"]).all():
            columns.append(("lack of fit, p", verdict.columns["lack_of_fit"]))
        columns.append(("p (Holm)", verdict.p_value))
        self.add_rows(columns, f"The {self.noun}s", answered=True)
        self.add_text(
            "Q² is that of the pipeline, refitted whole without the members it "
            "predicts. Shares, and what is not predicted, are those of a fit that "
            "learns its own degree from the inputs. Of "
            f"{self.one} that nothing is shown to drive the shares are not to "
            "be read."
        )

    def add_goodness(self) -> None:
        self.add_heading(f"How well the inputs predict each {self.noun}")
        scales: Any = 1.0  # what columns of an output that are added up are divided by
        how = "; the columns of an output are added up as given"
        if self.verdict is not None and self.expansion.groups is not None:
            measured = self.verdict.figures.get("measured_as")
            if isinstance(measured, Outputs) and measured.is_scaled:
                scales = measured.scales
                how = how.replace("as given", "in units of their standard deviations")
        predicted = np.reshape(self.surrogate.predict(self.inputs), self.y.shape)
        test_q2 = held_out_q2(self.reading, self.y / scales, predicted / scales)
        sizes = each = "columns"
        if not self.is_real:
            how = ", in Aitchison geometry: free of any reference action"
            sizes, each = "actions", "n_possible"
        columns: list[Column] = [
            (sizes, self.spread.columns[each]),
            ("Q², leave-one-out", self.expansion.q2),
            ("Q², test data", test_q2),
        ]
        if self.verdict is not None:
            columns.append(("Q², runs left out", self.verdict.q2))
        self.add_rows(columns, answered=True)
        self.add_text(_GOODNESS.format(how=how, model=self.model))

    def add_spread(self) -> None:
        found = self.spread
        self.add_heading("How much the members disagree")
        what, text = "Fragility", _OF_FRAGILITY
        if self.is_real:
            what, text = "Spread", _OF_SPREAD
            columns = [(n.replace("_", " "), v) for n, v in found.columns.items()]
        else:
            columns = fragility_columns(found)[1:]
        if self.is_real and (found.members < len(self.y)).any():
            text += " A member that failed in one output (NaN) counts in the others."
        self.add_rows(columns, f"{what} of the {len(self.y)} members of the test data")
        self.add_text(text)

    def add_indices(self) -> None:
        self.add_heading("Shares of the variance and Sobol indices")
        leading = self.leading
        if self.verdict is not None and self.verdict.input_names:
            leading = self._leading(self.verdict.drivers.total)
        every = SobolDisplay.from_fit(self.pipeline, **self.known)
        shares = every.of_inputs(leading)
        if shares is not every:
            self.add_text(
                f"There are {len(every.input_names)} inputs. Tables and figures show "
                f"the {len(leading)} of the largest total shares; shares of the others "
                "are added up."
            )
        self.add_rows(
            share_columns(shares)[1:],
            f"Shares of the variance between members, alone ({self.source})",
            answered=True,
        )
        interval = self._interval()
        bounds = None if interval is None else interval.total_order
        total_order = self.expansion.sobol_indices().total_order
        total = _cells(np.isnan(self.support.unexplained), total_order, bounds)
        self.add_rows(
            [(self.input_names[i], total[i]) for i in self.leading],
            "Total Sobol indices: shares of the variance of the expansion, not of the "
            f"{self.noun}",
        )
        if self.verdict is not None:
            self.add_text(
                f"In brackets: {100.0 * self.verdict.confidence_level:.3g} % intervals "
                f"of the shares, which hold for all inputs of {self.one} "
                "together and contain the error of the fit."
            )
        if interval is not None:
            self.add_text(
                f"In brackets: {100.0 * interval.confidence_level:.3g} % intervals of "
                "the indices, one at a time. They contain the error of the "
                f"coefficients and what the {self.model} leaves out."
            )
        if self.reading.is_sampled:
            self.add_text(
                "The indices are by sampling: those of an expansion of the regressor's "
                "predictions at draws of its inputs. Its fidelity is the share of "
                "their variance that the expansion has on fresh draws."
            )
            self.add_rows([("fidelity", self.surrogate.fidelity_)])
        self.add_text(
            "Indices assume independent inputs with the stated distributions. Total "
            "indices count an interaction once for each of its inputs, so a row can "
            "exceed one."
        )

    def _interval(self) -> SobolInterval | None:
        """Return intervals of the indices of each row, where there are some."""
        problem, n_rows = self.reading.problem, self.expansion.n_groups
        if problem is None or problem.samples is None or self.reading.is_sampled:
            return None
        if self.is_real and n_rows < self.expansion.n_outputs:
            return None
        try:
            found: SobolInterval = self.surrogate.sobol_interval(random_state=0)
            return found
        except ValueError:  # weights that count no members
            return None

    def add_coverage(self) -> None:
        self.add_heading("Coverage on the test data")
        seed: dict[str, Any] = {"random_state": self.random_state}
        interval = partial(self.surrogate.predict_interval, self.inputs, **seed)
        try:
            bounds = [interval(confidence_level=level) for level in LEVELS]
            given = self.pipeline, self.reading.X, self.y
            display = CoverageDisplay.from_estimator(
                *given, levels=LEVELS, outputs=self.outputs, **seed
            )
        except ValueError as error:  # no residual law: more terms than members
            self.add_text(f"There are no intervals. {error}")
            return
        n_outputs = self.expansion.n_outputs
        has_groups = not self.is_real or n_outputs > len(self.step_names)
        kinds = ("marginal", "joint") if has_groups else ("marginal",)
        score = coverage_of(self.reading, self.y)
        columns: list[Column] = []
        for kind in kinds:
            found = [score(*pair, kind=kind) for pair in bounds]
            if not columns:  # level by level, of steps with a choice
                steps = self.listed[~np.isnan(found[0].coverage[self.listed])]
                names = [self.step_names[s] for s in steps.tolist() for _ in LEVELS]
                columns = [(self.noun, names), ("level", [*LEVELS] * len(steps))]
            coverage, low, high = (
                np.array([getattr(one, name)[steps] for one in found]).T.ravel()
                for name in ("coverage", "lower", "upper")
            )
            intervals = [
                interval_in_words(*ends) for ends in zip(low, high, strict=True)
            ]
            columns += [(kind, coverage), ("95 % error", intervals)]
        caption = f"Intervals given the inputs, {len(self.y)} members of the test data"
        self.add_columns(columns, caption)
        values, parts = "probabilities", "actions"
        if self.is_real:
            values, parts = "values", "columns"
        text = (
            f"Marginal: the share of {values} inside their interval, which should be "
            "the level. "
        )
        if has_groups:
            text += (
                f"Joint: the share of members with all {parts} of the {self.noun} "
                "inside; marginal intervals are not made for it, so it is lower. "
            )
        self.add_text(f"{text}Errors are Wilson intervals with one trial a member.")
        self.add_figure(
            display, f"Nominal and empirical marginal coverage, all {self.noun}s."
        )

    def add_effects(self) -> None:
        if not (self.expansion.total_variance > 0).any():
            return
        self.add_heading("What each input does")
        display = MainEffectsDisplay.from_estimator(
            self.pipeline,
            self.reading.X,
            features=self.leading.tolist(),
            random_state=self.random_state,
            **self.known,
        )
        self.add_figure(
            display,
            "Mean of the prediction at each value of an input, the others averaged "
            "out, less the mean of all; at most the six columns that change most.",
        )

    def add_inputs(self) -> None:
        diagnostics = self.diagnostics
        self.add_heading("The inputs")
        figures = {
            "members fitted": diagnostics.n_members,
            "terms of the expansion": diagnostics.n_terms,
            # what is below is rounding
            "largest correlation of two inputs": round(
                diagnostics.largest_correlation, 12
            ),
            "condition number of the design": diagnostics.condition_number,
        }
        self.add_table(["figure", "value"], list(figures.items()))
        names = [self.input_names[i] for i in self.leading]
        p_values = diagnostics.distribution_p_values[self.leading]
        self.add_columns(
            [("input", names), ("p-value", p_values)],
            "Fit of each input to its distribution",
        )

    def add_origin(self, date: str | None) -> None:
        self.add_heading("How this was made")
        rows: list[list[Any]] = [
            ["members fitted", self.diagnostics.n_members],
            ["members of the test data", len(self.y)],
            [f"inputs of the {self.model}", len(self.input_names)],
            [f"{self.noun}s", len(self.step_names)],
            ["columns" if self.is_real else "parts", int(self.y.shape[1])],
            ["random_state", self.random_state],
            ["python", platform.python_version()],
            ["skpce", __version__],
        ]
        rows += [[name, installed_version(name)] for name in _PACKAGES]
        if date is not None:
            rows.append(["date", date])
        self.add_table(["what", "value"], rows)
        # Addresses of objects in memory differ from run to run.
        self.add_preformatted(re.sub(r" at 0x[0-9a-fA-F]+", "", repr(self.pipeline)))


_TITLE = "What drives each decision"


def report(
    pipeline: Any,
    X_test: ArrayLike,
    y_test: ArrayLike,
    *,
    verdict: Answer | None = None,
    path: str | os.PathLike[str] | None = None,
    title: str = _TITLE,
    input_features: Sequence[str] | None = None,
    date: str | None = None,
    random_state: int = 0,
    outputs: OutputGroups = None,
) -> str:
    """Describe a fit in one self-contained HTML page.

    The answer comes first: sentences, a picture and a row for each decision or output.
    Then come, folded, the verdict, Q², the fragility of policies or the spread of real
    outputs, shares and Sobol indices, and coverage on members that were held out. Where
    a verdict is given, each share of the variance is that of its table of drivers. The
    page has no script and asks nothing of another host, and the same arguments give the
    same bytes. All arguments are checked before anything is computed
    or written: a ``ValueError`` says which data, verdict or path does not fit.

    Parameters
    ----------
    pipeline : fitted estimator
        A :class:`skpce.CompositionalPCESurrogate` or a
        :class:`skpce.PolynomialChaosRegressor`, or a Pipeline that ends in one.
    X_test : array-like of shape (n_members, n_features)
        Inputs of members that were not fitted, before any embedding.
    y_test : array-like of shape (n_members, n_parts) or data frame
        Their policies, the steps side by side; or their real outputs (NaN where a
        member failed).
    verdict : Answer or None, default=None
        From :func:`skpce.inspection.verdict`, on the members that were fitted. With
        None the page says that there is none.
    path : str, path-like or None, default=None
        Where to write the page, as .html or .htm, in one piece; None only returns it.
    title : str, default="What drives each decision"
        Heading of the page; for real outputs it ends in "output".
    input_features : sequence of str or None, default=None
        Names of the inputs of the expansion; None asks the pipeline.
    date : str or None, default=None
        Printed with the versions. None prints no date.
    random_state : int, default=0
        Randomness of the draws behind intervals and figures.
    outputs : dict or None, default=None
        Columns of real outputs that belong together, such as
        ``{"accuracy": 1, "logits": 10}``. None takes the groups of the verdict, else
        those of the names of y in ``fit``.

    Returns
    -------
    page : str
        The HTML text.

    See Also
    --------
    skpce.inspection.verdict : Which input drives which output?
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
    if not isinstance(title, str):
        raise fail("report", "title", "a str", title)
    if not (date is None or isinstance(date, str)):
        raise fail("report", "date", "a str or None", date)
    check_integer("report", "random_state", random_state)
    if path is not None:
        check_target("path=", path)
    check_rows("report", "X_test", X_test)
    refuse_other_rows(X_test=X_test, y_test=y_test)
    reading = expansion_of(
        pipeline, X_test, input_features, outputs=outputs, verdict=verdict
    )
    refuse_expansion(reading)
    if len(reading.inputs) < 2:
        raise ValueError(
            f"X_test has {len(reading.inputs)} members; expected two or more."
        )
    if reading.compositions is None and title == _TITLE:
        title = "What drives each output"
    page = FitReport(title, pipeline, reading, y_test, verdict, random_state, outputs)
    expansion = reading.expansion
    with warnings.catch_warnings():  # once, and in no section
        warnings.simplefilter("ignore", InputOutsideSupportWarning)
        inputs = reading.table
        assert inputs is not None  # X_test was given
        page.add_answers()
        page.add_verdict()
        page.add_goodness()
        page.add_spread()
        page.add_indices()
        page.add_coverage()
        page.add_effects()
        page.add_inputs()
        page.add_origin(date)
    basis = expansion.basis
    warn_outside(basis.laws, inputs, expansion.input_names, basis.reach)
    if path is not None:
        page.save(path)
    return page.to_html()
