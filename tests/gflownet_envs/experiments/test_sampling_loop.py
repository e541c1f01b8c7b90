"""The sampling loop on rewards whose best object is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gflownet_envs import TokenSequenceEnvironment
from gflownet_envs.experiments.sampling_loop import SamplingLoop
from tests.gflownet_envs.spaces import GRID, TREE
from tests.shared import cases, refuses

SPACES = [GRID, TREE, TokenSequenceEnvironment(["a", "end", "b"], 2, "end")]


def members_of(env, n_members=40, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_members, 3)) @ rng.normal(size=(3, env.n_objects))


@pytest.mark.parametrize("env", SPACES, ids=lambda env: env.name)
@pytest.mark.parametrize("rule", ["draw", "vote", "mean"])
def test_only_available_objects_are_chosen(env, rule):
    loop = SamplingLoop(env, members_of(env), n_components=2, rule=rule, random_state=0)
    available = np.zeros(env.n_objects, dtype=bool)
    available[[1, 3]] = True
    assert {loop.choose(available, n_tries=1) for _ in range(8)} <= {1, 3}


def test_beliefs_follow_rewards_and_lose_less_than_at_random():
    env, first, last, chance = SPACES[0], [], [], []
    for seed in range(4):
        members = members_of(env, seed=seed)
        truth = members[0]
        loop = SamplingLoop(env, members[1:], n_components=3, random_state=0)
        lost = []
        for _ in range(8):
            cell = loop.choose()
            loop.learn(cell, truth[cell], noise_sd=0.1)
            lost.append(truth.max() - truth[cell])
        first.append(lost[0])
        last.append(np.mean(lost[-3:]))
        chance.append(truth.max() - truth.mean())
    assert np.mean(last) < 0.5 * np.mean(chance)
    assert np.mean(last) < np.mean(first)


def test_an_object_has_one_remainder_however_often_it_is_observed():
    rng = np.random.default_rng(0)
    members = members_of(GRID) + 0.5 * rng.normal(size=(40, GRID.n_objects))
    loops = [
        SamplingLoop(GRID, members, n_components=3, random_state=0) for _ in range(2)
    ]
    for _ in range(400):
        loops[0].learn(2, 1.0, noise_sd=0.2)
    loops[1].learn(2, 1.0, noise_sd=0.01)
    often, once = (loop.policy.belief_ for loop in loops)
    assert_allclose(often.mean, once.mean, atol=1e-9)
    assert_allclose(often.covariance, once.covariance, atol=1e-9)


@cases(
    ("method", "settings", "message"),
    ("choose", {"available": [True]}, r"available must be bool of shape \(6,\)"),
    ("choose", {"available": [False] * 6}, "no object that may be chosen"),
    ("learn", {"chosen": -1}, "chosen must be an int of at least 0, got -1"),
    ("learn", {"chosen": 99}, "chosen must be below the number of objects, 6, got 99"),
    ("learn", {"noise_sd": -1.0}, r"noise_sd.*a float in the range \[0.0, inf\)"),
)
def test_wrong_choices_and_observations_are_named(method, settings, message):
    loop = SamplingLoop(SPACES[1], members_of(SPACES[1]), random_state=0)
    if method == "learn":
        settings = {"chosen": 1, "log_reward": 1.0, "noise_sd": 0.1} | settings
    refuses(message, getattr(loop, method), **settings)
    alike = members_of(SPACES[1])[:1].repeat(9, axis=0)
    refuses("log_reward has 1 different members", SamplingLoop, SPACES[1], alike)
