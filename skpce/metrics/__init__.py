"""Scores of predicted policies and their intervals, and the fragility of steps."""

from ._coverage import (
    coverage_interval,
    crps_score,
)
from ._fragility import (
    excess_fragility,
    policy_fragility,
    total_variation_distance,
)
from ._scores import (
    aitchison_scorer,
    neg_kl_divergence_scorer,
)

__all__ = [
    "aitchison_scorer",
    "coverage_interval",
    "crps_score",
    "excess_fragility",
    "neg_kl_divergence_scorer",
    "policy_fragility",
    "total_variation_distance",
]
