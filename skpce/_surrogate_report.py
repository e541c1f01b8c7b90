"""One HTML file about a fitted surrogate and members that it has not seen."""

from __future__ import annotations

import io
import os
import platform
import re
from collections.abc import Iterator, Sequence
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._report import HtmlReport
from ._steps import refuse_nan, refuse_ragged
from .inspection import Verdict
from .metrics import coverage_interval

FloatArray = NDArray[np.float64]

_LEVELS = (0.5, 0.8, 0.9, 0.95)
_PACKAGES = ("skpce", "numpy", "scipy", "scikit-learn", "matplotlib")
_DOTS_PER_INCH = 110
# More steps than this have no panel of their own in a report.
_MOST_POLICY_FIGURES = 8


def report(
    pipeline: Any,
    X_test: ArrayLike,
    y_test: ArrayLike,
    *,
    verdict: Verdict | None = None,
    path: str | os.PathLike[str] | None = None,
    title: str = "What drives each step",
    input_features: Sequence[str] | None = None,
    date: str | None = None,
    random_state: int = 0,
) -> str:
    """Describe a fitted surrogate in one self-contained HTML page.

    The verdict comes first, then Q², fragility, Sobol indices with the unexplained
    part, and coverage on members that were held out. The page has no script and asks
    nothing of another host; the same arguments give the same bytes.

    Parameters
    ----------
    pipeline : fitted estimator
        A :class:`skpce.CompositionalPCESurrogate`, or a Pipeline that ends in one.
    X_test : array-like of shape (n_members, n_features)
        Inputs of members that were not fitted, before any embedding.
    y_test : array-like of shape (n_members, n_parts) or data frame
        Their policies, the steps side by side.
    verdict : Verdict or None, default=None
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

    Raises
    ------
    ValueError
        If the last estimator is no fitted surrogate, the data do not fit it, there
        are fewer than two members, or the verdict is about other steps.
    ImportError
        If matplotlib is not installed.

    See Also
    --------
    skpce.inspection.verdict : Is the attribution supported?
    skpce.metrics.policy_fragility : The measures of disagreement.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from skpce import CompositionalPCESurrogate
    >>> from skpce._surrogate_report import report
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> y = softmax(np.c_[X[:, 0], 0 * X[:, 0], rng.normal(size=60)], axis=1)
    >>> surrogate = CompositionalPCESurrogate(1, steps={"first": 3})
    >>> page = report(surrogate.fit(X[:40], y[:40]), X[40:], y[40:])
    >>> page.startswith("<!doctype html>"), "No verdict was given" in page
    (True, True)
    """
    from .plotting._fitted import surrogate_inputs, surrogate_of

    surrogate, names = surrogate_of(pipeline, input_features)
    inputs = surrogate_inputs(pipeline, X_test)
    values = _checked_policies(y_test, surrogate, len(inputs))
    content = _Content(pipeline, surrogate, names, inputs, values, verdict)
    page = HtmlReport(title)
    _add_verdict(page, content)
    _add_goodness(page, content)
    _add_fragility(page, content)
    _add_indices(page, content)
    _add_coverage(page, content, random_state)
    _add_policies(page, content, random_state)
    _add_inputs(page, content)
    _add_origin(page, content, date, random_state)
    if path is not None:
        page.save(path)
    return page.to_html()


class _Content:
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
        from .plotting._fitted import attribution_of
        from .plotting._held_out import surrogate_q2
        from .plotting._step_variance import fragility_of

        self.pipeline, self.surrogate = pipeline, surrogate
        self.input_names, self.verdict = input_names, verdict
        self.inputs, self.y = inputs, y
        self.step_names = list(surrogate.step_names_)
        self.test_q2 = surrogate_q2(surrogate, inputs, y)
        self.fragility = fragility_of(surrogate, y)
        self.attribution = attribution_of(pipeline, input_names).judged(verdict)

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
        supported = self.verdict.attributable[step]
        return "supported" if supported else "not attributable"


