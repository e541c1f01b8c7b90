"""The figures of a run, drawn from results and never during training.

Among them the map of a state space: where members go, where they disagree, and why.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gflownet_envs.environments import GridEnvironment
from gflownet_envs.exact.solve import WholeSpace
from gflownet_envs.experiments.analysis import (
    has_choice,
    possible_columns,
    steps_with_choice,
)
from gflownet_envs.experiments.task import (
    LEVELS,
    PartFindings,
    RunResults,
    SourceResults,
)
from gflownet_envs.policy_dataset import PolicyDataset
from skpce._fonts import choose_fonts
from skpce.plotting import (
    CoverageDisplay,
    PartEffectsDisplay,
    PolicyDistributionDisplay,
    SobolDisplay,
    StepVarianceDisplay,
)
from skpce.plotting._style import UNEXPLAINED_COLOR, color, ink_on

#: Steps shown in the figure of the policies, and in the overview, at most.
_N_POLICY_STEPS, _N_OVERVIEW_STEPS = 6, 3
#: Rows of a panel at most, of actions and of steps.
_MOST_ROWS = 12
#: Draws of a surrogate behind the spread of its policies.
_N_DRAWS = 2000
#: Longer names of actions are cut at twice this, and written smaller from here on.
_LONG_NAME = 20
#: Points per inch of a picture, and how hard it is compressed (9 is hardest).
_DPI, _COMPRESSION = 150, 4
# Heights in inches: of a row of a panel, and of what is around the rows.
_ROW, _AROUND = 0.24, 1.15


def make_figures(results: RunResults) -> dict[str, tuple[Any, str]]:
    """Return figures by file name, each with a description."""
    figures: dict[str, tuple[Any, str]] = {}
    for number, found in enumerate(results.parts, start=1):
        figures[f"parts_{number}"] = (
            parts_figure(
                found,
                results.headline if number == 1 else None,
            ),
            f"Which named part of the reward explains which choice ({found.named.title}"
            ", policies solved again)"
            + (", beside what the surrogate's inputs explain." if number == 1 else "."),
        )
    samples = policy_samples(results)
    figures["overview"] = (
        overview_figure(results, samples),
        f"{results.task.title}: the system, what drives each decision, and policies of "
        "held-out members beside the surrogate's.",
    )
    figures["policies"] = (
        policies_figure(results, samples),
        "Policies along the reference trajectory: held-out members beside the "
        "predictive distribution of the surrogate.",
    )
    figures["variances"] = (
        variances_figure(results),
        "How much the members vary at each decision, and what is predicted of "
        "it. The sum grows with the number of actions; the other measures do not.",
    )
    figures["coverage"] = (coverage_figure(results), "Coverage of held-out members.")
    if results.space is not None:
        first = PartEffectsDisplay(results.parts[0].effects)
        order = [first.part_names[part] for part in first.leading]  # with a colour
        figures["space"] = (
            space_map(
                results.space[0],
                results.space[1].parts,
                settled=results.space[1].settled.tolist(),
                title=results.task.title,
                order=order,
            ),
            "All states by exact policies: as wide as the share of the members' walks "
            "that pass them; above by how far apart their visitors' policies are, "
            "below by the named part that explains most of it.",
        )
    return figures | results.task.extra_figures(results)


def _figure(width: float, height: float) -> Any:
    """Return a figure that needs no screen and leaves pyplot as it is."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def png(figure: Any) -> bytes:
    """Draw a figure once; ``savefig`` would draw it twice to find its layout."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    choose_fonts(figure)
    figure.set_dpi(_DPI)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    stream = io.BytesIO()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    picture.save(stream, "png", compress_level=_COMPRESSION)
    return stream.getvalue()


def parts_figure(
    found: PartFindings,
    source: SourceResults | None = None,
) -> Any:
    """Named parts, the answer; beside them what the inputs of a surrogate explain."""
    display = PartEffectsDisplay(
        found.effects, noise_share=found.noise_share, noise_error=found.noise_error
    )
    n_rows = min(len(display.output_names), _MOST_ROWS)
    height = max(1.4 + 0.5 * n_rows, 0.9 + 0.24 * len(display.segment_names))
    if source is None:
        figure = _figure(9.0, height)
        display.plot(ax=figure.subplots())
        return figure
    figure = _figure(14.0, height)
    left, right = figure.subplots(1, 2, width_ratios=(1.45, 1))
    display.plot(ax=left)
    left.set_title("named parts of the reward")
    _draw_sobol(source, right, with_steps=False)
    is_embedded = source.main.input_features is None
    inputs = "principal components" if is_embedded else "inputs of the reward"
    right.set_title(
        f"{inputs}: {source.dataset.source} policies, degree {source.main.degree}"
    )
    return figure


def _draw_sobol(source: SourceResults, ax: Any, *, with_steps: bool = True) -> None:
    """Draw stacked shares per step, with the verdict."""
    main = source.main
    display = SobolDisplay.from_fit(
        main.pipeline, input_features=main.input_features, verdict=main.verdict
    )
    n_steps = len(display.step_names)
    n_shown = min(n_steps, _MOST_ROWS)
    # Beside named parts the rows are those of their bars, the first ones.
    shown = spread(np.arange(n_steps), n_shown) if with_steps else list(range(n_shown))
    display = display.some(shown)
    display.plot(ax=ax)
    ax.set_title(f"{source.dataset.source} policies, degree {main.degree}")
    if len(shown) < n_steps:
        ax.set_xlabel(f"share of the variance\n{len(shown)} of {n_steps} decisions")
    if not with_steps:
        ax.set_yticklabels([])


def variances_figure(results: RunResults) -> Any:
    """The total variance of each step as a bar, beside measures free of its width."""
    sources = _exact_first(results)
    n_steps = results.headline.dataset.n_steps
    figure = _figure(11.0, len(sources) * (1.7 + 0.36 * n_steps))
    parts = figure.subfigures(len(sources), 1, squeeze=False)[:, 0]
    for source, part in zip(sources, parts, strict=True):
        verdict = source.main.verdict
        StepVarianceDisplay(
            source.fragility,
            unexplained=verdict.not_predicted,
            supported=verdict.attributable,
        ).plot(ax=part.subplots(1, 3))
        part.suptitle(f"{source.dataset.source} policies, degree {source.main.degree}")
    return figure


def coverage_figure(results: RunResults) -> Any:
    """Nominal against empirical coverage of the kinds of interval."""
    sources = _exact_first(results)
    figure = _figure(0.6 + 6.2 * len(sources), 4.8)
    axes = figure.subplots(1, len(sources), squeeze=False)[0]
    for source, ax in zip(sources, axes, strict=True):
        kinds = source.main.calibration
        coverages = {k: np.nanmean(v.coverage, axis=1) for k, v in kinds.items()}
        test = source.dataset.test
        # Replicates of a reward are hit together: the band is that of the rewards.
        n_rewards = len(np.unique(test.rewards))
        CoverageDisplay(LEVELS, coverages, n_members=n_rewards).plot(ax=ax)
        ax.set_title(f"{test.source} policies, {test.n_members} held-out members")
    return figure


def _exact_first(results: RunResults) -> list[SourceResults]:
    """Return the results on each data set, those on exact policies first."""
    order = sorted(results.sources, key=lambda name: name != "exact")
    return [results.sources[name] for name in order]


def policy_samples(results: RunResults) -> dict[str, np.ndarray]:
    """Return policies of held-out members, and of the surrogate; (n, ΣK) each."""
    samples = {
        source.dataset.source: source.dataset.test.y for source in _exact_first(results)
    }
    source = results.headline
    draws = source.main.surrogate.sample(_N_DRAWS, random_state=results.seed)
    return samples | {f"surrogate of {source.dataset.source}": draws}


def policies_figure(results: RunResults, samples: Mapping[str, np.ndarray]) -> Any:
    """One panel per step with a choice, two or three side by side."""
    dataset = results.headline.dataset
    shown = steps_with_choice(dataset)[:_N_POLICY_STEPS]
    n_columns = 2 if len(shown) == 4 else min(len(shown), 3)
    lines = [
        shown[start : start + n_columns] for start in range(0, len(shown), n_columns)
    ]
    heights = [_AROUND + _ROW * _most_rows(dataset, steps) for steps in lines]
    figure = _figure((5.5, 9.0, 12.0)[n_columns - 1], 0.4 + sum(heights))
    axes = figure.subplots(
        len(lines), n_columns, squeeze=False, height_ratios=heights
    ).ravel()
    for ax in axes[len(shown) :]:
        ax.remove()
    _draw_policies(figure, axes[: len(shown)], dataset, shown, samples)
    return figure


def overview_figure(
    results: RunResults, samples: Mapping[str, np.ndarray] | None = None
) -> Any:
    """The paper's figure of a task: system, attribution, and some of the steps.

    Exact policies come first where there are any: they are what the trained ones are
    to become.
    """
    dataset, sources = results.headline.dataset, _exact_first(results)
    samples = policy_samples(results) if samples is None else samples
    shown = spread(steps_with_choice(dataset), _N_OVERVIEW_STEPS)
    upper = max(4.0, 1.4 + 0.32 * min(dataset.n_steps, _MOST_ROWS))
    lower = 0.4 + _AROUND + _ROW * _most_rows(dataset, shown)
    figure = _figure(12.0, upper + lower)
    top, bottom = figure.subfigures(2, 1, height_ratios=(upper, lower))
    widths = (1.0, 1.3) if len(sources) == 1 else (1.0, 0.7, 0.9)
    system, *attributions = top.subplots(1, 1 + len(sources), width_ratios=widths)
    results.task.draw_system(results, system)
    for number, (source, ax) in enumerate(zip(sources, attributions, strict=True)):
        _draw_sobol(source, ax, with_steps=number == 0)
        if number < len(sources) - 1:  # all have the inputs of the last one
            ax.get_legend().remove()
            ax.set_title(f"{source.dataset.source} policies")
    panels = bottom.subplots(1, len(shown), squeeze=False)[0]
    _draw_policies(bottom, panels, dataset, shown, samples)
    return figure


def _draw_policies(
    figure: Any,
    axes: Sequence[Any],
    dataset: PolicyDataset,
    steps: Sequence[int],
    samples: Mapping[str, np.ndarray],
) -> None:
    """Draw the policies of some steps, with one legend below."""
    possible = possible_columns(dataset)
    for step, ax in zip(steps, axes, strict=True):
        columns = possible[step]
        display = PolicyDistributionDisplay.from_samples(
            {name: values[:, columns] for name, values in samples.items()},
            [_cut(dataset.action_names[column]) for column in columns],
            step_name=dataset.step_names[step],
            max_parts=_MOST_ROWS,
        )
        display.plot(ax=ax)
        ax.get_legend().remove()
        longest = max(len(label.get_text()) for label in ax.get_yticklabels())
        ax.tick_params(axis="y", labelsize=7 if longest > _LONG_NAME else 9)
    # The longest label says that bars of some panel are cut.
    label = max((ax.get_xlabel() for ax in axes), key=len)
    for ax in axes:
        ax.set_xlabel("")
    handles, _ = axes[0].get_legend_handles_labels()  # labels are cut to the panel
    place = {"loc": "outside lower center", "ncols": len(samples), "frameon": False}
    figure.legend(handles, list(samples), title=label, **place)


def _cut(name: str) -> str:
    """Return a name of at most two times the length that is written large."""
    return name if len(name) <= 2 * _LONG_NAME else f"{name[: 2 * _LONG_NAME - 1]}…"


def _most_rows(dataset: PolicyDataset, steps: Sequence[int]) -> int:
    """Return the rows of the largest panel of some steps."""
    possible = possible_columns(dataset)
    return min(max(len(possible[step]) for step in steps), _MOST_ROWS)


def spread(steps: Sequence[int] | np.ndarray, n_shown: int) -> list[int]:
    """Return the first, the last, and some between."""
    places = np.linspace(0, len(steps) - 1, min(n_shown, len(steps)))
    return [int(steps[i]) for i in places.round().astype(int)]


#: Of states without a choice.
_NO_CHOICE_COLOR = "#F7F7F7"
#: Reasons with a colour of their own; the others share one grey.
_N_COLORED = 6
_OTHER, _OTHER_COLOR = "other reasons", "#999999"
#: How much is left of the colour of a reason that is not sure.
_PALE = 0.4
#: A state that a smaller share of the walks passes has no name on the map.
_LEAST_NAMED = 0.012


def space_map(
    space: WholeSpace,
    reasons: Sequence[str],
    *,
    settled: Sequence[bool] | None = None,
    title: str = "",
    order: Sequence[str] = (),
) -> Any:
    """Draw all states twice: by their fragility, and by its reason.

    Each row of boxes is a decision; a box is a state, as wide as the share of the
    members' walks that pass it. In trees the box lies below that of its parent, and
    has the name of the action that leads there. Of a ``GridEnvironment`` each decision
    is a board, a state a disc on it, and the area of the disc the share of the walks.

    Parameters
    ----------
    space : WholeSpace
    reasons : sequence of str of length n_states
        Such as the leading named part of the reward; empty where there is none.
    settled : sequence of bool of length n_states, optional
        Where the reason is sure; it is pale elsewhere. None says everywhere.
    title : str
    order : sequence of str, optional
        Reasons that have their colours in this order, as in other pictures; default:
        the most frequent ones first.

    Returns
    -------
    figure : matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there is not one reason a state.
    """
    n_states = space.graph.n_states
    for what, given in {"reasons": reasons, "settled": settled}.items():
        if given is not None and len(given) != n_states:
            raise ValueError(
                f"{what} must be {n_states}, one a state, got {len(given)}"
            )
    from matplotlib.figure import Figure

    n_layers = space.graph.n_layers
    size = (10.0, 2.6 + 1.3 * n_layers)
    drawn = _Map(space)
    if drawn.is_board:
        size = (max(7.0, 1.75 * n_layers + 1.6), 5.4)
    figure = Figure(figsize=size, layout="constrained")
    parts: Any = figure.subfigures(2, 1)
    drawn.draw_fragility(parts[0], title)
    sure = np.ones(n_states, dtype=bool) if settled is None else np.asarray(settled)
    drawn.draw_reasons(parts[1], reasons, sure, order)
    return figure


@dataclass(frozen=True, eq=False)
class _Map:
    """All states of a space, as boxes of a tree or as discs on boards."""

    space: WholeSpace

    @property
    def is_board(self) -> bool:
        """Whether states have places on a board."""
        return isinstance(self.space.graph.environment, GridEnvironment)

    def names(self) -> list[str]:
        """Return the last action of each state of a tree, without its component."""
        graph, found = self.space.graph, []
        for state in graph.states if graph.environment.is_tree else ():
            history = graph.environment.action_history(state)
            taken = [graph.environment.action_names[a] for a in history if a >= 0]
            found.append((taken or ["all walks"])[-1].split(": ", maxsplit=1)[-1])
        return found

    def draw_fragility(self, part: Any, title: str) -> None:
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        values, choice = self.space.fragility, has_choice(self.space)
        scale = ScalarMappable(Normalize(0.0, float(values.max()) or 1.0), "viridis_r")
        colors = [
            scale.to_rgba(value) if own else _NO_CHOICE_COLOR
            for value, own in zip(values, choice, strict=True)
        ]
        sums = np.bincount(self.space.graph.steps.numpy(), self.space.contribution)
        shares = sums / (sums.sum() or 1.0)
        titles = [
            f"{title}\n{share:.0%} of it"
            for title, share in zip(self._titles(), shares, strict=True)
        ]
        self._draw(part, colors, titles, scale)
        if title:
            part.suptitle(f"{title}: how far apart visitors are", fontsize=11)

    def draw_reasons(
        self,
        part: Any,
        reasons: Sequence[str],
        sure: np.ndarray,  # shape: (n_states,), bool
        order: Sequence[str],
    ) -> None:
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import to_rgb
        from matplotlib.patches import Patch

        space = self.space
        weight = {
            name: float(space.contribution[np.array(reasons) == name].sum())
            for name in dict.fromkeys(reasons)
            if name
        }
        leading = sorted(weight, key=lambda name: -weight[name])
        known = dict.fromkeys([*order, *leading[:_N_COLORED]])
        color_of = {name: color(place) for place, name in enumerate(known)}
        color_of |= dict.fromkeys(leading[_N_COLORED:], _OTHER_COLOR)
        colors: list[Any] = []
        for reason, own, is_sure in zip(reasons, has_choice(space), sure, strict=True):
            none = UNEXPLAINED_COLOR if own else _NO_CHOICE_COLOR
            rgb = np.array(to_rgb(color_of.get(reason, none)))
            is_pale = reason and not is_sure
            colors.append(tuple(1 - _PALE * (1 - rgb) if is_pale else rgb))
        bar = self._draw(part, colors, self._titles(), ScalarMappable())
        bar.ax.set_visible(False)  # the same width
        total = float(space.contribution.sum()) or 1.0
        others = sum(weight[name] for name in leading[_N_COLORED:])
        left = 1.0 - sum(weight.values()) / total
        shown = [(n, color_of[n], weight[n] / total) for n in leading[:_N_COLORED]]
        if others:
            shown.append((_OTHER, _OTHER_COLOR, others / total))
        if left > 0.005:
            shown.append(("nothing named", UNEXPLAINED_COLOR, left))
        part.legend(
            handles=[
                Patch(facecolor=look, label=f"{name} ({share:.0%})")
                for name, look, share in shown
            ],
            loc="outside lower center",
            ncols=min(4, len(shown)),
            frameon=False,
            fontsize=8,
        )
        pale = "" if bool(sure.all()) else "; pale where it is not settled"
        part.suptitle(f"what explains most of it (share of all){pale}", fontsize=11)

    def _titles(self) -> list[str]:
        """Name the decisions."""
        graph = self.space.graph
        names = graph.environment.step_names[: graph.n_layers]
        return [name.replace("_", " ") for name in names]

    def _draw(
        self, part: Any, colors: Sequence[Any], titles: Sequence[str], scale: Any
    ) -> Any:
        """Draw the states with a bar of a scale of colours; return the bar."""
        draw = self._draw_boards if self.is_board else self._draw_boxes
        axes = draw(part, colors, titles)
        bar = part.colorbar(scale, ax=axes, fraction=0.03, pad=0.01)
        bar.set_label("total variation", fontsize=8)
        bar.ax.tick_params(labelsize=8)
        return bar

    def _draw_boxes(
        self, part: Any, colors: Sequence[Any], titles: Sequence[str]
    ) -> Any:
        """Draw a row of boxes a decision, as wide as the share of walks through it."""
        from matplotlib.colors import to_rgb

        graph, ax = self.space.graph, part.subplots()
        left, width = _places(self.space)
        middle = graph.steps.numpy() + 0.5
        lines = np.where(width > 0.004, 0.5, 0.0)
        box = {"color": colors, "edgecolor": "white", "linewidth": lines}
        ax.barh(middle, width, 0.88, left=left, **box)
        for i, name in enumerate(self.names()):
            if width[i] < _LEAST_NAMED:
                continue
            wide = width[i] > 0.12
            limit = int(110 * width[i]) if wide else 13
            ax.text(
                left[i] + width[i] / 2,
                middle[i],
                name if len(name) <= limit else name[: max(limit - 1, 1)] + "…",
                rotation=0 if wide else 90,
                ha="center",
                va="center",
                fontsize=7 if wide else 6,
                clip_on=True,
                color=ink_on(to_rgb(colors[i])),
            )
        ax.set_yticks(np.arange(len(titles)) + 0.5, titles, fontsize=8)
        ax.set(xlim=(0, 1), ylim=(graph.n_layers, 0))
        ax.set_xlabel("share of the walks of all members", fontsize=8)
        ax.tick_params(axis="x", labelsize=8)
        ax.tick_params(axis="y", length=0)
        ax.spines[:].set_visible(False)
        return ax

    def _draw_boards(
        self, part: Any, colors: Sequence[Any], titles: Sequence[str]
    ) -> Any:
        """Draw a board a decision, a disc a state."""
        graph, visits = self.space.graph, self.space.visits.mean(axis=0)
        rows, columns = graph.states[:, :2].numpy().T
        shape = rows.max() + 1, columns.max() + 1
        axes = part.subplots(1, graph.n_layers, sharex=True, sharey=True)
        for step, ax in enumerate(np.atleast_1d(axes)):
            places = np.indices(shape)[::-1]
            ax.plot(*places, ".", color="0.85", markersize=2, zorder=0)
            own = graph.layer(step)
            ax.scatter(
                columns[own],
                rows[own],
                np.square(3.0 + 22.0 * np.sqrt(visits[own])),
                colors[own],
                edgecolors="0.4",
                linewidths=0.4,
            )
            ax.set_title(titles[step], fontsize=9)
            ax.set(xlim=(-0.9, shape[1] - 0.1), ylim=(shape[0] - 0.1, -0.9))
            ax.set(xticks=[], yticks=[], aspect="equal")
        return axes


def _places(space: WholeSpace) -> tuple[np.ndarray, np.ndarray]:
    # shapes: -> (n_states,), (n_states,)
    """Return left ends and widths of the boxes, the most visited on the left."""
    graph, width = space.graph, space.visits.mean(axis=0)
    left = np.zeros(graph.n_states)
    parents, actions = (
        (graph.children >= 0) & (graph.children < graph.n_states)
    ).nonzero(as_tuple=True)
    children = graph.children[parents, actions].numpy()
    parent = np.zeros(graph.n_states, dtype=int)
    parent[children] = parents.numpy()
    free: dict[int, float] = {}
    for step in range(1, graph.n_layers):
        layer = np.arange(graph.n_states)[graph.layer(step)]
        for i in layer[np.argsort(-width[layer], kind="stable")]:
            above = int(parent[i]) if graph.environment.is_tree else -step
            start = left[above] if above >= 0 else 0.0
            left[i] = free.get(above, start)
            free[above] = left[i] + width[i]
    return left, width
