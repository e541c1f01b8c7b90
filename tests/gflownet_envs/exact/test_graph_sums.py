"""Sums over graphs with required edges, against lists of all graphs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gflownet_envs import DagEnvironment, StateGraph
from gflownet_envs.exact.graph_sums import GraphSums

REQUIRED = {
    "none": [0, 0, 0, 0],
    "an edge": [0, 0b0001, 0, 0],
    "a chain": [0, 0b0001, 0b0010, 0b0100],
    "two parents": [0b0110, 0, 0, 0],
}


@pytest.mark.parametrize("required", REQUIRED.values(), ids=REQUIRED)
@pytest.mark.parametrize("width", [1, 3, 7])
def test_sums_of_listed_graphs(required, width, rng):
    scores = rng.normal(scale=5.0, size=(2, 4, 16))
    weights, edge_weights = rng.uniform(0.5, 2.0, size=(2, width))
    env = DagEnvironment(4)
    graphs = env.parent_sets(StateGraph.from_environment(env).final_states()).numpy()
    required = np.array(required)
    graphs = graphs[((graphs & required) == required).all(axis=1)]
    is_edge = (graphs[:, np.newaxis] >> np.arange(4)[:, np.newaxis]) & 1  # (n, i, j)
    n_required = sum(bin(parents).count("1") for parents in required)
    n_added = is_edge.sum(axis=(1, 2)) - n_required
    graphs, is_edge = graphs[n_added < width], is_edge[n_added < width]
    n_added = n_added[n_added < width]
    reward = np.exp(scores[:, np.arange(4), graphs].sum(axis=2))

    total, by_edge, scale = GraphSums(required).weighted(scores, weights, edge_weights)

    size = np.exp(scale)
    assert_allclose(total * size, reward @ weights[n_added], rtol=1e-12)
    expected = np.einsum("eg,gij->eij", reward * edge_weights[n_added], is_edge)
    assert_allclose(by_edge * size[:, None, None], expected, rtol=1e-12)


def test_the_best_graph_sets_the_scale():
    """All that is allowed counts, whatever the number of its edges."""
    scores = np.random.default_rng(1).normal(scale=300.0, size=(3, 4, 16))
    env = DagEnvironment(4)
    graphs = env.parent_sets(StateGraph.from_environment(env).final_states()).numpy()
    log_reward = scores[:, np.arange(4), graphs].sum(axis=2)
    scale = GraphSums(np.zeros(4, int)).weighted(scores, np.ones(1), np.ones(1))[2]
    assert_allclose(scale, log_reward.max(axis=1))


def test_required_edges_leave_products_out():
    """A node comes before, in or after T: an edge i → j leaves five of nine ways."""
    assert GraphSums(np.array([0, 0, 0, 0, 0])).n_products == 3**5 - 1
    assert GraphSums(np.array([0, 0b1, 0, 0, 0])).n_products == 5 * 3**3 - 1
