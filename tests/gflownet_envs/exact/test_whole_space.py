"""The whole space against walks that are listed, and the bound by its states."""

import itertools

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from gflownet_envs import (
    GridEnvironment,
    HypergridEnvironment,
    SequentialSelectionEnvironment,
    StateGraph,
    TrainingSpec,
    WholeSpace,
    solve_exact,
    train_ensemble,
)
from tests.gflownet_envs.spaces import (
    HYPERGRID,
    SPACES,
    TREE,
    all_paths,
    random_log_reward,
)
from tests.shared import cases, refuses


def space_of(env, n_members=5, seed=0):
    solution = solve_exact(env, 2 * random_log_reward(env, n_members, seed))
    return WholeSpace.from_policies(solution.graph, solution), solution


@pytest.mark.parametrize("env", SPACES, ids=lambda env: env.name)
def test_visits_law_and_fragility_against_enumeration_of_walks(env):
    space, solution = space_of(env, n_members=2)
    policy = solution.log_policy_table.exp().numpy()
    visits, law = np.zeros_like(space.visits), np.zeros_like(space.law)
    for edges, end in all_paths(env):
        ids = [int(solution.graph.state_ids(state)) for state, _ in edges]
        chosen = [int(action) for _, action in edges]
        probability = policy[:, ids, chosen].prod(axis=1)
        visits[:, ids] += probability[:, np.newaxis]
        law[:, int(env.object_index(end))] += probability
    assert_allclose(space.visits, visits, rtol=0, atol=1e-12)
    assert_allclose(space.law, law, rtol=0, atol=1e-12)
    for state in range(solution.graph.n_states):
        weight = visits[:, state] / visits[:, state].sum()
        distance = 0.5 * np.abs(policy[:, state] - weight @ policy[:, state]).sum(1)
        assert space.fragility[state] == pytest.approx(weight @ distance, abs=1e-12)


@pytest.mark.parametrize("env", SPACES, ids=lambda env: env.name)
@pytest.mark.parametrize("seed", range(5))
def test_contributions_bound_the_fragility_of_objects(env, seed):
    space, _ = space_of(env, seed=seed)
    assert space.object_fragility <= space.contribution.sum() + 1e-12


def test_the_policy_of_all_visitors_gives_the_mean_law():
    # what makes the bound one of the distance to the mean
    space, solution = space_of(SPACES[0])
    policy = solution.log_policy_table.exp().numpy()
    share = space.visits / space.visits.sum(axis=0)
    common = np.einsum("en,ena->na", share, policy)

    class Common:
        def log_policy(self, states):
            return torch.from_numpy(common).log()[np.newaxis]

    found = WholeSpace.from_policies(solution.graph, Common())
    assert_allclose(found.law[0], space.law.mean(axis=0), atol=1e-12)


def test_one_decision_has_the_fragility_of_its_objects():
    env = SequentialSelectionEnvironment({"a": ["x", "y", "z"]})
    space, _ = space_of(env)
    assert space.contribution.sum() == pytest.approx(space.object_fragility)


def test_statistics_against_sums():
    env = HypergridEnvironment(n_dims=2, side=4)
    space, solution = space_of(env)
    target = solution.target_distribution().numpy()
    worth = np.arange(16.0)
    reward = np.abs(random_log_reward(env, 5, seed=1))
    names, even = [f"o{i}" for i in range(16)], {"even": np.arange(0, 16, 2)}
    values = {"worth": worth, "reward": reward}
    found = space.statistics(n_leading=2, names=names, classes=even, values=values)
    leading = np.argsort(-target.mean(axis=0))[:2]
    assert list(found) == [
        *(f"probability of o{i}" for i in leading),
        *("probability of even", "entropy", "expected worth", "expected reward"),
    ]
    assert_allclose(found["probability of even"], target[:, ::2].sum(axis=1))
    assert_allclose(found["entropy"], -(target * np.log(target)).sum(axis=1))
    assert_allclose(found["expected worth"], target @ worth)
    assert_allclose(found["expected reward"], np.einsum("eo,eo->e", target, reward))


@pytest.mark.parametrize("seed", range(3))
def test_number_of_modes_against_a_search_cell_by_cell(seed):
    env = HypergridEnvironment(n_dims=2, side=6)
    space, _ = space_of(env, seed=seed)
    board = space.law.reshape(-1, 6, 6)
    cells = np.arange(36).reshape(6, 6)
    across = np.stack([cells[:, :-1].ravel(), cells[:, 1:].ravel()], axis=1)
    down = np.stack([cells[1:].ravel(), cells[:-1].ravel()], axis=1)
    pairs = np.concatenate([across, down])
    expected = np.zeros(len(board))
    for member, i, j in itertools.product(range(len(board)), range(6), range(6)):
        around = [(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)]
        inside = [board[member, a, b] for a, b in around if 0 <= a < 6 and 0 <= b < 6]
        own = board[member, i, j]
        expected[member] += own > max(inside) and own > 1 / 36
    found = space.statistics(n_leading=0, neighbours=pairs)
    assert_array_equal(found["number of modes"], expected)


def test_equally_likely_neighbours_are_one_mode():
    env = HypergridEnvironment(n_dims=1, side=5)
    solution = solve_exact(env, np.log([[1.0, 5.0, 5.0, 1.0, 4.0]]))
    space = WholeSpace.from_policies(solution.graph, solution)
    pairs = [[0, 1], [2, 1], [2, 3], [3, 4]]
    found = space.statistics(n_leading=0, neighbours=pairs)
    assert found["number of modes"].tolist() == [2.0]


def test_trained_members_take_the_place_of_exact_ones():
    env = TREE
    log_reward = 2 * random_log_reward(env, 3)
    spec = TrainingSpec(n_iterations=300, hidden=(16,), learning_rate=0.01)
    trained = train_ensemble(env, log_reward, spec, seed=0)
    exact = solve_exact(env, log_reward)
    space = WholeSpace.from_policies(exact.graph, trained)
    target = WholeSpace.from_policies(exact.graph, exact)
    assert 0.5 * np.abs(space.law - target.law).sum(axis=1).max() < 0.05


@cases(
    ("settings", "message"),
    ({"names": ["a"]}, "names must be 9 names, got 1"),
    ({"classes": {"low": [9]}}, r"classes\['low'\] has 9, which is no object"),
    ({"values": {"worth": [1.0]}}, r"must have shape \(9,\) or \(5, 9\), got"),
    ({"classes": {"low": [0.5]}}, "must be object numbers"),
    ({"values": {"worth": [np.nan] * 9}}, "must be finite"),
    ({"neighbours": [0, 1]}, r"must have shape \(n_pairs, 2\), got \(2,\)"),
    ({"n_leading": 9, "names": ["a"] * 9}, "'probability of a' would be there twice"),
)
def test_wrong_settings_are_named(settings, message):
    space, _ = space_of(HYPERGRID)
    refuses(message, space.statistics, **settings)


def test_policies_of_another_space_are_refused():
    space = GridEnvironment(size=2, max_moves=1)
    spec = TrainingSpec(n_iterations=2, hidden=(4,))
    ensemble = train_ensemble(space, np.zeros((1, space.n_objects)), spec)
    other = StateGraph.from_environment(GridEnvironment(size=3, max_moves=1))
    from_policies = WholeSpace.from_policies
    refuses(r"StateGraph\.from_environment", from_policies, space, ensemble)
    refuses("policies are of .*, expected those of", from_policies, other, ensemble)
