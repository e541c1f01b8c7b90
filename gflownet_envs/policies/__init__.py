"""Networks with a leading member axis: a file and a name in `POLICIES` each."""

from gflownet_envs.policies.gru import StackedGRU
from gflownet_envs.policies.networks import (
    HeadLayout,
    PolicyNetwork,
    StackedMLP,
    Walker,
    log_policy_in_states,
    masked_log_policy,
)

__all__ = [
    "HeadLayout",
    "PolicyNetwork",
    "StackedGRU",
    "StackedMLP",
    "Walker",
    "log_policy_in_states",
    "masked_log_policy",
]
