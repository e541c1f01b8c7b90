"""The figures of a run. They are drawn from results, never during training."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gflownet_envs.experiments.analysis import possible_columns, steps_with_choice
from gflownet_envs.experiments.space_maps import map_of_states
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
            map_of_states(*results.space, results.task.title, order),
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
