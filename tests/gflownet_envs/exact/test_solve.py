"""The exact solver against enumeration of paths and closed forms."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from gflownet_envs import (
    DagEnvironment,
    GridEnvironment,
    HypergridEnvironment,
    SequentialSelectionEnvironment,
    StateGraph,
    TokenSequenceEnvironment,
    distance_to_exact,
    solve_exact,
    terminating_distribution,
)
from tests.gflownet_envs.spaces import SPACES, all_paths, random_log_reward
from tests.shared import cases, refuses


def log_rewards(env, n_members=1):
    return torch.from_numpy(2 * random_log_reward(env, n_members))


@cases("env", *SPACES, DagEnvironment(3), ids=lambda env: env.name)
def test_against_enumeration_of_paths(env):
    # P_F(s′|s) must be the share of the backward measure R(x) Π P_B of the paths
    # through s that go on to s′
    log_reward = log_rewards(env)
    solution = solve_exact(env, log_reward)
    through = torch.zeros(solution.graph.n_states, env.n_actions, dtype=torch.float64)
    for edges, end in all_paths(env):
        later = [state for state, _ in edges[1:]] + [end]
        log_measure = log_reward[0, env.object_index(end)]
        log_measure = log_measure + sum(env.log_backward_policy(s) for s in later)
        for state, action in edges:
            through[solution.graph.state_ids(state), action] += log_measure.exp()
    policy = through / through.sum(dim=1, keepdim=True)
    assert_allclose(solution.log_policy_table[0].exp(), policy, rtol=0, atol=1e-12)
    assert_allclose(solution.log_flow[0].exp(), through.sum(dim=1), rtol=1e-12)
    torch.testing.assert_close(solution.log_z, log_reward.logsumexp(dim=1))
    law = terminating_distribution(solution.graph, solution.log_policy_table)
    torch.testing.assert_close(law, torch.softmax(log_reward, dim=1))


def test_a_constant_added_to_log_reward_changes_log_z_alone():
    env = GridEnvironment()
    log_reward = log_rewards(env)
    plain, shifted = solve_exact(env, log_reward), solve_exact(env, log_reward + 700)
    torch.testing.assert_close(shifted.log_z, plain.log_z + 700)
    torch.testing.assert_close(shifted.log_policy_table, plain.log_policy_table)


def test_distance_of_the_uniform_policy_by_hand():
    env = SequentialSelectionEnvironment({"a": ["x", "y"]})
    graph = StateGraph.from_environment(env)
    uniform = torch.full((1, 1, 2), 0.5).log()
    log_reward = torch.tensor([[0.9, 0.1]]).log()
    assert distance_to_exact(graph, uniform, log_reward).item() == pytest.approx(0.4)


def test_policies_that_do_not_fit_are_refused():
    env = GridEnvironment(size=2, max_moves=1)
    solution = solve_exact(env, torch.zeros(2, 3))
    graph, table = solution.graph, solution.log_policy_table
    words = "2 members and log_reward 1"
    refuses(words, distance_to_exact, graph, table, torch.zeros(1, 3))
    law = terminating_distribution
    refuses("log_policy must have shape", law, graph, torch.zeros(1, 2, 5))
    words = "sum to one .* largest distance from one is 2"
    refuses(words, law, graph, torch.zeros_like(table))


def from_table(log_reward):
    """Return the reward function that looks up a table."""
    return lambda members, objects: log_reward[members][:, objects]


def test_a_float32_table_is_not_copied_and_solved_in_float64():
    env = GridEnvironment()
    log_reward = log_rewards(env, 3).float()
    solution = solve_exact(env, log_reward)
    assert solution.log_reward.data_ptr() == log_reward.data_ptr()
    widened = solve_exact(env, log_reward.double())
    assert torch.equal(solution.log_flow, widened.log_flow)
    assert torch.equal(solution.log_policy_table, widened.log_policy_table)
    array = log_reward.numpy()
    assert np.shares_memory(solve_exact(env, array).log_reward.numpy(), array)
    array.flags.writeable = False
    assert solve_exact(env, array).n_members == 3


def test_members_in_chunks_give_the_same(monkeypatch):
    env = HypergridEnvironment(n_dims=2, side=4)
    log_reward = log_rewards(env, 5)
    whole = solve_exact(env, log_reward)
    table = torch.log_softmax(torch.zeros_like(whole.log_policy_table), dim=-1)
    table = torch.where(whole.graph.mask, table, float("-inf"))
    table = torch.log_softmax(table, dim=-1)
    distance = distance_to_exact(whole.graph, table, log_reward)
    # states and objects are 32 numbers a member, edges 48: two members at once
    monkeypatch.setattr("gflownet_envs.exact.solve._VALUES_AT_ONCE", 100)
    requested = []

    def log_reward_function(members, objects):
        requested.append((members.start, members.stop))
        return log_reward[members][:, objects]

    parts = solve_exact(env, log_reward_function, n_members=5)
    asked_before = [(0, 1), (0, 1)]  # whether it is the same twice
    assert requested == [*asked_before, (0, 2), (2, 4), (4, 5)]
    assert torch.equal(parts.log_flow, whole.log_flow)
    assert torch.equal(parts.log_policy_table, whole.log_policy_table)
    assert torch.equal(parts.target_distribution(), whole.target_distribution())
    again = distance_to_exact(whole.graph, table, log_reward)
    torch.testing.assert_close(again, distance, rtol=0, atol=1e-15)


def test_policies_sum_to_one_where_a_reward_rounds_by_what_it_is_asked():
    """A network in float32 differs in the last digits with the size of its batch."""
    env = TokenSequenceEnvironment(["a", "b", "c"], 3)
    log_reward = 100 * log_rewards(env, 2)

    def rounded(members, objects):
        return log_reward[members][:, objects] + 1e-5 * len(objects) / env.n_objects

    solution = solve_exact(env, rounded, n_members=2)
    sums = solution.log_policy_table.exp().sum(dim=-1)
    torch.testing.assert_close(sums, torch.ones_like(sums), rtol=0, atol=1e-12)
    last_choice = solution.graph.states[solution.graph.layer(2)][:1]
    sums = solution.log_policy(last_choice).exp().sum(dim=-1)
    torch.testing.assert_close(sums, torch.ones_like(sums), rtol=0, atol=1e-12)


@cases(
    ("log_reward", "n_members", "message"),
    (torch.zeros(2, 25), None, r"shape \(n_members, 19\).*got \(2, 25\)"),
    (torch.zeros(0, 19), None, "at least one member"),
    (torch.full((1, 19), -torch.inf), None, "finite, got -inf for member 0, object 0"),
    (from_table(torch.zeros(2, 19)), None, "n_members must be given"),
    (from_table(torch.zeros(2, 19)), 3, r"shape \(3, 19\).*got \(2, 19\)"),
    (from_table(torch.full((2, 19), torch.nan)), 2, "got nan for member 0, object 0"),
    (torch.zeros(2, 19), 2, "n_members is for a function.*got 2"),
)
def test_bad_rewards(log_reward, n_members, message):
    refuses(message, solve_exact, GridEnvironment(), log_reward, n_members=n_members)


def test_rewards_are_checked_before_states_are_listed(monkeypatch):
    def lists_states(environment):
        raise AssertionError("the states were listed")

    monkeypatch.setattr(StateGraph, "from_environment", lists_states)
    log_reward = torch.zeros(2, 19)
    log_reward[1, 18] = float("nan")
    words = "got nan for member 1, object 18"
    refuses(words, solve_exact, GridEnvironment(), log_reward)
