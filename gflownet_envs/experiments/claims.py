"""Claims of the paper beside a run: its figures, and ours of one draw of the members.

``claims.toml`` lists them; each names a function here, which returns our figure of one
data set. Whether they agree is said by the page of the paper, from many draws.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import kendalltau
from sklearn.metrics import mean_absolute_error

from gflownet_envs.experiments.analysis import pairs_passed
from gflownet_envs.experiments.task import PaperClaim, SourceResults
from skpce.inspection import modes_test


def claims_of(task: str) -> tuple[PaperClaim, ...]:
    """Return the paper's claims about a task."""
    text = Path(__file__).with_name("claims.toml").read_text(encoding="utf-8")
    return tuple(_claim(**entry) for entry in tomllib.loads(text)[task])


def _claim(text: str, paper: str, measure: str, **arguments: Any) -> PaperClaim:
    return PaperClaim(text, paper, partial(MEASURES[measure], **arguments))


def alr_sum(source: SourceResults, step: str) -> str:
    """Show the variance D of the expansion of a step, and of the members."""
    position = source.dataset.step_names.index(step)
    expansion = float(source.main.expansion_alr_sum[position])
    members = float(source.fragility.alr_sum[position])
    return f"{expansion:.1f} (members {members:.1f})"


def _sums(source: SourceResults, steps: Sequence[str]) -> list[float]:
    names = source.dataset.step_names
    return [float(source.main.expansion_alr_sum[names.index(step)]) for step in steps]


def alr_of_steps(source: SourceResults, steps: Sequence[str]) -> str:
    """Show D of the expansion of some steps."""
    return ", ".join(f"{value:.1f}" for value in _sums(source, steps))


def alr_ratio(source: SourceResults, step: str, others: Sequence[str]) -> str:
    """Show how many times D of a step is that of others, mean; free of the scale."""
    return f"{_sums(source, [step])[0] / np.mean(_sums(source, others)):.2f}"


def alr_of_edges(source: SourceResults) -> str:
    """Show between which values D of all steps that add edges lies."""
    adds = [action != "stop" for action in source.dataset.trajectory]
    if not any(adds):
        return "no edge on the trajectory"
    expansion = source.main.expansion_alr_sum[adds]
    members = source.fragility.alr_sum[adds]
    return f"{_range(expansion)} (members {_range(members)})"


def _range(values: np.ndarray) -> str:
    return f"{np.nanmin(values):.1e} to {np.nanmax(values):.1e}"


def _covered(source: SourceResults) -> np.ndarray:  # shape: (n_steps,)
    """Return the coverage of the push-forward's 95 % intervals."""
    return source.main.calibration["push-forward alone"].coverage[-1]


def coverage(source: SourceResults, step: str) -> str:
    """Show the coverage of the push-forward's 95 % intervals of a step."""
    return f"{_covered(source)[source.dataset.step_names.index(step)]:.2f}"


def mean_coverage(source: SourceResults) -> str:
    """Show the mean of that over the steps."""
    return f"{np.nanmean(_covered(source)):.2f}"


def coverage_range(source: SourceResults) -> str:
    """Show the range of that over the steps."""
    found = _covered(source)
    return f"{np.nanmin(found):.2f} to {np.nanmax(found):.2f}"


def order(source: SourceResults, first: str, second: str) -> str:
    """Show the Aitchison variances of two steps."""
    names = source.dataset.step_names
    variance = source.fragility.aitchison_variance
    low, high = variance[names.index(second)], variance[names.index(first)]
    return f"{first} {high:.2f}, {second} {low:.2f}"


def rising(source: SourceResults) -> str:
    """Show the Aitchison variances step by step.

    At the end stands Kendall's rank correlation of variance and position, over all
    steps with a choice.
    """
    variance = source.fragility.aitchison_variance
    variance = variance[np.isfinite(variance)]
    correlation = float(kendalltau(np.arange(len(variance)), variance).statistic)
    figures = ", ".join(f"{value:.2f}" for value in variance)
    return f"{figures} (rank correlation {correlation:.1f})"


