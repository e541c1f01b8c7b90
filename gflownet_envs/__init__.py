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

import sys
from importlib.util import find_spec
from typing import Any

from gflownet_envs.extras import import_extra, missing

_NAMES_OF_MODULE = {
    "environments": (
        "Environment",
        "GridEnvironment",
        "SequentialSelectionEnvironment",
        "HypergridEnvironment",
        "TokenSequenceEnvironment",
        "DagEnvironment",
        "PlaneWalkEnvironment",
        "SymbolicExpressionEnvironment",
        "fragment_chain_environment",
        "ObjectTable",
    ),
    "environments.base": ("StateGraph",),
    "exact": (
        "ExactSolution",
        "solve_exact",
        "terminating_distribution",
        "distance_to_exact",
        "Trajectory",
        "greedy_trajectory",
        "mean_policy",
        "policies_along",
        "policies_everywhere",
        "trajectory_of_actions",
        "GraphFlows",
        "edge_marginals",
        "WholeSpace",
    ),
    "random_streams": ("MemberStream",),
    "policies": ("StackedMLP", "StackedGRU"),
    "objectives": ("OBJECTIVES",),
    "training": (
        "PAPER_TRAINING",
        "TrainingSpec",
        "TrainedEnsemble",
        "NotConvergedWarning",
        "train_ensemble",
    ),
    "rewards.graph_scores": (
        "LocalScoreReward",
        "bge_scores",
        "subsample_rows",
        "sample_covariances",
    ),
    "rewards.source": (
        "RewardSource",
        "RewardTable",
        "FunctionReward",
        "log_reward_table",
        "mean_log_reward",
        "mean_reward",
        "quadrant_shift_rewards",
        "hypergrid_mode_rewards",
        "mode_of_object",
        "gaussian_bump_rewards",
        "log_mean_bump_reward",
        "wiener_regression_rewards",
    ),
    "rewards.proxies": (
        "PAPER_PROXY",
        "ProxySpec",
        "FeatureProxies",
        "train_feature_proxies",
    ),
    "rewards.process_reward": (
        "ProcessReward",
        "ProcessRewardSpec",
        "train_process_reward",
    ),
    "rewards.problems": (
        "arithmetic_environment",
        "arithmetic_problems",
        "strategy_environment",
        "strategy_problems",
        "strategy_quality",
    ),
    "rewards.molecules": (
        "ChainProxyReward",
        "chain_features",
        "descriptor_score",
        "reference_chains",
        "toy_descriptors",
        "molecule_log_reward",
    ),
    "rewards.gaussian_process": (
        "gaussian_process_modes",
        "level_descriptors",
        "level_features",
        "ComponentRBF",
    ),
    "policy_relevant_features": ("PolicyRelevantFeatures",),
    "chemistry": (
        "neutral_links",
        "assemble_chains",
        "drug_likeness",
        "molecular_descriptors",
        "morgan_fingerprints",
        "nearest_similarities",
    ),
    "testing": ("check_environment", "environment_checks"),
    "policy_dataset": ("PolicyDataset",),
    "with_torchgfn": (
        "from_torchgfn",
        "to_torchgfn",
        "torchgfn_policy",
        "ListedEnvironment",
    ),
    "with_gymnasium": ("to_gymnasium",),
    "datasets": (
        "fetch_buchwald_hartwig",
        "fetch_sachs",
        "fetch_fragments",
        "fetch_seh",
        "fetch_learning_curves",
        "fetch_shakespeare",
        "make_linear_gaussian_data",
    ),
}
_MODULE_OF_NAME = {
    name: module for module, names in _NAMES_OF_MODULE.items() for name in names
}

__all__ = [*_MODULE_OF_NAME]

#: Modules that are imported without torch; `datasets` with all below it.
_LIGHT = (
    "datasets",
    "experiments",
    "experiments.command_line",
    "extras",
    "policy_dataset",
    "random_streams",
    "records",
    "storage",
)


class _NeedsTorch:
    """Where torch is missing, the import of a module that needs it names the extra."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        top, _, own = name.partition(".")
        light = own in _LIGHT or own.startswith("datasets.")
        if top == __name__ and not light and find_spec("torch") is None:
            raise ModuleNotFoundError(missing(["torch"], name), name="torch")


if find_spec("torch") is None:
    sys.meta_path.insert(0, _NeedsTorch)


def __getattr__(name: str) -> Any:
    module = _MODULE_OF_NAME.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    owner = import_extra(f"{__name__}.{module}", f"{__name__}.{name}")
    value = getattr(owner, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULE_OF_NAME])
