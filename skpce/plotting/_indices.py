"""Shares of the variance of each step or output: of each input, and the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._checks import FloatArray, IndexArray, OutputGroups, check_option
from ..drivers import Answer
from ..inspection._reading import expansion_of
from ._style import (
    INTERACTION_COLOR,
    NO_VARIANCE,
    NOT_PREDICTED,
    NOT_SUPPORTED,
    UNEXPLAINED_COLOR,
    color,
    draw_heat_map,
    draw_stacked,
    draw_whisker,
    given_floats,
    hatch,
    make_axes,
    readable,
    refused,
    support_of,
    write_over,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("stacked", "heatmap")
# Inputs with a segment, a column or a row of their own, and steps with a row.
_MOST_ROWS = 12
# Segments that are wide enough for an error.
_VISIBLE = 0.01
# Neighbouring whiskers are at different heights.
_HEIGHTS = (0.0, 0.2, -0.2)

# Shares below this are rounding: an additive expansion has no interactions.
_ROUNDING = 1e-12


class SobolDisplay:
    """Shares of the variance of each step: of each input, and what is not predicted.

    Shares are of the *total* variance of a step between members: of each input alone,
    of interactions, and what is not predicted. They add up to 1. Those of a verdict
    are its drivers; without one they are first-order indices times Q².

    Parameters
    ----------
    first_order : ndarray of shape (n_steps, n_features)
        First-order indices of the expansion. Noise-corrected ones may be negative
        (drawn as a heat map, never stacked) or NaN (nothing is explained).
    unexplained : ndarray of shape (n_steps,)
        ``1 - Q²`` of each step, in [0, 1]; NaN for a step without choice.
    step_names, input_names : sequence of str
        Labels.
    supported : sequence of bool or None, default=None
        Whether the attribution of a step is supported; shares of other steps are
        hatched (in the heat map: starred) and labelled.
    sampled : bool, default=False
        Whether the indices are those of an expansion of another regressor's
        predictions at draws of its inputs; the axis is then labelled so.
    share_bounds : array-like of shape (2, n_steps, n_features) or None, default=None
        Lower and upper ends of intervals of the shares, as a verdict has them, drawn as
        error bars. The first-order indices are then shares of the variance already;
        else they are multiplied by ``1 - unexplained``.
    confidence_level : float, default=0.9
        Of these intervals.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the shares are.
    bars_ : list of matplotlib BarContainer
        One per input, interactions, and what is not predicted; not for a heat map.
    image_ : matplotlib AxesImage
        Only for a heat map.

    See Also
    --------
    InteractionDisplay : Pairs of inputs.

    Notes
    -----
    Intervals of a verdict hold for all inputs of a step together, and contain the error
    of the fit. Without one none are drawn: those of the indices do not know the error
    of Q². At most a dozen inputs and a dozen steps are drawn: the inputs that explain
    least are added up as *others*.

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
        sampled: bool = False,
        share_bounds: ArrayLike | None = None,
        confidence_level: float = 0.9,
    ) -> None:
        self.first_order: FloatArray = np.asarray(first_order, dtype=np.float64)
        self.unexplained: FloatArray = np.asarray(unexplained, dtype=np.float64)
        self.step_names: list[str] = list(step_names)
        self.input_names: list[str] = list(input_names)
        self.supported, self.sampled = supported, sampled
        self.share_bounds = given_floats(share_bounds)
        self.confidence_level = confidence_level

    @property
    def shares(self) -> FloatArray:
        """Shares of the total variance (n_steps, n_features + 2); rows sum to 1."""
        explained = 1.0 - np.nan_to_num(self.unexplained, nan=1.0)
        explained[np.isnan(self.first_order).any(axis=1)] = 0.0
        first = np.nan_to_num(self.first_order)
        if self.share_bounds is None:
            first = first * explained[:, np.newaxis]
        interactions = explained - first.sum(axis=1)
        interactions[interactions < _ROUNDING] = 0.0
        return np.column_stack([first, interactions, 1.0 - explained])

    @property
    def column_names(self) -> list[str]:
        """Names of the columns of ``shares``."""
        return [*self.input_names, "interactions", NOT_PREDICTED]

    @classmethod
    def from_estimator(
        cls,
        pipeline: Any,
        *,
        verdict: Answer | None = None,
        input_features: Sequence[str] | None = None,
        outputs: OutputGroups = None,
        kind: str = "stacked",
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> SobolDisplay:
        """Draw the indices of a fitted estimator or of a Pipeline ending in one.

        Parameters
        ----------
        pipeline, verdict, input_features, outputs
            As in :meth:`from_fit`.
        kind, ax, **kwargs
            As in :meth:`plot`.
        """
        display = cls.from_fit(
            pipeline, verdict=verdict, input_features=input_features, outputs=outputs
        )
        return display.plot(ax=ax, kind=kind, **kwargs)

    @classmethod
    def from_fit(
        cls,
        pipeline: Any,
        *,
        verdict: Answer | None = None,
        input_features: Sequence[str] | None = None,
        outputs: OutputGroups = None,
    ) -> SobolDisplay:
        """Collect the indices of a fitted estimator, without drawing.

        Parameters
        ----------
        pipeline : fitted estimator
            A :class:`skpce.CompositionalPCESurrogate` (its steps), a
            :class:`skpce.PolynomialChaosRegressor` (its outputs), or a Pipeline that
            ends in one.
        verdict : Answer or None, default=None
            Gives the shares, and marks the steps or outputs that nothing is shown to
            drive. Real outputs have the groups of columns that it was made with. Where
            it has tested the columns of X, these are the inputs.
        input_features : sequence of str or None, default=None
            Names of the inputs of the last estimator. None takes those of the
            transformers before it, ``pipeline[:-1].get_feature_names_out()``.
        outputs : dict or None, default=None
            Columns of real outputs that belong together, such as
            ``{"accuracy": 1, "logits": 10}``; names and numbers of columns, or their
            names or positions. None takes the groups of the verdict, else those of
            the names of y in ``fit``.
        """
        reading = expansion_of(
            pipeline, None, input_features, outputs=outputs, verdict=verdict
        )
        expansion = reading.expansion
        support = support_of(expansion, verdict)
        names = expansion.group_names
        if verdict is not None and verdict.input_names:
            drivers = verdict.drivers
            return cls(
                drivers.first,
                support.unexplained,
                names,
                inputs_of(verdict, expansion.input_names),
                supported=support.supported,
                share_bounds=np.stack([drivers.first_low, drivers.first_high]),
                confidence_level=verdict.confidence_level,
            )
        return cls(
            expansion.sobol_indices().first_order,
            support.unexplained,
            names,
            expansion.input_names,
            supported=support.supported,
            sampled=reading.is_sampled,
        )

    def some(self, steps: Iterable[int]) -> SobolDisplay:
        """Return the shares of some steps, by position."""
        chosen = [int(step) for step in steps]
        found = copy(self)
        found.first_order = self.first_order[chosen]
        found.unexplained = self.unexplained[chosen]
        found.step_names = [self.step_names[step] for step in chosen]
        if self.supported is not None:
            found.supported = [self.supported[step] for step in chosen]
        if self.share_bounds is not None:
            found.share_bounds = self.share_bounds[:, chosen]
        return found

    def of_inputs(self, chosen: IndexArray) -> SobolDisplay:
        """Return the shares of some inputs, by position, and of the others together."""
        n_others = len(self.input_names) - len(chosen)
        if not n_others:
            return self
        others = np.delete(self.first_order, chosen, axis=1).sum(axis=1)
        found = copy(self)
        found.first_order = np.column_stack([self.first_order[:, chosen], others])
        names = [self.input_names[i] for i in chosen]
        found.input_names = [*names, f"others ({n_others})"]
        if self.share_bounds is not None:
            found.share_bounds = self.share_bounds[..., chosen]
        return found

    def plot(
        self, ax: Axes | None = None, *, kind: str = "stacked", **kwargs: Any
    ) -> SobolDisplay:
        """Draw the shares.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        kind : {"stacked", "heatmap"}, default="stacked"
            One bar per step, or a table in colours.
        **kwargs
            Passed on to ``Axes.barh``, or to ``Axes.imshow`` for a heat map.
        """
        check_option("SobolDisplay.plot", "kind", kind, KINDS)
        n_steps = len(self.step_names)
        shown = self.some(range(min(n_steps, _MOST_ROWS)))
        is_part = n_steps > _MOST_ROWS
        notes = [f"{_MOST_ROWS} of {n_steps} are shown"] if is_part else []
        if kind == "heatmap":
            drawn, self.image_ = shown._plot_heat_map(ax, notes, kwargs)
        else:
            drawn, self.bars_ = shown._plot_stacked(ax, notes, kwargs)
        self.ax_, self.figure_ = readable(drawn)
        return self

    @property
    def _columns(self) -> tuple[FloatArray, list[str], FloatArray | None]:
        """Shares, names and errors of at most a dozen inputs, others and the rest."""
        shown, n_inputs = self, len(self.input_names)
        if n_inputs > _MOST_ROWS:
            size = np.abs(self.shares[:, :n_inputs]).sum(axis=0)
            order = np.argsort(-size, kind="stable")
            shown = self.of_inputs(np.sort(order[: _MOST_ROWS - 1]))
        shares, bounds = shown.shares, shown.share_bounds
        if bounds is None:
            return shares, shown.column_names, None
        first = shares[:, : bounds.shape[2]]
        errors = np.stack([first - bounds[0], bounds[1] - first])
        return shares, shown.column_names, np.maximum(np.nan_to_num(errors), 0.0)

    def _plot_stacked(
        self, ax: Any, notes: Sequence[str], kwargs: dict[str, Any]
    ) -> tuple[Any, list[Any]]:
        shares, names, errors = self._columns
        n_steps = len(self.step_names)
        lowest = float(self.shares.min(initial=0.0))
        if lowest < 0.0:
            raise ValueError(
                f"kind='stacked' cannot show a share of {lowest:.3g}; expected "
                "kind='heatmap'."
            )
        ax = make_axes(ax, (8.0, max(1.4 + 0.55 * n_steps, 0.9 + 0.24 * len(names))))
        shares[np.isnan(self.unexplained)] = 0.0  # no choice, no bar
        looks = [*map(color, range(len(names) - 2)), INTERACTION_COLOR]
        segments = list(zip(names, [*looks, UNEXPLAINED_COLOR], strict=True))
        rows = self.step_names
        drawn, positions = draw_stacked(ax, shares, rows, segments, **kwargs)
        ax.set_xlabel("\n".join([self._axis_label(), *notes]))
        for step, position in enumerate(positions):
            if np.isnan(self.unexplained[step]):
                ax.text(0.015, position, NO_VARIANCE, va="center", color="#555555")
            elif self._refused[step]:
                hatch(bars[step] for bars in drawn[:-1])
                write_over(ax, position, NOT_SUPPORTED)
            elif errors is not None:
                ends = zip(drawn, *errors[:, step], strict=False)
                seen = [end for end in ends if end[0][step].get_width() >= _VISIBLE]
                for number, (bars, low, high) in enumerate(seen):
                    height = position + _HEIGHTS[number % len(_HEIGHTS)]
                    draw_whisker(ax, bars[step], (low, high), height)
        return ax, drawn

    def _plot_heat_map(
        self, ax: Any, notes: Sequence[str], kwargs: dict[str, Any]
    ) -> tuple[Any, Any]:
        shares, names, distances = self._columns
        n_steps = len(self.step_names)
        ax = make_axes(ax, (2.6 + 0.7 * len(names), 1.9 + 0.5 * n_steps))
        shares[np.isnan(self.unexplained)] = np.nan
        errors = np.full_like(shares, np.nan)
        if distances is not None:
            errors[:, : distances.shape[2]] = distances.mean(axis=0)
            errors[self._refused] = np.nan
        marks = [" *" if is_refused else "" for is_refused in self._refused]
        for step in np.flatnonzero(np.isnan(self.unexplained)):
            marks[step] = f" ({NO_VARIANCE})"
        style: Any = {"cmap": "Blues", "vmin": 0.0, "vmax": 1.0} | kwargs
        heads = [f"* {NOT_SUPPORTED}"] if self._refused.any() else []
        style |= {"marks": marks, "errors": errors, "heads": [*heads, *notes]}
        style["scale"] = self._axis_label("\n")
        return ax, draw_heat_map(ax, shares, self.step_names, names, **style)

    def _axis_label(self, separator: str = " ") -> str:
        tail = f"{separator}(indices by sampling)" if self.sampled else ""
        if self.share_bounds is not None:
            tail += f"{separator}({100.0 * self.confidence_level:.3g} % intervals)"
        return f"share of the variance{tail}"

    @property
    def _refused(self) -> Any:  # shape: (n_steps,)
        return refused(self.supported, ~np.isnan(self.unexplained))


def inputs_of(verdict: Answer, names: Sequence[str]) -> list[str]:
    """Name the inputs of a verdict as those of an expansion, where it has tested them.

    Where an embedding has looked at y the columns of X were tested in their place.
    """
    tested = verdict.input_names
    return list(names if len(tested) == len(names) else tested)
