"""Process reward models, and the two tasks that use them."""

import pickle
from functools import cache

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from gflownet_envs import (
    ProcessRewardSpec,
    TokenSequenceEnvironment,
    arithmetic_environment,
    arithmetic_problems,
    strategy_environment,
    strategy_problems,
    strategy_quality,
    train_process_reward,
)
from gflownet_envs.testing import check_environment
from tests.shared import cases, refuses

SPEC = ProcessRewardSpec(n_epochs=30)


@cache
def strategies():
    """Return an environment, its problems and labels, and rewards of five members."""
    env = strategy_environment(3)
    problems, labels = strategy_problems(env)
    reward = train_process_reward(env, problems, labels, SPEC, members=range(5))
    return env, problems, labels, reward


def score_by_hand(reward, member, state):
    """Run the frozen recurrent network and the perceptron on one sequence."""
    raw = reward.features._gru.read(torch.as_tensor(state)[None])[0, 0].detach().numpy()
    *_, centre, scale = reward.features.arrays()
    x = (raw - centre) / scale
    p = {k: v[member].astype(np.float64) for k, v in reward.network.to_arrays().items()}
    hidden = np.maximum(x @ p["weight_0"] + p["bias_0"][0], 0)
    return (hidden @ p["weight_1"] + p["bias_1"][0]).item()


def test_sizes_of_the_paper():
    env = arithmetic_environment()
    assert (env.n_actions, env.max_steps) == (17, 5)
    assert env.n_objects == sum(16**length for length in range(6))
    check_environment(env)
    env = strategy_environment()
    assert (env.n_actions, env.max_steps, env.n_objects) == (10, 5, 10**5)
    check_environment(env)


def test_half_of_the_problems_are_right():
    env = arithmetic_environment()
    problems, labels = arithmetic_problems(env, seed=3)
    assert (len(torch.unique(problems, dim=0)), labels.sum()) == (40, 20)
    for state, label in zip(problems.tolist(), labels.tolist(), strict=True):
        a, operation, b, equals, c = (env.action_names[t] for t in state)
        assert equals == "="
        operator = {"−": "-", "×": "*", "÷": "/", "^": "**"}.get(operation, operation)
        assert (eval(f"{a} {operator} {b}") == int(c)) == bool(label)


def test_quality_by_hand():
    state = [2, 2, 9]
    in_time = [1 - abs(t / 2 - s / 9) for t, s in enumerate(state)]
    expected = (sum(in_time) - 0.5) / 3
    assert strategy_quality(torch.tensor(state)).item() == pytest.approx(expected)


def test_scores_by_hand():
    env, problems, _, reward = strategies()
    scores = reward.scores(problems)
    for member, row in [(0, 0), (3, 17), (4, 39)]:
        expected = score_by_hand(reward, member, problems[row].tolist())
        assert scores[member, row].item() == pytest.approx(expected, abs=1e-4)
    env = TokenSequenceEnvironment(["a", "b", "end"], 3, end_token="end")  # also short
    states = env.object_states(torch.arange(env.n_objects))
    spec = ProcessRewardSpec(n_labelled=2, n_epochs=2)
    reward = train_process_reward(env, states, states[:, 0], spec, members=(4,))
    expected = [score_by_hand(reward, 0, state) for state in states.tolist()]
    assert_allclose(reward.scores(states)[0], expected, atol=1e-4)


def test_log_rewards_of_all_methods_agree():
    env, _, _, reward = strategies()
    objects = torch.tensor([3, 999, 500, 3])
    states = env.object_states(objects)
    expected = reward.scores(states) / SPEC.temperature
    of_states = reward.of_states(states.expand(5, -1, -1))
    some = reward(slice(1, 3), objects)
    torch.testing.assert_close(of_states, expected)
    torch.testing.assert_close(some, expected[1:3])
    two = reward.select(np.array([4, 0]))
    torch.testing.assert_close(two.scores(states), reward.scores(states)[[4, 0]])
    assert reward.to("cpu", torch.float32).features is reward.features
    double = reward.to("cpu", torch.float64).of_states(states.expand(5, -1, -1))
    assert double.dtype == torch.float64
    torch.testing.assert_close(double.float(), expected)


