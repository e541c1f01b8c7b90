"""Can an attribution be trusted?"""

from ._training_noise import training_noise_share
from ._verdict import verdict
from ._verdict_result import StepVerdict, Verdict, format_cell

__all__ = ["StepVerdict", "Verdict", "format_cell", "training_noise_share", "verdict"]
