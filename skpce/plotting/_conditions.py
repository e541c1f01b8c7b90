"""The conditions of an expansion: enough members, and inputs as it assumes them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from .._checks import (
    MOST_REPEATS,
    FloatArray,
    IndexArray,
    OutputGroups,
    RandomState,
    check_integer,
    check_real,
    correlations_of,
    is_position,
    listed,
    make_generator,
    refuse_extremes,
    take,
)
from .._expansion.expansion import checked_features
from .._input_laws.families import InputOutsideSupportWarning
from ..inspection._ensembles.members import (
    read_members,
    with_amalgamated,
    without_draws,
)
from ..inspection._reading import expansion_of
from ._style import (
    NO_VARIANCE,
    UNEXPLAINED_COLOR,
    color,
    draw_heat_map,
    given_floats,
    held_out_q2,
    hide_spines,
    legend_right,
    make_axes,
    make_panels,
    name_columns,
    readable,
    series_style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Q² far below zero means no more than "useless" and would hide the rest.
_LOWEST = -1.0


class ConvergenceDisplay:
    """Held-out Q² against the size of the ensemble.

    Thin lines are repetitions, each with its own held-out members and its own nested
    subsets of the others; the thick line is their median. A curve that still rises
    at its end shows that more members would help.

    Parameters
    ----------
    sizes : array-like of int of shape (n_sizes,)
        Members of each fit.
    values : array-like of shape (n_repeats, n_sizes, n_curves)
        Q².
    curve_names : sequence of str
        Steps or outputs.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the lines are.
    lines_ : list of matplotlib Line2D
        The medians, one per curve.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from skpce import PolynomialChaosRegressor
    >>> from skpce.plotting import ConvergenceDisplay
    >>> X = np.random.default_rng(0).normal(size=(80, 2))
    >>> pce = PolynomialChaosRegressor(2, distribution=norm())
    >>> display = ConvergenceDisplay.from_estimator(
    ...     pce, X, X[:, 0] ** 2, sizes=(20, 40), n_repeats=2
    ... )
    >>> display.values.shape, bool(display.values[:, -1].min() > 0.99)
    ((2, 2, 1), True)
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        sizes: ArrayLike,
        values: ArrayLike,
        curve_names: Sequence[str],
    ) -> None:
        self.sizes: NDArray[np.int64] = np.asarray(sizes, dtype=np.int64)
        self.values: FloatArray = np.asarray(values, dtype=np.float64)
        self.curve_names: list[str] = list(curve_names)

    @classmethod
    def from_estimator(
        cls,
        pipeline: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        sizes: Sequence[int] | None = None,
        test_size: float = 0.25,
        n_repeats: int = 5,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
        outputs: OutputGroups = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> ConvergenceDisplay:
        """Refit the whole pipeline on nested subsets of the members.

        Parameters
        ----------
        pipeline : estimator
            A surrogate, a regressor, or a Pipeline that ends in one. It is cloned.
        X : array-like of shape (n_members, n_features)
            Members, before any embedding.
        y : array-like of shape (n_members, n_parts) or (n_members, n_targets)
            Policies, or real outputs.
        sizes : sequence of int or None, default=None
            Members of each fit; None means up to six sizes in geometric progression.
        test_size : float, default=0.25
            Share of the members that is held out.
        n_repeats : int, default=5
            Repetitions.
        random_state : int, RandomState instance or None, default=0
            Randomness of the subsets.
        n_jobs : int or None, default=None
            Processes for the repetitions.
        outputs : dict or None, default=None
            As in :meth:`SobolDisplay.from_fit`.
        ax, **kwargs
            As in :meth:`plot`.
        """
        owner = "ConvergenceDisplay.from_estimator"
        check_integer(owner, "n_repeats", n_repeats, low=1, high=MOST_REPEATS)
        check_real(owner, "test_size", test_size, low=0, high=1)
        pipeline, y, steps, mask = with_amalgamated(pipeline, y)
        inputs, targets, read, steps = read_members(
            pipeline, X, y, steps=steps, outputs=outputs, mask=mask, owner=owner
        )
        n_test = round(test_size * len(inputs))
        n_train = len(inputs) - n_test
        if n_test < 2 or n_train < 2:
            raise ValueError(
                f"test_size={test_size!r} of {len(inputs)} members leaves {n_test} "
                f"held out and {n_train} to fit; expected two or more of each."
            )
        if sizes is None:  # up to six of them
            smallest = min(max(8, n_train // 8), n_train)
            steps_of_size = np.geomspace(smallest, n_train, 6).round()
            chosen = np.unique(steps_of_size.astype(np.int64)).tolist()
        else:
            given = listed(sizes, "sizes", "None or one or more ints")
            for size in given:
                if not is_position(size, n_train + 1) or size < 2:
                    raise ValueError(
                        f"sizes holds {size!r}; expected ints from 2 to {n_train}, the "
                        "members that are not held out."
                    )
            if not given:
                raise ValueError("sizes is empty; expected one or more.")
            chosen = sorted({int(size) for size in given})
        generator = make_generator(random_state)
        orders = [generator.permutation(len(inputs)) for _ in range(n_repeats)]
        known = without_draws(pipeline, read, steps), inputs, targets, outputs
        found = Parallel(n_jobs=n_jobs)(
            delayed(_q2_of_subsets)(*known, order[:n_test], order[n_test:], chosen)
            for order in orders
        )
        values = np.array([rows for rows, _ in found])
        return cls(chosen, values, found[0][1]).plot(ax=ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> ConvergenceDisplay:
        """Draw the curves, on ``ax`` or, without one, in a new figure.

        ``kwargs`` are passed on to ``Axes.plot`` for the medians.
        """
        ax = make_axes(ax, (7.0, max(4.0, 0.9 + 0.24 * len(self.curve_names))))
        self.lines_: list[Any] = []
        marks = []
        for curve, name in enumerate(self.curve_names):
            rows = self.values[:, :, curve]
            marks.append(f" ({NO_VARIANCE})" if np.isnan(rows).all() else "")
            ax.plot(self.sizes, rows.T, color=color(curve), linewidth=0.7, alpha=0.35)
            style = series_style(curve, name) | {"linewidth": 1.8} | kwargs
            self.lines_ += ax.plot(self.sizes, np.median(rows, axis=0), **style)
        ax.set_xscale("log")
        ax.set_xticks(self.sizes, [str(size) for size in self.sizes])
        ax.minorticks_off()
        ax.set_xlabel("members")
        ax.set_ylabel("Q² of held-out members")
        finite = self.values[np.isfinite(self.values)]
        lowest = float(finite.min(initial=0.0))
        ax.axhline(0.0, color="#999999", linewidth=0.8)
        ax.set_ylim(max(lowest - 0.05, _LOWEST) if lowest < 0 else 0.0, 1.03)
        if lowest < _LOWEST or np.isneginf(self.values).any():
            ax.set_title("values below −1 are not shown", fontsize=9)
        legend_right(ax, self.curve_names, self.lines_, marks=marks)
        hide_spines(ax)
        self.ax_, self.figure_ = readable(ax)
        return self


def _q2_of_subsets(
    pipeline: Any,
    X: Any,
    y: Any,
    outputs: OutputGroups,
    test: IndexArray,
    train: IndexArray,
    sizes: Sequence[int],
) -> tuple[list[FloatArray], tuple[str, ...]]:
    """Return Q² of fits to the first members of a set, and the names of the outputs."""
    observed = np.asarray(take(y, test), dtype=np.float64)
    found = []
    for size in sizes:
        model = clone(pipeline)
        model.fit(take(X, train[:size]), take(y, train[:size]))
        with warnings.catch_warnings():  # few members have a part of the range
            warnings.simplefilter("ignore", InputOutsideSupportWarning)
            predicted = model.predict(take(X, test))
        reading = expansion_of(model, outputs=outputs)
        found.append(held_out_q2(reading, observed, predicted))
    return found, reading.expansion.group_names


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
        # Quantiles at Hazen's positions, standardised.
        levels = (np.arange(len(inputs)) + 0.5) / len(inputs)
        law_quantiles, data = np.empty_like(inputs), np.sort(inputs, axis=0)
        for i, law in enumerate(laws):
            draws = law.sample(_LAW_DRAWS, np.random.default_rng(random_state))
            centre, scale = draws.mean(), draws.std() or 1.0
            law_quantiles[:, i] = (np.quantile(draws, levels) - centre) / scale
            data[:, i] = (data[:, i] - centre) / scale
        retained = [
            shares
            for _, step in reading.steps
            if (shares := getattr(step, "explained_variance_ratio_", None)) is not None
        ]
        last = retained[-1] if retained else None
        shown = correlations_of(inputs), law_quantiles, data, names
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
        draw_heat_map(self.axes_[0], self.correlation, names, names, **style)
        panel = self.axes_[1]
        both = np.concatenate([self.distribution_quantiles, self.data_quantiles])
        ends = np.array([np.nanmin(both), np.nanmax(both)])
        panel.plot(ends, ends, color="black", linewidth=1, linestyle=":")
        drawn: list[Any] = []
        for i, name in enumerate(self.input_names):
            style = series_style(i, name) | {"markersize": 3.5, "linestyle": ""}
            pair = self.distribution_quantiles[:, i], self.data_quantiles[:, i]
            drawn += panel.plot(*pair, **(style | kwargs))
        panel.set_xlabel("quantile of the distribution\n(standardised)")
        panel.set_ylabel("quantile of the members")
        legend_right(panel, self.input_names, drawn, width=18)
        hide_spines(panel)
        if shares is not None:
            panel = self.axes_[2]
            values = [*shares.tolist(), max(1.0 - float(shares.sum()), 0.0)]
            shades = [*[color(0)] * len(shares), UNEXPLAINED_COLOR]
            bars = panel.bar(np.arange(len(values)), values, color=shades)
            names = self.input_names
            if len(names) != len(shares):
                names = [str(i) for i in range(len(shares))]
            name_columns(panel, [*names, "not retained"])
            if len(values) <= _MOST_NUMBERS:
                panel.bar_label(bars, fmt="{:z.2f}", padding=1, fontsize=8)
            panel.set_ylim(0.0, min(1.08, max(values) * 1.15 + 0.02))
            panel.set_ylabel("share of the variance of X")
            hide_spines(panel)
        self.ax_, self.figure_ = readable(*self.axes_)
        return self
