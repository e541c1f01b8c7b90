"""How much of what trained policies differ by is training noise, step by step."""

from __future__ import annotations

import numpy as np

from gflownet_envs.experiments.task import NoiseAgainstExact, TrainingNoise
from gflownet_envs.policy_dataset import PolicyDataset
from skpce import LogRatioTransformer
from skpce.inspection import VarianceSplit, training_noise_share, variance_decomposition


def has_replicates(dataset: PolicyDataset) -> bool:
    """Whether several members share a reward."""
    return len(np.unique(dataset.rewards)) < dataset.n_members


def training_noise(
    trained: PolicyDataset,
    exact: PolicyDataset | None,
    control: np.ndarray | None = None,  # shape: (n_control, ΣK)
) -> TrainingNoise:
    """Compare the trained members with the exact policies of their rewards.

    Without exact policies, only replicates and the control tell the noise.

    Raises
    ------
    ValueError
        If a reward of the trained members was not solved.
    """
    return TrainingNoise(
        exact=None if exact is None else noise_against_exact(trained, exact),
        replicates=_split(trained, reward=trained.rewards)
        if has_replicates(trained)
        else None,
        control=None if control is None else _split(trained, control=control),
    )


def noise_against_exact(
    trained: PolicyDataset,
    exact: PolicyDataset,
) -> NoiseAgainstExact:
    """Compare each trained member with the exact policy of its reward."""
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
    blocks = [(trained.y[:, c], difference[:, c]) for c in trained.step_slices]
    return NoiseAgainstExact(
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
    )


def _split(trained: PolicyDataset, **known: np.ndarray) -> VarianceSplit:
    """Split the variance of the log-ratios without looking at exact policies."""
    return variance_decomposition(
        trained.y, steps=trained.steps, mask=trained.mask, **known
    ).aitchison_variance


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
