"""A run: the same numbers from the same command, whatever interrupts it."""

import errno
import json
import re
import time
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from gflownet_envs import RewardTable, SequentialSelectionEnvironment, storage
from gflownet_envs.exact.solve import Trajectory
from gflownet_envs.experiments import analysis, files, run
from gflownet_envs.experiments.paper.measures import measure
from gflownet_envs.experiments.tasks.grid import GridTask
from gflownet_envs.policy_dataset import PolicyDataset
from gflownet_envs.storage import read_arrays
from gflownet_envs.training import ensemble as training
from gflownet_envs.training.certificate import DistanceBound
from skpce.metrics import crps_score, excess_fragility
from tests.gflownet_envs.experiments.conftest import SILENT, TINY, never
from tests.shared import cases, clr, refuses


def read_results(folder):
    return (folder / "results.json").read_bytes()


# Same command, same numbers.


@pytest.mark.slow
def test_two_runs_give_the_same_bytes_and_another_seed_others(tiny, run_tiny, tmp_path):
    run_tiny(tmp_path)
    assert read_results(tmp_path) == read_results(tiny[0])
    n_blocks = len(list((tmp_path / "blocks").iterdir()))
    run_tiny(tmp_path, seed=1)  # in the same folder: no block of seed 0 is taken
    assert len(list((tmp_path / "blocks").iterdir())) == 2 * n_blocks
    ours, other = (json.loads(read_results(folder)) for folder in (tiny[0], tmp_path))
    assert (ours["seed"], other["seed"]) == (0, 1)
    for source in ("trained", "exact"):
        found = [r["policies"][source]["analyses"][0] for r in (ours, other)]
        assert found[0]["verdict"] != found[1]["verdict"]
        assert found[0]["held_out_q2"] != found[1]["held_out_q2"]


@pytest.mark.slow
def test_the_stages_add_up_to_the_time_of_the_run(run_tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "write_run", lambda *args: None)
    started = time.process_time()
    seconds = run_tiny(tmp_path, solver="exact").cpu_seconds
    spent = time.process_time() - started
    assert 0.8 * spent < sum(seconds.values()) <= spent


def test_a_run_of_the_papers_settings_has_its_figures_beside_ours(
    no_pictures, tmp_path, monkeypatch
):
    """Those of the page's first draw of the members."""
    monkeypatch.setitem(GridTask.presets, "paper", replace(TINY, degrees=(2,)))
    results = run.run_task("grid", preset="paper", solver="exact", out=tmp_path)
    rows = json.loads(read_results(tmp_path))["beside_the_paper"]
    assert files.paper_table(results).columns == ("claim", "paper", "exact")
    dataset = results.sources["exact"].dataset
    found = measure(dataset, results.preset, 0, draws=(0,), whole=False)["draws"]
    (first, *_, last) = found["total"][0][:-1]
    (row,) = [row for row in rows if row["exact"].startswith("move 1: ")]
    shown = re.findall(r"[\d.]+(?=,|$)", row["exact"])
    assert shown == [f"{x:.3g}" for x in (*first, *last)]
    page = (tmp_path / "report.html").read_text("utf-8")
    assert all(row["claim"] in page for row in rows)


# The exact solver.


@pytest.mark.slow
def test_the_exact_solver_trains_nothing(run_tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "train_block", never)
    # What a run with trained policies left must not stand beside exact results.
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "sobol_trained.png").touch()
    (tmp_path / "dataset_exact.safetensors").touch()
    results = run_tiny(tmp_path, solver="exact")
    assert set(results.sources) == {"exact"}
    assert results.policies.trained is None
    assert not (tmp_path / "blocks").exists()
    assert not (tmp_path / "dataset_exact.safetensors").exists()
    dataset = PolicyDataset.load(tmp_path / "dataset.safetensors")
    assert (dataset.source, dataset.n_members) == ("exact", 625)
    record = json.loads(read_results(tmp_path))
    assert set(record["policies"]) == {"exact"}
    assert record["distance_to_exact"] is None
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "trained policies" not in page
    assert files.training_table(results) is None
    pictures = [path.name for path in (tmp_path / "figures").iterdir()]
    assert "sobol_trained.png" not in pictures


def test_exact_columns_never_fill_in_for_trained_ones(tiny):
    results = tiny[1]
    trained, exact = results.sources["trained"], results.sources["exact"]
    assert results.headline is trained
    assert trained.dataset.n_members == 18
    assert not np.allclose(trained.dataset.y, exact.dataset.y[:18])
    assert_array_equal(trained.dataset.X, exact.dataset.X[:18])
    rows = files.verdict_table(results).rows
    for name, source in results.sources.items():
        shown = [row[5].split()[0] for row in rows if row[1] == name and row[5]]
        q2 = [step.q2 for step in source.main.verdict.steps if not np.isnan(step.q2)]
        assert shown == [f"{value:.2f}" for value in q2]
    assert {row[8] for row in rows if row[1] == "exact"} == {"0%", ""}
    arrays, metadata = read_arrays(tiny[0] / "ensemble.safetensors")
    assert arrays["trained_members"].shape == (18,)
    assert metadata["preset"] == "tiny"


