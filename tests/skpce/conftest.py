"""Ensembles whose truth is known."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import settings
from scipy.special import softmax

settings.register_profile("skpce", derandomize=True, deadline=None)
settings.load_profile("skpce")

Ensemble = tuple[np.ndarray, np.ndarray]


def _simulate(
    n_members: int = 60,
    widths: tuple[int, ...] = (3, 2, 4),
    n_inputs: int = 3,
    noise: float = 0.3,
    seed: int = 0,
) -> Ensemble:
    """Log-ratios that are quadratic in standard normal inputs, plus noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_members, n_inputs))
    blocks = []
    for width in widths:
        linear = rng.normal(size=(n_inputs, width))
        square = 0.3 * rng.normal(size=(n_inputs, width))
        logits = rng.normal(size=width) + X @ linear + (X**2 - 1) @ square
        logits += noise * rng.normal(size=(n_members, width))
        blocks.append(softmax(logits, axis=1))
    return X, np.hstack(blocks)


@pytest.fixture(scope="session")
def simulate() -> Callable[..., Ensemble]:
    """Make an ensemble from its size, widths of steps, noise and seed."""
    return _simulate


@pytest.fixture(scope="session")
def ensemble() -> Ensemble:
    """60 members, 3 inputs, steps (3, 2, 4)."""
    return _simulate()


@pytest.fixture
def data(ensemble: Ensemble) -> Ensemble:
    """Inputs and outputs of a file's tests; many files have their own."""
    return ensemble


@pytest.fixture(name="X")
def inputs_of_data(data: Ensemble) -> np.ndarray:
    """Return the inputs of ``data``."""
    return data[0]


@pytest.fixture(name="y")
def outputs_of_data(data: Ensemble) -> np.ndarray:
    """Return the outputs of ``data``."""
    return data[1]


@pytest.fixture
def weights(data: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the weights of ``data``, where there are some."""
    return data[2]


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    """Leave no figure open, without importing the library of figures."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
