"""Small spaces, and rewards, walks and comparisons that many tests share."""

import numpy as np
import torch
from numpy.testing import assert_allclose

from gflownet_envs import (
    GridEnvironment,
    HypergridEnvironment,
    SequentialSelectionEnvironment,
    TokenSequenceEnvironment,
)

GRID = GridEnvironment(size=3, max_moves=3)  # ends early
HYPERGRID = HypergridEnvironment(n_dims=2, side=3)  # several parents
TREE = SequentialSelectionEnvironment({"a": ["x", "y"], "b": ["p", "q", "r"]})
TOKENS = TokenSequenceEnvironment(["a", "end", "b"], 3, end_token="end")
SPACES = (GRID, HYPERGRID, TREE, TOKENS)

THREE_STEPS = {"a": list("xyz"), "b": list("pqrs"), "c": list("uv")}
SELECTION = SequentialSelectionEnvironment(THREE_STEPS)


def random_log_reward(env, n_members=1, seed=0):
    """Draw standard normal log rewards, one row a member."""
    return np.random.default_rng(seed).normal(size=(n_members, env.n_objects))


def all_paths(env, state=None):
    """Yield every path from a state as its (state, action) pairs and its end."""
    state = env.initial_state() if state is None else state
    if env.is_terminal(state):
        yield [], state
        return
    for action in env.valid_mask(state).nonzero()[:, 0]:
        for edges, end in all_paths(env, env.step(state, action)):
            yield [(state, action), *edges], end


def assert_same_parameters(one, other, tolerance=0.0):
    """Check that two ensembles learned the same."""
    for name, array in one.parameters.items():
        expected = other.parameters[name]
        assert_allclose(array, expected, rtol=0, atol=tolerance, err_msg=name)


class NoRepeats(TokenSequenceEnvironment):
    """Each token at most once; the sequence may always end."""

    def _grammar_mask(self, states):
        tokens = torch.arange(self.n_actions, device=states.device)
        return (states[..., None] != tokens).all(dim=-2)
