"""Spaces and policies there and back with the real torchgfn."""

import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from gflownet_envs import (
    DagEnvironment,
    GridEnvironment,
    HypergridEnvironment,
    ListedEnvironment,
    StateGraph,
    check_environment,
    from_torchgfn,
    solve_exact,
    terminating_distribution,
    to_torchgfn,
    torchgfn_policy,
)
from tests.gflownet_envs.spaces import GRID, HYPERGRID, TREE, random_log_reward
from tests.shared import refuses

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")

SPACES = (TREE, GRID, HYPERGRID, DagEnvironment(3, encoding="adjacency"))
NAMES = [space.name for space in SPACES]


@pytest.fixture
def gfn():
    with warnings.catch_warnings(action="ignore"):
        return pytest.importorskip("gfn", reason="torchgfn is not installed")


def exact_law(environment, reward):
    solution = solve_exact(environment, reward)
    return terminating_distribution(solution.graph, solution.log_policy_table)[0]


@pytest.mark.parametrize("environment", SPACES, ids=NAMES)
def test_there_and_back(gfn, environment):
    reward = random_log_reward(environment)
    theirs = to_torchgfn(environment, reward[0])
    back = from_torchgfn(theirs)
    check_environment(back)
    assert pickle.loads(pickle.dumps(back)).n_objects == environment.n_objects
    assert back.n_objects == environment.n_objects
    # an exit follows each object: the objects keep their order, and their reward
    assert_allclose(back.log_reward.numpy(), reward, rtol=1e-6)
    # and the exact solution samples them in proportion to it
    graph = StateGraph.from_environment(environment)
    found = solve_exact(back, back.log_reward).log_z
    expected = solve_exact(graph, reward).log_z
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("environment", SPACES, ids=NAMES)
def test_their_samples_walk_our_edges(gfn, environment):
    from gfn.estimators import DiscretePolicyEstimator
    from gfn.samplers import Sampler
    from gfn.utils.modules import MLP

    env = to_torchgfn(environment, random_log_reward(environment)[0])
    torch.manual_seed(0)
    network = MLP(env.preprocessor.output_dim, env.n_actions)
    estimator = DiscretePolicyEstimator(network, env.n_actions, env.preprocessor)
    sampled = Sampler(estimator).sample_trajectories(env, n=64)
    nodes = sampled.states.tensor[..., 0].T  # (64, T + 2), −1 after the exit
    for row in nodes.tolist():
        path = [node for node in row if node >= 0]
        state = environment.initial_state()
        for node in path[1:]:
            children = env.graph.children[env.graph.state_ids(state)]
            (action,) = (children == node).nonzero()[:1, 0].tolist()
            state = environment.step(state, torch.tensor(action))
        assert environment.is_terminal(state)
        assert int(environment.object_index(state)) == path[-1] - env.graph.n_states
    # backward steps undo forward ones, and there are as many as parents
    graph = env.graph
    parent, action = graph.mask.nonzero(as_tuple=True)
    child = graph.children[parent, action]
    taken = env.actions_from_tensor(env.edges[parent, action][:, None])
    after = env.step(env.states_from_tensor(parent[:, None]), taken)
    assert after.tensor[:, 0].tolist() == child.tolist()
    assert env.backward_step(after, taken).tensor[:, 0].tolist() == parent.tolist()
    n_parents = after.backward_masks.sum(dim=-1)
    expected = torch.bincount(child)[child]
    assert n_parents.tolist() == expected.tolist()


def test_their_hypergrid_is_ours(gfn):
    from gfn.gym import HyperGrid

    theirs = HyperGrid(ndim=2, height=5, validate_modes=False)
    environment = from_torchgfn(theirs)
    check_environment(environment)
    ours = HypergridEnvironment(2, 5)
    graph = StateGraph.from_environment(environment)
    assert graph.n_states == StateGraph.from_environment(ours).n_states == 25
    # their own enumeration of states and rewards
    cells = torch.tensor([[i, j] for i in range(5) for j in range(5)])
    expected = theirs.log_reward(theirs.states_from_tensor(cells))
    torch.testing.assert_close(environment.log_reward[0].float(), expected)
    assert environment.object_name(7) == str(cells[7].tolist())
    expected = exact_law(ours, environment.log_reward)
    found = exact_law(environment, environment.log_reward)
    torch.testing.assert_close(found, expected)


