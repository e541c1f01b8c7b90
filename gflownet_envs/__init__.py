"""GFlowNets under an uncertain reward: environments, ensembles, exact solutions.

The names below are loaded on first use (PEP 562), so that light modules such as
`gflownet_envs.datasets` and `gflownet_envs.policy_dataset` do not import torch.

Examples
--------
>>> import gflownet_envs
>>> env = gflownet_envs.GridEnvironment(size=3, max_moves=2)
>>> env.n_objects
6
"""

from importlib import import_module
from typing import Any

_MODULE_OF_NAME = {
    "Environment": "environments.base",
    "GridEnvironment": "environments.grid",
    "SequentialSelectionEnvironment": "environments.sequential_selection",
    "HypergridEnvironment": "environments.hypergrid",
    "TokenSequenceEnvironment": "environments.token_sequence",
    "DagEnvironment": "environments.dag",
    "StateGraph": "state_graph",
    "ExactSolution": "exact",
    "solve_exact": "exact",
    "terminating_distribution": "exact",
    "distance_to_exact": "exact",
    "MemberStream": "random_streams",
    "StackedMLP": "policies.mlp",
    "StackedGRU": "policies.gru",
    "OBJECTIVES": "objectives",
    "PAPER_TRAINING": "training",
    "TrainingSpec": "training",
    "TrainedEnsemble": "trained_ensemble",
    "NotConvergedWarning": "convergence",
    "RewardSource": "rewards.source",
    "RewardTable": "rewards.source",
    "FunctionReward": "rewards.source",
    "LocalScoreReward": "rewards.local_scores",
    "train_ensemble": "training",
    "Trajectory": "trajectories",
    "greedy_trajectory": "trajectories",
    "mean_log_reward": "trajectories",
    "mean_policy": "trajectories",
    "policies_along": "trajectories",
    "policies_everywhere": "trajectories",
    "trajectory_of_actions": "trajectories",
    "quadrant_shift_rewards": "rewards.quadrant_shifts",
    "hypergrid_mode_rewards": "rewards.hypergrid_modes",
    "mode_of_object": "rewards.hypergrid_modes",
    "PAPER_PROXY": "rewards.yield_proxy",
    "ProxySpec": "rewards.yield_proxy",
    "YieldProxies": "rewards.yield_proxy",
    "train_yield_proxies": "rewards.yield_proxy",
    "yield_log_reward": "rewards.yield_proxy",
    "check_environment": "testing",
    "environment_checks": "testing",
    "PolicyDataset": "policy_dataset",
    "fetch_buchwald_hartwig": "datasets",
}

__all__ = [
    "Environment",
    "GridEnvironment",
    "SequentialSelectionEnvironment",
    "HypergridEnvironment",
    "TokenSequenceEnvironment",
    "DagEnvironment",
    "StateGraph",
    "ExactSolution",
    "solve_exact",
    "terminating_distribution",
    "distance_to_exact",
    "MemberStream",
    "StackedMLP",
    "StackedGRU",
    "OBJECTIVES",
    "PAPER_TRAINING",
    "TrainingSpec",
    "TrainedEnsemble",
    "NotConvergedWarning",
    "RewardSource",
    "RewardTable",
    "FunctionReward",
    "LocalScoreReward",
    "train_ensemble",
    "Trajectory",
    "greedy_trajectory",
    "mean_log_reward",
    "mean_policy",
    "policies_along",
    "policies_everywhere",
    "trajectory_of_actions",
    "quadrant_shift_rewards",
    "hypergrid_mode_rewards",
    "mode_of_object",
    "PAPER_PROXY",
    "ProxySpec",
    "YieldProxies",
    "train_yield_proxies",
    "yield_log_reward",
    "check_environment",
    "environment_checks",
    "PolicyDataset",
    "fetch_buchwald_hartwig",
]


def __getattr__(name: str) -> Any:
    module = _MODULE_OF_NAME.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULE_OF_NAME])
