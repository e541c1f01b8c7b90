"""Can an attribution be trusted?"""

from .._dependence.tests import InputTests, input_tests
from ._any_estimator import ModelSobolIndices, sobol_indices
from ._back_to_reward import back_to_reward
from ._back_to_reward_result import RewardEffects
from ._compare_embeddings import compare_embeddings
from ._compare_embeddings_candidates import EmbeddingSetting
from ._compare_embeddings_inputs import HeldOutInputs
from ._compare_embeddings_result import ComparedEmbedding, EmbeddingComparison
from ._dependent_inputs import dependent_sobol_indices
from ._dependent_inputs_result import DependentSobolIndices
from ._dependent_shapley import ShapleyEffects, shapley_effects
from ._original_space import original_space_indices
from ._original_space_result import OriginalSpaceIndices
from ._training_noise import training_noise_share
from ._variance_decomposition import variance_decomposition
from ._variance_decomposition_result import VarianceDecomposition, VarianceSplit
from ._verdict import verdict
from ._verdict_result import StepVerdict, Verdict

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
