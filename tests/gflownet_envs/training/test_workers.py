"""Worker processes end with the process that started them."""

import os
import subprocess
import sys
import time

import joblib
import pytest

from gflownet_envs.training.workers import end_with_parent, workers

KILLED = """
import os, signal, sys
from joblib import delayed
from gflownet_envs.training.workers import workers
print(*workers(2)(delayed(os.getpid)() for _ in range(8)), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def lives(process):
    """Whether there is such a process; one that nobody has buried does not live."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            return file.read().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it looks in /proc")
def test_workers_end_seconds_after_their_parent_is_killed():
    result = subprocess.run(
        [sys.executable, "-c", KILLED],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    started = {int(number) for number in result.stdout.split()}
    assert started
    end = time.monotonic() + 60  # on a busy machine; joblib's own limit is 300
    while any(map(lives, started)):
        assert time.monotonic() < end, f"{started} still run"
        time.sleep(0.1)


def test_only_workers_of_loky_are_watched():
    end_with_parent(0)  # would end this process
    time.sleep(0.05)
    assert workers(2, prefer="threads")([]) == []


def _mark():
    os.environ["SKPCE_MARK"] = "1"


def _marked():
    return os.environ.get("SKPCE_MARK")


@pytest.mark.slow
def test_an_initializer_of_the_user_is_kept():
    with joblib.parallel_config("loky", initializer=_mark):
        found = workers(2)(joblib.delayed(_marked)() for _ in range(4))
    assert found == ["1"] * 4
