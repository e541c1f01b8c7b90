"""Sampling trajectories of all members, by environment functions or by tables."""

from gflownet_envs.sampling.rollouts import (
    ON_POLICY,
    Exploration,
    PlainSampler,
    ReplayBuffer,
    RolloutBatch,
    TableSampler,
    cumulative_policy,
    inverse_cdf_sample,
)

__all__ = [
    "ON_POLICY",
    "Exploration",
    "PlainSampler",
    "ReplayBuffer",
    "RolloutBatch",
    "TableSampler",
    "cumulative_policy",
    "inverse_cdf_sample",
]
