"""Act on what a surrogate knows, and learn from what is observed."""

from ._belief import InputBelief
from ._choice import Decision
from ._importance import DegenerateBeliefWarning
from ._policy import ThompsonPolicy

__all__ = ["Decision", "DegenerateBeliefWarning", "InputBelief", "ThompsonPolicy"]
