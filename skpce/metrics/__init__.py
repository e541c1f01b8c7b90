"""How good are predicted policies and their intervals; how fragile is a step?"""

from ._calibration import (
    crps_score,
    interval_width_score,
    joint_coverage_score,
    marginal_coverage_score,
)
from ._coverage_interval import CoverageInterval, coverage_interval
from ._distances import (
    aitchison_distance,
    jensen_shannon_divergence,
    total_variation_distance,
)
from ._energy import energy_score
from ._ensemble_tests import KSComparison, ks_indistinguishable_fraction
from ._fragility import PolicyFragility, policy_fragility
from ._pit import PITUniformity, pit_uniformity, pit_values
from ._scorers import (
    aitchison_loss,
    aitchison_scorer,
    kl_divergence_loss,
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
