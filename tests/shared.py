"""What many tests share: fits by name, tables of cases, and refusals."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from skpce import CompositionalPCESurrogate, PolynomialChaosRegressor

RIDGE = {"solver": "ridge", "distribution": "normal"}
OLS = {"solver": "ols", "distribution": "normal"}

_OPTIONS_OF_CHECKS = inspect.signature(parametrize_with_checks).parameters
# xfail_strict came with scikit-learn 1.8; before, pytest's own xfail_strict holds.
STRICT = {"xfail_strict": True} if "xfail_strict" in _OPTIONS_OF_CHECKS else {}


def ridge_pce(*given: Any, **settings: Any) -> PolynomialChaosRegressor:
    """Return a chaos expansion by ridge, of normal inputs if none are stated."""
    return PolynomialChaosRegressor(*given, **RIDGE | settings)


def ridge_surrogate(*given: Any, **settings: Any) -> CompositionalPCESurrogate:
    """Return a surrogate by ridge, of normal inputs if none are stated."""
    return CompositionalPCESurrogate(*given, **RIDGE | settings)


def cases(names: str | tuple[str, ...], *rows: Any, **options: Any) -> Any:
    """Run a test on each row of a table, as ``pytest.mark.parametrize`` does."""
    return pytest.mark.parametrize(names, rows, **options)


def refuses(words: str, call: Callable[..., Any], *given: Any, **options: Any) -> None:
    """Check that a call ends in a ``ValueError`` that says so."""
    with pytest.raises(ValueError, match=words):
        call(*given, **options)


def printed_by(*arguments: str, **options: Any) -> str:
    """Return what Python prints when it runs so; fail with what it says instead."""
    command = [sys.executable, *arguments]
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, **options
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout
