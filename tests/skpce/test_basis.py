"""Polynomial families: orthonormal under quadrature, equal to scipy.special."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import special
from scipy.stats import norm, t, uniform

from skpce import (
    InputOutsideSupportWarning,
    PolynomialChaosFeatures,
    PolynomialChaosRegressor,
)

DEGREE = 30
SEED = 0


def normal_nodes(mean=0.0, sd=1.0):
    nodes, weights = special.roots_hermitenorm(DEGREE + 5)
    return mean + sd * nodes, weights / weights.sum()


def uniform_nodes(low=-1.0, high=1.0):
    nodes, weights = special.roots_legendre(DEGREE + 5)
    return (low + high) / 2 + (high - low) / 2 * nodes, weights / 2.0


LAWS = {
    "normal frozen": (norm(0, 1), *normal_nodes()),
    "normal frozen shifted": (norm(-3, 0.2), *normal_nodes(-3, 0.2)),
    "normal learned": ("normal", *normal_nodes(10, 4)),
    "uniform frozen": (uniform(-1, 2), *uniform_nodes()),
    "uniform frozen shifted": (uniform(5, 0.5), *uniform_nodes(5, 5.5)),
}


@pytest.mark.parametrize("name", LAWS)
def test_orthonormal_under_gauss_quadrature(name):
    law, nodes, weights = LAWS[name]
    features = PolynomialChaosFeatures(DEGREE, distribution=law)
    # The learned normal law sees a weighted sample with exactly its two moments.
    features.fit(nodes[:, np.newaxis], sample_weight=weights)
    design = features.transform(nodes[:, np.newaxis])
    gram = design.T @ (weights[:, np.newaxis] * design)
    np.testing.assert_allclose(gram, np.eye(DEGREE + 1), atol=1e-8)


def test_learned_uniform_is_orthonormal_between_the_extremes():
    rng = np.random.default_rng(SEED)
    sample = rng.uniform(2, 7, size=(40, 1))
    nodes, weights = uniform_nodes(sample.min(), sample.max())
    features = PolynomialChaosFeatures(DEGREE, distribution="uniform").fit(sample)
    design = features.transform(nodes[:, np.newaxis])
    gram = design.T @ (weights[:, np.newaxis] * design)
    np.testing.assert_allclose(gram, np.eye(DEGREE + 1), atol=1e-8)


def test_products_are_orthonormal_under_a_tensor_grid():
    law = [norm(0, 1), uniform(-1, 2)]
    (a, wa), (b, wb) = normal_nodes(), uniform_nodes()
    X = np.column_stack([np.repeat(a, len(b)), np.tile(b, len(a))])
    weights = np.repeat(wa, len(b)) * np.tile(wb, len(a))
    design = PolynomialChaosFeatures(6, distribution=law).fit(X).transform(X)
    gram = design.T @ (weights[:, np.newaxis] * design)
    np.testing.assert_allclose(gram, np.eye(design.shape[1]), atol=1e-10)


@pytest.mark.parametrize("degree", [0, 1, 2, 5, 12, 30])
def test_recurrences_match_scipy(degree):
    x = np.linspace(-1, 1, 41)
    hermite = PolynomialChaosFeatures(degree, distribution=norm(0, 1))
    expected = special.eval_hermitenorm(degree, x) / np.sqrt(special.factorial(degree))
    found = hermite.fit_transform(x[:, np.newaxis])[:, -1]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)
    legendre = PolynomialChaosFeatures(degree, distribution=uniform(-1, 2))
    expected = special.eval_legendre(degree, x) * np.sqrt(2 * degree + 1)
    found = legendre.fit_transform(x[:, np.newaxis])[:, -1]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


def test_every_column_is_the_product_it_is_named_after():
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(7, 3))
    features = PolynomialChaosFeatures(4, distribution=norm(0, 1)).fit(X)
    for column, row in zip(
        features.transform(X).T, features.multi_indices_, strict=True
    ):
        factors = [
            special.eval_hermitenorm(k, X[:, i]) / np.sqrt(special.factorial(k))
            for i, k in enumerate(row)
        ]
        np.testing.assert_allclose(column, np.prod(factors, axis=0), rtol=1e-9)


def test_learned_laws_are_the_weighted_moments_and_extremes():
    rng = np.random.default_rng(SEED)
    X = rng.normal(2, 3, size=(30, 2))
    weights = rng.integers(0, 4, size=30).astype(float)
    features = PolynomialChaosFeatures(distribution=["normal", "uniform"])
    normal, bounded = features.fit(X, sample_weight=weights).basis_.laws
    copies = np.repeat(X, weights.astype(int), axis=0)
    assert normal.location == pytest.approx(copies[:, 0].mean(), rel=1e-12)
    assert normal.scale == pytest.approx(copies[:, 0].std(ddof=0), rel=1e-12)
    assert bounded.support == pytest.approx((copies[:, 1].min(), copies[:, 1].max()))


@pytest.mark.parametrize("law", ["normal", "uniform"])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e8 + 0.1])
def test_constant_column_is_finite(law, value):
    rng = np.random.default_rng(SEED)
    X = np.column_stack([np.full(12, value), rng.uniform(-1, 1, 12)])
    design = PolynomialChaosFeatures(3, distribution=law).fit_transform(X)
    assert np.isfinite(design).all()
    pce = PolynomialChaosRegressor(3, distribution=law).fit(X, X[:, 1] ** 2)
    assert np.isfinite(pce.predict(X)).all()
    assert pce.total_sobol_indices_[0, 1] == pytest.approx(1.0)


def test_values_outside_a_uniform_law_warn():
    X = np.linspace(0, 1, 9)[:, np.newaxis]
    features = PolynomialChaosFeatures(distribution="uniform").fit(X)
    with pytest.warns(
        InputOutsideSupportWarning, match=r"1 of 2 values of x0 lie outside \[0, 1\]"
    ):
        features.transform([[0.5], [1.5]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features.transform([[0.0], [1.0]])


def test_a_normal_law_has_no_outside():
    features = PolynomialChaosFeatures(distribution=norm(0, 1)).fit([[0.0]])
    assert np.isfinite(features.transform([[1e6]])).all()


@pytest.mark.parametrize(
    ("distribution", "message"),
    [
        ("gamma", "must be one of 'normal', 'uniform'.*Got 'gamma'"),
        (t(3), "Got 't' instead.*QuantileTransformer"),
        (None, "Got None"),
        (norm, "frozen law"),
        (["normal"], "has 1 entries but X has 2 features"),
        (["normal"] * 3, "has 3 entries but X has 2 features"),
        (["normal", "cauchy"], "Got 'cauchy'"),
        (norm(0, 0), "mean .*nan.*positive scale"),
        (norm(0, -1), "finite numbers, and a positive scale"),
        (norm([0, 1], 1), "frozen scipy.stats.norm"),
        (uniform(0, np.inf), "frozen scipy.stats.uniform"),
    ],
)
def test_bad_distribution(distribution, message):
    with pytest.raises(ValueError, match=f"(?s)'distribution' parameter.*{message}"):
        PolynomialChaosFeatures(distribution=distribution).fit(np.eye(4, 2))


def test_names_use_the_names_of_the_inputs():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.eye(3, 2), columns=["a", "b"])
    features = PolynomialChaosFeatures(2, distribution=["normal", "uniform"])
    assert features.fit(frame).get_feature_names_out().tolist() == [
        "1",
        "He1(a)",
        "P1(b)",
        "He2(a)",
        "He1(a)*P1(b)",
        "P2(b)",
    ]


def test_one_wide_linear_basis_evaluates():
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(5, 800))
    design = PolynomialChaosFeatures(1, distribution=norm(0, 1)).fit_transform(X)
    np.testing.assert_allclose(design[:, 1:], X)


@pytest.mark.parametrize("seed", [0, 1])
def test_sampling_follows_the_laws(seed):
    law = [norm(3, 2), uniform(-1, 4)]
    basis = PolynomialChaosFeatures(distribution=law).fit(np.zeros((1, 2))).basis_
    draws = basis.sample(20000, np.random.default_rng(seed))
    np.testing.assert_allclose(draws.mean(axis=0), [3, 1], atol=0.05)
    np.testing.assert_allclose(draws.std(axis=0), [2, 4 / np.sqrt(12)], atol=0.05)