def _checked_policies(y: Any, surrogate: Any, n_members: int) -> FloatArray:
    """Return the held-out policies.

    Raises
    ------
    ValueError
        If their shape does not fit X or the surrogate, or there are fewer than two.
    """
    refuse_ragged(y, "y_test")
    refuse_nan(y, "y_test")
    values = np.asarray(y, dtype=np.float64)
    if values.ndim == 1:
        values = values[:, np.newaxis]
    n_parts = surrogate.geometry_.layout.n_parts
    if values.shape != (n_members, n_parts):
        raise ValueError(
            f"y_test has shape {values.shape}; expected {(n_members, n_parts)}: the "
            "members of X_test and the parts seen in fit."
        )
    if n_members < 2:
        raise ValueError(f"X_test has {n_members} members; expected two or more.")
    return values


def _add_verdict(page: HtmlReport, content: _Content) -> None:
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
    page.add_text(
        "Cross-fitted Q² refits the whole pipeline without the members it predicts. A "
        "step that is not attributable has shares below like any other; do not read "
        "them."
    )


def _add_goodness(page: HtmlReport, content: _Content) -> None:
    page.add_heading("How well the inputs predict each step")
    columns = ["step", "actions", "Q², leave-one-out", "Q², test data"]
    if content.verdict is not None:
        columns += ["Q², cross-fitted", "interval"]
    rows = []
    for step, name in enumerate(content.step_names):
        row = [
            name,
            int(content.fragility.n_possible[step]),
            float(content.surrogate.diagnostics_.loo_q2[step]),
            float(content.test_q2[step]),
        ]
        if content.verdict is not None:
            judged = content.verdict.steps[step]
            row += [judged.q2, _interval(judged.q2_low, judged.q2_high)]
        rows.append([*row, content.answer(step)])
    page.add_table([*columns, "attribution"], rows)
    page.add_text(
        "Q² is one minus the squared error over the squared deviation from the mean, "
        "in Aitchison geometry: free of any reference action. Leave-one-out is that "
        "of the surrogate alone, conditional on its inputs. The test data are members "
        "that were not fitted, provided that whoever made this page held them out."
    )


def _add_fragility(page: HtmlReport, content: _Content) -> None:
    from .plotting import StepVarianceDisplay

    found = content.fragility
    page.add_heading("How much the members disagree")
    columns = {
        "variance, summed": found.aitchison_variance,
        "per degree of freedom": found.variance_per_freedom,
        "total variation": found.total_variation,
        "of its largest": found.normalized_total_variation,
        "Jensen-Shannon (nats)": found.jensen_shannon,
        "share of the largest": found.normalized_jensen_shannon,
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
        "depends on its reference action too. Total variation and Jensen-Shannon are "
        "distances to the mean policy."
    )
    display = StepVarianceDisplay(
        found,
        unexplained=content.attribution.unexplained,
        supported=content.attribution.supported,
    ).plot()
    _add_figure(
        page,
        display,
        "Disagreement per step. Variance bars are cut into what the inputs explain "
        f"({content.source}) and the rest.",
    )


def _add_indices(page: HtmlReport, content: _Content) -> None:
    from .plotting import InteractionDisplay, PrismDisplay, SobolDisplay

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
    _add_figure(
        page, shares.plot(), "Shares of the variance, with the unexplained part."
    )
    if np.nansum(content.fragility.aitchison_variance) > 0:
        display = PrismDisplay.from_estimator(
            content.pipeline,
            content.y,
            verdict=content.verdict,
            input_features=content.input_names,
        )
        _add_figure(page, display, "From inputs to steps: widths add up to one.")
    if len(content.input_names) > 1 and hasattr(surrogate, "coefficients_"):
        for step in _best_explained(content)[:1]:
            display = InteractionDisplay.from_estimator(
                content.pipeline,
                step=step,
                verdict=content.verdict,
                input_features=content.input_names,
            )
            _add_figure(
                page,
                display,
                "Inputs alone (diagonal) and in pairs, as shares of the variance of "
                f"the step whose inputs explain most: {content.step_names[step]}.",
            )


