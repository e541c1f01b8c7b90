"""Proxies of yields on small made-up reactions."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from gflownet_envs import PAPER_PROXY, ProxySpec, train_feature_proxies
from gflownet_envs.random_streams import Purpose, member_streams
from gflownet_envs.rewards.proxies import scores_of_rows
from gflownet_envs.rewards.source import one_hot_levels
from gflownet_envs.storage import BlockStore
from tests.shared import cases, refuses

LEVELS = (3, 4, 5)
ALL = np.indices(LEVELS).reshape(3, -1).T
EFFECTS = np.array([0.0, 20, 40]), np.array([0.0, 5, 10, 15]), np.arange(5) * 8.0
INPUTS = one_hot_levels(ALL, LEVELS)
YIELDS = sum(effect[ALL[:, i]] for i, effect in enumerate(EFFECTS))
SMALL = ProxySpec(
    train_fraction=0.8, max_epochs=6, patience=2, hidden=(16, 16), dtype="float64"
)


def proxies(spec=SMALL, members=range(3), **arguments):
    return train_feature_proxies(INPUTS, YIELDS, spec, members=members, **arguments)


def assert_equal(one, other, rows=slice(None), tolerance=0.0):
    predicted = one.predict(INPUTS)[rows]
    assert_allclose(predicted, other.predict(INPUTS), rtol=0, atol=tolerance)
    for name in ("r2_held_out", "mse_held_out", "mse_all", "n_epochs"):
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
    predicted = found.predict(INPUTS)
    assert (predicted != proxies(seed=1).predict(INPUTS)).all()
    assert (predicted[0] != predicted[1]).all()


def test_early_stopping_keeps_the_best_epoch_of_each_member():
    spec = replace(SMALL, max_epochs=400, learning_rate=0.03)
    long = proxies(spec, range(4))
    assert long.n_epochs.max() < 400
    assert len(set(long.n_epochs.tolist())) > 1
    member = int(long.n_epochs.argmin())
    # stopping the clock there changes nothing for that member
    spec = replace(spec, max_epochs=int(long.n_epochs[member]))
    short = proxies(spec, [member])
    expected = short.predict(INPUTS)[0]
    assert_allclose(long.predict(INPUTS)[member], expected, rtol=0, atol=1e-8)


def test_full_batch_against_a_plain_torch_loop():
    spec = replace(PAPER_PROXY, max_epochs=5, hidden=(8,), dtype="float64")
    result = proxies(spec, [2])
    assert result.n_epochs.tolist() == [5]  # every step is taken
    (stream,) = member_streams(0, (2,))
    rows = stream.generator(Purpose.ROW_SUBSET).permutation(60)[:18]
    inputs, targets = torch.from_numpy(INPUTS), torch.from_numpy(YIELDS)
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
    assert_allclose(result.predict(INPUTS)[0], expected, rtol=0, atol=1e-8)


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
    result = train_feature_proxies(INPUTS, np.full(60, 7.0), SMALL, members=[0])
    assert np.isfinite(result.predict(INPUTS)).all()
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
    ("inputs", "yields", "message"),
    (INPUTS, YIELDS[:-1], "must have shapes"),
    (INPUTS, np.where(YIELDS == 0, np.nan, YIELDS), "targets must be finite, row 0"),
    (INPUTS[:1], YIELDS[:1], "rows to train on"),
)
def test_bad_rows(inputs, yields, message):
    refuses(message, train_feature_proxies, inputs, yields, SMALL, members=[0])
    refuses("distinct and not empty", proxies, members=[])


def test_bad_levels():
    refuses("levels must be ints of shape", one_hot_levels, ALL.astype(float), LEVELS)
    words = r"levels must be in \[0, \d+\) for component"
    refuses(words, one_hot_levels, ALL + 1, LEVELS)
