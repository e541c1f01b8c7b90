"""Which input drives which output, with an error rate."""

from ._answer import Answer, explain
from ._design import Design
from ._findings import Caution, State

__all__ = ["Answer", "Caution", "Design", "State", "explain"]
