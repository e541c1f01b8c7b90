"""Decisions of each rule, their laws, and what the user may get wrong."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax
from scipy.stats import norm
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from skpce.decision import InputBelief, ThompsonPolicy
from tests.shared import cases, refuses, ridge_surrogate

N_CHOICES = 2000
# Three standard deviations of a frequency and of the mean of 2000 particles.
TOLERANCE = 0.04


def logistic_ensemble(n_members=80, slope=2.0):
    """Two steps of two actions, logits ``slope * x``; a masked and a lone part."""
    X = np.random.default_rng(0).normal(size=(n_members, 1))
    pair = softmax(np.c_[slope * X, 0 * X], axis=1)
    zero, one = np.zeros(n_members), np.ones(n_members)
    return X, np.c_[pair, zero, pair, one]


@pytest.fixture(scope="module")
def surrogate():
    X, y = logistic_ensemble()
    steps = {"first": 3, "second": 2, "only": 1}
    law = {"solver": "ols", "distribution": norm(0, 1)}
    return ridge_surrogate(1, steps=steps, **law).fit(X, y)


def started(surrogate, rule="draw", **changes):
    return ThompsonPolicy(surrogate, rule=rule, random_state=0, **changes).fit()


def frequencies(policy):
    """How often action 0 is taken in the first two steps, and in both."""
    taken = np.array([policy.choose().actions for _ in range(N_CHOICES)])
    assert set(taken[:, 2]) == {0}  # the only action
    assert taken[:, 0].max() == 1  # never the masked one
    zero = taken[:, :2] == 0
    return (*zero.mean(axis=0), zero.all(axis=1).mean())


def exact_shares(mean):
    """E p and E p² for a normal input of unit variance: one step, and two alike."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    p = expit(2.0 * (mean + nodes))
    return np.array([p, p**2]) @ weights / weights.sum()


@pytest.mark.slow
def test_draw_is_coherent_over_the_steps_and_mean_is_not(surrogate):
    """Both have the same law in one step, and different laws over two."""
    one, both = exact_shares(0.3)
    inputs = norm(0.3, 1)
    drawn = frequencies(started(surrogate, "draw", inputs=inputs, n_particles=5000))
    assert_allclose(drawn, [one, one, both], atol=TOLERANCE)
    mixed = frequencies(started(surrogate, "mean", inputs=inputs, n_particles=2000))
    assert_allclose(mixed, [one, one, one**2], atol=TOLERANCE)
    assert both - one**2 > 2 * TOLERANCE


def test_greedy_draw_matches_the_probability_of_being_best(surrogate):
    inputs = norm(0.3, 1)
    policy = started(surrogate, greedy=True, inputs=inputs, n_particles=5000)
    best = norm.cdf(0.3)
    assert_allclose(frequencies(policy), [best] * 3, atol=TOLERANCE)


@pytest.mark.parametrize("rule", ["vote", "mean"])
def test_vote_and_greedy_mean_do_not_explore(surrogate, rule):
    policy = started(surrogate, rule, greedy=True, inputs=norm(0.5, 1), n_draws=400)
    decisions = [policy.choose() for _ in range(50)]
    assert {tuple(one.actions) for one in decisions} == {(0, 0, 0)}
    if rule == "vote":
        share = np.mean([one.policy[0][0] for one in decisions])
        assert share == pytest.approx(norm.cdf(0.5), abs=0.03)


def test_equal_actions_share_a_vote_and_are_taken_alike():
    X = np.arange(10.0)[:, np.newaxis]
    flat = ridge_surrogate(1, distribution=norm(4, 3)).fit(X, np.full((10, 2), 0.5))
    policy = started(flat, "vote", n_draws=3)
    assert_allclose(policy.choose().policy[0], [0.5, 0.5])
    taken = [policy.choose().actions[0] for _ in range(400)]
    assert np.mean(taken) == pytest.approx(0.5, abs=0.1)


def test_a_decision_can_be_made_step_by_step_with_one_draw(surrogate):
    policy = started(surrogate)
    first = policy.choose("first")
    assert first.steps == ("first",)
    second = policy.choose([1], inputs=first.inputs)
    assert_array_equal(second.inputs, first.inputs)
    expected = surrogate.predict(first.inputs[np.newaxis])[0]
    assert_allclose(np.r_[first.policy[0], second.policy[0]], expected[:5])
    assert str(policy.choose("only")) == "only: 0 (1.00)"


def test_an_outcome_that_is_known_moves_nothing(surrogate):
    """Its variance is 0, and so is that of the noise, squared."""
    policy = started(surrogate, method="kalman")
    before = policy.belief_.particles
    policy.update(1.0, outcome=lambda x: 0.0 * x[:, 0], noise_sd=1e-200)
    assert_array_equal(policy.belief_.particles, before)


def test_the_belief_starts_from_what_is_given(surrogate):
    policy = started(surrogate, n_particles=20_000)
    assert policy.effective_sample_size_ == pytest.approx(20_000)
    assert policy.belief_.standard_deviation[0] == pytest.approx(1.0, abs=0.03)
    narrow = started(surrogate, inputs=norm(1, 0.1), n_particles=5000).belief_
    assert_allclose(
        [narrow.mean[0], narrow.standard_deviation[0]], [1.0, 0.1], atol=0.01
    )
    given = InputBelief([[0.5], [2.0]], [3, 1])
    belief = started(surrogate, inputs=given).belief_
    assert_allclose(belief.weights, [0.75, 0.25])
    assert belief.distributions


