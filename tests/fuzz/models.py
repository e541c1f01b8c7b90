"""Models of the package with their data, and what a scene of a function is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import Parameter, Signature
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from tests.fuzz import values as draw
from tests.shared import ridge_pce, ridge_surrogate

Generator = np.random.Generator
Drawn = tuple[Any, dict[str, Any], Callable[[Any], Any]]  # callable, arguments, faults


def of_keywords(function: Any, names: Iterable[str]) -> Any:
    """Let a function of any keywords say which it takes: scenes spoil them by name."""
    parameters = [Parameter(name, Parameter.KEYWORD_ONLY) for name in names]
    function.__signature__ = Signature(parameters)
    return function


def size(rng: Generator) -> int:
    """Return a number of members."""
    return int(draw.one_of(rng, [4, 6, 10, 20, 30]))


def regression(rng: Generator) -> tuple[Any, Any]:
    """Return inputs of any distribution, and real outputs."""
    X = draw.inputs(rng, size(rng))
    return X, draw.targets(rng, X, may_lack=False)


def policies(rng: Generator) -> tuple[Any, Any, tuple[int, ...]]:
    """Return normal inputs, policies and the widths of the steps."""
    X = rng.normal(size=(size(rng), int(rng.integers(1, 4))))
    return X, *draw.compositions(rng, X)


def normal_regression(rng: Generator) -> tuple[Any, Any]:
    """Return normal inputs and real outputs."""
    X = rng.normal(size=(size(rng), int(rng.integers(1, 4))))
    return X, draw.targets(rng, X, may_lack=False)


def fitted_model(rng: Generator) -> tuple[Any, Any, Any]:
    """Return a fitted regressor or surrogate, perhaps in a pipeline, and its data.

    Data that a fit refuses are drawn anew: scenes of estimators judge the refusals.
    """
    while True:
        try:
            return _fitted_once(rng)
        except ValueError:
            continue


def _fitted_once(rng: Generator) -> tuple[Any, Any, Any]:
    if rng.random() < 0.5:
        X, y, steps = policies(rng)
        last: Any = ridge_surrogate(2, steps=steps)
    else:
        X, y = normal_regression(rng)
        last = ridge_pce(2)
    if X.shape[1] > 1 and rng.random() < 0.4:
        last = make_pipeline(PCA(1, whiten=True), last)
    return last.fit(X, y), X, y


def unfitted_model(rng: Generator) -> tuple[Any, Any, Any]:
    """Return a regressor or surrogate, and its data."""
    if rng.random() < 0.5:
        X, y, steps = policies(rng)
        return ridge_surrogate(1, steps=steps), X, y
    return ridge_pce(1), *normal_regression(rng)
