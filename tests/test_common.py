"""scikit-learn's own contract, for every estimator in several configurations."""

from __future__ import annotations

import pytest
from scipy.stats import norm
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from skpce import (
    CompositionalPCESurrogate,
    LogRatioTransformer,
    NatafTransformer,
    PolynomialChaosFeatures,
    PolynomialChaosRegressor,
)
from skpce._solvers import SOLVERS
from tests.shared import OLS, STRICT, ridge_pce, ridge_surrogate


class Law(type(norm())):
    """A frozen normal distribution with the same text in every process."""

    def __repr__(self) -> str:
        return "norm(0, 1)"


FROZEN = Law(norm, 0, 1)

DEFAULTS = [
    PolynomialChaosFeatures(),
    PolynomialChaosRegressor(),
    ridge_pce(distribution=FROZEN, criterion="gcv"),
    LogRatioTransformer(),
    NatafTransformer(),
    CompositionalPCESurrogate(),
    ridge_surrogate(),
]

# Left out: "categorical", which is refused where no value repeats, as in the checks;
# and parameters of one entry per feature.
OTHERS = [
    PolynomialChaosFeatures(3, distribution="uniform", interaction_order=1),
    PolynomialChaosFeatures(2, distribution=FROZEN),
    *(
        PolynomialChaosFeatures(distribution=name)
        for name in ("empirical", "exponential", "gamma", "beta")
    ),
    *(PolynomialChaosRegressor(solver=name, distribution="normal") for name in SOLVERS),
    *(
        ridge_pce(distribution=name)
        for name in ("uniform", "empirical", "exponential", "gamma", "beta")
    ),
    ridge_pce(3, truncation="hyperbolic", q=0.5),
    PolynomialChaosRegressor(regressor=Ridge(), distribution="normal"),
    PolynomialChaosRegressor(solver="ols", distribution=FROZEN, criterion="gcv"),
    PolynomialChaosRegressor(2, distribution=FROZEN),
    PolynomialChaosRegressor(3, truncation="hyperbolic", q=0.5),
    LogRatioTransformer("alr"),
    LogRatioTransformer("clr"),
    NatafTransformer("normal", root="symmetric"),
    CompositionalPCESurrogate(**OLS),
    CompositionalPCESurrogate(solver="paper", distribution="normal"),
    CompositionalPCESurrogate(regressor=Ridge(), distribution="normal"),
    ridge_surrogate(log_ratio="clr", distribution="uniform"),
    ridge_surrogate(log_ratio=LogRatioTransformer("alr")),
]


def expected_failures(estimator: object) -> dict[str, str]:
    """The only check that may fail, with its reason."""
    if isinstance(estimator, CompositionalPCESurrogate):
        return {"check_regressor_multioutput": "it draws y below 0: no probabilities"}
    return {}


# The checks draw data that are no compositions or have redundant inputs, score rows
# that no fit has seen, and pass arrays to estimators fitted on data frames: warnings
# that are meant.
pytestmark = [
    pytest.mark.filterwarnings("ignore::skpce.ClosureWarning"),
    pytest.mark.filterwarnings("ignore::skpce.InputOutsideSupportWarning"),
    pytest.mark.filterwarnings("ignore:A linear combination of"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
    pytest.mark.filterwarnings("ignore:X has feature names"),
    pytest.mark.filterwarnings("ignore:The .* samples are of .* settings"),
]


@parametrize_with_checks(DEFAULTS, expected_failed_checks=expected_failures, **STRICT)
def test_common_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(OTHERS, expected_failed_checks=expected_failures, **STRICT)
def test_common_contract_of_other_parameters(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "estimator", [e for e in DEFAULTS if hasattr(type(e), "transform")], ids=repr
)
def test_output_contract(estimator, output_check):
    output_check(type(estimator).__name__, estimator)
