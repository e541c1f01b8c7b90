"""Scores of predicted policies and their intervals, and the fragility of steps."""

from ._coverage import (
    CoverageInterval,
    PITUniformity,
    coverage_interval,
    crps_score,
    interval_width_score,
    joint_coverage_score,
    marginal_coverage_score,
    pit_uniformity,
    pit_values,
)
from ._equal_noise import ExcessFragility, excess_fragility
from ._fragility import (
    PolicyFragility,
    aitchison_distance,
    jensen_shannon_divergence,
    policy_fragility,
    total_variation_distance,
)
from ._scores import (
    KSComparison,
    aitchison_loss,
    aitchison_scorer,
    energy_score,
    kl_divergence_loss,
    ks_indistinguishable_fraction,
    neg_kl_divergence_scorer,
    neg_policy_mae_scorer,
    policy_mean_absolute_error,
)

__all__ = [
    "crps_score",
    "energy_score",
    "interval_width_score",
    "joint_coverage_score",
    "marginal_coverage_score",
    "coverage_interval",
    "CoverageInterval",
    "pit_values",
    "pit_uniformity",
    "PITUniformity",
    "ks_indistinguishable_fraction",
    "KSComparison",
    "policy_fragility",
    "PolicyFragility",
    "excess_fragility",
    "ExcessFragility",
    "total_variation_distance",
    "jensen_shannon_divergence",
    "aitchison_distance",
    "kl_divergence_loss",
    "policy_mean_absolute_error",
    "aitchison_loss",
    "neg_kl_divergence_scorer",
    "neg_policy_mae_scorer",
    "aitchison_scorer",
]
