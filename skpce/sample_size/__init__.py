"""How many members does an attribution need?

The paper's Theorem A by name, bounds that are proved, and the number of members for
which a proved bound would be small enough. They inform; nothing here vetoes a fit.
"""

from ._required import required_ensemble_size

__all__ = [
    "required_ensemble_size",
]
