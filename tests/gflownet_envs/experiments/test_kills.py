"""Runs that are killed, doubled, or out of space lose nothing and leave nothing.

The scenes are in `killed_runs.py`; ``make kills`` kills a hundred times.
"""

import json
import os
import subprocess
import sys

import pytest

from tests.shared import cases

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork") or not sys.platform.startswith("linux"),
    reason="processes are forked, and found in /proc",
)


@pytest.fixture(scope="module")
def failures(tmp_path_factory):
    """What went wrong, by scene; all of them in one process, which imports once."""
    module = "tests.gflownet_envs.experiments.killed_runs"
    options = {"capture_output": True, "text": True, "check": False}
    path = os.pathsep.join(filter(None, sys.path))
    options["env"] = os.environ | {"PYTHONPATH": path}
    command = [sys.executable, "-W", "ignore", "-m", module]
    result = subprocess.run([*command, tmp_path_factory.mktemp("runs")], **options)
    assert result.returncode == 0, result.stdout + result.stderr
    found = json.loads(result.stdout.splitlines()[-1])
    return {scene: text + result.stderr for scene, text in found.items()}


@pytest.mark.slow
@cases(
    "scene",
    "a_few_kills",
    "two_runs_at_once",
    "a_disk_that_fills_at_the_end",
    "a_folder_that_may_not_be_written",
)
def test_nothing_is_lost_and_nothing_left(failures, scene):
    assert failures.get(scene) is None, failures[scene]