def test_a_state_of_several_layers(gfn):
    """A torchgfn space whose states can be reached after one step or two."""
    from gfn.env import DiscreteEnv
    from gfn.states import DiscreteStates

    class Ladder(DiscreteEnv):
        """0 → 1 → 2 and 0 → 2; the end at any."""

        def __init__(self):
            super().__init__(n_actions=3, s0=torch.zeros(1).long(), state_shape=(1,))

        def make_states_class(self):
            env = self

            class States(DiscreteStates):
                state_shape, s0, sf, n_actions = (1,), env.s0, env.sf, 3

                def _compute_forward_masks(self):
                    at = self.tensor
                    return torch.cat((at < 2, at < 1, at > -1), dim=-1)

                def _compute_backward_masks(self):
                    raise NotImplementedError

            return States

        def step(self, states, actions):
            return self.States(states.tensor + actions.tensor + 1)

        def backward_step(self, states, actions):
            return self.States(states.tensor - actions.tensor - 1)

        def log_reward(self, states):
            return states.tensor[..., 0].float()

    environment = from_torchgfn(Ladder())
    check_environment(environment)
    assert StateGraph.from_environment(environment).n_states == 4  # 2 in two layers
    assert environment.log_reward.tolist() == [[0.0, 1.0, 2.0]]
    law = exact_law(environment, environment.log_reward)
    torch.testing.assert_close(law, torch.softmax(torch.arange(3.0).double(), 0))


def test_their_model_in_their_own_environment(gfn):
    from gfn.estimators import DiscretePolicyEstimator
    from gfn.gym import HyperGrid
    from gfn.preprocessors import KHotPreprocessor
    from gfn.utils.modules import MLP

    env = HyperGrid(ndim=2, height=4, validate_modes=False)
    seen = KHotPreprocessor(height=4, ndim=2)
    environment = from_torchgfn(env, preprocessor=seen)
    assert environment.encoding_size == 8
    torch.manual_seed(0)
    pf = DiscretePolicyEstimator(MLP(8, env.n_actions), env.n_actions, seen)
    policy = torchgfn_policy(pf, env, environment)
    graph = StateGraph.from_environment(environment)
    found = policy(graph.states)
    states = env.states_from_tensor(environment.torchgfn_states)
    expected = pf.to_probability_distribution(states, pf(states)).probs
    order = graph.states[:, 0]
    assert_allclose(found, expected[order].detach().numpy(), atol=1e-6)
    refuses("environment is needed", torchgfn_policy, pf, env)


def test_refusals(gfn):
    from gfn.gym import HyperGrid

    refuses("discrete environment of torchgfn", from_torchgfn, GridEnvironment())
    large, words = HyperGrid(ndim=2, height=8), "more than max_states=10 states"
    refuses(words, from_torchgfn, large, max_states=10)
    grid, two = GridEnvironment(), np.zeros((2, 19))
    refuses("that of one member, got", to_torchgfn, grid, two)
    refuses("log_reward must have shape", to_torchgfn, grid, np.zeros(3))


@pytest.mark.parametrize("environment", SPACES, ids=NAMES)
def test_tables_of_a_space_are_that_space(environment):
    """Without torchgfn: the tables of a graph, and the graph of the tables."""
    graph = StateGraph.from_environment(environment)
    names = {"action_names": environment.action_names}
    names["object_names"] = environment.object_names()
    again = ListedEnvironment("again", graph.children, graph.encodings, **names)
    check_environment(again)
    reward = random_log_reward(environment, 2)
    found, expected = solve_exact(again, reward), solve_exact(graph, reward)
    torch.testing.assert_close(found.log_z, expected.log_z)
    order = found.graph.states[:, 0].argsort()
    policies = found.log_policy_table.exp()[:, order]
    torch.testing.assert_close(policies, expected.log_policy_table.exp())


def test_a_cycle_is_refused():
    names = {"action_names": ("a", "b"), "object_names": ("end",)}
    cycle = ("cycle", torch.tensor([[1, 2], [0, 2]]), torch.eye(2))
    refuses("must have no cycle", ListedEnvironment, *cycle, **names)


def test_the_lines_of_the_guide(gfn):
    """Those that train with torchgfn, fewer times, and those that explain."""
    guide = Path(__file__).parents[2] / "docs" / "user_guide" / "gflownets.md"
    section = guide.read_text(encoding="utf-8").split("## From torchgfn and for it")[1]
    train, explain = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)[:2]
    names: dict = {}
    exec(train.replace("range(300)", "range(2)"), names)
    assert len([line for line in explain.splitlines() if line]) == 10
    exec(explain.replace("[::16]", "[::25]"), names)
    answer = names["answer"]
    assert len(answer.steps) == len(names["data"].steps)
    assert "drives" in str(answer) or "not settled" in str(answer)
