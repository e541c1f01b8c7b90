"""Edge marginals, tables of functional rewards, and what log P_B is for."""

import numpy as np
import pytest
import torch

from gflownet_envs import (
    DagEnvironment,
    GridEnvironment,
    HypergridEnvironment,
    SequentialSelectionEnvironment,
    StateGraph,
    solve_exact,
    terminating_distribution,
)
from gflownet_envs.datasets import make_linear_gaussian_data
from gflownet_envs.environments.uniform_trajectories import sample_uniformly
from gflownet_envs.exact.dag import adjacency, edge_marginals
from gflownet_envs.rewards.graph_scores import (
    LocalScoreReward,
    bge_scores,
    subsample_rows,
)
from gflownet_envs.rewards.source import RewardTable, log_reward_table
from tests.shared import cases, refuses


@pytest.fixture(scope="module")
def four_nodes():
    env = DagEnvironment(4)
    return env, StateGraph.from_environment(env)


@cases(
    "env",
    DagEnvironment(3),
    DagEnvironment(4, max_edges=2),
    GridEnvironment(size=4, max_moves=4),
    HypergridEnvironment(n_dims=2, side=4),
    SequentialSelectionEnvironment({"a": ["x", "y"], "b": ["p", "q", "r"]}),
    ids=lambda env: env.name,
)
def test_final_states_are_in_the_order_of_the_table(env):
    graph = StateGraph.from_environment(env)
    states = graph.final_states()
    assert env.is_terminal(states).all()
    assert torch.equal(env.object_index(states), torch.arange(env.n_objects))
    table = torch.randn(2, env.n_objects, dtype=torch.float64)
    assert torch.equal(log_reward_table(RewardTable(env, table), graph), table)


def test_marginals_by_hand(four_nodes):
    env, graph = four_nodes
    law = torch.rand(3, 543, dtype=torch.float64)
    law /= law.sum(dim=1, keepdim=True)
    found = edge_marginals(graph, law)
    graphs = [name.split(", ") for name in env.object_names()]
    for edge in env.action_names[:-1]:
        i, j = map(int, edge.split(" → "))
        has = torch.tensor([edge in edges for edges in graphs])
        assert 0 < has.sum() < 543
        torch.testing.assert_close(found[:, i, j], law[:, has].sum(dim=1))
    assert (found.diagonal(dim1=1, dim2=2) == 0).all()


def test_opposite_edges_exclude_each_other(four_nodes):
    _, graph = four_nodes
    law = torch.softmax(torch.randn(5, 543, dtype=torch.float64) * 3, dim=1)
    found = edge_marginals(graph, law)
    assert (found + found.transpose(1, 2) <= 1 + 1e-12).all()


def test_adjacency_reads_the_encoding():
    env = DagEnvironment(7, max_edges=9)
    states = sample_uniformly(env, 20).final
    off_diagonal = ~torch.eye(7, dtype=torch.bool)
    flat = adjacency(env, states)[:, off_diagonal]
    assert torch.equal(flat.float(), env.encode(states)[:, :-1])


def test_without_log_p_b_graphs_with_many_edges_are_preferred(four_nodes):
    """A law over paths that ignores P_B samples R(G) times the number of orders."""
    env, graph = four_nodes
    log_reward = torch.randn(2, 543, dtype=torch.float64)
    n_edges = adjacency(env, graph.final_states()).sum(dim=(1, 2))
    orders = torch.lgamma(n_edges.double() + 1)
    # flows in which every path to a graph carries all of its reward
    values = torch.cat((torch.zeros(2, graph.n_states).double(), log_reward), dim=1)
    policy = torch.full((2, *graph.mask.shape), -torch.inf, dtype=torch.float64)
    for step in reversed(range(graph.n_layers)):
        layer = graph.layer(step)
        flow = values[:, graph.children[layer].clamp(min=0)]
        flow = flow.masked_fill(~graph.mask[layer], -torch.inf)
        values[:, layer] = torch.logsumexp(flow, dim=-1)
        policy[:, layer] = flow - values[:, layer, None]
    law = terminating_distribution(graph, policy)
    expected = torch.softmax(log_reward + orders, dim=1)
    torch.testing.assert_close(law, expected, atol=1e-12, rtol=0)
    exact = solve_exact(graph, log_reward)
    with_p_b = terminating_distribution(graph, exact.log_policy_table)
    torch.testing.assert_close(
        with_p_b, torch.softmax(log_reward, dim=1), atol=1e-12, rtol=0
    )


def test_the_posterior_finds_a_known_network():
    """Many rows make the true pairs certain, and no others.

    That holds where no effects cancel, as those of PKA on Erk nearly do with seed 1.
    """
    bunch = make_linear_gaussian_data(n_samples=5000)
    names = bunch.feature_names
    env = DagEnvironment(5)
    graph = StateGraph.from_environment(env)
    samples = subsample_rows(bunch.data, 4000, members=[0], standardize="member")
    table = log_reward_table(LocalScoreReward(env, bge_scores(samples)), graph)
    found = edge_marginals(graph, torch.softmax(table, dim=1))[0]
    either = (found + found.T).numpy()
    true = np.zeros((5, 5), dtype=bool)
    for source, target in bunch.edges:
        true[names.index(source), names.index(target)] = True
    assert either[true].min() > 0.95
    assert either[~(true | true.T | np.eye(5, dtype=bool))].max() < 0.2


@cases(
    ("law", "message"),
    (torch.full((2, 24), 1 / 24), r"shape \(n_members, 25\).*got \(2, 24\)"),
    (torch.full((2, 25), 1 / 24), "largest distance of a sum from one 0.0417"),
    (torch.eye(25)[:2] * 2 - torch.eye(25)[1:3], "smallest is -1"),
    (torch.full((1, 25), float("nan")), "sum from one inf"),
)
def test_bad_laws(law, message):
    graph = StateGraph.from_environment(DagEnvironment(3))
    refuses(message, edge_marginals, graph, law)


def test_other_environments_have_no_edges():
    graph = StateGraph.from_environment(GridEnvironment(size=2, max_moves=1))
    with pytest.raises(ValueError, match="a DagEnvironment is needed, got GridEnv"):
        edge_marginals(graph, torch.ones(1, 3) / 3)
