"""The number of members that a fitted expansion requires."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax

from skpce import CompositionalPCESurrogate, PolynomialChaosRegressor
from skpce._checks import make_generator
from skpce.sample_size import required_ensemble_size
from skpce.sample_size._bounds import coefficient_error_bound, sobol_error_bound
from skpce.sample_size._required import (
    SimulatedDesigns,
    VacuousBoundWarning,
)
from tests.shared import refuses, ridge_pce, ridge_surrogate
from tests.skpce.test_sample_size import NORMAL, UNIFORM, of_gram


def linear_fit(n_members=100, noise=0.3, seed=0, degree=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_members, 2))
    y = X[:, 0] + X[:, 0] * X[:, 1] + noise * rng.normal(size=n_members)
    pce = PolynomialChaosRegressor(degree, distribution=NORMAL, solver="ols")
    return pce.fit(X, y)


def policies(n_members=80, noise=0.2, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_members, 2))
    blank = np.zeros(n_members)
    first = np.c_[X[:, 0], blank, -X[:, 1]] + noise * rng.normal(size=(n_members, 3))
    second = noise * rng.normal(size=(n_members, 4))
    y = np.hstack([softmax(first, axis=1), softmax(second, axis=1)])
    options = {"solver": "ridge", "distribution": NORMAL} | options
    surrogate = CompositionalPCESurrogate(2, steps={"signal": 3, "noise": 4}, **options)
    return surrogate.fit(X, y), X, y


def required(estimator, **options):
    """Without the warning, which has its own tests."""
    with warnings.catch_warnings(action="ignore", category=VacuousBoundWarning):
        return required_ensemble_size(estimator, **options)


def test_required_size_satisfies_the_bound_and_one_member_less_does_not():
    """By hand, with the eigenvalue of the simulated designs."""
    pce = linear_fit()
    found = required(pce, tolerance=0.05)
    n = int(found.n_required[0])
    designs = SimulatedDesigns(pce.basis_, 19, make_generator(0))
    while designs.sizes[-1] < n:
        designs.grow()

    def bound(size):
        least, noise = designs.eigenvalue(size), found.noise_variance.item()
        error = coefficient_error_bound(noise, size, 6, smallest_eigenvalue=least)
        return sobol_error_bound(error, found.signal_variance[0])

    assert bound(n) <= 0.05 < bound(n - 1)


def test_new_designs_have_the_eigenvalue_that_the_plan_counts_on():
    """The smallest of 19 is undercut by one design in 20."""
    pce = linear_fit(degree=3)
    found = required(pce, tolerance=0.1)
    n = int(found.n_required[0])
    squared = found.signal_variance[0] * 0.1**2
    counted_on = coefficient_error_bound(
        found.noise_variance.item(), n, 10, smallest_eigenvalue=1.0
    )
    rng = np.random.default_rng(1)
    new = [of_gram(pce.transform(rng.normal(size=(n, 2)))) for _ in range(200)]
    below = np.sum(np.array(new) < counted_on / squared)
    assert below <= stats.binom(200, 0.15).ppf(0.999)


def test_a_linear_model_needs_what_the_formula_says(rng):
    """P = 2 and a large size: the eigenvalue is near 1, the formula explicit."""
    X = rng.uniform(-1, 1, size=(200, 1))
    pce = PolynomialChaosRegressor(1, distribution=UNIFORM, solver="ols")
    pce.fit(X, np.sqrt(3) * X[:, 0] + 0.5 * rng.normal(size=200))
    found = required(pce, tolerance=0.02, noise_variance=0.25)
    formula = 0.25 * stats.chi2(2).ppf(0.95) / (0.02**2 * found.signal_variance[0])
    assert 1.0 < found.n_required[0] / formula < 1.1


def test_the_fit_gives_noise_signal_and_counts():
    pce = linear_fit(2000, noise=0.5)
    found = required(pce)
    assert found.names == ("y",)
    assert (found.n_available, found.n_terms) == (2000, 6)
    assert found.noise_variance[0] == pytest.approx(0.25, rel=0.1)
    assert found.signal_variance[0] == pytest.approx(2.0, rel=0.15)
    design = pce.transform(pce._problem.samples.inputs)
    assert found.smallest_eigenvalue == pytest.approx(of_gram(design))
    assert (found.bound <= found.tolerance).all()
    assert not found.is_vacuous.any()


@pytest.mark.slow
def test_the_bound_of_a_fit_holds_for_its_indices():
    """Least squares, well specified: all indices, as often as the level says."""
    truth = np.array([0.5, 0.0])
    n_fits, held = 60, 0
    for seed in range(n_fits):
        pce = linear_fit(60, noise=0.3, seed=seed)
        found = required(pce, confidence_level=0.8)
        off = max(
            np.abs(pce.sobol_indices_[0] - truth).max(),
            np.abs(pce.total_sobol_indices_[0] - [1.0, 0.5]).max(),
        )
        held += off <= found.bound[0]
    assert held >= stats.binom(n_fits, 0.8).ppf(1e-3)


def test_steps_without_signal_or_choice():
    surrogate, _, _ = policies()
    with pytest.warns(VacuousBoundWarning, match="says nothing about noise: the noise"):
        found = required_ensemble_size(surrogate, tolerance=0.2)
    assert found.names == ("signal", "noise")
    assert np.isfinite(found.n_required[0])
    if surrogate.diagnostics_.loo_q2[1] <= 0:
        assert found.n_required[1] == math.inf
    else:
        assert found.n_required[1] > 10 * found.n_required[0]
    X = np.random.default_rng(0).normal(size=(20, 1))
    y = np.hstack([softmax(np.c_[X, -X], axis=1), np.ones((20, 1))])
    only = ridge_surrogate(1, steps=(2, 1)).fit(X, y)
    found = required(only)
    assert np.isnan(found.n_required[1])
    assert np.isnan(found.bound[1])
    assert "nothing to attribute" in str(found)
    refuses("'noise_variance'", required_ensemble_size, only, noise_variance=[1, 2, 3])


def test_more_terms_than_members_is_vacuous_and_not_refused(rng):
    X = rng.normal(size=(30, 5))
    pce = ridge_pce(3, distribution=NORMAL)
    pce.fit(X, X[:, 0] + 0.01 * rng.normal(size=30))
    with pytest.warns(VacuousBoundWarning, match="no more members than terms"):
        found = required_ensemble_size(pce)
    assert found.n_terms == 56 > found.n_available
    assert found.bound[0] == 1.0
    assert found.n_required[0] > 56
    assert "vacuous" in str(found)
    least = ridge_pce(3, distribution=NORMAL, solver="ols").fit(X, X[:, 0])
    assert required(least).n_required[0] == math.inf
