"""Spaces as environments of the real gymnasium."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal

from gflownet_envs import to_gymnasium
from tests.gflownet_envs.spaces import GRID, HYPERGRID, random_log_reward
from tests.shared import refuses


@pytest.fixture
def gymnasium():
    return pytest.importorskip("gymnasium")


@pytest.mark.parametrize("environment", [GRID, HYPERGRID])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_their_own_check(gymnasium, environment):
    from gymnasium.utils.env_checker import check_env

    values = random_log_reward(environment)[0]
    check_env(to_gymnasium(environment, values), skip_render_check=True)


@pytest.mark.parametrize("environment", [GRID, HYPERGRID])
def test_episodes_are_trajectories(gymnasium, environment):
    values = random_log_reward(environment)[0]
    env = to_gymnasium(environment, values)
    n_states = env.graph.n_states
    rng = np.random.default_rng(1)
    for _ in range(20):
        number, info = env.reset(seed=0)
        state, is_over, gained = environment.initial_state(), False, 0.0
        while not is_over:
            expected = environment.valid_mask(state).numpy()
            assert_array_equal(info["action_mask"], expected)
            assert number == int(env.graph.state_ids(state))
            action = int(rng.choice(np.flatnonzero(expected)))
            number, gained, is_over, is_cut, info = env.step(action)
            state = environment.step(state, torch.tensor(action))
            assert is_over == bool(environment.is_terminal(state))
            assert not is_cut
        assert number == n_states + int(environment.object_index(state))
        assert gained == values[number - n_states]
        assert not info["action_mask"].any()


def test_an_action_that_is_not_allowed_changes_nothing(gymnasium):
    env = to_gymnasium(GRID, random_log_reward(GRID)[0])
    _, info = env.reset()
    closed = int(np.flatnonzero(info["action_mask"] == 0)[0])
    assert env.step(closed)[:4] == (0, 0.0, False, False)


def test_refusals(gymnasium):
    refuses("log_reward must have shape", to_gymnasium, GRID, np.zeros(2))
    episodes = to_gymnasium(GRID, np.zeros(GRID.n_objects))
    episodes.reset()
    refuses(r"action must be an int from 0 to .*, got -1", episodes.step, -1)
