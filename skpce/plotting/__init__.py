"""Displays in scikit-learn's manner; matplotlib is imported when one is drawn."""

from ._conditions import ConvergenceDisplay, EmbeddingDisplay
from ._effects import InteractionDisplay, MainEffectsDisplay
from ._indices import SobolDisplay, StepVarianceDisplay
from ._members import CoverageDisplay, PolicyDistributionDisplay
from ._part_effects import PartEffectsDisplay
from ._reward_effects import RewardEffectsDisplay
from ._value_of_information import ValueOfInformationDisplay

__all__ = [
    "ConvergenceDisplay",
    "CoverageDisplay",
    "EmbeddingDisplay",
    "InteractionDisplay",
    "MainEffectsDisplay",
    "PartEffectsDisplay",
    "PolicyDistributionDisplay",
    "RewardEffectsDisplay",
    "SobolDisplay",
    "StepVarianceDisplay",
    "ValueOfInformationDisplay",
]
