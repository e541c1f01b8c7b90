"""Token sequences and hypergrids against enumeration with itertools."""

from functools import partial
from itertools import product

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gflownet_envs import HypergridEnvironment, StateGraph, TokenSequenceEnvironment
from gflownet_envs.environments.base import sample_uniformly
from gflownet_envs.testing import check_environment
from tests.gflownet_envs.spaces import NoRepeats
from tests.shared import cases, refuses


def test_sequences_in_order():
    env = TokenSequenceEnvironment(["end", "a", "b"], 3, end_token="end")
    every = [x for length in range(4) for x in product("ab", repeat=length)]
    assert env.object_names() == tuple(" ".join(x) for x in every)
    assert env.n_objects == 1 + 2 + 4 + 8
    env = TokenSequenceEnvironment(["a", "b", "c"], 2)
    assert env.object_names() == tuple(f"{x} {y}" for x, y in product("abc", repeat=2))
    encoding = env.encode(torch.tensor([1, -1]))
    assert encoding.tolist() == [0, 1, 0, 0, 1]  # by position; the step


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 4), st.integers(1, 4), st.none() | st.integers(0, 4))
def test_any_token_space(n_tokens, max_length, end):
    names = [f"t{i}" for i in range(n_tokens)]
    if end is not None:
        names.insert(min(end, n_tokens), "end")
    env = TokenSequenceEnvironment(names, max_length, None if end is None else "end")
    check_environment(env, n_trajectories=16)
    index = torch.arange(env.n_objects)
    states = env.object_states(index)
    assert env.is_terminal(states).all()
    assert torch.equal(env.object_index(states), index)
    n_longest = n_tokens**max_length
    n_shorter = sum(n_tokens**length for length in range(max_length))
    assert env.n_objects == n_longest + (0 if end is None else n_shorter)


def test_grammar_numbers_the_sequences_it_allows(monkeypatch):
    make = partial(NoRepeats, ["a", "b", "c", "end"], 4, "end", name="no-repeats")
    every = [x for length in range(4) for x in product("abc", repeat=length)]
    expected = [" ".join(x) for x in every if len(set(x)) == len(x)]
    assert make().object_names() == tuple(expected)
    check_environment(make())
    module = "gflownet_envs.environments.sequences._MAX_LISTED"
    monkeypatch.setattr(module, 20)
    assert make().n_objects is None
    assert make().enumeration_reason == "the grammar leaves more than 20 states"
    check_environment(make())


def test_more_sequences_than_an_int64_can_number():
    env = TokenSequenceEnvironment([str(i) for i in range(17)], 20)
    assert env.n_objects is None
    refuses(r"more than 2\^62 sequences", env.object_states, torch.tensor([0]))
    check_environment(env, n_trajectories=4)


@cases(
    ("arguments", "message"),
    ({"tokens": "abc"}, "sequence of names"),
    ({"tokens": ["a", "a"]}, "distinct names"),
    ({"tokens": ["end"], "end_token": "end"}, "at least one name besides"),
    ({"tokens": ["a"], "end_token": "b"}, "end_token must be one of .* got 'b'"),
)
def test_bad_token_spaces(arguments, message):
    arguments = {"tokens": ["a", "b"], "max_length": 2} | arguments
    refuses(message, TokenSequenceEnvironment, **arguments)
    env = TokenSequenceEnvironment(["a", "b"], 3)
    refuses(r"in \[0, 8\)", env.object_states, torch.tensor([0, 8]))
    refuses(r"in \[0, 8\).*got -1", env.object_name, -1)
    refuses(r"at most 2\^62, got 8 \*\* 21", HypergridEnvironment, 21)


@settings(max_examples=10, deadline=None)
@given(n_dims=st.integers(1, 3), side=st.integers(2, 4))
def test_any_hypergrid(n_dims, side):
    env = HypergridEnvironment(n_dims, side)
    check_environment(env, n_trajectories=16)
    cells = list(product(range(side), repeat=n_dims))
    assert env.object_cells().tolist() == [list(cell) for cell in cells]
    finals = sample_uniformly(env, 8).final
    for state in finals.tolist():
        assert env.object_index(torch.tensor(state)) == cells.index(tuple(state[:-1]))
    assert env.max_steps == n_dims * (side - 1) + 1
    graph = StateGraph.from_environment(env)
    assert torch.equal(graph.states[:, :-1].sum(dim=-1), graph.steps)
