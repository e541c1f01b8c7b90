"""Members, and the policies that are predicted for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._checks import (
    FloatArray,
    OutputGroups,
    RandomState,
    as_floats,
    check_integer,
    check_real,
    check_rows,
    fail,
    listed,
)
from .._compositions.scoring import checked_policies
from .._expansion.expansion import checked_outputs
from .._fonts import label, labels
from ..inspection import Result
from ..inspection._reading import (
    Reading,
    compositions_of,
    expansion_of,
    group_matrix,
    refuse_expansion,
)
from ..metrics import coverage_interval
from ..metrics._coverage import output_coverage
from ._style import (
    LETTER,
    check_position,
    color,
    hide_spines,
    legend_right,
    make_axes,
    points_beside,
    readable,
    series_style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OWNER = "PolicyDistributionDisplay"


class PolicyDistributionDisplay:
    """Mean and standard deviation of each probability of one step.

    Parameters
    ----------
    mean, spread : dict of str to ndarray of shape (n_parts_of_step,)
        Per series (such as ``"ensemble"`` and ``"surrogate"``).
    part_names : sequence of str
        Labels of the parts.
    step_name : str
        Title.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the points are.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.plotting import PolicyDistributionDisplay
    >>> y = np.array([[0.2, 0.8], [0.4, 0.6]])
    >>> display = PolicyDistributionDisplay.from_samples({"ensemble": y}, ["a", "b"])
    >>> display.mean["ensemble"]
    array([0.3, 0.7])
    """

    def __init__(
        self,
        mean: Any,
        spread: Any,
        part_names: Any,
        *,
        step_name: str = "",
    ) -> None:
        self.mean, self.spread = mean, spread
        self.part_names: list[str] = list(part_names)
        self.step_name = step_name

    @classmethod
    def from_samples(
        cls,
        samples: dict[str, Any],
        part_names: Any,
        *,
        step_name: str = "",
        max_parts: int | None = 12,
    ) -> PolicyDistributionDisplay:
        """Summarise samples of one step, without drawing.

        Parameters
        ----------
        samples : dict of str to array-like of shape (n_samples, n_parts_of_step)
            One entry per series.
        part_names, step_name
            As in :class:`PolicyDistributionDisplay`.
        max_parts : int or None, default=12
            Rows or columns at most; None draws all parts. Of more parts the ones with
            the largest mean plus standard deviation are drawn, in their order, and the
            sum of all others behind them.
        """
        names = [str(name) for name in listed(part_names, "part_names")]
        if not isinstance(samples, Mapping) or not samples:
            raise fail(OWNER, "samples", "a dict of names to tables", samples)
        arrays = {
            name: as_floats(values, "samples") for name, values in samples.items()
        }
        for values in arrays.values():
            if values.ndim != 2 or values.shape[1] != len(names) or not len(values):
                raise ValueError(
                    f"samples has a table of shape {values.shape}; expected "
                    f"(n_samples, {len(names)}), a column for each of part_names."
                )
        if max_parts is not None:
            check_integer(OWNER, "max_parts", max_parts, low=2)
        if max_parts is not None and len(names) > max_parts:
            # The likeliest and most varying parts stay, all others are added up.
            reach = [one.mean(axis=0) + one.std(axis=0) for one in arrays.values()]
            order = np.argsort(-np.max(reach, axis=0), kind="stable")
            kept, rest = np.sort(order[: max_parts - 1]), order[max_parts - 1 :]
            for name, one in arrays.items():
                others = one[:, rest].sum(axis=1)
                arrays[name] = np.column_stack([one[:, kept], others])
            names = [*(names[part] for part in kept), f"others ({len(rest)})"]
        return cls(
            {name: values.mean(axis=0) for name, values in arrays.items()},
            {name: values.std(axis=0) for name, values in arrays.items()},
            names,
            step_name=step_name,
        )

    @classmethod
    def from_estimator(
        cls,
        pipeline: Any,
        y: ArrayLike,
        *,
        step: int | str = 0,
        n_samples: int = 2000,
        random_state: RandomState = 0,
        max_parts: int | None = 12,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> PolicyDistributionDisplay:
        """Draw the predictive distribution of a step beside an ensemble.

        Parameters
        ----------
        pipeline : fitted estimator
            A surrogate or a Pipeline that ends in one.
        y : array-like of shape (n_members, n_parts)
            Policies of members, all steps side by side.
        step : int or str, default=0
            Which step, by position or name.
        n_samples : int, default=2000
            Draws of the predictive distribution.
        random_state : int, RandomState instance or None, default=0
            Randomness of the draws.
        max_parts : int or None, default=12
            As in :meth:`from_samples`.
        ax, **kwargs
            As in :meth:`plot`.
        """
        reading, fitted = compositions_of(
            pipeline,
            instead="StepVarianceDisplay (the spread of members) and "
            "MainEffectsDisplay (what is predicted)",
        )
        geometry, surrogate = fitted.geometry, reading.estimator
        layout = geometry.layout
        step = check_position("step", step, layout.n_steps, layout.step_names)
        y = checked_policies(y, surrogate)
        columns = layout.slices[step]
        shown = np.arange(columns.start, columns.stop)[geometry.mask[columns]]
        draws = surrogate.sample(n_samples, random_state=random_state)
        samples = {"ensemble": y[:, shown], "surrogate": draws[:, shown]}
        names = [layout.part_names[part] for part in shown]
        display = cls.from_samples(
            samples, names, step_name=layout.step_names[step], max_parts=max_parts
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> PolicyDistributionDisplay:
        """Draw means, and bars of one standard deviation that end at 0 and 1.

        ``ax`` None makes a figure; ``kwargs`` are passed on to ``Axes.errorbar``.
        """
        n_parts = len(self.part_names)
        further = min(len(str(self.step_name)) // 28, 2)  # lines of the title
        ax = make_axes(ax, (6.4, 1.4 + 0.24 * n_parts + 0.2 * further))
        reach = 0.15 if len(self.mean) < 3 else 0.25
        offsets, is_cut = np.linspace(-reach, reach, len(self.mean)), False
        drawn = []
        for position, name in enumerate(self.mean):
            places = np.arange(n_parts) + offsets[position]
            mean, spread = np.asarray(self.mean[name]), np.asarray(self.spread[name])
            # A probability has no values beyond 0 and 1.
            error = np.stack([np.minimum(spread, mean), np.minimum(spread, 1.0 - mean)])
            is_cut = is_cut or bool(np.any(error < spread))
            style: dict[str, Any] = {
                "fmt": "os^D"[position % 4],
                "color": color(position),
                "label": label(name),
                "xerr": error,
            }
            style |= {"capsize": 2, "markersize": 4}
            drawn.append(ax.errorbar(mean, places, **(style | kwargs)))
        names = labels(self.part_names, 36, 1)
        ax.set_yticks(np.arange(n_parts), names)
        ax.set_ylim(n_parts - 0.5, -0.5)
        # A margin under zero, so that small probabilities are whole markers.
        top = ax.get_xlim()[1]
        ax.set_xlim(-0.02 * top, top)
        cut = ", cut at 0 and 1" if is_cut else ""
        ax.set_xlabel(f"probability (mean ± 1 s.d.{cut})")
        room = points_beside(ax, names)
        ax.set_title(label(self.step_name, int(room / LETTER / 1.2)))
        legend_right(ax, list(self.mean), drawn)
        hide_spines(ax)
        self.ax_, self.figure_ = readable(ax)
        return self


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
    quantity : str, default="probabilities"
        What lies inside, for the axis.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the lines are.
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
        quantity: str = "probabilities",
    ) -> None:
        self.levels: FloatArray = np.asarray(levels, dtype=np.float64)
        self.coverages: dict[str, FloatArray] = {
            name: np.asarray(values, dtype=np.float64)
            for name, values in coverages.items()
        }
        self.n_members, self.quantity = n_members, quantity

    @classmethod
    def from_estimator(
        cls,
        pipeline: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        levels: Sequence[float] = (0.5, 0.8, 0.9, 0.95),
        random_state: RandomState = 0,
        outputs: OutputGroups = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> CoverageDisplay:
        """Draw the coverage of held-out members, conditional on X and not.

        Parameters
        ----------
        pipeline : fitted estimator
            A surrogate, a regressor, or a Pipeline that ends in one.
        X : array-like of shape (n_members, n_features)
            Inputs of held-out members, before any embedding.
        y : array-like of shape (n_members, n_parts)
            Their policies, or real outputs (NaN where one failed). The mean over
            steps, or over outputs, is drawn.
        levels : sequence of float, default=(0.5, 0.8, 0.9, 0.95)
            Nominal levels.
        random_state : int, RandomState instance or None, default=0
            Randomness of the draws.
        outputs : dict or None, default=None
            As in :meth:`SobolDisplay.from_fit`.
        ax, **kwargs
            As in :meth:`plot`.
        """
        expected = "one or more numbers between 0 and 1"
        nominal = listed(levels, "levels", expected)
        for level in nominal:
            check_real("CoverageDisplay", "levels", level, low=0, high=1)
        if not nominal:
            raise fail("CoverageDisplay", "levels", expected, levels)
        check_rows("CoverageDisplay", "X", X)  # not None
        reading = expansion_of(pipeline, X, outputs=outputs)
        refuse_expansion(reading)
        inputs, is_real = reading.inputs, reading.compositions is None
        score = coverage_of(reading, y)
        kinds: dict[str, dict[str, Any]] = {
            "given the inputs": {"X": inputs},
            "ignoring the inputs": {"X": None},
            "push-forward alone": {"X": None, "residual": None},
        }
        interval = partial(
            reading.estimator.predict_interval, random_state=random_state
        )
        coverages: dict[str, list[float]] = {name: [] for name in kinds}
        for name, given in kinds.items():
            for level in nominal:
                found = score(*interval(confidence_level=level, **given)).coverage
                known = found[~np.isnan(found)]  # steps with a choice, or outputs
                coverages[name].append(known.mean() if known.size else np.nan)
        what = "values" if is_real else "probabilities"
        display = cls(nominal, coverages, n_members=np.shape(inputs)[0], quantity=what)
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> CoverageDisplay:
        """Draw the lines, on ``ax`` or, without one, in a new figure.

        ``kwargs`` are passed on to ``Axes.plot`` for the lines.
        """
        ax = make_axes(ax, (5.2, 4.6))
        grid = np.linspace(0.0, 1.0, 101)
        ax.plot(grid, grid, color="black", linewidth=1, linestyle=":", label="nominal")
        if self.n_members is not None:
            half = 1.96 * np.sqrt(grid * (1.0 - grid) / self.n_members)
            low, high = np.maximum(grid - half, 0.0), np.minimum(grid + half, 1.0)
            shade: Any = {"color": "black", "alpha": 0.08, "linewidth": 0}
            ax.fill_between(grid, low, high, **shade, label="95 % chance band")
        self.lines_: list[Any] = []
        for position, (name, values) in enumerate(self.coverages.items()):
            style = series_style(position, name) | kwargs
            self.lines_ += ax.plot(self.levels, values, **style)
        ax.set_xlim(min(0.4, self.levels.min()), 1.0)
        ax.set_ylim(0.0, 1.02)
        ax.set_xlabel("nominal level")
        ax.set_ylabel(f"share of held-out {self.quantity} inside")
        legend_right(ax, list(self.coverages), self.lines_)
        hide_spines(ax)
        self.ax_, self.figure_ = readable(ax)
        return self


def coverage_of(reading: Reading, y: ArrayLike) -> Callable[..., Result]:
    """Return what measures the coverage of intervals of held-out members."""
    n_members = len(reading.inputs)
    if reading.compositions is None:
        values = checked_outputs(y, reading.expansion.output_names, n_members)
        groups = group_matrix(reading.expansion).argmax(axis=0)
        return partial(output_coverage, values, groups=groups)
    geometry = reading.compositions.geometry
    policies = checked_policies(y, reading.estimator, n_members)
    layout: Any = {"steps": geometry.layout.widths, "mask": geometry.mask}
    return partial(coverage_interval, policies, **layout)
