"""The continuous grid: the walk and its field of bumps."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gflownet_envs import (
    PlaneWalkEnvironment,
    StateGraph,
    gaussian_bump_rewards,
    log_mean_bump_reward,
)
from gflownet_envs.environments.base import sample_uniformly
from gflownet_envs.rewards.source import BUMP_CENTRES, BUMP_WIDTH
from tests.shared import cases, refuses

PLANE = PlaneWalkEnvironment()


@pytest.mark.parametrize("max_moves", [1, 4])
def test_all_actions_are_open_before_the_last_step(max_moves):
    graph = StateGraph.from_environment(PlaneWalkEnvironment(max_moves))
    before_last = graph.steps < max_moves
    assert graph.mask[before_last].all()
    assert graph.mask[~before_last].sum(dim=1).unique().tolist() == [1]
    sizes = [len(graph.states[graph.layer(t)]) for t in range(max_moves + 1)]
    assert sizes == [(t + 1) ** 2 for t in range(max_moves + 1)]


def test_a_place_is_the_sum_of_the_moves():
    sample = sample_uniformly(PLANE, 64)
    moves = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}
    moves["stop"] = (0, 0)
    places = PLANE.positions()[PLANE.object_index(sample.final)]
    for actions, alive, place in zip(sample.actions, sample.alive, places, strict=True):
        taken = [moves[PLANE.action_names[a]] for a in actions[alive]]
        assert place.tolist() == (np.sum(taken, axis=0) / 4).tolist()
    names = PLANE.object_names()
    assert len(set(names)) == PLANE.n_objects == 41
    assert (names[0], names[20]) == ("(0, 1)", "(0, 0)")


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(-4, 4), min_size=3, max_size=3), st.integers(0, 40))
def test_the_field_at_a_place(amplitudes, index):
    log_reward = gaussian_bump_rewards(PLANE, [amplitudes])
    x, y = PLANE.positions()[index].tolist()
    height = sum(
        a * math.exp(-((x - u) ** 2 + (y - v) ** 2) / (2 * BUMP_WIDTH**2))
        for a, (u, v) in zip(amplitudes, BUMP_CENTRES, strict=True)
    )
    assert log_reward[0, index].item() == pytest.approx(height, abs=1e-12)


def test_the_mean_reward_is_that_of_many_draws():
    amplitudes = np.random.default_rng(0).standard_normal((20_000, 3))
    drawn = gaussian_bump_rewards(PLANE, amplitudes).exp().mean(dim=0).log()
    torch.testing.assert_close(log_mean_bump_reward(PLANE)[0], drawn, atol=0.05, rtol=0)


@cases(
    ("amplitudes", "message"),
    ([[1.0, 2.0]], r"amplitudes must have shape \(n_members, 3\), got \(1, 2\)"),
    ([[0, 0, 0], [0, np.nan, 0]], "got nan for member 1, column 1"),
)
def test_bad_amplitudes(amplitudes, message):
    refuses(message, gaussian_bump_rewards, PLANE, amplitudes)
    refuses("max_moves must be an int of at least 1, got", PlaneWalkEnvironment, True)
