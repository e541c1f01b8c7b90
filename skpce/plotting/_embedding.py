"""The inputs of an expansion beside what it assumes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._checks import (
    FloatArray,
    check_integer,
    correlations_of,
    refuse_extremes,
)
from .._expansion.expansion import checked_features
from ..inspection._reading import expansion_of
from ._style import (
    UNEXPLAINED_COLOR,
    color,
    draw_heat_map,
    given_floats,
    hide_spines,
    legend_right,
    make_panels,
    name_columns,
    readable,
    series_style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Draws that stand for a distribution; its quantiles have no common closed form.
_LAW_DRAWS = 200_000
_PANEL = 4.6  # inches
# More bars have no numbers above them.
_MOST_NUMBERS = 10


class EmbeddingDisplay:
    """Correlation of the inputs, their quantiles, and the variance that PCA retains.

    Sobol indices in closed form assume independent inputs with the stated
    distributions. The first panel shows Pearson correlations (independence is more than
    that), the second the quantiles of each input against those of its distribution,
    both standardised by the distribution, the third, behind a PCA, the share of the
    variance of X that each component retains.

    Parameters
    ----------
    correlation : array-like of shape (n_features, n_features)
        Pearson correlations; NaN for a constant input.
    distribution_quantiles, data_quantiles : array-like of shape (n_members, n_features)
        Standardised by the mean and the standard deviation of the distribution.
    input_names : sequence of str
        Labels.
    explained_variance_ratio : array-like of shape (n_components,) or None, default=None
        Of a PCA before the expansion.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        Two or three panels.
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
        *,
        explained_variance_ratio: ArrayLike | None = None,
    ) -> None:
        self.correlation: FloatArray = np.asarray(correlation, dtype=np.float64)
        self.distribution_quantiles: FloatArray = np.asarray(
            distribution_quantiles, dtype=np.float64
        )
        self.data_quantiles: FloatArray = np.asarray(data_quantiles, dtype=np.float64)
        self.input_names: list[str] = list(input_names)
        self.explained_variance_ratio = given_floats(explained_variance_ratio)

    @classmethod
    def from_estimator(
        cls,
        pipeline: Any,
        X: ArrayLike | None = None,
        *,
        input_features: Sequence[str] | None = None,
        features: Sequence[int | str] | None = None,
        random_state: int = 0,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> EmbeddingDisplay:
        """Draw the inputs of the last estimator.

        Parameters
        ----------
        pipeline, input_features
            As in :meth:`SobolDisplay.from_fit`. The retained variance is that of the
            last step with ``explained_variance_ratio_``.
        X : array-like of shape (n_members, n_features) or None, default=None
            Members, before any embedding. None takes those that a surrogate was
            fitted on; a regressor needs X.
        features : sequence of int or str, or None, default=None
            Which inputs; None takes all.
        random_state : int, default=0
            Of the draws behind the quantiles of the distributions.
        ax, **kwargs
            As in :meth:`plot`.
        """
        check_integer("EmbeddingDisplay", "random_state", random_state)
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
        law, data = _quantiles(laws, inputs, random_state)
        retained = [
            shares
            for _, step in reading.steps
            if (shares := getattr(step, "explained_variance_ratio_", None)) is not None
        ]
        last = retained[-1] if retained else None
        shown = correlations_of(inputs), law, data, names
        display = cls(*shown, explained_variance_ratio=last)
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> EmbeddingDisplay:
        """Draw the panels on ``ax``, which is divided, or on one each.

        ``kwargs`` are passed on to ``Axes.plot`` for the quantiles.
        """
        shares, size = self.explained_variance_ratio, len(self.input_names)
        n_panels = 2 if shares is None else 3
        widths = [max(_PANEL, 2.2 + 0.27 * size)] + [_PANEL] * (n_panels - 1)
        figsize = sum(widths), max(3.6, 1.4 + 0.27 * size)
        self.axes_ = make_panels(ax, n_panels, figsize, width_ratios=widths)
        style: Any = {"cmap": "PuOr", "vmin": -1.0, "vmax": 1.0, "scale": ""}
        style |= {"heads": ["Pearson correlation"]}
        names = self.input_names
        draw_heat_map(self.axes_[0], self.correlation, names, **style)
        self._plot_quantiles(self.axes_[1], kwargs)
        if shares is not None:
            self._plot_retained_variance(self.axes_[2], shares)
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

    def _plot_retained_variance(self, ax: Any, shares: FloatArray) -> None:
        rest = max(1.0 - float(shares.sum()), 0.0)
        places = np.arange(len(shares) + 1)
        ax.bar(places[:-1], shares, color=color(0))
        ax.bar(places[-1:], [rest], color=UNEXPLAINED_COLOR)
        names = self.input_names
        if len(names) != len(shares):
            names = [str(i) for i in range(len(shares))]
        name_columns(ax, [*names, "not retained"])
        if len(places) <= _MOST_NUMBERS:
            for place, value in zip(places, [*shares, rest], strict=True):
                ax.text(place, value + 0.01, f"{value:z.2f}", ha="center", fontsize=8)
        ax.set_ylim(0.0, min(1.08, max(float(shares.max()), rest) * 1.15 + 0.02))
        ax.set_ylabel("share of the variance of X")
        hide_spines(ax)


def _quantiles(
    laws: Sequence[Any], inputs: FloatArray, random_state: int
) -> tuple[FloatArray, FloatArray]:
    """Return quantiles of distributions and data at Hazen's positions, standardised."""
    n_members = len(inputs)
    levels = (np.arange(n_members) + 0.5) / n_members
    distribution_quantiles = np.empty_like(inputs)
    data = np.sort(inputs, axis=0)
    for i, law in enumerate(laws):
        draws = law.sample(_LAW_DRAWS, np.random.default_rng(random_state))
        centre, scale = draws.mean(), draws.std() or 1.0
        distribution_quantiles[:, i] = (np.quantile(draws, levels) - centre) / scale
        data[:, i] = (data[:, i] - centre) / scale
    return distribution_quantiles, data
