"""Decide by a surrogate under uncertain inputs, and learn from observed outcomes."""

from ._belief import InputBelief
from ._measure import measure_next
from ._policy import ThompsonPolicy
from ._value.value_of_information import value_of_information

__all__ = [
    "InputBelief",
    "ThompsonPolicy",
    "measure_next",
    "value_of_information",
]
