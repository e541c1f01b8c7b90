"""Tasks whose rewards are formulas or process reward models, and their runs."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from gflownet_envs.experiments.files import verdict_words

pytestmark = pytest.mark.slow

FORMULAS = ("continuous-grid", "symbolic-regression")


@pytest.mark.parametrize("name", [*FORMULAS, "llm-arithmetic", "strategy-reasoning"])
def test_a_run_has_what_every_task_has(smoke_runs, name):
    results, out = smoke_runs(name)
    record = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert record["task"] == name
    assert set(record["policies"]) == {"trained", "exact"}
    assert record["sizes"]["n_objects"] == results.study.environment.n_objects
    distance = record["distance_to_exact"]
    assert 0 < distance["mean"] <= distance["worst"]
    for source in results.sources.values():
        dataset = source.dataset
        for columns in dataset.step_slices:
            assert_allclose(dataset.y[:, columns].sum(axis=1), 1, atol=1e-6)
        assert len(source.main.verdict.steps) == len(results.study.trajectory)
    assert record["beside_the_paper"] == []  # the settings are not the paper's


@pytest.mark.parametrize("name", FORMULAS)
def test_known_inputs_are_used_as_they_are(smoke_runs, name):
    results, _ = smoke_runs(name)
    main = results.sources["exact"].main
    assert main.input_features == results.study.feature_names
    X = results.study.reward_features
    assert_array_equal(main.pipeline[:-1].transform(X), X)
    # and the sentences of the verdict call them by their names
    words = verdict_words(results.sources["exact"])
    assert not re.search(r"\bx\d+ (drives|is not settled)", words)
    if any(main.verdict.supported):
        assert any(f"{name} drives" in words for name in main.input_features)


def test_the_rewards_of_the_plane_are_its_bumps(smoke_runs):
    study = smoke_runs("continuous-grid")[0].study
    places = study.environment.positions().numpy()
    centres = np.array([(0.0, 0.75), (-0.5, -0.25), (0.5, -0.25)])
    squared = ((places[:, None] - centres) ** 2).sum(axis=2)
    expected = study.reward_features @ np.exp(-squared / (2 * 0.35**2)).T
    assert_allclose(study.reward.log_reward.numpy(), expected, atol=1e-12)


def test_the_reference_expression_is_the_greedy_one_without_noise(smoke_runs):
    study = smoke_runs("symbolic-regression")[0].study
    facts = {row[0]: row[1] for row in study.tables[0].rows}
    assert facts["finished expressions"] == 25_190
    assert facts["best without noise"] == "sin x + 2 − x"
    written = int(study.environment.object_index(study.trajectory.states[-1]))
    shown = facts["reference trajectory (greedy without noise)"]
    assert study.environment.object_name(written) == shown


def test_the_features_of_reward_models_are_scores_of_the_problems(smoke_runs):
    study = smoke_runs("llm-arithmetic")[0].study
    assert study.reward_features.shape == (24, 40)
    groups = study.levels["problems"]
    assert [len(columns) for columns in groups.values()] == [20, 20]
    name = study.feature_names[0].split()
    states = torch.tensor([[study.environment.action_names.index(t) for t in name]])
    scores = study.reward.scores(states)[:, 0]
    assert_allclose(study.reward_features[:, 0], scores, atol=1e-6)
