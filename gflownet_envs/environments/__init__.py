"""State spaces: pure functions over integer states. The reward is never inside."""

from gflownet_envs.environments.base import Environment, ObjectTable
from gflownet_envs.environments.dag import DagEnvironment
from gflownet_envs.environments.sequences import (
    SequentialSelectionEnvironment,
    SymbolicExpressionEnvironment,
    TokenSequenceEnvironment,
    fragment_chain_environment,
)
from gflownet_envs.environments.walks import (
    GridEnvironment,
    HypergridEnvironment,
    PlaneWalkEnvironment,
)

__all__ = [
    "DagEnvironment",
    "Environment",
    "GridEnvironment",
    "HypergridEnvironment",
    "ObjectTable",
    "PlaneWalkEnvironment",
    "SequentialSelectionEnvironment",
    "SymbolicExpressionEnvironment",
    "TokenSequenceEnvironment",
    "fragment_chain_environment",
]
