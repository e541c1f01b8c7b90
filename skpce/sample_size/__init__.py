"""How many members does an attribution need?

From a bound that is proved, the number of members with which it would be small enough.
It informs; nothing here vetoes a fit.
"""

from ._required import required_ensemble_size

__all__ = ["required_ensemble_size"]
