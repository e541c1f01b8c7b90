"""Least squares on the same design against chaospy and OpenTURNS, which are optional.

scipy and SALib, whose indices come from sampling, are in test_sobol.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from skpce import PolynomialChaosRegressor

DEGREE = 5
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
    np.testing.assert_allclose(
        pce.coefficients_[0, place], loadings * np.sqrt(norms), rtol=1e-8, atol=1e-8
    )
    np.testing.assert_allclose(
        pce.sobol_indices_[0], chaospy.Sens_m(model, law), atol=1e-8
    )
    np.testing.assert_allclose(
        pce.total_sobol_indices_[0], chaospy.Sens_t(model, law), atol=1e-8
    )


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
    algorithm = openturns.LeastSquaresExpansion(
        X, y[:, np.newaxis], joint, basis, n_terms, "SVD"
    )
    algorithm.run()
    result = algorithm.getResult()
    enumerate_terms = basis.getEnumerateFunction()
    ours = {tuple(row): k for k, row in enumerate(pce.multi_indices_.tolist())}
    place = [ours[tuple(enumerate_terms(int(k)))] for k in result.getIndices()]
    np.testing.assert_allclose(
        pce.coefficients_[0, place],
        np.ravel(result.getCoefficients()),
        rtol=1e-8,
        atol=1e-8,
    )
    indices = openturns.FunctionalChaosSobolIndices(result)
    for i in range(3):
        assert pce.sobol_indices_[0, i] == pytest.approx(
            indices.getSobolIndex(i), abs=1e-8
        )
        assert pce.total_sobol_indices_[0, i] == pytest.approx(
            indices.getSobolTotalIndex(i), abs=1e-8
        )
