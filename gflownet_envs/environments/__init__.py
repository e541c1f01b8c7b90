"""State spaces: pure functions over integer states. The reward is never inside."""

from gflownet_envs.environments.base import Environment
from gflownet_envs.environments.dag import DagEnvironment
from gflownet_envs.environments.fragments import fragment_chain_environment
from gflownet_envs.environments.grid import GridEnvironment
from gflownet_envs.environments.hypergrid import HypergridEnvironment
from gflownet_envs.environments.plane_walk import PlaneWalkEnvironment
from gflownet_envs.environments.sequential_selection import (
    SequentialSelectionEnvironment,
)
from gflownet_envs.environments.symbolic_expression import SymbolicExpressionEnvironment
from gflownet_envs.environments.token_sequence import TokenSequenceEnvironment

__all__ = [
    "DagEnvironment",
    "Environment",
    "GridEnvironment",
    "HypergridEnvironment",
    "PlaneWalkEnvironment",
    "SequentialSelectionEnvironment",
    "SymbolicExpressionEnvironment",
    "TokenSequenceEnvironment",
    "fragment_chain_environment",
]
