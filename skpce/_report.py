"""One HTML file about a fit and members that it has not seen."""

from __future__ import annotations

import os
import platform
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._checks import (
    BoolArray,
    FloatArray,
    IndexArray,
    OutputGroups,
    RandomState,
    check_integer,
    check_rows,
    check_target,
    fail,
    refuse_other_rows,
)
from ._compositions.indices import sobol_interval
from ._compositions.log_ratio import clr_of, transformer_of
from ._compositions.outputs import Outputs, checked_outputs
from ._compositions.scoring import checked_policies
from ._expansion.intervals import SobolInterval, checked_method
from ._input_laws.columns import warn_outside
from ._input_laws.families import InputOutsideSupportWarning
from ._input_laws.scores import SurrogateDiagnostics
from ._page import Column, HtmlReport
from ._result import Result, error_in_percent
from ._solvers.problem import LOG_RATIO_FLOOR, q2_from_sums, weighted_spread
from ._version import __version__, installed_version
from .drivers import Answer, State
from .drivers._findings import percent
from .inspection._reading import (
    Reading,
    expansion_of,
    group_matrix,
    refuse_expansion,
)
from .plotting import (
    CoverageDisplay,
    EmbeddingDisplay,
    InteractionDisplay,
    MainEffectsDisplay,
    PolicyDistributionDisplay,
    SobolDisplay,
    StepVarianceDisplay,
)
from .plotting._members import coverage_of
from .plotting._steps import spread_of
from .plotting._style import (
    NO_VARIANCE,
    NOT_PREDICTED,
    NOT_SUPPORTED,
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


def interval_of(reading: Reading) -> SobolInterval | None:
    """Return intervals of the indices of each step or output, where there are some."""
    expansion, problem = reading.expansion, reading.problem
    if problem is None or problem.samples is None or reading.is_sampled:
        return None
    try:
        if reading.compositions is not None:
            method = checked_method("report", None, problem.solver, "residual")
            known: Any = {"method": method, "random_state": 0}
            return sobol_interval(reading.compositions, "step", **known)
        if expansion.n_groups < expansion.n_outputs:
            return None
        found: SobolInterval = reading.estimator.sobol_interval(random_state=0)
        return found
    except ValueError:  # weights that count no members
        return None


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


def coverage_columns(
    names: Sequence[str],
    scores: Mapping[str, Sequence[Result]],  # by kind, one a level
    listed: IndexArray,  # positions of the names
    noun: str = "decision",
) -> list[Column]:
    """Return coverage with its error, level by level, of listed steps with a choice."""
    first = next(iter(scores.values()))[0]
    steps = listed[~np.isnan(first.coverage[listed])]
    columns: list[Column] = [
        (noun, [names[int(step)] for step in steps for _ in LEVELS]),
        ("level", [*LEVELS] * len(steps)),
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


def percent_with_error(value: float, error: float) -> str:
    """Return a share and its standard error in percent; "<1%" if both round to zero."""
    if 0.0 < abs(value) < 0.005 and error < 0.005:
        return "<1%"
    return f"{value:z.0%} ± {error_in_percent(error)}"


def interval_in_words(low: float, high: float) -> str:
    """Return the ends of an interval on one line; a dash where there is none."""
    return "–" if np.isnan(low) else f"[{low:z.2f},\u00a0{high:z.2f}]"


# Which of many steps, or outputs, a report shows: those of the largest variance.


#: Rows of a table, and bars of a figure, at most.
MOST_LISTED = 60
MOST_DRAWN = 12

#: Inputs in tables and figures, at most: those of the largest total indices.
MOST_INPUTS = 24

# Drivers that are named in a row; names of a share and of its ends.
_MOST_DRIVERS = 4
_ENDS = ("", "_low", "_high")


def of_largest(variance: FloatArray, most: int) -> IndexArray:
    """Return the positions of the largest variances, in their order."""
    return np.sort(np.argsort(-variance, kind="stable")[:most])


def _leading_inputs(total: FloatArray) -> IndexArray:
    """Return the inputs of the largest total indices in any row."""
    return of_largest(np.nan_to_num(total).max(axis=0), MOST_INPUTS)


def some_of(values: Any, rows: IndexArray) -> Any:
    """Return some entries of a tuple, a list or an array; None stays None."""
    if values is None or isinstance(values, np.ndarray):
        return None if values is None else values[rows]
    return tuple(values[row] for row in rows)


def some_rows(columns: Iterable[Column], rows: IndexArray) -> list[Column]:
    """Return some rows of a table."""
    return [(heading, some_of(values, rows)) for heading, values in columns]


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

    def share(name: str) -> list[str]:
        return [
            with_ends(*(table.columns[name + end][cell] for end in _ENDS))
            for cell in every
        ]

    def of(name: str) -> list[Any]:
        return [table.columns[name][cell] for cell in every]

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


def with_ends(share: float, low: float, high: float) -> str:
    """Return a share in percent with its interval; a dash for none."""
    if np.isnan(share):
        return "–"
    text = f"{percent(share)} [{100 * low:.0f}, {100 * high:.0f}]"
    return text.replace(" ", "\u00a0")


def drivers_in_words(verdict: Answer, output: int) -> str:
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


def _held_out_q2(
    reading: Reading, y: ArrayLike, predicted: ArrayLike
) -> FloatArray:  # shape: (n_groups,); NaN without choice, or where members agree
    """Return Q² per step in Aitchison geometry, or per output, of these members.

    A member counts in an output when it has all of its columns (no NaN).
    """
    floor: dict[str, Any] = {}
    if reading.compositions is None:
        observed = np.asarray(y, dtype=np.float64)
        observed = observed.reshape(len(observed), -1)
        found = np.asarray(predicted, dtype=np.float64).reshape(observed.shape)
    else:
        geometry, floor = reading.compositions.geometry, {"floor": LOG_RATIO_FLOOR}
        zero = transformer_of(reading.estimator).zero_replacement
        observed = clr_of(y, geometry, zero, "y")
        found = clr_of(predicted, geometry, zero, "prediction")
    q2 = np.full(reading.expansion.n_groups, np.nan)
    for group, columns in enumerate(group_matrix(reading.expansion) > 0):
        rows = ~np.isnan(observed[:, columns]).any(axis=1)
        some = observed[np.ix_(rows, columns)]
        if some.size:
            press = np.square(some - found[np.ix_(rows, columns)]).sum()
            spread = weighted_spread(some, np.ones(len(some)), **floor).sum()
            q2[group] = q2_from_sums(press, spread)
    return q2


# What the sections of a report read.


class ReportContent:
    """What the sections read: the fit, its inputs' names, the test data."""

    def __init__(
        self,
        pipeline: Any,
        reading: Reading,
        y: Any,
        verdict: Answer | None,
        random_state: int,
        outputs: OutputGroups = None,
    ) -> None:
        self.pipeline, self.surrogate = pipeline, reading.estimator
        self.reading, self.outputs = reading, outputs
        self.expansion, self.is_sampled = reading.expansion, reading.is_sampled
        self.input_names = self.expansion.input_names
        self.step_names = self.expansion.group_names
        self.inputs = reading.inputs
        self.is_real = reading.compositions is None  # else of compositions
        # What a row of the tables is, the same at the start of a sentence, the fit.
        self.noun, self.one, self.model = (
            ("output", "An output", "expansion")
            if self.is_real
            else ("decision", "A decision", "surrogate")
        )
        n_members = len(self.inputs)
        if self.is_real:
            names = self.expansion.output_names
            self.y = checked_outputs(y, names, n_members, "y_test")
        else:
            self.y = checked_policies(y, self.surrogate, n_members, "y_test")
        if verdict is not None:
            refuse_other_steps(verdict, self.step_names)
            if len(verdict.input_names) == len(self.input_names):
                verdict = verdict.with_names(self.input_names)
        self.verdict, self.random_state = verdict, random_state
        self.support = support_of(self.expansion, verdict)
        self.fragility: Any = spread_of(reading, self.y)

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
        if self.verdict is None or self.expansion.groups is None:
            return False
        measured = self.verdict.figures.get("measured_as")
        return isinstance(measured, Outputs) and measured.is_scaled

    @property
    def test_q2(self) -> FloatArray:
        """Q² of each step or output on the test data."""
        predicted = np.reshape(self.surrogate.predict(self.inputs), self.y.shape)
        scales: Any = 1.0
        if self.is_scaled and self.verdict is not None:
            scales = self.verdict.measured_as.scales
        return _held_out_q2(self.reading, self.y / scales, predicted / scales)

    @property
    def source(self) -> str:
        """Where shares of the variance come from."""
        if self.verdict is None:
            return "first order times leave-one-out Q²"
        return "those of the table of drivers"

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
        return _leading_inputs(self.expansion.sobol_indices().total_order)

    @cached_property
    def leading_shares(self) -> IndexArray:
        """Inputs whose shares are shown: those of a verdict, else the leading ones."""
        if self.verdict is None or not self.verdict.input_names:
            return self.leading
        return _leading_inputs(self.verdict.drivers.total)

    def rows(self, columns: Iterable[Column]) -> list[Column]:
        """Return the rows of a table that are listed."""
        return some_rows(columns, self.listed)

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
            inputs,
            self.expansion.basis,
        )


# Sections.


# More steps than this have no panel of their own in a report.
_MOST_POLICY_FIGURES = 8

# Draws behind such a panel: fewer where a draw has very many parts (32 MiB in all).
_MOST_DRAWS, _FEWEST_DRAWS, _MOST_VALUES = 2000, 200, 4_194_304


def add_policies(page: HtmlReport, content: ReportContent) -> None:
    varying, seed = np.flatnonzero(content.variance > 0), content.random_state
    largest = of_largest(content.variance[varying], _MOST_POLICY_FIGURES)
    steps = varying[largest].tolist()
    if not steps:
        return
    try:
        content.surrogate.sample(1, random_state=seed)
    except ValueError:
        return
    page.add_heading("Policies: members and surrogate")
    most = max(_FEWEST_DRAWS, _MOST_VALUES // content.y.shape[1])
    draws: dict[str, Any] = {"random_state": seed, "n_samples": min(_MOST_DRAWS, most)}
    if len(steps) < len(varying):
        page.add_text(
            f"The {len(steps)} decisions of the largest summed variance are shown."
        )
    for step in steps:
        display = PolicyDistributionDisplay.from_estimator(
            content.pipeline, content.y, step=step, **draws
        )
        what = "test data beside the predictive distribution"
        page.add_figure(display, f"{content.step_names[step]}: {what}.")


_SPREAD = {
    "members": "members",
    "columns": "columns",
    "variance": "variance",
    "variance per column": "variance_per_column",
    "standard deviation": "standard_deviation",
    "smallest": "minimum",
    "largest": "maximum",
}

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


def add_spread(page: HtmlReport, content: ReportContent) -> None:
    found = content.fragility
    page.add_heading("How much the members disagree")
    if content.is_real:
        what, text = "Spread", _OF_SPREAD
        columns: list[Column] = [("output", content.step_names)]
        columns += [(heading, found.columns[name]) for heading, name in _SPREAD.items()]
        if (found.members < len(content.y)).any():
            text += " A member that failed in one output (NaN) counts in the others."
    else:
        what, text, columns = "Fragility", _OF_FRAGILITY, fragility_columns(found)
    caption = f"{what} of the {len(content.y)} members of the test data"
    page.add_columns(content.rows(columns), caption)
    page.add_text(text)
    drawn = content.drawn
    keys, columns_drawn = (
        dict(some_rows(table.items(), drawn)) for table in (found.keys, found.columns)
    )
    display = StepVarianceDisplay(
        replace(found, keys=keys, columns=columns_drawn),
        unexplained=content.support.unexplained[drawn],
        supported=some_of(content.support.supported, drawn),
    )
    page.add_figure(
        display.plot(),
        f"Disagreement per {content.noun}. Variance bars are cut into what is "
        "predicted from the inputs and what is not.",
    )


def add_coverage(page: HtmlReport, content: ReportContent) -> None:
    page.add_heading("Coverage on the test data")
    surrogate, y, noun = content.surrogate, content.y, content.noun
    seed: dict[str, Any] = {"random_state": content.random_state}
    try:
        bounds = [
            surrogate.predict_interval(content.inputs, confidence_level=level, **seed)
            for level in LEVELS
        ]
        given = content.pipeline, content.reading.X, y
        display = CoverageDisplay.from_estimator(
            *given, levels=LEVELS, outputs=content.outputs, **seed
        )
    except ValueError as error:  # no residual law: more terms than members
        page.add_text(f"There are no intervals. {error}")
        return
    n_outputs = content.expansion.n_outputs
    has_groups = not content.is_real or n_outputs > len(content.step_names)
    kinds = ("marginal", "joint") if has_groups else ("marginal",)
    score = coverage_of(content.reading, y)
    scores = {kind: [score(*pair, kind=kind) for pair in bounds] for kind in kinds}
    page.add_columns(
        coverage_columns(content.step_names, scores, content.listed, noun),
        f"Intervals given the inputs, {len(y)} members of the test data",
    )
    values, parts = "probabilities", "actions"
    if content.is_real:
        values, parts = "values", "columns"
    text = (
        f"Marginal: the share of {values} inside their interval, which should be the "
        "level. "
    )
    if has_groups:
        text += (
            f"Joint: the share of members with all {parts} of the {noun} inside; "
            "marginal intervals are not made for it, so it is lower. "
        )
    page.add_text(f"{text}Errors are Wilson intervals with one trial a member.")
    page.add_figure(display, f"Nominal and empirical marginal coverage, all {noun}s.")


def add_effects(page: HtmlReport, content: ReportContent) -> None:
    if not (content.expansion.total_variance > 0).any():
        return
    page.add_heading("What each input does")
    display = MainEffectsDisplay.from_estimator(
        content.pipeline,
        content.reading.X,
        features=content.leading.tolist(),
        random_state=content.random_state,
        **content.known,
    )
    page.add_figure(
        display,
        "Mean of the prediction at each value of an input, the others averaged out, "
        "less the mean of all; at most the six columns that change most.",
    )


_GOODNESS = (
    "Q² is one minus the squared error over the squared deviation from the mean{how}. "
    "Leave-one-out is that of the {model} alone, conditional on its inputs. The test "
    "data are members that were not fitted, provided that whoever made this page held "
    "them out."
)


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
        table = verdict.pairs
        cells = list(map(percent, table.share))
        columns = [
            ("pair", list(table.keys["pair"])),
            ("p (Holm)", table.p_value),
            ("share that neither explains alone", cells),
        ]
        page.add_columns(columns, "Pairs that act together")
    ends = zip(verdict.q2_low, verdict.q2_high, strict=True)
    repeats = {"noise between repeats": "noise_share", "lack of fit, p": "lack_of_fit"}
    columns = [
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
    sizes, n_each = "actions", "n_possible"
    if content.is_real:
        sizes = n_each = "columns"
    columns: list[Column] = [
        (content.noun, content.step_names),
        (sizes, content.fragility.columns[n_each]),
        ("Q², leave-one-out", content.expansion.q2),
        ("Q², test data", content.test_q2),
    ]
    if content.verdict is not None:
        columns.append(("Q², runs left out", content.verdict.q2))
    page.add_columns(content.rows([*columns, ("attribution", content.answers)]))
    how = ", in Aitchison geometry: free of any reference action"
    if content.is_real:
        units = "in units of their standard deviations"
        how = "; the columns of an output are added up "
        how += units if content.is_scaled else "as given"
    page.add_text(_GOODNESS.format(how=how, model=content.model))


def add_indices(page: HtmlReport, content: ReportContent) -> None:
    page.add_heading("Shares of the variance and Sobol indices")
    known, leading = content.known, content.leading_shares
    every = SobolDisplay.from_fit(content.pipeline, **known)
    shares = every.of_inputs(leading)
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
    interval = interval_of(content.reading)
    bounds = None if interval is None else interval.total_order
    total_order = content.expansion.sobol_indices().total_order
    total = _cells(np.isnan(content.support.unexplained), total_order, bounds)
    columns: list[Column] = [(content.noun, content.step_names)]
    columns += [(content.input_names[i], total[i]) for i in content.leading]
    page.add_columns(
        content.rows(columns),
        "Total Sobol indices: shares of the variance of the expansion, not of the "
        f"{content.noun}",
    )
    if content.verdict is not None:
        page.add_text(
            f"In brackets: {100.0 * content.verdict.confidence_level:.3g} % intervals "
            f"of the shares, which hold for all inputs of {content.one.lower()} "
            "together and contain the error of the fit."
        )
    if interval is not None:
        page.add_text(
            f"In brackets: {100.0 * interval.confidence_level:.3g} % intervals of the "
            "indices, one at a time. They contain the error of the coefficients and "
            f"what the {content.model} leaves out."
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
    if len(content.input_names) > 1:
        share = 1.0 - np.nan_to_num(content.support.unexplained, nan=1.0)
        if content.support.supported is not None:
            share = share * np.array(content.support.supported)
        predicted = share * content.variance
        if (predicted > 0).any():
            step = int(np.argmax(predicted))
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
    page asks nothing of another host, a click on a heading sorts a table, and the same
    arguments give the same bytes. All arguments are checked before anything is computed
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
    _check_arguments(path, title, date, random_state)
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
    content = ReportContent(
        pipeline, reading, y_test, verdict, random_state, outputs=outputs
    )
    if content.is_real and title == _TITLE:
        title = "What drives each output"
    page = HtmlReport(title)
    expansion = reading.expansion
    with warnings.catch_warnings():  # once, and in no section
        warnings.simplefilter("ignore", InputOutsideSupportWarning)
        inputs = reading.table
        assert inputs is not None  # X_test was given
        for section in (add_answer, add_verdict, add_goodness, add_spread, add_indices):
            section(page, content)
        add_coverage(page, content)
        (add_effects if content.is_real else add_policies)(page, content)
        add_inputs(page, content)
        add_origin(page, content, date)
    basis = expansion.basis
    warn_outside(basis.laws, inputs, expansion.input_names, basis.reach)
    if path is not None:
        page.save(path)
    return page.to_html()


def _check_arguments(
    path: Any, title: Any, date: Any, random_state: RandomState
) -> None:
    """Refuse what no section could use, and a path where no page could be saved."""
    if not isinstance(title, str):
        raise fail("report", "title", "a str", title)
    if not (date is None or isinstance(date, str)):
        raise fail("report", "date", "a str or None", date)
    check_integer("report", "random_state", random_state)
    if path is not None:
        check_target("path=", path)
