"""Polynomial chaos estimators that say when an attribution is not supported."""

from ._composition import ClosureWarning
from ._diagnostics import SurrogateDiagnostics
from ._features import PolynomialChaosFeatures
from ._input_laws import InputOutsideSupportWarning
from ._log_ratio import LogRatioTransformer
from ._multi_index import build_multi_indices, count_terms
from ._predictive import PredictionInterval
from ._regressor import ConstantTargetWarning, PolynomialChaosRegressor
from ._regressor_cv import PolynomialChaosRegressorCV
from ._steps import pack_steps, unpack_steps
from ._surrogate import CompositionalPCESurrogate
from ._surrogate_report import report
from ._version import __version__

__all__ = [
    "ClosureWarning",
    "CompositionalPCESurrogate",
    "ConstantTargetWarning",
    "InputOutsideSupportWarning",
    "LogRatioTransformer",
    "PolynomialChaosFeatures",
    "PolynomialChaosRegressor",
    "PolynomialChaosRegressorCV",
    "PredictionInterval",
    "SurrogateDiagnostics",
    "__version__",
    "build_multi_indices",
    "count_terms",
    "pack_steps",
    "report",
    "unpack_steps",
]
