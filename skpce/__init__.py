"""Polynomial chaos estimators that say when an attribution is not supported."""

from ._features import PolynomialChaosFeatures
from ._input_distributions import InputOutsideSupportWarning
from ._regressor import PolynomialChaosRegressor
from ._version import __version__

__all__ = [
    "InputOutsideSupportWarning",
    "PolynomialChaosFeatures",
    "PolynomialChaosRegressor",
    "__version__",
]
