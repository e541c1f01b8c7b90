"""The inputs of an expansion beside what it assumes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._checks import (
    FloatArray,
    correlations_of,
    refuse_extremes,
)
from .._expansion.expansion import checked_features
from ..inspection._reading import expansion_of
from ._style import (
    draw_heat_map,
    hide_spines,
    legend_right,
    make_panels,
    readable,
    series_style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Draws that stand for a distribution; its quantiles have no common closed form.
_LAW_DRAWS = 200_000
_PANEL = 4.6  # inches


class EmbeddingDisplay:
    """Correlation of the inputs, and their quantiles beside those assumed.

    Sobol indices in closed form assume independent inputs with the stated
    distributions. The first panel shows Pearson correlations (independence is more than
    that), the second the quantiles of each input against those of its distribution,
    both standardised by the distribution.

    Parameters
    ----------
    correlation : array-like of shape (n_features, n_features)
        Pearson correlations; NaN for a constant input.
    distribution_quantiles, data_quantiles : array-like of shape (n_members, n_features)
        Standardised by the mean and the standard deviation of the distribution.
    input_names : sequence of str
        Labels.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        Two panels.
    ax_, figure_ : matplotlib Axes and Figure
        The first panel, and the figure.

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
        distribution_quantiles: ArrayLike,
        data_quantiles: ArrayLike,
        input_names: Sequence[str],
    ) -> None:
        self.correlation: FloatArray = np.asarray(correlation, dtype=np.float64)
        self.distribution_quantiles: FloatArray = np.asarray(
            distribution_quantiles, dtype=np.float64
        )
        self.data_quantiles: FloatArray = np.asarray(data_quantiles, dtype=np.float64)
        self.input_names: list[str] = list(input_names)

    @classmethod
    def from_estimator(
        cls,
        pipeline: Any,
        X: ArrayLike | None = None,
        *,
        input_features: Sequence[str] | None = None,
        features: Sequence[int | str] | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> EmbeddingDisplay:
        """Draw the inputs of the last estimator.

        Parameters
        ----------
        pipeline, input_features
            As in :meth:`SobolDisplay.from_fit`.
        X : array-like of shape (n_members, n_features) or None, default=None
            Members, before any embedding. None takes those that a surrogate was
            fitted on; a regressor needs X.
        features : sequence of int or str, or None, default=None
            Which inputs; None takes all.
        ax, **kwargs
            As in :meth:`plot`.
        """
        reading = expansion_of(pipeline, X, input_features)
        inputs = reading.table
        if inputs is None:
            owner = type(reading.estimator).__name__
            raise ValueError(f"X=None, but {owner} stores no inputs; give X.")
        if np.ndim(inputs) != 2 or len(inputs) < 2:
            raise ValueError(
                f"X has shape {np.shape(inputs)}; expected (n_members, n_features) "
                "with two or more members."
            )
        refuse_extremes(inputs, "X")
        names, laws = reading.expansion.input_names, reading.expansion.basis.laws
        if features is not None:
            chosen = checked_features(features, names)
            names = tuple(names[i] for i in chosen)
            laws = [laws[i] for i in chosen]
            inputs = inputs[:, chosen]
        quantiles = _quantiles(laws, inputs)
        display = cls(correlations_of(inputs), *quantiles, names)
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> EmbeddingDisplay:
        """Draw the panels on ``ax``, which is divided, or on one each.

        ``kwargs`` are passed on to ``Axes.plot`` for the quantiles.
        """
        size = len(self.input_names)
        widths = [max(_PANEL, 2.2 + 0.27 * size), _PANEL]
        figsize = sum(widths), max(3.6, 1.4 + 0.27 * size)
        self.axes_ = make_panels(ax, 2, figsize, width_ratios=widths)
        style: Any = {"cmap": "PuOr", "vmin": -1.0, "vmax": 1.0, "scale": ""}
        style |= {"heads": ["Pearson correlation"]}
        names = self.input_names
        draw_heat_map(self.axes_[0], self.correlation, names, **style)
        self._plot_quantiles(self.axes_[1], kwargs)
        self.ax_, self.figure_ = readable(*self.axes_)
        return self

    def _plot_quantiles(self, ax: Any, kwargs: dict[str, Any]) -> None:
        both = np.concatenate([self.distribution_quantiles, self.data_quantiles])
        ends = np.array([np.nanmin(both), np.nanmax(both)])
        ax.plot(ends, ends, color="black", linewidth=1, linestyle=":")
        drawn: list[Any] = []
        for i, name in enumerate(self.input_names):
            style = series_style(i, name) | {"markersize": 3.5, "linestyle": ""}
            pair = self.distribution_quantiles[:, i], self.data_quantiles[:, i]
            drawn += ax.plot(*pair, **(style | kwargs))
        ax.set_xlabel("quantile of the distribution\n(standardised)")
        ax.set_ylabel("quantile of the members")
        legend_right(ax, self.input_names, drawn, width=18)
        hide_spines(ax)


def _quantiles(
    laws: Sequence[Any], inputs: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return quantiles of distributions and data at Hazen's positions, standardised."""
    n_members = len(inputs)
    levels = (np.arange(n_members) + 0.5) / n_members
    distribution_quantiles = np.empty_like(inputs)
    data = np.sort(inputs, axis=0)
    for i, law in enumerate(laws):
        draws = law.sample(_LAW_DRAWS, np.random.default_rng(0))
        centre, scale = draws.mean(), draws.std() or 1.0
        distribution_quantiles[:, i] = (np.quantile(draws, levels) - centre) / scale
        data[:, i] = (data[:, i] - centre) / scale
    return distribution_quantiles, data
