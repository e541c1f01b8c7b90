"""Which input drives which output, with an error rate."""

from ._answer import Caution, State
from ._design import Design
from ._explain import explain
from ._result import Answer

__all__ = ["Answer", "Caution", "Design", "State", "explain"]
