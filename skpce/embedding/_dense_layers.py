"""Networks as plain arrays: torch trains them, numpy applies them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Weights of shape (n_in, n_out) and biases of shape (n_out,). The first pair is a
# linear map straight to the output; the others are a network that is added to it.
Layers = list[tuple[NDArray[np.float64], NDArray[np.float64]]]


def network_on(
    weight: NDArray[np.float64],
    bias: NDArray[np.float64],
    hidden: Sequence[int],
    rng: np.random.RandomState,
) -> Layers:
    """Return a linear map with a network that as yet adds nothing.

    Weights of hidden layers are uniform, after Glorot and Bengio (2010), those of the
    last layer 0. Without hidden layers there is no network.

    Examples
    --------
    >>> layers = network_on(np.eye(2), np.zeros(2), (3,), np.random.RandomState(0))
    >>> [weight.shape for weight, _ in layers]
    [(2, 2), (2, 3), (3, 2)]
    >>> apply_layers(layers, np.array([[1.0, 2.0]]), np.tanh)
    array([[1., 2.]])
    """
    layers = [(weight, bias)]
    if not hidden:
        return layers
    for n_in, n_out in pairwise((len(weight), *hidden)):
        bound = np.sqrt(6 / (n_in + n_out))
        drawn = rng.uniform(-bound, bound, size=(n_in, n_out))
        layers.append((drawn, np.zeros(n_out)))
    last = np.zeros((hidden[-1], weight.shape[1]))
    return [*layers, (last, np.zeros(weight.shape[1]))]


def apply_layers(layers: Any, values: Any, activation: Callable[[Any], Any]) -> Any:
    """Return the outputs for rows of values; arrays or tensors alike."""
    (weight, bias), *network = layers
    outputs = values @ weight + bias
    if not network:
        return outputs
    for weight, bias in network[:-1]:
        values = activation(values @ weight + bias)
    weight, bias = network[-1]
    return outputs + values @ weight + bias


def change_of_inputs(layers: Layers, matrix: NDArray[np.float64]) -> Layers:
    """Return the network that is fed x where the old one was fed ``x @ matrix``."""
    (weight, bias), *network = layers
    changed = [(matrix @ weight, bias)]
    if not network:
        return changed
    (first, first_bias), *rest = network
    return [*changed, (matrix @ first, first_bias), *rest]


def change_of_outputs(layers: Layers, matrix: NDArray[np.float64]) -> Layers:
    """Return the network whose outputs are the old ones times a matrix."""
    (weight, bias), *network = layers
    changed = [(weight @ matrix, bias @ matrix)]
    if not network:
        return changed
    *rest, (last, last_bias) = network
    return [*changed, *rest, (last @ matrix, last_bias @ matrix)]
