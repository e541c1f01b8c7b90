"""Effects of entries of the reward, or of groups of them, on each decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import FloatArray, OutputGroups, check_integer, check_option
from .._fonts import label
from ..drivers import Answer
from ..inspection import Result
from ..inspection._back_to_reward import effects_of
from ..inspection._reading import expansion_of
from ._style import (
    COLORS,
    LINE,
    NO_VARIANCE,
    NOT_PREDICTED,
    NOT_SUPPORTED,
    check_position,
    draw_heat_map,
    hatch,
    hide_spines,
    make_axes,
    make_panels,
    name_rows,
    readable,
    refuse_other_steps,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
        verdict: Answer | None = None,
        outputs: OutputGroups = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> RewardEffectsDisplay:
        """Compute the effects and draw them.

        Parameters
        ----------
        pipeline, X, groups
            As in :func:`skpce.inspection.back_to_reward`.
        verdict : Answer or None, default=None
            Marks the steps or outputs that nothing is shown to drive, and says what is
            not predicted of them; None takes the leave-one-out Q².
        outputs : dict or None, default=None
            As in :meth:`SobolDisplay.from_fit`.
        ax, **kwargs
            As in :meth:`plot`.
        """
        reading = expansion_of(pipeline, X, outputs=outputs, verdict=verdict)
        effects = effects_of(reading, groups)
        judged: dict[str, Any] = {}
        if verdict is not None:
            refuse_other_steps(verdict, effects.target_names)
            judged["supported"] = verdict.attributable
            judged["unexplained"] = verdict.not_predicted
        return cls(effects, **judged).plot(ax=ax, **kwargs)

    def leading(self, target: int, measure: str, n_shown: int = 10) -> NDArray[np.intp]:
        """Return the positions of at most ``n_shown`` features, the largest first.

        ``target`` is the position of a step or output; ``measure`` is ``"share"``,
        ``"variance_share"`` or ``"effect_size"``.
        """
        size = np.abs(getattr(self.effects, measure)[target])
        return np.argsort(-size, kind="stable")[:n_shown]

    def plot(
        self,
        ax: Axes | None = None,
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
        effects = self.effects
        if kind == "heatmap":
            target = check_position("target", target, len(effects.target_names))
            shown = self.leading(target, measure, n_shown)
            self._plot_heat_map(ax, target, shown, kwargs)
        else:
            n_targets = len(effects.target_names)
            n_bars = min(n_shown, len(effects.feature_names))
            n_columns = min(n_targets, 2)
            n_rows = -(-n_targets // n_columns)
            size = 5.6 * n_columns, n_rows * (1.8 + 0.36 * n_bars)
            self.axes_ = make_panels(ax, n_targets, size, n_columns=n_columns)
            self.bars_: list[Any] = []
            for place, panel in enumerate(self.axes_):
                shown = self.leading(place, measure, n_shown)
                values = getattr(effects, measure)[place, shown]
                errors = getattr(effects, f"{measure}_standard_error", None)
                style = {"color": COLORS[0], "height": 0.7, "ecolor": "black"}
                if errors is not None:
                    style["xerr"] = 2.0 * errors[place, shown]
                rows = np.arange(len(shown))[::-1]
                bars = panel.barh(rows, values, **style | kwargs)
                names, heads = (
                    [effects.feature_names[i] for i in shown],
                    self._heads(place),
                )
                name_rows(panel, rows, names, foot=LINE * (len(heads) + 4))
                panel.axvline(0.0, color="black", linewidth=0.8)
                panel.set_title("\n".join(heads), loc="left", fontsize=10)
                panel.set_xlabel(self._label(measure))
                hide_spines(panel)
                if not self.supported[place]:
                    hatch(bars)
                self.bars_.append(bars)
        self.ax_, self.figure_ = readable(*self.axes_)
        return self

    def _label(self, measure: str) -> str:
        is_real = not getattr(self.effects, "of_compositions", True)
        if is_real and measure == "effect_size":
            return _OUTPUT_CHANGE
        return MEASURES[measure]

    def _heads(self, target: int) -> list[str]:
        heads = [label(self.effects.target_names[target])]
        rest = self.unexplained[target]
        if np.isnan(rest):
            return [*heads, NO_VARIANCE]
        tail = [] if self.supported[target] else [NOT_SUPPORTED]
        return [*heads, f"{NOT_PREDICTED}: {rest:z.2f}", *tail]

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
        style |= {"scale": self._label("effect_size"), "heads": self._heads(target)}
        self.image_: Any = draw_heat_map(ax, table, features, columns, **style | kwargs)
        self.axes_ = [ax]
