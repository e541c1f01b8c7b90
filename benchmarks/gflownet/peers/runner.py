"""Start the workers in turn, each in a process of its own, and judge their policies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.against_commit import ROOT, THREADS
from gflownet_envs import StateGraph, distance_to_exact

from .methods.base import Settings
from .shapes import SHAPES, write_task

#: Total variation at which the clock stops.
DISTANCE = 0.02
LENGTHS = (300, 500, 800, 1300, 2000, 3000, 5000, 8000)
LEARNING_RATE = 3e-3  # of the search
N_TOGETHER, N_SINGLES = 50, 2  # members of the search, at once or one after another
#: Iterations for a number of members; listing states and the check at the end are in
#: our figures.
N_ITERATIONS = {1: 3000, 10: 1000, 50: 300, 200: 100}
ONE_THREAD = dict.fromkeys(THREADS, "1") | {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
}


@dataclass(frozen=True)
class Entry:
    """A row of the search: an implementation and its settings."""

    name: str
    method: str
    settings: Settings
    together: bool = False


def entries() -> Iterator[Entry]:
    """Yield the rows of the search; our defaults have nothing to be tuned."""
    ours = Settings(our_defaults=True)
    tuned = {
        name.replace("_", " "): Settings(
            name, learning_rate=LEARNING_RATE, final_fraction=0.01
        )
        for name in ("trajectory_balance", "vargrad")
    }
    for name, settings in {"defaults": ours, **tuned}.items():
        yield Entry(f"ours, 50 members at once: {name}", "ours", settings, True)
    yield Entry("ours, one at a time: defaults", "ours", ours)
    for peer, (name, settings) in product(("torchgfn", "gfnx"), tuned.items()):
        yield Entry(f"{peer}: {name}", peer, settings)


class Bench:
    """The workers on one shape."""

    def __init__(
        self, shape: str, peer_python: str, folder: Path, n_members: int = 0
    ) -> None:
        self.shape, self.peer_python, self.folder = shape, peer_python, folder
        self.task = SHAPES[shape].task()
        if n_members > len(self.task.log_reward):  # the rewards come round again
            rows = np.arange(n_members) % len(self.task.log_reward)
            self.task = replace(self.task, log_reward=self.task.log_reward[rows])
        self.graph = StateGraph.from_environment(SHAPES[shape].environment())
        write_task(self.task, folder / "task.npz")

    def train(
        self, method: str, settings: Settings, members: tuple[int, ...]
    ) -> dict[str, Any]:
        """Run one worker; its times, versions and the distances to exact."""
        order = {"settings": asdict(settings), "members": members, "seed": 0}
        task_file, answer_file = (
            self.folder / f"{name}.npz" for name in ("task", "answer")
        )
        answer_file.unlink(missing_ok=True)
        python = sys.executable if method == "ours" else self.peer_python
        words = [method, str(task_file), json.dumps(order), str(answer_file)]
        process = subprocess.run(
            [python, "-m", f"{__package__}.worker", *words],
            cwd=ROOT,
            env=os.environ | ONE_THREAD,
            capture_output=True,
            text=True,
        )
        if not answer_file.exists():
            return {"failed": (process.stderr.strip().splitlines() or ["killed"])[-1]}
        with np.load(answer_file) as answer:
            distances = distance_to_exact(
                self.graph,
                torch.from_numpy(answer["log_policy"]),
                self.task.log_reward[list(members)],
            )
            return {
                "cpu": float(answer["cpu_seconds"]),
                "compile": float(answer["compile_seconds"]),
                "versions": json.loads(str(answer["versions"])),
                "distances": distances.tolist(),
            }

    def search(self, entry: Entry) -> dict[str, Any]:
        """Find the shortest training whose mean distance is small enough."""
        tried: list[dict[str, Any]] = []
        for length in LENGTHS:
            found = self._trial(entry, replace(entry.settings, n_iterations=length))
            self._say(entry.name, found)
            if "failed" in found:
                return found
            tried.append(found)
            if found["mean"] <= DISTANCE:
                return {"best": found, "tried": tried}
        return {"best": None, "tried": tried}

    def _trial(self, entry: Entry, settings: Settings) -> dict[str, Any]:
        """Train all members at once, or a few one after another."""
        groups = [(member,) for member in range(N_SINGLES)]
        if entry.together:
            groups = [tuple(range(N_TOGETHER))]
        runs = [self.train(entry.method, settings, group) for group in groups]
        for run in runs:
            if "failed" in run:
                return run
        distances = np.concatenate([run["distances"] for run in runs])
        return {
            "n_iterations": settings.n_iterations,
            "learning_rate": settings.learning_rate,
            "cpu": float(np.mean([run["cpu"] for run in runs])),
            "versions": runs[0]["versions"],
            "mean": float(distances.mean()),
            "worst": float(distances.max()),
            "n_members": len(distances),
        }

    def round_of(self, sizes: list[int], turn: int) -> Iterator[dict[str, Any]]:
        """Yield CPU milliseconds of a member and iteration, run by run.

        Implementations that train one member at a time need the same time for each;
        they run once a round, torchgfn where there is one member.
        """
        for size in sizes:
            others = {"torchgfn": 1} if size == 1 else {"gfnx, by vmap": size}
            for name, n_members in ({"ours": size, "gfnx": 1} | others).items():
                length = 300 if name == "torchgfn" else N_ITERATIONS[size]
                settings = Settings(n_iterations=length)
                seen = self.train(name, settings, tuple(range(n_members)))
                self._say(f"{name}, {size}", seen)
                seen.pop("distances", None)
                milliseconds = 1e3 * seen.pop("cpu", float("nan")) / length
                yield {"turn": turn, "size": size, "name": name, "ms": milliseconds} | (
                    seen
                )

    def _say(self, name: str, found: dict[str, Any]) -> None:
        shown = {key: value for key, value in found.items() if key != "distances"}
        print(f"{self.shape}: {name}: {shown}", file=sys.stderr, flush=True)
