"""Replicates of each reward and a control on the mean reward, as parts of a run."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gflownet_envs.experiments import analysis, files, run
from gflownet_envs.experiments.files import read_settings
from gflownet_envs.rewards.source import mean_log_reward
from tests.shared import cases, clr, refuses

testing = pytest.importorskip("click.testing")

pytestmark = pytest.mark.slow

N_REPLICATES, N_CONTROL = 2, 3  # of the fixture


# The data set.


def test_replicates_share_reward_and_inputs_and_nothing_else(copies, tiny):
    dataset = copies[1].sources["trained"].dataset
    assert dataset.n_members == 18 * N_REPLICATES
    assert len(set(dataset.members)) == dataset.n_members  # streams of their own
    first, second = (dataset.select(np.arange(i, 36, 2)) for i in (0, 1))
    assert_array_equal(first.rewards, second.rewards)
    assert_array_equal(first.X, second.X)
    assert_array_equal(first.is_test, second.is_test)
    plain = tiny[1].sources["trained"].dataset
    assert_array_equal(first.rewards, plain.rewards)
    assert_array_equal(first.members, plain.members)
    assert_array_equal(first.X, plain.X)
    # Other blocks, other rounding: the first replicate is the member of a plain run.
    assert_allclose(first.y, plain.y, atol=1e-5)
    assert np.abs(second.y - plain.y).max() > 0.01


def test_the_exact_policies_are_those_of_a_plain_run(copies, tiny):
    name = "dataset_exact.safetensors"
    assert (copies[0] / name).read_bytes() == (tiny[0] / name).read_bytes()
    ours, plain = (found.sources["exact"].main for found in (copies[1], tiny[1]))
    assert str(ours.verdict) == str(plain.verdict)


def test_the_control_has_one_reward_and_streams_of_its_own(copies, monkeypatch, tiny):
    """Members trained here on the mean reward, with the same numbers, are the same."""

    calls = []
    original = analysis.train_ensemble

    def spy(environment, log_reward, spec, **arguments):
        calls.append((log_reward.log_reward.numpy(), arguments["members"]))
        return original(environment, log_reward, spec, **arguments)

    monkeypatch.setattr(analysis, "train_ensemble", spy)
    study = copies[1].study
    settings = {"train": True, "n_replicates": N_REPLICATES, "n_control": N_CONTROL}
    silent = {"seed": 0, "n_jobs": None, "store": None, "progress": lambda *done: None}
    training = copies[1].preset.training
    again = analysis.make_policies(study, training, **settings, **silent)
    (_, members), (reward, control) = calls
    assert len(control) == N_CONTROL
    assert not set(control) & set(members)
    expected = mean_log_reward(study.reward.log_reward[:12], study.environment)
    assert_array_equal(reward, np.asarray(expected))
    assert_allclose(again.control, copies[1].policies.control, atol=1e-6)
    assert np.ptp(again.control, axis=0).max() > 0.01


# The verdict and the noise.


def test_the_verdict_keeps_replicates_together_and_has_the_noise_beside_exact(copies):
    """They see a bias that depends on the reward; replicates do not."""
    given = copies[2]
    train = copies[1].sources["trained"].dataset.train
    assert train.n_members == 12 * N_REPLICATES
    assert_array_equal(given["trained"]["replicate"], train.rewards)
    assert given["exact"]["replicate"] is None
    noise = copies[1].noise
    steps = copies[1].sources["trained"].main.verdict.steps
    found = [step.noise_share for step in steps]
    assert_array_equal(found, noise.log_ratio_share)
    assert not np.allclose(found, noise.replicates.noise_share, equal_nan=True)


def test_noise_from_copies_by_hand(copies):
    noise, policies = copies[1].noise, copies[1].policies
    train = policies.trained.train
    columns = train.step_slices[0]
    possible = np.flatnonzero(train.mask[columns]) + columns.start
    trained, control = clr(train.y[:, possible]), clr(policies.control[:, possible])
    pairs = trained.reshape(12, N_REPLICATES, -1)
    within = pairs.var(axis=1, ddof=1).mean(axis=0).sum()
    of_means = pairs.mean(axis=1).var(axis=0, ddof=1).sum()
    between = max(of_means - within / N_REPLICATES, 0)
    share = within / (within + between)
    assert noise.replicates.noise_share[0] == pytest.approx(share)
    share = control.var(axis=0, ddof=1).sum() / trained.var(axis=0, ddof=1).sum()
    assert noise.control.noise_share[0] == pytest.approx(share)
    # Each trained member stands beside the exact policy of its own reward.
    exact = np.repeat(policies.exact.y[:12], N_REPLICATES, axis=0)
    distance = 0.5 * np.abs(train.y - exact)[:, columns].sum(axis=1).mean()
    assert noise.exact.total_variation[0] == pytest.approx(distance)


# Tables and files.


def test_the_table_of_noise_has_a_column_for_each_source(copies, tiny):
    plain = files.noise_table(tiny[1])
    table = files.noise_table(copies[1])
    added = ("share from replicates alone", "share from the control")
    assert table.columns == plain.columns + added
    split = copies[1].noise.replicates
    low, high = split.noise_share_low[0], split.noise_share_high[0]
    shown = f"{split.noise_share[0]:.2g} [{low:.2g}, {high:.2g}]"
    assert dict(zip(table.columns, table.rows[0], strict=True))[added[0]] == shown
    assert table.rows[-1][-2:] == ("–", "–")  # only stop is left


def test_the_coverage_band_counts_rewards(copies):
    """Replicates of a reward are hit together: they make no band narrower."""
    from gflownet_envs.experiments import figures

    source = copies[1].sources["trained"]
    assert source.dataset.test.n_members == 12
    with pytest.MonkeyPatch.context() as patch:
        seen = []
        original = figures.CoverageDisplay

        def spy(*arguments, **options):
            seen.append(options["n_members"])
            return original(*arguments, **options)

        patch.setattr(figures, "CoverageDisplay", spy)
        figures.coverage_figure(copies[1])
    n_exact = copies[1].sources["exact"].dataset.test.n_members
    assert seen == [n_exact, 6]


def test_the_files_record_the_copies(copies):
    record = json.loads((copies[0] / "results.json").read_text(encoding="utf-8"))
    assert (record["n_replicates"], record["n_control"]) == (N_REPLICATES, N_CONTROL)
    assert record["training_noise"]["replicates"]["noise_share"][0] >= 0
    assert record["training_noise"]["control"]["noise_share_high"][-1] is None
    expected = {"task": "grid", "preset": "tiny", "solver": "train", "seed": 0}
    expected |= {"n_replicates": N_REPLICATES, "n_control": N_CONTROL}
    assert read_settings(copies[0]) == expected
    seconds = json.loads((copies[0] / "run_record.json").read_text())["cpu_seconds"]
    assert seconds["control"] > 0


# Errors, before any work.


@cases(
    ("arguments", "message"),
    ({"n_replicates": 0}, "n_replicates must be an int of at least 1, got 0"),
    ({"n_control": -1}, "n_control must be an int of at least 0, got -1"),
    ({"n_control": 1}, "n_control is 1, but .*; expected 0 or at least 2"),
    ({"n_control": 2, "solver": "exact"}, "is 2, but solver='exact' trains no GFl"),
)
def test_bad_numbers_are_refused_before_a_folder_is_made(tmp_path, arguments, message):
    out = tmp_path / "out"
    refuses(message, run.run_task, "grid", out=out, **arguments)
    assert not out.exists()
