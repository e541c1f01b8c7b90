"""Claims of the paper as checks: its figure, ours, and whether they agree.

Disagreement is a result, not a failure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gflownet_envs.experiments.run import SourceResults

#: Figures that differ by less than this, relatively, agree.
TOLERANCE = 0.2


@dataclass(frozen=True)
class PaperClaim:
    """One claim.

    Attributes
    ----------
    text : str
        What is claimed.
    paper : str
        The paper's figure.
    measure : callable
        Takes the results on one data set; returns our figure and whether it agrees.
    """

    text: str
    paper: str
    measure: Callable[[SourceResults], tuple[str, bool]]


def alr_sum_claim(step: str, value: float) -> PaperClaim:
    """Claim that the variance D of the expansion of a step has a value.

    Our figure is that of the expansion, as the paper has it, with the variance of the
    members themselves in brackets: an expansion that overfits has more.
    """

    def measure(source: SourceResults) -> tuple[str, bool]:
        position = source.dataset.step_names.index(step)
        expansion = float(source.main.expansion_alr_sum[position])
        members = float(source.fragility.alr_sum[position])
        agrees = abs(expansion - value) <= TOLERANCE * value
        return f"{expansion:.1f} (members {members:.1f})", agrees

    return PaperClaim(
        f"total policy variance D of the expansion, {step}", f"{value:g}", measure
    )


def coverage_claim(step: str, value: float) -> PaperClaim:
    """Claim that the push-forward's 95 % intervals of a step have a coverage."""

    def measure(source: SourceResults) -> tuple[str, bool]:
        position = source.dataset.step_names.index(step)
        found = source.main.calibration["push-forward alone"]
        ours = float(found.coverage[-1, position])
        return f"{ours:.2f}", abs(ours - value) <= 0.05

    return PaperClaim(
        f"coverage of 95 % intervals (push-forward), {step}", f"{value:.2f}", measure
    )


def order_claim(text: str, first: str, second: str) -> PaperClaim:
    """Claim that one step has a larger Aitchison variance than another."""

    def measure(source: SourceResults) -> tuple[str, bool]:
        names = source.dataset.step_names
        variance = source.fragility.aitchison_variance
        low, high = variance[names.index(second)], variance[names.index(first)]
        return f"{first} {high:.2f}, {second} {low:.2f}", bool(high > low)

    return PaperClaim(text, f"{first} > {second}", measure)


def shift_claim(text: str, early: str, late: str) -> PaperClaim:
    """Claim that the second input gains on the first from an early to a late step."""

    def measure(source: SourceResults) -> tuple[str, bool]:
        indices = source.main.surrogate.step_total_sobol_indices_
        names = source.dataset.step_names
        before, after = indices[names.index(early)], indices[names.index(late)]
        figures = (
            f"{early} {before[0]:.2f} and {before[1]:.2f}, "
            f"{late} {after[0]:.2f} and {after[1]:.2f}"
        )
        return figures, bool(before[0] > before[1] and after[1] > after[0])

    return PaperClaim(text, "PC1 leads early, PC2 late", measure)
