"""Can an attribution be trusted?"""

from .._dependence.tests import HeldOutInputs, InputTests, input_tests
from ._back_to_reward import RewardEffects, back_to_reward
from ._compare_embeddings import (
    ComparedEmbedding,
    EmbeddingComparison,
    compare_embeddings,
)
from ._dependent_inputs import DependentSobolIndices, dependent_sobol_indices
from ._dependent_shapley import ShapleyEffects, shapley_effects
from ._embedding_search import EmbeddingSetting
from ._model import ModelSobolIndices, sobol_indices
from ._original_space import OriginalSpaceIndices, original_space_indices
from ._result import StepVerdict, Verdict
from ._training_noise import (
    VarianceDecomposition,
    VarianceSplit,
    training_noise_share,
    variance_decomposition,
)
from ._verdict import verdict

__all__ = [
    "ComparedEmbedding",
    "DependentSobolIndices",
    "EmbeddingComparison",
    "EmbeddingSetting",
    "HeldOutInputs",
    "InputTests",
    "ModelSobolIndices",
    "OriginalSpaceIndices",
    "RewardEffects",
    "ShapleyEffects",
    "StepVerdict",
    "VarianceDecomposition",
    "VarianceSplit",
    "Verdict",
    "back_to_reward",
    "compare_embeddings",
    "dependent_sobol_indices",
    "input_tests",
    "original_space_indices",
    "shapley_effects",
    "sobol_indices",
    "training_noise_share",
    "variance_decomposition",
    "verdict",
]
