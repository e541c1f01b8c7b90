"""Do the inputs look as the expansion assumes?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline

from .._checks import FloatArray
from ..inspection._reading import last_estimator, unwrapped
from ._fitted import input_table, require_expansion
from ._style import (
    UNEXPLAINED_COLOR,
    color,
    draw_heat_map,
    hide_spines,
    label,
    legend_right,
    make_panels,
    name_columns,
)

# Draws that stand for a law; its quantiles have no common closed form.
_LAW_DRAWS = 200_000
_MARKERS = "osD^vP"
_PANEL = 4.6  # inches
# More bars have no numbers above them.
_MOST_NUMBERS = 10


class EmbeddingDisplay:
    """Correlation of the inputs, quantiles against their laws, kept variance.

    Sobol indices in closed form assume independent inputs with the stated laws. The
    first panel shows Pearson correlations (independence is more than that), the
    second the quantiles of each input against those of its law, both standardised by
    the law, the third, behind a PCA, how much of the variance of X each component
    keeps.

    Parameters
    ----------
    correlation : array-like of shape (n_features, n_features)
        Pearson correlations; NaN for a constant input.
    law_quantiles, data_quantiles : array-like of shape (n_members, n_features)
        Standardised by the mean and the standard deviation of the law.
    input_names : sequence of str
        Labels.
    explained_variance_ratio : array-like of shape (n_components,) or None, default=None
        Of a PCA before the expansion.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The first panel.
    axes_ : list of matplotlib Axes
        Two or three panels.
    figure_ : matplotlib Figure
        Of these axes.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from skpce import PolynomialChaosRegressor
    >>> from skpce.plotting import EmbeddingDisplay
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> pce = PolynomialChaosRegressor(1).fit(X, X[:, 0])
    >>> display = EmbeddingDisplay.from_estimator(pce, X)
    >>> bool(np.allclose(display.correlation, np.corrcoef(X.T)))
    True
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        correlation: ArrayLike,
        law_quantiles: ArrayLike,
        data_quantiles: ArrayLike,
        input_names: Sequence[str],
        *,
        explained_variance_ratio: ArrayLike | None = None,
    ) -> None:
        self.correlation: FloatArray = np.asarray(correlation, dtype=np.float64)
        self.law_quantiles: FloatArray = np.asarray(law_quantiles, dtype=np.float64)
        self.data_quantiles: FloatArray = np.asarray(data_quantiles, dtype=np.float64)
        self.input_names: list[str] = list(input_names)
        self.explained_variance_ratio: FloatArray | None = (
            None
            if explained_variance_ratio is None
            else np.asarray(explained_variance_ratio, dtype=np.float64)
        )

    @classmethod
    def from_estimator(
        cls,
        pipeline: Any,
        X: ArrayLike | None = None,
        *,
        input_features: Sequence[str] | None = None,
        random_state: int = 0,
        ax: Any = None,
        **kwargs: Any,
    ) -> EmbeddingDisplay:
        """Draw the inputs of the last estimator.

        Parameters
        ----------
        pipeline : fitted estimator
            A surrogate, a regressor, or a Pipeline that ends in one. The variance
            kept is read from the last step with ``explained_variance_ratio_``.
        X : array-like of shape (n_members, n_features) or None, default=None
            Members, before any embedding. None takes those that a surrogate was
            fitted on; a regressor needs X.
        input_features : sequence of str or None, default=None
            Names of the inputs; None asks the pipeline.
        random_state : int, default=0
            Of the draws that give the quantiles of the laws.
        ax, **kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : EmbeddingDisplay
            After :meth:`plot`.

        Raises
        ------
        ValueError
            If X is needed and missing, or has fewer than two members.
        """
        last, names = last_estimator(pipeline, input_features)
        require_expansion(last)
        inputs = input_table(pipeline, X)
        if inputs is None:
            raise ValueError(
                f"X=None, but {type(last).__name__} keeps no inputs; give X."
            )
        if len(inputs) < 2:
            raise ValueError(f"X has {len(inputs)} members; expected two or more.")
        law, data = _quantiles(last.basis_.laws, inputs, random_state)
        display = cls(
            _correlation(inputs),
            law,
            data,
            names,
            explained_variance_ratio=_kept_variance(pipeline),
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> EmbeddingDisplay:
        """Draw the panels.

        Parameters
        ----------
        ax : matplotlib Axes, sequence of Axes or None, default=None
            Where to draw: one to be divided, or one per panel. None makes a figure.
        **kwargs
            Passed on to ``Axes.plot`` for the quantiles.

        Returns
        -------
        display : EmbeddingDisplay
            With ``axes_``, ``ax_`` and ``figure_``.
        """
        n_panels = 2 if self.explained_variance_ratio is None else 3
        size = len(self.input_names)
        widths = [max(_PANEL, 2.2 + 0.27 * size)] + [_PANEL] * (n_panels - 1)
        height = max(3.6, 1.4 + 0.27 * size)
        self.axes_: list[Any] = make_panels(
            ax, n_panels, (sum(widths), height), width_ratios=widths
        )
        self._plot_correlation(self.axes_[0])
        self._plot_quantiles(self.axes_[1], kwargs)
        if n_panels == 3:
            self._plot_kept_variance(self.axes_[2])
        self.ax_: Any = self.axes_[0]
        self.figure_: Any = self.axes_[0].figure
        return self

    def _plot_correlation(self, ax: Any) -> None:
        names = self.input_names
        image = draw_heat_map(
            ax, self.correlation, names, names, cmap="PuOr", vmin=-1.0, vmax=1.0
        )
        ax.figure.colorbar(image, ax=ax)
        ax.set_title("Pearson correlation", fontsize=10)

    def _plot_quantiles(self, ax: Any, kwargs: dict[str, Any]) -> None:
        both = np.concatenate([self.law_quantiles, self.data_quantiles])
        ends = np.array([np.nanmin(both), np.nanmax(both)])
        ax.plot(ends, ends, color="black", linewidth=1, linestyle=":")
        for i, name in enumerate(self.input_names):
            style = {
                "marker": _MARKERS[i % len(_MARKERS)],
                "color": color(i),
                "markersize": 3.5,
                "linestyle": "",
                "label": label(name, 18),
            }
            ax.plot(
                self.law_quantiles[:, i], self.data_quantiles[:, i], **(style | kwargs)
            )
        ax.set_xlabel("quantile of the law (standardised)")
        ax.set_ylabel("quantile of the members")
        legend_right(ax)
        hide_spines(ax)

    def _plot_kept_variance(self, ax: Any) -> None:
        kept = self.explained_variance_ratio
        assert kept is not None
        rest = max(1.0 - float(kept.sum()), 0.0)
        places = np.arange(len(kept) + 1)
        ax.bar(places[:-1], kept, color=color(0))
        ax.bar(places[-1:], [rest], color=UNEXPLAINED_COLOR)
        names = self.input_names
        if len(names) != len(kept):
            names = [str(i) for i in range(len(kept))]
        name_columns(ax, [*names, "not kept"])
        if len(places) <= _MOST_NUMBERS:
            for place, value in zip(places, [*kept, rest], strict=True):
                ax.text(place, value + 0.01, f"{value:.2f}", ha="center", fontsize=8)
        ax.set_ylim(0.0, min(1.08, max(float(kept.max()), rest) * 1.15 + 0.02))
        ax.set_ylabel("share of the variance of X")
        hide_spines(ax)


def _correlation(inputs: FloatArray) -> FloatArray:
    centred = inputs - inputs.mean(axis=0)
    scale = np.sqrt(np.square(centred).sum(axis=0))
    varying = np.ptp(inputs, axis=0) > 0
    scaled = centred / np.where(varying, scale, np.nan)
    return np.clip(scaled.T @ scaled, -1.0, 1.0)


def _quantiles(
    laws: Sequence[Any], inputs: FloatArray, random_state: int
) -> tuple[FloatArray, FloatArray]:
    """Return quantiles of laws and data at Hazen's positions, standardised."""
    n_members = len(inputs)
    levels = (np.arange(n_members) + 0.5) / n_members
    law_quantiles = np.empty_like(inputs)
    data = np.sort(inputs, axis=0)
    for i, law in enumerate(laws):
        draws = law.sample(_LAW_DRAWS, np.random.default_rng(random_state))
        centre, scale = draws.mean(), draws.std() or 1.0
        law_quantiles[:, i] = (np.quantile(draws, levels) - centre) / scale
        data[:, i] = (data[:, i] - centre) / scale
    return law_quantiles, data


def _kept_variance(pipeline: Any) -> FloatArray | None:
    """Return what the last PCA-like step before the expansion keeps."""
    pipeline = unwrapped(pipeline)
    if not isinstance(pipeline, Pipeline):
        return None
    inner = _kept_variance(pipeline[-1])
    if inner is not None:
        return inner
    for _, step in reversed(pipeline.steps[:-1]):
        kept = getattr(step, "explained_variance_ratio_", None)
        if kept is not None:
            return np.asarray(kept, dtype=np.float64)
    return None