# Interruption.


# Errors, before any work.


@cases(
    ("arguments", "message"),
    ({"preset": "big"}, r"no preset 'big'; its presets are \['default', 'paper', "),
    ({"solver": "magic"}, r"solver must be one of \('train', 'exact'\), got 'magic'"),
    ({"seed": True}, r"seed must be an int in \[0, 2\*\*32\), got True"),
)
def test_bad_arguments_are_refused_before_a_folder_is_made(
    tmp_path, arguments, message
):
    out = tmp_path / "out"
    refuses(message, run.run_task, **({"task": "grid", "out": out} | arguments))
    assert not out.exists()


class TaskOfOne(GridTask):
    """A task of a user's own, of which something is changed."""

    presets: ClassVar = {
        "smoke": GridTask.presets["smoke"],
        "few": replace(GridTask.presets["smoke"], n_train=3),
    }

    def __init__(self, change):
        self._change = change

    def prepare(self, preset, **settings):
        return self._change(super().prepare(preset, **settings))


def without_choice(study):
    environment = SequentialSelectionEnvironment({"a": ["only"]})
    states, actions = torch.tensor([[-1], [0]]), torch.tensor([0])
    trajectory = Trajectory(states, actions)
    return replace(study, environment=environment, trajectory=trajectory)


def with_equal_rewards(study):
    log_reward = study.reward.log_reward[:1].repeat(study.reward.n_members, 1)
    return replace(study, reward=RewardTable(study.environment, log_reward))


@cases(
    ("change", "message"),
    (lambda study: {}, r"'grid' returned a dict; expected a Study"),
    (without_choice, "'grid' returned a trajectory without a choice; expected two"),
    (with_equal_rewards, "'grid' returned equal rewards for all 20 members"),
)
def test_studies_with_nothing_to_explain_are_refused(
    tmp_path, monkeypatch, change, message
):
    monkeypatch.setattr(run, "make_policies", None)  # nothing is trained
    task, out = TaskOfOne(change), tmp_path / "out"
    refuses(message, run.run_task, task, preset="smoke", out=out)
    words = "n_train of the preset must be an int of at least 8, "
    refuses(words, run.run_task, task, preset="few", out=out)


