"""Networks with a leading member axis: a file and a name in `POLICIES` each."""

from gflownet_envs.policies.gru import StackedGRU
from gflownet_envs.policies.heads import HeadLayout, masked_log_policy
from gflownet_envs.policies.mlp import StackedMLP
from gflownet_envs.policies.network import PolicyNetwork, Walker, log_policy_in_states

__all__ = [
    "HeadLayout",
    "PolicyNetwork",
    "StackedGRU",
    "StackedMLP",
    "Walker",
    "log_policy_in_states",
    "masked_log_policy",
]
