"""Can an attribution be trusted?"""

from ._back_to_reward import back_to_reward
from ._dependent_inputs import dependent_sobol_indices
from ._dependent_shapley import shapley_effects
from ._embeddings.compare import compare_embeddings
from ._embeddings.comparison import ComparedEmbedding, EmbeddingComparison
from ._embeddings.held_out import HeldOutInputs
from ._embeddings.search import EmbeddingSetting
from ._input_tests import input_tests
from ._model import sobol_indices
from ._original_space import original_space_indices
from ._result import Result, ResultRow
from ._training_noise import training_noise_share, variance_decomposition
from ._verdict import verdict

#: What :func:`verdict` returns, by its old name.
Verdict = Result

__all__ = [
    "ComparedEmbedding",
    "EmbeddingComparison",
    "EmbeddingSetting",
    "HeldOutInputs",
    "Result",
    "ResultRow",
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
