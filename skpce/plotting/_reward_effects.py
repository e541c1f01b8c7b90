"""Effects of entries of the reward, or of groups of them, on each decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import FloatArray, OutputGroups, check_integer
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
    hatch,
    hide_spines,
    make_panels,
    name_rows,
    readable,
    refuse_other_steps,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
        One per step.
    ax_, figure_ : matplotlib Axes and Figure
        The first of them.
    bars_ : list of matplotlib BarContainer
        One per step.

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
    >>> display.leading(0, n_shown=1).tolist()
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

    def leading(self, target: int, n_shown: int = 10) -> NDArray[np.intp]:
        """Return the positions of at most ``n_shown`` features, by the size of shares.

        ``target`` is the position of a step or output.
        """
        size = np.abs(self.effects.share[target])
        return np.argsort(-size, kind="stable")[:n_shown]

    def plot(
        self, ax: Axes | None = None, *, n_shown: int = 10, **kwargs: Any
    ) -> RewardEffectsDisplay:
        """Draw the shares of the leading features of every step.

        Bars have two standard errors. Those of steps that are not supported are
        hatched.

        Parameters
        ----------
        ax : matplotlib Axes, array of them, or None, default=None
            One for each step, or one that is divided; None makes a figure.
        n_shown : int, default=10
            Features of each step.
        **kwargs
            Passed on to ``Axes.barh``.
        """
        check_integer("RewardEffectsDisplay.plot", "n_shown", n_shown, low=1)
        n_targets = len(self.effects.target_names)
        n_bars = min(n_shown, len(self.effects.feature_names))
        n_columns = min(n_targets, 2)
        size = 5.6 * n_columns, -(-n_targets // n_columns) * (1.8 + 0.36 * n_bars)
        self.axes_ = make_panels(ax, n_targets, size, n_columns=n_columns)
        self.bars_: list[Any] = []
        for target, panel in enumerate(self.axes_):
            shown = self.leading(target, n_shown)
            self.bars_.append(self._plot_bars(panel, target, shown, kwargs))
        self.ax_, self.figure_ = readable(*self.axes_)
        return self

    def _plot_bars(
        self, ax: Any, target: int, shown: Any, kwargs: dict[str, Any]
    ) -> Any:
        places = np.arange(len(shown))[::-1]
        style = {"color": COLORS[0], "height": 0.7, "ecolor": "black"} | kwargs
        double = 2.0 * self.effects.share_standard_error[target, shown]
        share = self.effects.share[target, shown]
        bars = ax.barh(places, share, xerr=double, **style)
        heads = self._heads(target)
        names = [self.effects.feature_names[i] for i in shown]
        name_rows(ax, places, names, foot=LINE * (len(heads) + 4))
        ax.axvline(0.0, color="black", linewidth=0.8)
        ax.set_title("\n".join(heads), loc="left", fontsize=10)
        ax.set_xlabel("share of the predicted variance")
        hide_spines(ax)
        if not self.supported[target]:
            hatch(bars)
        return bars

    def _heads(self, target: int) -> list[str]:
        heads = [label(self.effects.target_names[target])]
        rest = self.unexplained[target]
        if np.isnan(rest):
            return [*heads, NO_VARIANCE]
        tail = [] if self.supported[target] else [NOT_SUPPORTED]
        return [*heads, f"{NOT_PREDICTED}: {rest:z.2f}", *tail]
