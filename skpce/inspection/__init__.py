"""Can an attribution be trusted?"""

from ._any_estimator import ModelSobolIndices, sobol_indices
from ._dependent_shapley import ShapleyEffects, shapley_effects
from ._original_space import original_space_indices
from ._original_space_result import OriginalSpaceIndices
from ._training_noise import training_noise_share
from ._verdict import verdict
from ._verdict_result import StepVerdict, Verdict

__all__ = [
    "ModelSobolIndices",
    "OriginalSpaceIndices",
    "ShapleyEffects",
    "StepVerdict",
    "Verdict",
    "original_space_indices",
    "shapley_effects",
    "sobol_indices",
    "training_noise_share",
    "verdict",
]
