"""What many tests share: fits by name, tables of cases, refusals and comparisons."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import uniform
from sklearn.utils.estimator_checks import parametrize_with_checks

import skpce
from skpce import (
    CompositionalPCESurrogate,
    PolynomialChaosRegressor,
)

RIDGE = {"solver": "ridge", "distribution": "normal"}
OLS = {"solver": "ols", "distribution": "normal"}
CIRCLE = uniform(-np.pi, 2 * np.pi)

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


def names_in(folder: Path) -> list[str]:
    """Return the names of what lies in a folder."""
    return sorted(entry.name for entry in folder.iterdir())


def agree(one: Any, other: Any, *names: str, **tolerance: float) -> None:
    """Check that two objects have the same values under these names."""
    for name in names:
        found, expected = getattr(one, name), getattr(other, name)
        assert_allclose(found, expected, err_msg=name, **tolerance)


def copies(weights: np.ndarray, *tables: np.ndarray) -> list[np.ndarray]:
    """Repeat each row of tables as often as its weight says."""
    return [np.repeat(table, weights, axis=0) for table in tables]


def kept(model: Any, folder: Path) -> tuple[Any, Any]:
    """Return a model as its file and as a pickle hold it."""
    skpce.save_model(model, folder / "model.npz")
    return skpce.load_model(folder / "model.npz"), pickle.loads(pickle.dumps(model))


def inside(bounds: tuple[np.ndarray, np.ndarray], values: np.ndarray) -> np.ndarray:
    """Return which values lie between a lower and an upper bound."""
    lower, upper = bounds
    return (lower <= values) & (values <= upper)


def clr(y: np.ndarray) -> np.ndarray:
    """Return centred log-ratios of one step."""
    log = np.log(y)
    return log - log.mean(axis=1, keepdims=True)


def shares_of_terms(
    squares: np.ndarray, multi_indices: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return first-order and total indices and Shapley effects by their definition."""
    active = multi_indices > 0
    count = active.sum(axis=1, keepdims=True)
    shares = squares / squares[:, 1:].sum(axis=1, keepdims=True)
    shapley = shares @ (active / np.maximum(count, 1))
    return shares @ (active & (count == 1)), shares @ active, shapley


def ishigami(X: np.ndarray) -> np.ndarray:
    """Return the function of Ishigami and Homma (1990) of three angles."""
    return np.sin(X[:, 0]) * (1 + 0.1 * X[:, 2] ** 4) + 7 * np.sin(X[:, 1]) ** 2


def ishigami_indices() -> tuple[np.ndarray, np.ndarray, float]:
    """Return its first-order and total indices and its variance, in closed form."""
    first = np.array([0.5 * (1 + 0.1 * np.pi**4 / 5) ** 2, 7**2 / 8, 0.0])
    together = 0.1**2 * np.pi**8 * (1 / 18 - 1 / 50)  # the first and the third
    total = first + np.array([together, 0.0, together])
    variance = first.sum() + together
    return first / variance, total / variance, variance
