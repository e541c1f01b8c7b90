"""Step by step: the fragility of each step, and the shares of the inputs in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._checks import IndexArray, Mask, OutputGroups, Steps
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
    NOT_PREDICTED,
    NOT_SUPPORTED,
    UNEXPLAINED_COLOR,
    color,
    given_floats,
    hide_spines,
    legend_right,
    make_panels,
    name_rows,
    readable,
    refused,
    support_of,
)

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
# Smaller values are rounding: a step without choice.
_ROUNDING = 1e-12
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
