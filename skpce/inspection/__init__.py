"""Can an attribution be trusted?"""

from .._result import Result
from ._back_to_reward import back_to_reward
from ._dependent_inputs import dependent_sobol_indices
from ._ensembles.compare_embeddings import compare_embeddings
from ._ensembles.training_noise import variance_decomposition
from ._ensembles.verdict import verdict
from ._input_tests import input_tests
from ._model import shapley_effects, sobol_indices
from ._modes import modes_test
from ._parts.effects import part_effects
from ._parts.entries import part_entries
from ._parts.table import parts_of_table

__all__ = [
    "Result",
    "back_to_reward",
    "compare_embeddings",
    "dependent_sobol_indices",
    "input_tests",
    "modes_test",
    "part_effects",
    "part_entries",
    "parts_of_table",
    "shapley_effects",
    "sobol_indices",
    "variance_decomposition",
    "verdict",
]
