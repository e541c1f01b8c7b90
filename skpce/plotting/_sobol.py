"""Sobol indices as shares of the total variance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._feature_names import input_names
from ..inspection import Verdict
from ._style import INTERACTION_COLOR, UNEXPLAINED_COLOR, color, make_axes

FloatArray = NDArray[np.float64]


# Shares below this are rounding: an additive expansion has no interactions.
_ROUNDING = 1e-12


class SobolDisplay:
    """Stacked bars: what each input drives of each step, and what nobody explains.

    Bars are shares of the *total* variance of a step between members: first-order
    indices times Q², then interactions, then the unexplained rest.

    Parameters
    ----------
    first_order : ndarray of shape (n_steps, n_features)
        First-order indices of the expansion.
    unexplained : ndarray of shape (n_steps,)
        ``1 - Q²`` of each step, in [0, 1]; NaN for a step without choice.
    step_names, input_names : sequence of str
        Labels.
    supported : sequence of bool or None, default=None
        Whether the attribution of a step is supported; bars that are not are
        hatched and say so.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the bars are.
    figure_ : matplotlib Figure
        Of these axes.
    bars_ : list of matplotlib BarContainer
        One per input, then interactions, then the unexplained share.

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
    ) -> None:
        self.first_order = np.asarray(first_order, dtype=np.float64)
        self.unexplained = np.asarray(unexplained, dtype=np.float64)
        self.step_names = list(step_names)
        self.input_names = list(input_names)
        self.supported = supported

    @property
    def shares(self) -> FloatArray:
        """Shares of the total variance (n_steps, n_features + 2); rows sum to 1."""
        explained = 1.0 - np.nan_to_num(self.unexplained, nan=1.0)
        first = self.first_order * explained[:, np.newaxis]
        interactions = explained - first.sum(axis=1)
        interactions[interactions < _ROUNDING] = 0.0
        return np.column_stack([first, interactions, 1.0 - explained])

    @classmethod
    def from_estimator(
        cls,
        pipeline: Any,
        *,
        unexplained: ArrayLike | None = None,
        verdict: Verdict | None = None,
        ax: Any = None,
    ) -> SobolDisplay:
        """Draw the step indices of a fitted surrogate or of a Pipeline ending in one.

        Parameters
        ----------
        pipeline, unexplained, verdict
            As in :meth:`from_fit`.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : SobolDisplay
            After :meth:`plot`.
        """
        display = cls.from_fit(pipeline, unexplained=unexplained, verdict=verdict)
        return display.plot(ax=ax)

    @classmethod
    def from_fit(
        cls,
        pipeline: Any,
        *,
        unexplained: ArrayLike | None = None,
        verdict: Verdict | None = None,
    ) -> SobolDisplay:
        """Collect the step indices of a fitted surrogate, without drawing.

        Parameters
        ----------
        pipeline : fitted estimator
            The names of the inputs are asked of the pipeline.
        unexplained : array-like of shape (n_steps,) or None, default=None
            Share of the variance that is not explained; by default that of the
            verdict, else of the surrogate's leave-one-out.
        verdict : Verdict or None, default=None
            Marks the steps whose attribution is not supported.

        Returns
        -------
        display : SobolDisplay
            Call :meth:`plot` to draw it.
        """
        surrogate, names = surrogate_of(pipeline)
        supported = None
        if verdict is not None:
            supported = verdict.attributable
            if unexplained is None:
                q2 = np.array([step.q2 for step in verdict.steps])
                unexplained = np.clip(1.0 - q2, 0.0, 1.0)
        if unexplained is None:
            unexplained = surrogate.step_unexplained_share_
        # An expansion without variance explains nothing, whatever its Q².
        has_variance = surrogate.step_total_variance_ > 0
        unexplained = np.where(~has_variance & ~np.isnan(unexplained), 1.0, unexplained)
        return cls(
            surrogate.step_sobol_indices_,
            unexplained,
            surrogate.step_names_,
            names,
            supported=supported,
        )

    def plot(self, ax: Any = None) -> SobolDisplay:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : SobolDisplay
            With ``ax_``, ``figure_`` and ``bars_``.
        """
        n_steps = len(self.step_names)
        ax = make_axes(ax, (8.0, 1.4 + 0.55 * n_steps))
        from matplotlib.patches import Patch

        labels = [*self.input_names, "interactions", "unexplained"]
        colors = [color(i) for i in range(len(self.input_names))]
        colors += [INTERACTION_COLOR, UNEXPLAINED_COLOR]
        shares, left = self.shares, np.zeros(n_steps)
        shares[np.isnan(self.unexplained)] = 0.0  # no choice, no bar
        positions = np.arange(n_steps)[::-1]
        self.bars_ = []
        for column, (label, shade) in enumerate(zip(labels, colors, strict=True)):
            bars = ax.barh(
                positions,
                shares[:, column],
                left=left,
                color=shade,
                label=label,
                height=0.7,
                edgecolor="white",
                linewidth=0.5,
            )
            left += shares[:, column]
            self.bars_.append(bars)
        self._mark_unsupported(ax, positions)
        ax.set_yticks(positions, self.step_names)
        ax.set_xlim(0.0, 1.0)
        ax.set_xlabel("share of the variance between members")
        ax.set_ylim(-0.6, n_steps - 0.4)
        # Patches of their own: those of the bars may be hatched.
        handles = [
            Patch(facecolor=shade, label=label)
            for label, shade in zip(labels, colors, strict=True)
        ]
        ax.legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            frameon=False,
        )
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _mark_unsupported(self, ax: Any, positions: NDArray[np.int64]) -> None:
        for step, position in enumerate(positions):
            if np.isnan(self.unexplained[step]):
                ax.text(0.015, position, "no choice", va="center", color="#555555")
            elif self.supported is not None and not self.supported[step]:
                for bars in self.bars_[:-1]:
                    bars[step].set_hatch("////")
                ax.text(
                    0.985,
                    position,
                    "attribution not supported",
                    ha="right",
                    va="center",
                    fontsize=9,
                    bbox={"facecolor": "white", "alpha": 0.85, "linewidth": 0},
                )


def surrogate_of(
    pipeline: Any, names: Sequence[str] | None = None
) -> tuple[Any, list[str]]:
    """Return the fitted surrogate of a pipeline and the names of its inputs.

    Transformers that give no names leave those of the surrogate, ``x0``, ``x1``, ...
    """
    check_is_fitted(pipeline)
    if not isinstance(pipeline, Pipeline):
        return pipeline, input_names(pipeline) if names is None else list(names)
    if len(pipeline) > 1:
        try:
            names = list(pipeline[:-1].get_feature_names_out(names))
        except AttributeError:
            names = None
    return surrogate_of(pipeline[-1], names)


def surrogate_inputs(pipeline: Any, X: ArrayLike) -> Any:
    """Return what the surrogate of a pipeline gets for X."""
    if not isinstance(pipeline, Pipeline):
        return X
    inner = pipeline[:-1].transform(X) if len(pipeline) > 1 else X
    return surrogate_inputs(pipeline[-1], inner)
