"""Laws that the indices of any fit obey."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from skpce import PolynomialChaosRegressor

N_FEATURES = 3
N_TARGETS = 2
UNITS = (0.01, 100), (-10, 10), (0.1, 10), (-10, 10)

PCE = PolynomialChaosRegressor


@st.composite
def problems(draw):
    """Draw inputs, noisy targets and an estimator with learned laws."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(30, N_FEATURES))
    if draw(st.booleans()):
        X = rng.uniform(-1, 1, size=X.shape)
    weights = rng.normal(size=(N_FEATURES, N_TARGETS))
    y = X @ weights + X[:, :1] * X[:, 1:] + draw(st.floats(0, 3)) * rng.normal(size=2)
    y += draw(st.floats(0, 3)) * rng.normal(size=y.shape)
    model = PCE(
        draw(st.integers(1, 3)),
        distribution=draw(st.sampled_from(["normal", "uniform"])),
        solver=draw(st.sampled_from(["ridge", "ols"])),
    )
    return model, X, y


def every_index(model):
    """Return every kind of index, inputs last."""
    whole = model.aggregated_sobol_indices()
    return {
        "first": model.sobol_indices_,
        "total": model.total_sobol_indices_,
        "shapley": model.shapley_effects(),
        "aggregated": np.stack([whole.first_order, whole.total_order, whole.shapley]),
    }


@settings(max_examples=60)
@given(problems())
def test_shapley_effects_and_interactions_add_up_to_one(problem):
    model, X, y = problem
    model.fit(X, y)
    one = (model.total_variance_ > 0).astype(float)
    assert_allclose(model.shapley_effects().sum(axis=1), one)
    shares = model.interaction_indices(N_FEATURES).values
    assert_allclose(shares.sum(axis=1), one)
    variance = model.moments().variance
    assert_allclose(
        (model.shapley_effects() * variance[:, np.newaxis]).sum(axis=1), variance
    )


@settings(max_examples=60)
@given(problems())
def test_indices_of_groups_grow_with_the_group(problem):
    model, X, y = problem
    model.fit(X, y)
    inputs = range(N_FEATURES)
    every = [u for size in (1, 2, 3) for u in itertools.combinations(inputs, size)]
    for small, large in itertools.product(every, every):
        if set(small) <= set(large):
            for index in (model.closed_sobol_index, model.total_sobol_index):
                assert np.all(index(small) <= index(large) + 1e-12)
    for u in every:
        assert np.all(model.sobol_index(u) <= model.closed_sobol_index(u) + 1e-12)
        assert np.all(model.closed_sobol_index(u) <= model.total_sobol_index(u) + 1e-12)


def assert_same(found, expected, atol=1e-6):
    for name, values in expected.items():
        assert_allclose(found[name], values, atol=atol, err_msg=name)


@settings(max_examples=40)
@given(problems(), *(st.floats(*ends) for ends in UNITS))
def test_units_do_not_matter_under_learned_laws(problem, scale, shift, unit, offset):
    model, X, y = problem
    model.set_params(solver="ols")  # a ridge weighs its penalty in units of y
    plain = every_index(model.fit(X, y))
    moments = model.moments()
    assert_same(every_index(model.fit(scale * X * [1, -1, 1] + shift, y)), plain)
    assert_same(every_index(model.fit(X, unit * y + offset)), plain)
    moved = model.moments()
    assert_allclose(moved.variance, unit**2 * moments.variance, rtol=1e-6)
    assert_allclose(moved.kurtosis, moments.kurtosis, atol=1e-5)
    assert_allclose(moved.mean, unit * moments.mean + offset, atol=1e-6)


@settings(max_examples=40)
@given(problems())
def test_a_marginal_holds_the_closed_share(problem):
    model, X, y = problem
    model.fit(X, y)
    for u in itertools.combinations(range(N_FEATURES), 2):
        narrow = model.marginal(u)
        whole = model.total_variance_
        assert_allclose(narrow.total_variance, model.closed_sobol_index(u) * whole)
        parts = narrow.sobol_indices().first_order * narrow.total_variance[:, None]
        assert_allclose(parts, model.sobol_indices_[:, u] * whole[:, None])
