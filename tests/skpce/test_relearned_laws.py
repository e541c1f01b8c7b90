"""Bootstrap intervals when the laws of the inputs are learned too."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax
from scipy.stats import norm, uniform

from skpce import CompositionalPCESurrogate, PolynomialChaosRegressor
from skpce._checks import make_generator
from skpce._expansion.problem import resample_counts
from tests.shared import cases, copies

INPUTS = {
    "normal": lambda rng, n: rng.normal(3.0, 2.0, size=n),
    "uniform": lambda rng, n: rng.uniform(-1.0, 4.0, size=n),
    "exponential": lambda rng, n: rng.exponential(2.0, size=n),
    "gamma": lambda rng, n: rng.gamma(3.0, size=n),
    "beta": lambda rng, n: rng.beta(2.0, 3.0, size=n),
    "empirical": lambda rng, n: rng.normal(size=n) ** 3,
}


def cubic(distribution, n_members=80, residual=0.3):
    rng = np.random.default_rng(0)
    X = np.column_stack([INPUTS[distribution](rng, n_members) for _ in range(2)])
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    logits = np.column_stack([z[:, 0] + 0.3 * z[:, 0] ** 3, z[:, 0] * z[:, 1], z[:, 1]])
    return X, softmax(logits + residual * rng.normal(size=logits.shape), axis=1)


@pytest.mark.parametrize("truncation", ["total_degree", "hyperbolic"])
@pytest.mark.parametrize("distribution", sorted(INPUTS))
def test_least_squares_is_a_loop_of_fits(distribution, truncation):
    """Refitting by least squares in another basis of the space changes nothing."""
    X, y = cubic(distribution)
    cut = {"truncation": truncation, "q": 0.75 if truncation == "hyperbolic" else 1.0}
    how = {"solver": "ols", "distribution": distribution, "random_state": 0}
    surrogate = CompositionalPCESurrogate(3, **how, **cut)
    shown = {"coordinates": "clr"}
    surrogate.fit(X, y)
    found = surrogate.sobol_interval("coordinate", 0.5, n_resamples=8, **shown)
    draws = []
    for row in resample_counts(np.ones(len(X)), 8, make_generator(0)):
        indices = surrogate.fit(*copies(row, X, y)).sobol_indices(**shown)
        draws.append((indices.first_order, indices.total_order))
    expected = np.quantile(draws, [0.25, 0.75], axis=0)
    assert_allclose(found.first_order, expected[:, 0], atol=1e-6)
    assert_allclose(found.total_order, expected[:, 1], atol=1e-6)


# The regressor


@pytest.mark.slow
@pytest.mark.parametrize("draw", ["exponential", "levels", "labels", "two modes"])
def test_coverage_where_functions_are_of_the_sample(draw):
    """Of 2 x1 + x2 with distributions of no family: 4/5 and 1/5."""
    held, n_designs = 0, 30
    for seed in range(n_designs):
        rng = np.random.default_rng(seed)
        if draw == "exponential":
            X = z = rng.exponential(size=(200, 2))
        elif draw == "two modes":
            X = z = rng.choice([-2.5, 2.5], (200, 2)) + 0.5 * rng.normal(size=(200, 2))
        else:
            z = rng.choice([-4.0, -3.0, -2.0, -1.0], size=(200, 2))
            X = 10.0**z
        law = "categorical" if draw == "labels" else "auto"
        y = 2.0 * z[:, 0] + z[:, 1] + 0.1 * rng.normal(size=200)
        model = PolynomialChaosRegressor(distribution=law).fit(X, y)
        low, high = model.sobol_interval(random_state=0).total_order[:, 0]
        held += bool((low <= [0.8, 0.2]).all() and (high >= [0.8, 0.2]).all())
    assert held >= 0.8 * n_designs


@pytest.mark.slow
@cases(
    ("distribution", "method"),
    *(("normal", "residual"), ("uniform", "residual"), ("uniform", "bootstrap")),
    ("normal", "posterior"),
)
def test_coverage_of_a_regressor_with_learned_laws(distribution, method):
    """Without noise the laws are all that is uncertain.

    ``x1 + x2 ** 2 / 2`` has the first-order indices 2/3 and 1/3 for normal inputs,
    ``x1 + x2 ** 2`` those of variances 1/3 and 4/45 for uniform ones.
    """
    known = {"normal": (0.5, 2 / 3, norm(0, 1))}
    known["uniform"] = 1.0, 15 / 19, uniform(-1, 2)
    factor, truth, true_law = known[distribution]
    n_designs, n_fixed, held = 60, 10, {"learned": 0, "fixed": 0}
    for seed in range(n_designs):
        X = true_law.rvs(size=(100, 2), random_state=seed)
        y = X[:, 0] + factor * X[:, 1] ** 2
        laws = {"learned": distribution}
        if seed < n_fixed:
            family = true_law.dist
            laws["fixed"] = [family(*family.fit(column)) for column in X.T]
        for name, law in laws.items():
            how = {} if method == "posterior" else {"degree": 2, "solver": "ols"}
            pce = PolynomialChaosRegressor(distribution=law, **how).fit(X, y)
            given = {"method": method, "n_resamples": 100, "random_state": seed}
            low, high = pce.sobol_interval(0.8, **given).first_order[:, 0, 0]
            held[name] += low <= truth <= high
    assert held["learned"] / n_designs == pytest.approx(0.8, abs=0.15)
    assert held["fixed"] / n_fixed < 0.3
