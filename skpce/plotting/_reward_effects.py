"""Which entries of the reward each decision answers to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import FloatArray, check_integer, check_option
from ..inspection import RewardEffects, Verdict, back_to_reward
from ._fitted import check_position, refuse_other_steps
from ._style import (
    COLORS,
    NO_VARIANCE,
    NOT_SUPPORTED,
    draw_heat_map,
    hide_spines,
    label,
    make_axes,
    make_panels,
)

#: What the bars may be, with the label of their axis.
MEASURES: Mapping[str, str] = {
    "share": "share of the predicted variance",
    "driven": "variance driven alone,\nover the predicted variance",
    "effect_size": "change of the log-ratios\nfor one standard deviation",
}


class RewardEffectsDisplay:
    """What entries of the reward, or groups of them, do to each decision.

    Parameters
    ----------
    effects : RewardEffects
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
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure
        Of these axes.
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
        effects: RewardEffects,
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
        verdict: Verdict | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> RewardEffectsDisplay:
        """Compute the effects and draw them.

        Parameters
        ----------
        pipeline, X, groups
            As in :func:`skpce.inspection.back_to_reward`.
        verdict : Verdict or None, default=None
            Says which steps are attributable, and gives their cross-fitted Q²; None
            takes the leave-one-out Q².
        ax, **kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : RewardEffectsDisplay
            After :meth:`plot`.

        Raises
        ------
        ValueError
            As :func:`skpce.inspection.back_to_reward` does, or when the verdict is
            about other steps.
        """
        effects = back_to_reward(pipeline, X, groups=groups)
        supported = unexplained = None
        if verdict is not None:
            refuse_other_steps(verdict, effects.target_names)
            supported = verdict.attributable
            q2 = np.array([step.q2 for step in verdict.steps])
            unexplained = 1.0 - np.clip(q2, 0.0, 1.0)
        display = cls(effects, supported=supported, unexplained=unexplained)
        return display.plot(ax=ax, **kwargs)

    def leading(self, target: int, measure: str, n_shown: int = 10) -> NDArray[np.intp]:
        """Return the positions of the features that are largest in size.

        Parameters
        ----------
        target : int
            Step or output.
        measure : {"share", "driven", "effect_size"}
            What counts.
        n_shown : int, default=10
            How many, at most.

        Returns
        -------
        positions : ndarray of int
            The largest first; the order of the columns where they are the same.
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
        measure : {"share", "driven", "effect_size"}, default="share"
            What the bars are, and what ranks the features. Bars of the first two
            carry two standard errors.
        kind : {"bars", "heatmap"}, default="bars"
            Bars for every step, or for one step the signed change of each action's
            centred log-ratio when a feature rises by one standard deviation.
        target : int, default=0
            Step of the heat map.
        n_shown : int, default=10
            How many features.
        **kwargs
            Passed on to ``Axes.barh``, or to ``Axes.imshow`` for a heat map.

        Returns
        -------
        display : RewardEffectsDisplay
            With ``axes_``, ``ax_``, ``figure_`` and ``bars_`` or ``image_``.

        Raises
        ------
        ValueError
            For an unknown measure or kind, or a step that does not exist.
        """
        owner = "RewardEffectsDisplay.plot"
        check_option(owner, "measure", measure, MEASURES)
        check_option(owner, "kind", kind, ("bars", "heatmap"))
        check_integer(owner, "n_shown", n_shown, low=1)
        if kind == "heatmap":
            target = check_position("target", target, len(self.effects.target_names))
            self._plot_heat_map(ax, target, measure, n_shown, kwargs)
        else:
            self._plot_bars(ax, measure, n_shown, kwargs)
        self.ax_: Any = self.axes_[0]
        self.figure_: Any = self.ax_.figure
        return self

    def _plot_bars(
        self, ax: Any, measure: str, n_shown: int, kwargs: dict[str, Any]
    ) -> None:
        names = self.effects.target_names
        n_bars = min(n_shown, len(self.effects.feature_names))
        n_columns = min(len(names), 2)
        n_rows = -(-len(names) // n_columns)
        size = 5.6 * n_columns, n_rows * (1.8 + 0.36 * n_bars)
        self.axes_: list[Any] = make_panels(ax, len(names), size, n_columns=n_columns)
        self.bars_: list[Any] = []
        for target, panel in enumerate(self.axes_):
            self.bars_.append(
                self._draw_target(panel, target, measure, n_shown, kwargs)
            )

    def _draw_target(
        self, ax: Any, target: int, measure: str, n_shown: int, kwargs: dict[str, Any]
    ) -> Any:
        shown = self.leading(target, measure, n_shown)
        values = getattr(self.effects, measure)[target, shown]
        errors = getattr(self.effects, f"{measure}_standard_error", None)
        places = np.arange(len(shown))[::-1]
        style = {"color": COLORS[0], "height": 0.7, "ecolor": "black"} | kwargs
        bars = ax.barh(
            places,
            values,
            xerr=None if errors is None else 2.0 * errors[target, shown],
            **style,
        )
        features = self.effects.feature_names
        ax.set_yticks(places, [label(features[i], 28, 1) for i in shown])
        ax.axvline(0.0, color="black", linewidth=0.8)
        ax.set_xlabel(MEASURES[measure])
        ax.set_title(self._title(target), loc="left", fontsize=10)
        if not self.supported[target]:
            for bar in bars:
                bar.set_hatch("////")
        hide_spines(ax)
        return bars

    def _title(self, target: int) -> str:
        name = label(self.effects.target_names[target])
        unexplained = self.unexplained[target]
        if np.isnan(unexplained):
            return f"{name}\n{NO_VARIANCE}"
        tail = "" if self.supported[target] else f"\n{NOT_SUPPORTED}"
        return f"{name}\nunexplained: {unexplained:.2f}{tail}"

    def _plot_heat_map(
        self, ax: Any, target: int, measure: str, n_shown: int, kwargs: dict[str, Any]
    ) -> None:
        effects = self.effects
        rows = np.flatnonzero(effects.row_targets == target)
        shown = self.leading(target, measure, n_shown)
        table = effects.effect[np.ix_(rows, shown)].T
        largest = float(np.abs(np.nan_to_num(table)).max(initial=0.0)) or 1.0
        size = 4.0 + 0.7 * len(rows), 2.4 + 0.4 * len(shown)
        ax = make_axes(ax, size)
        prefix = f"{effects.target_names[target]}:"
        style: dict[str, Any] = {"cmap": "PuOr", "vmin": -largest, "vmax": largest}
        style |= kwargs
        self.image_: Any = draw_heat_map(
            ax,
            table,
            [effects.feature_names[i] for i in shown],
            [effects.row_names[row].removeprefix(prefix) for row in rows],
            **style,
        )
        ax.figure.colorbar(self.image_, ax=ax, label=MEASURES["effect_size"])
        ax.set_title(self._title(target), loc="left", fontsize=10)
        self.axes_ = [ax]
