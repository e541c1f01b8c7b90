"""Isoprobabilistic maps: against formulas, quadrature and known copulas."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.linalg import sqrtm

from skpce import InputOutsideSupportWarning, NatafTransformer
from tests.shared import cases, copies, refuses

R = np.array([[1.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 1.0]])
LAWS = [stats.lognorm(0.5), stats.expon(scale=2.0), stats.uniform(-1, 2)]


def dependent_rows(size=400, seed=0):
    """Three columns with a Gaussian copula and the marginals of LAWS."""
    z = np.random.default_rng(seed).multivariate_normal(np.zeros(3), R, size=size)
    columns = zip(LAWS, z.T, strict=True)
    return z, np.column_stack([law.ppf(stats.norm.cdf(c)) for law, c in columns])


def parabola(size=300, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=size)
    return np.c_[x, x**2 + 0.3 * rng.normal(size=size)]


@pytest.mark.parametrize("root", ["cholesky", "symmetric"])
def test_nataf_by_hand(root):
    z, X = dependent_rows()
    found = NatafTransformer(LAWS, correlation=R, root=root).fit(X[:7])
    A = np.linalg.cholesky(R) if root == "cholesky" else sqrtm(R).real
    assert_allclose(found.transform(X), z @ np.linalg.inv(A).T, atol=1e-6)
    assert_array_equal(found.correlation_, R)


def test_the_correlation_of_lognormal_inputs_is_smaller_in_size():
    """Closed form: (exp(rho s^2) - 1) / (exp(s^2) - 1) for two lognormal columns."""
    s, rho = 0.5, -0.8
    laws = [stats.lognorm(s)] * 2
    nataf = NatafTransformer(laws, correlation=[[1, rho], [rho, 1]])
    nataf.fit(np.ones((3, 2)))
    X = nataf.sample(400_000, random_state=0)
    exact = (np.exp(rho * s**2) - 1) / (np.exp(s**2) - 1)
    # Over 20 seeds the sample correlation has a standard deviation of 0.001.
    assert np.corrcoef(X.T)[0, 1] == pytest.approx(exact, abs=0.005)
    assert abs(exact) < abs(rho)


NAMES = ["empirical", "normal", "uniform", "exponential", "gamma", "beta"]


@cases("distribution", *NAMES, LAWS, ids=[*NAMES, "frozen"])
def test_round_trip(distribution):
    _, X = dependent_rows(100)
    found = NatafTransformer(distribution).fit(X)
    back = found.inverse_transform(found.transform(X))
    # Ends of learned supports are cut at half a row.
    inside = (X.min(axis=0) != X) & (X.max(axis=0) != X)
    assert_allclose(back[inside], X[inside], rtol=1e-6, atol=1e-8)
    u = np.random.default_rng(1).normal(size=(200, 3))
    if not isinstance(distribution, str) or distribution in ("empirical", "normal"):
        again = found.transform(found.inverse_transform(u))
        assert_allclose(again, u, atol=1e-6)


def test_learned_ends_of_a_support_are_not_infinite():
    _, X = dependent_rows(100)
    for name, column in (("uniform", 2), ("beta", 2), ("exponential", 1), ("gamma", 1)):
        scores = NatafTransformer(name).fit_transform(X[:, [column]])
        assert 2 < np.abs(scores).max() < 5
    with pytest.warns(InputOutsideSupportWarning, match="values of x2"):
        far = NatafTransformer("uniform").fit(X).transform(X + np.array([0, 0, 1]))
    assert np.isfinite(far).all()


def test_empirical_marginals_go_on_as_normal_tails():
    x = np.random.default_rng(0).normal(3.0, 2.0, size=(500, 1))
    nataf = NatafTransformer().fit(x)
    low, high = nataf.inverse_transform([[-5.0], [5.0]]).ravel()
    ends = stats.norm.ppf([0.5 / 500, 1 - 0.5 / 500])
    assert low == pytest.approx(x.min() + x.std() * (-5 - ends[0]))
    assert high == pytest.approx(x.max() + x.std() * (5 - ends[1]))


@pytest.mark.parametrize("size", [200, 800, 3200])
def test_the_learned_correlation_has_the_error_of_a_correlation(size):
    """Standard deviation (1 - rho^2) / sqrt(n) of a normal-scores correlation."""
    errors = []
    for seed in range(12):
        found = NatafTransformer().fit(dependent_rows(size, seed)[1])
        errors.append((found.correlation_ - R)[0, 1])
    expected = (1 - R[0, 1] ** 2) / np.sqrt(size)
    assert 0.5 < np.sqrt(np.mean(np.square(errors))) / expected < 1.8


def test_shrinkage_by_hand():
    """Schäfer and Strimmer: sum of variances over sum of squares, term by term."""
    X = np.random.default_rng(0).normal(size=(12, 4))
    found = NatafTransformer("normal").fit(X)
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    n, top, bottom = len(X), 0.0, 0.0
    for i, j in permutations(range(4), 2):
        w = z[:, i] * z[:, j]
        top += np.sum((w - w.mean()) ** 2) / (n * (n - 1))
        bottom += w.mean() ** 2
    assert found.shrinkage_ == pytest.approx(min(top / bottom, 1.0), rel=1e-10)
    raw = NatafTransformer("normal", shrinkage=0.0).fit(X).correlation_
    assert_allclose(raw, np.corrcoef(X.T), atol=1e-12)
    whole = NatafTransformer("normal", shrinkage=1.0).fit(X)
    assert_allclose(whole.correlation_, np.eye(4))


def test_fewer_rows_than_columns():
    X = np.random.default_rng(0).normal(size=(10, 30))
    assert np.isfinite(NatafTransformer().fit_transform(X)).all()
    message = "singular correlation .* larger shrinkage"
    refuses(message, NatafTransformer(shrinkage=0.0).fit, X)


def test_constant_columns_stay_and_change_nothing_for_the_others():
    _, X = dependent_rows(200)
    wider = np.c_[X, np.full((200, 2), [0.3, 0.1])]  # whose means are rounded
    for laws in ([*LAWS, stats.norm(), stats.norm()], "empirical"):
        found = NatafTransformer(laws).fit(wider)
        assert_array_equal(found.correlation_[:3, 3:], 0.0)
        assert_array_equal(found.correlation_[3:, 3:], np.eye(2))
    assert_allclose(found.transform(wider)[:, 3:], 0, atol=1e-12)
    assert_array_equal(found.sample(9, random_state=0)[:, 3:], wider[:9, 3:])


@pytest.mark.parametrize("distribution", ["empirical", "gamma"])
def test_weights_are_copies_normalised_or_not(distribution):
    _, X = dependent_rows(100)
    transformer = NatafTransformer(distribution)
    plain = transformer.fit(X).transform(X)
    assert abs(transformer.correlation_[0, 1]) > 0.4
    normalised = transformer.fit(X, sample_weight=np.full(100, 0.01)).transform(X)
    assert_allclose(normalised, plain, atol=1e-9)
    counts = np.random.default_rng(0).integers(0, 3, size=100)
    weighted = transformer.fit(X, sample_weight=counts).transform(X[counts > 0])
    copied = transformer.fit(*copies(counts, X)).transform(X[counts > 0])
    assert_allclose(weighted, copied, atol=1e-8)


def test_names():
    X = pd.DataFrame(parabola(), columns=["a", "b"])
    X["c"] = np.random.default_rng(1).normal(size=len(X))
    nataf = NatafTransformer().set_output(transform="pandas")
    assert list(nataf.fit_transform(X)) == ["a", "b|a", "c|a..b"]
    symmetric = NatafTransformer(root="symmetric").fit(X)
    assert symmetric.get_feature_names_out().tolist() == ["a", "b", "c"]


def test_bad_input():
    X, of = parabola(30), NatafTransformer
    refuses("gives x0 of X a DiscreteLaw; expected a con", of(stats.poisson(3)).fit, X)
    refuses(r"'root' parameter .* Got 'lower'", of(root="lower").fit, X)
    refuses("singular correlation", of(correlation=np.ones((2, 2))).fit, X)
    fitted = of().fit(X)
    refuses("X has 3 columns; expected 2", fitted.inverse_transform, np.zeros((2, 3)))
