"""The effects of inputs, one at a time and in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import (
    FloatArray,
    OutputGroups,
    RandomState,
    check_draws,
    check_integer,
    listed,
    make_generator,
    refuse_extremes,
    refuse_not_finite,
)
from .._compositions.fitted import FittedCompositions
from .._expansion.expansion import checked_features
from .._fonts import label, labels, log_axis, name_levels
from .._learned.ridge import KernelBasis
from ..drivers import Answer
from ..inspection._reading import expansion_of, group_matrix
from ._indices import inputs_of
from ._style import (
    NO_VARIANCE,
    NOT_PREDICTED,
    NOT_SUPPORTED,
    check_position,
    color,
    draw_heat_map,
    given_floats,
    hide_spines,
    legend_right,
    make_axes,
    make_panels,
    readable,
    support_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLUMNS = 4
# More curves in one panel cannot be distinguished.
_MOST_TARGETS = 6


class MainEffectsDisplay:
    r"""Curves of :math:`E[y \mid x_i] - E[y]`, one panel an input.

    Parameters
    ----------
    grids : sequence of ndarray of shape (n_points,)
        Values of each shown input; the levels of a categorical one. An input whose
        points have equal ratios is drawn on a logarithmic axis.
    effects : sequence of ndarray of shape (n_points, n_targets)
        Effect of each input alone.
    input_names, target_names : sequence of str
        Labels.
    rugs : sequence of ndarray or None, default=None
        Values of the members, drawn as ticks: there are no data beyond them.
    quantity : str, default="y"
        What changes, for the axis.
    categorical : sequence of bool or of sequence of str, or None, default=None
        Inputs whose values are levels: points, not lines. The names of the levels in
        place of True are written on the axis.
    supported : sequence of bool or None, default=None
        Whether the attribution of each target is supported; curves of others are
        dashed and marked in the legend.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One per input.
    ax_, figure_ : matplotlib Axes and Figure
        The first panel, and the figure.
    lines_ : list of list of matplotlib Line2D
        One list per input, one line per target.

    See Also
    --------
    skpce.PolynomialChaosRegressor.main_effects : The numbers.
    InteractionDisplay : What pairs of inputs explain.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from skpce import PolynomialChaosRegressor
    >>> from skpce.plotting import MainEffectsDisplay
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> y = X[:, 0] + X[:, 1] ** 2
    >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
    >>> display = MainEffectsDisplay.from_estimator(pce.fit(X, y), X)
    >>> bool(np.allclose(display.effects[1][:, 0], display.grids[1] ** 2 - 1))
    True
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        grids: Sequence[ArrayLike],
        effects: Sequence[ArrayLike],
        input_names: Sequence[str],
        target_names: Sequence[str],
        *,
        rugs: Sequence[ArrayLike] | None = None,
        quantity: str = "y",
        categorical: Sequence[bool | Sequence[str]] | None = None,
        supported: Sequence[bool] | None = None,
    ) -> None:
        self.grids: list[FloatArray] = [np.asarray(x, dtype=np.float64) for x in grids]
        self.effects: list[FloatArray] = [
            np.asarray(effect, dtype=np.float64) for effect in effects
        ]
        self.input_names: list[str] = list(input_names)
        self.target_names: list[str] = list(target_names)
        self.rugs: list[NDArray[Any]] | None = (
            None if rugs is None else [np.asarray(rug) for rug in rugs]
        )
        self.quantity, self.categorical = quantity, categorical
        self.supported = supported

    @classmethod
    def from_estimator(
        cls,
        pipeline: Any,
        X: ArrayLike | None = None,
        *,
        targets: Sequence[int | str] | None = None,
        features: Sequence[int | str] | None = None,
        verdict: Answer | None = None,
        input_features: Sequence[str] | None = None,
        n_points: int = 61,
        n_samples: int = 1000,
        random_state: RandomState = 0,
        outputs: OutputGroups = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> MainEffectsDisplay:
        """Draw the main effects of a fitted estimator.

        Parameters
        ----------
        pipeline, verdict, input_features, outputs
            As in :meth:`SobolDisplay.from_fit`; a curve is that of one column.
        X : array-like of shape (n_samples, n_features) or None, default=None
            Data for the rug and the range of the curves, before any embedding. None
            takes those that a surrogate was fitted on; for a regressor the range is
            then that of the distribution, without a rug.
        targets : sequence of int or str, or None, default=None
            Which targets: parts such as ``"step:part"`` of a
            surrogate, or columns of real outputs, by position or name. None takes the
            six of the largest main effects. Several outputs that are no group may have
            several units: they are drawn in standard deviations of the expansion.
        features : sequence of int or str, or None, default=None
            Which inputs; None takes all.
        n_points : int, default=61
            Points of a curve.
        n_samples : int, default=1000
            Draws behind a mean probability.
        random_state : int, RandomState instance or None, default=0
            Randomness of the draws.
        ax, **kwargs
            As in :meth:`plot`.
        """
        owner = "MainEffectsDisplay.from_estimator"
        check_integer(owner, "n_points", n_points, low=2, high=10_000)
        check_draws(owner, "n_samples", n_samples)
        reading = expansion_of(
            pipeline, X, input_features, outputs=outputs, verdict=verdict
        )
        expansion, fitted = reading.expansion, reading.compositions
        basis, names = expansion.basis, expansion.input_names
        shown: Sequence[int] = range(len(names))
        if features is not None:
            shown = checked_features(features, names)
        table, laws = reading.table, basis.laws
        if table is not None:
            refuse_not_finite(table, "X")
            refuse_extremes(table, "X")
        size = max(4000, int(n_samples))
        sampled = basis.sample(size, make_generator(random_state))
        seen = sampled if table is None else table
        grids = [_grid(laws[i], seen[:, i], table is None, n_points) for i in shown]
        labels = expansion.output_names
        if not labels:
            raise ValueError(
                "The pipeline has no step with a choice; expected at least one that "
                "can vary."
            )
        if fitted is None:
            pairs = zip(shown, grids, strict=True)
            effects = [expansion._effect_of(i, grid[:, None]) for i, grid in pairs]
            member = group_matrix(expansion)
            squares = expansion.total_variance / member.sum(axis=1) @ member
            deviation = np.sqrt(np.where(squares > 0, squares, 1.0))
            scaled = [effect / deviation for effect in effects]
            chosen = _chosen_targets(targets, labels, scaled)
            unit = labels[chosen[0]] if len(chosen) == 1 else "y"
            if len(set(member.argmax(axis=0)[chosen].tolist())) > 1:
                effects, unit = scaled, "y / its standard deviation"
        else:
            effects = _probability_effects(fitted, grids, shown, sampled[:n_samples])
            chosen, unit = _chosen_targets(targets, labels, effects), "probability"
        good = support_of(expansion, verdict).supported
        if good is not None:
            rows = group_matrix(expansion).argmax(axis=0)
            good = tuple(good[rows[i]] for i in chosen)
        display = cls(
            grids,
            [effect[:, chosen] for effect in effects],
            [names[i] for i in shown],
            [labels[i] for i in chosen],
            rugs=None if table is None else [table[:, i] for i in shown],
            quantity=unit,
            categorical=[
                _levels(laws[i], grid) for i, grid in zip(shown, grids, strict=True)
            ],
            supported=good,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> MainEffectsDisplay:
        """Draw the curves on one scale: on ``ax``, which is divided, or on one each.

        ``kwargs`` are passed on to ``Axes.plot``.
        """
        n_panels = len(self.grids)
        n_columns = min(n_panels, _COLUMNS)
        n_rows = -(-n_panels // n_columns)
        size = (2.2 + 2.5 * n_columns, 0.4 + 2.5 * n_rows)
        self.axes_: list[Any] = make_panels(ax, n_panels, size, n_columns)
        low = min(float(effect.min()) for effect in self.effects)
        high = max(float(effect.max()) for effect in self.effects)
        margin = 0.06 * (high - low) or 1.0
        self.lines_: list[Any] = []
        names = [
            f"{self.input_names[panel]}{' (log scale)' if self._is_log(panel) else ''}"
            for panel in range(n_panels)
        ]
        shown = labels(names, 22)
        for panel, axes in enumerate(self.axes_):
            self.lines_.append(self._plot_panel(axes, panel, kwargs))
            axes.set_xlabel(shown[panel])
            axes.set_ylim(low - 2.0 * margin, high + margin)
            if panel % n_columns:
                axes.tick_params(labelleft=False)
            else:
                axes.set_ylabel(label(f"change of {self.quantity}", 32))
        marks = [
            f"\n({NOT_SUPPORTED})" if self._is_refused(target) else ""
            for target in range(len(self.target_names))
        ]
        last, drawn = self.axes_[n_columns - 1], self.lines_[n_columns - 1]
        legend_right(last, self.target_names, drawn, marks=marks)
        self.ax_, self.figure_ = readable(*self.axes_)
        return self

    def _is_refused(self, target: int) -> bool:
        return self.supported is not None and not self.supported[target]

    def _levels_of(self, panel: int) -> bool | Sequence[str]:
        return False if self.categorical is None else self.categorical[panel]

    def _is_log(self, panel: int) -> bool:
        """Whether points of an input have equal ratios, and no equal distances."""
        grid = self.grids[panel]
        if self._levels_of(panel) is not False or len(grid) < 3 or grid.min() <= 0:
            return False
        ratios, gaps = np.diff(np.log(grid)), np.diff(grid)
        is_even = np.ptp(gaps) <= 1e-6 * np.abs(gaps).max()
        return bool(np.ptp(ratios) <= 1e-6 * np.abs(ratios).max()) and not is_even

    def _plot_panel(self, ax: Any, panel: int, kwargs: dict[str, Any]) -> list[Any]:
        ax.axhline(0.0, color="#999999", linewidth=0.8)
        levels, grid = self._levels_of(panel), self.grids[panel]
        is_dotted = levels is not False
        points = {"marker": "o", "linestyle": ":"} if is_dotted else {}
        lines = []
        for target, name in enumerate(self.target_names):
            style = {"color": color(target), "label": label(name)} | points
            if self._is_refused(target):
                style.setdefault("linestyle", "--")
            effect = self.effects[panel][:, target]
            lines += ax.plot(grid, effect, **(style | kwargs))
        if self.rugs is not None:
            rug, height = self.rugs[panel], np.full(len(self.rugs[panel]), 0.02)
            ticks = {"color": "black", "alpha": 0.4, "markersize": 6}
            ax.plot(rug, height, "|", **ticks, transform=ax.get_xaxis_transform())
        if self._is_log(panel):
            log_axis(ax)
        elif isinstance(levels, Sequence):
            name_levels(ax, grid, levels)
            ax.margins(x=0.15)
        else:
            ax.locator_params(axis="x", nbins=5)
        hide_spines(ax)
        return lines


def _levels(law: Any, grid: FloatArray) -> bool | Sequence[str]:
    """Return the names of the levels of a categorical input; False for another one."""
    if law.is_polynomial:
        return False
    if all(isinstance(level, Real) for level in law.levels):  # which are their codes
        return [f"{code:g}" for code in grid]
    return [str(law.levels[int(code)]) for code in grid]


def _grid(law: Any, column: FloatArray, is_sampled: bool, n_points: int) -> FloatArray:
    """Return levels, or points over the range of the data or of 98 % of the draws."""
    if not law.is_polynomial:
        return np.asarray(law.table.points, dtype=np.float64)
    low, high = column.min(), column.max()
    if is_sampled:
        low, high = np.quantile(column, [0.01, 0.99])
    if low > 0 and law.is_logarithmic:
        return np.geomspace(low, high, n_points)
    return np.linspace(low, high, n_points)


def _probability_effects(
    fitted: FittedCompositions,
    grids: Sequence[FloatArray],
    features: Sequence[int],
    draws: FloatArray,
) -> list[FloatArray]:
    """Average over draws of the other inputs, the same draws at every point."""
    shown = fitted.geometry.active_parts

    def mean_at(inputs: FloatArray) -> FloatArray:
        """Average the expansion, also where a regressor predicts in its place."""
        clr = fitted.basis.combine(inputs, fitted.expansion.coefficients)
        return fitted.geometry.compositions(clr)[:, shown].mean(axis=0)

    mean, effects = mean_at(draws), []
    for grid, i in zip(grids, features, strict=True):
        curve = np.empty((len(grid), len(shown)))
        fixed = draws.copy()
        for point, value in enumerate(grid):
            fixed[:, i] = value
            curve[point] = mean_at(fixed)
        effects.append(curve - mean)
    return effects


def _chosen_targets(
    targets: Any, labels: Sequence[str], effects: Sequence[FloatArray]
) -> list[int]:
    """Return positions of targets; without a choice those that change most."""
    if targets is None:
        size = np.max([np.abs(effect).max(axis=0) for effect in effects], axis=0)
        return sorted(np.argsort(-size, kind="stable")[:_MOST_TARGETS].tolist())
    if isinstance(targets, (str, Integral)):
        targets = [targets]
    expected = "None, or names or positions of targets"
    chosen = [
        check_position("targets", target, len(labels), labels)
        for target in listed(targets, "targets", expected)
    ]
    if not chosen:
        raise ValueError(f"targets={targets!r} is empty; expected one or more.")
    return chosen


class InteractionDisplay:
    """Heat map of the shares of inputs alone (diagonal) and in pairs.

    Entries are shares of the *total* variance: those of a verdict, else Sobol indices
    of sets of one and two inputs times Q². Together with ``higher_order`` and
    ``unexplained`` they add up to 1.

    Parameters
    ----------
    values : array-like of shape (n_features, n_features)
        Share of each input on the diagonal, of each pair below it. Entries above the
        diagonal are not drawn.
    higher_order : float
        Share of all larger sets together.
    unexplained : float
        Share that is not predicted; NaN for a step without choice or variance.
    input_names : sequence of str
        Labels.
    title : str, default=""
        Name of the step or target.
    supported : bool, default=True
        Whether the attribution is supported; else the title marks it, and the colours
        extend to 1, not to the largest share.
    errors : array-like of shape (n_features,) or None, default=None
        Half the length of the interval of each input alone, written on the diagonal.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the map is.
    image_ : matplotlib AxesImage
        The map.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from skpce import PolynomialChaosRegressor
    >>> from skpce.plotting import InteractionDisplay
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> y = X[:, 0] + X[:, 0] * X[:, 1]
    >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
    >>> display = InteractionDisplay.from_estimator(pce.fit(X, y))
    >>> display.values.round(2) + 0.0
    array([[0.5, 0. ],
           [0.5, 0. ]])
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        values: ArrayLike,
        higher_order: float,
        unexplained: float,
        input_names: Sequence[str],
        *,
        title: str = "",
        supported: bool = True,
        errors: ArrayLike | None = None,
    ) -> None:
        self.values: FloatArray = np.asarray(values, dtype=np.float64)
        self.higher_order, self.unexplained = float(higher_order), float(unexplained)
        self.input_names: list[str] = list(input_names)
        self.title, self.supported = title, supported
        self.errors = given_floats(errors)

    @classmethod
    def from_estimator(
        cls,
        pipeline: Any,
        *,
        step: int | str = 0,
        verdict: Answer | None = None,
        input_features: Sequence[str] | None = None,
        outputs: OutputGroups = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> InteractionDisplay:
        """Draw one step of a surrogate or one output of a regressor.

        Parameters
        ----------
        step : int or str, default=0
            Which step or output, by position or name.
        pipeline, verdict, input_features, outputs
            As in :meth:`SobolDisplay.from_fit`; inputs have intervals with a verdict,
            pairs have none.
        ax, **kwargs
            As in :meth:`plot`.
        """
        reading = expansion_of(
            pipeline, None, input_features, outputs=outputs, verdict=verdict
        )
        expansion = reading.expansion
        found = support_of(expansion, verdict)
        names = expansion.group_names
        step = check_position("step", step, len(names), names)
        unexplained = float(found.unexplained[step])
        explained = 0.0 if np.isnan(unexplained) else 1.0 - unexplained
        inputs, rest = list(expansion.input_names), cls._rest
        errors: FloatArray | None = None
        if verdict is not None and verdict.input_names:
            inputs, table = inputs_of(verdict, inputs), verdict.drivers
            chosen = np.arange(len(inputs))
            if len(chosen) > _MOST_DRAWN:
                order = np.argsort(-table.total[step], kind="stable")
                chosen = np.sort(order[:_MOST_INPUTS_OF_PAIRS])
                inputs = [inputs[i] for i in chosen.tolist()]
                rest = "pairs, other inputs, three or more"
            pairs = verdict.findings.shares.pairs[step][np.ix_(chosen, chosen)]
            values = np.tril(np.nan_to_num(pairs), k=-1)
            values += np.diag(np.nan_to_num(table.first[step, chosen]))
            errors = (table.first_high - table.first_low)[step, chosen] / 2.0
        else:
            # Pairs need terms that are listed: of the leading inputs of many.
            is_listed, part = not isinstance(expansion.basis, KernelBasis), 1.0
            if not is_listed or expansion.n_inputs > _MOST_DRAWN:
                whole = expansion.sobol_indices()
                order = np.argsort(-whole.total_order[step], kind="stable")
                leading = np.sort(order[:_MOST_INPUTS_OF_PAIRS])
                expansion = expansion.marginal(leading.tolist())
                expansion = expansion if is_listed else expansion.explicit()
                if whole.total_variance[step] > 0:
                    part = float(expansion.total_variance[step])
                    part = min(part / float(whole.total_variance[step]), 1.0)
            inputs = list(expansion.input_names)
            indices = expansion.interaction_indices(2)
            values = np.zeros((len(inputs),) * 2)
            shares = explained * part * indices.values[step]
            for subset, share in zip(indices.subsets, shares, strict=True):
                values[subset[-1], subset[0]] = share
            if part < 1.0:
                rest = "other inputs, three or more"
        higher = explained - float(values.sum())
        display = cls(
            values,
            higher if higher > _NO_SHARE else 0.0,
            unexplained,
            inputs,
            title=str(names[step]),
            supported=found.supported is None or found.supported[step],
            errors=errors,
        )
        display._rest = rest
        return display.plot(ax=ax, **kwargs)

    _rest = "three or more inputs"  # what the map does not show

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> InteractionDisplay:
        """Draw the map, on ``ax`` or, without one, in a new figure.

        ``kwargs`` are passed on to ``Axes.imshow``. The colours start at 0.
        """
        size = len(self.input_names)
        each = 0.62 if size <= 12 else 0.4  # too many for numbers in the cells
        ax = make_axes(ax, (max(4.2, 2.8 + each * size), 2.4 + 0.8 * each * size))
        above = np.triu(np.ones((size, size), dtype=bool), k=1)
        shown = np.where(above, np.nan, self.values)
        largest = max(float(np.nanmax(shown)), 0.1) if self.supported else 1.0
        style: Any = {"cmap": "Blues", "vmin": 0.0, "vmax": largest} | kwargs
        names = self.input_names
        errors = np.full_like(shown, np.nan)
        if self.errors is not None and self.supported:
            np.fill_diagonal(errors, self.errors)
        style |= {"errors": errors, "heads": self._heads()}
        self.image_ = draw_heat_map(ax, shown, names, names, **style)
        self.ax_, self.figure_ = readable(ax)
        return self

    def _heads(self) -> list[str]:
        heads = [label(self.title, 32)] if self.title else []
        if np.isnan(self.unexplained):
            return [*heads, NO_VARIANCE]
        if not self.supported:
            heads.append(NOT_SUPPORTED)
        if len(self.input_names) > 2:
            heads.append(f"{self._rest}: {self.higher_order:z.2f}")
        return [*heads, f"{NOT_PREDICTED}: {self.unexplained:z.2f}"]


#: Inputs on the map of pairs, where there are more than are drawn or listed.
_MOST_INPUTS_OF_PAIRS = 12
_MOST_DRAWN = 60
# Smaller shares are rounding.
_NO_SHARE = 1e-12
