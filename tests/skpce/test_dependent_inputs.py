"""Indices of dependent inputs: against closed forms and quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import softmax
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skpce import NatafTransformer, PolynomialChaosRegressor
from skpce.inspection import dependent_sobol_indices
from skpce.inspection._dependent_inputs import subset_shapley
from tests.shared import OLS, ridge_pce, ridge_surrogate

R = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, -0.4], [0.0, -0.4, 1.0]])
SCALE = np.array([1.0, 2.0, 0.5])
BETA = np.array([1.0, -0.7, 3.0])
NORMALS = [stats.norm(0, s) for s in SCALE]


def exact_pce(function, laws, degree, size=400, seed=0):
    """Expand a function under independent frozen laws: only the basis matters."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([law.rvs(size=size, random_state=rng) for law in laws])
    pce = PolynomialChaosRegressor(degree, distribution=laws, solver="ols")
    return pce.fit(X, function(X)), X


def linear_gaussian(beta, covariance):
    """First, total and Shapley shares of beta @ x, by the covariance of subsets."""
    n = len(beta)
    values = np.zeros((1, 2**n))
    for place in range(1, 2**n):
        u = [i for i in range(n) if place >> i & 1]
        cross = covariance[u] @ beta
        values[0, place] = cross @ np.linalg.solve(covariance[np.ix_(u, u)], cross)
    values /= values[0, -1]
    alone = 2 ** np.arange(n)
    others = 2**n - 1 - alone
    return values[0, alone], 1 - values[0, others], subset_shapley(values, n)[0]


def indices_of(pce, X, laws=NORMALS, correlation=R, **options):
    law = NatafTransformer(laws, correlation=correlation)
    options = {"random_state": 0} | options
    return dependent_sobol_indices(pce, X, distribution=law, **options)


NAMES = ("first_order", "total_order", "shapley")


def assert_close(found, *exact, atol=1e-6, largest=0.01, of=slice(None)):
    """Within four standard errors of sampling."""
    for name, expected in zip(NAMES, exact, strict=False):
        if expected is not None:
            error = getattr(found, f"{name}_standard_error")[of]
            assert np.all(error < largest)
            difference = np.abs(getattr(found, name)[of] - expected)
            assert np.all(difference <= 4 * error + atol), name


@pytest.mark.parametrize("seed", [0, 1])
def test_the_linear_gaussian_model(seed):
    pce, X = exact_pce(lambda X: X @ BETA, NORMALS, 1)
    found = indices_of(pce, X, random_state=seed)
    covariance = R * np.outer(SCALE, SCALE)
    assert_close(found, *linear_gaussian(BETA, covariance))
    variance = BETA @ covariance @ BETA
    error = found.variance_standard_error
    assert np.all(np.abs(found.total_variance - variance) < 4 * error + 1e-9)
    assert_allclose(found.shapley.sum(axis=1), 1.0, atol=1e-12)


def wave(X):
    """The Ishigami function without its second input, which acts alone."""
    return np.sin(X[:, 0]) * (1 + 0.1 * X[:, 1] ** 4)


def wave_by_quadrature(rho, n_nodes):
    """Indices of uniform inputs with a Gaussian copula."""
    nodes, w = np.polynomial.legendre.leggauss(n_nodes)
    z, w = stats.norm.ppf((nodes + 1) / 2), w / 2  # of uniform variables: no tails
    given, rest = np.meshgrid(z, z, indexing="ij")
    other = rho * given + np.sqrt(1 - rho**2) * rest
    X = np.pi * (2 * stats.norm.cdf(np.stack([given, other], axis=-1)) - 1)
    tables = [wave(x.reshape(-1, 2)).reshape(given.shape) for x in (X, X[..., ::-1])]
    mean = w @ tables[0] @ w
    whole = w @ np.square(tables[0] - mean) @ w
    first = np.array([w @ np.square(f @ w - mean) for f in tables]) / whole
    total = 1 - first[::-1]
    return first, total, (first + total) / 2


@pytest.fixture(scope="module")
def wave_pce():
    return exact_pce(wave, [stats.uniform(-np.pi, 2 * np.pi)] * 2, 12, size=1500)


@pytest.mark.parametrize("rho", [-0.8, 0.4])
def test_a_wave_with_a_gaussian_copula(wave_pce, rho):
    pce, X = wave_pce
    exact = wave_by_quadrature(rho, 60)
    assert_allclose(exact, wave_by_quadrature(rho, 40), rtol=2e-3, atol=2e-4)
    found = indices_of(pce, X, pce.distribution, [[1, rho], [rho, 1]])
    assert_close(found, *exact, atol=1e-3, largest=0.02)


def test_independent_inputs_have_sobol_indices(wave_pce):
    pce, X = wave_pce
    found = indices_of(pce, X, pce.distribution, np.eye(2))
    assert_close(found, pce.sobol_indices_, pce.total_sobol_indices_)
    assert_allclose(found.closed_form_first_order, pce.sobol_indices_)
    assert_allclose(found.closed_form_total_order, pce.total_sobol_indices_)
    assert_allclose(found.closed_form_variance, pce.total_variance_)


def test_groups():
    pce, X = exact_pce(lambda X: X @ BETA, NORMALS, 1)
    found = indices_of(pce, X, groups={"pair": [0, "x2"]})
    assert found.feature_names == ("pair", "x1")
    covariance = R * np.outer(SCALE, SCALE)
    first, total, _ = linear_gaussian(BETA, covariance)
    # Of two players: the game has two orders.
    pair = np.array([1 - total[1], first[1]]), np.array([1 - first[1], total[1]])
    assert_close(found, *pair, (pair[0] + pair[1]) / 2)
    closed = BETA**2 * SCALE**2 / np.sum(BETA**2 * SCALE**2)
    expected = [[closed[0] + closed[2], closed[1]]]
    assert_allclose(found.closed_form_first_order, expected)
    assert_allclose(found.closed_form_total_order, expected)
    whole = dependent_sobol_indices(pce, X, groups={"all": [0, 1, 2]}, random_state=0)
    for name in NAMES:
        assert_allclose(getattr(whole, name), 1.0, atol=0.01)


