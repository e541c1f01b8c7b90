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
    replicate_share : ndarray of shape (n_steps,) or None
        The share of the variance that lies within rewards, from replicates alone.
    control_share : ndarray of shape (n_steps,) or None
        Variance of members that were all trained on one reward, over that of the
        trained ones.
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
    replicate_share: np.ndarray | None = None
    control_share: np.ndarray | None = None


def training_noise(
    trained: PolicyDataset,
    exact: PolicyDataset,
    control: np.ndarray | None = None,  # shape: (n_control, ΣK)
) -> TrainingNoise:
    """Compare the trained members with the exact policies of their rewards.

    Raises
    ------
    ValueError
        If a reward of the trained members was not solved.
    """
    missing = np.setdiff1d(trained.rewards, exact.rewards)
    if missing.size:
        raise ValueError(
            f"exact must have all rewards of trained, and lacks {missing.tolist()}"
        )
    place = {int(reward): row for row, reward in enumerate(exact.rewards)}
    exact_y = exact.y[[place[int(reward)] for reward in trained.rewards]]
    difference = trained.y - exact_y
    shape = {"steps": trained.steps, "mask": trained.mask}
    share = training_noise_share(trained.y, exact=exact_y, **shape)
    replicated = len(np.unique(trained.rewards)) < trained.n_members
    blocks = [(trained.y[:, c], difference[:, c]) for c in trained.step_slices]
    return TrainingNoise(
        log_ratio_share=share,
        probability_share=np.array(
            [
                np.nan if np.isnan(s) else d.var(axis=0).sum() / y.var(axis=0).sum()
                for s, (y, d) in zip(share, blocks, strict=True)
            ]
        ),
        log_ratio_bias=_log_ratio_bias(trained, exact_y),
        total_variation=np.array(
            [
                np.nan if np.isnan(s) else 0.5 * np.abs(d).sum(axis=1).mean()
                for s, (_, d) in zip(share, blocks, strict=True)
            ]
        ),
        replicate_share=training_noise_share(trained.y, reward=trained.rewards, **shape)
        if replicated
        else None,
        control_share=None
        if control is None
        else training_noise_share(trained.y, control=control, **shape),
    )


def _log_ratio_bias(
    trained: PolicyDataset,
    exact: np.ndarray,  # shape: (n_members, ΣK)
) -> np.ndarray:
    clr = LogRatioTransformer("clr", steps=trained.steps, mask=trained.mask)
    values = clr.fit_transform(trained.y)
    mean_difference = (values - clr.transform(exact)).mean(axis=0)
    bias = np.full(trained.n_steps, np.nan)
    for step in np.unique(clr.coordinate_steps_):
        columns = clr.coordinate_steps_ == step
        variance = values[:, columns].var(axis=0).sum()
        bias[step] = np.square(mean_difference[columns]).sum() / variance
    return bias