def test_chunks_do_not_matter(monkeypatch):
    env, problems, labels, reward = strategies()
    objects = torch.arange(env.n_objects)
    expected = reward(slice(0, 5), objects)
    module = "gflownet_envs.rewards"
    monkeypatch.setattr(f"{module}.process_reward._SEQUENCES_AT_ONCE", 700)
    monkeypatch.setattr(f"{module}.proxies._OUTPUTS_AT_ONCE", 700)
    again = train_process_reward(env, problems, labels, SPEC, members=range(5))
    torch.testing.assert_close(again(slice(0, 5), objects), expected)


def test_a_member_alone_is_the_same_member():
    env, problems, labels, reward = strategies()
    alone = train_process_reward(env, problems, labels, SPEC, members=(3,))
    assert alone.seen.tolist() == reward.seen[3:4].tolist()
    torch.testing.assert_close(alone.scores(problems)[0], reward.scores(problems)[3])


def test_members_see_different_problems_and_fit_those():
    env, problems, labels, _ = strategies()
    reward = train_process_reward(env, problems, labels, members=range(8))
    assert reward.seen.shape == (8, 20)
    assert all(len(set(row)) == 20 for row in reward.seen.tolist())
    assert len({tuple(sorted(row)) for row in reward.seen.tolist()}) == 8
    targets = ((labels - labels.mean()) / labels.std(correction=0)).numpy()
    errors = (reward.scores(problems).numpy() - targets) ** 2
    is_seen = np.zeros(errors.shape, dtype=bool)
    np.put_along_axis(is_seen, reward.seen, True, axis=1)
    assert errors[is_seen].mean() < 0.05
    assert errors[~is_seen].mean() > 0.2


@pytest.mark.parametrize("shared_start", [True, False])
def test_start_of_the_networks(shared_start):
    env, problems, labels, _ = strategies()
    spec = ProcessRewardSpec(n_labelled=40, n_epochs=1, shared_start=shared_start)
    reward = train_process_reward(env, problems, labels, spec, members=range(2))
    one, other = reward.scores(problems)
    assert torch.allclose(one, other, atol=1e-5) == shared_start


def test_features_are_standardised_over_all_objects():
    env, _, _, reward = strategies()
    features = reward.features(env.object_states(torch.arange(env.n_objects)))
    assert_allclose(features.mean(dim=0), 0, atol=1e-4)
    assert_allclose(features.std(dim=0, correction=0), 1, atol=1e-4)


def test_digest_differs_between_members_seeds_and_temperatures():
    env, problems, labels, reward = strategies()
    warm = ProcessRewardSpec(n_epochs=30, temperature=1.0)
    others = [
        reward.select(slice(0, 4)),
        train_process_reward(env, problems, labels, SPEC, members=range(5), seed=1),
        train_process_reward(env, problems, labels, warm, members=range(5)),
    ]
    digests = {source.digest() for source in (reward, *others)}
    assert len(digests) == 4
    copy = pickle.loads(pickle.dumps(reward))
    assert copy.digest() == reward.digest()


def test_labels_that_are_all_alike():
    env, problems, labels, _ = strategies()
    alike = torch.ones_like(labels)
    reward = train_process_reward(env, problems, alike, SPEC, members=(0,))
    assert torch.isfinite(reward.scores(problems)).all()


@cases(
    ("arguments", "message"),
    ({"problems": torch.zeros(40, 2).long()}, r"\(n, 3\) for .*, got \(40, 2\)"),
    ({"problems": torch.full((40, 3), -1)}, r"finished sequences, got \[-1"),
    ({"labels": [1.0]}, "labels must be 40 finite numbers, one a problem"),
    ({"spec": ProcessRewardSpec(n_labelled=41)}, "at most 40, .*, got 41"),
    ({"members": (1, 1)}, r"members must be distinct .* got \(1, 1\)"),
)
def test_bad_arguments(arguments, message):
    env, problems, labels, _ = strategies()
    given = {"problems": problems, "labels": labels, "spec": SPEC, "members": (0,)}
    refuses(message, train_process_reward, env, **(given | arguments))
    words = "temperature must be positive, got 0.0"
    refuses(words, ProcessRewardSpec, temperature=0.0)


@cases(
    ("make", "environment", "message"),
    (arithmetic_problems, strategy_environment(), "must be arithmetic_environment"),
    (strategy_problems, arithmetic_environment(), "the ten .* got arithmetic-5"),
    (strategy_problems, strategy_environment(1), "at least 40 sequences"),
)
def test_bad_problems(make, environment, message):
    refuses(message, make, environment)