def test_random_orders_agree_with_all_subsets(rng):
    n = 9
    A = rng.normal(size=(n, n))
    covariance = A @ A.T / n + 0.3 * np.eye(n)
    scale = np.sqrt(np.diag(covariance))
    laws = [stats.norm(0, s) for s in scale]
    beta = rng.normal(size=n)
    pce, X = exact_pce(lambda X: X @ beta, laws, 1)
    correlation = covariance / np.outer(scale, scale)
    few = indices_of(pce, X, laws, correlation, n_samples=2048)
    exact = linear_gaussian(beta, covariance)[2]
    error = few.shapley_standard_error
    assert np.all(np.abs(few.shapley - exact) < 4 * error + 1e-6)
    assert np.all(error < 0.05)
    assert_allclose(few.shapley.sum(), 1.0, atol=1e-12)


@pytest.mark.slow
def test_standard_errors_are_those_of_repetitions():
    pce, X = exact_pce(lambda X: X[:, 0] ** 3 + X[:, 1] * X[:, 2], NORMALS, 3)
    runs = [indices_of(pce, X, n_samples=1024, random_state=seed) for seed in range(16)]
    for name in NAMES:
        spread = np.std([getattr(run, name) for run in runs], axis=0, ddof=1)
        error = np.mean(
            [getattr(run, f"{name}_standard_error") for run in runs], axis=0
        )
        assert np.all(np.abs(np.log2(error / spread)) < 1), name


def test_steps_of_a_surrogate_add_up_in_aitchison_geometry(rng):
    X = rng.multivariate_normal(np.zeros(3), R, size=300)
    weights = rng.normal(size=(3, 3))
    y = np.hstack([softmax(X @ weights, axis=1), softmax(X[:, :2], axis=1)])
    y = np.hstack([y, np.ones((len(y), 1))])
    surrogate = ridge_surrogate(
        1, steps={"a": 3, "b": 2, "stop": 1}, distribution=stats.norm(0, 1)
    ).fit(X, y)
    found = indices_of(surrogate, X, [stats.norm(0, 1)] * 3)
    assert found.target_names == ("a", "b", "stop")
    clr = surrogate.expansion_.coefficients[:3, 1:]  # linear terms of x0, x1, x2
    variances = np.array([row @ R @ row for row in clr])
    shares = np.array([linear_gaussian(row, R) for row in clr])
    expected = np.tensordot(variances / variances.sum(), shares, 1)
    assert_close(found, *expected, atol=1e-5, largest=np.inf, of=0)
    for name in (*NAMES, "total_variance"):
        assert np.all(getattr(found, name)[2] == 0)
    assert found.supported == (True, True, False)
    assert found.reasons[2] == ("the expansion has no variance",)


def test_behind_an_embedding_the_columns_of_x_count(rng):
    X = rng.multivariate_normal(np.zeros(3), R, size=300)
    pipeline = make_pipeline(PCA(), PolynomialChaosRegressor(1, **OLS))
    pipeline.fit(X, X @ BETA)
    laws = [stats.norm(0, 1)] * 3
    found = indices_of(pipeline, X, laws)
    assert_close(found, *linear_gaussian(BETA, R))
    assert np.isnan(found.closed_form_first_order).all()
    assert "none for the columns before an embedding" in found.independence
    squares = make_pipeline(
        FunctionTransformer(np.square), PolynomialChaosRegressor(1, **OLS)
    ).fit(X, X[:, 0] ** 2 + X[:, 1] ** 2)
    found = indices_of(squares, X, laws)
    # Var E[x1^2 + x2^2 | x1] = 2 (1 + rho^2)^2 of a variance of 4 (1 + rho^2).
    assert found.first_order[0, 0] == pytest.approx((1 + 0.25) / 2, abs=0.01)


def test_a_law_that_is_no_gaussian_copula(rng):
    """x1 is nearly a square of x0, without correlation: Nataf's law cannot see it."""
    x = rng.normal(size=300)
    X = np.c_[x, x**2 + 0.3 * rng.normal(size=300)]
    pce = ridge_pce(1).fit(X, X[:, 1])
    nataf = dependent_sobol_indices(pce, X, n_samples=4096, random_state=0)
    assert nataf.first_order[0, 0] < 0.1  # the truth is 2 / 2.09
    assert any("a Gaussian copula, leaves" in text for text in nataf.cautions)
    assert "distance correlation" in nataf.independence


@pytest.mark.slow
def test_the_error_of_the_law():
    pce, X = exact_pce(lambda X: X @ BETA, NORMALS, 1, size=60)
    X = np.random.default_rng(1).multivariate_normal(np.zeros(3), R, size=60) * SCALE
    found = dependent_sobol_indices(
        pce, X, n_samples=1024, n_resamples=20, random_state=0
    )
    assert np.all(found.shapley_distribution_error > 3 * found.shapley_standard_error)
    assert np.all(found.shapley_distribution_error < 0.2)
    covariance = R * np.outer(SCALE, SCALE)
    truth = linear_gaussian(BETA, covariance)[2]
    assert np.all(np.abs(found.shapley - truth) < 4 * found.shapley_distribution_error)