def test_behind_a_pipeline_inputs_are_those_of_the_last_step(rng):
    X = rng.normal(size=(80, 5)) * [4, 2, 0.1, 0.1, 0.1]
    y = softmax(np.c_[X[:, :1], 0 * X[:, :2]], axis=1)
    pipeline = make_pipeline(PCA(2, whiten=True), ridge_surrogate(1))
    policy = started(pipeline.fit(X, y), n_particles=5000)
    assert policy.belief_.names == ("pca0", "pca1")
    components = pipeline[:-1].transform(X)
    rewards = LinearRegression().fit(components, X[:, :2])
    policy.update(8.0, outcome=rewards, noise_sd=0.1, which=0)
    found = pipeline[:-1].inverse_transform(policy.belief_.mean[np.newaxis])[0]
    assert found[0] == pytest.approx(8.0, abs=0.2)


@pytest.mark.parametrize("method", ["weights", "kalman"])
def test_outcome_and_likelihood_agree(surrogate, method):
    policy = started(surrogate, method=method, n_particles=50_000)
    policy.update([0.8], outcome=lambda x: x[:, 0], noise_sd=2.0)
    belief = policy.belief_
    assert_allclose([belief.mean[0], belief.covariance[0, 0]], [0.16, 0.8], atol=0.015)
    if method == "weights":  # few enough to be lost that nothing is resampled
        x = belief.particles[:, 0]
        expected = np.exp(-0.5 * (0.8 - x) ** 2 / 4.0)
        assert_allclose(belief.weights, expected / expected.sum(), rtol=1e-9)


def test_inputs_of_other_names_or_another_order_are_refused(rng):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(rng.normal(size=(80, 2)), columns=["heat", "time"])
    y = softmax(np.c_[X["heat"], X["time"], 0 * X["heat"]], axis=1)
    fitted = ridge_surrogate(1, distribution=norm(0, 1)).fit(X, y)
    policy = started(fitted)
    turned = LinearRegression().fit(X[["time", "heat"]], 3 * X["heat"])
    with pytest.raises(ValueError, match=r"outcome has the inputs \['time', 'heat'\]"):
        policy.update(3.0, outcome=turned, noise_sd=0.5)
    assert policy.n_updates_ == 0
    policy.update(3.0, outcome=LinearRegression().fit(X, 3 * X["heat"]), noise_sd=0.5)
    assert_allclose(policy.belief_.mean, [36 / 37, 0], atol=0.15)
    rows = rng.normal(size=(50, 2))
    with pytest.raises(ValueError, match=r"belief has the inputs \['time', 'heat'\]"):
        started(fitted, inputs=InputBelief(rows, names=["time", "heat"]))
    assert started(fitted, inputs=InputBelief(rows)).belief_.names == ("heat", "time")


def test_reproducible_and_persistent(surrogate):
    def run(policy):
        actions = [policy.choose().actions for _ in range(20)]
        policy.update(1.0, outcome=lambda x: x[:, 0], noise_sd=0.1)
        return np.array(actions), policy.belief_.particles

    for found, same in zip(
        run(started(surrogate)), run(started(surrogate)), strict=True
    ):
        assert_array_equal(found, same)
    half = started(surrogate)
    half.choose()
    copy = pickle.loads(pickle.dumps(half))
    assert_array_equal(run(half)[0], run(copy)[0])
    frozen = clone(ThompsonPolicy(FrozenEstimator(surrogate), random_state=0))
    assert_array_equal(run(frozen.fit())[1], run(started(surrogate))[1])


def test_not_fitted(surrogate):
    with pytest.raises(NotFittedError):
        ThompsonPolicy(surrogate).choose()
    assert not hasattr(ThompsonPolicy(surrogate), "effective_sample_size_")


@cases(
    ("changes", "message"),
    ({"inputs": InputBelief([[1.0, 2.0]])}, "2 inputs; expected 1, as the surrogate"),
    ({"surrogate": LinearRegression().fit([[1], [2]], [1, 2])}, "ends in Linear"),
)
def test_bad_parameters(surrogate, changes, message):
    refuses(message, ThompsonPolicy(**{"surrogate": surrogate, **changes}).fit)


SEEN = {"observed": 1.0, "outcome": lambda x: x[:, 0], "noise_sd": 0.1}


@cases(
    ("arguments", "message"),
    ({**SEEN, "noise_sd": [0.1, 0.2]}, "noise_sd.*1 outcomes"),
    ({**SEEN, "outcome": lambda x: x[:3]}, "3 rows; expected 1000"),
    ({**SEEN, "outcome": lambda x: np.c_[x, x]}, "2 columns.*which="),
    ({**SEEN, "which": [0, 0]}, "2 columns; expected 1.*which="),
    ({**SEEN, "which": 1}, "which.*from 0 to 0"),
)
def test_bad_updates_leave_the_belief(surrogate, arguments, message):
    policy = started(surrogate)
    before = policy.belief_
    refuses(message, policy.update, **arguments)
    assert policy.belief_ is before
    assert policy.n_updates_ == 0


@cases(
    ("rule", "arguments", "message"),
    ("draw", {"steps": "third"}, "some of .*'second'.*'third'"),
    ("draw", {"steps": ["first", 0]}, "each once"),
    ("vote", {"inputs": [1.0]}, "rule='vote', which uses many draws"),
)
def test_bad_choices(surrogate, rule, arguments, message):
    refuses(message, started(surrogate, rule).choose, **arguments)
