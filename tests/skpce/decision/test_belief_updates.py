"""Updates of a belief against posteriors that are known."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm, poisson, uniform

from skpce._input_laws import check_distribution, learn_input_laws
from skpce.decision import InputBelief
from skpce.decision._belief import (
    DegenerateBeliefWarning,
    effective_sample_size,
    liu_west,
    read_observation,
    reweighted,
)
from skpce.decision._policy import kalman_updated
from tests.shared import cases, refuses

MEAN = np.array([0.5, -1.0])
COVARIANCE = np.array([[1.0, 0.4], [0.4, 0.5]])
SLOPES = np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, 0.0]])
NOISE_SD = np.array([0.5, 1.0, 0.2])
OBSERVED = np.array([1.5, -0.5, 0.1])


def kalman_formulas(mean, covariance):
    """The posterior of a linear outcome of normal inputs."""
    total = SLOPES @ covariance @ SLOPES.T + np.diag(NOISE_SD**2)
    gain = np.linalg.solve(total, SLOPES @ covariance).T
    posterior = covariance - gain @ SLOPES @ covariance
    return mean + gain @ (OBSERVED - SLOPES @ mean), posterior


def linear_observation():
    return read_observation("test", OBSERVED, lambda x: x @ SLOPES.T, NOISE_SD, None)


def normal_belief(n_particles, seed, weighted=False):
    rng = np.random.default_rng(seed)
    particles = rng.multivariate_normal(MEAN, COVARIANCE, size=n_particles)
    weights = rng.gamma(2.0, size=n_particles) if weighted else None
    return InputBelief(particles, weights)


def by_weights(belief, log_likelihood, seed=0, **changes):
    settings = {"resample_below": 0.5, "shrinkage": 0.98, **changes}
    generator = np.random.default_rng(seed)
    return reweighted(belief, log_likelihood, generator=generator, **settings)


def error(belief):
    mean, covariance = kalman_formulas(MEAN, COVARIANCE)
    return np.sqrt(
        np.square(belief.mean - mean).sum()
        + np.square(belief.covariance - covariance).sum()
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_the_filter_is_exact_on_the_moments_of_the_particles(weighted):
    belief = normal_belief(50, 0, weighted)
    mean, covariance = kalman_formulas(belief.mean, belief.covariance)
    updated = kalman_updated(belief, linear_observation())
    assert_allclose(updated.mean, mean, atol=1e-12)
    assert_allclose(updated.covariance, covariance, atol=1e-12)
    assert_array_equal(updated.weights, belief.weights)


def updated_by(method, n_particles, seed):
    belief = normal_belief(n_particles, seed)
    if method == "kalman":
        return kalman_updated(belief, linear_observation())
    below = 0.0 if method == "weights" else 0.5
    log_likelihood = linear_observation().log_likelihood
    return by_weights(belief, log_likelihood, seed + 1, resample_below=below)


@pytest.mark.filterwarnings("ignore:Fewer .* of the first 100 particles:UserWarning")
@pytest.mark.parametrize("method", ["weights", "resampled", "kalman"])
def test_error_of_the_conjugate_case_falls_as_the_root_of_the_particles(method):
    sizes = np.array([100, 400, 1600, 6400])
    errors = []
    for size in sizes:
        runs = [updated_by(method, size, seed) for seed in range(20)]
        errors.append(np.sqrt(np.mean([error(run) ** 2 for run in runs])))
    resampled = {run.n_resampled > 0 for run in runs}
    assert resampled == {method == "resampled"}
    order = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert order == pytest.approx(-0.5, abs=0.1)
    assert errors[-1] < 0.03


def test_the_law_is_the_posterior_and_not_only_its_moments():
    """Quantiles after resampling, averaged over runs, against the normal law.

    One run has a standard deviation of at most 0.05, so their mean 0.009.
    """
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    runs = [updated_by("resampled", 2000, seed) for seed in range(30)]
    found = np.mean([run.quantile(levels) for run in runs], axis=0)
    mean, covariance = kalman_formulas(MEAN, COVARIANCE)
    exact = norm(mean, np.sqrt(np.diag(covariance))).ppf(levels[:, np.newaxis])
    assert_allclose(found, exact, atol=0.035)


def test_weights_find_two_modes_where_the_filter_learns_nothing(rng):
    """The outcome x² carries no information on the sign: cov(x, x²) = 0."""
    half = rng.normal(size=(20_000, 1))
    belief = InputBelief(np.vstack([half, -half]))
    seen = read_observation("test", 2.25, lambda x: x[:, 0] ** 2, 0.3, None)
    weighted = by_weights(belief, seen.log_likelihood, resample_below=0.0)
    grid = np.linspace(-6, 6, 4001)
    density = norm.pdf(grid) * norm(2.25, 0.3).pdf(grid**2)
    expected = np.average(np.abs(grid), weights=density)
    found = weighted.weights @ np.abs(weighted.particles[:, 0])
    assert found == pytest.approx(expected, abs=0.01)
    filtered = kalman_updated(belief, seen)
    assert_allclose(filtered.particles, belief.particles, atol=1e-9)


def test_effective_sample_size_and_quantiles_by_hand():
    belief = InputBelief([[3.0], [1.0], [2.0]], [1.0, 2.0, 1.0])
    assert belief.effective_sample_size == pytest.approx(16 / 6)
    assert_array_equal(belief.quantile([0.5, 0.6, 1.0])[:, 0], [1, 2, 3])
    assert_allclose(belief.mean, 1.75)
    assert_allclose(belief.covariance, [[0.6875]])
    assert_allclose(InputBelief(belief.particles).weights, 1 / 3)
    assert "mean 1.75, sd 0.829, 90 % in [1, 3]" in str(belief)
    assert_allclose(
        belief.to_frame().iloc[0, 1:].astype(float)[["low", "high"]], [1, 3]
    )


def of_first_input(value, noise_sd):
    return read_observation("test", value, lambda x: x[:, 0], noise_sd, None)


def test_the_weights_stay_above_the_threshold():
    belief = normal_belief(1000, 0)
    found = by_weights(belief, of_first_input(2.0, 0.001).log_likelihood)
    assert effective_sample_size(found.weights) >= 0.5 * 1000 - 1e-6
    assert found.n_resampled > 3
    assert found.mean[0] == pytest.approx(2.0, abs=0.001)
    assert found.standard_deviation[0] == pytest.approx(0.001, rel=0.3)


def mixed_belief():
    """A bounded input, a count, and a category coded 0, 1."""
    rng = np.random.default_rng(0)
    columns = rng.uniform(size=300), rng.poisson(3, 300), rng.integers(2, size=300)
    X = np.column_stack(columns).astype(float)
    kinds = [uniform(), poisson(3), "categorical"]
    given = check_distribution("test", kinds, ["a", "b", "c"])
    laws = learn_input_laws(given, X, np.ones(300))
    return InputBelief(X, rng.gamma(1.0, size=300), distributions=laws)


def test_no_update_leaves_the_supports():
    belief = mixed_belief()
    moved = liu_west(belief, 0.7, np.random.default_rng(0))
    assert not belief.outside(moved.particles).any()
    assert len(np.unique(moved.particles[:, 0])) > 200
    assert set(moved.particles[:, 2]) == {0.0, 1.0}
    only = InputBelief(belief.particles[:, :1], distributions=belief.distributions[:1])
    high = read_observation("test", 3.0, lambda x: x[:, 0], 0.01, None)
    assert kalman_updated(only, high).particles.max() == 1.0
    refuses(r"Input 'x1' takes single values", kalman_updated, belief, high)


def test_an_impossible_observation_is_refused_and_a_hard_one_is_not():
    belief = normal_belief(500, 0)
    with pytest.raises(ValueError, match="impossible at every particle"):
        by_weights(belief, lambda x: np.full(len(x), -np.inf))

    def hard(inputs):
        return np.where(inputs[:, 0] > 2.0, 0.0, -np.inf)

    found = by_weights(belief, hard)
    assert found.particles[found.weights > 0, 0].min() > 2.0


@pytest.mark.parametrize("size", [1e-320, 1e308])
def test_weights_count_up_to_a_factor(size):
    belief = InputBelief(np.arange(4.0)[:, np.newaxis], np.full(4, size))
    assert_allclose(belief.weights, 0.25)


@pytest.mark.parametrize(
    ("value", "noise_sd"), [(2, 0.3), (3, 0.01), (4, 0.1), (1e6, 0.01)]
)
def test_a_surprise_warns_or_the_posterior_is_right(value, noise_sd):
    """Beside the observed input is one that keeps its standard normal law.

    The mean of its m particles that count has the standard deviation m^(-1/2).
    """
    particles = np.random.default_rng(0).normal(size=(1000, 2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        likelihood = of_first_input(value, noise_sd).log_likelihood
        found = by_weights(InputBelief(particles), likelihood)
    size = found.effective_sample_size
    assert [w.category for w in caught] == [DegenerateBeliefWarning] * (size < 10)
    assert (value == 2) == (size >= 10)
    if size >= 10:
        exact = np.array([value, noise_sd]) / [1 + noise_sd**2, np.hypot(1, noise_sd)]
        assert_allclose(found.mean, [exact[0], 0], atol=3 * size**-0.5)
        assert_allclose(found.standard_deviation, [exact[1], 1], rtol=3 * size**-0.5)


@cases(
    ("arguments", "message"),
    (([1.0, 2.0],), "particles.*finite table"),
    (([[1.0, 2.0]], None, "ab"), "names.*2 names"),
    (([[1.0]], [-1.0]), "non-negative"),
    (([[1.0]], None, ["a", "b"]), "names.*1 names"),
)
def test_bad_beliefs(arguments, message):
    refuses(message, InputBelief, *arguments)
