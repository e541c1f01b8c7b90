"""The β-VAE against the closed form of the linear one, and where networks help."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA

from skpce.embedding import BetaVAE
from skpce.embedding._beta_vae import linear_optimum, negative_elbo

torch = pytest.importorskip("torch")

EIGENVALUES = np.array([9.0, 4.0, 1.5, 0.2])


def with_eigenvalues(n_samples=60, n_features=30):
    """Rows whose covariance has exactly EIGENVALUES, on average 14.7 / 30 a feature."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(n_samples, len(EIGENVALUES)))
    scores -= scores.mean(axis=0)
    scores = np.linalg.qr(scores)[0] * np.sqrt(n_samples * EIGENVALUES)
    axes = np.linalg.qr(rng.normal(size=(n_features, len(EIGENVALUES))))[0]
    return 5 + scores @ axes.T, scores


def spec(n_components=3, **parameters):
    return BetaVAE(n_components, hidden_layer_sizes=(), **parameters)


def expected_loss(layers, X, s):
    """The loss is quadratic in the noise of a linear decoder: ±√d e_k are enough."""
    d = s.n_components
    points = np.sqrt(d) * np.vstack([np.eye(d), -np.eye(d)])
    encoder, decoder = layers
    return sum(
        negative_elbo(torch, [encoder], [decoder], X, torch.from_numpy(point), s)
        for point in points
    ) / len(points)


@pytest.mark.parametrize("beta", [0.5, 2.0, 5.0])
def test_the_linear_optimum_is_stationary_and_least(beta):
    s = spec(beta=beta)
    rng = np.random.default_rng(1)
    X = torch.from_numpy(with_eigenvalues()[1])
    layers = [
        tuple(torch.tensor(array, requires_grad=True) for array in layer)
        for layer in linear_optimum(EIGENVALUES, s)
    ]
    least = expected_loss(layers, X, s)
    least.backward()
    for layer in layers:
        for tensor in layer:
            assert tensor.grad.abs().max() < 1e-10
    for size in (0.01, 0.1, 1.0):

        def shaken(tensor, size=size):
            return tensor.detach() + size * torch.from_numpy(
                rng.normal(size=tensor.shape)
            )

        moved = [tuple(map(shaken, layer)) for layer in layers]
        assert expected_loss(moved, X, s) > least


def test_the_loss_against_the_densities_of_torch():
    rng = np.random.default_rng(2)
    s = spec(n_components=2, beta=3.0, noise_variance=0.5)
    X = torch.from_numpy(rng.normal(size=(7, 4)))
    noise = torch.from_numpy(rng.normal(size=(7, 2)))
    draws = [rng.normal(size=shape) for shape in ((4, 4), 4, (2, 4), 4)]
    tensors = list(map(torch.from_numpy, draws))
    encoder, decoder = tuple(tensors[:2]), tuple(tensors[2:])
    outputs = X @ encoder[0] + encoder[1]
    normal = torch.distributions.Normal
    posterior = normal(outputs[:, :2], (outputs[:, 2:] / 2).exp())
    prior = normal(torch.zeros(2).double(), torch.ones(2).double())
    Z = posterior.mean + posterior.stddev * noise
    likelihood = normal(Z @ decoder[0] + decoder[1], np.sqrt(0.5)).log_prob(X).sum(1)
    divergence = torch.distributions.kl_divergence(posterior, prior).sum(1)
    constant = 2 * np.log(2 * np.pi * 0.5)
    expected = (-likelihood - constant + 3.0 * divergence).mean()
    found = negative_elbo(torch, [encoder], [decoder], X, noise, s)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("max_epochs", [1, 400])
