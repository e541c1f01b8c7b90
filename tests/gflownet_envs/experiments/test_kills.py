"""Runs that are killed, doubled, or out of space lose nothing and leave nothing.

``make kills`` does the same with a hundred kills.
"""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork") or not sys.platform.startswith("linux"),
    reason="processes are forked, and found in /proc",
)


def in_a_process_of_its_own(code, *arguments):
    """Run code that forks in a process without the threads of this one."""
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"from pathlib import Path\n{code}"]
        + [str(a) for a in arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_a_few_kills_lose_nothing_and_leave_nothing():
    code = (
        "import numpy as np; from benchmarks.gflownet.kills import torture\n"
        "for name in ('training', 'runs', 'pages'):\n"
        "    print(torture(name, 1, np.random.default_rng(0)))"
    )
    lines = in_a_process_of_its_own(code).splitlines()
    assert lines == ["Tally(kills=1, same=1, left=0, broken=0)"] * 3


def test_two_runs_at_once_into_one_folder(tmp_path):
    code = (
        "import os, sys; from benchmarks.gflownet import kills as k\n"
        "one, two = Path(sys.argv[1]) / 'one', Path(sys.argv[1]) / 'two'\n"
        "k.finish(k.run, one)\n"
        "both = [k.fork(k.run, two) for _ in range(2)]\n"
        "assert [os.waitpid(child, 0)[1] for child in both] == [0, 0]\n"
        "assert k.contents(two) == k.contents(one)"
    )
    in_a_process_of_its_own(code, tmp_path)


def test_a_disk_that_fills_at_the_end_leaves_no_finished_run(tmp_path):
    """Files of blocks fit in 40,000 bytes; pictures and report do not."""
    code = (
        "import os, resource, signal, sys; from benchmarks.gflownet import kills as k\n"
        "whole, folder = Path(sys.argv[1]) / 'whole', Path(sys.argv[1]) / 'full'\n"
        "def no_space(path):\n"
        "    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))\n"
        "    try: k.run(path)\n"
        "    except OSError as error: assert 'could not write' in str(error), error\n"
        "    else: raise AssertionError('it was written')\n"
        "k.finish(k.run, whole)\n"
        "k.finish(no_space, folder)\n"
        "left = set(k.contents(folder))\n"
        "assert left and all(name.startswith('blocks/') for name in left), left\n"
        "k.finish(k.run, folder)\n"
        "assert k.contents(folder) == k.contents(whole)\n"
        "k.finish(no_space, folder)\n"
        "assert k.contents(folder) == k.contents(whole)  # the old run is as it was"
    )
    in_a_process_of_its_own(code, tmp_path)


def test_a_folder_that_may_not_be_written_is_named(tmp_path):
    code = (
        "import os, sys; from benchmarks.gflownet import kills as k\n"
        "def closed(path):\n"
        "    path.chmod(0o555)\n"
        "    if os.getuid() == 0: os.setuid(65534)\n"
        "    try: k.run(path)\n"
        "    except PermissionError as error: assert str(path) in str(error), error\n"
        "    else: raise AssertionError('it was written')\n"
        "folder = Path(sys.argv[1]) / 'closed'; folder.mkdir()\n"
        "for parent in folder.parents[:3]: parent.chmod(0o755)\n"
        "k.finish(closed, folder)\n"
        "assert k.contents(folder) == {}"
    )
    in_a_process_of_its_own(code, tmp_path)
