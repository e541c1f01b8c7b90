"""Polynomial chaos estimators that say when an attribution is not supported."""

from ._composition import ClosureWarning
from ._features import PolynomialChaosFeatures
from ._input_laws import InputOutsideSupportWarning
from ._log_ratio import LogRatioTransformer
from ._regressor import PolynomialChaosRegressor
from ._steps import pack_steps, unpack_steps
from ._surrogate import CompositionalPCESurrogate
from ._version import __version__

__all__ = [
    "ClosureWarning",
    "CompositionalPCESurrogate",
    "InputOutsideSupportWarning",
    "LogRatioTransformer",
    "PolynomialChaosFeatures",
    "PolynomialChaosRegressor",
    "__version__",
    "pack_steps",
    "unpack_steps",
]
