"""Which input drives which output, with an error rate."""

from ._answer import Answer, explain
from ._cautions import Caution
from ._design import Design
from ._findings import State

__all__ = ["Answer", "Caution", "Design", "State", "explain"]
