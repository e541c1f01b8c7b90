import pytest
import torch

from gflownet_envs import DagEnvironment, GridEnvironment, StateGraph
from gflownet_envs.environments.base import TooManyStatesError
from tests.shared import cases, refuses


def test_grid_has_the_states_that_walks_reach():
    graph = StateGraph.from_environment(GridEnvironment())
    walks = {(0, 0, 0)}
    for step in range(5):
        here = [(r, c) for r, c, s in walks if s == step]
        for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            walks |= {(r + dr, c + dc, step + 1) for r, c in here}
        walks = {walk for walk in walks if min(walk) >= 0 and max(walk[:2]) < 5}
    assert {tuple(state[:3]) for state in graph.states.tolist()} == walks


def test_numbers_of_states():
    graph = StateGraph.from_environment(GridEnvironment())
    assert graph.state_ids(graph.states[3]).item() == 3
    pairs = graph.states[:4].reshape(2, 2, 4)
    assert graph.state_ids(pairs).tolist() == [[0, 1], [2, 3]]
    unreachable = torch.tensor([4, 4, 2, 0])
    refuses("not a reachable non-terminal state", graph.state_ids, unreachable)


def test_spaces_that_are_not_listed_are_refused():
    env = GridEnvironment()
    with pytest.raises(TooManyStatesError, match="more than max_states=4"):
        StateGraph.from_environment(env, max_states=4)
    env.is_enumerable, env.enumeration_reason = False, "it goes on for ever"
    refuses("not enumerable: it goes on for ever", StateGraph.from_environment, env)


class NoStepCounter(GridEnvironment):
    """A walk may come back to a state after another number of moves."""

    def step(self, states, actions):
        after = super().step(states, actions).clone()
        after[..., 2] = after[..., 2].clamp(max=0)
        return after


class MaskOfNumPy(GridEnvironment):
    def valid_mask(self, states):
        return super().valid_mask(states).numpy()


class OneParent(GridEnvironment):
    """As one that forgets that the order of actions does not matter."""

    def log_backward_policy(self, states):
        return torch.zeros(states.shape[:-1], dtype=torch.float64)


class OneMore(GridEnvironment):
    """Counts an object that no walk reaches."""

    def __init__(self, size, max_moves):
        super().__init__(size, max_moves)
        self.n_objects += 1


@cases(
    ("environment", "message"),
    (NoStepCounter(2, 2), "not graded|more than max_steps"),
    (MaskOfNumPy(2, 1), r"tensor of torch\.bool, .* got ndarray of b"),
    (OneParent(3, 2), "add up to 2 over the edges into the state"),
    (OneMore(2, 1), "object 3 of .* is not reached by any action"),
)
def test_what_is_no_graph_is_refused(environment, message):
    refuses(message, StateGraph.from_environment, environment)


@pytest.mark.parametrize("env", [GridEnvironment(), DagEnvironment(4)])
def test_listing_in_chunks_gives_the_same_tables(env, monkeypatch):
    whole = StateGraph.from_environment(env)
    monkeypatch.setattr("gflownet_envs.environments.base._EDGES_AT_ONCE", 40)
    parts = StateGraph.from_environment(env)
    for name in ("states", "steps", "encodings", "mask", "children", "log_pb"):
        assert torch.equal(getattr(parts, name), getattr(whole, name)), name
