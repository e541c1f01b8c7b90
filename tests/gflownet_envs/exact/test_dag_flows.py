"""Exact flows over graphs against lists of all graphs, and counts of graphs."""

import numpy as np
import pytest
import torch

from gflownet_envs import DagEnvironment, StateGraph, solve_exact
from gflownet_envs.environments.base import sample_uniformly
from gflownet_envs.exact.dag import GraphFlows, edge_marginals
from gflownet_envs.rewards.graph_scores import LocalScoreReward
from gflownet_envs.rewards.source import log_reward_table
from tests.shared import refuses

# Labelled acyclic graphs of n nodes (Robinson 1973; OEIS A003024).
N_GRAPHS = {1: 1, 2: 3, 3: 25, 4: 543, 5: 29281, 6: 3781503, 7: 1138779265}


def random_reward(env, scale, n_members=2):
    rng = np.random.default_rng(0)
    shape = (n_members, env.n_nodes, 2**env.n_nodes)
    return LocalScoreReward(env, rng.normal(scale=scale, size=shape))


def some_states(graph, n):
    order = np.random.default_rng(1).permutation(graph.n_states)
    return graph.states[np.sort(np.append(order[:n], 0))]


@pytest.mark.parametrize("n_nodes", N_GRAPHS)
def test_equal_rewards_count_the_graphs(n_nodes):
    env = DagEnvironment(n_nodes)
    flows = GraphFlows(LocalScoreReward(env, np.zeros((1, n_nodes, 2**n_nodes))))
    assert flows.log_z().exp().item() == pytest.approx(N_GRAPHS[n_nodes], rel=1e-12)


@pytest.mark.parametrize("scale", [1.0, 30.0])
@pytest.mark.parametrize("sizes", [(1,), (3,), (4,), (4, 3)])
def test_flows_are_those_of_the_solver_that_lists_all_states(sizes, scale):
    env = DagEnvironment(*sizes)
    graph = StateGraph.from_environment(env)
    reward = random_reward(env, scale)
    solution, flows = solve_exact(env, reward), GraphFlows(reward)
    states = some_states(graph, 25)
    torch.testing.assert_close(flows.log_z(), solution.log_z, rtol=1e-12, atol=1e-11)
    torch.testing.assert_close(
        flows.log_policy(states), solution.log_policy(states), rtol=1e-12, atol=1e-11
    )
    table = log_reward_table(reward, graph)
    expected = edge_marginals(graph, torch.softmax(table, dim=1))
    torch.testing.assert_close(flows.edge_marginals(), expected)


def test_a_flow_is_the_sum_of_what_flows_on():
    """F(s) = R(s) + Σ P_B F(s'), where graphs are too many for a list."""
    env = DagEnvironment(6, max_edges=9)
    reward = random_reward(env, 3.0)
    flows = GraphFlows(reward)
    trajectories = sample_uniformly(env, 3)
    for state in trajectories.states[:, 2]:
        assert state[-2] == 2
        actions = env.valid_mask(state).nonzero()[:-1, 0]
        children = env.step(state.expand(len(actions), -1), actions)
        onward = flows.log_flow(children) + env.log_backward_policy(children)
        stopping = reward.of_states(state.expand(2, 1, -1))
        total = torch.cat((onward, stopping), dim=1).logsumexp(dim=1)
        torch.testing.assert_close(flows.log_flow(state), total, rtol=0, atol=1e-9)
        expected = onward - flows.log_flow(state)[:, None]
        found = flows.log_policy(state)[:, actions]
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)


def test_scores_far_apart_neither_overflow_nor_vanish():
    env = DagEnvironment(4)
    graph = StateGraph.from_environment(env)
    reward = random_reward(env, 400.0)
    states = some_states(graph, 10)
    expected = solve_exact(env, reward).log_policy(states)
    found = GraphFlows(reward).log_policy(states)
    assert torch.equal(found.isfinite(), expected.isfinite())
    likely = expected > -600
    assert (expected.isfinite() & ~likely).any()  # some are beyond double precision
    torch.testing.assert_close(found[likely], expected[likely], rtol=1e-9, atol=1e-9)


def test_what_is_refused():
    big = DagEnvironment(13)
    reward = LocalScoreReward(big, np.zeros((1, 13, 2**13)))
    refuses("at most 12 nodes, got 13", GraphFlows, reward)
    env = DagEnvironment(3)
    flows = GraphFlows(random_reward(env, 1.0))
    stopped = env.step(env.initial_state(), torch.tensor(env.n_actions - 1))
    refuses("a graph that has stopped", flows.log_policy, stopped)
    cut = GraphFlows(random_reward(DagEnvironment(4, max_edges=1), 3000.0))
    refuses("at most 1 edges are too unlikely", cut.log_z)
    scores = np.zeros((1, 2, 4))
    scores[0, 1, 0b01] = 740.0  # exp(-740) is no normal number: few digits
    cut = GraphFlows(LocalScoreReward(DagEnvironment(2, max_edges=0), scores))
    refuses("at most 0 edges are too unlikely", cut.log_z)
