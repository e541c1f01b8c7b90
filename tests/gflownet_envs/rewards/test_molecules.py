"""The toy score, its proxies, and rewards of chains against direct computation."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from gflownet_envs import ProxySpec, check_environment
from gflownet_envs.environments.sequences import fragment_chain_environment
from gflownet_envs.rewards.molecules import (
    POSITIONS,
    TOY_FRAGMENTS,
    ChainProxyReward,
    chain_features,
    descriptor_score,
    molecule_log_reward,
    reference_chains,
    toy_descriptors,
)
from gflownet_envs.rewards.proxies import train_feature_proxies as train
from gflownet_envs.rewards.source import RewardSource, log_reward_table
from tests.shared import cases, refuses

SPEC = ProxySpec(hidden=(8, 8), max_epochs=4, block_size=2)


# The score.


def test_descriptors_are_rdkit_s():
    chem = pytest.importorskip("rdkit.Chem")
    crippen = pytest.importorskip("rdkit.Chem.Crippen")
    descriptors = pytest.importorskip("rdkit.Chem.Descriptors")
    counts = pytest.importorskip("rdkit.Chem.rdMolDescriptors")
    assert_allclose(toy_descriptors().mean(axis=0), 0, atol=1e-12)
    assert_allclose(toy_descriptors().std(axis=0), 1)
    for smiles, values in TOY_FRAGMENTS.values():
        molecule = chem.MolFromSmiles(smiles)
        weight, log_p = descriptors.MolWt(molecule), crippen.MolLogP(molecule)
        bonds = counts.CalcNumHBD(molecule), counts.CalcNumHBA(molecule)
        found = (round(weight, 2), round(log_p, 2), *bonds)
        assert (*found, counts.CalcNumAromaticRings(molecule)) == values, smiles


def score_by_hand(names):
    """The four terms one by one, in plain Python."""
    weight, log_p, donors, acceptors = (
        sum(TOY_FRAGMENTS[name][1][i] for name in names) for i in range(4)
    )
    terms = [
        np.exp(-((log_p - 2) ** 2) / 2),
        1 if weight <= 400 else np.exp(-(weight - 400) / 100),
        np.exp(-(max(donors - 3, 0) + max(acceptors - 6, 0)) / 2),
        (len(set(names)) - 1) / (len(names) - 1),
    ]
    return sum(terms) / 4


def test_the_score_term_by_term():
    names = list(TOY_FRAGMENTS)
    chains = [
        *reference_chains(200, seed=1),
        [names.index("indole")] * 5,  # heavy and lipophilic
        [names.index("piperazine")] * 5,  # many donors and acceptors
    ]
    found = descriptor_score(np.array(chains))
    expected = [score_by_hand([names[i] for i in chain]) for chain in chains]
    assert_allclose(found, expected, rtol=1e-12)
    assert 0 <= found.min() < 0.4 < 0.9 < found.max() <= 1


def test_reference_chains_are_distinct():
    chains = reference_chains()
    assert len(np.unique(chains, axis=0)) == 500
    assert (np.unique(chains) == np.arange(20)).all()
    assert len(np.unique(reference_chains(400, n_positions=2), axis=0)) == 400


# Proxies.


def test_proxies_of_a_member_are_those_of_the_member_alone(rng):
    combinations = np.indices((3, 4)).reshape(2, -1).T
    rows = combinations[rng.integers(12, size=80)]
    yields = rng.uniform(0, 100, size=80)

    def one_hot(levels):
        return np.hstack([np.eye(3)[levels[:, 0]], np.eye(4)[levels[:, 1]]])

    found = train(one_hot(rows), yields, SPEC, members=range(3))
    alone = train(one_hot(rows), yields, SPEC, members=[2])
    expected = found.predict(one_hot(combinations))[2]
    assert_allclose(alone.predict(one_hot(combinations))[0], expected, rtol=1e-5)


# Rewards of chains.


@pytest.fixture(scope="module")
def chain_reward():
    """Three fragments at three positions, two members."""
    env = fragment_chain_environment(["A", "B", "C"], positions=3)
    descriptors = np.random.default_rng(0).normal(size=(3, 2))
    features = chain_features(descriptors, env.object_levels())
    targets = np.random.default_rng(1).normal(size=27)
    proxies = train(features, targets, SPEC, members=[0, 1])
    expected = proxies.predict(features) / 0.2
    return env, ChainProxyReward(env, proxies, descriptors, 0.2), expected


def test_chain_rewards_are_the_predictions(chain_reward):
    env, reward, expected = chain_reward
    assert isinstance(reward, RewardSource)
    table = log_reward_table(reward, env)
    assert_allclose(table, expected, rtol=1e-5, atol=1e-5)
    some = reward(slice(1, 2), torch.tensor([26, 0, 5]))
    assert_allclose(some, expected[1:, [26, 0, 5]], rtol=1e-5, atol=1e-5)
    double = reward.to("cpu", torch.float64)(slice(0, 2), torch.arange(27))
    assert_allclose(double, expected, rtol=1e-5, atol=1e-5)


def test_environments_of_chains():
    few = fragment_chain_environment(["C=C", "CO", "CN"], positions=["left", "right"])
    check_environment(few)
    env = fragment_chain_environment(tuple(TOY_FRAGMENTS), POSITIONS)
    assert env.n_objects == 20**5
    assert env.step_names[2] == "linker"


def test_molecule_rewards_by_hand():
    activity, quality = [[5.0, 7.0], [6.0, 6.5]], [0.5, 0.9]
    found = molecule_log_reward(activity, quality, temperature=0.5)
    expected = np.array([[10.0, 14.0], [12.0, 13.0]]) + np.log(quality)
    assert_allclose(found, expected)


@cases(
    ("call", "message"),
    (lambda: descriptor_score([[0, 20]]), "from 0 to 19, got 0 to 20"),
    (lambda: descriptor_score([[0.5, 1.0]]), "type float64"),
    (lambda: descriptor_score([[0]]), "2 positions or more, got 1"),
    (lambda: reference_chains(401, 2), "n_chains must be from 1 to 400"),
    (lambda: fragment_chain_environment(["A"], "ab"), "positions must be a number"),
    (lambda: fragment_chain_environment(["A"], ["a", "a"]), "distinct names"),
    (lambda: molecule_log_reward([[1.0]], [1.0, 2.0]), r"got \(1, 1\) and \(2,\)"),
    (lambda: molecule_log_reward([[1.0]], [0.0]), "positive, got 0.0"),
    (lambda: molecule_log_reward([[1]], [1], temperature=0), "temperature must be pos"),
    (lambda: train([[1.0], [np.nan]], [1, 2], members=[0]), "finite, row 1 is not"),
    (lambda: train(np.ones((9, 2)), np.ones(9), members=[0, 0]), "distinct and not em"),
    (lambda: train(np.ones((3, 2)), np.ones(4), members=[0]), r"\(3, 2\) and \(4,\)"),
)
def test_bad_input(call, message):
    refuses(message, call)


def test_chain_rewards_refuse_other_sizes(chain_reward):
    env, _, _ = chain_reward
    proxies = train(np.eye(12, 6), np.arange(12.0), SPEC, members=[0])
    for descriptors, temperature, message in (
        (np.ones((4, 2)), 1.0, r"one row a fragment .*got shape \(4, 2\)"),
        (np.ones((3, 3)), 1.0, "proxies must read 9 numbers.*got 6"),
        (np.ones((3, 2)), 0.0, "temperature must be positive, got 0.0"),
    ):
        refuses(message, ChainProxyReward, env, proxies, descriptors, temperature)
    refuses(r"shape \(m, 6\), got \(2, 5\)", proxies.predict, np.ones((2, 5)))
