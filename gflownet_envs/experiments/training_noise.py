"""How far trained policies are from exact ones, step by step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gflownet_envs.policy_dataset import PolicyDataset
from skpce import LogRatioTransformer
from skpce.inspection import training_noise_share


@dataclass(frozen=True)
class TrainingNoise:
    """Trained against exact policies of the same members, per step.

    Log-ratios weigh every action alike, however rare: a policy that is close in total
    variation can be far in its log-ratios. NaN for a step without choice.

    Attributes
    ----------
    log_ratio_share : ndarray of shape (n_steps,)
        Variance of the difference of the centred log-ratios over the variance of the
        trained ones: what the verdict uses.
    probability_share : ndarray of shape (n_steps,)
        The same for the probabilities.
    log_ratio_bias : ndarray of shape (n_steps,)
        Squared mean difference of the centred log-ratios over the same variance; not
        noise, and no part of the share.
    total_variation : ndarray of shape (n_steps,)
        Mean total variation distance.
    """

    log_ratio_share: np.ndarray
    probability_share: np.ndarray
    log_ratio_bias: np.ndarray
    total_variation: np.ndarray


def training_noise(trained: PolicyDataset, exact: PolicyDataset) -> TrainingNoise:
    """Compare the trained members with their exact policies.

    Raises
    ------
    ValueError
        If the data sets are not of the same members.
    """
    if not np.array_equal(trained.members, exact.members):
        raise ValueError(
            f"trained has the members {trained.members.tolist()}, exact "
            f"{exact.members.tolist()}; they must be the same"
        )
    difference = trained.y - exact.y
    share = training_noise_share(
        trained.y, exact=exact.y, steps=trained.steps, mask=trained.mask
    )
    blocks = [(trained.y[:, c], difference[:, c]) for c in trained.step_slices]
    return TrainingNoise(
        log_ratio_share=share,
        probability_share=np.array(
            [
                np.nan if np.isnan(s) else d.var(axis=0).sum() / y.var(axis=0).sum()
                for s, (y, d) in zip(share, blocks, strict=True)
            ]
        ),
        log_ratio_bias=_log_ratio_bias(trained, exact),
        total_variation=np.array(
            [
                np.nan if np.isnan(s) else 0.5 * np.abs(d).sum(axis=1).mean()
                for s, (_, d) in zip(share, blocks, strict=True)
            ]
        ),
    )


def _log_ratio_bias(trained: PolicyDataset, exact: PolicyDataset) -> np.ndarray:
    clr = LogRatioTransformer("clr", steps=trained.steps, mask=trained.mask)
    values = clr.fit_transform(trained.y)
    mean_difference = (values - clr.transform(exact.y)).mean(axis=0)
    bias = np.full(trained.n_steps, np.nan)
    for step in np.unique(clr.coordinate_steps_):
        columns = clr.coordinate_steps_ == step
        variance = values[:, columns].var(axis=0).sum()
        bias[step] = np.square(mean_difference[columns]).sum() / variance
    return bias
