"""The contract notices broken environments and says which rule they break."""

import pytest
import torch

from gflownet_envs import GridEnvironment
from gflownet_envs.testing import check_environment


class ForgetsToMask(GridEnvironment):
    def valid_mask(self, states):
        return super().valid_mask(states) | self.is_terminal(states)[..., None]


class MovesAfterTheEnd(GridEnvironment):
    def step(self, states, actions):
        after = super().step(states, actions).clone()
        after[..., 0] = torch.where(states[..., 3] == 1, 0, after[..., 0])
        return after


class InventsParents(GridEnvironment):
    """Counts neighbours on the board that no walk of that length reaches."""

    def _is_reachable(self, cells, steps):
        on_board = ((cells >= 0) & (cells < self.size)).all(dim=-1)
        return on_board & (steps >= 0)


class ForgetsTheColumn(GridEnvironment):
    def encode(self, states):
        encoding = super().encode(states)
        encoding[..., self.size : 2 * self.size] = 0
        return encoding


class ChangesItsArguments(GridEnvironment):
    def encode(self, states):
        encoding = super().encode(states)
        states[..., 3] = 0
        states[..., 2] += states[..., 2] == 1
        return encoding


class HoldsALambda(GridEnvironment):
    def __init__(self):
        super().__init__()
        self.reward = lambda states: states.sum()


class WrongBackwardAction(GridEnvironment):
    def backward_action(self, states, actions):
        return torch.where(actions == 4, 4, actions)


class UniformOverTooMany(GridEnvironment):
    def log_backward_policy(self, states):
        return super().log_backward_policy(states) - (states[..., 2] > 0).double()


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (ForgetsToMask(), "all False on terminal"),
        (MovesAfterTheEnd(), "leave terminal states"),
        (InventsParents(), "parents and edges disagree|allowed action returns"),
        (ForgetsTheColumn(), "distinguish"),
        (ChangesItsArguments(), "must not modify|agree for one state"),
        (WrongBackwardAction(), "backward"),
        (UniformOverTooMany(), "normalised"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_broken_environments_are_noticed(environment, message):
    with pytest.raises(AssertionError, match=message):
        check_environment(environment)


def test_environments_that_do_not_pickle_are_noticed():
    with pytest.raises(Exception, match="pickle"):
        check_environment(HoldsALambda())


def test_checks_without_a_graph_where_states_cannot_be_listed():
    env = GridEnvironment()
    env.is_enumerable = False
    check_environment(env)
