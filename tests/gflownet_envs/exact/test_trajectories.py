import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from gflownet_envs import (
    GridEnvironment,
    SequentialSelectionEnvironment,
    greedy_trajectory,
    mean_log_reward,
    mean_policy,
    policies_along,
    policies_everywhere,
    solve_exact,
    trajectory_of_actions,
)
from tests.gflownet_envs.spaces import TREE, random_log_reward
from tests.shared import refuses

GRID = GridEnvironment()
SELECTION = SequentialSelectionEnvironment({"a": list("xyz"), "b": list("pq")})


def test_policies_along_by_hand():
    log_reward = np.log(np.array([[1.0, 1, 2, 4, 1, 1], [3.0, 1, 1, 1, 1, 1]]))
    source = solve_exact(SELECTION, log_reward)
    along = policies_along(SELECTION, source, trajectory_of_actions(SELECTION, [1, 3]))
    expected = [[0.2, 0.6, 0.2, 1 / 3, 2 / 3], [0.5, 0.25, 0.25, 0.5, 0.5]]
    assert_allclose(along.y, expected)
    assert along.steps == {"a": 3, "b": 2}
    assert along.step_names == ("a", "b")
    assert along.action_names == ("a: x", "a: y", "a: z", "b: p", "b: q")


def test_what_is_no_trajectory_or_one_policy_is_refused():
    words = r"action 0 at step 0 is not allowed.*\['down', 'right', 'stop'\]"
    refuses(words, trajectory_of_actions, GRID, [0, 4])
    refuses("must end in a terminal state", trajectory_of_actions, GRID, [3])
    pilots = solve_exact(SELECTION, np.zeros((2, 6)))
    refuses("one policy of 5 actions", greedy_trajectory, SELECTION, pilots.log_policy)
    refuses("trajectory_of_actions", policies_along, SELECTION, pilots, [1, 3])


def test_policies_in_all_states_are_those_along_each_trajectory():
    source = solve_exact(TREE, random_log_reward(TREE, 4))
    everywhere = policies_everywhere(source.graph, source)
    assert list(everywhere.steps.values()) == [2, 3, 3]
    for level, name in enumerate(("a: x", "a: y")):
        along = policies_along(TREE, source, trajectory_of_actions(TREE, [level, 2]))
        step = everywhere.step_names.index(name)
        assert_allclose(everywhere.y[:, :2], along.y[:, :2])
        columns = slice(2 + 3 * (step - 1), 5 + 3 * (step - 1))
        assert_allclose(everywhere.y[:, columns], along.y[:, 2:])


def test_unlikely_actions_have_a_probability_everywhere():
    env = SequentialSelectionEnvironment({"a": ["x", "y"], "b": ["p", "q"]})
    source = solve_exact(env, [[0.0, 0.0, 0.0, 2000.0]])
    found = policies_everywhere(source.graph, source)
    assert (found.y[:, found.mask] > 0).all()


def test_states_without_a_choice_are_left_out():
    env = GridEnvironment(size=2, max_moves=1)
    source = solve_exact(env, [[0.0, 1.0, 2.0]])
    found = policies_everywhere(source.graph, source)
    assert found.step_names == ("start",)
    assert found.mask.tolist() == [False, True, False, True, True]
    forced = SequentialSelectionEnvironment({"a": ["x"]})
    with pytest.raises(ValueError, match=r"no state of .* leaves a choice"):
        policies_everywhere(solve_exact(forced, [[0.0]]).graph, source)


def test_the_mean_policy_is_the_mean_of_probabilities():
    env = GridEnvironment(size=2, max_moves=1)
    source = solve_exact(env, [[0.0, 1.0, 3.0], [0.0, 3.0, 1.0]])
    mean = mean_policy(source)(env.initial_state()).exp()
    expected = source.log_policy(env.initial_state()).exp().mean(dim=0)
    torch.testing.assert_close(mean, expected)
    log_reward = np.log(np.array([[1.0] * 6, [4.0] * 6]))  # of logarithms for rewards
    assert_allclose(mean_log_reward(log_reward, SELECTION).exp(), 2.0)
