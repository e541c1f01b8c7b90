"""Modes of a Gaussian process against the formulas and its own covariance."""

import pickle
from contextlib import nullcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from gflownet_envs.rewards.gaussian_process import (
    gaussian_process_modes,
    one_hot_levels,
)
from tests.shared import cases, refuses, ridge_pce

SIZES = (3, 4, 5)
LEVELS = np.indices(SIZES).reshape(3, -1).T
CANDIDATES = one_hot_levels(LEVELS, SIZES)


def measured(n_rows=30, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    effects = [rng.normal(size=size) for size in SIZES]
    truth = 20 + 5 * sum(e[LEVELS[:, i]] for i, e in enumerate(effects))
    rows = rng.choice(len(LEVELS), n_rows, replace=False)
    return rows, truth[rows] + noise * rng.normal(size=n_rows)


def fitted(n_modes=6, **parameters):
    rows, y = measured()
    return gaussian_process_modes(
        CANDIDATES[rows], y, CANDIDATES, n_modes=n_modes, random_state=0, **parameters
    )


def test_the_posterior_against_the_formula():
    rows, y = measured()
    modes = fitted(n_fitted_rows=20)
    X, scale = CANDIDATES[rows], y.std()
    noise = modes.noise_variance / scale**2
    inverse = np.linalg.inv(modes.kernel(X) + noise * np.eye(len(X)))
    cross = modes.kernel(CANDIDATES, X)
    mean = y.mean() + cross @ inverse @ (y - y.mean())
    covariance = modes.kernel(CANDIDATES) - cross @ inverse @ cross.T
    assert_allclose(modes.mean, mean, atol=1e-6 * scale)
    assert_allclose(modes.covariance, scale**2 * covariance, atol=1e-6 * scale**2)


@cases(
    ("status", "message", "warns"),
    (2, "ABNORMAL: ", False),
    (1, "STOP: TOTAL NO. OF ITERATIONS REACHED LIMIT", True),
)
def test_an_optimum_up_to_rounding_is_one(monkeypatch, status, message, warns):
    """L-BFGS-B ends abnormally on some processors where it converges on others."""
    levels = np.indices((4, 3)).reshape(2, -1).T
    X = one_hot_levels(levels, (4, 3))
    y = levels.sum(axis=1) + np.random.default_rng(0).normal(size=12)
    expected = gaussian_process_modes(X, y, X, n_modes=2, random_state=0)

    def ended(*arguments, **options):
        found = minimize(*arguments, **options)
        found.status, found.message = status, message
        return found

    monkeypatch.setattr("scipy.optimize.minimize", ended)
    said = pytest.warns(ConvergenceWarning, match="failed") if warns else nullcontext()
    with said:
        found = gaussian_process_modes(X, y, X, n_modes=2, random_state=0)
    assert_array_equal(found.mean, expected.mean)


def test_modes_are_those_of_the_covariance():
    modes = fitted()
    V, variances = modes.components, modes.variances
    assert_allclose(V @ V.T, np.eye(6), atol=1e-10)
    assert_allclose(modes.covariance @ V.T, V.T * variances, atol=1e-8)
    assert (np.diff(variances) <= 0).all()
    assert (V[np.arange(6), np.abs(V).argmax(axis=1)] > 0).all()
    whole = np.linalg.eigvalsh(modes.covariance)[::-1]
    assert_allclose(modes.explained_variance_ratio, whole[:6] / whole.sum())


def test_samples_have_the_posterior_covariance():
    modes = fitted()
    n = 20_000
    inputs, values = modes.sample(n, random_state=1)
    deviation = np.sqrt(np.diag(modes.covariance))
    assert np.abs((values.mean(axis=0) - modes.mean) / deviation).max() < 5 / np.sqrt(n)
    error = (np.cov(values.T) - modes.covariance) / np.outer(deviation, deviation)
    assert np.abs(error).max() < 6 / np.sqrt(n)
    assert_allclose(modes.inputs(values), inputs, atol=1e-8)
    remainder = values - modes.values(inputs)
    assert np.abs(inputs.T @ remainder / n / deviation).max() < 5 / np.sqrt(n)


def test_modes_stand_in_a_pipeline():
    """Nothing is learned from members, so that no fold sees another's."""
    modes = fitted()
    embedding = modes.transformer()
    inputs, log_reward = modes.sample(40, random_state=0)
    part = clone(embedding).fit(log_reward[:5])
    assert part.func.__self__ is modes  # no copy of the covariance
    assert_allclose(part.transform(log_reward), inputs, atol=1e-8)
    assert_allclose(part.inverse_transform(inputs), modes.values(inputs))
    y = 1 + inputs @ [1.0, -2.0, 0.5, 0.0, 0.0, 3.0]
    pipeline = make_pipeline(embedding, ridge_pce(1))
    assert cross_val_score(pipeline, log_reward, y).min() > 0.999
    pytest.importorskip("pandas")
    named = pickle.loads(pickle.dumps(embedding)).set_output(transform="pandas")
    frame = named.fit_transform(log_reward)
    assert frame.columns.tolist() == [f"mode{k}" for k in range(modes.n_modes)]
    assert_allclose(frame, inputs, atol=1e-8)


def test_without_a_remainder_functions_are_those_of_the_inputs():
    modes = fitted()
    inputs, values = modes.sample(4, remainder=False, random_state=0)
    expected = modes.mean + inputs @ np.diag(modes.variances**0.5) @ modes.components
    assert_allclose(values, expected)
    assert_allclose(modes.values(inputs), expected)
    again = modes.sample(4, remainder=False, random_state=0)
    assert_array_equal(again[1], values)


@cases(
    ("change", "message"),
    ({"targets": np.ones(3)}, r"of shape \(30,\), one per row .* got shape \(3,\)"),
    ({"n_modes": 61}, "at most the number of candidates, 60, got 61"),
    ({"kernel": "rbf"}, "kernel must be a kernel of scikit-learn, got 'rbf'"),
    ({"candidates": CANDIDATES[[0, 0]]}, "mode 2 has"),
)
def test_bad_arguments(change, message):
    rows, y = measured()
    given = {"features": CANDIDATES[rows], "targets": y, "candidates": CANDIDATES}
    refuses(message, gaussian_process_modes, **given | {"n_modes": 2} | change)


def test_bad_samples_and_levels():
    modes, other = fitted(), np.zeros((2, 3))
    refuses(r"inputs must have shape \(n_members, 6\)", modes.values, other)
    refuses(r"values must have shape \(n_members, 60\)", modes.inputs, other)
    words = r"\[0, 3\) for component 0, got 3 in row 1"
    refuses(words, one_hot_levels, [[0, 0], [3, 0]], (3, 2))
    refuses("one size a component", one_hot_levels, [[0, 0]], (3,))
