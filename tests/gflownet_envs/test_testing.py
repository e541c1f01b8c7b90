"""The contract notices broken environments and says which rule they break."""

import pytest
import torch

from gflownet_envs import (
    DagEnvironment,
    GridEnvironment,
    HypergridEnvironment,
    ObjectTable,
    StateGraph,
    TokenSequenceEnvironment,
    TrainingSpec,
    solve_exact,
    train_ensemble,
)
from gflownet_envs.testing import check_environment, environment_checks
from tests.shared import cases, refuses


class ForgetsToMask(GridEnvironment):
    def valid_mask(self, states):
        return super().valid_mask(states) | self.is_terminal(states)[..., None]


class KnowsNoDevice(GridEnvironment):
    def initial_state(self, batch_shape=()):
        return super().initial_state(batch_shape)


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


class WrongBackwardAction(GridEnvironment):
    def backward_action(self, states, actions):
        return torch.where(actions == 4, 4, actions)


class UniformOverTooMany(GridEnvironment):
    def log_backward_policy(self, states):
        return super().log_backward_policy(states) - (states[..., 2] > 0).double()


class TakesTwoStairsAtOnce(HypergridEnvironment):
    """One coordinate that grows by one or two: no fixed number of actions."""

    def __init__(self):
        super().__init__()
        self.is_enumerable, self.enumeration_reason = False, "only walks are looked at"
        self._change = torch.tensor([[1, 0, 0], [2, 0, 0], [0, 0, 1]])

    def valid_mask(self, states):
        stairs = torch.tensor([0, 1])
        may_step = states[..., :1] + stairs < self.side - 1
        going_on = states[..., -1:] == 0
        return torch.cat((may_step & going_on, going_on), dim=-1)

    def backward_mask(self, states):
        stairs = torch.tensor([0, 1])
        stopped = states[..., -1:] == 1
        return torch.cat(((states[..., :1] > stairs) & ~stopped, stopped), dim=-1)


class ShortensAWayBack(HypergridEnvironment):
    """Leads a walk back over two cells at once."""

    def backward(self, states, backward_actions):
        before = super().backward(states, backward_actions)
        before[..., 0] -= (before[..., 0] > 0).long()
        return before


class GivesNumbersWithoutObjects(DagEnvironment):
    def object_index(self, states):
        return states[..., 0]


class HistoryBackwards(TokenSequenceEnvironment):
    def action_history(self, states):
        return super().action_history(states).flip(-1)


class HasNumbersForAMask(GridEnvironment):
    def valid_mask(self, states):
        return super().valid_mask(states).long()


class EndsInACorner(GridEnvironment):
    """Allows nothing in one cell, although the walk is not finished there."""

    def valid_mask(self, states):
        corner = (states[..., :2] == self.size - 1).all(dim=-1)
        return super().valid_mask(states) & ~corner[..., None]


class LacksNames(GridEnvironment):
    def __init__(self):
        super().__init__()
        del self.action_names


def changed(environment, **attributes):
    vars(environment).update(attributes)
    return environment


@cases(
    ("environment", "message"),
    (HasNumbersForAMask(), r"valid_mask must return .*bool.*\(2, 5\), got torch.int"),
    (EndsInACorner(2, 3), r"dead end: .* unfinished state \[1, 1,"),
    (LacksNames(), "action_names is missing; set it to a tuple of str in"),
    (
        changed(GridEnvironment(), step_names=["a"]),
        r"step_names must be a tuple of str, got \['a'\]",
    ),
    (
        changed(GridEnvironment(), encoding_size=3),
        r"encode must return .*\(2, 3\), got the shape",
    ),
    (changed(GridEnvironment(), f=lambda: 0), "must pickle, so .* at the top"),
    (TakesTwoStairsAtOnce(), "every way back .* is not graded"),
    (ShortensAWayBack(), "must undo step"),
    (GivesNumbersWithoutObjects(6), "object_index must raise ValueError"),
    (
        changed(DagEnvironment(6), enumeration_reason=""),
        "enumeration_reason must say why",
    ),
    (HistoryBackwards(["a", "b"], 3), "actions that led to each state"),
    (changed(HypergridEnvironment(), is_tree=True), "one parent"),
    (KnowsNoDevice(), "initial_state must return .* raised TypeError: .*unexpected"),
    (ForgetsToMask(), "all False on terminal"),
    (MovesAfterTheEnd(), "leave terminal states"),
    (InventsParents(), "every way back .* cannot be reached"),
    (ForgetsTheColumn(), "distinguish"),
    (ChangesItsArguments(), "must not modify|agree for one state"),
    (WrongBackwardAction(), "backward"),
    (UniformOverTooMany(), "normalised"),
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_broken_environments_are_noticed(environment, message):
    with pytest.raises(AssertionError, match=message):
        check_environment(environment)


def test_spaces_without_a_graph_are_checked_by_trajectories():
    unlisted = {"is_enumerable": False, "enumeration_reason": "nobody listed them"}
    check_environment(changed(GridEnvironment(), **unlisted))
    env = TokenSequenceEnvironment([str(i) for i in range(17)], 10)
    assert env.n_objects == 17**10
    check_environment(env)
    names = [name for name, _ in environment_checks(env)]
    assert "backward walks" in names
    assert "exact law" not in names


def test_a_dead_end_that_no_walk_met_is_found_where_states_are_listed():
    env = EndsInACorner(size=4, max_moves=6)
    with pytest.raises(AssertionError, match=r"'graph tables' ended in .* dead end"):
        check_environment(env, n_trajectories=1)


@pytest.mark.parametrize("is_listed", [True, False])
def test_nothing_is_solved_or_trained_in_a_space_with_a_dead_end(is_listed):
    env = EndsInACorner(size=2, max_moves=3)
    spec = TrainingSpec(n_iterations=5, max_table_states=10**6 if is_listed else 0)
    log_reward = torch.zeros(1, env.n_objects)
    refuses("dead end", train_ensemble, env, log_reward, spec)
    refuses("dead end", solve_exact, env, log_reward)


def test_an_object_table_numbers_states():
    env = GridEnvironment(size=3, max_moves=3)
    graph = StateGraph.from_environment(env)
    ends = graph.children[graph.mask] - graph.n_states
    parents, actions = graph.mask.nonzero(as_tuple=True)
    states = env.step(graph.states[parents], actions)[ends >= 0]
    table = ObjectTable(torch.unique(states, dim=0).flip(0))
    assert torch.equal(table.states[table.index(states)], states)
    assert table.index(states[0]).shape == ()
    with pytest.raises(ValueError, match=r"\[9, 9, 9, 9\] is no terminal state of the"):
        table.index(torch.full((2, 4), 9))
    with pytest.raises(ValueError, match=r"must be different, got \[1, 2\] more than"):
        ObjectTable(torch.tensor([[1, 2], [0, 2], [1, 2]]))
    refuses("states must be int64 of shape", ObjectTable, torch.zeros(3))
