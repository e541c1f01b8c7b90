"""How good are predicted policies and their intervals?"""

from ._calibration import (
    crps_score,
    interval_width_score,
    joint_coverage_score,
    marginal_coverage_score,
)

__all__ = [
    "crps_score",
    "interval_width_score",
    "joint_coverage_score",
    "marginal_coverage_score",
]
