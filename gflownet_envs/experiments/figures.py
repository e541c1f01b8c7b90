"""The figures of a run. They are drawn from results, never during training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gflownet_envs.experiments.task import LEVELS, RunResults, SourceResults
from gflownet_envs.policy_dataset import PolicyDataset
from skpce.plotting import CoverageDisplay, PolicyDistributionDisplay, SobolDisplay

#: Steps shown in the figure of the policies at most.
_MAX_POLICY_PANELS = 6
#: Actions that fit a panel of the overview; more are drawn closer.
_MOST_ROWS = 30
#: Steps whose policies the overview shows.
_N_OVERVIEW_STEPS = 3
#: Longer names of actions need lines of their own: panels go below each other.
_LONG_NAME = 8
#: Still longer ones are written smaller in the overview.
_VERY_LONG_NAME = 24


def make_figures(results: RunResults) -> dict[str, tuple[Any, str]]:
    """Return figures by file name, each with a description."""
    figures: dict[str, tuple[Any, str]] = {}
    for name, source in results.sources.items():
        figures[f"sobol_{name}"] = (
            sobol_figure(source),
            f"What drives each step ({name} policies): share of the variance between "
            "members, with the part that no input explains.",
        )
        figures[f"coverage_{name}"] = (
            coverage_figure(source),
            f"Coverage of held-out members ({name} policies).",
        )
        figures[f"policies_{name}"] = (
            policies_figure(source, results.seed),
            f"Policies along the reference trajectory ({name}): held-out members "
            "beside the predictive distribution of the surrogate.",
        )
    for number, found in enumerate(results.parts, start=1):
        figures[f"parts_{number}"] = (
            parts_figure(found.effects, found.noise_share, results.headline),
            f"Which named part of the reward explains which choice ({found.named.title}"
            ", policies solved again), beside what principal components explain.",
        )
    figures["overview"] = (
        overview_figure(results),
        f"{results.task.title}: the system, what drives each step, and policies of "
        "held-out members beside the surrogate's.",
    )
    figures["summary"] = (
        summary_figure(results),
        "Attribution with its unexplained part, and coverage on held-out members.",
    )
    return figures | results.task.extra_figures(results)


def _figure(width: float, height: float) -> Any:
    """Return a figure that needs no screen and leaves pyplot as it is."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _drawn(width: float, height: float, draw: Callable[[Any], None]) -> Any:
    figure = _figure(width, height)
    draw(figure.subplots())
    return figure


def sobol_figure(source: SourceResults) -> Any:
    """Stacked shares per step, with the verdict."""
    height = 1.4 + 0.55 * source.dataset.n_steps
    return _drawn(8.4, max(height, 3.0), lambda ax: _draw_sobol(source, ax))


def _draw_sobol(source: SourceResults, ax: Any) -> None:
    main = source.main
    SobolDisplay.from_estimator(
        main.pipeline, input_features=main.input_features, verdict=main.verdict, ax=ax
    )
    ax.set_title(f"{source.dataset.source} policies, degree {main.degree}")


def coverage_figure(source: SourceResults) -> Any:
    """Nominal against empirical coverage of the three kinds of interval."""
    return _drawn(5.4, 5.2, lambda ax: _draw_coverage(source, ax))


def _draw_coverage(source: SourceResults, ax: Any) -> None:
    coverages = {
        kind: np.nanmean(found.coverage, axis=1)
        for kind, found in source.main.calibration.items()
    }
    test = source.dataset.test
    # Replicates of a reward are hit together: the band is that of the rewards.
    n_rewards = len(np.unique(test.rewards))
    CoverageDisplay(LEVELS, coverages, n_members=n_rewards).plot(ax=ax)
    ax.set_title(f"{test.source} policies, {test.n_members} held-out members")


def policies_figure(source: SourceResults, seed: int) -> Any:
    """One panel per step with a choice: side by side, or below each other."""
    dataset = source.dataset
    counts = [int(dataset.mask[columns].sum()) for columns in dataset.step_slices]
    shown = [step for step, count in enumerate(counts) if count > 1]
    shown = shown[:_MAX_POLICY_PANELS]
    sizes = [3 + counts[step] for step in shown]
    is_column = max(map(len, dataset.action_names)) > _LONG_NAME
    if is_column:
        figure = _figure(8.0, 0.9 + 0.25 * sum(sizes))
        axes = figure.subplots(len(shown), 1, squeeze=False, height_ratios=sizes)
    else:
        figure = _figure(min(12.0, 2.4 * len(shown) + 1.0), 3.9)
        axes = figure.subplots(1, len(shown), squeeze=False, width_ratios=sizes)
    for step, ax in zip(shown, axes.ravel(), strict=True):
        PolicyDistributionDisplay.from_estimator(
            source.main.pipeline,
            dataset.test.y,
            step=step,
            part_names=dataset.action_names,
            horizontal=is_column,
            random_state=seed,
            ax=ax,
        )
        ax.get_legend().remove()
    _keep_one_label(axes.ravel(), is_column)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure


