"""A cluster of dask trains and judges, also when one of its workers is killed."""

import json
import os
import signal
import sys
import warnings
from contextlib import contextmanager
from dataclasses import replace

import joblib
import pytest

from tests.golden.numbers import difference, flatten

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")

KILL = signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Two workers of one thread on this machine."""
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    settings |= {"dashboard_address": None, "host": "127.0.0.1"}
    settings["local_directory"] = str(tmp_path_factory.mktemp("dask"))
    with (
        warnings.catch_warnings(action="ignore"),
        distributed.LocalCluster(**settings) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        yield cluster


@pytest.fixture(autouse=True)
def two_workers(cluster):
    """Wait until the nanny of one that was killed has started another."""
    distributed.default_client().wait_for_workers(2, timeout=60)


@pytest.fixture
def command_line():
    pytest.importorskip("click")
    pytest.importorskip("rich")
    from gflownet_envs.experiments import command_line

    return command_line


def grid_of(command_line, folder, *options):
    """Run the grid into a folder by the command, which begins without a cluster."""
    testing = pytest.importorskip("click.testing")
    given = ["run", "grid", "--preset", "smoke", "--out", str(folder), *options]
    with joblib.parallel_config("sequential"):
        return testing.CliRunner().invoke(command_line.main, given)


def test_the_command_line_sends_its_tasks_to_a_cluster(
    cluster, command_line, tmp_path, monkeypatch
):
    from gflownet_envs.experiments import run
    from gflownet_envs.training.workers import workers

    def run_task(*, n_jobs, **_):
        tasks = (joblib.delayed(os.getpid)() for _ in range(4))
        found = set(workers(n_jobs)(tasks))
        there = {worker.pid for worker in cluster.workers.values()}
        raise ValueError("on the cluster" if found <= there else f"{found} {there}")

    monkeypatch.setattr(run, "run_task", run_task)
    address = cluster.scheduler_address
    done = grid_of(command_line, tmp_path / "run", "--cluster", address)
    assert "on the cluster" in done.output


@pytest.fixture
def small_grid(monkeypatch):
    """A task of five blocks."""
    from gflownet_envs.experiments.tasks.grid import GridTask

    smoke = GridTask.presets["smoke"]
    training = replace(smoke.training, block_size=4, n_iterations=10)
    small = replace(smoke, training=training, solver="subspace_pursuit", degrees=(1,))
    monkeypatch.setattr(GridTask, "presets", {"smoke": small})


@pytest.mark.slow
def test_a_run_from_the_command_line_outlives_workers(
    cluster, command_line, small_grid, tmp_path, monkeypatch
):
    killed = {}

    @contextmanager
    def killing_bars():
        def progress(stage, done, total):
            if "training" in stage and not killed and 0 < done < total:
                killed["training"] = next(iter(cluster.workers.values())).pid
                os.kill(killed["training"], KILL)

        yield progress

    def run(folder, *options):
        done = grid_of(command_line, folder, *options)
        assert done.exit_code == 0, done.output
        results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        return dict(flatten(results, ""))

    here = run(tmp_path / "here")
    monkeypatch.setattr(command_line, "progress_bars", killing_bars)
    there = run(tmp_path / "there", "--cluster", cluster.scheduler_address)
    assert killed
    assert here.keys() == there.keys()
    for path in here:
        assert difference(here[path], there[path], 1e-5) is None, path


@pytest.mark.slow
def test_an_address_without_a_scheduler(command_line, tmp_path, monkeypatch):
    monkeypatch.setattr(command_line, "_SECONDS_TO_CONNECT", 1)
    for address in ("tcp://127.0.0.1:1", "nowhere at all"):
        done = grid_of(command_line, tmp_path / "run", "--cluster", address)
        assert done.exit_code == 1
        assert "no scheduler of dask answers there" in done.output
        assert not (tmp_path / "run").exists()
