"""Displays in scikit-learn's manner. Matplotlib is imported when one is drawn."""

from ._convergence import ConvergenceDisplay
from ._coverage import CoverageDisplay
from ._embedding import EmbeddingDisplay
from ._interaction import InteractionDisplay
from ._main_effects import MainEffectsDisplay
from ._policy_distribution import PolicyDistributionDisplay
from ._prism import PrismDisplay
from ._reward_effects import RewardEffectsDisplay
from ._sobol import SobolDisplay
from ._step_variance import StepVarianceDisplay

__all__ = [
    "ConvergenceDisplay",
    "CoverageDisplay",
    "EmbeddingDisplay",
    "InteractionDisplay",
    "MainEffectsDisplay",
    "PolicyDistributionDisplay",
    "PrismDisplay",
    "RewardEffectsDisplay",
    "SobolDisplay",
    "StepVarianceDisplay",
]
