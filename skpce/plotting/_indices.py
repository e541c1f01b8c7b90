"""Each step or output: its shares of the variance, interactions, and fragility."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._checks import FloatArray, IndexArray, Mask, OutputGroups, Steps, check_option
from .._compositions.log_ratio import transformer_of
from .._compositions.outputs import read_outputs
from .._compositions.scoring import checked_policies
from .._expansion.expansion import checked_outputs
from .._fonts import label
from ..drivers import Answer
from ..inspection import Result
from ..inspection._reading import (
    Reading,
    expansion_of,
    group_matrix,
)
from ..metrics import policy_fragility
from ._style import (
    HATCH,
    INTERACTION_COLOR,
    NO_VARIANCE,
    NOT_PREDICTED,
    NOT_SUPPORTED,
    UNEXPLAINED_COLOR,
    color,
    draw_heat_map,
    draw_stacked,
    draw_whisker,
    given_floats,
    hatch,
    hide_spines,
    legend_right,
    make_axes,
    make_panels,
    name_rows,
    readable,
    refused,
    support_of,
    write_over,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("stacked", "heatmap")
# Inputs with a segment, a column or a row of their own, and steps with a row.
_MOST_ROWS = 12
# Segments that are wide enough for an error.
_VISIBLE = 0.01
# Neighbouring whiskers are at different heights.
_HEIGHTS = (0.0, 0.2, -0.2)

# Shares below this are rounding: an additive expansion has no interactions.
_ROUNDING = 1e-12


class SobolDisplay:
    """Shares of the variance of each step: of each input, and what is not predicted.

    Shares are of the *total* variance of a step between members: of each input alone,
    of interactions, and what is not predicted. They add up to 1. Those of a verdict
    are its drivers; without one they are first-order indices times Q².

    Parameters
    ----------
    first_order : ndarray of shape (n_steps, n_features)
        First-order indices of the expansion. Noise-corrected ones may be negative
        (drawn as a heat map, never stacked) or NaN (nothing is explained).
    unexplained : ndarray of shape (n_steps,)
        ``1 - Q²`` of each step, in [0, 1]; NaN for a step without choice.
    step_names, input_names : sequence of str
        Labels.
    supported : sequence of bool or None, default=None
        Whether the attribution of a step is supported; shares of other steps are
        hatched (in the heat map: starred) and labelled.
    sampled : bool, default=False
        Whether the indices are those of an expansion of another regressor's
        predictions at draws of its inputs; the axis is then labelled so.
    share_bounds : array-like of shape (2, n_steps, n_features) or None, default=None
        Lower and upper ends of intervals of the shares, as a verdict has them, drawn as
        error bars. The first-order indices are then shares of the variance already;
        else they are multiplied by ``1 - unexplained``.
    confidence_level : float, default=0.9
        Of these intervals.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the shares are.
    bars_ : list of matplotlib BarContainer
        One per input, interactions, and what is not predicted; not for a heat map.
    image_ : matplotlib AxesImage
        Only for a heat map.

    See Also
    --------
    InteractionDisplay : Pairs of inputs.

    Notes
    -----
    Intervals of a verdict hold for all inputs of a step together, and contain the error
    of the fit. Without one none are drawn: those of the indices do not know the error
    of Q². At most a dozen inputs and a dozen steps are drawn: the inputs that explain
    least are added up as *others*.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.plotting import SobolDisplay
    >>> display = SobolDisplay(
    ...     np.array([[0.7, 0.2]]), np.array([0.4]), ["catalyst"], ["pca0", "pca1"]
    ... )
    >>> display.shares.round(2).tolist()
    [[0.42, 0.12, 0.06, 0.4]]
    """

    def __init__(
        self,
        first_order: ArrayLike,
        unexplained: ArrayLike,
        step_names: Sequence[str],
        input_names: Sequence[str],
        *,
        supported: Sequence[bool] | None = None,
        sampled: bool = False,
        share_bounds: ArrayLike | None = None,
        confidence_level: float = 0.9,
    ) -> None:
        self.first_order: FloatArray = np.asarray(first_order, dtype=np.float64)
        self.unexplained: FloatArray = np.asarray(unexplained, dtype=np.float64)
        self.step_names: list[str] = list(step_names)
        self.input_names: list[str] = list(input_names)
        self.supported, self.sampled = supported, sampled
        self.share_bounds = given_floats(share_bounds)
        self.confidence_level = confidence_level

    @property
    def shares(self) -> FloatArray:
        """Shares of the total variance (n_steps, n_features + 2); rows sum to 1."""
        explained = 1.0 - np.nan_to_num(self.unexplained, nan=1.0)
        explained[np.isnan(self.first_order).any(axis=1)] = 0.0
        first = np.nan_to_num(self.first_order)
        if self.share_bounds is None:
            first = first * explained[:, np.newaxis]
        interactions = explained - first.sum(axis=1)
        interactions[interactions < _ROUNDING] = 0.0
        return np.column_stack([first, interactions, 1.0 - explained])

    @property
    def column_names(self) -> list[str]:
        """Names of the columns of ``shares``."""
        return [*self.input_names, "interactions", NOT_PREDICTED]

    @classmethod
    def from_estimator(
        cls,
        pipeline: Any,
        *,
        verdict: Answer | None = None,
        input_features: Sequence[str] | None = None,
        outputs: OutputGroups = None,
        kind: str = "stacked",
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> SobolDisplay:
        """Draw the indices of a fitted estimator or of a Pipeline ending in one.

        Parameters
        ----------
        pipeline, verdict, input_features, outputs
            As in :meth:`from_fit`.
        kind, ax, **kwargs
            As in :meth:`plot`.
        """
        display = cls.from_fit(
            pipeline, verdict=verdict, input_features=input_features, outputs=outputs
        )
        return display.plot(ax=ax, kind=kind, **kwargs)

    @classmethod
    def from_fit(
        cls,
        pipeline: Any,
        *,
        verdict: Answer | None = None,
        input_features: Sequence[str] | None = None,
        outputs: OutputGroups = None,
    ) -> SobolDisplay:
        """Collect the indices of a fitted estimator, without drawing.

        Parameters
        ----------
        pipeline : fitted estimator
            A :class:`skpce.CompositionalPCESurrogate` (its steps), a
            :class:`skpce.PolynomialChaosRegressor` (its outputs), or a Pipeline that
            ends in one.
        verdict : Answer or None, default=None
            Gives the shares, and marks the steps or outputs that nothing is shown to
            drive. Real outputs have the groups of columns that it was made with. Where
            it has tested the columns of X, these are the inputs.
        input_features : sequence of str or None, default=None
            Names of the inputs of the last estimator. None takes those of the
            transformers before it, ``pipeline[:-1].get_feature_names_out()``.
        outputs : dict or None, default=None
            Columns of real outputs that belong together, such as
            ``{"accuracy": 1, "logits": 10}``; names and numbers of columns, or their
            names or positions. None takes the groups of the verdict, else those of
            the names of y in ``fit``.
        """
        reading = expansion_of(
            pipeline, None, input_features, outputs=outputs, verdict=verdict
        )
        expansion = reading.expansion
        support = support_of(expansion, verdict)
        names = expansion.group_names
        if verdict is not None and verdict.input_names:
            drivers = verdict.drivers
            return cls(
                drivers.first,
                support.unexplained,
                names,
                inputs_of(verdict, expansion.input_names),
                supported=support.supported,
                share_bounds=np.stack([drivers.first_low, drivers.first_high]),
                confidence_level=verdict.confidence_level,
            )
        return cls(
            expansion.sobol_indices().first_order,
            support.unexplained,
            names,
            expansion.input_names,
            supported=support.supported,
            sampled=reading.is_sampled,
        )

    def some(self, steps: Iterable[int]) -> SobolDisplay:
        """Return the shares of some steps, by position."""
        chosen = [int(step) for step in steps]
        found = copy(self)
        found.first_order = self.first_order[chosen]
        found.unexplained = self.unexplained[chosen]
        found.step_names = [self.step_names[step] for step in chosen]
        if self.supported is not None:
            found.supported = [self.supported[step] for step in chosen]
        if self.share_bounds is not None:
            found.share_bounds = self.share_bounds[:, chosen]
        return found

    def of_inputs(self, chosen: IndexArray) -> SobolDisplay:
        """Return the shares of some inputs, by position, and of the others together."""
        n_others = len(self.input_names) - len(chosen)
        if not n_others:
            return self
        others = np.delete(self.first_order, chosen, axis=1).sum(axis=1)
        found = copy(self)
        found.first_order = np.column_stack([self.first_order[:, chosen], others])
        names = [self.input_names[i] for i in chosen]
        found.input_names = [*names, f"others ({n_others})"]
        if self.share_bounds is not None:
            found.share_bounds = self.share_bounds[..., chosen]
        return found

    def plot(
        self, ax: Axes | None = None, *, kind: str = "stacked", **kwargs: Any
    ) -> SobolDisplay:
        """Draw the shares.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        kind : {"stacked", "heatmap"}, default="stacked"
            One bar per step, or a table in colours.
        **kwargs
            Passed on to ``Axes.barh``, or to ``Axes.imshow`` for a heat map.
        """
        check_option("SobolDisplay.plot", "kind", kind, KINDS)
        n_steps = len(self.step_names)
        shown = self.some(range(min(n_steps, _MOST_ROWS)))
        is_part = n_steps > _MOST_ROWS
        notes = [f"{_MOST_ROWS} of {n_steps} are shown"] if is_part else []
        if kind == "heatmap":
            drawn, self.image_ = shown._plot_heat_map(ax, notes, kwargs)
        else:
            drawn, self.bars_ = shown._plot_stacked(ax, notes, kwargs)
        self.ax_, self.figure_ = readable(drawn)
        return self

    @property
    def _columns(self) -> tuple[FloatArray, list[str], FloatArray | None]:
        """Shares, names and errors of at most a dozen inputs, others and the rest."""
        shown, n_inputs = self, len(self.input_names)
        if n_inputs > _MOST_ROWS:
            size = np.abs(self.shares[:, :n_inputs]).sum(axis=0)
            order = np.argsort(-size, kind="stable")
            shown = self.of_inputs(np.sort(order[: _MOST_ROWS - 1]))
        shares, bounds = shown.shares, shown.share_bounds
        if bounds is None:
            return shares, shown.column_names, None
        first = shares[:, : bounds.shape[2]]
        errors = np.stack([first - bounds[0], bounds[1] - first])
        return shares, shown.column_names, np.maximum(np.nan_to_num(errors), 0.0)

    def _plot_stacked(
        self, ax: Any, notes: Sequence[str], kwargs: dict[str, Any]
    ) -> tuple[Any, list[Any]]:
        shares, names, errors = self._columns
        n_steps = len(self.step_names)
        lowest = float(self.shares.min(initial=0.0))
        if lowest < 0.0:
            raise ValueError(
                f"kind='stacked' cannot show a share of {lowest:.3g}; expected "
                "kind='heatmap'."
            )
        ax = make_axes(ax, (8.0, max(1.4 + 0.55 * n_steps, 0.9 + 0.24 * len(names))))
        shares[np.isnan(self.unexplained)] = 0.0  # no choice, no bar
        looks = [*map(color, range(len(names) - 2)), INTERACTION_COLOR]
        segments = list(zip(names, [*looks, UNEXPLAINED_COLOR], strict=True))
        rows = self.step_names
        drawn, positions = draw_stacked(ax, shares, rows, segments, **kwargs)
        ax.set_xlabel("\n".join([self._axis_label(), *notes]))
        for step, position in enumerate(positions):
            if np.isnan(self.unexplained[step]):
                ax.text(0.015, position, NO_VARIANCE, va="center", color="#555555")
            elif self._refused[step]:
                hatch(bars[step] for bars in drawn[:-1])
                write_over(ax, position, NOT_SUPPORTED)
            elif errors is not None:
                ends = zip(drawn, *errors[:, step], strict=False)
                seen = [end for end in ends if end[0][step].get_width() >= _VISIBLE]
                for number, (bars, low, high) in enumerate(seen):
                    height = position + _HEIGHTS[number % len(_HEIGHTS)]
                    draw_whisker(ax, bars[step], (low, high), height)
        return ax, drawn

    def _plot_heat_map(
        self, ax: Any, notes: Sequence[str], kwargs: dict[str, Any]
    ) -> tuple[Any, Any]:
        shares, names, distances = self._columns
        n_steps = len(self.step_names)
        ax = make_axes(ax, (2.6 + 0.7 * len(names), 1.9 + 0.5 * n_steps))
        shares[np.isnan(self.unexplained)] = np.nan
        errors = np.full_like(shares, np.nan)
        if distances is not None:
            errors[:, : distances.shape[2]] = distances.mean(axis=0)
            errors[self._refused] = np.nan
        marks = [" *" if is_refused else "" for is_refused in self._refused]
        for step in np.flatnonzero(np.isnan(self.unexplained)):
            marks[step] = f" ({NO_VARIANCE})"
        style: Any = {"cmap": "Blues", "vmin": 0.0, "vmax": 1.0} | kwargs
        heads = [f"* {NOT_SUPPORTED}"] if self._refused.any() else []
        style |= {"marks": marks, "errors": errors, "heads": [*heads, *notes]}
        style["scale"] = self._axis_label("\n")
        return ax, draw_heat_map(ax, shares, self.step_names, names, **style)

    def _axis_label(self, separator: str = " ") -> str:
        tail = f"{separator}(indices by sampling)" if self.sampled else ""
        if self.share_bounds is not None:
            tail += f"{separator}({100.0 * self.confidence_level:.3g} % intervals)"
        return f"share of the variance{tail}"

    @property
    def _refused(self) -> Any:  # shape: (n_steps,)
        return refused(self.supported, ~np.isnan(self.unexplained))


def inputs_of(verdict: Answer, names: Sequence[str]) -> list[str]:
    """Name the inputs of a verdict as those of an expansion, where it has tested them.

    Where an embedding has looked at y the columns of X were tested in their place.
    """
    tested = verdict.input_names
    return list(names if len(tested) == len(names) else tested)


if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Measures of policies, and of real outputs in units of their own, as axes name them.
_OF_POLICIES = {
    "aitchison_variance": "Aitchison variance (summed)",
    "variance_per_freedom": "Aitchison variance per degree of freedom",
    "total_variation": "total variation to the mean policy",
}
_OF_OUTPUTS = {
    "variance": "variance (squared units of the output)",
    "variance_per_column": "variance per column (squared units)",
    "standard_deviation": "standard deviation (units of the output)",
}
# Measures whose bars are not cut into what is explained and the rest.
_WHOLE = ("total_variation", "standard_deviation")
_PREDICTED = "predicted from the inputs"


class StepVarianceDisplay:
    """Bars of several measures of disagreement, one panel a measure.

    Variances of log-ratios grow with the number of actions and weigh rare actions
    like frequent ones; distances of probabilities do neither. The panels can rank
    the steps differently, which is why they are side by side.

    Of real outputs the measures are variances and standard deviations, those of the
    columns of an output added up. Outputs in different units cannot be compared.

    Parameters
    ----------
    fragility : Result
        From :func:`skpce.metrics.policy_fragility`; of real outputs a table with the
        columns ``members``, ``columns``, ``variance``, ``variance_per_column``,
        ``standard_deviation``, ``minimum`` and ``maximum``.
    unexplained : array-like of shape (n_steps,) or None, default=None
        Share of the (Aitchison) variance that is not predicted; the variance
        bars are then split.
    supported : sequence of bool or None, default=None
        Whether the attribution of a step is supported; others are labelled, and their
        explained part is hatched.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One per measure.
    ax_, figure_ : matplotlib Axes and Figure
        The first panel, and the figure.
    bars_ : list of matplotlib BarContainer
        One per measure, of full length.

    See Also
    --------
    skpce.metrics.policy_fragility : The measures and their formulas.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skpce.plotting import StepVarianceDisplay
    >>> y = [[0.9, 0.1, 0.2, 0.3, 0.5], [0.5, 0.5, 0.3, 0.3, 0.4]]
    >>> steps = {"catalyst": 2, "additive": 3}
    >>> display = StepVarianceDisplay.from_predictions(y, steps=steps)
    >>> display.fragility.total_variation.round(2)
    array([0.2 , 0.05])
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        fragility: Result,
        *,
        unexplained: ArrayLike | None = None,
        supported: Sequence[bool] | None = None,
    ) -> None:
        self.fragility = fragility
        self.supported = supported
        self.unexplained = given_floats(unexplained)

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        *,
        steps: Steps = None,
        mask: Mask = "infer",
        outputs: OutputGroups = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> StepVarianceDisplay:
        """Draw the disagreement of an ensemble; no estimator is needed.

        Parameters
        ----------
        y : array-like of shape (n_members, n_parts) or data frame
            Policies, the steps side by side; or real outputs.
        steps, mask
            As in :func:`skpce.metrics.policy_fragility`; of policies.
        outputs : dict or None, default=None
            Columns of real outputs that belong together, as in
            :func:`skpce.inspection.verdict`. Without it, ``steps`` and ``mask``, y
            that is no policies is real outputs.
        ax, **kwargs
            As in :meth:`plot`.
        """
        owner = "StepVarianceDisplay.from_predictions"
        read = read_outputs(y, owner, steps=steps, outputs=outputs, mask=mask)
        if read.are_compositions:
            found: Any = policy_fragility(y, steps=steps, mask=mask)
        else:
            found = output_spread(y, read.group_of_coordinate, read.names)
        return cls(found).plot(ax=ax, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        pipeline: Any,
        y: ArrayLike,
        *,
        verdict: Answer | None = None,
        outputs: OutputGroups = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> StepVarianceDisplay:
        """Draw the disagreement of an ensemble, split by what is explained.

        Parameters
        ----------
        pipeline, verdict, outputs
            As in :meth:`SobolDisplay.from_fit`.
        y : array-like of shape (n_members, n_parts)
            Policies of the members, or their real outputs (NaN where one failed).
        ax, **kwargs
            As in :meth:`plot`.
        """
        reading = expansion_of(pipeline, outputs=outputs, verdict=verdict)
        found = spread_of(reading, y)
        support = support_of(reading.expansion, verdict)._asdict()
        return cls(found, **support).plot(ax=ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> StepVarianceDisplay:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, sequence of Axes or None, default=None
            Where to draw: one to be divided, or one per measure. None makes a figure.
        **kwargs
            Passed on to ``Axes.barh``.
        """
        measures, columns = dict(_OF_POLICIES), self.fragility.columns
        if "variance" in columns:
            measures = dict(_OF_OUTPUTS)
            if (columns["columns"] == 1).all():
                del measures["variance_per_column"]
        n_steps = len(self.fragility.step_names)
        size = (2.6 + 2.6 * len(measures), 1.6 + 0.4 * n_steps)
        self.axes_ = make_panels(ax, len(measures), size)
        self.bars_: list[Any] = []
        for panel, (name, text) in zip(self.axes_, measures.items(), strict=True):
            self.bars_.append(self._plot_measure(panel, name, kwargs))
            panel.set_xlabel(label(text, 24))
        if self.unexplained is not None:
            plain = kwargs.get("color", color(0))
            names, looks = (_PREDICTED, NOT_PREDICTED), (plain, UNEXPLAINED_COLOR)
            legend_right(self.axes_[-1], names, looks=looks)
        self.ax_, self.figure_ = readable(*self.axes_)
        return self

    def _plot_measure(self, ax: Any, name: str, kwargs: dict[str, Any]) -> Any:
        values = np.asarray(getattr(self.fragility, name), dtype=np.float64)
        lengths = np.nan_to_num(values)
        places = np.arange(len(values))[::-1]
        unexplained = None if name in _WHOLE else self.unexplained
        # The colour of "explained" belongs to bars that are split.
        plain = color(0) if unexplained is self.unexplained else "#555555"
        style = {"height": 0.66, "color": plain} | kwargs
        variance: Any = self.fragility.columns.get("variance")
        varies = variance > 0 if variance is not None else self.fragility.n_possible > 1
        is_refused = refused(self.supported, varies)
        if unexplained is not None:
            rest = {"color": UNEXPLAINED_COLOR, "label": NOT_PREDICTED}
            whole = ax.barh(places, lengths, **(style | rest))
            explained = lengths * (1.0 - np.nan_to_num(unexplained, nan=1.0))
            parts = ax.barh(places, explained, **style, label=_PREDICTED)
            for step in np.flatnonzero(is_refused):
                parts[step].set(hatch=HATCH, edgecolor="white", linewidth=0.0)
        else:
            whole = ax.barh(places, lengths, **style)
        longest = max(float(lengths.max(initial=0.0)), np.finfo(float).tiny)
        texts = []
        for value in values:
            is_zero = name in _OF_POLICIES and abs(value) < _ROUNDING
            known = "0" if is_zero else f"{value:.3g}"
            texts.append("–" if np.isnan(value) else known)
        ax.bar_label(whole, texts, padding=2, fontsize=8)
        if ax is self.axes_[0]:
            marks = [f"\n({NOT_SUPPORTED})" if no else "" for no in is_refused]
            name_rows(ax, places, self.fragility.step_names, marks)
        else:
            ax.set_yticks([])
        ax.set_ylim(-0.6, len(values) - 0.4)
        ax.set_xlim(0.0, 1.22 * longest)
        ax.locator_params(axis="x", nbins=4)
        ax.xaxis.set_major_formatter("{x:.3g}")  # a power of ten would hide the label
        hide_spines(ax)
        return whole


def output_spread(
    y: Any,  # shape: (n_members,) or (n_members, n_columns); NaN where a member failed
    groups: IndexArray,  # shape: (n_columns,), the output of each column
    names: Sequence[str],
) -> Result:
    """Return the variance of each output over the members that have it.

    Those of the columns of a group are added up.
    """
    values = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
    rows: list[dict[str, Any]] = []
    for group in range(len(names)):
        own = values[:, groups == group]
        own = own[~np.isnan(own).any(axis=1)]
        n_members, n_columns = own.shape
        own = own if n_members else np.full((1, n_columns), np.nan)
        varies = (np.ptp(own, axis=0) != 0).any()  # else the rest is rounding
        variance = float(own.var(axis=0).sum()) if varies else 0.0
        rows.append(
            {
                "members": n_members,
                "columns": n_columns,
                "variance": variance,
                "variance_per_column": variance / n_columns,
                "standard_deviation": float(np.sqrt(variance / n_columns)),
                "minimum": float(own.min()),
                "maximum": float(own.max()),
            }
        )
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    figures = {"step_names": tuple(names)}
    return Result({"output": tuple(names)}, columns, figures=figures)


def spread_of(reading: Reading, y: ArrayLike) -> Result:
    """Measure an ensemble: the fragility of policies, or variances of real outputs."""
    surrogate, expansion = reading.estimator, reading.expansion
    if reading.compositions is None:
        values = checked_outputs(y, expansion.output_names)
        groups = group_matrix(expansion).argmax(axis=0)
        return output_spread(values, groups, expansion.group_names)
    layout, how = surrogate.geometry_.layout, transformer_of(surrogate)
    found = policy_fragility(
        checked_policies(y, surrogate),
        steps=layout.widths,
        mask=surrogate.mask_,
        reference=how.reference,
        zero_replacement=how.zero_replacement,
    )
    # Without names, parts are numbered from 0 in each step.
    references = (
        layout.part_names[columns.start + int(number)]
        for columns, number in zip(layout.slices, found.alr_reference, strict=True)
    )
    columns = {**found.columns, "alr_reference": np.array([*references], dtype=object)}
    return replace(found, keys={"step": layout.step_names}, columns=columns)
