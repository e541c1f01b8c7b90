"""Edge marginals and tables of functional rewards."""

import numpy as np
import torch

from gflownet_envs import DagEnvironment, GridEnvironment, StateGraph
from gflownet_envs.datasets import make_linear_gaussian_data
from gflownet_envs.exact.dag import edge_marginals
from gflownet_envs.rewards.graph_scores import (
    LocalScoreReward,
    bge_scores,
    subsample_rows,
)
from gflownet_envs.rewards.source import RewardTable, log_reward_table
from tests.gflownet_envs.spaces import SPACES
from tests.shared import cases, refuses


@cases(
    "env",
    *(*SPACES, DagEnvironment(3), DagEnvironment(4, max_edges=2)),
    ids=lambda env: env.name,
)
def test_final_states_are_in_the_order_of_the_table(env):
    graph = StateGraph.from_environment(env)
    states = graph.final_states()
    assert env.is_terminal(states).all()
    assert torch.equal(env.object_index(states), torch.arange(env.n_objects))
    table = torch.randn(2, env.n_objects, dtype=torch.float64)
    assert torch.equal(log_reward_table(RewardTable(env, table), graph), table)


def test_marginals_by_hand():
    env = DagEnvironment(4)
    graph = StateGraph.from_environment(env)
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


def test_the_posterior_finds_a_known_network():
    """Many rows make the true pairs certain, and no others.

    That holds where no effects cancel, as those of PKA on Erk nearly do with seed 1.
    """
    bunch = make_linear_gaussian_data(n_samples=5000)
    env = DagEnvironment(5)
    graph = StateGraph.from_environment(env)
    samples = subsample_rows(bunch.data, 4000, members=[0], standardize="member")
    table = log_reward_table(LocalScoreReward(env, bge_scores(samples)), graph)
    found = edge_marginals(graph, torch.softmax(table, dim=1))[0]
    either = (found + found.T).numpy()
    true = bunch.weights != 0
    assert either[true].min() > 0.95
    assert either[~(true | true.T | np.eye(5, dtype=bool))].max() < 0.2


@cases(
    ("law", "message"),
    (torch.full((2, 24), 1 / 24), r"shape \(n_members, 25\).*got \(2, 24\)"),
    (torch.full((2, 25), 1 / 24), "largest distance of a sum from one 0.0417"),
    (torch.eye(25)[:2] * 2 - torch.eye(25)[1:3], "smallest is -1"),
)
def test_bad_laws(law, message):
    graph = StateGraph.from_environment(DagEnvironment(3))
    refuses(message, edge_marginals, graph, law)
    grid = StateGraph.from_environment(GridEnvironment(size=2, max_moves=1))
    words = "a DagEnvironment is needed, got GridEnv"
    refuses(words, edge_marginals, grid, torch.ones(1, 3) / 3)
