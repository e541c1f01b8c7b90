"""Training objectives: a file and a row of `OBJECTIVES` each."""

from collections.abc import Mapping
from types import MappingProxyType

from gflownet_envs.objectives.objective import Objective
from gflownet_envs.objectives.trajectory_balance import (
    TRAJECTORY_BALANCE,
    trajectory_balance_loss,
)
from gflownet_envs.objectives.vargrad import VARGRAD, log_z_estimates, vargrad_loss

OBJECTIVES: Mapping[str, Objective] = MappingProxyType(
    {objective.name: objective for objective in (TRAJECTORY_BALANCE, VARGRAD)}
)

__all__ = [
    "OBJECTIVES",
    "Objective",
    "log_z_estimates",
    "trajectory_balance_loss",
    "vargrad_loss",
]
