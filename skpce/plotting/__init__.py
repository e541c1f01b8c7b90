"""Displays in scikit-learn's manner. Matplotlib is imported when one is drawn."""

from ._coverage import CoverageDisplay
from ._policy_distribution import PolicyDistributionDisplay
from ._sobol import SobolDisplay

__all__ = ["CoverageDisplay", "PolicyDistributionDisplay", "SobolDisplay"]
