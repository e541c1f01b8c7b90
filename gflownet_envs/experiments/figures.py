"""The figures of a run. They are drawn from results, never during training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gflownet_envs.experiments.analysis import LEVELS
from gflownet_envs.experiments.run import RunResults, SourceResults
from skpce.plotting import CoverageDisplay, PolicyDistributionDisplay, SobolDisplay

#: Steps shown in the figure of the policies at most.
_MAX_POLICY_PANELS = 6


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
            "beside the predictive law of the surrogate.",
        )
    figures["summary"] = (
        summary_figure(results),
        "Attribution with its unexplained part, and coverage on held-out members.",
    )
    return figures


def _headless() -> Any:
    """Return pyplot with a backend that needs no screen."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def _drawn(width: float, height: float, draw: Callable[[Any], None]) -> Any:
    plt = _headless()
    figure, ax = plt.subplots(figsize=(width, height), layout="constrained")
    draw(ax)
    plt.close(figure)
    return figure


def sobol_figure(source: SourceResults) -> Any:
    """Stacked shares per step, with the verdict."""
    height = 1.4 + 0.55 * source.dataset.n_steps
    return _drawn(8.4, max(height, 3.0), lambda ax: _draw_sobol(source, ax))


def _draw_sobol(source: SourceResults, ax: Any) -> None:
    main = source.main
    SobolDisplay.from_estimator(main.pipeline, verdict=main.verdict, ax=ax)
    ax.set_title(f"{source.dataset.source} policies, degree {main.degree}")


def coverage_figure(source: SourceResults) -> Any:
    """Nominal against empirical coverage of the three kinds of interval."""
    return _drawn(5.4, 4.6, lambda ax: _draw_coverage(source, ax))


def _draw_coverage(source: SourceResults, ax: Any) -> None:
    coverages = {
        kind: np.nanmean(found.coverage, axis=1)
        for kind, found in source.main.calibration.items()
    }
    n_members = source.dataset.test.n_members
    CoverageDisplay(LEVELS, coverages, n_members=n_members).plot(ax=ax)
    ax.set_title(f"{source.dataset.source} policies, {n_members} held-out members")


def policies_figure(source: SourceResults, seed: int) -> Any:
    """One panel per step with a choice."""
    plt = _headless()
    dataset = source.dataset
    choices = [
        step
        for step, columns in enumerate(dataset.step_slices)
        if dataset.mask[columns].sum() > 1
    ][:_MAX_POLICY_PANELS]
    widths = [
        3 + int(dataset.mask[dataset.step_slices[step]].sum()) for step in choices
    ]
    n_rows = 1 if sum(widths) <= 45 else 2
    per_row = -(-len(choices) // n_rows)
    figure = plt.figure(
        figsize=(min(14.0, 3.2 * per_row + 1.0), 4.6 * n_rows), layout="constrained"
    )
    for row, rows in enumerate(figure.subfigures(n_rows, 1, squeeze=False)[:, 0]):
        shown = choices[row * per_row : (row + 1) * per_row]
        ratios = widths[row * per_row : (row + 1) * per_row]
        axes = rows.subplots(1, len(shown), squeeze=False, width_ratios=ratios)[0]
        for step, ax in zip(shown, axes, strict=True):
            PolicyDistributionDisplay.from_estimator(
                source.main.pipeline,
                dataset.test.y,
                step=step,
                random_state=seed,
                ax=ax,
            )
            if ax is not axes[0]:
                ax.set_ylabel("")
                ax.get_legend().remove()
    plt.close(figure)
    return figure


def summary_figure(results: RunResults) -> Any:
    """The picture of the README: attribution and coverage side by side."""
    plt = _headless()
    source = results.headline
    height = max(3.8, 1.4 + 0.5 * source.dataset.n_steps)
    figure, axes = plt.subplots(
        1, 2, figsize=(12.5, height), layout="constrained", width_ratios=(1.7, 1)
    )
    _draw_sobol(source, axes[0])
    _draw_coverage(source, axes[1])
    plt.close(figure)
    return figure
