"""The same figures from other libraries, which the extra ``oracle`` installs.

Least squares on the same design by chaospy and OpenTURNS, indices by sampling of SALib,
the dip by diptest, scores of forecasts by scoringrules; log-ratios by
composition-stats are in test_log_ratio.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from skpce import PolynomialChaosRegressor
from skpce.inspection._modes import dip_p_values, dip_statistic
from skpce.metrics import crps_score
from tests.shared import ishigami, ridge_pce

DEGREE = 3  # the symbols of chaospy take minutes at degree 5
LAWS = {
    "uniform": [stats.uniform(-np.pi, 2 * np.pi)] * 3,
    "normal": [stats.norm(0.5, 0.6)] * 3,
    "mixed": [stats.uniform(-1, 3), stats.norm(0.5, 0.6), stats.uniform(0, 2)],
}
CASES = pytest.mark.parametrize("case", LAWS)


@pytest.fixture
def fitted(case):
    rng = np.random.default_rng(0)
    X = np.column_stack([law.rvs(300, random_state=rng) for law in LAWS[case]])
    y = np.sin(X[:, 0]) + 7 * np.sin(X[:, 1]) ** 2 + 0.1 * X[:, 2] ** 4 * X[:, 0]
    pce = PolynomialChaosRegressor(DEGREE, distribution=LAWS[case], solver="ols")
    return pce.fit(X, y), X, y


def of_each(laws, uniform, normal):
    """Make the laws of another library."""
    return [
        uniform(*law.support())
        if law.dist.name == "uniform"
        else normal(law.mean(), law.std())
        for law in laws
    ]


@pytest.mark.slow
@CASES
def test_chaospy(fitted, case):
    chaospy = pytest.importorskip("chaospy")
    pce, X, y = fitted
    law = chaospy.J(*of_each(LAWS[case], chaospy.Uniform, chaospy.Normal))
    basis, norms = chaospy.generate_expansion(DEGREE, law, retall=True)
    model, loadings = chaospy.fit_regression(basis, X.T, y, retall=True)
    # The order of the terms is another one: match them by their values at X.
    values = np.asarray(basis(*X.T)) / np.sqrt(norms)[:, np.newaxis]
    ours = pce.transform(X).T
    place = [int(np.argmin(np.abs(ours - row).max(axis=1))) for row in values]
    assert sorted(place) == list(range(len(place)))
    expected = loadings * np.sqrt(norms)
    assert_allclose(pce.coefficients_[0, place], expected, rtol=1e-8, atol=1e-8)
    assert_allclose(pce.sobol_indices_[0], chaospy.Sens_m(model, law), atol=1e-8)
    assert_allclose(pce.total_sobol_indices_[0], chaospy.Sens_t(model, law), atol=1e-8)


@CASES
def test_openturns(fitted, case):
    openturns = pytest.importorskip("openturns")
    pce, X, y = fitted
    marginals = of_each(LAWS[case], openturns.Uniform, openturns.Normal)
    joint = openturns.JointDistribution(marginals)
    basis = openturns.OrthogonalProductPolynomialFactory(
        [openturns.StandardDistributionPolynomialFactory(m) for m in marginals]
    )
    n_terms = len(pce.multi_indices_)
    given = X, y[:, np.newaxis], joint, basis, n_terms, "SVD"
    algorithm = openturns.LeastSquaresExpansion(*given)
    algorithm.run()
    result = algorithm.getResult()
    enumerate_terms = basis.getEnumerateFunction()
    ours = {tuple(row): k for k, row in enumerate(pce.multi_indices_.tolist())}
    place = [ours[tuple(enumerate_terms(int(k)))] for k in result.getIndices()]
    expected = np.ravel(result.getCoefficients())
    assert_allclose(pce.coefficients_[0, place], expected, rtol=1e-8, atol=1e-8)
    indices = openturns.FunctionalChaosSobolIndices(result)
    first = [indices.getSobolIndex(i) for i in range(3)]
    total = [indices.getSobolTotalIndex(i) for i in range(3)]
    assert_allclose(pce.sobol_indices_[0], first, atol=1e-8)
    assert_allclose(pce.total_sobol_indices_[0], total, atol=1e-8)


def test_salib():
    saltelli = pytest.importorskip("SALib.sample.sobol")
    analyzer = pytest.importorskip("SALib.analyze.sobol")

    problem = {"num_vars": 3, "names": list("abc"), "bounds": [[-np.pi, np.pi]] * 3}
    points = saltelli.sample(problem, 2**12, seed=0)
    found = analyzer.analyze(problem, ishigami(points), num_resamples=2, seed=0)
    pce = ridge_pce(12, distribution=LAWS["uniform"])
    pce.fit(points[:1000], ishigami(points[:1000]))
    assert np.abs(found["ST"] - pce.total_sobol_indices_[0]).max() < 2e-2
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert found["S2"][i, j] == pytest.approx(pce.sobol_index([i, j])[0], abs=0.02)


DIP_SAMPLES = {
    "normal": lambda rng: rng.normal(size=300),
    "uniform": lambda rng: rng.uniform(size=100),
    "two modes": lambda rng: rng.normal(np.repeat([-2, 2], [80, 120])),
    "ties": lambda rng: rng.integers(0, 12, size=150).astype(float),
    "heavy tails": lambda rng: rng.standard_cauchy(size=200),
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sample", DIP_SAMPLES)
def test_diptest(sample, seed):
    diptest = pytest.importorskip("diptest")
    values = DIP_SAMPLES[sample](np.random.default_rng(seed))
    dip = dip_statistic(values)
    assert dip == pytest.approx(diptest.dipstat(values), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("n_values", [10, 15, 30, 47, 200, 1500])
def test_p_values_of_diptest(n_values):
    """Theirs are shares of 20,000 simulated uniform samples."""
    diptest = pytest.importorskip("diptest")
    rng = np.random.default_rng(n_values)
    for distance in np.linspace(0, 6, 13) * 6 / np.sqrt(n_values):
        values = rng.normal(size=n_values) + distance * rng.integers(0, 2, n_values)
        dip, theirs = diptest.diptest(values, boot_pval=True, n_boot=20_000, seed=1)
        ours = dip_p_values(np.array([dip]), n_values)[0]
        assert ours == pytest.approx(theirs, rel=0.15, abs=5e-4)


@pytest.fixture
def forecasts():
    """Policies of two steps and 60 members, with 40 draws of each."""
    rng = np.random.default_rng(3)
    parts = [rng.dirichlet(np.arange(2.0, 2.0 + k), size=(41, 60)) for k in (2, 4)]
    table = np.concatenate(parts, axis=2)
    return table[0], table[1:], [slice(0, 2), slice(2, 6)]


def test_scoringrules_crps(forecasts):
    rules = pytest.importorskip("scoringrules")
    y, draws, steps = forecasts
    each = rules.crps_ensemble(y, draws, m_axis=0, estimator="nrg")
    expected = [each[:, columns].mean() for columns in steps]
    assert_allclose(crps_score(y, draws, steps=(2, 4)), expected, rtol=1e-10)
