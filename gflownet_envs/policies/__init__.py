"""Networks with a leading member axis."""

from gflownet_envs.policies.mlp import StackedMLP, masked_log_policy

__all__ = ["StackedMLP", "masked_log_policy"]
