"""Bounds of the distance beside lists of trajectories and the exact solver."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from gflownet_envs import (
    DagEnvironment,
    FunctionReward,
    HypergridEnvironment,
    LocalScoreReward,
    PolicyDataset,
    StateGraph,
    TokenSequenceEnvironment,
    TrainingSpec,
    distance_to_exact,
    log_reward_table,
    policies_along,
    solve_exact,
    train_ensemble,
    trajectory_of_actions,
)
from gflownet_envs.training import certificate
from tests.gflownet_envs.spaces import GRID, HYPERGRID, all_paths, random_log_reward
from tests.shared import cases, refuses

SPEC = TrainingSpec(n_iterations=60, hidden=(16,), check_every=0, dtype="float64")


def trained(environment, n_members=4, spec=SPEC, **options):
    return train_ensemble(
        environment, random_log_reward(environment, n_members), spec, **options
    )


def exact_distances(ensemble):
    graph = StateGraph.from_environment(ensemble.environment)
    table = ensemble.reward.log_reward[list(ensemble.rewards)]
    return distance_to_exact(graph, ensemble.log_policy_table(graph), table).numpy()


def distance_over_trajectories(ensemble, member):
    """½ Σ |P_F − R P_B / Z| by hand."""
    environment = ensemble.environment
    policy, target = [], []
    for edges, final in all_paths(environment):
        log_pf = sum(float(ensemble.log_policy(s)[member, a]) for s, a in edges)
        after = [*(state for state, _ in edges[1:]), final]
        log_pb = -sum(np.log(int(environment.backward_mask(s).sum())) for s in after)
        row = ensemble.reward.log_reward[ensemble.rewards[member]]
        policy.append(np.exp(log_pf))
        target.append(np.exp(float(row[environment.object_index(final)]) + log_pb))
    target = np.array(target) / np.sum(target)
    return 0.5 * np.abs(np.array(policy) - target).sum(), np.array(policy), target


@cases(
    "environment",
    GRID,
    HYPERGRID,
    TokenSequenceEnvironment(["a", "b"], 3),
    ids=lambda environment: environment.name,
)
def test_listed_trajectories_by_hand(environment):
    ensemble = trained(environment, n_members=2)
    found = ensemble.distance_bound()
    assert (found.kind, found.method) == ("certain", "listed")
    assert found.n_trajectories == len(list(all_paths(environment)))
    for member in range(2):
        by_hand, policy, target = distance_over_trajectories(ensemble, member)
        assert found.bound[member] == pytest.approx(by_hand, abs=2e-9)
        graph = StateGraph.from_environment(environment)
        one = ensemble.subset([member])
        own = one.log_policy_table(graph), ensemble.reward.log_reward[[member]]
        summed = certificate._summed_distance(graph, *own)
        coefficient = np.sqrt(policy * target).sum()
        assert float(summed[0]) == pytest.approx(np.sqrt(1 - coefficient**2), abs=1e-7)
        assert float(summed[0]) >= by_hand


@pytest.mark.parametrize("n_iterations", [1, 20, 400])
def test_certain_bounds_are_not_below_the_truth(n_iterations):
    """In a tree they are the distance itself; elsewhere errors cancel."""
    tree = TokenSequenceEnvironment(["a", "b", "c"], 3)
    spec = replace(SPEC, n_iterations=n_iterations)
    for environment in (GRID, HypergridEnvironment(2, 4), tree):
        ensemble = trained(environment, 2, spec=spec, n_replicates=2)
        bound = ensemble.distance_bound().bound
        truth = exact_distances(ensemble)
        assert (bound >= truth).all()
        assert (bound > 1.01 * truth + 2e-9).any() == (environment is not tree)
        some = ensemble.subset([3, 1])
        assert_allclose(some.distance_bound().bound, bound[[3, 1]], rtol=1e-12)


@pytest.mark.parametrize("n_iterations", [1, 60, 400])
def test_noise_is_at_most_its_bound(n_iterations):
    """For trajectories through likely and unlikely states."""
    for environment in (GRID, HypergridEnvironment(2, 4)):
        ensemble = trained(environment, spec=replace(SPEC, n_iterations=n_iterations))
        exact = solve_exact(environment, ensemble.reward.log_reward)
        found = ensemble.distance_bound()
        policies = [
            lambda state, m=m, e=ensemble: e.log_policy(state)[m].exp()
            for m in range(4)
        ]
        for edges, _ in list(all_paths(environment))[::13]:
            actions = [int(action) for _, action in edges]
            along = {"X": np.zeros((4, 1)), "trajectory": actions}
            learned = PolicyDataset.from_policies(environment, policies, **along)
            path = trajectory_of_actions(environment, actions)
            solved = policies_along(environment, exact, path)
            noise = (learned.y - solved.y).var(axis=0)
            shares = found.noise_share(learned)
            for share, columns in zip(shares, learned.step_slices, strict=True):
                total = learned.y[:, columns].var(axis=0).sum()
                if total > 1e-12:
                    assert noise[columns].sum() / total <= share + 1e-9
    words = "data has 2 members and the bound 4"
    refuses(words, found.noise_share, learned.select([0, 1]))
    own = replace(found, learned_backward=True)
    refuses("the members have learned backward policies", own.noise_share, learned)


@pytest.mark.slow
def test_many_trajectories_are_summed(monkeypatch):
    dag = DagEnvironment(4, encoding="adjacency")
    scores = np.random.default_rng(0).normal(size=(2, 4, 16))
    reward = LocalScoreReward(dag, scores)
    ensemble = train_ensemble(dag, reward, SPEC)
    graph = StateGraph.from_environment(dag)
    # labelled acyclic graphs on 4 nodes by their numbers of edges, 543 in all; those
    # of k edges in k! orders
    by_edges = [1, 12, 60, 152, 186, 108, 24]
    orders = sum(n * math.factorial(k) for k, n in enumerate(by_edges))
    assert certificate.n_trajectories(graph) == orders
    listed = ensemble.distance_bound()
    monkeypatch.setattr(certificate, "MAX_LISTED", 1000)
    summed = ensemble.distance_bound()
    assert (listed.method, summed.method) == ("listed", "summed")
    assert listed.kind == summed.kind == "certain"
    table = log_reward_table(reward, graph)
    truth = distance_to_exact(graph, ensemble.log_policy_table(graph), table).numpy()
    assert (listed.bound >= truth).all()
    assert (summed.bound >= listed.bound).all()


def samples(ensemble, log_z=None, seed=0):
    reward = ensemble.reward.select(np.array(ensemble.rewards))
    settings = {"n_samples": 2000, "confidence_level": 0.9, "log_z": log_z}
    layout = certificate.head_layout(ensemble)
    return certificate.bound_by_samples(ensemble, reward, layout, seed=seed, **settings)


@pytest.mark.parametrize("is_known", [True, False])
def test_samples_bound_the_distance_over_trajectories(is_known):
    ensemble = trained(GRID, n_members=8, spec=replace(SPEC, n_iterations=60))
    log_z = torch.logsumexp(ensemble.reward.log_reward, dim=1).numpy()
    listed = ensemble.distance_bound().bound
    log_z = log_z if is_known else None
    found = [samples(ensemble, log_z, seed).bound for seed in range(5)]
    assert (np.array(found) < listed).mean() < 0.1  # 1 − confidence_level
    assert np.median(np.array(found) - listed) < (0.015 if is_known else 0.03)


def test_upper_bounds_by_their_formulas(rng):
    values = rng.random((3, 50))
    log_term = np.log(2 / 0.1)
    expected = values.mean(axis=1) + 7 * log_term / (3 * 49)
    expected += np.sqrt(2 * values.var(axis=1, ddof=1) * log_term / 50)
    assert_allclose(certificate._upper_mean(values, 0.1), expected)
    w, v = rng.random((2, 2, 3, 400)) + 1.0  # of the policy, of uniform actions
    w[1], v[1] = w[0] * rng.random((3, 400)), v[0] * rng.random((3, 400))
    beta = np.exp(np.log(w[0, :, :100]).mean(axis=1))[:, None]
    y = [b[1] - beta * (b[1] / b[0] - 1) for b in (w[:, :, 100:], v)]
    log_term = np.log(10)
    expected = (y[0].mean(axis=1) + y[1].mean(axis=1)) / 2
    variance = y[0].var(axis=1, ddof=1) / 1200 + y[1].var(axis=1, ddof=1) / 1600
    expected += np.sqrt(2 * 2 * variance * log_term) + beta[:, 0] * log_term / 900
    expected /= 1 - log_term / 900
    found = certificate._upper_log_z(np.log(w) + 900, np.log(v) + 900, 0.1)
    # a common factor of the rewards is one of Z: the shift cancels in v / w
    assert_allclose(found - 900, np.log(expected))


def test_a_mode_that_nothing_visits_is_why_it_is_an_estimate():
    """A policy that stops at once, and a mode far from where uniform walks stop."""
    environment = HypergridEnvironment(n_dims=2, side=16)
    log_reward = np.full((1, 256), -12.0)
    log_reward[0, 0], log_reward[0, -1] = 0.0, 1.0
    spec = replace(SPEC, n_iterations=300, exploration_epsilon=0.0)
    ensemble = train_ensemble(environment, log_reward, spec)
    truth = exact_distances(ensemble)
    assert truth > 0.7
    certain = ensemble.distance_bound()
    assert certain.bound >= truth
    known = samples(ensemble, torch.logsumexp(ensemble.reward.log_reward, 1).numpy())
    assert known.kind == "probable"
    assert known.bound >= truth
    estimate = samples(ensemble)
    assert estimate.kind == "estimate"
    assert estimate.bound < truth
    assert "miss no mode" in estimate.describe()


def total(weights, states):
    return weights * states[..., :2].sum(dim=-1)


def test_objects_that_are_not_listed(monkeypatch):
    reward = FunctionReward(total, [[0.3], [-0.4]])
    ensemble = train_ensemble(GRID, reward, SPEC)
    listed = ensemble.distance_bound()
    assert listed.kind == "certain"
    monkeypatch.setattr(certificate, "MAX_STATES", 3)
    found = ensemble.distance_bound(n_samples=3000)
    assert (found.kind, found.n_trajectories) == ("estimate", 6000)
    assert (np.abs(found.bound - listed.bound) < 0.05).all()
    graph = StateGraph.from_environment(GRID)
    log_z = torch.logsumexp(log_reward_table(reward, graph), dim=1)
    known = ensemble.distance_bound(n_samples=3000, log_z=log_z)
    assert (known.kind, known.n_trajectories) == ("probable", 3000)
    more = ensemble.distance_bound(n_samples=3000, log_z=log_z + 1.0)
    assert (more.bound > known.bound).all()


@pytest.mark.parametrize("is_table", [True, False])
def test_a_log_z_below_the_sum_of_rewards_is_refused(is_table, monkeypatch):
    """The learned one, under which each bound is below the distance."""
    spec = replace(SPEC, n_iterations=150, learn_backward_policy=True)
    weights = torch.tensor([[1.2], [-0.8], [1.6]])
    reward = FunctionReward(total, weights)
    graph = StateGraph.from_environment(HYPERGRID)
    table = log_reward_table(reward, graph)
    ensemble = train_ensemble(HYPERGRID, table if is_table else reward, spec)
    truth = distance_to_exact(graph, ensemble.log_policy_table(graph), table).numpy()
    log_z = torch.logsumexp(table, dim=1).numpy()
    learned = ensemble.diagnostics.log_z
    found = ensemble.distance_bound()
    assert found.kind == "probable"
    assert (found.bound >= truth).all()
    for more in (0.0, 2.0):  # the sum takes the place of a bound
        assert_allclose(ensemble.distance_bound(log_z=log_z + more).bound, found.bound)
    words = "log_z of member . is .*; expected log Z or"
    refuses(words, ensemble.distance_bound, log_z=log_z - [0.01, 0, 0])
    refuses(words, ensemble.distance_bound, log_z=learned)
    if not is_table:  # where nothing is summed
        monkeypatch.setattr(certificate, "MAX_STATES", 3)
        refuses(words, ensemble.distance_bound, log_z=learned)
        for seed in range(20):
            known = ensemble.distance_bound(log_z=log_z, seed=seed)
            assert (known.bound >= truth).all()


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["vargrad", "detailed_balance"])
def test_a_learned_backward_policy_is_the_one_of_the_residuals(objective):
    spec = replace(SPEC, objective=objective, learn_backward_policy=True)
    ensemble = trained(HYPERGRID, spec=replace(spec, n_iterations=200))
    layout = certificate.head_layout(ensemble)
    assert layout.n_backward_actions == HYPERGRID.n_backward_actions
    assert layout.has_flow == (objective == "detailed_balance")
    found = ensemble.distance_bound()
    assert (found.kind, found.method) == ("probable", "sampled")
    assert (found.bound >= exact_distances(ensemble)).all()
    assert found.learned_backward


@cases(
    ("arguments", "message"),
    ({"n_samples": 1}, "n_samples must be an int of at least 100, got 1"),
    ({"confidence_level": 1.0}, "confidence_level must be above 0 and below 1"),
    ({"log_z": [0.0, 0.0, 0.0, np.nan]}, "log_z must have 4 finite numbers"),
)
def test_bad_arguments(arguments, message):
    ensemble = trained(GRID, spec=replace(SPEC, n_iterations=1))
    refuses(message, ensemble.distance_bound, **arguments)
    without = replace(ensemble, reward=None)
    refuses("the ensemble has no reward", without.distance_bound)
