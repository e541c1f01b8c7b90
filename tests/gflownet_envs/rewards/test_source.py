"""Rewards that are no tables, and spaces whose objects have no numbers."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from gflownet_envs import (
    StateGraph,
    TrainingSpec,
    distance_to_exact,
    log_reward_table,
    mean_reward,
    solve_exact,
    strategy_environment,
    strategy_problems,
    train_ensemble,
    train_process_reward,
)
from gflownet_envs.environments import DagEnvironment, TokenSequenceEnvironment
from gflownet_envs.rewards.graph_scores import LocalScoreReward
from gflownet_envs.rewards.source import (
    FunctionReward,
    MeanReward,
    RewardSource,
    RewardTable,
    as_reward_source,
)
from tests.gflownet_envs.spaces import assert_same_parameters
from tests.shared import cases, refuses

DAG = DagEnvironment(3)
SPEC = TrainingSpec(n_iterations=20, hidden=(16,), batch_size=8, dtype="float64")


def scores(n_members, n_nodes, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_members, n_nodes, 2**n_nodes))


def all_graphs(env):
    """One final state of every object, in their order."""
    return StateGraph.from_environment(env).final_states()


def test_local_scores_by_hand():
    values = scores(2, 3)
    reward = LocalScoreReward(DAG, values)
    found = log_reward_table(reward, DAG)
    for index, state in enumerate(all_graphs(DAG)):
        parents = DAG.parent_sets(state).tolist()
        for member in range(2):
            expected = sum(values[member, j, parents[j]] for j in range(3))
            assert found[member, index].item() == pytest.approx(expected)


@cases(
    ("values", "message"),
    (np.zeros((2, 3, 4)), r"shape \(n_members, 3, 8\) .* got \(2, 3, 4\)"),
    (np.full((1, 3, 8), np.nan), "must be finite, got nan for member 0, node 0"),
)
def test_bad_scores(values, message):
    refuses(message, LocalScoreReward, DAG, values)


def test_a_function_of_states_trains_like_its_table():
    reward = LocalScoreReward(DAG, scores(2, 3))
    table = log_reward_table(reward, DAG)
    one = train_ensemble(DAG, reward, SPEC)
    # the plain path on both sides, so that only the reward differs
    other = train_ensemble(DAG, table, replace(SPEC, max_table_states=0))
    assert_same_parameters(one, other, 1e-10)
    # rewards that are no tables have a distance too where the space is listed
    graph = StateGraph.from_environment(DAG)
    distance = distance_to_exact(graph, one.log_policy_table(graph), table)
    assert_allclose(one.diagnostics.distance, distance, atol=1e-6)


def test_objects_without_numbers():
    env = DagEnvironment(6, max_edges=4)
    assert env.n_objects is None
    reward = LocalScoreReward(env, scores(2, 6))
    ensemble = train_ensemble(env, reward, SPEC)
    policy = ensemble.log_policy(env.initial_state()).exp()
    torch.testing.assert_close(policy.sum(dim=-1), torch.ones(2, dtype=torch.float64))
    refuses("up to 5 nodes", train_ensemble, env, np.zeros((2, 10)), SPEC)


def token_counts(weights, states):
    """Weigh how often each token stands in a sequence."""
    tokens = torch.arange(weights.shape[-1], device=states.device)
    counts = (states[..., None] == tokens).sum(dim=-2).to(weights.dtype)
    return (counts * weights[:, None]).sum(dim=-1)


@pytest.mark.slow
def test_a_recurrent_policy_learns_sequences():
    env = TokenSequenceEnvironment(["a", "b", "end"], max_length=3, end_token="end")
    reward = FunctionReward(token_counts, [[0.5, -0.5, 0.0], [1.0, 0.0, 0.0]])
    spec = TrainingSpec(policy="gru", hidden=(32,), n_iterations=600, check_every=0)
    ensemble = train_ensemble(env, reward, spec)
    states = env.object_states(torch.arange(env.n_objects))
    table = reward.of_states(states.expand(2, *states.shape))
    solution = solve_exact(env, table)
    policy = ensemble.log_policy_table(solution.graph)
    assert distance_to_exact(solution.graph, policy, table).max() < 0.02


def test_sources_select_move_and_have_different_digests():
    reward = FunctionReward(token_counts, [[0.5], [1.0]])
    assert isinstance(reward, RewardSource)
    assert reward.select(slice(1, 2)).parameters.tolist() == [[1.0]]
    assert reward.to("cpu", torch.float32).parameters.dtype == torch.float32
    assert reward.digest() != reward.select(slice(1, 2)).digest()
    assert "token_counts" in reward.digest()
    local = LocalScoreReward(DAG, scores(2, 3))
    assert local.digest() != LocalScoreReward(DAG, scores(2, 3, seed=1)).digest()
    assert local.select(np.array([1, 1])).n_members == 2
    table = as_reward_source(torch.zeros(2, DAG.n_objects), DAG)
    assert isinstance(table, RewardTable)
    assert as_reward_source(reward, DAG) is reward


def test_rewards_of_another_space_are_refused():
    words = "reward was made for dag-.*, not for dag-3-3"
    larger = LocalScoreReward(DagEnvironment(4), np.zeros((1, 4, 16)))
    fewer_edges = RewardTable(DagEnvironment(3, max_edges=2), np.zeros((1, 19)))
    for reward in (larger, fewer_edges):
        refuses(words, train_ensemble, DAG, reward, SPEC)


def test_bad_parameters_and_functions():
    words = "parameters of member 1 must be finite"
    refuses(words, FunctionReward, token_counts, [[0.0], [np.inf]])
    refuses("one row a member, at least one", FunctionReward, token_counts, 3.0)
    with pytest.raises(TypeError, match="function must be callable as"):
        FunctionReward(3, [[1.0]])
    for function in (lambda weights, states: weights, partial(token_counts)):
        reward = FunctionReward(function, [[0.5]])
        refuses("function must be one of a module", reward.digest)


# The mean reward.


def _two_scores(weights, states):
    return (weights[:, None] * states).sum(dim=-1)


def test_the_mean_reward_is_the_mean_of_log_r_where_nothing_is_listed():
    weights = np.random.default_rng(0).normal(size=(3, 4))
    source = FunctionReward(_two_scores, weights)
    states = torch.arange(24).reshape(2, 3, 4)
    mean = MeanReward(source, 2)
    expected = (states.double() * torch.from_numpy(weights.mean(axis=0))).sum(dim=-1)
    torch.testing.assert_close(mean.of_states(states), expected)
    assert mean.select(np.array([0, 0, 1])).n_members == 3
    assert mean.digest() != MeanReward(source).digest()


def test_mean_rewards_of_listed_spaces_are_tables_from_any_kind_of_source():
    local = LocalScoreReward(DAG, scores(4, 3))
    found = mean_reward(local, DAG)
    torch.testing.assert_close(
        found.log_reward[0], log_reward_table(local, DAG).mean(dim=0)
    )
    env = strategy_environment(n_steps=2)
    reward = train_process_reward(env, *strategy_problems(env), members=range(3))
    objects = torch.arange(env.n_objects)
    means = reward(slice(0, 3), objects).double().mean(dim=0)
    found = mean_reward(reward, env).log_reward[0]
    torch.testing.assert_close(found, means, atol=1e-5, rtol=0)


def test_the_exact_solver_takes_any_source():
    local = LocalScoreReward(DAG, scores(2, 3))
    found, expected = solve_exact(DAG, local), log_reward_table(local, DAG)
    torch.testing.assert_close(found.log_flow, solve_exact(DAG, expected).log_flow)
    words = "n_members must be that of the source, 2"
    refuses(words, solve_exact, DAG, local, n_members=3)


def flat(parameters, states):
    return parameters[:, 0]


def not_finite(parameters, states):
    return torch.full(states.shape[:2], torch.nan)


@cases(
    ("function", "message"),
    (flat, r"function flat must give shape \(2, 4\) .*, got \(2,\)"),
    (lambda p, s: [["a"] * 4] * 2, "array of real numbers, got list: dtype <U1"),
    (not_finite, "function not_finite must be finite, got nan for member 0, state"),
    (lambda p, s: torch.ones(2, 4).to(torch.cfloat), "be real, got torch.complex64"),
    (lambda p, s: torch.rand(2, 4), "same for the same arguments; two calls differ by"),
)
def test_functions_that_are_no_reward_are_refused_before_any_work(function, message):
    reward = FunctionReward(function, [[1.0], [2.0]])
    spec = TrainingSpec(n_iterations=1)
    refuses(message, train_ensemble, DAG, reward, spec)
    refuses(message, solve_exact, DAG, reward)


@cases("change", torch.clone, lambda sums: sums.double().numpy(), ids=["int", "NumPy"])
def test_functions_may_return_any_real_numbers(change):
    reward = FunctionReward(lambda p, s: change(s.sum(dim=-1)), [[1.0], [2.0]])
    assert solve_exact(DAG, reward).log_z.isfinite().all()


@cases(
    ("log_reward", "message"),
    (lambda members, objects: torch.zeros(3), r"must return shape \(1, 16\)"),
    (lambda members, objects: torch.rand(1, len(objects)), "two calls differ by"),
)
def test_functions_of_objects_are_checked_too(log_reward, message):
    refuses(message, solve_exact, DAG, log_reward, n_members=2)


def test_what_is_no_reward_is_named():
    with pytest.raises(TypeError, match="FunctionReward makes a source of a function"):
        as_reward_source(flat, DAG)
    masked = np.ma.masked_array(np.zeros((1, DAG.n_objects)), mask=True)
    refuses("must have no mask, got a masked array", as_reward_source, masked, DAG)
