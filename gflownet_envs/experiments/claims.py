"""Claims of the paper as figures: its own, and ours of one draw of the members.

Whether they agree is said by the page of the paper, from many draws.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import kendalltau

from gflownet_envs.experiments.analysis import pairs_passed
from gflownet_envs.experiments.task import PaperClaim, SourceResults
from skpce.inspection import modes_test


def alr_sum_claim(step: str, value: float) -> PaperClaim:
    """Claim that the variance D of the expansion of a step has a value."""

    def measure(source: SourceResults) -> str:
        position = source.dataset.step_names.index(step)
        expansion = float(source.main.expansion_alr_sum[position])
        members = float(source.fragility.alr_sum[position])
        return f"{expansion:.1f} (members {members:.1f})"

    return PaperClaim(
        f"total policy variance D of the expansion, {step}", f"{value:g}", measure
    )


def coverage_claim(step: str, value: float) -> PaperClaim:
    """Claim that the push-forward's 95 % intervals of a step have a coverage."""

    def measure(source: SourceResults) -> str:
        position = source.dataset.step_names.index(step)
        found = source.main.calibration["push-forward alone"]
        ours = float(found.coverage[-1, position])
        return f"{ours:.2f}"

    return PaperClaim(
        f"coverage of 95 % intervals (push-forward), {step}", f"{value:.2f}", measure
    )


def order_claim(text: str, first: str, second: str) -> PaperClaim:
    """Claim that one step has a larger Aitchison variance than another."""

    def measure(source: SourceResults) -> str:
        names = source.dataset.step_names
        variance = source.fragility.aitchison_variance
        low, high = variance[names.index(second)], variance[names.index(first)]
        return f"{first} {high:.2f}, {second} {low:.2f}"

    return PaperClaim(f"{text} (Aitchison variance)", f"{first} > {second}", measure)


def rising_claim(text: str) -> PaperClaim:
    """Claim that the Aitchison variance grows from step to step.

    Ours ends with Kendall's rank correlation of variance and position, over all steps
    with a choice.
    """

    def measure(source: SourceResults) -> str:
        variance = source.fragility.aitchison_variance
        variance = variance[np.isfinite(variance)]
        order = float(kendalltau(np.arange(len(variance)), variance).statistic)
        figures = ", ".join(f"{value:.2f}" for value in variance)
        return f"{figures} (rank correlation {order:.1f})"

    return PaperClaim(f"{text} (Aitchison variance)", "rising", measure)


def gain_claim(text: str, early: str, late: str, paper: str = "yes") -> PaperClaim:
    """Claim that the first input leads early and the second gains until a late step."""

    def measure(source: SourceResults) -> str:
        indices = source.main.surrogate.step_total_sobol_indices_
        names = source.dataset.step_names
        last = _last_choice(source)
        is_there = late in names and names.index(late) <= names.index(last)
        late_step = late if is_there else last
        before, after = indices[names.index(early)], indices[names.index(late_step)]
        return (
            f"{early} {before[0]:.2f} and {before[1]:.2f}, "
            f"{late_step} {after[0]:.2f} and {after[1]:.2f}"
        )

    return PaperClaim(text, paper, measure)


def _last_choice(source: SourceResults) -> str:
    """Name the last step of the trajectory that leaves a choice."""
    steps = source.main.verdict.steps
    return next(step.step for step in reversed(steps) if step.q2 == step.q2)


def indistinguishable_claim(n_passed: int, n_pairs: int) -> PaperClaim:
    """Claim how many pairs of action and step a two-sample test cannot distinguish."""

    def measure(source: SourceResults) -> str:
        test = source.dataset.test
        draws = source.main.surrogate.sample(2000, residual=None, random_state=0)
        passed, tested = pairs_passed(test, draws)
        return f"{sum(passed)} of {sum(tested)}"

    return PaperClaim(
        "pairs of action and step that Kolmogorov–Smirnov cannot distinguish",
        f"{n_passed} of {n_pairs}",
        measure,
    )


def explained_variance_claim(value: float) -> PaperClaim:
    """Claim what share of the variance of the reward features the components hold."""

    def measure(source: SourceResults) -> str:
        ours = float(source.main.pipeline[0].explained_variance_ratio_.sum())
        return f"{ours:.1%}"

    return PaperClaim(
        "variance of the reward features that the components hold",
        f"{value:.1%}",
        measure,
    )


def mean_coverage_claim(value: float) -> PaperClaim:
    """Claim the coverage of the push-forward's 95 % intervals, mean over the steps."""

    def measure(source: SourceResults) -> str:
        found = source.main.calibration["push-forward alone"]
        ours = float(np.nanmean(found.coverage[-1]))
        return f"{ours:.2f}"

    return PaperClaim(
        "coverage of 95 % intervals (push-forward), mean over steps",
        f"{value:.2f}",
        measure,
    )


def uniform_component_claim() -> PaperClaim:
    """Claim that the first component is the mean of the reward features."""

    def measure(source: SourceResults) -> str:
        loadings = source.main.pipeline[0].components_[0]
        cosine = abs(loadings.mean()) * np.sqrt(len(loadings))
        cosine /= np.linalg.norm(loadings)
        return f"cosine {cosine:.2f}"

    return PaperClaim("PC1 is the mean level of the reward", "yes", measure)


def two_modes_claim(action: str) -> PaperClaim:
    """Claim that an action's probability has two modes at later steps."""

    def measure(source: SourceResults) -> str:
        dataset = source.dataset
        place = dataset.action_names[dataset.step_slices[0]].index(action)
        tests = modes_test(source.main.surrogate, action=place)
        found = [row.step for row in tests.rows if row.bimodal]
        return ", ".join(found) if found else "at no step"

    return PaperClaim(
        f"probability of {action} has two modes", "at later steps", measure
    )