def gain(source: SourceResults, early: str, late: str) -> str:
    """Show the total indices of the first two inputs at an early and a late step."""
    indices = source.main.surrogate.step_total_sobol_indices_
    names = source.dataset.step_names
    steps = reversed(source.main.verdict.steps)
    last = next(step.step for step in steps if step.q2 == step.q2)  # with a choice
    is_there = late in names and names.index(late) <= names.index(last)
    late_step = late if is_there else last
    before, after = indices[names.index(early)], indices[names.index(late_step)]
    return (
        f"{early} {before[0]:.2f} and {before[1]:.2f}, "
        f"{late_step} {after[0]:.2f} and {after[1]:.2f}"
    )


def leading_input(
    source: SourceResults, edges: Sequence[Sequence[str]], others: bool = False
) -> str:
    """Show total indices, PC1 and PC2, where some edges, or all others, are added.

    An edge counts whichever way it points, since the score does not show the direction
    of most. Claims about steps that are not supported describe the fit alone: the
    verdict says which are.
    """
    listed = [set(edge) for edge in edges]
    indices = source.main.surrogate.step_total_sobol_indices_
    found = [
        f"{action} {index[0]:.2f} and {index[1]:.2f}"
        for action, index in zip(source.dataset.trajectory, indices, strict=True)
        if action != "stop" and (set(action.split(" → ")) in listed) != others
    ]
    return ", ".join(found) or "no such edge on the trajectory"


def indistinguishable(source: SourceResults) -> str:
    """Show how many pairs of action and step a two-sample test cannot distinguish."""
    draws = source.main.surrogate.sample(2000, residual=None, random_state=0)
    passed, tested = pairs_passed(source.dataset.test, draws)
    return f"{sum(passed)} of {sum(tested)}"


def pairs(source: SourceResults) -> str:
    """Show how many pairs of a step and an action a trajectory has."""
    steps = source.dataset.steps
    return f"{len(steps)} × {steps[0]} = {sum(steps)}"


def explained_variance(source: SourceResults) -> str:
    """Show what share of the variance of the reward features the components hold."""
    return f"{source.main.pipeline[0].explained_variance_ratio_.sum():.1%}"


def uniform_component(source: SourceResults) -> str:
    """Show how far the first component is the mean of the reward features."""
    loadings = source.main.pipeline[0].components_[0]
    cosine = abs(loadings.mean()) * np.sqrt(len(loadings))
    return f"cosine {cosine / np.linalg.norm(loadings):.2f}"


def two_modes(source: SourceResults, action: str) -> str:
    """Name the steps at which the probability of an action has two modes."""
    dataset = source.dataset
    place = dataset.action_names[dataset.step_slices[0]].index(action)
    tests = modes_test(source.main.surrogate, action=place)
    return ", ".join(row.step for row in tests.rows if row.bimodal) or "at no step"


def mean_error(source: SourceResults) -> str:
    """Show the mean absolute error of the surrogate's policies on held-out members.

    The mean runs over all actions, most of which are masked or rare, so that any
    policy has a small one: that of the mean policy of the training members stands in
    brackets.
    """
    train, test = source.dataset.train, source.dataset.test
    predicted = source.main.pipeline.predict(test.X)
    mean = np.tile(train.y.mean(axis=0), (test.n_members, 1))
    ours, baseline = (float(mean_absolute_error(test.y, y)) for y in (predicted, mean))
    return f"{ours:.4f} (mean policy {baseline:.4f})"


#: What a claim may name.
MEASURES: Mapping[str, Callable[..., str]] = {
    measure.__name__: measure
    for measure in (
        *(alr_sum, alr_of_steps, alr_ratio, alr_of_edges),
        *(coverage, mean_coverage, coverage_range, order, rising, gain),
        *(leading_input, indistinguishable, pairs, explained_variance),
        *(uniform_component, two_modes, mean_error),
    )
}
