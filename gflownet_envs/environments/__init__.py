"""State spaces: pure functions over integer states. The reward is never inside."""

from gflownet_envs.environments.base import Environment
from gflownet_envs.environments.grid import GridEnvironment
from gflownet_envs.environments.sequential_selection import (
    SequentialSelectionEnvironment,
)

__all__ = ["Environment", "GridEnvironment", "SequentialSelectionEnvironment"]
