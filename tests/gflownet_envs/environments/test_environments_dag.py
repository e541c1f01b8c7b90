"""Directed acyclic graphs against matrix powers and Robinson's numbers."""

import numpy as np
import pytest
import torch

from gflownet_envs import DagEnvironment, StateGraph
from gflownet_envs.environments.base import sample_uniformly
from gflownet_envs.rewards.graph_scores import LocalScoreReward
from gflownet_envs.rewards.source import as_reward_source
from gflownet_envs.testing import check_environment
from tests.shared import cases, refuses


def adjacency_matrix(env, state):
    """Read the edges i → j from the sets of parents."""
    parents = env.parent_sets(state).tolist()
    n = env.n_nodes
    return np.array([[parents[j] >> i & 1 for j in range(n)] for i in range(n)])


def test_every_graph_of_four_nodes_is_a_state():
    env = DagEnvironment(4)
    graph = StateGraph.from_environment(env)
    assert graph.n_states == 543
    # Robinson (1973)
    assert [DagEnvironment(n).n_objects for n in range(1, 6)] == [1, 3, 25, 543, 29281]
    matrices = np.stack([adjacency_matrix(env, state) for state in graph.states])
    assert len(np.unique(matrices.reshape(543, -1), axis=0)) == 543
    # nilpotent: no walk of four edges
    assert not np.linalg.matrix_power(matrices, 4).any()
    edges = matrices.sum(axis=(1, 2))
    assert np.array_equal(edges, graph.steps.numpy())


@pytest.mark.parametrize("env", [DagEnvironment(5), DagEnvironment(11, max_edges=18)])
@pytest.mark.parametrize("seed", [0, 1])
def test_allowed_edges_are_those_that_close_no_cycle(env, seed):
    states = sample_uniformly(env, 12, seed).before[::3]
    for state, mask in zip(states, env.valid_mask(states).tolist(), strict=True):
        matrix = adjacency_matrix(env, state)
        reaches = np.linalg.matrix_power(np.eye(env.n_nodes) + matrix, env.n_nodes) > 0
        has_room = matrix.sum() < env.max_edges
        for name, allowed in zip(env.action_names[:-1], mask[:-1], strict=True):
            i, j = map(int, name.split(" → "))
            assert allowed == (has_room and not matrix[i, j] and not reaches[j, i])
        assert mask[-1]


def test_sets_of_62_nodes_fit_their_bits():
    env = DagEnvironment(62, max_edges=2)
    state = env.initial_state()
    for name in ("61 → 0", "0 → 60"):
        before, action = state, torch.tensor(env.action_names.index(name))
        state = env.step(state, action)
        assert torch.equal(env.backward(state, action), before)
        mask = env.valid_mask(before)
    closed = {env.action_names[a] for a in (~mask).nonzero()[:, 0]}
    assert closed == {"61 → 0", "0 → 61"}
    assert env.valid_mask(state).nonzero()[:, 0].tolist() == [env.n_actions - 1]


def test_encoding_is_the_adjacency_and_the_share_of_edges():
    env = DagEnvironment(4, max_edges=5, encoding="adjacency")
    for state in sample_uniformly(env, 5).before:
        matrix = adjacency_matrix(env, state)
        flat = matrix[~np.eye(4, dtype=bool)]
        encoding = env.encode(state)
        assert encoding[:-1].tolist() == flat.tolist()
        assert encoding[-1].item() == pytest.approx(matrix.sum() / 5)


def test_encoding_of_sets_is_parents_and_nodes_that_may_be_parents():
    env = DagEnvironment(4, max_edges=5, encoding="parent_sets")
    assert env.encoding_size == 4 * 2**4 + 1
    for state in sample_uniformly(env, 5).before:
        matrix = adjacency_matrix(env, state)
        reaches = np.linalg.matrix_power(np.eye(4) + matrix, 4) > 0
        encoding = env.encode(state)
        assert encoding[-1].item() == pytest.approx(matrix.sum() / 5)
        halves = encoding[:-1].reshape(2, 4, 8)
        assert (halves.sum(dim=-1) == 1).all()
        for node in range(4):
            others = [i for i in range(4) if i != node]
            parents = [i for i in others if matrix[i, node]]
            candidates = [i for i in others if not reaches[node, i]]
            for half, members in zip(halves, (parents, candidates), strict=True):
                number = sum(2 ** others.index(i) for i in members)
                assert half[node].argmax().item() == number


def test_log_reward_of_local_scores_is_linear_in_the_encoding_of_sets():
    env = DagEnvironment(4)
    states = StateGraph.from_environment(env).final_states()
    scores = np.random.default_rng(0).standard_normal((1, 4, 16))
    log_reward = LocalScoreReward(env, scores).of_states(states[None])[0].numpy()
    squared = {}
    for encoding in ("parent_sets", "adjacency"):
        design = DagEnvironment(4, encoding=encoding).encode(states).numpy()
        design = np.column_stack([np.ones(len(states)), design])
        fitted = design @ np.linalg.lstsq(design, log_reward, rcond=None)[0]
        squared[encoding] = np.mean((fitted - log_reward) ** 2)
    assert squared["parent_sets"] < 1e-10
    assert squared["adjacency"] > 0.1


def test_default_encodings_and_rewards_that_fit_both():
    assert DagEnvironment(5).encoding == "parent_sets"
    assert DagEnvironment(6).encoding == "adjacency"
    check_environment(DagEnvironment(8, max_edges=4, encoding="parent_sets"))
    reward = LocalScoreReward(DagEnvironment(3), np.zeros((1, 3, 8)))
    assert as_reward_source(reward, DagEnvironment(3, encoding="adjacency")) is reward


def test_names_of_objects_are_their_edges():
    env = DagEnvironment(3)
    state = env.initial_state()
    for name in ("2 → 0", "0 → 1", "stop"):
        state = env.step(state, torch.tensor(env.action_names.index(name)))
    assert env.object_name(int(env.object_index(state))) == "0 → 1, 2 → 0"
    assert env.object_name(0) == "no edges"
    refuses(r"index must be in \[0, 25\).*got 25", env.object_name, 25)


def test_objects_above_five_nodes_have_no_numbers():
    env = DagEnvironment(6)
    assert env.n_objects is None
    assert not env.is_enumerable
    for call in (lambda: env.object_index(env.initial_state()), env.object_names):
        refuses("graphs are listed up to 5 nodes, got 6", call)
    refuses("not enumerable: graphs are listed", StateGraph.from_environment, env)


@cases(
    ("arguments", "message"),
    ({"n_nodes": 63}, "n_nodes must be at most 62, got 63"),
    ({"n_nodes": 3, "max_edges": 4}, "max_edges must be at most 3, .* got 4"),
    ({"n_nodes": 3, "encoding": "sets"}, "encoding must be one of .*, got 'sets'"),
    ({"n_nodes": 2, "node_names": ["b", "b"]}, "node_names must be 2 distinct names"),
    ({"n_nodes": 9, "encoding": "parent_sets"}, "columns for at most 8 nodes, got 9"),
)
def test_bad_sizes(arguments, message):
    refuses(message, DagEnvironment, **arguments)
