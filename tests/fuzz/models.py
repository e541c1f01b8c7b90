"""Models of the package with their data, and what a scene of a function is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

import skpce
from tests.fuzz import values as draw

Generator = np.random.Generator
Drawn = tuple[Any, dict[str, Any], Callable[[Any], Any]]  # callable, arguments, faults


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
        last: Any = skpce.CompositionalPCESurrogate(
            2, steps=steps, solver="ridge", distribution="normal"
        )
    else:
        X, y = normal_regression(rng)
        last = skpce.PolynomialChaosRegressor(2, solver="ridge", distribution="normal")
    if X.shape[1] > 1 and rng.random() < 0.4:
        last = make_pipeline(PCA(1, whiten=True), last)
    return last.fit(X, y), X, y


def unfitted_model(rng: Generator) -> tuple[Any, Any, Any]:
    """Return a regressor or surrogate, and its data."""
    if rng.random() < 0.5:
        X, y, steps = policies(rng)
        return (
            skpce.CompositionalPCESurrogate(
                1, steps=steps, solver="ridge", distribution="normal"
            ),
            X,
            y,
        )
    X, y = normal_regression(rng)
    return (
        skpce.PolynomialChaosRegressor(1, solver="ridge", distribution="normal"),
        X,
        y,
    )