def test_a_file_in_place_of_the_folder_is_named(run_tiny, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(NotADirectoryError, match=r"out must be a folder; .*/file is a"):
        run_tiny(tmp_path / "file")
    with pytest.raises(OSError, match=r"could not make the folder .*/file/below"):
        run_tiny(tmp_path / "file" / "below")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_read_only_folder_is_found_before_any_work(run_tiny, tmp_path, monkeypatch):
    def read_only(file):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(storage.os, "fsync", read_only)
    monkeypatch.setattr(run, "make_policies", never)
    with pytest.raises(OSError, match=r"could not write .*Read-only file system"):
        run_tiny(tmp_path / "out")
    assert not (tmp_path / "out").exists()


# The analysis.


@pytest.mark.slow
def test_the_analysis_never_sees_test_members_while_fitting(tiny, rng):
    results = tiny[1]
    dataset = results.sources["exact"].dataset.select(np.arange(60))
    y = dataset.y.copy()
    rows = np.flatnonzero(dataset.is_test)
    y[rows] = y[rng.permutation(rows)]
    X = dataset.X.copy()
    X[rows] += rng.normal(size=(len(rows), X.shape[1]))
    other = replace(dataset, X=X, y=y)
    settings = {"seed": 0, "noise_share": None, "progress": SILENT["progress"]}
    ours, theirs = (
        analysis.analyse(data, results.preset, 1, **settings)
        for data in (dataset, other)
    )
    assert_array_equal(ours.surrogate.coefficients_, theirs.surrogate.coefficients_)
    assert_array_equal(ours.pipeline[0].components_, theirs.pipeline[0].components_)
    assert str(ours.verdict) == str(theirs.verdict)
    assert not np.allclose(ours.held_out_q2, theirs.held_out_q2, equal_nan=True)


def test_crps_does_not_depend_on_the_chunks(tiny):
    source = tiny[1].sources["exact"]
    test = source.dataset.test.select(np.arange(70))  # more than a chunk
    inputs = source.main.pipeline[:-1].transform(test.X)
    surrogate = source.main.surrogate
    found = analysis.predictive_crps(surrogate, inputs, test, "gaussian", seed=3)
    draws = surrogate.sample(1000, inputs, residual="gaussian", random_state=3)
    expected = crps_score(test.y, draws, steps=test.steps, mask=test.mask)
    assert_allclose(found, expected, rtol=1e-12)


def test_levels_whose_share_is_zero_but_for_rounding_are_shown_as_zero(tiny):
    shares = {"near": np.array([1e-30, -2e-17, 0.25, 0.0, 1.0, np.nan])}
    source = replace(tiny[1].sources["exact"], level_shares={"quadrant": shares})
    table = files.level_table(source, "quadrant")
    assert table.columns[-1].endswith(" (no choice)")
    assert_array_equal(table.rows[0][1:], [0.0, 0.0, 0.25, 0.0, 1.0, np.nan])


def test_indices_stand_with_both_kinds_of_intervals(tiny):
    source = tiny[1].sources["exact"]
    table = files.intervals_table(source)
    surrogate = source.main.surrogate
    assert [row[1] for row in table.rows] == ["pca0", "pca1"] * (len(table.rows) // 2)
    steps = [row[0] for row in table.rows[::2]]
    first = dict(zip(table.columns, table.rows[1], strict=True))
    assert steps[0] == "move 1"
    assert first["total"] == f"{surrogate.step_total_sobol_indices_[0, 1]:.2f}"
    for place, method in ((3, "bootstrap"), (4, "residual")):
        assert table.columns[place] == f"90%, {method}"
        settings = {"method": method, "n_resamples": 200, "random_state": 0}
        low, high = surrogate.sobol_interval(**settings).first_order[:, 0, 1]
        assert table.rows[1][place] == f"[{low:.2f},\xa0{high:.2f}]"


def test_fragility_stands_beside_that_of_equal_noise(tiny):
    results = tiny[1]
    table = files.excess_table(results)
    source = results.sources["trained"]
    train, settings = source.dataset.train, {"random_state": 0}
    settings |= {"steps": train.steps, "mask": train.mask}
    found = excess_fragility(train.y, **settings)
    row = next(row for row in table.rows if row[:2] == ("move 1", "trained"))
    assert row[3] == found.contestedness[0]
    assert row[-1] == f"{found.excess[0]:.2f} ± {found.excess_error[0]:.2f}"
    assert "stop" not in {row[0] for row in table.rows}  # no choice
    assert f"trained: {found.noise_scale:.2g}" in table.caption


def test_members_that_did_not_converge_are_named(tiny):
    results = tiny[1]
    ensemble = results.policies.ensemble
    far = np.array(ensemble.members)[results.policies.distance > 0.03].tolist()
    assert len(far) == 18  # four iterations do not converge
    rows = dict(files.training_table(results).rows)
    assert rows["members that did not converge"] == "all 18"
    near = replace(results.policies, distance=np.zeros(18))
    rows_of_near = dict(files.training_table(replace(results, policies=near)).rows)
    assert rows_of_near["members that did not converge"] == "none"
    share = ensemble.diagnostics.effective_sample_share
    assert rows["effective sample size as a share, smallest"] == share.min()
    assert json.loads(read_results(tiny[0]))["members_not_converged"] == far
    trained, exact = (
        {one.code: one for one in results.sources[name].main.verdict.cautions}
        for name in ("trained", "exact")
    )
    assert "not converged" not in exact
    assert trained["not converged"].figures["members"] == tuple(far)
    assert "noise bound" not in trained  # exact policies show it


def test_held_out_q2_by_hand(tiny):
    source = tiny[1].sources["exact"]
    test = source.dataset.test
    predicted = source.main.pipeline.predict(test.X)
    columns = test.step_slices[0]
    possible = np.flatnonzero(test.mask[columns]) + columns.start
    true = clr(test.y[:, possible])
    residual = np.square(true - clr(predicted[:, possible])).sum()
    spread = np.square(true - true.mean(axis=0)).sum()
    found = source.main.held_out_q2
    assert found[0] == pytest.approx(1 - residual / spread)
    assert np.isnan(found[-1])  # only stop is left


def test_span_coordinates_keep_the_scores_of_any_subset(rng):
    from sklearn.decomposition import PCA

    X = rng.normal(size=(20, 300)) @ np.diag(np.linspace(3, 0.1, 300)) + 5
    small = analysis.span_coordinates(X)
    assert small.shape == (20, 20)
    for rows in (np.arange(20), np.arange(3, 15), rng.permutation(20)[:6]):
        ours, full = (
            PCA(3, whiten=True, svd_solver="full").fit(Z[rows]) for Z in (small, X)
        )
        scores, expected = ours.transform(small), full.transform(X)
        signs = np.sign((scores * expected).sum(axis=0))
        assert_allclose(scores * signs, expected, atol=1e-9)
    assert_array_equal(analysis.span_coordinates(X[:, :20]), X[:, :20])


def test_members_that_are_not_certified_are_named(tiny):
    far = np.array([0.01] * 15 + [0.2, 0.03, 0.5])
    bound = DistanceBound(far, "estimate", "sampled", 4096, 0.95)
    policies = replace(tiny[1].policies, bound=bound, distance=None)
    members = policies.ensemble.members
    assert policies.not_certified == [members[15], members[17]]
    rows = dict(files.training_table(replace(tiny[1], policies=policies)).rows)
    shown = f"2: {members[15]}, {members[17]}"
    assert rows["members not shown to be within 0.03"] == shown
    far, noise = analysis.training_cautions(policies, None)
    assert far.code == "not converged"
    assert far.figures["members"] == (members[15], members[17])
    assert f"{members[15]} and {members[17]} of 18 are not shown to be" in str(far)
    assert noise.code == "noise bound"
    assert next(iter(noise.figures["at_most"].values())) < 1
