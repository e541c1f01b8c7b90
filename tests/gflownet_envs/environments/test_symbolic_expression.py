"""Symbolic regression: the grammar, the values and the misfit to a noisy target."""

import math
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gflownet_envs import SymbolicExpressionEnvironment, wiener_regression_rewards
from gflownet_envs.environments.base import sample_uniformly
from gflownet_envs.rewards.source import wiener_modes
from gflownet_envs.testing import check_environment
from tests.shared import cases, refuses

TOKENS = ("sin", "cos", "+", "−", "x", "2")


@cache
def nine():
    return SymbolicExpressionEnvironment()


def python_value(name, x):
    """Let Python parse an expression: functions close at the next + or −."""
    source, open_functions = "", 0
    for token in [*name.split(), "+"]:
        if token in ("+", "−"):
            source += ")" * open_functions + token.replace("−", "-")
            open_functions = 0
        elif token in ("sin", "cos"):
            source, open_functions = f"{source}{token}(", open_functions + 1
        else:
            source += token
    return eval(source[:-1], {"sin": math.sin, "cos": math.cos, "x": x})


def is_expression(tokens):
    """Say whether Python can read the tokens as sums of functions of operands."""
    try:
        python_value(" ".join(tokens), 0.3)
    except (SyntaxError, TypeError, NameError):
        return False
    # Python also reads signs in front of a term and digits side by side
    starts = [tokens[0], *(b for a, b in pairwise(tokens) if a in TOKENS[:4])]
    ends = [b for a, b in pairwise(tokens) if a in ("x", "2")]
    return set(ends) <= {"+", "−"} and not set(starts) & {"+", "−"}


@pytest.mark.parametrize("max_length", [1, 2, 3, 5, 9])
def test_the_contract(max_length):
    check_environment(SymbolicExpressionEnvironment(max_length))
    env = SymbolicExpressionEnvironment(min(max_length, 4), encoding="tokens")
    assert env.encoding_size == (env.max_length - 1) * 7 + env.max_length
    check_environment(env)


@pytest.mark.parametrize("max_length", [1, 2, 5])
def test_the_expressions_are_those_that_python_reads(max_length):
    env = SymbolicExpressionEnvironment(max_length)
    expected = set()
    for length in range(1, max_length + 1):
        every = product(TOKENS, repeat=length)
        expected |= {" ".join(tokens) for tokens in every if is_expression(tokens)}
    assert set(env.object_names()) == expected
    assert env.n_objects == len(expected)


def test_number_of_expressions():
    by_length = [2, 4]
    while len(by_length) < 9:
        by_length.append(2 * by_length[-1] + 4 * by_length[-2])
    assert nine().n_objects == sum(by_length) == 25_190


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 25_189), st.floats(-10, 10))
def test_values_are_those_of_python(index, x):
    states = nine().object_states(torch.tensor([index]))
    value = nine().values(states, torch.tensor([x], dtype=torch.float64))
    expected = python_value(nine().object_name(index), x)
    assert value.item() == pytest.approx(expected, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=9))
def test_the_encoding_holds_values_of_ways_to_finish(choices):
    env, state, tokens = nine(), nine().initial_state(), []
    for choice in choices:
        allowed = env.valid_mask(state).nonzero()[:, 0]
        action = allowed[choice % len(allowed)]
        if env.is_terminal(env.step(state, action)):
            break
        state = env.step(state, action)
        tokens.append(env.action_names[action])
    endings = ("x", "2", "sin x", "cos x", "sin 2", "cos 2")
    if tokens and tokens[-1] in ("x", "2"):
        endings = ("",) * 6
    encoding = env.encode(state)
    digits = [env.action_names.index(token) + 1 for token in tokens]
    octal = sum(digit * 8.0**-place for place, digit in enumerate(digits, start=1))
    is_last = [float(tokens[-1:] == [token]) for token in TOKENS]
    is_step = [float(len(tokens) == step) for step in range(9)]
    assert encoding[:16].tolist() == [*is_step, *is_last, octal]
    blocks = 8 * encoding[16:].reshape(6, 9).double()
    for block, ending in zip(blocks, endings, strict=True):
        name = " ".join([*tokens, ending]).strip()
        expected = [python_value(name, x) for x in np.linspace(0, 2 * np.pi, 8)]
        assert_allclose(block[:-1], expected, atol=1e-5)
        mean_square = np.mean(np.square(expected)) / 8
        assert block[-1].item() == pytest.approx(mean_square, abs=1e-5)


