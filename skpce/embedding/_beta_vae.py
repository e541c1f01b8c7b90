"""A β-VAE as a transformer: torch trains it, numpy applies it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from .._checks import (
    BoolArray,
    FloatArray,
    RandomState,
    check_real,
    checked_random_state,
    import_extra,
    validated,
)
from .._version import DOC_LINK_TEMPLATE
from ._training import (
    check_training_parameters,
    checked_inputs,
    descend,
    explained_share,
    one_torch_thread,
    split_rows,
)

# Variance of the posterior mean above which an input is in use.
_ACTIVE_VARIANCE = 0.01


class BetaVAE(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Embed X by a variational autoencoder whose inputs are regularised to N(0, I).

    The encoder gives mean m and variance v of each of ``n_components`` inputs, the
    decoder g the rows back from them. The loss of a row [1]_ is

    .. math:: \frac{1}{2 \sigma^2} E\,|x - g(z)|^2
        + \beta\, \mathrm{KL}(N(m, \mathrm{diag}\, v) \,\|\, N(0, I)), \qquad
        z \sim N(m, \mathrm{diag}\, v),

    where x is centred and divided by one number, so that the mean variance of a
    feature is one. Features of larger variance count more, as in PCA; scale them
    first if they should not.

    Parameters
    ----------
    n_components : int, default=2
        Number of inputs.
    beta : float, default=4.0
        Weight of the divergence; 1 is a plain VAE.
    noise_variance : float, default=1.0
        :math:`\sigma^2` of the decoder, in units of the mean variance of a feature.
    hidden_layer_sizes : tuple of int, default=(64,)
        Widths of the network (tanh) that the encoder adds to a linear map; the decoder
        has them in reverse. Empty: both are linear.
    learning_rate : float, default=0.001
        Of Adam.
    batch_size : int, default=128
        Rows of a minibatch; fewer rows than this are one batch.
    max_epochs : int, default=1000
        Largest number of epochs.
    validation_fraction : float or None, default=0.2
        Share of the rows that is held out to assess the epochs, in (0, 1). None holds
        out none and trains to the last epoch: with few rows the network then
        overfits.
    patience : int, default=100
        Epochs without a smaller loss on the held-out rows after which training stops.
        The parameters of the best epoch are retained.
    random_state : int, RandomState instance or None, default=None
        Randomness of initial weights, noise, minibatches and held-out rows. The same
        seed gives the same numbers on the same machine.

    Attributes
    ----------
    encoder_, decoder_ : list of (weight, bias)
        Arrays: first the linear map, then the layers of the network that is added to
        it. The encoder gives means, then log-variances.
    mean_ : ndarray of shape (n_features,)
        Of the rows trained on.
    scale_ : float
        Root of the mean variance of a feature.
    active_ : ndarray of shape (n_components,), bool
        Whether the mean of an input has a variance above 0.01 [2]_. The others have
        collapsed to the prior and carry no information.
    n_epochs_ : int
        The epoch whose parameters are retained; 0 where no epoch was better on the
        held-out rows than the linear β-VAE, from which training starts.
    stopped_early_ : bool
        False where ``max_epochs`` ended the training: more might be better.
    reconstruction_r2_ : float
        R² of the reconstruction, over all entries of the rows trained on.
    held_out_r2_ : float
        The same on the held-out rows: the one to compare embeddings by, though slightly
        optimistic, as these rows chose the epoch. NaN without held-out rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X has such.

    See Also
    --------
    NormalizingFlow : PCA, and an invertible map to normal inputs.
    sklearn.decomposition.PCA : The linear embedding.

    Notes
    -----
    Linear encoder and decoder have a known optimum. The loss is β times that of a VAE
    with decoder variance :math:`s^2 = \beta \sigma^2`, which is probabilistic PCA
    [3]_: an eigenvalue :math:`\lambda` of the covariance of (scaled) X is retained
    where :math:`\lambda > s^2`, its input has variance :math:`1 - s^2 / \lambda`, and
    of the variance :math:`\lambda` the reconstruction explains
    :math:`\lambda (1 - s^4 / \lambda^2)`. Eigenvalues below :math:`\beta \sigma^2` are
    ignored. With few or weak features lower ``noise_variance``. Training starts at this
    optimum, so that networks are used only where they improve the held-out rows.

    Inputs are *regularised* to be normal and independent, no more: check them by
    :func:`skpce.inspection.input_tests`. They are ordered by the variance of their
    means; sign and rotation are those of the seed.

    References
    ----------
    .. [1] I. Higgins et al., "beta-VAE: Learning Basic Visual Concepts with a
       Constrained Variational Framework", ICLR 2017, eq. 4.
    .. [2] Y. Burda, R. Grosse and R. Salakhutdinov, "Importance Weighted
       Autoencoders", ICLR 2016, section 5.2.
    .. [3] J. Lucas, G. Tucker, R. Grosse and M. Norouzi, "Don't Blame the ELBO! A
       Linear VAE Perspective on Posterior Collapse", NeurIPS 2019, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.embedding import BetaVAE
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 100))
    >>> embedding = BetaVAE(2, random_state=0).fit(X)
    >>> embedding.transform(X).shape, bool(embedding.held_out_r2_ > 0.5)
    ((50, 2), True)
    >>> embedding.get_feature_names_out().tolist()
    ['betavae0', 'betavae1']
    """

    _doc_link_module = "skpce"
    _doc_link_template = DOC_LINK_TEMPLATE

    def __init__(
        self,
        n_components: int = 2,
        *,
        beta: float = 4.0,
        noise_variance: float = 1.0,
        hidden_layer_sizes: tuple[int, ...] = (64,),
        learning_rate: float = 0.001,
        batch_size: int = 128,
        max_epochs: int = 1000,
        validation_fraction: float | None = 0.2,
        patience: int = 100,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.beta = beta
        self.noise_variance = noise_variance
        self.hidden_layer_sizes = hidden_layer_sizes
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None) -> BetaVAE:
        """Train encoder and decoder.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training members; at least two.
        y : None
            Not used.

        Returns
        -------
        self : BetaVAE
            The fitted transformer.
        """
        owner, d = type(self).__name__, self.n_components
        check_training_parameters(self)
        check_real(owner, "beta", self.beta, low=0)
        check_real(owner, "noise_variance", self.noise_variance, low=0)
        torch = import_extra("torch", "torch", owner)
        values = validated(self, X, ensure_min_samples=2)
        rng = checked_random_state(self.random_state)
        train, held_out = split_rows(len(values), self.validation_fraction, rng)
        self.mean_: FloatArray = values[train].mean(axis=0)
        spread = float(np.sqrt(values[train].var(axis=0).mean()))
        self.scale_: float = spread if spread > 0 else 1.0
        standard = (values - self.mean_) / self.scale_
        with one_torch_thread(torch):
            found = self._train(torch, standard[train], standard[held_out], rng)
        encoder, decoder = found
        # The inputs are in the order of their variance.
        variance = apply_layers(encoder, standard[train], np.tanh)[:, :d].var(axis=0)
        order = np.argsort(-variance, kind="stable")
        both = np.concatenate([order, d + order])
        self.encoder_: Layers = change_of_outputs(encoder, np.eye(2 * d)[:, both])
        self.decoder_: Layers = change_of_inputs(decoder, np.eye(d)[order])
        self.active_: BoolArray = variance[order] > _ACTIVE_VARIANCE
        self.reconstruction_r2_: float = self._r2(values[train])
        self.held_out_r2_: float = self._r2(values[held_out])
        return self

    def _train(
        self,
        torch: Any,
        X: FloatArray,  # shape: (n_samples, n_features), of mean zero
        held_out: FloatArray,  # shape: (n_held_out, n_features)
        rng: np.random.RandomState,
    ) -> tuple[Layers, Layers]:  # encoder, to means, then log-variances; decoder
        """Minimise the loss by Adam, from the optimum of the linear β-VAE on."""
        # The loss is the same in rotated coordinates. Those along the right singular
        # vectors of X are few where rows are few, and spare Adam the others.
        _, singular, axes = np.linalg.svd(X, full_matrices=False)
        rank = max(1, int((singular > _ROUNDING * singular[0]).sum()))
        axes, eigenvalues = axes[:rank], singular[:rank] ** 2 / len(X)
        encoding, decoding = linear_optimum(eigenvalues, self)
        widths = tuple(self.hidden_layer_sizes)
        start = (
            network_on(*encoding, widths, rng),
            network_on(*decoding, widths[::-1], rng),
        )
        encoder, decoder = (
            [tuple(torch.tensor(a, requires_grad=True) for a in layer) for layer in net]
            for net in start
        )
        rows, n_assessed = X @ axes.T, _HELD_OUT_DRAWS * len(held_out)
        assessed = torch.from_numpy(np.tile(held_out @ axes.T, (_HELD_OUT_DRAWS, 1)))

        def noise(n_rows: int) -> Any:
            return torch.from_numpy(rng.normal(size=(n_rows, self.n_components)))

        def loss(values: Any, drawn: Any) -> Any:
            return negative_elbo(torch, encoder, decoder, values, drawn, self)

        def arrays() -> list[Layers]:
            return [
                [tuple(t.detach().numpy().copy() for t in layer) for layer in net]
                for net in (encoder, decoder)
            ]

        assessed_noise = noise(n_assessed)
        best = descend(
            self,
            torch,
            [tensor for layer in encoder + decoder for tensor in layer],
            lambda batch: loss(torch.from_numpy(rows[batch]), noise(len(batch))),
            (lambda: loss(assessed, assessed_noise)) if n_assessed else None,
            arrays,
            len(X),
            rng,
        )
        encoding, decoding = best.parameters
        return change_of_inputs(encoding, axes.T), change_of_outputs(decoding, axes)

    def _r2(self, X: FloatArray) -> float:
        return explained_share(X, self._decode(self._encode(X)), self.mean_)

    def _encode(self, X: FloatArray) -> FloatArray:
        outputs = apply_layers(self.encoder_, (X - self.mean_) / self.scale_, np.tanh)
        return outputs[:, : self._n_features_out]

    def _decode(self, Z: FloatArray) -> FloatArray:
        return self.mean_ + self.scale_ * apply_layers(self.decoder_, Z, np.tanh)

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return the posterior means, ndarray of shape (n_samples, n_components).

        A posterior mean is shrunk: its variance is below one. X has shape (n_samples,
        n_features).
        """
        check_is_fitted(self)
        return self._encode(validated(self, X, reset=False))

    def inverse_transform(self, Z: ArrayLike) -> FloatArray:
        """Return the members (n_samples, n_features) that the decoder makes of inputs.

        Z has shape (n_samples, n_components); another width is a ``ValueError``.
        """
        check_is_fitted(self)
        return self._decode(checked_inputs(self, Z))

    @property
    def _n_features_out(self) -> int:
        return self.decoder_[0][0].shape[0]


# Draws of the noise behind the loss on the held-out rows; the same in every epoch.
_HELD_OUT_DRAWS = 8

# Singular values below this share of the largest are rounding.
_ROUNDING = 1e-12


def linear_optimum(
    eigenvalues: FloatArray,  # shape: (n_axes,)
    spec: BetaVAE,
) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
    """Return the (weight, bias) of the best linear encoder and decoder."""
    # Lucas et al. 2019, section 4: in coordinates of variances λ_1 ≥ λ_2 ≥ ... and with
    # s² = β σ² the decoder has the weights (λ_k - s²)_+^(1/2), the posterior the mean
    # (λ_k - s²)_+^(1/2) x_k / λ_k and the variance min(1, s² / λ_k).
    n_axes, d = len(eigenvalues), spec.n_components
    level = spec.beta * spec.noise_variance
    variances = np.zeros(d)
    variances[: min(d, n_axes)] = eigenvalues[:d]
    loadings = np.sqrt(np.maximum(variances - level, 0))
    safe = np.maximum(variances, level)
    means = np.eye(n_axes, d) * (loadings / safe)
    weight = np.hstack([means, np.zeros((n_axes, d))])
    bias = np.concatenate([np.zeros(d), np.log(level / safe)])
    return (weight, bias), (
        np.eye(d, n_axes) * loadings[:, np.newaxis],
        np.zeros(n_axes),
    )


def negative_elbo(
    torch: Any, encoder: Any, decoder: Any, X: Any, noise: Any, spec: BetaVAE
) -> Any:
    """Return the mean loss of some rows, without the constant of the normal density."""
    d = spec.n_components
    outputs = apply_layers(encoder, X, torch.tanh)
    mean, log_variance = outputs[:, :d], outputs[:, d:]
    Z = mean + (0.5 * log_variance).exp() * noise
    error = (X - apply_layers(decoder, Z, torch.tanh)).square().sum(dim=1)
    divergence = mean.square() + log_variance.exp() - 1 - log_variance
    weighted = 0.5 * spec.beta * divergence.sum(dim=1)
    return (0.5 * error / spec.noise_variance + weighted).mean()


# Weights of shape (n_in, n_out) and biases of shape (n_out,). The first pair is a
# linear map straight to the output; the others are a network that is added to it.
Layers = list[tuple[FloatArray, FloatArray]]


def network_on(
    weight: FloatArray,
    bias: FloatArray,
    hidden: Sequence[int],
    rng: np.random.RandomState,
) -> Layers:
    """Return a linear map with a network that adds nothing before training."""
    # Weights of hidden layers are uniform, after Glorot and Bengio (2010), those of the
    # last layer 0.
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


def change_of_inputs(layers: Layers, matrix: FloatArray) -> Layers:
    """Return the network whose input x is multiplied by a matrix first."""
    # The linear map and the first layer of the network both take the input.
    return [(matrix @ weight, bias) for weight, bias in layers[:2]] + layers[2:]


def change_of_outputs(layers: Layers, matrix: FloatArray) -> Layers:
    """Return the network whose outputs are multiplied by a matrix."""
    # The linear map and the last layer of the network both give outputs.
    ends = (0, len(layers) - 1)
    return [
        (weight @ matrix, bias @ matrix) if place in ends else (weight, bias)
        for place, (weight, bias) in enumerate(layers)
    ]
