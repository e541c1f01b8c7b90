"""Step by step: the fragility of each step, and the shares of the inputs in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._checks import FloatArray, check_option, listed
from .._compositions.log_ratio import transformer_of
from .._compositions.outputs import checked_outputs, read_outputs
from .._compositions.scoring import checked_policies
from ..drivers import Answer
from ..inspection import Result
from ..inspection._ensembles.spread import output_spread
from ..inspection._reading import (
    Reading,
    compositions_of,
    expansion_of,
    group_matrix,
)
from ..metrics import policy_fragility
from ._fonts import label
from ._indices import SobolDisplay
from ._style import (
    HATCH,
    NOT_PREDICTED,
    NOT_SUPPORTED,
    UNEXPLAINED_COLOR,
    Support,
    color,
    hide_spines,
    legend_right,
    make_axes,
    make_panels,
    readable,
    refused,
    share_colors,
    share_names,
)

#: Label of each measure on its axis.
MEASURES = {
    "aitchison_variance": "Aitchison variance (summed)",
    "variance_per_freedom": "Aitchison variance per degree of freedom",
    "alr_sum": "sum of alr variances",
    "total_variation": "total variation to the mean policy",
    "pairwise_total_variation": "total variation between members",
    "jensen_shannon": "Jensen-Shannon divergence (nats)",
    "mutual_information": "mutual information (nats)",
    "normalized_total_variation": "total variation / largest possible",
    "normalized_pairwise_total_variation": "pairwise total variation / largest",
    "normalized_jensen_shannon": "Jensen-Shannon / largest possible",
    "normalized_mutual_information": "mutual information / largest possible",
}
#: The same of real outputs, each in units of its own.
OUTPUT_MEASURES = {
    "variance": "variance (squared units of the output)",
    "variance_per_column": "variance per column (squared units)",
    "standard_deviation": "standard deviation (units of the output)",
}
# Smaller values are rounding: a step without choice.
_ROUNDING = 1e-12
DEFAULT_MEASURES = ("aitchison_variance", "variance_per_freedom", "total_variation")
# Measures whose bars are cut into what is explained and the rest.
_VARIANCES = {*DEFAULT_MEASURES[:2], "variance", "variance_per_column"}


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
        self.unexplained: FloatArray | None = (
            None if unexplained is None else np.asarray(unexplained, dtype=np.float64)
        )

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        *,
        steps: Any = None,
        mask: Any = "infer",
        measures: Sequence[str] = DEFAULT_MEASURES,
        outputs: Any = None,
        ax: Any = None,
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
        measures, ax, **kwargs
            As in :meth:`plot`.
        """
        owner = "StepVarianceDisplay.from_predictions"
        read = read_outputs(y, owner, steps=steps, outputs=outputs, mask=mask)
        if read.are_compositions:
            found: Any = policy_fragility(y, steps=steps, mask=mask)
        else:
            found = output_spread(y, read.group_of_coordinate, read.names)
        return cls(found).plot(ax=ax, measures=measures, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        pipeline: Any,
        y: ArrayLike,
        *,
        verdict: Answer | None = None,
        measures: Sequence[str] = DEFAULT_MEASURES,
        outputs: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> StepVarianceDisplay:
        """Draw the disagreement of an ensemble, split by what is explained.

        Parameters
        ----------
        pipeline, verdict, outputs
            As in :meth:`SobolDisplay.from_fit`.
        y : array-like of shape (n_members, n_parts)
            Policies of the members, or their real outputs (NaN where one failed).
        measures, ax, **kwargs
            As in :meth:`plot`.
        """
        reading = expansion_of(pipeline, outputs=outputs, verdict=verdict)
        found = spread_of(reading, y)
        support = Support.of(reading.expansion, verdict)
        display = cls(
            found, unexplained=support.unexplained, supported=support.supported
        )
        return display.plot(ax=ax, measures=measures, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        measures: Sequence[str] = DEFAULT_MEASURES,
        **kwargs: Any,
    ) -> StepVarianceDisplay:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, sequence of Axes or None, default=None
            Where to draw: one to be divided, or one per measure. None makes a figure.
        measures : sequence of str, default=("aitchison_variance", \
                "variance_per_freedom", "total_variation")
            Fields of the fragility, one panel each; of real outputs "variance" and
            "standard_deviation", and "variance_per_column" where one has several.
        **kwargs
            Passed on to ``Axes.barh``.
        """
        measures = self._checked_measures(measures)
        n_steps = len(self.fragility.step_names)
        size = (2.6 + 2.6 * len(measures), 1.6 + 0.4 * n_steps)
        self.axes_ = make_panels(ax, len(measures), size)
        self.bars_: list[Any] = [
            self._plot_measure(panel, name, position, kwargs)
            for position, (panel, name) in enumerate(
                zip(self.axes_, measures, strict=True)
            )
        ]
        self._add_legend()
        self.ax_, self.figure_ = readable(*self.axes_)
        return self

    def _checked_measures(self, measures: Sequence[str]) -> list[str]:
        is_real = "variance" in self.fragility.columns
        known = sorted(OUTPUT_MEASURES if is_real else MEASURES)
        chosen = listed(measures, "measures", f"some of {known}")
        if is_real and tuple(chosen) == DEFAULT_MEASURES:
            several = (self.fragility.columns["columns"] > 1).any()
            per_column = ["variance_per_column"] if several else []
            return ["variance", *per_column, "standard_deviation"]
        if not chosen or not all(isinstance(name, str) for name in chosen):
            raise ValueError(f"measures must be some of {known}. Got {measures!r}.")
        for name in chosen:
            if name not in known:
                raise ValueError(f"measures has {name!r}; expected some of {known}.")
        return chosen

    def _add_legend(self) -> None:
        """Name the two parts of bars that are split."""
        for panel in self.axes_:
            bars, names = panel.get_legend_handles_labels()
            if bars:
                shades = [bar.patches[0].get_facecolor() for bar in bars]
                keys = list(zip(names, shades, strict=True))
                legend_right(self.axes_[-1], keys[::-1])
                return

    def _plot_measure(
        self, ax: Any, name: str, position: int, kwargs: dict[str, Any]
    ) -> Any:
        values = np.asarray(getattr(self.fragility, name), dtype=np.float64)
        lengths = np.nan_to_num(values)
        places = np.arange(len(values))[::-1]
        is_variance = name in _VARIANCES
        unexplained = self.unexplained if is_variance else None
        # The colour of "explained" belongs to bars that are split.
        plain = color(0) if self.unexplained is None or is_variance else "#555555"
        style = {"height": 0.66, "color": plain} | kwargs
        is_refused = refused(self.supported, _can_vary(self.fragility))
        if unexplained is not None:
            rest = {"color": UNEXPLAINED_COLOR, "label": NOT_PREDICTED}
            whole = ax.barh(places, lengths, **(style | rest))
            explained = lengths * (1.0 - np.nan_to_num(unexplained, nan=1.0))
            parts = ax.barh(
                places, explained, **style, label="predicted from the inputs"
            )
            for step in np.flatnonzero(is_refused):
                parts[step].set(hatch=HATCH, edgecolor="white", linewidth=0.0)
        else:
            whole = ax.barh(places, lengths, **style)
        longest = max(float(lengths.max(initial=0.0)), np.finfo(float).tiny)
        for place, value in zip(places, values, strict=True):
            text = "–" if np.isnan(value) else f"{value:.3g}"
            text = "0" if abs(value) < _ROUNDING else text
            start = 0.0 if np.isnan(value) else value
            ax.text(start + 0.02 * longest, place, text, va="center", fontsize=8)
        names = [
            label(name) + (f"\n({NOT_SUPPORTED})" if is_refused[step] else "")
            for step, name in enumerate(self.fragility.step_names)
        ]
        ax.set_yticks(places, names if position == 0 else [""] * len(names))
        ax.set_ylim(-0.6, len(values) - 0.4)
        ax.set_xlim(0.0, 1.22 * longest)
        ax.locator_params(axis="x", nbins=4)
        ax.set_xlabel(label((MEASURES | OUTPUT_MEASURES)[name], 24))
        hide_spines(ax)
        if position:
            ax.tick_params(left=False)
        return whole


def _can_vary(spread: Result) -> Any:  # shape: (n_steps,)
    if "variance" in spread.columns:
        return np.asarray(spread.columns["variance"]) > 0
    return spread.n_possible > 1


def spread_of(reading: Reading, y: ArrayLike) -> Result:
    """Measure an ensemble: the fragility of policies, or variances of real outputs."""
    if reading.compositions is not None:
        return fragility_of(reading.estimator, y)
    expansion = reading.expansion
    values = checked_outputs(y, expansion.output_names)
    groups = group_matrix(expansion).argmax(axis=0)
    return output_spread(values, groups, expansion.group_names)


def fragility_of(surrogate: Any, y: ArrayLike) -> Result:
    """Measure an ensemble with the steps, mask and names of a surrogate."""
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


def prism_flows(
    shares: SobolDisplay,
    measure: FloatArray,  # shape: (n_steps,)
) -> FloatArray:  # shape: (n_features + 2, n_steps)
    """Return the widths of the ribbons of a prism, which add up to 1."""
    weights = np.nan_to_num(measure)
    weights[weights < _ROUNDING] = 0.0  # a step without choice
    if weights.sum() <= 0:
        raise ValueError(
            "The members of y agree at every step; expected at least one step "
            "where they differ."
        )
    return np.asarray(shares.shares.T * weights / weights.sum())


#: Measures whose shares are the widths of the steps.
PRISM_MEASURES = {
    "aitchison_variance": "the Aitchison variance of all decisions",
    "variance_per_freedom": "the variance per degree of freedom of all decisions",
    "total_variation": "the total variation of all decisions",
    "jensen_shannon": "the Jensen-Shannon divergence of all decisions",
}
_NODE = 0.025  # width of the bars at both ends
_GAP = 0.02  # between nodes, in shares


class PrismDisplay:
    """Ribbons from inputs (left) to steps (right); all widths add up to 1.

    The height of a step is its share of the disagreement between members. It is divided
    as in :class:`SobolDisplay`: the shares of each input alone, of interactions, and
    what is not predicted.

    Parameters
    ----------
    flows : array-like of shape (n_features + 2, n_steps)
        Width of each ribbon: one row per input, then interactions, then what
        is not predicted.
    input_names, step_names : sequence of str
        Labels.
    supported : sequence of bool or None, default=None
        Whether the attribution of a step is supported; ribbons into other steps are
        hatched, and the step is labelled.
    measure : str, default="aitchison_variance"
        Measure whose shares are the widths.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the ribbons are.
    ribbons_ : dict of (int, int) to matplotlib PathPatch
        By row and column of ``flows``; none where the width is 0.

    See Also
    --------
    SobolDisplay : The same shares as bars, each step of length 1.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skpce.plotting import PrismDisplay
    >>> flows = [[0.3, 0.0], [0.1, 0.2], [0.05, 0.0], [0.15, 0.2]]
    >>> display = PrismDisplay(flows, ["pca0", "pca1"], ["catalyst", "base"]).plot()
    >>> len(display.ribbons_)
    6
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        flows: ArrayLike,
        input_names: Sequence[str],
        step_names: Sequence[str],
        *,
        supported: Sequence[bool] | None = None,
        measure: str = "aitchison_variance",
    ) -> None:
        self.flows: FloatArray = np.asarray(flows, dtype=np.float64)
        self.input_names: list[str] = list(input_names)
        self.step_names: list[str] = list(step_names)
        self.supported, self.measure = supported, measure

    @classmethod
    def from_estimator(
        cls,
        pipeline: Any,
        y: ArrayLike,
        *,
        measure: str = "aitchison_variance",
        unexplained: ArrayLike | None = None,
        verdict: Answer | None = None,
        input_features: Sequence[str] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> PrismDisplay:
        """Draw the prism of a fitted surrogate.

        Parameters
        ----------
        y : array-like of shape (n_members, n_parts)
            Policies of members, whose disagreement gives the heights of the steps.
        measure : {"aitchison_variance", "variance_per_freedom", "total_variation", \
                "jensen_shannon"}, default="aitchison_variance"
            Of the disagreement. Summed variances grow with the number of actions.
            The division of a step into inputs is that of its Aitchison variance,
            whatever the measure.
        pipeline, unexplained, verdict, input_features
            As in :meth:`SobolDisplay.from_fit`; of a surrogate.
        ax, **kwargs
            As in :meth:`plot`.
        """
        check_option("PrismDisplay.from_estimator", "measure", measure, PRISM_MEASURES)
        reading, _ = compositions_of(
            pipeline,
            instead="SobolDisplay, since their units do not add up",
        )
        shares = SobolDisplay.from_fit(
            pipeline,
            unexplained=unexplained,
            verdict=verdict,
            input_features=input_features,
        )
        weights = getattr(fragility_of(reading.estimator, y), measure)
        display = cls(
            prism_flows(shares, weights),
            shares.input_names,
            shares.step_names,
            supported=shares.supported,
            measure=measure,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> PrismDisplay:
        """Draw the ribbons, on ``ax`` or, without one, in a new figure.

        ``kwargs`` are passed on to each ribbon, a ``matplotlib.patches.PathPatch``.
        """
        n_nodes = max(self.flows.shape)
        ax = make_axes(ax, (8.4, max(3.8, 1.2 + 0.46 * n_nodes)))
        ax.set_xlim(0.0, 1.0)
        left, right = self.flows.sum(axis=1), self.flows.sum(axis=0)
        tops_left, tops_right = _tops(left), _tops(right)
        lowest = min((tops_left - left).min(), (tops_right - right).min())
        ax.set_ylim(lowest - 0.01, 1.01)
        self.ribbons_: dict[tuple[int, int], Any] = {}
        from_top, to_top = tops_left.copy(), tops_right.copy()
        shades = share_colors(len(self.input_names))
        is_refused = refused(self.supported, right > 0)
        for row, column in np.ndindex(*self.flows.shape):
            width = float(self.flows[row, column])
            if width > 0:
                tops = float(from_top[row]), float(to_top[column])
                style = {"facecolor": shades[row], "alpha": 0.6, "linewidth": 0.0}
                if row < len(shades) - 1 and is_refused[column]:
                    style |= {"hatch": HATCH, "edgecolor": "white"}
                patch = _ribbon(tops, width, style | kwargs)
                self.ribbons_[row, column] = ax.add_patch(patch)
            from_top[row] -= width
            to_top[column] -= width
        sources = [label(name, 24, 2) for name in share_names(self.input_names)]
        _draw_nodes(ax, sources, tops_left, left, shades)
        targets = [
            label(name, 24, 2) + (f" ({NOT_SUPPORTED})" if is_refused[step] else "")
            for step, name in enumerate(self.step_names)
        ]
        _draw_nodes(ax, targets, tops_right, right)
        ax.set_xticks([])
        ax.set_yticks([])
        hide_spines(ax, ax.spines)
        what = PRISM_MEASURES.get(self.measure, self.measure)
        ax.set_xlabel(f"widths are shares of {what}", fontsize=9)
        self.ax_, self.figure_ = readable(ax)
        return self


def _ribbon(tops: tuple[float, float], width: float, style: dict[str, Any]) -> Any:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    start, end, middle = _NODE, 1.0 - _NODE, 0.5
    (a, b), (c, d) = tops, (tops[0] - width, tops[1] - width)
    vertices = [(start, a), (middle, a), (middle, b), (end, b)]
    vertices += [(end, d), (middle, d), (middle, c), (start, c), (start, a)]
    curve = [Path.CURVE4] * 3
    codes = [Path.MOVETO, *curve, Path.LINETO, *curve, Path.CLOSEPOLY]
    return PathPatch(Path(vertices, codes), **style)


def _tops(heights: FloatArray) -> FloatArray:
    """Return the upper ends of nodes from 1 downwards, with gaps between them."""
    present = heights > 0
    spaces = np.where(present, heights + _GAP, 0.0)
    return 1.0 - np.concatenate([[0.0], np.cumsum(spaces)[:-1]])


def _draw_nodes(
    ax: Any,
    names: Sequence[str],
    tops: FloatArray,
    heights: FloatArray,
    shades: Sequence[str] | None = None,
) -> None:
    """Draw inputs with their colours on the left, or else the steps on the right."""
    from matplotlib.patches import Rectangle

    start, side, sign = (1.0 - _NODE, 1.0, 1) if shades is None else (0.0, 0.0, -1)
    shades = ["#333333"] * len(heights) if shades is None else shades
    for top, height, shade in zip(tops, heights, shades, strict=True):
        corner = (start, top - height)
        ax.add_patch(Rectangle(corner, _NODE, height, color=shade, lw=0))
    shown = np.flatnonzero(heights > 0)
    centres = (tops - heights / 2.0)[shown]
    low, high = ax.get_ylim()
    inches = ax.figure.get_size_inches()[1] * ax.get_position().height
    # Two lines of nine points and a little air; labels of thin nodes move apart.
    apart = (high - low) * (0.3 / max(inches, 0.3))
    places = spread_apart(centres, min(apart, (high - low) / max(len(shown), 1)))
    style = {"ha": "right" if sign < 0 else "left", "va": "center", "fontsize": 9}
    for node, centre, place in zip(shown.tolist(), centres, places, strict=True):
        if abs(place - centre) > 1e-9:
            ends = [side, side + sign * 0.02]
            ax.plot(ends, [centre, place], color="#999999", lw=0.7, clip_on=False)
        text = f"{names[node]}  {heights[node]:.0%}"
        ax.text(side + sign * 0.028, place, text, linespacing=1.1, **style)


def spread_apart(centres: FloatArray, apart: float) -> FloatArray:
    """Move decreasing positions so that neighbours are at least ``apart``."""
    # Each run of crowded labels stays centred on its nodes.
    groups: list[tuple[float, int]] = []  # centre of a run, its length
    for centre in np.asarray(centres, dtype=np.float64):
        groups.append((float(centre), 1))
        while len(groups) > 1:
            (above, n), (below, m) = groups[-2:]
            if above - below >= apart * (n + m) / 2.0 - 1e-12:
                break
            groups[-2:] = [((above * n + below * m) / (n + m), n + m)]
    runs = [
        centre + apart * ((size - 1) / 2.0 - np.arange(size)) for centre, size in groups
    ]
    return np.concatenate(runs) if runs else np.zeros(0)
