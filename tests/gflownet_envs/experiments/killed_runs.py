"""What `test_kills.py` sees: scenes that fork, in a process without threads.

Run: ``python -m tests.gflownet_envs.experiments.killed_runs FOLDER``
"""

import json
import os
import re
import resource
import signal
import sys
import traceback
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.gflownet import kills as k

KILLED = ("training", "runs", "pages")
SMALL_FILE = 40_000  # bytes: those of blocks are smaller, pictures and reports are not


def a_few_kills(place, whole):
    """Kill each kind of work once."""
    rng = np.random.default_rng(0)
    for name in KILLED:
        found = k.torture(name, 1, rng)
        assert replace(found, seconds=0.0) == k.Tally(kills=1, same=1), (name, found)


def two_runs_at_once(place, whole):
    """Make one run twice at the same time in the same folder."""
    both = [k.fork(k.run, place / "two") for _ in range(2)]
    assert [os.waitpid(child, 0)[1] for child in both] == [0, 0]
    assert k.contents(place / "two") == whole


def a_disk_that_fills_at_the_end(place, whole):
    """Write no file of more than some bytes, before and after a finished run."""
    folder = place / "full"
    k.finish(without_space, folder)
    left = set(k.contents(folder))
    assert left, left
    assert all(name.startswith("blocks/") for name in left), left
    k.finish(k.run, folder)
    assert k.contents(folder) == whole
    k.finish(without_space, folder)
    assert k.contents(folder) == whole  # the old run is as it was


def without_space(path):
    """Run where large files do not fit."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL_FILE, SMALL_FILE))
    with pytest.raises(OSError, match="could not write"):
        k.run(path)


def a_folder_that_may_not_be_written(place, whole):
    """Run into a folder that is read-only."""
    folder = place / "closed"
    folder.mkdir()
    for parent in folder.parents[:3]:
        parent.chmod(0o755)
    k.finish(into_a_closed_folder, folder)
    assert k.contents(folder) == {}


def into_a_closed_folder(path):
    """Run as somebody who may not write there."""
    path.chmod(0o555)
    if os.getuid() == 0:
        os.setuid(65534)
    with pytest.raises(PermissionError, match=re.escape(str(path))):
        k.run(path)


SCENES = [a_few_kills, two_runs_at_once, a_disk_that_fills_at_the_end]
SCENES += [a_folder_that_may_not_be_written]


def main():
    place, found = Path(sys.argv[1]), {}
    k.finish(k.run, place / "whole")
    whole = k.contents(place / "whole")
    for scene in SCENES:
        try:
            scene(place, whole)
        except BaseException:
            found[scene.__name__] = traceback.format_exc()
    print(json.dumps(found))  # noqa: T201


if __name__ == "__main__":
    main()
