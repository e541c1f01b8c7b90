"""Uncertain rewards: tables of log R with one row a member."""

from gflownet_envs.rewards.hypergrid_modes import (
    hypergrid_mode_rewards,
    mode_of_object,
)
from gflownet_envs.rewards.quadrant_shifts import quadrant_shift_rewards
from gflownet_envs.rewards.yield_proxy import (
    PAPER_PROXY,
    ProxySpec,
    YieldProxies,
    train_yield_proxies,
    yield_log_reward,
)

__all__ = [
    "hypergrid_mode_rewards",
    "mode_of_object",
    "quadrant_shift_rewards",
    "PAPER_PROXY",
    "ProxySpec",
    "YieldProxies",
    "train_yield_proxies",
    "yield_log_reward",
]
