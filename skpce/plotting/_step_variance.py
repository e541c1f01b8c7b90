"""How fragile is each step? Variances beside distances of probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._checks import FloatArray
from .._compositions.composition import checked_policies
from ..inspection import Verdict
from ..inspection._reading import surrogate_of
from ..metrics import PolicyFragility, policy_fragility
from ._fitted import attribution_of
from ._style import (
    NOT_SUPPORTED,
    UNEXPLAINED_COLOR,
    color,
    hide_spines,
    label,
    legend_right,
    make_panels,
)

#: What each measure is called on its axis.
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
# Smaller values are rounding: a step without choice.
_ROUNDING = 1e-12
DEFAULT_MEASURES = ("aitchison_variance", "variance_per_freedom", "total_variation")


class StepVarianceDisplay:
    """Bars of several measures of disagreement, one panel a measure.

    Variances of log-ratios grow with the number of actions and weigh rare actions
    like frequent ones; distances of probabilities do neither. The panels can rank
    the steps differently, which is why they stand side by side.

    Parameters
    ----------
    fragility : PolicyFragility
        From :func:`skpce.metrics.policy_fragility`.
    unexplained : array-like of shape (n_steps,) or None, default=None
        Share of the Aitchison variance that the inputs do not explain; the variance
        bars are then split.
    supported : sequence of bool or None, default=None
        Whether the attribution of a step is supported; others say so, and what the
        inputs explain of them is hatched.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The first panel.
    axes_ : list of matplotlib Axes
        One per measure.
    figure_ : matplotlib Figure
        Of these axes.
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
        fragility: PolicyFragility,
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
        ax: Any = None,
        **kwargs: Any,
    ) -> StepVarianceDisplay:
        """Draw the disagreement of an ensemble; no estimator is needed.

        Parameters
        ----------
        y : array-like of shape (n_members, n_parts) or data frame
            Policies, the steps side by side.
        steps, mask
            As in :func:`skpce.metrics.policy_fragility`.
        measures, ax, **kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : StepVarianceDisplay
            After :meth:`plot`.
        """
        found = policy_fragility(y, steps=steps, mask=mask)
        return cls(found).plot(ax=ax, measures=measures, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        pipeline: Any,
        y: ArrayLike,
        *,
        verdict: Verdict | None = None,
        measures: Sequence[str] = DEFAULT_MEASURES,
        ax: Any = None,
        **kwargs: Any,
    ) -> StepVarianceDisplay:
        """Draw the disagreement of an ensemble, split by what a surrogate explains.

        Parameters
        ----------
        pipeline : fitted estimator
            A surrogate or a Pipeline that ends in one. Gives steps and mask.
        y : array-like of shape (n_members, n_parts)
            Policies of the members.
        verdict : Verdict or None, default=None
            Gives the unexplained share, and marks steps that are not attributable.
            None takes the leave-one-out of the surrogate.
        measures, ax, **kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : StepVarianceDisplay
            After :meth:`plot`.
        """
        surrogate, _ = surrogate_of(pipeline)
        found = fragility_of(surrogate, y)
        judged = attribution_of(pipeline).judged(verdict)
        display = cls(found, unexplained=judged.unexplained, supported=judged.supported)
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
            Fields of the fragility, one panel each.
        **kwargs
            Passed on to ``Axes.barh``.

        Returns
        -------
        display : StepVarianceDisplay
            With ``axes_``, ``ax_``, ``figure_`` and ``bars_``.

        Raises
        ------
        ValueError
            If a measure is unknown.
        """
        measures = list(measures)
        for name in measures:
            if name not in MEASURES:
                raise ValueError(f"measure {name!r} is none of {sorted(MEASURES)}.")
        n_steps = len(self.fragility.step_names)
        size = (2.6 + 2.6 * len(measures), 1.6 + 0.4 * n_steps)
        self.axes_: list[Any] = make_panels(ax, len(measures), size)
        self.bars_: list[Any] = [
            self._plot_measure(panel, name, position, kwargs)
            for position, (panel, name) in enumerate(
                zip(self.axes_, measures, strict=True)
            )
        ]
        self._add_legend()
        self.ax_: Any = self.axes_[0]
        self.figure_: Any = self.axes_[0].figure
        return self

    def _add_legend(self) -> None:
        """Name the two parts of split bars; the keys are never hatched."""
        from matplotlib.patches import Patch

        for panel in self.axes_:
            bars, names = panel.get_legend_handles_labels()
            if bars:
                keys = [
                    Patch(facecolor=bar.patches[0].get_facecolor(), label=name)
                    for bar, name in zip(bars, names, strict=True)
                ]
                legend_right(self.axes_[-1], handles=keys[::-1])
                return

    def _is_refused(self, step: int) -> bool:
        if self.supported is None or self.fragility.n_possible[step] < 2:
            return False
        return not self.supported[step]

    def _plot_measure(
        self, ax: Any, name: str, position: int, kwargs: dict[str, Any]
    ) -> Any:
        values = np.asarray(getattr(self.fragility, name), dtype=np.float64)
        lengths = np.nan_to_num(values)
        places = np.arange(len(values))[::-1]
        is_variance = name in ("aitchison_variance", "variance_per_freedom")
        unexplained = self.unexplained if is_variance else None
        # The colour of "explained" belongs to bars that are split.
        plain = color(0) if self.unexplained is None or is_variance else "#555555"
        style = {"height": 0.66, "color": plain} | kwargs
        if unexplained is not None:
            whole = ax.barh(
                places,
                lengths,
                **(style | {"color": UNEXPLAINED_COLOR, "label": "unexplained"}),
            )
            explained = lengths * (1.0 - np.nan_to_num(unexplained, nan=1.0))
            parts = ax.barh(
                places,
                explained,
                **(style | {"label": "explained by the inputs"}),
            )
            for step, part in enumerate(parts):
                if self._is_refused(step):
                    part.set(hatch="////", edgecolor="white", linewidth=0.0)
        else:
            whole = ax.barh(places, lengths, **style)
        longest = max(float(lengths.max(initial=0.0)), np.finfo(float).tiny)
        for place, value in zip(places, values, strict=True):
            text = "–" if np.isnan(value) else f"{value:.3g}"
            text = "0" if abs(value) < _ROUNDING else text
            start = 0.0 if np.isnan(value) else value
            ax.text(start + 0.02 * longest, place, text, va="center", fontsize=8)
        names = [
            label(name) + (f"\n({NOT_SUPPORTED})" if self._is_refused(step) else "")
            for step, name in enumerate(self.fragility.step_names)
        ]
        ax.set_yticks(places, names if position == 0 else [""] * len(names))
        ax.set_ylim(-0.6, len(values) - 0.4)
        ax.set_xlim(0.0, 1.22 * longest)
        ax.locator_params(axis="x", nbins=4)
        ax.set_xlabel(label(MEASURES[name], 24))
        hide_spines(ax)
        if position:
            ax.tick_params(left=False)
        return whole


def fragility_of(surrogate: Any, y: ArrayLike) -> PolicyFragility:
    """Measure an ensemble with the steps, mask and names of a surrogate."""
    layout = surrogate.geometry_.layout
    found = policy_fragility(
        checked_policies(y, surrogate),
        steps=layout.widths,
        mask=surrogate.mask_,
        reference=surrogate.reference,
        zero_replacement=surrogate.zero_replacement,
    )
    # Without names, parts are numbered from 0 in each step.
    references = (
        layout.part_names[columns.start + int(number)]
        for columns, number in zip(layout.slices, found.alr_reference, strict=True)
    )
    return replace(found, step_names=layout.step_names, alr_reference=tuple(references))
