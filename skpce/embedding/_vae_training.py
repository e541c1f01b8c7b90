"""Training of a β-VAE with a normal decoder of fixed variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import FloatArray
from ._dense_layers import (
    Layers,
    apply_layers,
    change_of_inputs,
    change_of_outputs,
    network_on,
)
from ._early_stopping import BestEpoch, batches, require_finite

# Draws of the noise behind the loss on the held-out rows; the same in every epoch.
_HELD_OUT_DRAWS = 8

# Singular values below this share of the largest are rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class VAESpec:
    """How to train.

    Parameters
    ----------
    n_components : int
    hidden_layer_sizes : sequence of int
        Of the encoder; the decoder has them in reverse.
    beta, noise_variance, learning_rate : float
    batch_size, max_epochs, patience : int
    """

    n_components: int
    hidden_layer_sizes: Sequence[int]
    beta: float
    noise_variance: float
    learning_rate: float
    batch_size: int
    max_epochs: int
    patience: int


@dataclass(frozen=True)
class TrainedVAE:
    """Encoder (to means, then log-variances) and decoder.

    Parameters
    ----------
    encoder, decoder : list of (weight, bias)
    n_epochs : int
        The epoch whose parameters these are.
    stopped_early : bool
    """

    encoder: Layers
    decoder: Layers
    n_epochs: int
    stopped_early: bool


def train_vae(
    torch: Any,
    X: FloatArray,
    held_out: FloatArray,
    spec: VAESpec,
    rng: np.random.RandomState,
) -> TrainedVAE:
    """Minimise the loss by Adam, from the optimum of the linear β-VAE on.

    The loss is the same in rotated coordinates. Those along the right singular vectors
    of X are few where rows are few, and spare Adam the others.

    Parameters
    ----------
    torch : module
    X : ndarray of shape (n_samples, n_features)
        Of mean zero.
    held_out : ndarray of shape (n_held_out, n_features)
        Without rows, training runs to the last epoch.
    spec : VAESpec
    rng : RandomState
        All random numbers come from here.

    Raises
    ------
    ValueError
        If the loss is not finite.
    """
    _, singular, axes = np.linalg.svd(X, full_matrices=False)
    rank = max(1, int((singular > _ROUNDING * singular[0]).sum()))
    axes, eigenvalues = axes[:rank], singular[:rank] ** 2 / len(X)
    encoder, decoder = linear_optimum(eigenvalues, spec)
    widths = tuple(spec.hidden_layer_sizes)
    start = (
        network_on(*encoder, widths, rng),
        network_on(*decoder, widths[::-1], rng),
    )
    found = _descend(torch, X @ axes.T, held_out @ axes.T, start, spec, rng)
    return TrainedVAE(
        change_of_inputs(found.encoder, axes.T),
        change_of_outputs(found.decoder, axes),
        found.n_epochs,
        found.stopped_early,
    )


def linear_optimum(
    eigenvalues: FloatArray,  # shape: (n_axes,)
    spec: VAESpec,
) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
    r"""Return the (weight, bias) of the best linear encoder and decoder.

    In coordinates of variances :math:`\lambda_1 \ge \lambda_2 \ge \dots` and with
    :math:`s^2 = \beta \sigma^2` the decoder has the weights
    :math:`(\lambda_k - s^2)_+^{1/2}`, the posterior the mean
    :math:`(\lambda_k - s^2)_+^{1/2} x_k / \lambda_k` and the variance
    :math:`\min(1, s^2 / \lambda_k)` (Lucas et al. 2019, section 4; Tipping and Bishop
    1999).
    """
    n_axes, d = len(eigenvalues), spec.n_components
    level = spec.beta * spec.noise_variance
    variances = np.zeros(d)
    variances[: min(d, n_axes)] = eigenvalues[:d]
    kept = np.sqrt(np.maximum(variances - level, 0))
    safe = np.maximum(variances, level)
    means = np.eye(n_axes, d) * (kept / safe)
    weight = np.hstack([means, np.zeros((n_axes, d))])
    bias = np.concatenate([np.zeros(d), np.log(level / safe)])
    return (weight, bias), (np.eye(d, n_axes) * kept[:, np.newaxis], np.zeros(n_axes))


def _descend(
    torch: Any,
    X: FloatArray,
    held_out: FloatArray,
    start: tuple[Layers, Layers],
    spec: VAESpec,
    rng: np.random.RandomState,
) -> TrainedVAE:
    encoder, decoder = (_tensors(torch, layers) for layers in start)
    tensors = [tensor for layer in encoder + decoder for tensor in layer]
    optimizer = torch.optim.Adam(tensors, lr=spec.learning_rate)
    judged = torch.from_numpy(np.tile(held_out, (_HELD_OUT_DRAWS, 1)))
    judged_noise = _noise(torch, len(judged), spec, rng)

    def loss(values: Any, noise: Any) -> Any:
        return negative_elbo(torch, encoder, decoder, values, noise, spec)

    def is_over(epoch: int) -> bool:
        if not len(held_out):
            return False
        with torch.no_grad():
            return best.is_over(epoch, float(loss(judged, judged_noise)))

    def kept(*, stopped_early: bool) -> TrainedVAE:
        encoding, decoding = best.parameters
        return TrainedVAE(encoding, decoding, best.epoch, stopped_early)

    best = BestEpoch(lambda: (_arrays(encoder), _arrays(decoder)), spec.patience)
    is_over(0)
    for epoch in range(1, spec.max_epochs + 1):
        for rows in batches(len(X), spec.batch_size, rng):
            value = loss(torch.from_numpy(X[rows]), _noise(torch, len(rows), spec, rng))
            require_finite("BetaVAE", value.item())
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
        if is_over(epoch):
            return kept(stopped_early=True)
    if best.parameters is not None:
        return kept(stopped_early=False)
    return TrainedVAE(_arrays(encoder), _arrays(decoder), spec.max_epochs, False)


def negative_elbo(
    torch: Any, encoder: Any, decoder: Any, X: Any, noise: Any, spec: VAESpec
) -> Any:
    r"""Return the mean loss of some rows, without its constant.

    .. math:: \frac{|x - g(z)|^2}{2 \sigma^2}
        + \frac{\beta}{2} \sum_k (m_k^2 + v_k - 1 - \log v_k), \qquad
        z = m + \sqrt{v}\, \epsilon
    """
    d = spec.n_components
    outputs = apply_layers(encoder, X, torch.tanh)
    mean, log_variance = outputs[:, :d], outputs[:, d:]
    Z = mean + (0.5 * log_variance).exp() * noise
    error = (X - apply_layers(decoder, Z, torch.tanh)).square().sum(dim=1)
    divergence = mean.square() + log_variance.exp() - 1 - log_variance
    weighted = 0.5 * spec.beta * divergence.sum(dim=1)
    return (0.5 * error / spec.noise_variance + weighted).mean()


def _noise(torch: Any, n_rows: int, spec: VAESpec, rng: np.random.RandomState) -> Any:
    return torch.from_numpy(rng.normal(size=(n_rows, spec.n_components)))


def _tensors(torch: Any, layers: Layers) -> Any:
    return [
        tuple(torch.tensor(array, requires_grad=True) for array in layer)
        for layer in layers
    ]


def _arrays(layers: Any) -> Layers:
    return [
        tuple(tensor.detach().numpy().copy() for tensor in layer) for layer in layers
    ]
