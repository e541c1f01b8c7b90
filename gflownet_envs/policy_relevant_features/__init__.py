"""Which linear functionals of log R a policy depends on, as a transformer."""

from gflownet_envs.policy_relevant_features.outcome_laws import (
    exact_outcome_distributions,
    sampled_outcome_distributions,
)
from gflownet_envs.policy_relevant_features.transformer import PolicyRelevantFeatures

__all__ = [
    "PolicyRelevantFeatures",
    "exact_outcome_distributions",
    "sampled_outcome_distributions",
]