def test_encodings_differ_where_one_number_does_not_hold_all_digits():
    env = SymbolicExpressionEnvironment(10)
    states = torch.unique(sample_uniformly(env, 400).before, dim=0)
    encodings = env.encode(states)
    assert len(torch.unique(encodings, dim=0)) == len(states)
    assert (states[:, 8] >= 0).any()


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, SymbolicExpressionEnvironment(5).n_objects - 1),
    st.lists(st.floats(-3, 3), min_size=2, max_size=2),
)
def test_the_misfit_of_one_expression(index, scores):
    env = SymbolicExpressionEnvironment(5)
    log_reward = wiener_regression_rewards(env, [scores], n_points=13)
    x = np.linspace(0, 2 * np.pi, 13)
    target = np.sin(x) + 2 - x
    for k, z in enumerate(scores, start=1):
        mode = np.sin((k - 0.5) * x / 2) / (k - 0.5) / np.sqrt(np.pi)
        target += 2 * z * mode
    values = [python_value(env.object_name(index), point) for point in x]
    misfit = np.mean((np.array(values) - target) ** 2)
    assert log_reward[0, index].item() == pytest.approx(-misfit, abs=1e-9)


def test_all_modes_together_have_the_covariance_of_a_wiener_process():
    x = torch.linspace(0, 2 * math.pi, 9, dtype=torch.float64)
    modes = wiener_modes(x, n_modes=4000)
    covariance = torch.minimum(x[:, None], x)
    torch.testing.assert_close(modes @ modes.T, covariance, atol=1e-3, rtol=0)


@pytest.mark.parametrize("max_gap", [2.0, 5.0, 12.0])
def test_how_far_a_largest_gap_moves_the_law(max_gap):
    z = np.random.default_rng(1).standard_normal((4, 2))
    exact = wiener_regression_rewards(nine(), z)
    raised = wiener_regression_rewards(nine(), z, max_gap=max_gap)
    lowest = exact.max(dim=1, keepdim=True).values - max_gap
    torch.testing.assert_close(raised, torch.maximum(exact, lowest))
    law, moved = torch.softmax(exact, dim=1), torch.softmax(raised, dim=1)
    distance = 0.5 * (law - moved).abs().sum(dim=1)
    bound = nine().n_objects * math.exp(-max_gap)
    assert (distance <= bound).all()
    assert (raised.logsumexp(1) - exact.logsumexp(1) <= math.log1p(bound)).all()
    assert (distance > 0).all()


@cases(
    ("arguments", "message"),
    ({"scores": [0.0, 1.0]}, r"scores must have shape \(n_members, n_inputs\)"),
    ({"scores": [[np.inf]]}, "got inf for member 0, column 0"),
    ({"max_gap": math.inf}, "max_gap must be None or positive, got inf"),
)
def test_bad_arguments(arguments, message):
    env = SymbolicExpressionEnvironment(2)
    arguments = {"scores": [[0.0, 0.0]]} | arguments
    refuses(message, wiener_regression_rewards, env, **arguments)
    refuses("finished expressions", env.values, env.initial_state((2,)), torch.zeros(1))
    words = "encoding must be one of .*, got 'value'"
    refuses(words, SymbolicExpressionEnvironment, 3, encoding="value")
