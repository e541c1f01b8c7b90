"""Uncertain rewards: log R of objects, one row a member."""

from gflownet_envs.rewards.arithmetic_problems import (
    arithmetic_environment,
    arithmetic_problems,
)
from gflownet_envs.rewards.bge_score import (
    bge_scores,
    sample_covariances,
    subsample_rows,
)
from gflownet_envs.rewards.feature_proxy import FeatureProxies, train_feature_proxies
from gflownet_envs.rewards.gaussian_bumps import (
    gaussian_bump_rewards,
    log_mean_bump_reward,
)
from gflownet_envs.rewards.hypergrid_modes import hypergrid_mode_rewards, mode_of_object
from gflownet_envs.rewards.molecule_scores import molecule_log_reward
from gflownet_envs.rewards.process_reward import (
    ProcessReward,
    ProcessRewardSpec,
    train_process_reward,
)
from gflownet_envs.rewards.proxy_fit import ProxySpec
from gflownet_envs.rewards.quadrant_shifts import quadrant_shift_rewards
from gflownet_envs.rewards.strategy_reward import (
    strategy_environment,
    strategy_problems,
    strategy_quality,
)
from gflownet_envs.rewards.toy_fragments import (
    TOY_FRAGMENTS,
    ChainProxyReward,
    chain_features,
    descriptor_score,
    reference_chains,
    toy_descriptors,
)
from gflownet_envs.rewards.wiener_regression import wiener_regression_rewards
from gflownet_envs.rewards.yield_proxy import (
    PAPER_PROXY,
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