def _add_fidelity(page: HtmlReport, content: _Content) -> None:
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


def _best_explained(content: _Content) -> list[int]:
    """Return the steps of which something is explained, the largest variance first."""
    found = content.attribution
    share = 1.0 - np.nan_to_num(found.unexplained, nan=1.0)
    if found.supported is not None:
        share = share * np.array(found.supported)
    explained = share * np.nan_to_num(content.fragility.aitchison_variance)
    order = np.argsort(-explained, kind="stable")
    return [int(step) for step in order if explained[step] > 0]


def _steps_with_variance(content: _Content) -> list[int]:
    """Return the steps whose members differ, the largest variance first."""
    variance = np.nan_to_num(content.fragility.aitchison_variance)
    order = np.argsort(-variance, kind="stable")
    return [int(step) for step in order if variance[step] > 0]


def _add_coverage(page: HtmlReport, content: _Content, random_state: int) -> None:
    from .plotting import CoverageDisplay

    page.add_heading("Coverage on the test data")
    kinds = {
        "given the inputs": {"X": content.inputs},
        "ignoring the inputs": {"X": None},
        "push-forward alone": {"X": None, "residual": None},
    }
    curves: dict[str, list[float]] = {}
    rows: list[list[Any]] = []
    try:
        for name, arguments in kinds.items():
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
    _add_figure(page, display, "Nominal and empirical marginal coverage, all steps.")


def _coverages(
    content: _Content, arguments: dict[str, Any], random_state: int
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
    content: _Content, found: Sequence[tuple[float, Any, Any]]
) -> Iterator[list[Any]]:
    for step in np.flatnonzero(content.surrogate.geometry_.has_choice):
        for level, marginal, joint in found:
            row: list[Any] = [content.step_names[step], level]
            for score in (marginal, joint):
                bounds = _interval(score.lower[step], score.upper[step])
                row += [float(score.coverage[step]), bounds]
            yield row


def _add_policies(page: HtmlReport, content: _Content, random_state: int) -> None:
    from .plotting import PolicyDistributionDisplay

    steps = sorted(_steps_with_variance(content)[:_MOST_POLICY_FIGURES])
    if not steps:
        return
    try:
        content.surrogate.sample(1, random_state=random_state)
    except ValueError:
        return
    page.add_heading("Policies: members and surrogate")
    if len(steps) < len(_steps_with_variance(content)):
        page.add_text(
            f"The {len(steps)} steps of the largest summed variance are shown."
        )
    for step in steps:
        display = PolicyDistributionDisplay.from_estimator(
            content.pipeline, content.y, step=step, random_state=random_state
        )
        _add_figure(
            page,
            display,
            f"{content.step_names[step]}: test data beside the predictive law.",
        )


def _add_inputs(page: HtmlReport, content: _Content) -> None:
    from .plotting import EmbeddingDisplay

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
    _add_figure(
        page,
        display,
        "The fitted members' inputs: correlations, and quantiles against their laws.",
    )


def _add_origin(
    page: HtmlReport, content: _Content, date: str | None, random_state: int
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


def _add_figure(page: HtmlReport, display: Any, description: str) -> None:
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


def _version(name: str) -> str:
    if name == "python":
        return platform.python_version()
    if name == "skpce":
        from ._version import __version__

        return __version__
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "unknown"


def _interval(low: float, high: float) -> str:
    return "–" if np.isnan(low) else f"[{low:.2f}, {high:.2f}]"


def _without_rounding(value: float) -> float:
    return 0.0 if abs(value) < 1e-12 else float(value)


def _mean(values: FloatArray) -> float:
    """Return the mean over the steps with a choice; NaN without any."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")
