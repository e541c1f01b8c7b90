"""Kill −9 a run at random moments, run it again, and compare with an uninterrupted one.

A child process trains an ensemble with a store; it is killed at a random moment and
started again until it finishes. Blocks that were finished before a kill must be there
after it, and the final arrays must be those of an uninterrupted run, to the last bit.

Run: ``python benchmarks/gflownet/kills.py --kills 20``
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from gflownet_envs import GridEnvironment, TrainingSpec, train_ensemble
from gflownet_envs.block_store import BlockStore
from gflownet_envs.training.convergence import NotConvergedWarning

ENVIRONMENT = GridEnvironment(size=4, max_moves=4)
SPEC = TrainingSpec(n_iterations=150, hidden=(32,), block_size=1, check_every=0)
N_MEMBERS = 30


def train(folder: Path):
    """Train the ensemble, or what is missing of it."""
    warnings.simplefilter("ignore", NotConvergedWarning)
    rng = np.random.default_rng(0)
    log_reward = rng.normal(size=(N_MEMBERS, ENVIRONMENT.n_objects))
    return train_ensemble(ENVIRONMENT, log_reward, SPEC, store=BlockStore(folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", type=Path)
    arguments = parser.parse_args()
    if arguments.child is not None:
        train(arguments.child)
        return
    rng = np.random.default_rng(arguments.seed)
    with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as parts:
        reference = train(Path(whole))
        n_killed, lost = 0, 0
        runs = 0
        while n_killed < arguments.kills:
            before = finished(Path(parts))
            if len(before) == N_MEMBERS:  # done too early: begin another run
                check(reference, train(Path(parts)))
                for name in before:
                    (Path(parts) / name).unlink()
                before, runs = set(), runs + 1
            child = start_child(Path(parts))
            # at any moment: while python starts, trains, or writes a block
            wait_until_it_trains(Path(parts), before, child)
            time.sleep(float(rng.uniform(0, 0.6)))
            if child.poll() is None:
                os.kill(child.pid, signal.SIGKILL)
                n_killed += 1
            child.wait()
            after = finished(Path(parts))
            lost += len(before - after)
        check(reference, train(Path(parts)))
    print(
        f"{n_killed} kills in {runs + 1} runs: {lost} finished blocks lost; final "
        "arrays identical"
    )


def finished(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("*.safetensors")}


def start_child(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, __file__, "--child", str(folder)])


def wait_until_it_trains(
    folder: Path, before: set[str], child: subprocess.Popen[bytes]
) -> None:
    """Wait for one new block, so that every start gets somewhere."""
    while child.poll() is None and finished(folder) == before:
        time.sleep(0.01)


def check(reference, ensemble) -> None:
    for name, array in reference.parameters.items():
        if not np.array_equal(array, ensemble.parameters[name]):
            raise SystemExit(f"{name} differs from the uninterrupted run")


if __name__ == "__main__":
    main()
