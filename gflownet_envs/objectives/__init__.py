"""Training objectives: a file and a row of `OBJECTIVES` each."""

from collections.abc import Mapping
from types import MappingProxyType

from gflownet_envs.objectives.detailed_balance import (
    DETAILED_BALANCE,
    detailed_balance_loss,
)
from gflownet_envs.objectives.objective import BalanceTerms, Objective
from gflownet_envs.objectives.sub_trajectory_balance import (
    SUB_TRAJECTORY_BALANCE,
    sub_trajectory_balance_loss,
)
from gflownet_envs.objectives.trajectory_balance import (
    TRAJECTORY_BALANCE,
    trajectory_balance_loss,
)
from gflownet_envs.objectives.vargrad import VARGRAD, log_z_estimates, vargrad_loss

OBJECTIVES: Mapping[str, Objective] = MappingProxyType(
    {
        objective.name: objective
        for objective in (
            TRAJECTORY_BALANCE,
            SUB_TRAJECTORY_BALANCE,
            DETAILED_BALANCE,
            VARGRAD,
        )
    }
)

__all__ = [
    "OBJECTIVES",
    "BalanceTerms",
    "Objective",
    "detailed_balance_loss",
    "log_z_estimates",
    "sub_trajectory_balance_loss",
    "trajectory_balance_loss",
    "vargrad_loss",
]