def overview_figure(results: RunResults) -> Any:
    """The paper's figure of a task: system, attribution, and some of the steps."""
    source = results.headline
    shown = _spread_steps(source.dataset, _N_OVERVIEW_STEPS)
    upper = max(4.0, 1.4 + 0.32 * source.dataset.n_steps)
    most = max(int(source.dataset.mask[c].sum()) for c in source.dataset.step_slices)
    lower = max(3.2, 1.2 + 0.2 * min(most, _MOST_ROWS))
    figure = _figure(11.0, upper + lower)
    top, bottom = figure.subfigures(2, 1, height_ratios=(upper, lower))
    system, attribution = top.subplots(1, 2, width_ratios=(1, 1.25))
    results.task.draw_system(results, system)
    _draw_sobol(source, attribution)
    panels = bottom.subplots(1, len(shown), squeeze=False)[0]
    for step, ax in zip(shown, panels, strict=True):
        PolicyDistributionDisplay.from_estimator(
            source.main.pipeline,
            source.dataset.test.y,
            step=step,
            part_names=source.dataset.action_names,
            horizontal=True,
            random_state=results.seed,
            ax=ax,
        )
        ax.get_legend().remove()
        _name_the_likeliest(ax, source.dataset, step)
    _shorten_labels(panels)
    handles, labels = panels[0].get_legend_handles_labels()
    bottom.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure


def _shorten_labels(panels: Sequence[Any]) -> None:
    """Label the probabilities once, in the middle, and write very long names small."""
    label = max((ax.get_xlabel() for ax in panels), key=len)
    for number, ax in enumerate(panels):
        ax.set_xlabel(label if number == len(panels) // 2 else "")
        names = [label.get_text() for label in ax.get_yticklabels()]
        if max(map(len, names)) > _VERY_LONG_NAME:
            ax.tick_params(axis="y", labelsize=6)


def _name_the_likeliest(ax: Any, dataset: PolicyDataset, step: int) -> None:
    """Leave the names of the likeliest actions where there are too many for a panel."""
    names = [label.get_text() for label in ax.get_yticklabels()]
    if len(names) <= _MOST_ROWS:
        return
    columns = dataset.step_slices[step]
    mean = dataset.test.y[:, columns].mean(axis=0)
    order = np.argsort(-mean)[: _MOST_ROWS // 3]
    named = {dataset.action_names[columns][i] for i in order}
    ax.set_yticks(ax.get_yticks(), [n if n in named else "" for n in names], size=7)


def _spread_steps(dataset: PolicyDataset, n_shown: int) -> list[int]:
    """Return steps with a choice: the first, the last, and some between."""
    counts = [int(dataset.mask[columns].sum()) for columns in dataset.step_slices]
    choices = [step for step, count in enumerate(counts) if count > 1]
    places = np.linspace(0, len(choices) - 1, min(n_shown, len(choices)))
    return [choices[i] for i in places.round().astype(int)]


def _keep_one_label(axes: Sequence[Any], is_column: bool) -> None:
    """Leave the label of the probabilities to the last row, or the first column."""
    axis = "xlabel" if is_column else "ylabel"
    labels = [getattr(ax, f"get_{axis}")() for ax in axes]
    keeper = -1 if is_column else 0
    for ax in axes:
        getattr(ax, f"set_{axis}")("")
    # The longest says that bars of some panel are cut.
    getattr(axes[keeper], f"set_{axis}")(max(labels, key=len))


def summary_figure(results: RunResults) -> Any:
    """The picture of the README: attribution and coverage side by side."""
    source = results.headline
    figure = _figure(10.5, max(4.4, 1.8 + 0.5 * source.dataset.n_steps))
    left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
    _draw_sobol(source, left)
    _draw_coverage(source, right)
    return figure


def parts_figure(effects: Any, noise_share: Any, source: SourceResults) -> Any:
    """Named parts, the answer, beside what the principal components explain."""
    from skpce.plotting import PartEffectsDisplay

    figure = _figure(12.0, max(3.4, 1.8 + 0.5 * source.dataset.n_steps))
    left, right = figure.subplots(1, 2)
    PartEffectsDisplay.from_effects(effects, noise_share=noise_share, ax=left)
    _draw_sobol(source, right)
    return figure
