"""How many members does an attribution need?

The paper's Theorem A by name, bounds that are proved, and the number of members for
which a proved bound would be small enough. They inform; nothing here vetoes a fit.
"""

from ._bounds import paper_ensemble_size
from ._required import required_ensemble_size

__all__ = [
    "paper_ensemble_size",
    "required_ensemble_size",
]
