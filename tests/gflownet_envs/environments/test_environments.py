"""The contract over all environments, and what is particular to each."""

import numpy as np
import pytest
import torch

from gflownet_envs import (
    DagEnvironment,
    GridEnvironment,
    HypergridEnvironment,
    PlaneWalkEnvironment,
    SequentialSelectionEnvironment,
    TokenSequenceEnvironment,
    solve_exact,
)
from gflownet_envs.environments.base import sample_uniformly
from gflownet_envs.testing import environment_checks
from tests.gflownet_envs.spaces import NoRepeats
from tests.shared import cases, refuses

ENVIRONMENTS = {
    "grid": GridEnvironment(),
    "smallest grid": GridEnvironment(size=2, max_moves=1),
    "grid with every cell": GridEnvironment(size=3, max_moves=6),
    "selection": SequentialSelectionEnvironment(
        {"a": ["x", "y", "z"], "b": ["p"], "c": ["s", "t", "u", "v"]}
    ),
    "one step": SequentialSelectionEnvironment({"a": ["x", "y"]}),
    "one object": SequentialSelectionEnvironment({"a": ["x"]}),
    "hypergrid": HypergridEnvironment(),
    "tokens with an end": TokenSequenceEnvironment(["a", "end", "b"], 4, "end"),
    "grammar": NoRepeats(["a", "b", "end", "c"], 4, "end", name="no-repeats"),
    "plane": PlaneWalkEnvironment(),
    "smallest plane": PlaneWalkEnvironment(1),
    "dag": DagEnvironment(4),
    "dag with few edges": DagEnvironment(4, max_edges=2),
    "one node": DagEnvironment(1),
    "dag by its adjacency": DagEnvironment(3, encoding="adjacency"),
    "large dag": DagEnvironment(7, max_edges=8),
}
CASES = [
    pytest.param(environment, check, id=f"{name}-{check_name}")
    for name, environment in ENVIRONMENTS.items()
    for check_name, check in environment_checks(environment)
]


@pytest.mark.parametrize(("environment", "check"), CASES)
@pytest.mark.parametrize("seed", [0, 1])
def test_contract(environment, check, seed):
    check(environment, sample_uniformly(environment, 64, seed))


@pytest.mark.slow
@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS.keys())
def test_everything_stays_on_the_device_of_the_states(environment):
    # tensors on "meta" have no values, and refuse to meet tensors of the CPU
    sample = sample_uniformly(environment, 4)
    before, taken, after = (
        x.to("meta") for x in (sample.before, sample.taken, sample.after)
    )
    undo = environment.backward_action(before, taken)
    results = [
        environment.initial_state((2,), device="meta"),
        environment.is_terminal(before),
        environment.valid_mask(before),
        environment.step(before, taken),
        environment.backward_mask(after),
        undo,
        environment.backward(after, undo),
        environment.encode(before),
        environment.log_backward_policy(after),
    ]
    if environment.n_objects is not None:
        results.append(environment.object_index(after))
    if environment.is_tree:
        results.append(environment.action_history(after))
    assert {result.device.type for result in results} == {"meta"}


def test_selection_has_the_sizes_of_the_paper():
    levels = {
        "catalyst": [f"c{i}" for i in range(4)],
        "base": [f"b{i}" for i in range(3)],
        "aryl halide": [f"h{i}" for i in range(16)],
        "additive": [f"a{i}" for i in range(24)],
    }
    env = SequentialSelectionEnvironment(levels)
    assert (env.n_actions, env.encoding_size, env.n_objects) == (47, 51, 4608)
    assert env.step_actions(2) == tuple(range(7, 23))
    assert env.object_names()[24] == env.object_name(24) == "c0 | b0 | h1 | a0"
    index = env.object_index(env.object_levels())
    assert torch.equal(index, torch.arange(env.n_objects))
    env = SequentialSelectionEnvironment({"a": ["x", "y"], "b": ["p", "q"]})
    assert env.encode(torch.tensor([1, -1])).tolist() == [0, 1, 0, 0, 0, 1]


class OtherNumbers(GridEnvironment):
    def object_index(self, states):
        return super().object_index(states) + 5


def test_objects_of_numbers_that_no_object_has_are_refused():
    environment = OtherNumbers(size=3, max_moves=3)
    log_reward = np.zeros((2, environment.n_objects))
    words = r"object_index of .* is \d+ for the state"
    refuses(words, solve_exact, environment, log_reward)


@cases(
    ("call", "arguments", "message"),
    (GridEnvironment, {"size": 1}, "size must be an int of at least 2, got 1"),
    (SequentialSelectionEnvironment, {"levels": {}}, "levels"),
    (SequentialSelectionEnvironment, {"levels": {"a": "xyz"}}, "levels"),
    (GridEnvironment().step_actions, {"step": 6}, r"step must be in \[0, 6\), got 6"),
)
def test_bad_arguments(call, arguments, message):
    refuses(message, call, **arguments)
