"""Blocks in other processes, replicates, devices: the same numbers."""

from dataclasses import replace
from functools import partial

import joblib
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from gflownet_envs import TrainingSpec, train_ensemble
from gflownet_envs.storage import BlockStore
from gflownet_envs.training import block
from tests.gflownet_envs.spaces import GRID, assert_same_parameters, random_log_reward
from tests.shared import cases, refuses

log_reward = partial(random_log_reward, GRID)
SPEC = TrainingSpec(n_iterations=20, hidden=(16,), batch_size=8, block_size=2)


def assert_same(one, other, tolerance=0.0):
    assert one.members == other.members
    assert_same_parameters(one, other, tolerance)
    found, expected = one.diagnostics.log_z, other.diagnostics.log_z
    assert_allclose(found, expected, rtol=0, atol=tolerance)


@pytest.mark.slow
def test_two_processes_give_the_numbers_of_one_and_fill_the_store(tmp_path):
    pytest.importorskip("safetensors")
    calls = []
    settings = {"n_jobs": 2, "store": BlockStore(tmp_path)}
    settings["progress"] = lambda *done: calls.append(done)
    here = train_ensemble(GRID, log_reward(5), SPEC)
    assert_same(here, train_ensemble(GRID, log_reward(5), SPEC, **settings), 1e-5)
    assert calls == [(20, 80), (40, 80), (60, 80), (80, 80)]
    calls.clear()
    sorted(tmp_path.glob("*.safetensors"))[0].unlink()
    assert_same(here, train_ensemble(GRID, log_reward(5), SPEC, **settings), 1e-5)
    # three blocks are loaded, one is trained here
    assert calls[:3] == [(20, 80), (40, 80), (60, 80)]
    assert calls[3:] == [(done, 80) for done in range(60, 81)]


def test_the_backend_is_that_of_the_user():
    here = train_ensemble(GRID, log_reward(3), SPEC)
    with joblib.parallel_config("threading", n_jobs=2):
        there = train_ensemble(GRID, log_reward(3), SPEC)
    assert_same(here, there, 1e-5)


def test_an_error_in_another_process_names_the_members():
    spec = replace(SPEC, learning_rate=1e30, n_iterations=50)
    with pytest.raises(ValueError, match=r"the loss of the members \[\d"):
        train_ensemble(GRID, log_reward(4), spec, n_jobs=2)


def test_replicates_are_members_with_streams_of_their_own():
    rewards = log_reward(2)
    spec = replace(SPEC, dtype="float64")
    replicated = train_ensemble(GRID, rewards, spec, n_replicates=3)
    assert replicated.rewards == (0, 0, 0, 1, 1, 1)
    assert replicated.members == tuple(range(6))
    repeated = train_ensemble(GRID, np.repeat(rewards, 3, axis=0), spec)
    assert_same(replicated, repeated)
    first = replicated.parameters["weight_0"]
    assert (first[0] != first[1]).all()
    assert replicated.subset([4]).rewards == (1,)


def test_a_device_by_its_name():
    here = train_ensemble(GRID, log_reward(2), SPEC)
    there = train_ensemble(GRID, log_reward(2), SPEC, device="cpu:0")
    assert_same(here, there)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_blocks_of_a_gpu_are_stored(tmp_path, monkeypatch):
    monkeypatch.setattr(block, "_MEMBERS_ON_A_GPU", 2)
    spec = replace(SPEC, block_size=1)
    store = BlockStore(tmp_path)

    def interrupt(done, total):
        if done > total / 2:
            raise KeyboardInterrupt

    settings = {"device": "cuda", "store": store}
    with pytest.raises(KeyboardInterrupt):
        train_ensemble(GRID, log_reward(4), spec, progress=interrupt, **settings)
    assert any(path.is_file() for path in tmp_path.rglob("*"))
    resumed = train_ensemble(GRID, log_reward(4), spec, **settings)
    here = train_ensemble(GRID, log_reward(4), spec)
    for name, values in here.parameters.items():
        assert_allclose(resumed.parameters[name], values, atol=1e-3)


@cases(
    ("arguments", "message"),
    ({"device": "abacus"}, "device must be a torch device .* got 'abacus'"),
    ({"members": [1, 2], "n_replicates": 2}, "times n_replicates, got 2 numbers"),
    ({"spec": TrainingSpec(policy="gru", hidden=(8,))}, "'gru' reads the history"),
)
def test_bad_arguments(arguments, message):
    arguments = {"spec": SPEC} | arguments
    refuses(message, train_ensemble, GRID, log_reward(2), **arguments)


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is present")
def test_a_device_that_is_not_there():
    words = "device must be a torch device .* 'cuda'"
    refuses(words, train_ensemble, GRID, log_reward(1), SPEC, device="cuda")
