"""Run every method on every shape, each in its own process, in alternating rounds."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from .methods import METHODS
from .peers.base import Method
from .shapes import SHAPES, Shape

ROOT = Path(__file__).resolve().parents[2]
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "OPENTURNS_NUM_THREADS",
    ),
    "1",
)
#: A call may take so many times its CPU time when the machine is busy.
PATIENCE = 6


#: CPU time of a call, and of all calls of a method on a shape; rounds; memory.
CALL_SECONDS, TOTAL_SECONDS, ROUNDS, MEMORY_MB = 30.0, 10.0, 3, 8192.0


class Process:
    """A worker and its answers; ended by its own handle when it is too slow."""

    def __init__(self, method: Method) -> None:
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "benchmarks.pce.worker",
                method.name,
                str(MEMORY_MB),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | ONE_THREAD | {"PYTHONPATH": os.pathsep.join(paths)},
            text=True,
        )

    def ask(self, **order: Any) -> dict[str, Any]:
        """Send an order and wait for the answer, for so much CPU time."""
        try:
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return {"failed": "killed"}
        if not self._ready():
            self.end()
            return {"failed": f"> {CALL_SECONDS:.0f} s"}
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"failed": "killed (memory)"}

    def _ready(self) -> bool:
        """Wait for an answer; say no after so much CPU time or, at last, wall time."""
        used, began = self._cpu_seconds(), time.monotonic()
        while not select.select([self.process.stdout], [], [], 0.5)[0]:
            if self._cpu_seconds() - used > CALL_SECONDS:
                return False
            if time.monotonic() - began > PATIENCE * CALL_SECONDS:
                return False
        return True

    def _cpu_seconds(self) -> float:
        """CPU time of the worker; wall time where the system does not tell.

        A limit set in the worker itself would be simpler, but with ``RLIMIT_CPU`` the
        kernel counts CPU time in ticks, and short calls take none.
        """
        try:
            status = Path(f"/proc/{self.process.pid}/stat").read_text()
        except OSError:
            return time.monotonic()
        user, system = status.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()


def methods_of(shape: Shape, chosen: Iterable[str] | None) -> list[Method]:
    """Methods that take part in a shape, in the order of the tables."""
    ours = {f"skpce {solver}" for solver in shape.solvers}
    return [
        method
        for method in METHODS.values()
        if (method.role != "ours" or method.name in ours)
        and (chosen is None or method.name in chosen or method.role != "peer")
    ]


def run_shape(
    shape: Shape,
    chosen: Iterable[str] | None,
) -> dict[str, Any]:
    """Return the results by method: ``cpu`` seconds of every round or ``failed``."""
    results: dict[str, Any] = {}
    alive: dict[str, Process] = {}
    for method in methods_of(shape, chosen):
        results[method.name] = found = _start(method, shape, alive)
        _say(shape.name, method.name, found)
    for _ in range(ROUNDS):
        for name, process in list(alive.items()):
            runs = results[name]["cpu"]
            if sum(runs) + results[name]["first"] > TOTAL_SECONDS:
                alive.pop(name).end()
                continue
            answer = process.ask(do="run")
            if "failed" in answer:
                alive.pop(name).end()
            else:
                runs.append(answer["cpu"])
    for process in alive.values():
        process.end()
    for found in results.values():
        if "first" in found and not found["cpu"]:
            found["cpu"] = [found["first"]]
    return results


def _start(
    method: Method,
    shape: Shape,
    alive: dict[str, Process],
) -> dict[str, Any]:
    """Start a worker and take its first call."""
    if not method.is_installed():
        return {"failed": "not installed"}
    process = Process(method)
    answer = process.ask(do="prepare", shape=shape.name)
    if "failed" not in answer:
        answer = process.ask(do="first")
    if "failed" in answer:
        process.end()
        return answer
    alive[method.name] = process
    answer["first"] = answer.pop("cpu")
    return answer | {"cpu": []}


def run_all(
    names: list[str],
    chosen: Iterable[str] | None,
    save: Any,
) -> None:
    """Run the shapes; ``save`` gets the results so far."""
    results: dict[str, Any] = {"shapes": {}}
    for name in names:
        shape = SHAPES[name]
        results["shapes"][name] = run_shape(shape, chosen)
        save(results)


def _say(where: str, method: str, found: dict[str, Any]) -> None:
    if "first" in found:
        text = f"{found['first']:.4g} s, {found.get('relative_error', '')}"
    else:
        text = found.get("failed", "done")
    print(f"{where}: {method}: {text}", file=sys.stderr, flush=True)
