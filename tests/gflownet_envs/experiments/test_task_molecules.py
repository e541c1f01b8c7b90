"""Molecules: toy chains and real fragments, against direct computation."""

import json
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from gflownet_envs.experiments.run import run_task
from gflownet_envs.experiments.tasks import molecules
from gflownet_envs.experiments.tasks.molecules import (
    MoleculesTask,
    feature_chains,
    molecule_laws,
    molecules_figure,
)
from gflownet_envs.rewards.molecules import POSITIONS, TOY_FRAGMENTS, descriptor_score
from tests.gflownet_envs.experiments.conftest import SILENT
from tests.shared import refuses

FRAGMENTS = {
    "C=C": (0, 1),
    "CO": (0, 1),
    "c1cc[nH+]cc1": (1, 3),  # charged: left out
    "c1ccccc1": (0, 2, 3),
    "C1CCNCC1": (0, 3),
    "CC(N)=O": (0, 2),
}
MEASURED = [f"{'C' * n}{tail}" for n in range(1, 16) for tail in ("O", "N", "C=O")]


def few_fragments(*, min_attachments, data_home):
    assert min_attachments == 2
    smiles, attachments = tuple(FRAGMENTS), tuple(FRAGMENTS.values())
    return SimpleNamespace(smiles=smiles, attachments=attachments)


def few_measurements(*, data_home, return_X_y):
    return np.array(MEASURED, dtype=object), np.linspace(4, 8, len(MEASURED))


@pytest.fixture(scope="module")
def toy(smoke_runs):
    return smoke_runs("molecules")


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A run of the preset ``smoke-real`` on five fragments, with pictures."""
    pytest.importorskip("rdkit")
    out = tmp_path_factory.mktemp("molecules-real")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(molecules, "fetch_fragments", few_fragments)
        patch.setattr(molecules, "fetch_seh", few_measurements)
        return run_task("molecules", preset="smoke-real", out=out), out


# Toy chains.


def test_features_are_the_rewards_of_the_chains_and_the_best_one_is_the_reference(toy):
    study = toy[0].study
    names = list(TOY_FRAGMENTS)
    chains = [[names.index(f) for f in n.split(" | ")] for n in study.feature_names]
    states = torch.tensor(chains).expand(18, -1, -1)
    log_reward = study.reward.of_states(states)
    assert_allclose(study.reward_features / 0.1, log_reward, rtol=1e-5)
    scores = descriptor_score(np.array(chains))
    assert study.trajectory.states[-1].tolist() == chains[int(scores.argmax())]
    facts = dict(study.tables[1].rows)
    assert facts["its score"] == scores.max() > scores.mean()


def test_levels_are_the_chains_with_a_fragment_at_a_position(toy):
    study = toy[0].study
    for t, (position, columns_of) in enumerate(study.levels.items()):
        assert position == POSITIONS[t]
        there = np.array([name.split(" | ")[t] for name in study.feature_names])
        for fragment, columns in columns_of.items():
            assert_array_equal(columns, np.flatnonzero(there == fragment))


# Real molecules.


def test_rewards_are_activity_and_rdkits_drug_likeness(real):
    qed = pytest.importorskip("rdkit.Chem.QED").qed
    chem = pytest.importorskip("rdkit.Chem")
    study = real[0].study
    assert study.environment.n_objects == 25  # five neutral fragments, two positions
    for number in (0, 7, 24):
        quality = qed(chem.MolFromSmiles(study.molecules.smiles[number]))
        expected = study.reward_features[:, number] / 0.25 + np.log(quality)
        assert_allclose(study.reward.log_reward[:, number], expected)


def test_the_reference_is_greedy_under_the_mean_reward(real):
    study = real[0].study
    mean = study.reward.log_reward[:12].mean(dim=0).exp().reshape(5, 5)
    first = int(mean.sum(dim=1).argmax())
    assert study.trajectory.states[-1].tolist() == [first, int(mean[first].argmax())]


def test_a_molecule_has_the_probability_of_all_its_chains(real):
    study, policies = real[0].study, real[0].policies
    only_exact = replace(policies, ensemble=None)
    laws = molecule_laws(study, only_exact)
    law = torch.softmax(study.reward.log_reward, dim=1).numpy()
    copies = Counter(study.molecules.smiles)
    assert max(copies.values()) > 1
    for smiles, column in zip(laws.smiles, laws.law.T, strict=True):
        chains = [i for i, name in enumerate(study.molecules.smiles) if name == smiles]
        assert_allclose(column, law[:, chains].sum(axis=1))
    trained = molecule_laws(study, policies).law
    assert_allclose(trained.sum(axis=1), 1)
    assert not np.allclose(trained, laws.law, atol=1e-4)


def test_the_report_lists_and_draws_the_likeliest_molecules(real):
    results, out = real
    facts = json.loads((out / "results.json").read_text(encoding="utf-8"))["facts"]
    listed = facts["Likeliest molecules (trained policies, mean over members)"]
    mean = molecule_laws(results.study, results.policies).law.mean(axis=0)
    assert_allclose([row[1] for row in listed], np.sort(mean)[::-1][: len(listed)])
    assert all(low <= row <= high for _, row, low, high, *_ in listed)
    assert (out / "figures" / "molecules.png").read_bytes().startswith(b"\x89PNG")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("Likeliest molecules of all members together") == 2  # and alt
    panels = molecules_figure(results.study, results.policies).axes
    assert len(panels) == 16
    assert panels[0].get_xlabel().startswith(f"{mean.max():.2%}, QED")


# The task.


def test_an_unknown_variant_is_named():
    preset = replace(MoleculesTask.presets["smoke"], variant="both")
    words = r"one of \('toy', 'real'\), got 'both'"
    refuses(words, MoleculesTask().prepare, preset, **SILENT)


@pytest.mark.parametrize("variant", ["toy", "real"])
def test_parts_add_up_to_log_r(request, variant):
    study = request.getfixturevalue(variant)[0].study
    objects = torch.arange(study.environment.n_objects)
    for named in study.named_parts:
        found = named.reward(named.parts).log_reward
        log_reward = study.reward.of_objects(objects.expand(len(found), -1))
        apart = (found - log_reward[: len(found)]).numpy()
        assert_allclose(np.ptp(apart, axis=1), 0, atol=1e-4)
        assert set(named.parts) <= set(named.phrases)


def test_inputs_per_position_are_outputs_along_the_reference_chain(toy):
    """100 chains for five positions, each one fragment away from the best one."""
    preset = MoleculesTask.presets["paper"]
    assert preset.proxy.inputs == "positions"
    settings = replace(toy[0].preset.proxy, inputs="positions")
    shown = feature_chains(settings, toy[0].seed)
    best = toy[0].study.trajectory.states[-1].numpy()
    assert shown.shape == (3 * 20, 3)
    for number, chain in enumerate(shown):
        position, fragment = divmod(number, 20)
        expected = best.copy()
        expected[position] = fragment
        assert_array_equal(chain, expected)
    wrong = replace(settings, inputs="molecules")
    refuses("inputs must be 'chains' or 'positions'", feature_chains, wrong, 0)
