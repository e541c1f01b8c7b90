"""Act on what a surrogate knows, and learn from what is observed."""

from ._belief import DegenerateBeliefWarning, InputBelief
from ._policy import Decision, ThompsonPolicy

__all__ = ["Decision", "DegenerateBeliefWarning", "InputBelief", "ThompsonPolicy"]
