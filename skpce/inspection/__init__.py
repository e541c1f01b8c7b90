"""Can an attribution be trusted?"""

from ._training_noise import training_noise_share
from ._verdict import verdict
from ._verdict_result import StepVerdict, Verdict

__all__ = ["StepVerdict", "Verdict", "training_noise_share", "verdict"]
