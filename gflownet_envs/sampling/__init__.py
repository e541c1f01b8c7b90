"""Sampling trajectories of all members, by environment functions or by tables."""

from gflownet_envs.sampling.batch import RolloutBatch
from gflownet_envs.sampling.exploration import (
    ON_POLICY,
    Exploration,
    cumulative_policy,
    inverse_cdf_sample,
)
from gflownet_envs.sampling.plain import PlainSampler
from gflownet_envs.sampling.replay import ReplayBuffer
from gflownet_envs.sampling.tables import TableSampler

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
