"""Nominal against empirical coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._checks import FloatArray
from .._compositions.composition import checked_policies
from .._compositions.predictive import QUANTILE
from ..inspection._reading import surrogate_inputs, surrogate_of
from ..metrics import marginal_coverage_score
from ._style import color, hide_spines, label, legend_below, make_axes

MARKERS = "osD^vP"


class CoverageDisplay:
    """Lines of empirical against nominal coverage, one per kind of interval.

    Parameters
    ----------
    levels : array-like of shape (n_levels,)
        Nominal levels.
    coverages : mapping of str to array-like of shape (n_levels,)
        Empirical coverage of each kind of interval.
    n_members : int or None, default=None
        Held-out members, for the binomial band around the diagonal.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the lines are.
    figure_ : matplotlib Figure
        Of these axes.
    lines_ : list of matplotlib Line2D
        One per kind of interval.

    Notes
    -----
    The band is that of ``n_members`` independent hits. Parts of one member hit
    together, so it is the band of one part, not of the mean over parts.

    Examples
    --------
    >>> from skpce.plotting import CoverageDisplay
    >>> display = CoverageDisplay([0.5, 0.9], {"conditional": [0.52, 0.91]})
    >>> sorted(display.coverages)
    ['conditional']
    """

    def __init__(
        self,
        levels: ArrayLike,
        coverages: Mapping[str, ArrayLike],
        *,
        n_members: int | None = None,
    ) -> None:
        self.levels: FloatArray = np.asarray(levels, dtype=np.float64)
        self.coverages: dict[str, FloatArray] = {
            name: np.asarray(values, dtype=np.float64)
            for name, values in coverages.items()
        }
        self.n_members = n_members

    @classmethod
    def from_estimator(
        cls,
        pipeline: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        levels: Sequence[float] = (0.5, 0.8, 0.9, 0.95),
        random_state: Any = 0,
        ax: Any = None,
        **kwargs: Any,
    ) -> CoverageDisplay:
        """Draw the coverage of held-out members, conditional on X and not.

        Parameters
        ----------
        pipeline : fitted estimator
            A surrogate or a Pipeline that ends in one.
        X : array-like of shape (n_members, n_features)
            Inputs of held-out members, before any embedding.
        y : array-like of shape (n_members, n_parts)
            Their policies.
        levels : sequence of float, default=(0.5, 0.8, 0.9, 0.95)
            Nominal levels.
        random_state : int, RandomState instance or None, default=0
            Randomness of the draws.
        ax, **kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : CoverageDisplay
            After :meth:`plot`.

        Raises
        ------
        ValueError
            If X or y does not fit the surrogate.
        """
        surrogate, _ = surrogate_of(pipeline)
        inputs = surrogate_inputs(pipeline, X)
        y = checked_policies(y, surrogate, len(inputs))
        kinds = {
            "given the inputs": {"X": inputs},
            "ignoring the inputs": {"X": None},
            "push-forward alone": {"X": None, "residual": None},
        }
        coverages: dict[str, list[float]] = {name: [] for name in kinds}
        for name, arguments in kinds.items():
            for level in levels:
                interval = surrogate.predict_interval(
                    confidence_level=level, random_state=random_state, **arguments
                )
                score = marginal_coverage_score(
                    y, *interval, steps=surrogate.steps_, mask=surrogate.mask_
                )
                coverages[name].append(float(np.nanmean(score)))
        display = cls(levels, coverages, n_members=len(inputs))
        return display.plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        draws: Mapping[str, ArrayLike],
        *,
        levels: Sequence[float] = (0.5, 0.8, 0.9, 0.95),
        steps: Any = None,
        mask: Any = "infer",
        ax: Any = None,
        **kwargs: Any,
    ) -> CoverageDisplay:
        """Draw the coverage of central intervals of given draws.

        Parameters
        ----------
        y : array-like of shape (n_members, n_parts)
            Policies of held-out members.
        draws : mapping of str to array-like of shape (n_draws, n_members, n_parts)
            Draws of each predictive law by name; (n_draws, 1, n_parts) for one law
            for all members.
        levels : sequence of float, default=(0.5, 0.8, 0.9, 0.95)
            Nominal levels.
        steps, mask
            As in :func:`skpce.metrics.marginal_coverage_score`.
        ax, **kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : CoverageDisplay
            After :meth:`plot`.
        """
        coverages: dict[str, list[float]] = {name: [] for name in draws}
        for name, values in draws.items():
            for level in levels:
                tail = (1.0 - level) / 2.0
                low, high = np.quantile(
                    np.asarray(values), [tail, 1.0 - tail], axis=0, method=QUANTILE
                )
                score = marginal_coverage_score(y, low, high, steps=steps, mask=mask)
                coverages[name].append(float(np.nanmean(score)))
        display = cls(levels, coverages, n_members=len(np.asarray(y)))
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> CoverageDisplay:
        """Draw the lines.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs
            Passed on to ``Axes.plot`` for the lines.

        Returns
        -------
        display : CoverageDisplay
            With ``ax_``, ``figure_`` and ``lines_``.
        """
        ax = make_axes(ax, (5.2, 4.6))
        grid = np.linspace(0.0, 1.0, 101)
        ax.plot(grid, grid, color="black", linewidth=1, linestyle=":", label="nominal")
        if self.n_members is not None:
            half = 1.96 * np.sqrt(grid * (1.0 - grid) / self.n_members)
            ax.fill_between(
                grid,
                np.maximum(grid - half, 0.0),
                np.minimum(grid + half, 1.0),
                color="black",
                alpha=0.08,
                linewidth=0,
                label="95 % chance band",
            )
        self.lines_: list[Any] = []
        for position, (name, values) in enumerate(self.coverages.items()):
            style = {
                "marker": MARKERS[position % len(MARKERS)],
                "color": color(position),
                "label": label(name),
            }
            (line,) = ax.plot(self.levels, values, **(style | kwargs))
            self.lines_.append(line)
        ax.set_xlim(min(0.4, self.levels.min()), 1.0)
        ax.set_ylim(0.0, 1.02)
        ax.set_xlabel("nominal level")
        ax.set_ylabel("share of held-out probabilities inside")
        legend_below(ax)
        hide_spines(ax)
        self.ax_: Any = ax
        self.figure_: Any = ax.figure
        return self