def test_variances_and_r2_of_the_linear_one(max_epochs):
    """Training from the optimum stays there, up to the noise of its gradients."""
    X, scores = with_eigenvalues()
    short = {"max_epochs": max_epochs, "random_state": 0, "validation_fraction": None}
    rate = 1e-9 if max_epochs == 1 else 1e-3
    embedding = spec(4, beta=2.0, learning_rate=rate, **short).fit(X)
    scaled = EIGENVALUES / (EIGENVALUES.sum() / X.shape[1])
    level = 2.0
    used = scaled > level
    assert used.tolist() == [True, True, True, False]
    assert embedding.active_.tolist() == used.tolist()
    tolerance = 1e-6 if max_epochs == 1 else 0.1
    Z = embedding.transform(X)
    variances = np.where(used, 1 - level / scaled, 0)
    assert_allclose(Z.var(axis=0), variances, atol=tolerance)
    explained = scaled * np.where(used, 1 - (level / scaled) ** 2, 0)
    assert embedding.reconstruction_r2_ == pytest.approx(
        explained.sum() / scaled.sum(), abs=0.1 * tolerance
    )
    correlation = np.abs(np.corrcoef(Z[:, :3].T, scores[:, :3].T)[:3, 3:])
    assert_allclose(correlation, np.eye(3), atol=2 * tolerance)


def curve(n_samples, seed):
    """A bent line in 20 dimensions: one number determines a row."""
    rng = np.random.default_rng(seed)
    t = rng.normal(size=n_samples)
    axes = np.linalg.qr(np.random.default_rng(9).normal(size=(20, 2)))[0]
    bent = np.column_stack([2 * t, 1.5 * (t**2 - 1)])
    return bent @ axes.T + 0.05 * rng.normal(size=(n_samples, 20)), t


@pytest.mark.slow
def test_a_network_follows_a_curve_that_no_line_does():
    (X, _), (fresh, t) = curve(200, 0), curve(200, 1)

    def r2(embedding):
        back = embedding.inverse_transform(embedding.transform(fresh))
        return 1 - np.square(fresh - back).sum() / np.square(fresh - X.mean(0)).sum()

    weights = {"beta": 1.0, "noise_variance": 0.1, "learning_rate": 0.005}
    embedding = BetaVAE(1, **weights, random_state=0).fit(X)
    assert embedding.n_epochs_ > 0
    assert r2(PCA(1).fit(X)) < 0.7
    assert r2(embedding) > 0.9
    assert embedding.held_out_r2_ == pytest.approx(r2(embedding), abs=0.1)
    assert abs(np.corrcoef(embedding.transform(fresh)[:, 0], t)[0, 1]) > 0.95


@pytest.mark.slow
def test_without_held_out_rows_noise_is_learned_by_heart(rng):
    """A high R² on the rows of ``fit`` is no evidence that the inputs hold X."""
    X, fresh = rng.normal(size=(30, 200)), rng.normal(size=(200, 200))
    long = {"validation_fraction": None, "max_epochs": 600, "learning_rate": 3e-3}
    by_heart = BetaVAE(5, **long, random_state=0).fit(X)
    linear = PCA(5).fit(X).explained_variance_ratio_.sum()
    assert by_heart.reconstruction_r2_ > 2 * linear
    assert np.isnan(by_heart.held_out_r2_)
    back = by_heart.inverse_transform(by_heart.transform(fresh))
    assert np.square(fresh - back).sum() > np.square(fresh - X.mean(0)).sum()
    careful = BetaVAE(5, random_state=0).fit(X)
    assert careful.stopped_early_
    assert careful.held_out_r2_ < 0.1


def test_constant_and_lonely_rows():
    constant = BetaVAE(2, max_epochs=3, random_state=0).fit(np.ones((6, 3)))
    assert_allclose(constant.transform(np.ones((2, 3))), 0, atol=1e-6)
    assert np.isnan(constant.reconstruction_r2_)
    assert not constant.active_.any()
    two = BetaVAE(3, max_epochs=3, random_state=0).fit([[0.0, 1.0], [2.0, 5.0]])
    assert two.transform([[0.0, 1.0]]).shape == (1, 3)
