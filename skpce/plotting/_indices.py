"""Shares of the variance: of each input, and of each entry of the reward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import FloatArray, check_integer, check_option
from ..inspection import Result
from ..inspection._back_to_reward import effects_of
from ..inspection._reading import expansion_of, renamed
from ._style import (
    COLORS,
    HATCH,
    NO_VARIANCE,
    NOT_SUPPORTED,
    Support,
    check_position,
    draw_heat_map,
    hide_spines,
    label,
    legend_right,
    make_axes,
    make_panels,
    readable,
    refuse_other_steps,
    refused,
    share_colors,
    share_names,
)

KINDS = ("stacked", "bars", "heatmap")

# Shares below this are rounding: an additive expansion has no interactions.
_ROUNDING = 1e-12


class SobolDisplay:
    """Shares of the variance of each step: of each input, and unexplained.

    Shares are of the *total* variance of a step between members: first-order
    indices times Q², then interactions, then the unexplained share. They add up to 1.

    Parameters
    ----------
    first_order : ndarray of shape (n_steps, n_features)
        First-order indices of the expansion. Noise-corrected ones may be negative
        (drawn as bars or as a heat map, never stacked) or NaN (nothing is explained).
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

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the shares are.
    bars_ : list of matplotlib BarContainer
        One per input, then interactions, then the unexplained share. Not for a heat
        map.
    image_ : matplotlib AxesImage
        Only for a heat map.

    See Also
    --------
    InteractionDisplay : Pairs of inputs.
    PrismDisplay : All steps of a trajectory in one picture.

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
    ) -> None:
        self.first_order: FloatArray = np.asarray(first_order, dtype=np.float64)
        self.unexplained: FloatArray = np.asarray(unexplained, dtype=np.float64)
        self.step_names: list[str] = list(step_names)
        self.input_names: list[str] = list(input_names)
        self.supported, self.sampled = supported, sampled

    @property
    def shares(self) -> FloatArray:
        """Shares of the total variance (n_steps, n_features + 2); rows sum to 1."""
        explained = 1.0 - np.nan_to_num(self.unexplained, nan=1.0)
        explained[np.isnan(self.first_order).any(axis=1)] = 0.0
        first = np.nan_to_num(self.first_order) * explained[:, np.newaxis]
        interactions = explained - first.sum(axis=1)
        interactions[interactions < _ROUNDING] = 0.0
        return np.column_stack([first, interactions, 1.0 - explained])

    @property
    def column_names(self) -> list[str]:
        """Names of the columns of ``shares``."""
        return share_names(self.input_names)

    @classmethod
    def from_estimator(
        cls,
        pipeline: Any,
        *,
        unexplained: ArrayLike | None = None,
        verdict: Result | None = None,
        input_features: Sequence[str] | None = None,
        step_names: Sequence[str] | None = None,
        outputs: Any = None,
        kind: str = "stacked",
        ax: Any = None,
        **kwargs: Any,
    ) -> SobolDisplay:
        """Draw the indices of a fitted estimator or of a Pipeline ending in one.

        Parameters
        ----------
        pipeline, unexplained, verdict, input_features, step_names, outputs
            As in :meth:`from_fit`.
        kind, ax, **kwargs
            As in :meth:`plot`.
        """
        display = cls.from_fit(
            pipeline,
            unexplained=unexplained,
            verdict=verdict,
            input_features=input_features,
            step_names=step_names,
            outputs=outputs,
        )
        return display.plot(ax=ax, kind=kind, **kwargs)

    @classmethod
    def from_fit(
        cls,
        pipeline: Any,
        *,
        unexplained: ArrayLike | None = None,
        verdict: Result | None = None,
        input_features: Sequence[str] | None = None,
        step_names: Sequence[str] | None = None,
        outputs: Any = None,
    ) -> SobolDisplay:
        """Collect the indices of a fitted estimator, without drawing.

        Parameters
        ----------
        pipeline : fitted estimator
            A :class:`skpce.CompositionalPCESurrogate` (its steps), a
            :class:`skpce.PolynomialChaosRegressor` (its outputs), or a Pipeline that
            ends in one.
        unexplained : array-like of shape (n_steps,) or None, default=None
            Share of the variance that is not explained; by default that of the
            verdict, else of the leave-one-out of the last estimator.
        verdict : Result or None, default=None
            Marks the steps or outputs whose attribution is not supported. Real
            outputs have the groups of columns that it was made with.
        input_features : sequence of str or None, default=None
            Names of the inputs of the last estimator. None takes those of the
            transformers before it, ``pipeline[:-1].get_feature_names_out()``.
        step_names : sequence of str or None, default=None
            Names of the steps or outputs; None takes those of the estimator.
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
        found = Support.of(expansion, verdict)
        if unexplained is not None:
            found = found.with_unexplained(unexplained)
        return cls(
            expansion.sobol_indices().first_order,
            found.unexplained,
            renamed("step_names", step_names, list(expansion.group_names)),
            expansion.input_names,
            supported=found.supported,
            sampled=reading.is_sampled,
        )

    def plot(
        self, ax: Any = None, *, kind: str = "stacked", **kwargs: Any
    ) -> SobolDisplay:
        """Draw the shares.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        kind : {"stacked", "bars", "heatmap"}, default="stacked"
            One bar per step, bars side by side, or a table in colours.
        **kwargs
            Passed on to ``Axes.barh``, or to ``Axes.imshow`` for a heat map.
        """
        check_option("SobolDisplay.plot", "kind", kind, KINDS)
        if kind == "heatmap":
            self._plot_heat_map(ax, kwargs)
        else:
            self._plot_bars(ax, kind == "stacked", kwargs)
        self.figure_: Any = readable(self.ax_)[1]
        return self

    def _plot_bars(self, ax: Any, is_stacked: bool, kwargs: dict[str, Any]) -> None:

        n_steps, names = len(self.step_names), self.column_names
        shares = self.shares
        lowest = float(shares.min(initial=0.0))
        if is_stacked and lowest < 0.0:
            raise ValueError(
                f"kind='stacked' cannot show a share of {lowest:.3g}; expected "
                "kind='bars' "
                "or kind='heatmap'."
            )
        each = 0.55 if is_stacked else 0.3 + 0.14 * len(names)
        height = max(1.4 + each * n_steps, 0.9 + 0.24 * len(names))
        ax = make_axes(ax, (8.0, height))
        colors = share_colors(len(self.input_names))
        left = np.zeros(n_steps)
        shares[np.isnan(self.unexplained)] = 0.0  # no choice, no bar
        positions = np.arange(n_steps)[::-1]
        thickness = 0.7 if is_stacked else 0.84 / len(names)
        style = {"edgecolor": "white", "linewidth": 0.5, "height": thickness} | kwargs
        self.bars_: list[Any] = []
        for column, (name, shade) in enumerate(zip(names, colors, strict=True)):
            down = 0.0 if is_stacked else 0.42 - (column + 0.5) * thickness
            bars = ax.barh(
                positions + down,
                shares[:, column],
                left=left if is_stacked else 0.0,
                label=label(name),
                **({"color": shade} | style),
            )
            left += shares[:, column]
            self.bars_.append(bars)
        for step, position in enumerate(positions):
            self._mark_step(ax, step, position)
        ax.set_yticks(positions, [label(name) for name in self.step_names])
        ax.set_xlim(1.1 * lowest, 1.0)
        if lowest < 0.0:
            ax.axvline(0.0, color="black", linewidth=0.8)
        ax.set_xlabel(self._axis_label())
        ax.set_ylim(-0.6, n_steps - 0.4)
        legend_right(ax, zip(names, colors, strict=True))
        hide_spines(ax)
        self.ax_: Any = ax

    def _mark_step(self, ax: Any, step: int, position: int) -> None:
        if np.isnan(self.unexplained[step]):
            ax.text(0.015, position, NO_VARIANCE, va="center", color="#555555")
        elif self._refused[step]:
            for bars in self.bars_[:-1]:
                bars[step].set_hatch(HATCH)
            style = {"ha": "right", "va": "center", "fontsize": 9}
            box = {"facecolor": "white", "alpha": 0.85, "linewidth": 0}
            ax.text(0.985, position, NOT_SUPPORTED, bbox=box, **style)

    def _plot_heat_map(self, ax: Any, kwargs: dict[str, Any]) -> None:
        names, n_steps = self.column_names, len(self.step_names)
        ax = make_axes(ax, (2.6 + 0.7 * len(names), 1.9 + 0.45 * n_steps))
        shares = self.shares
        shares[np.isnan(self.unexplained)] = np.nan
        marks = [" *" if is_refused else "" for is_refused in self._refused]
        for step in np.flatnonzero(np.isnan(self.unexplained)):
            marks[step] = f" ({NO_VARIANCE})"
        style = {"cmap": "Blues", "vmin": 0.0, "vmax": 1.0} | kwargs
        self.image_: Any = draw_heat_map(
            ax, shares, self.step_names, names, marks=marks, **style
        )
        ax.figure.colorbar(self.image_, ax=ax, label=self._axis_label("\n"))
        if self._refused.any():
            ax.set_title(f"* {NOT_SUPPORTED}", fontsize=9, loc="left")
        self.ax_ = ax

    def _axis_label(self, separator: str = " ") -> str:
        tail = f"{separator}(indices by sampling)" if self.sampled else ""
        return f"share of the variance{tail}"

    @property
    def _refused(self) -> Any:  # shape: (n_steps,)
        return refused(self.supported, ~np.isnan(self.unexplained))


#: Measures of the bars, with the label of their axis.
MEASURES: Mapping[str, str] = {
    "share": "share of the predicted variance",
    "variance_share": "variance of the feature alone,\nover the predicted variance",
    "effect_size": "change of the log-ratios\nfor one standard deviation",
}
_OUTPUT_CHANGE = "change of the output\nfor one standard deviation"


class RewardEffectsDisplay:
    """Effects of entries of the reward, or groups of them, on each decision.

    Parameters
    ----------
    effects : Result
        From :func:`skpce.inspection.back_to_reward`.
    supported : sequence of bool or None, default=None
        Whether the attribution of each step is supported; None takes that of the
        effects.
    unexplained : array-like of shape (n_steps,) or None, default=None
        One minus Q² of each step, NaN without variance; None takes that of the
        effects.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One per step; of a heat map one.
    ax_, figure_ : matplotlib Axes and Figure
        The first of them.
    bars_ : list of matplotlib BarContainer
        One per step. Not for a heat map.
    image_ : matplotlib AxesImage
        Only for a heat map.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.pipeline import make_pipeline
    >>> from skpce import PolynomialChaosRegressor
    >>> from skpce.plotting import RewardEffectsDisplay
    >>> X = np.random.default_rng(0).normal(size=(50, 3)) * [2, 1, 0.1]
    >>> pipeline = make_pipeline(PCA(2), PolynomialChaosRegressor(1)).fit(X, X[:, 0])
    >>> display = RewardEffectsDisplay.from_estimator(pipeline, X)
    >>> display.leading(0, "share", n_shown=1).tolist()
    [0]
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        effects: Result,
        *,
        supported: Sequence[bool] | None = None,
        unexplained: ArrayLike | None = None,
    ) -> None:
        self.effects = effects
        self.supported: tuple[bool, ...] = (
            effects.supported if supported is None else tuple(supported)
        )
        self.unexplained: FloatArray = np.asarray(
            effects.unexplained if unexplained is None else unexplained, dtype=float
        )

    @classmethod
    def from_estimator(
        cls,
        pipeline: Any,
        X: Any,
        *,
        groups: Mapping[str, Any] | None = None,
        verdict: Result | None = None,
        outputs: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> RewardEffectsDisplay:
        """Compute the effects and draw them.

        Parameters
        ----------
        pipeline, X, groups
            As in :func:`skpce.inspection.back_to_reward`.
        verdict : Result or None, default=None
            Marks the steps or outputs that are not attributable, and gives their
            cross-fitted Q²; None takes the leave-one-out Q².
        outputs : dict or None, default=None
            As in :meth:`SobolDisplay.from_fit`.
        ax, **kwargs
            As in :meth:`plot`.
        """
        reading = expansion_of(pipeline, X, outputs=outputs, verdict=verdict)
        effects = effects_of(reading, groups)
        supported = unexplained = None
        if verdict is not None:
            refuse_other_steps(verdict, effects.target_names)
            supported = verdict.attributable
            unexplained = 1.0 - np.clip(verdict.q2, 0.0, 1.0)
        display = cls(effects, supported=supported, unexplained=unexplained)
        return display.plot(ax=ax, **kwargs)

    def leading(self, target: int, measure: str, n_shown: int = 10) -> NDArray[np.intp]:
        """Return the positions of at most ``n_shown`` features, the largest first.

        ``target`` is the position of a step or output; ``measure`` is ``"share"``,
        ``"variance_share"`` or ``"effect_size"``.
        """
        size = np.abs(getattr(self.effects, measure)[target])
        return np.argsort(-size, kind="stable")[:n_shown]

    def plot(
        self,
        ax: Any = None,
        *,
        measure: str = "share",
        kind: str = "bars",
        target: int = 0,
        n_shown: int = 10,
        **kwargs: Any,
    ) -> RewardEffectsDisplay:
        """Draw the leading features of every step, or the actions of one.

        Parameters
        ----------
        ax : matplotlib Axes, sequence of them or None, default=None
            Where to draw: one to be divided, or one per step. None makes a figure.
        measure : {"share", "variance_share", "effect_size"}, default="share"
            Measure of the bars, which also ranks the features. Bars of the first two
            carry two standard errors.
        kind : {"bars", "heatmap"}, default="bars"
            Bars for every step, or for one step the signed change of each action's
            centred log-ratio when a feature rises by one standard deviation.
        target : int, default=0
            Step of the heat map.
        n_shown : int, default=10
            Number of features.
        **kwargs
            Passed on to ``Axes.barh``, or to ``Axes.imshow`` for a heat map.
        """
        owner = "RewardEffectsDisplay.plot"
        check_option(owner, "measure", measure, MEASURES)
        check_option(owner, "kind", kind, ("bars", "heatmap"))
        check_integer(owner, "n_shown", n_shown, low=1)
        if kind == "heatmap":
            target = check_position("target", target, len(self.effects.target_names))
            self._plot_heat_map(
                ax, target, self.leading(target, measure, n_shown), kwargs
            )
        else:
            self._plot_bars(ax, measure, n_shown, kwargs)
        self.ax_, self.figure_ = readable(*self.axes_)
        return self

    def _plot_bars(
        self, ax: Any, measure: str, n_shown: int, kwargs: dict[str, Any]
    ) -> None:
        names = self.effects.target_names
        n_bars = min(n_shown, len(self.effects.feature_names))
        n_columns = min(len(names), 2)
        n_rows = -(-len(names) // n_columns)
        size = 5.6 * n_columns, n_rows * (1.8 + 0.36 * n_bars)
        self.axes_ = make_panels(ax, len(names), size, n_columns=n_columns)
        self.bars_: list[Any] = [
            self._draw_target(
                panel, target, measure, self.leading(target, measure, n_shown), kwargs
            )
            for target, panel in enumerate(self.axes_)
        ]

    def _draw_target(
        self, ax: Any, target: int, measure: str, shown: Any, kwargs: dict[str, Any]
    ) -> Any:
        values = getattr(self.effects, measure)[target, shown]
        errors = getattr(self.effects, f"{measure}_standard_error", None)
        places = np.arange(len(shown))[::-1]
        style = {"color": COLORS[0], "height": 0.7, "ecolor": "black"} | kwargs
        double = None if errors is None else 2.0 * errors[target, shown]
        bars = ax.barh(places, values, xerr=double, **style)
        features = self.effects.feature_names
        ax.set_yticks(places, [label(features[i], 28, 1) for i in shown])
        ax.axvline(0.0, color="black", linewidth=0.8)
        ax.set_xlabel(self._label(measure))
        ax.set_title(self._title(target), loc="left", fontsize=10)
        if not self.supported[target]:
            for bar in bars:
                bar.set_hatch(HATCH)
        hide_spines(ax)
        return bars

    def _label(self, measure: str) -> str:
        is_real = not getattr(self.effects, "of_compositions", True)
        if is_real and measure == "effect_size":
            return _OUTPUT_CHANGE
        return MEASURES[measure]

    def _title(self, target: int) -> str:
        name = label(self.effects.target_names[target])
        unexplained = self.unexplained[target]
        if np.isnan(unexplained):
            return f"{name}\n{NO_VARIANCE}"
        tail = "" if self.supported[target] else f"\n{NOT_SUPPORTED}"
        return f"{name}\nunexplained: {unexplained:.2f}{tail}"

    def _plot_heat_map(
        self, ax: Any, target: int, shown: Any, kwargs: dict[str, Any]
    ) -> None:
        effects = self.effects
        rows = np.flatnonzero(effects.row_targets == target)
        table = effects.effect[np.ix_(rows, shown)].T
        largest = float(np.abs(np.nan_to_num(table)).max(initial=0.0)) or 1.0
        ax = make_axes(ax, (4.0 + 0.7 * len(rows), 2.4 + 0.4 * len(shown)))
        prefix = f"{effects.target_names[target]}:"
        style: dict[str, Any] = {"cmap": "PuOr", "vmin": -largest, "vmax": largest}
        features = [effects.feature_names[i] for i in shown]
        columns = [effects.row_names[row].removeprefix(prefix) for row in rows]
        self.image_: Any = draw_heat_map(ax, table, features, columns, **style | kwargs)
        ax.figure.colorbar(self.image_, ax=ax, label=self._label("effect_size"))
        ax.set_title(self._title(target), loc="left", fontsize=10)
        self.axes_ = [ax]
