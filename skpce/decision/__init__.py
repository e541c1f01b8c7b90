"""Decide by a surrogate under uncertain inputs, and learn from observed outcomes."""

from ._belief import DegenerateBeliefWarning, InputBelief
from ._policy import Decision, ThompsonPolicy

__all__ = ["Decision", "DegenerateBeliefWarning", "InputBelief", "ThompsonPolicy"]
