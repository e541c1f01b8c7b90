"""Indices behind an embedding: closed forms against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax
from sklearn.decomposition import PCA, KernelPCA
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    StandardScaler,
)

from skpce.inspection import original_space_indices, shapley_effects
from tests.shared import cases, refuses, ridge_pce, ridge_surrogate

N_FEATURES = 6


def rows(seed=0, size=300, noise=0.0):
    rng = np.random.default_rng(seed)
    source = rng.normal(size=(size, 3)) * [3.0, 2.0, 1.0]
    mixing = np.random.default_rng(9).normal(size=(3, N_FEATURES))
    mixing[:, 4] = 0.0  # a feature that is noise alone
    X = source @ mixing + noise * rng.normal(size=(size, N_FEATURES))
    X[:, 4] += 0.1 * rng.normal(size=size)
    a, b, c = source.T
    return X + 5.0, np.c_[a + 0.3 * a * b, np.sin(b) + 0.2 * c**2]


def fitted(X, y, *embedding, degree=3, **parameters):
    return make_pipeline(*embedding, ridge_pce(degree, **parameters)).fit(X, y)


def embedded_samples(pipeline, size=400_000):
    """Draw from the laws of the expansion, and map back to the features."""
    Z = pipeline[-1].basis_.sample(size, np.random.default_rng(3))
    return Z, pipeline[:-1].inverse_transform(Z), pipeline[-1].predict(Z)


def binned_share(x, values, n_bins=4000):
    """Between-bin share of the variance, less its expectation under no effect."""
    order = np.argsort(x)
    blocks = values[order].reshape(n_bins, -1, *values.shape[1:])
    between = blocks.mean(axis=1).var(axis=0) / values.var(axis=0)
    ratio = n_bins / len(values)
    return (between - ratio) / (1 - ratio)


SCALED = [(StandardScaler(), pca) for pca in (PCA(3, whiten=True), PCA(2))]


@cases("embedding", (PCA(3),), *SCALED, ids=["pca", "scaled-whitened", "two"])
def test_first_order_against_brute_force(embedding):
    X, y = rows()
    pipeline = fitted(X, y, *embedding)
    found = original_space_indices(pipeline, X)
    _, features, values = embedded_samples(pipeline)
    for i in (0, 1, 2, 3, 5):
        sampled = binned_share(features[:, i], values)
        assert_allclose(found.first_order[:, i], sampled, atol=0.01)
    assert not found.sampled
    assert not found.first_order_standard_error.any()
    assert np.all((found.first_order >= 0) & (found.first_order <= 1 + 1e-12))


def test_what_the_embedding_drops_is_noise(rng):
    X, y = rows(noise=1.0)
    pipeline = fitted(X, y, PCA(3))
    found = original_space_indices(pipeline, X)
    _, features, values = embedded_samples(pipeline)
    dropped = X - pipeline[:-1].inverse_transform(pipeline[:-1].transform(X))
    for i in (0, 2, 5):
        noisy = features[:, i] + rng.normal(scale=dropped[:, i].std(), size=len(values))
        sampled = binned_share(noisy, values)
        assert_allclose(found.first_order_with_residual[:, i], sampled, atol=0.01)
    assert np.all(found.first_order_with_residual <= found.first_order + 1e-12)
    retained = 1 - dropped.var(axis=0) / X.var(axis=0)
    assert_allclose(found.retained_variance, retained, atol=1e-9)
    assert found.retained_variance[4] < 0.5
    assert any("less than half" in caution for caution in found.cautions)


def test_a_faint_copy_explains_as_much_as_the_original(rng):
    """Under the law of the embedding; what it drops makes the difference."""
    source = rng.normal(size=400)
    X = np.c_[source, 0.01 * source + 0.1 * rng.normal(size=400)]
    pipeline = fitted(X, source, PCA(1), degree=1)
    found = original_space_indices(pipeline, X)
    assert_allclose(found.first_order, 1.0)
    assert found.first_order_with_residual[0, 0] > 0.999
    assert found.first_order_with_residual[0, 1] < 0.1


def test_without_an_embedding_they_are_the_sobol_indices(rng):
    X = rng.normal(size=(4, 2))
    X = np.vstack([X, -X, X * [1, -1], X * [-1, 1]])  # exactly uncorrelated
    y = X[:, 0] + X[:, 0] * X[:, 1] + X[:, 1] ** 2
    pce = ridge_pce(2).fit(X, y)
    for pipeline in (pce, make_pipeline("passthrough", pce)):
        found = original_space_indices(pipeline, X)
        assert_allclose(found.first_order, pce.sobol_indices_, atol=1e-12)
        assert_allclose(found.shapley.sum(axis=1), 1.0)


def test_derivatives_against_finite_differences():
    X, y = rows(noise=0.3)
    pipeline = fitted(X, y, StandardScaler(), PCA(3), degree=2)
    found = original_space_indices(pipeline, X)
    _, features, _ = embedded_samples(pipeline, size=100_000)
    step = 1e-4
    for i in range(N_FEATURES):
        shift = step * np.eye(N_FEATURES)[i]
        slope = pipeline.predict(features + shift) - pipeline.predict(features - shift)
        squared = np.square(slope / (2 * step))
        error = squared.std(axis=0) / np.sqrt(len(squared))
        difference = np.abs(squared.mean(axis=0) - found.derivative_measure[:, i])
        assert np.all(difference <= 4 * error + 1e-6)
    weighted = found.derivative_measure * X.var(axis=0)
    shares = weighted / weighted.sum(axis=1, keepdims=True)
    assert_allclose(found.activity_share, shares)


def test_shapley_effects_are_those_of_a_normal_x():
    X, y = rows(noise=0.5)
    pipeline = fitted(X, y, PCA(3), degree=2)
    found = original_space_indices(pipeline, X)
    assert_allclose(found.shapley.sum(axis=1), 1.0, atol=1e-9)
    how = {"random_state": 0}
    other = shapley_effects(pipeline, X, dependence="gaussian", **how)
    assert_allclose(found.shapley, other.effects, atol=1e-6)


@pytest.mark.parametrize("seed", [0, 1])
def test_uniform_inputs_are_sampled(seed, rng):
    X = rng.uniform(-1, 1, size=(400, 3))
    y = X[:, 0] + X[:, 1] ** 2 + X[:, 0] * X[:, 1]
    pipeline = fitted(X, y, StandardScaler(), degree=2, distribution="uniform")
    found = original_space_indices(pipeline, X, random_state=seed)
    assert found.sampled
    assert found.shapley is None
    assert "shapley" not in found.to_frame()
    error = found.first_order_standard_error[0]
    assert 0 < error.max() < 0.02
    truth = pipeline[-1].sobol_indices_[0]
    assert np.all(np.abs(found.first_order[0] - truth) < 5 * error + 0.01)


def test_a_surrogate_of_compositions_gives_steps():
    X, y = rows(noise=0.3)
    first = softmax(np.c_[y[:, 0], np.zeros(len(y)), -y[:, 1]], axis=1)
    second = softmax(np.c_[y[:, 1], np.zeros(len(y))], axis=1)
    surrogate = ridge_surrogate(2, steps={"a": 3, "b": 2})
    pipeline = make_pipeline(PCA(3), surrogate).fit(X, np.hstack([first, second]))
    found = original_space_indices(pipeline, X)
    assert found.target_names == ("a", "b")
    assert_allclose(found.total_variance, pipeline[-1].step_total_variance_)
    Z, features, _ = embedded_samples(pipeline)
    ilr = pipeline[-1].transform(Z)
    weights = ilr[:, :2].var(axis=0)
    for i in (0, 5):
        shares = binned_share(features[:, i], ilr)
        expected = np.average(shares[:2], weights=weights), shares[2]
        assert_allclose(found.first_order[:, i], expected, atol=0.01)


def test_what_is_not_supported_is_named(rng):
    X, _ = rows()
    noise = original_space_indices(fitted(X, rng.normal(size=len(X)), PCA(3)), X)
    assert noise.supported == (False,)
    assert noise.reasons[0]
    mixed = original_space_indices(fitted(X, X[:, 0], VarianceThreshold(), degree=1), X)
    assert mixed.supported == (False,)
    assert "embedded input" in mixed.reasons[0][-1]
    skewed = np.exp(X / 5)
    found = original_space_indices(fitted(skewed, X[:, 0], PCA(2)), skewed)
    assert any("stated distribution" in caution for caution in found.cautions)
    X, y = rows(noise=0.1)
    good = original_space_indices(fitted(X, y[:, 0], PCA(3)), X)
    assert good.supported == (True,)


@cases(
    ("step", "name"),
    (KernelPCA(2, kernel="rbf", gamma=0.01), "kernelpca"),
    (FunctionTransformer(np.square), "functiontransformer"),
)
def test_a_step_that_is_not_affine_is_named(step, name):
    X, y = rows()
    pipeline = fitted(X, y, StandardScaler(), step)
    message = rf"'{name}' .* is not affine.*sobol_indices"
    refuses(message, original_space_indices, pipeline, X)


def test_bad_input():
    X, y = rows()
    other = make_pipeline(PCA(2), LinearRegression()).fit(X, y)
    refuses("last step is LinearRegression", original_space_indices, other, X)
    unfitted = make_pipeline(PCA(2), ridge_pce())
    refuses("not fitted", original_space_indices, unfitted, X)
    pipeline = fitted(X, y, PCA(2))
    message = "3 rows; 2 embedded inputs need at least 4"
    refuses(message, original_space_indices, pipeline, X[:3])
