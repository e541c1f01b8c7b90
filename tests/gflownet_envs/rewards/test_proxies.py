"""Yield proxies on small made-up reactions."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from gflownet_envs import PAPER_PROXY, ProxySpec, train_yield_proxies, yield_log_reward
from gflownet_envs.block_store import BlockStore
from gflownet_envs.random_streams import Purpose, member_streams
from gflownet_envs.rewards.proxy_training import scores_of_rows
from tests.shared import cases, refuses

LEVELS = (3, 4, 5)
ALL = np.indices(LEVELS).reshape(3, -1).T
EFFECTS = np.array([0.0, 20, 40]), np.array([0.0, 5, 10, 15]), np.arange(5) * 8.0
YIELDS = sum(effect[ALL[:, i]] for i, effect in enumerate(EFFECTS))
SMALL = ProxySpec(
    train_fraction=0.8, max_epochs=6, patience=2, hidden=(16, 16), dtype="float64"
)


def proxies(spec=SMALL, members=range(3), **arguments):
    return train_yield_proxies(ALL, YIELDS, ALL, spec, members=members, **arguments)


def assert_equal(one, other, rows=slice(None), tolerance=0.0):
    for name in ("predictions", "r2_held_out", "mse_held_out", "mse_all", "n_epochs"):
        found, expected = getattr(one, name)[rows], getattr(other, name)
        assert_allclose(found, expected, rtol=0, atol=tolerance, err_msg=name)


@cases("spec", SMALL, replace(SMALL, batch_size=None, patience=None))
def test_a_member_of_many_is_the_member_alone(spec):
    spec = replace(spec, max_epochs=30)
    together = proxies(spec, range(5))
    assert_equal(together, proxies(spec, [3]), rows=[3], tolerance=1e-8)
    in_blocks = proxies(replace(spec, block_size=2), range(5))
    assert_equal(in_blocks, together, tolerance=1e-8)


def test_same_seed_same_numbers_and_others_differ():
    found = proxies(seed=0)
    assert_equal(found, proxies(seed=0))
    assert (found.predictions != proxies(seed=1).predictions).all()
    assert (found.predictions[0] != found.predictions[1]).all()


def test_early_stopping_keeps_the_best_epoch_of_each_member():
    spec = replace(SMALL, max_epochs=400, learning_rate=0.03)
    long = proxies(spec, range(4))
    assert long.n_epochs.max() < 400
    assert len(set(long.n_epochs.tolist())) > 1
    member = int(long.n_epochs.argmin())
    # stopping the clock there changes nothing for that member
    spec = replace(spec, max_epochs=int(long.n_epochs[member]))
    short = proxies(spec, [member])
    assert_allclose(long.predictions[member], short.predictions[0], rtol=0, atol=1e-8)


def test_full_batch_against_a_plain_torch_loop():
    spec = replace(PAPER_PROXY, max_epochs=5, hidden=(8,), dtype="float64")
    result = proxies(spec, [2])
    assert result.n_epochs.tolist() == [5]  # every step is taken
    (stream,) = member_streams(0, (2,))
    rows = stream.generator(Purpose.ROW_SUBSET).permutation(60)[:18]
    one_hot = np.concatenate([np.eye(k)[ALL[:, i]] for i, k in enumerate(LEVELS)], 1)
    inputs, targets = torch.from_numpy(one_hot), torch.from_numpy(YIELDS)
    rng = stream.generator(Purpose.INITIALISATION)
    layers = [torch.nn.Linear(12, 8).double(), torch.nn.Linear(8, 1).double()]
    for layer in layers:
        bound = layer.in_features**-0.5
        shape = (layer.in_features, layer.out_features)
        layer.weight.data = torch.from_numpy(rng.uniform(-bound, bound, shape)).T
        layer.bias.data = torch.from_numpy(rng.uniform(-bound, bound, shape[1]))
    network = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1])
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    for _ in range(5):
        optimizer.zero_grad()
        (network(inputs[rows])[:, 0] - targets[rows]).square().mean().backward()
        optimizer.step()
    expected = network(inputs)[:, 0].detach().numpy()
    assert_allclose(result.predictions[0], expected, rtol=0, atol=1e-8)


def test_scores_by_hand():
    yields = np.array([0.0, 1.0, 2.0, 5.0])
    predicted = np.array([[0.0, 1.0, 3.0, 4.0]])
    scores = scores_of_rows(yields, predicted, seen=np.array([[0, 1]]))
    # rows 2 and 3: errors 1 and 1, variance 1.5²
    assert scores["mse_held_out"][0] == pytest.approx(1.0)
    assert scores["r2_held_out"][0] == pytest.approx(1 - 1 / 2.25)
    assert scores["mse_all"][0] == pytest.approx(0.5)


def test_scores_without_unseen_rows_are_nan():
    result = proxies(replace(SMALL, train_fraction=1.0))
    assert np.isnan(result.r2_held_out).all()
    assert np.isfinite(result.mse_all).all()
    result = train_yield_proxies(ALL, np.full(60, 7.0), ALL, SMALL, members=[0])
    assert np.isfinite(result.predictions).all()
    assert np.isnan(result.r2_held_out[0])  # of constant yields


def test_blocks_are_stored_and_found_again(tmp_path):
    store = BlockStore(tmp_path)
    spec = replace(SMALL, block_size=2)
    first = proxies(spec, store=store)
    assert len(list(tmp_path.iterdir())) == 2
    reported = []
    again = proxies(spec, store=store, progress=lambda *done: reported.append(done))
    assert reported == [(6, 12), (12, 12)]
    assert_equal(first, again)


@cases(
    ("arguments", "message"),
    ({"train_fraction": 0.0}, r"train_fraction must be in \(0, 1\], got 0.0"),
    ({"validation_fraction": 1.0}, r"validation_fraction must be in \(0, 1\)"),
    ({"batch_size": 0}, "batch_size must be None or at least 1, got 0"),
    ({"learning_rate": 0.0}, "learning_rate must be positive"),
)
def test_bad_specifications(arguments, message):
    refuses(message, ProxySpec, **arguments)


@cases(
    ("rows", "yields", "message"),
    (ALL.astype(float), YIELDS, "rows must be a two-dimensional array of integers"),
    (ALL, YIELDS[:-1], "must have shapes"),
    (ALL, np.where(YIELDS == 0, np.nan, YIELDS), "finite, got nan in row 0"),
    (ALL + 1, YIELDS, r"levels must be in \[0, \d+\) for component"),
    (ALL[:1], YIELDS[:1], "rows to train on"),
)
def test_bad_rows(rows, yields, message):
    refuses(message, train_yield_proxies, rows, yields, ALL, SMALL, members=[0])
    refuses("distinct and not empty", proxies, members=[])


def test_log_reward_is_the_yield_over_the_temperature():
    assert_allclose(yield_log_reward([[8.0, -2.0]], 2.0), [[4.0, -1.0]])
    words = "temperature must be positive, got 0"
    refuses(words, yield_log_reward, [[1.0]], temperature=0.0)
