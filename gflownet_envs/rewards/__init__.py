"""Uncertain rewards: log R of objects, one row a member."""

from gflownet_envs.rewards.closed_form import (
    gaussian_bump_rewards,
    hypergrid_mode_rewards,
    log_mean_bump_reward,
    mode_of_object,
    quadrant_shift_rewards,
    wiener_regression_rewards,
)
from gflownet_envs.rewards.graph_scores import (
    bge_scores,
    sample_covariances,
    subsample_rows,
)
from gflownet_envs.rewards.molecules import (
    TOY_FRAGMENTS,
    ChainProxyReward,
    chain_features,
    descriptor_score,
    molecule_log_reward,
    reference_chains,
    toy_descriptors,
)
from gflownet_envs.rewards.problems import (
    arithmetic_environment,
    arithmetic_problems,
    strategy_environment,
    strategy_problems,
    strategy_quality,
)
from gflownet_envs.rewards.process_reward import (
    ProcessReward,
    ProcessRewardSpec,
    train_process_reward,
)
from gflownet_envs.rewards.proxies import (
    FeatureProxies,
    YieldProxies,
    train_feature_proxies,
    train_yield_proxies,
    yield_log_reward,
)
from gflownet_envs.rewards.proxy_training import PAPER_PROXY, ProxySpec

__all__ = [
    "hypergrid_mode_rewards",
    "mode_of_object",
    "quadrant_shift_rewards",
    "PAPER_PROXY",
    "ProxySpec",
    "YieldProxies",
    "train_yield_proxies",
    "yield_log_reward",
    "gaussian_bump_rewards",
    "log_mean_bump_reward",
    "wiener_regression_rewards",
    "ProcessReward",
    "ProcessRewardSpec",
    "train_process_reward",
    "arithmetic_environment",
    "arithmetic_problems",
    "strategy_environment",
    "strategy_problems",
    "strategy_quality",
    "bge_scores",
    "subsample_rows",
    "sample_covariances",
    "FeatureProxies",
    "train_feature_proxies",
    "ChainProxyReward",
    "chain_features",
    "descriptor_score",
    "reference_chains",
    "toy_descriptors",
    "TOY_FRAGMENTS",
    "molecule_log_reward",
]
