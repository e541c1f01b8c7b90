"""Diagnostics during training, stopping on them, and what is said about failures."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from gflownet_envs import StateGraph, TrainingSpec, distance_to_exact, train_ensemble
from gflownet_envs.storage import BlockStore
from gflownet_envs.training.array_learner import ArrayLearner
from gflownet_envs.training.autograd_learner import AutogradLearner
from gflownet_envs.training.convergence import (
    NotConvergedWarning,
    effective_sample_share,
)
from tests.gflownet_envs.spaces import GRID, assert_same_parameters, random_log_reward
from tests.shared import cases, refuses

log_reward = partial(random_log_reward, GRID)
SPEC = TrainingSpec(n_iterations=300, hidden=(32,), check_every=50)


def test_effective_sample_share_by_hand():
    weights = np.array([[1.0, 1.0, 1.0, 1.0], [4.0, 1.0, 1.0, 2.0]])
    found = effective_sample_share(torch.from_numpy(np.log(weights) + 700))
    assert found.tolist() == pytest.approx([1.0, 64 / (4 * 22)])


@pytest.mark.parametrize("offset", [0.0, -3e6], ids=["near 0", "rounded by float32"])
def test_distance_is_that_of_the_exact_solver(offset):
    rewards = log_reward(3) + offset
    ensemble = train_ensemble(GRID, rewards, SPEC)
    graph = StateGraph.from_environment(GRID)
    expected = distance_to_exact(graph, ensemble.log_policy_table(graph), rewards)
    assert_allclose(ensemble.diagnostics.distance, expected, atol=1e-6)
    history = ensemble.diagnostics.history
    assert history["iteration"].tolist() == [[50, 100, 150, 200, 250, 300]] * 3
    assert offset or (history["distance"][:, 0] > history["distance"][:, -1]).all()
    assert_array_equal(history["distance"][:, -1], ensemble.diagnostics.distance)


@cases(
    ("given", "message"),
    ({"n_jobs": 0}, "n_jobs must be None or an int"),
    ({"logger": "x"}, "logger must be None or a callable"),
    ({"progress": 3}, "progress must be None or a callable"),
    ({"store": "folder"}, r"store must be None or a store, such as BlockStore"),
    ({"environment": "grid"}, "environment must be an Environment"),
    ({"log_reward": np.full((1, GRID.n_objects), 1e300)}, "beyond the range of"),
)
def test_what_would_fail_later_is_refused(given, message):
    arguments = {"environment": GRID, "log_reward": log_reward(1), "spec": SPEC}
    refuses(message, train_ensemble, **arguments | given)


def test_estimates_approach_the_truth_and_nothing_is_said(recwarn):
    rewards = log_reward(3)
    spec = replace(SPEC, n_iterations=1500, check_every=0)
    diagnostics = train_ensemble(GRID, rewards, spec).diagnostics
    truth = np.log(np.exp(rewards).sum(axis=1))
    assert_allclose(diagnostics.log_z_estimate, truth, atol=0.02)
    assert (diagnostics.effective_sample_share > 0.98).all()
    assert diagnostics.history["iteration"].tolist() == [[1500]] * 3
    assert diagnostics.converged.all()
    assert not [w for w in recwarn if w.category is NotConvergedWarning]


def test_looking_does_not_touch_training():
    rewards = log_reward(2)
    often = train_ensemble(GRID, rewards, replace(SPEC, check_every=10))
    never = train_ensemble(GRID, rewards, replace(SPEC, check_every=0))
    assert_same_parameters(often, never)


def test_members_stop_one_by_one():
    rewards = log_reward(4) * np.array([[0.1], [0.5], [1.0], [3.0]])
    spec = replace(SPEC, stop_at_distance=0.04, n_iterations=600, dtype="float64")
    spec = replace(spec, block_size=2)  # blocks end at different times
    stopped = train_ensemble(GRID, rewards, spec)
    diagnostics = stopped.diagnostics
    at = diagnostics.n_iterations
    assert at[0] < at[3]
    early = at < 600
    assert (diagnostics.distance[early] <= 0.04).all()
    # the parameters are those of the policy at that moment, not of a later one
    graph = StateGraph.from_environment(GRID)
    table = stopped.log_policy_table(graph)
    distance = distance_to_exact(graph, table, rewards)
    assert_allclose(distance, diagnostics.distance, atol=1e-9)
    for row in np.flatnonzero(early):
        history = diagnostics.history["distance"][row]
        assert history[np.isfinite(history)][-1] == diagnostics.distance[row]


@pytest.mark.slow
def test_effective_sample_size_stops_where_no_law_is_listed():
    spec = replace(SPEC, stop_at_effective_sample_size=0.8, max_table_states=0)
    diagnostics = train_ensemble(GRID, log_reward(1), spec).diagnostics
    assert np.isnan(diagnostics.distance).all()
    assert diagnostics.n_iterations[0] < 300
    assert diagnostics.effective_sample_share[0] >= 0.8
    # a distance that cannot be had stops nobody
    spec = replace(SPEC, stop_at_distance=0.9, max_table_states=0)
    assert train_ensemble(GRID, log_reward(1), spec).diagnostics.n_iterations[0] == 300


def test_members_that_failed_are_named():
    rewards = log_reward(3) * np.array([[0.0], [1.0], [8.0]])
    spec = replace(SPEC, n_iterations=20)
    with pytest.warns(NotConvergedWarning, match=r"did not converge: members \[.*9\]"):
        ensemble = train_ensemble(GRID, rewards, spec, members=[4, 6, 9])
    assert not ensemble.diagnostics.converged[2]
    with pytest.warns(NotConvergedWarning, match="smallest effective sample size"):
        train_ensemble(GRID, rewards, replace(spec, max_table_states=0))


@pytest.mark.parametrize("temperature", [1.0, 1.01], ids=["arrays", "autograd"])
def test_members_that_stopped_are_dropped_and_leave_no_trace(monkeypatch, temperature):
    rewards = np.stack([np.zeros(GRID.n_objects), 3 * log_reward(1)[0]])
    spec = replace(SPEC, stop_at_distance=0.1, check_every=20, n_iterations=60)
    spec = replace(spec, exploration_temperature=temperature)
    sizes = []

    def counted(step):
        def count(learner, *arguments):
            sizes.append(learner.network.n_members)
            return step(learner, *arguments)

        return count

    for kind in (ArrayLearner, AutogradLearner):
        monkeypatch.setattr(kind, "step", counted(kind.step))
    together = train_ensemble(GRID, rewards, spec)
    first, last = together.diagnostics.n_iterations.tolist()
    assert first < last
    assert sizes == [2] * first + [1] * (last - first)
    one = train_ensemble(GRID, rewards[:1], spec)
    parts = [one, train_ensemble(GRID, rewards[1:], spec, members=[1])]
    for name, array in together.parameters.items():
        alone = np.concatenate([part.parameters[name] for part in parts])
        assert_allclose(array, alone, atol=1e-5, err_msg=name)
    history = together.diagnostics.history["loss"]
    n_seen = first // 20
    assert np.isnan(history[0, n_seen:]).all()
    assert np.isfinite(history[1, n_seen])


def logged(**options):
    seen = []
    spec = replace(SPEC, n_iterations=100, block_size=2)
    options["logger"] = lambda *call: seen.append(call)
    return train_ensemble(GRID, log_reward(3), spec, **options), seen


def test_a_logger_is_told_what_the_history_has():
    ensemble, seen = logged()
    calls = [(iteration, values["members"]) for iteration, values in seen]
    assert calls == [(50, (0, 1)), (100, (0, 1)), (50, (2,)), (100, (2,))]
    history = ensemble.diagnostics.history
    for iteration, values in seen:
        assert set(values) == {*history, "members"} - {"iteration"}
        for name, array in history.items():
            if name != "iteration":
                rows = array[list(values["members"]), iteration // 50 - 1]
                assert_array_equal(values[name], rows)


def test_a_logger_is_told_of_stored_blocks(tmp_path):
    store = BlockStore(tmp_path)
    first, again = logged(store=store)[1], logged(store=store)[1]
    for call, expected in zip(again, first, strict=True):
        np.testing.assert_equal(call, expected)


@pytest.mark.slow
def test_a_logger_is_told_by_two_processes():
    _, here = logged()
    _, there = logged(n_jobs=2)
    found = {(at, values["members"]): values["loss"] for at, values in there}
    assert len(found) == len(here)
    for at, values in here:
        assert_allclose(found[at, values["members"]], values["loss"], rtol=1e-4)
