"""Start the workers in turn, each in a process of its own, and judge their policies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.pce.runner import ONE_THREAD, ROOT
from gflownet_envs import StateGraph, distance_to_exact

from .methods.base import Settings
from .registry import METHODS, Method
from .shapes import Shape, write_task

#: Total variation at which the clock stops.
DISTANCE = 0.02
LENGTHS = (300, 500, 800, 1300, 2000, 3000, 5000, 8000)
LEARNING_RATE = 3e-3  # of the search
N_SINGLES = 2  # members that are trained one after another in the search
COST = Settings()
#: Who is in the table of costs: all but those that take long and lead nowhere.
COSTS = [name for name in METHODS if not name.endswith("by vmap")]
ONE_THREAD_XLA = {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
}


@dataclass(frozen=True)
class Entry:
    """A row of the search: an implementation and its objective, or our defaults."""

    method: str
    objective: str

    @property
    def name(self) -> str:
        """Return the name of the row."""
        return f"{self.method}: {self.objective.replace('_', ' ')}"

    @property
    def settings(self) -> Settings:
        """Return the settings of the search; a preset has nothing to be tuned."""
        if self.objective == "defaults":
            return Settings(our_defaults=True)
        return Settings(
            self.objective, learning_rate=LEARNING_RATE, final_fraction=0.01
        )


ENTRIES = (
    Entry("ours, 50 members at once", "defaults"),
    Entry("ours, 50 members at once", "trajectory_balance"),
    Entry("ours, 50 members at once", "vargrad"),
    Entry("ours, one at a time", "defaults"),
    *(
        Entry(peer, objective)
        for peer in ("torchgfn", "gfnx")
        for objective in ("trajectory_balance", "vargrad")
    ),
)


class Bench:
    """The workers on one shape."""

    def __init__(
        self, shape: Shape, peer_python: str, folder: Path, n_members: int = 0
    ) -> None:
        self.task = shape.task()
        if n_members > len(self.task.log_reward):  # the rewards come round again
            rows = np.arange(n_members) % len(self.task.log_reward)
            self.task = replace(self.task, log_reward=self.task.log_reward[rows])
        self.graph = StateGraph.from_environment(shape.environment())
        self.peer_python = peer_python
        self.folder = folder
        write_task(self.task, folder / "task.npz")

    def train(
        self, method: Method, settings: Settings, members: tuple[int, ...]
    ) -> dict[str, Any]:
        """Run one worker; its times, versions and the distances to exact."""
        order = {"settings": asdict(settings), "members": members, "seed": 0}
        answer_file = self.folder / "answer.npz"
        answer_file.unlink(missing_ok=True)
        python = sys.executable if method.is_ours else self.peer_python
        process = subprocess.run(
            [
                python,
                "-m",
                f"{__package__}.worker",
                method.name,
                str(self.folder / "task.npz"),
                json.dumps(order),
                str(answer_file),
            ],
            cwd=ROOT,
            env=os.environ | ONE_THREAD | ONE_THREAD_XLA,
            capture_output=True,
            text=True,
        )
        if not answer_file.exists():
            return {"failed": (process.stderr.strip().splitlines() or ["killed"])[-1]}
        with np.load(answer_file) as found:
            distances = self._distances(found["log_policy"], members)
            return {
                "cpu": float(found["cpu_seconds"]),
                "compile": float(found["compile_seconds"]),
                "versions": json.loads(str(found["versions"])),
                "distances": distances.tolist(),
            }

    def _distances(self, log_policy: np.ndarray, members: tuple[int, ...]) -> Any:
        log_reward = self.task.log_reward[list(members)]
        return distance_to_exact(self.graph, torch.from_numpy(log_policy), log_reward)

    def cost(self) -> dict[str, Any]:
        """Train with equal settings, the implementations in turn."""
        results: dict[str, Any] = {}
        for name in COSTS:
            run = self.train(METHODS[name], COST, tuple(range(METHODS[name].members)))
            say("cost", name, run)
            results[name] = {"runs": [run]}
        return results

    def search(self, entry: Entry) -> dict[str, Any]:
        """Find the shortest training whose mean distance is small enough."""
        method, tried = METHODS[entry.method], []
        for length in LENGTHS:
            chosen = replace(entry.settings, n_iterations=length)
            found = self._trial(method, chosen)
            say("search", entry.name, found)
            if "failed" in found:
                return found
            tried.append(found)
            if found["mean"] <= DISTANCE:
                return {"best": found, "tried": tried}
        return {"best": None, "tried": tried}

    def _trial(self, method: Method, settings: Settings) -> dict[str, Any]:
        """Train all members at once, or a few one after another."""
        groups = (
            [tuple(range(method.members))]
            if method.members > 1
            else [(member,) for member in range(N_SINGLES)]
        )
        runs = [self.train(method, settings, group) for group in groups]
        for run in runs:
            if "failed" in run:
                return run
        distances = np.concatenate([run["distances"] for run in runs])
        return {
            "n_iterations": settings.n_iterations,
            "learning_rate": settings.learning_rate,
            "cpu": float(np.mean([run["cpu"] for run in runs])),
            "compile": float(np.mean([run["compile"] for run in runs])),
            "n_members": len(distances),
            "mean": float(distances.mean()),
            "worst": float(distances.max()),
        }


def run_shape(
    shape: Shape, peer_python: str, save: Callable[[dict[str, Any]], None]
) -> None:
    """Run both tables of a shape; ``save`` gets the results so far."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(shape, peer_python, Path(folder))
        results: dict[str, Any] = {"cost": bench.cost(), "search": {}}
        save(results)
        for entry in ENTRIES:
            results["search"][entry.name] = bench.search(entry)
            save(results)


def say(what: str, name: str, found: dict[str, Any]) -> None:
    """Print what a run found, on standard error."""
    shown = {key: value for key, value in found.items() if key != "distances"}
    print(f"{what}: {name}: {shown}", file=sys.stderr, flush=True)
