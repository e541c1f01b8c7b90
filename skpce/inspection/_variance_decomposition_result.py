"""What ``variance_decomposition`` returns, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import FloatArray, import_pandas

MEASURES = ("aitchison_variance", "mutual_information", "total_variation")


@dataclass(frozen=True, eq=False)
class VarianceSplit:
    """One measure of disagreement, split; every array has one value per step.

    NaN for a step without choice, or whose members do not differ.

    Attributes
    ----------
    between : ndarray of shape (n_steps,)
        Between rewards, corrected for the noise in the means of few replicates; at
        least 0.
    within : ndarray of shape (n_steps,)
        Within rewards: noise of the training.
    noise_share : ndarray of shape (n_steps,)
        ``within`` over the total. At most 1 from replicates; from a control sampling
        can push it above.
    noise_share_low, noise_share_high : ndarray of shape (n_steps,)
        Interval of ``noise_share``; NaN where it cannot be estimated.
    """

    between: FloatArray
    within: FloatArray
    noise_share: FloatArray
    noise_share_low: FloatArray
    noise_share_high: FloatArray

    @property
    def total(self) -> FloatArray:
        """Sum of ``between`` and ``within``."""
        return self.between + self.within


@dataclass(frozen=True, eq=False)
class VarianceDecomposition:
    """Disagreement of the members, split; from :func:`variance_decomposition`.

    Attributes
    ----------
    step_names : tuple of str
        One name per step.
    source : {"replicates", "control"}
        What told the noise apart.
    n_members : int
        Rows of y.
    n_rewards : int or None
        Different rewards; None with a control.
    n_control : int or None
        Rows of the control; None with replicates.
    confidence_level : float
        Of the intervals.
    aitchison_variance : VarianceSplit
        Total variance of the centred log-ratios.
    mutual_information : VarianceSplit
        Mean Kullback-Leibler divergence to the barycentre (generalised
        Jensen-Shannon), in nats.
    total_variation : VarianceSplit
        Mean total variation of two members.
    """

    step_names: tuple[str, ...]
    source: str
    n_members: int
    n_rewards: int | None
    n_control: int | None
    confidence_level: float
    aitchison_variance: VarianceSplit
    mutual_information: VarianceSplit
    total_variation: VarianceSplit

    @property
    def noise_share(self) -> FloatArray:
        """Share of training noise in the Aitchison variance; shape (n_steps,).

        What :func:`verdict` takes as ``noise_share``.
        """
        return self.aitchison_variance.noise_share

    def __str__(self) -> str:
        split = self.aitchison_variance
        if self.source == "replicates":
            origin = f"{self.n_rewards} rewards"
        else:
            origin = f"a control of {self.n_control} members"
        lines = [f"Training noise of {self.n_members} members, from {origin}:"]
        for step, name in enumerate(self.step_names):
            if np.isnan(split.noise_share[step]):
                lines.append(f"- {name}: no choice, or no variance between members.")
                continue
            interval = (
                f"[{split.noise_share_low[step]:.0%}, "
                f"{split.noise_share_high[step]:.0%}]"
                if np.isfinite(split.noise_share_low[step])
                else "interval not known"
            )
            divergence = self.mutual_information.noise_share[step]
            lines.append(
                f"- {name}: {split.noise_share[step]:.0%} {interval} of the variance "
                f"of log-ratios, {divergence:.0%} of the divergence to the barycentre."
            )
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """Return one row per measure and step.

        Returns
        -------
        frame : pandas.DataFrame
            Columns ``measure``, ``step``, ``between``, ``within``, ``total``,
            ``noise_share``, ``noise_share_low``, ``noise_share_high``. Needs pandas.
        """
        pandas = import_pandas()
        columns = (
            "between",
            "within",
            "total",
            "noise_share",
            "noise_share_low",
            "noise_share_high",
        )
        return pandas.concat(
            [
                pandas.DataFrame(
                    {"measure": measure, "step": list(self.step_names)}
                    | {name: getattr(getattr(self, measure), name) for name in columns}
                )
                for measure in MEASURES
            ],
            ignore_index=True,
        )
