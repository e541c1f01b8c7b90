"""Parts of process rewards and of chains: against means by hand and plain training."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from gflownet_envs import solve_exact
from gflownet_envs.environments import (
    SequentialSelectionEnvironment,
    TokenSequenceEnvironment,
)
from gflownet_envs.experiments.run import find_task
from gflownet_envs.experiments.task import (
    KINDS,
    LENGTH,
    OTHER_PAIRS,
    REST,
    feature_parts,
    sequence_parts,
)
from gflownet_envs.experiments.tasks.process_rewards import seen_parts
from gflownet_envs.policies.networks import StackedMLP
from gflownet_envs.random_streams import member_streams
from gflownet_envs.rewards.problems import (
    arithmetic_environment,
    equations,
    right_equations,
)
from gflownet_envs.rewards.process_reward import (
    ProcessRewardSpec,
    retrain_process_reward,
    train_process_reward,
)
from skpce.inspection import parts_of_table
from tests.gflownet_envs.experiments.conftest import SILENT
from tests.shared import cases, refuses

N_MEMBERS = 5
WITH_END = TokenSequenceEnvironment(["a", "end", "b", "c"], 4, end_token="end")
WITHOUT_END = TokenSequenceEnvironment(["a", "b", "c"], 3)
CHAINS = SequentialSelectionEnvironment(
    {"head": ("a", "b"), "middle": ("a", "b"), "tail": ("a", "b")}
)
PARITY = {"odd": np.arange(1, 20, 2), "even": np.arange(0, 20, 2)}
split = partial(sequence_parts, nouns=("token", "tokens"))
SPEC = ProcessRewardSpec(n_labelled=6, n_features=4, hidden=5, n_epochs=10)


def random_log_reward(environment):
    rng = np.random.default_rng(0)
    return rng.normal(size=(N_MEMBERS, environment.n_objects)).astype(np.float32)


def policies(environment, reward):
    solution = solve_exact(environment, reward)
    return solution.log_policy_table.exp().numpy()


@pytest.mark.parametrize("with_kinds", [False, True])
@pytest.mark.parametrize("environment", [WITH_END, WITHOUT_END, CHAINS])
def test_a_member_recombined_with_itself_has_its_own_policy(environment, with_kinds):
    log_reward = random_log_reward(environment)
    kinds = PARITY if with_kinds and environment is WITH_END else None
    named = split(environment, log_reward, kinds=kinds)
    reward = named.reward(named.parts)
    apart = reward.log_reward.numpy() - log_reward
    assert_allclose(np.ptp(apart, axis=1), 0, atol=1e-5)
    assert_allclose(
        policies(environment, reward), policies(environment, log_reward), atol=1e-6
    )
    assert set(named.phrases) == set(named.parts)
    for name, entries in named.entries.items():
        assert entries.labels.shape == named.parts[name].shape[1:]
        assert set(entries.labels.tolist()) == set(range(len(entries.names)))


def test_the_parts_of_one_length_are_those_of_its_table():
    log_reward = random_log_reward(WITHOUT_END)
    found = split(WITHOUT_END, log_reward).parts
    expected = parts_of_table(log_reward.reshape(-1, 3, 3, 3), ["1", "2", "3"])
    assert list(found) == [
        *("token 1", "token 2", "token 3"),
        *("token 1 × token 2", "token 2 × token 3", OTHER_PAIRS, REST),
    ]
    assert_allclose(found["token 2"], expected["2"][:, 0, :, 0], atol=1e-6)
    pair = expected["1 × 3"][:, :, 0, :].reshape(N_MEMBERS, -1)
    assert_allclose(found[OTHER_PAIRS], pair, atol=1e-6)
    rest = expected["the rest"].reshape(N_MEMBERS, -1)
    assert_allclose(found[REST], rest, atol=1e-6)


def test_effects_that_were_put_in_are_found():
    """Log R is a function of the length and of the token that comes first."""
    rng = np.random.default_rng(1)
    by_length = rng.normal(size=(N_MEMBERS, 5))
    by_token = rng.normal(size=(N_MEMBERS, 4))
    states = WITH_END.object_states(torch.arange(WITH_END.n_objects)).numpy()
    lengths = ((states >= 0) & (states != 1)).sum(axis=1)
    by_token[:, 1] = 0.0  # the end token: nothing stands first
    by_token[:, [0, 2, 3]] -= by_token[:, [0, 2, 3]].mean(axis=1, keepdims=True)
    log_reward = by_length[:, lengths] + by_token[:, states[:, 0]]
    found = split(WITH_END, log_reward, kinds=PARITY).parts
    mean = log_reward.mean(axis=1, keepdims=True)
    assert_allclose(found[LENGTH], by_length - mean, atol=1e-6)
    expected = np.tile(by_token[:, [0, 2, 3]], 4)  # for lengths 1 to 4
    assert_allclose(found["token 1"], expected, atol=1e-6)
    for name in set(found) - {LENGTH, "token 1"}:
        assert_allclose(found[name], 0, atol=1e-6)


def test_the_kinds_are_means_of_what_is_left():
    log_reward = random_log_reward(WITH_END)
    without = split(WITH_END, log_reward).parts[REST]
    found = split(WITH_END, log_reward, kinds=PARITY).parts
    means = [without[:, own].mean(axis=1) for own in PARITY.values()]
    assert_allclose(found[KINDS], np.stack(means, axis=1), atol=1e-6)
    for own in PARITY.values():
        assert_allclose(found[REST][:, own].mean(axis=1), 0, atol=1e-6)


def test_positions_with_different_levels_are_refused():
    environment = SequentialSelectionEnvironment({"x": ["a", "b"], "y": ["a"]})
    log_reward = random_log_reward(environment)
    refuses("the same levels everywhere", split, environment, log_reward)


def test_equations_are_right_or_wrong():
    environment = arithmetic_environment()
    found = equations(environment)
    names = {
        kind: {environment.object_name(int(i)) for i in own[:300]}
        for kind, own in found.items()
    }
    assert names["right equations"] == {" ".join(one) for one in right_equations()}
    assert "1 + 1 = 3" not in names["right equations"]
    assert len(np.unique(np.concatenate(list(found.values())))) == 5 * 10**3


@pytest.fixture(scope="module")
def labelled():
    problems = WITHOUT_END.object_states(torch.arange(0, 24, 2))
    labels = torch.linspace(-1, 1, len(problems)) ** 2
    return problems, labels, SPEC


@pytest.fixture(scope="module")
def trained(labelled):
    return train_process_reward(WITHOUT_END, *labelled, members=range(N_MEMBERS))


def trained_by_hand(reward, problems, labels, seen):
    """Train one member on some problems, without our own regression."""
    (network,) = [StackedMLP((4, 5, 1), member_streams(0, (0,)))]
    targets = (labels - labels.mean()) / labels.std(correction=0)
    inputs = reward.features(problems[seen])[None]
    optimizer = torch.optim.Adam(network.parameters(), lr=SPEC.learning_rate)
    for _ in range(SPEC.n_epochs):
        optimizer.zero_grad()
        loss = (network(inputs)[0, :, 0] - targets[seen]).square().mean()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        return network(reward.features(problems))[0, :, 0].numpy()


def test_what_was_seen_is_exchanged(labelled, trained):
    problems, labels, _ = labelled
    groups = {"first": np.arange(5), "last": np.arange(5, 12)}
    names = WITHOUT_END.object_names()[:24:2]
    known = (trained, *labelled, groups, names)
    named = seen_parts(*known, what="by number", n_members=N_MEMBERS, seed=0)
    own = named.reward(named.parts).scores(problems).numpy()
    assert_allclose(own, trained.scores(problems).numpy(), atol=1e-4)
    own = policies(WITHOUT_END, named.reward(named.parts))
    assert_allclose(own, policies(WITHOUT_END, trained), atol=1e-4)
    exchanged = {"first": named.parts["first"][[0]], "last": named.parts["last"][[1]]}
    seen = [i for i in range(12) if i in trained.seen[0 if i < 5 else 1]]
    found = named.reward(exchanged).scores(problems).numpy()[0]
    expected = trained_by_hand(trained, problems, labels, seen)
    assert_allclose(found, expected, atol=1e-4)


@cases(
    ("changed", "message"),
    ({"weights": np.ones((2, 3))}, "weights must have shape"),
    ({"weights": -np.ones((2, 12))}, "not negative"),
    ({"spec": ProcessRewardSpec(6, shared_start=False)}, "shared_start=False"),
)
def test_what_cannot_be_trained_again_is_refused(labelled, trained, changed, message):
    problems, labels, _ = labelled
    given = {"spec": SPEC, "weights": np.ones((2, 12))} | changed
    refuses(message, retrain_process_reward, trained, problems, labels, **given)


def test_strategies_have_both_splits():
    task, preset = find_task("strategy-reasoning", "smoke")
    study = task.prepare(preset, **SILENT)
    by_position, by_label = study.named_parts
    assert "which strategy stands at position 1" in by_position.phrases.values()
    objects = torch.arange(study.environment.n_objects)
    log_reward = study.reward(slice(0, 18), objects).numpy()
    apart = by_position.reward(by_position.parts).log_reward.numpy() - log_reward
    assert_allclose(np.ptp(apart, axis=1), 0, atol=1e-5)
    seen = np.concatenate(list(by_label.parts.values()), axis=1)
    assert seen.shape == (18, 40)
    assert_array_equal(seen.sum(axis=1), 20)


def test_features_count_one_after_another():
    rng = np.random.default_rng(2)
    log_reward = rng.normal(size=(N_MEMBERS, CHAINS.n_objects))
    features = rng.normal(size=(CHAINS.n_objects, 3))
    features = np.column_stack((features, features[:, 0] - 2 * features[:, 1] + 3))
    names = ("weight", "logP", "rings", "both")
    named = feature_parts(
        CHAINS, log_reward, features, names, title="log R by features", phrases={}
    )
    assert list(named.parts) == ["weight", "logP", "rings", REST]
    ones = np.ones((CHAINS.n_objects, 1))
    for number, name in enumerate(names[:3]):
        before = np.column_stack((ones, features[:, :number]))
        own = features[:, number]
        own = own - before @ np.linalg.lstsq(before, own, rcond=None)[0]
        slope = log_reward @ own / np.square(own).sum() * own.std()
        assert_allclose(named.parts[name], slope, atol=1e-12)
    reward = named.reward(named.parts).log_reward.numpy()
    assert_allclose(np.ptp(reward - log_reward, axis=1), 0, atol=1e-12)
    assert_allclose(policies(CHAINS, reward), policies(CHAINS, log_reward), atol=1e-12)
