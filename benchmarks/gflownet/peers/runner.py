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
LEARNING_RATES = (3e-3, 1e-3, 1e-2)
COST = Settings()
ONE_THREAD_XLA = {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
}


@dataclass(frozen=True)
class Limits:
    """Rounds of the cost table; learning rates, lengths and members of the search.

    ``left_out`` names implementations that take long and lead nowhere.
    """

    rounds: int = 3
    left_out: tuple[str, ...] = ()
    learning_rates: tuple[float, ...] = LEARNING_RATES
    lengths: tuple[int, ...] = LENGTHS
    singles: int = 3


QUICK = Limits(
    rounds=1,
    left_out=("gfnx, 50 members by vmap",),
    learning_rates=(3e-3,),
    singles=2,
)


@dataclass(frozen=True)
class Entry:
    """A row of the search: an implementation and its objective, or our defaults."""

    method: str
    objective: str

    @property
    def name(self) -> str:
        """Return the name of the row."""
        return f"{self.method}: {self.objective.replace('_', ' ')}"

    def settings(self, limits: Limits) -> list[Settings]:
        """Return the settings to try; a preset has nothing to be tuned."""
        if self.objective == "defaults":
            return [Settings(our_defaults=True)]
        return [
            Settings(self.objective, learning_rate=rate, final_fraction=0.01)
            for rate in limits.learning_rates
        ]


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

    def cost(self, limits: Limits) -> dict[str, Any]:
        """Train with equal settings, the implementations in turn."""
        chosen = [name for name in METHODS if name not in limits.left_out]
        results: dict[str, Any] = {name: {"runs": []} for name in chosen}
        for turn in range(limits.rounds):
            for name in chosen:
                method, runs = METHODS[name], results[name]["runs"]
                if turn >= method.repeats or any("failed" in run for run in runs):
                    continue
                members = range(method.members) if method.members > 1 else (turn,)
                runs.append(self.train(method, COST, tuple(members)))
                say("cost", name, runs[-1])
        return results

    def search(self, entry: Entry, limits: Limits) -> dict[str, Any]:
        """Find the shortest training whose mean distance is small enough.

        The lengths are tried from below for every learning rate, until one is
        reached or is no shorter than the best so far.
        """
        method, tried, best = METHODS[entry.method], [], None
        for settings in entry.settings(limits):
            for length in limits.lengths:
                if best is not None and length >= best["n_iterations"]:
                    break
                chosen = replace(settings, n_iterations=length)
                found = self._trial(method, chosen, limits.singles)
                say("search", entry.name, found)
                if "failed" in found:
                    return found
                tried.append(found)
                if found["mean"] <= DISTANCE:
                    best = found
                    break
        return {"best": best, "tried": tried}

    def _trial(
        self, method: Method, settings: Settings, singles: int
    ) -> dict[str, Any]:
        """Train all members at once, or a few one after another."""
        groups = (
            [tuple(range(method.members))]
            if method.members > 1
            else [(member,) for member in range(singles)]
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
    shape: Shape,
    limits: Limits,
    peer_python: str,
    save: Callable[[dict[str, Any]], None],
    searches: dict[str, Any] | None = None,
) -> None:
    """Run both tables of a shape; ``save`` gets the results so far.

    With the searches of a finished run the table of costs alone is made.
    """
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(shape, peer_python, Path(folder))
        results: dict[str, Any] = {"cost": bench.cost(limits), "search": {}}
        if searches is not None:
            save(results | {"search": searches})
            return
        save(results)
        for entry in ENTRIES:
            results["search"][entry.name] = bench.search(entry, limits)
            save(results)


def say(what: str, name: str, found: dict[str, Any]) -> None:
    """Print what a run found, on standard error."""
    shown = {key: value for key, value in found.items() if key != "distances"}
    print(f"{what}: {name}: {shown}", file=sys.stderr, flush=True)
