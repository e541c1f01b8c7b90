"""Training few members by NumPy takes the steps that autograd takes."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from gflownet_envs import (
    DagEnvironment,
    HypergridEnvironment,
    SequentialSelectionEnvironment,
    StateGraph,
    TokenSequenceEnvironment,
    TrainingSpec,
    train_ensemble,
)
from gflownet_envs.environments.base import sample_uniformly
from gflownet_envs.policies import StackedMLP
from gflownet_envs.random_streams import member_streams
from gflownet_envs.rewards.source import MemberNumbers, RewardTable
from gflownet_envs.sampling import TableSampler
from gflownet_envs.training import block
from gflownet_envs.training.array_learner import ArrayLearner, fits_arrays
from gflownet_envs.training.autograd_learner import AutogradLearner
from tests.gflownet_envs.spaces import GRID, assert_same_parameters, random_log_reward
from tests.shared import cases

pytestmark = pytest.mark.filterwarnings("ignore")

ENVIRONMENTS = (
    GRID,
    HypergridEnvironment(side=5),  # several parents
    SequentialSelectionEnvironment({"a": list("xyz"), "b": list("pqrs")}),
    TokenSequenceEnvironment(list("ab"), 4),  # ends early, layers grow
    DagEnvironment(3),
)
SPEC = TrainingSpec(hidden=(9, 7), batch_size=4, dtype="float64", n_iterations=30)


def learners(env, spec, n_members=3):
    """Return both learners, with the same start.

    Adam makes steps of 1e-9 of what is rounded to 0 or not: they agree to 1e-7.
    """
    graph = StateGraph.from_environment(env)
    streams = member_streams(0, tuple(range(n_members)))
    table = random_log_reward(env, n_members)
    dtype = getattr(torch, spec.dtype)
    reward = RewardTable(env, table).to("cpu", dtype)
    sizes = (env.encoding_size, *spec.hidden, env.n_actions)

    def network():
        return StackedMLP(sizes, streams, dtype, spec.initialization)

    sampler = TableSampler(graph, spec.batch_size, dtype)
    return (
        ArrayLearner(graph, network(), reward, streams, spec),
        AutogradLearner(sampler, network(), reward, streams, spec),
        reward,
    )


def assert_same_steps(arrays, autograd, n_steps, first=0):
    for i in range(first, first + n_steps):
        found, expected = arrays.step(i, 0.9), autograd.step(i, 0.9)
        for ours, theirs in zip(found, expected, strict=True):
            assert_allclose(ours, theirs.numpy(), rtol=1e-6, atol=1e-8)
    expected = autograd.network.to_arrays()
    for name, values in arrays.network.to_arrays().items():
        assert_allclose(values, expected[name], atol=1e-7, err_msg=name)


@pytest.mark.parametrize("env", ENVIRONMENTS, ids=lambda env: env.name)
@pytest.mark.parametrize("batch_size", [2, 40], ids=["sampled", "shared"])
@pytest.mark.parametrize("objective", ["vargrad", "trajectory_balance"])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_steps_are_those_of_autograd(env, batch_size, objective, epsilon):
    spec = replace(SPEC, objective=objective, exploration_epsilon=epsilon)
    spec = replace(spec, batch_size=batch_size)
    arrays, autograd, _ = learners(env, spec)
    assert_same_steps(arrays, autograd, 12)


@cases(
    "change",
    {"max_gradient_norm": 0.5},
    {"log_z_init": 2.0, "objective": "trajectory_balance"},
    {"hidden": ()},
    {"hidden": (6, 5, 4), "adam_betas": (0.0, 0.9)},
    ids=str,
)
def test_settings_are_those_of_autograd(change):
    arrays, autograd, _ = learners(ENVIRONMENTS[3], replace(SPEC, **change))
    assert_same_steps(arrays, autograd, 12)


def test_replayed_trajectories_stay_with_their_members():
    spec = replace(SPEC, replay_fraction=0.5, replay_capacity=6)
    _, some, reward = learners(ENVIRONMENTS[0], spec)
    _, whole, _ = learners(ENVIRONMENTS[0], spec)
    rows = np.array([1, 2])
    for i in range(10):
        whole.step(i, 1.0)
        if i == 4:
            some.keep(rows, reward.select(rows))
        some.step(i, 1.0)
    for name, values in whole.network.to_arrays().items():
        found = some.network.to_arrays()[name]
        assert_allclose(found, values[rows], atol=1e-12, err_msg=name)


def test_what_is_not_written_out_is_left_to_autograd():
    assert fits_arrays(TrainingSpec())
    changes = [{"objective": "detailed_balance"}, {"exploration_temperature": 2.0}]
    changes += [{"replay_fraction": 0.5}, {"learn_backward_policy": True}]
    for change in (*changes, {"policy": "gru", "hidden": (8,)}):
        assert not fits_arrays(replace(TrainingSpec(), **change)), change


def used(env, spec, reward, monkeypatch):
    """Return the kinds of learner that a training makes."""
    found = []

    def make(*arguments):
        learner = made(*arguments)
        found.append(type(learner))
        return learner

    made = block._make_learner
    monkeypatch.setattr(block, "_make_learner", make)
    train_ensemble(env, reward, spec)
    monkeypatch.undo()
    return found


def test_arrays_are_used_where_states_are_listed(monkeypatch):
    env = ENVIRONMENTS[0]
    reward = np.zeros((2, env.n_objects))
    assert used(env, SPEC, reward, monkeypatch) == [ArrayLearner]
    unlisted = replace(SPEC, max_table_states=0)
    assert used(env, unlisted, reward, monkeypatch) == [AutogradLearner]


class ByFormula(MemberNumbers):
    """A source that knows objects by their numbers and has no table."""

    def of_objects(self, objects):
        return self.numbers[:, None] * objects

    def of_states(self, states):
        return self.of_objects(ENVIRONMENTS[1].object_index(states))


def test_rewards_without_a_table(monkeypatch):
    env = ENVIRONMENTS[1]
    source = ByFormula(torch.tensor([0.01, -0.02], dtype=torch.float64))
    assert used(env, SPEC, source, monkeypatch) == [ArrayLearner]
    final = sample_uniformly(env, env.n_objects).final
    assert len(final) == env.n_objects
    table = source.of_objects(torch.arange(env.n_objects).expand(2, -1))
    one, other = (train_ensemble(env, r, SPEC) for r in (source, table))
    assert_same_parameters(one, other, 1e-12)
