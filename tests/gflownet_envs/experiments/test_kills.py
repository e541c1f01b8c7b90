"""Runs that are killed, doubled, or out of space lose nothing and leave nothing.

The scenes are in `killed_runs.py`; ``make kills`` kills a hundred times.
"""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork") or not sys.platform.startswith("linux"),
    reason="processes are forked, and found in /proc",
)


@pytest.mark.slow
def test_nothing_is_lost_and_nothing_left(tmp_path):
    """All scenes in one process, which imports once; it says what went wrong."""
    module = "tests.gflownet_envs.experiments.killed_runs"
    options = {"capture_output": True, "text": True, "check": False}
    path = os.pathsep.join(filter(None, sys.path))
    options["env"] = os.environ | {"PYTHONPATH": path}
    command = [sys.executable, "-W", "ignore", "-m", module, tmp_path]
    result = subprocess.run(command, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    failures = json.loads(result.stdout.splitlines()[-1])
    assert failures == {}, "\n".join([*failures.values(), result.stderr])
