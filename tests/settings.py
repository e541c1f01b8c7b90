"""Settings of fits that many tests share."""

from typing import Any

from skpce import CompositionalPCESurrogate, PolynomialChaosRegressor

RIDGE = {"solver": "ridge", "distribution": "normal"}
OLS = {"solver": "ols", "distribution": "normal"}


def ridge_pce(*given: Any, **settings: Any) -> PolynomialChaosRegressor:
    """Return a chaos expansion of normal inputs by ridge."""
    return PolynomialChaosRegressor(*given, **RIDGE, **settings)


def ridge_surrogate(*given: Any, **settings: Any) -> CompositionalPCESurrogate:
    """Return a surrogate of normal inputs by ridge."""
    return CompositionalPCESurrogate(*given, **RIDGE, **settings)
