"""Polynomial chaos estimators that say when an attribution is not supported."""

from ._basis.basis import MoreTermsThanRowsWarning
from ._basis.features import PolynomialChaosFeatures
from ._components import variance_components
from ._compositions.log_ratio import ClosureWarning, LogRatioTransformer, pack_steps
from ._expansion.expansion import (
    ConstantTargetWarning,
    Expansion,
    FailedSamplesWarning,
)
from ._expansion.problem import DependentInputsWarning, EdgeOfFamilyWarning
from ._input_laws.families import InputOutsideSupportWarning
from ._input_laws.maps import NatafTransformer
from ._model_file import load_model, save_model
from ._regressor import PolynomialChaosRegressor
from ._report import report
from ._surrogate import CompositionalPCESurrogate
from ._version import __version__, show_versions
from .drivers import explain

__all__ = [
    "ClosureWarning",
    "CompositionalPCESurrogate",
    "ConstantTargetWarning",
    "DependentInputsWarning",
    "EdgeOfFamilyWarning",
    "Expansion",
    "FailedSamplesWarning",
    "InputOutsideSupportWarning",
    "LogRatioTransformer",
    "MoreTermsThanRowsWarning",
    "NatafTransformer",
    "PolynomialChaosFeatures",
    "PolynomialChaosRegressor",
    "__version__",
    "explain",
    "load_model",
    "pack_steps",
    "report",
    "save_model",
    "show_versions",
    "variance_components",
]
