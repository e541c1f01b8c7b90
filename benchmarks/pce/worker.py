"""One method on one shape in a process of its own: orders in, one JSON line out.

The runner starts ``python -m benchmarks.pce.worker METHOD MEMORY_LIMIT_MB``. The
standard output of the process belongs to the answers; what packages print goes nowhere.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .methods import METHODS
from .peers.base import Fitted, Method, NotSupportedError
from .shapes import SHAPES, Shape

#: A call that is shorter is repeated until this many seconds have passed.
SHORTEST = 0.05


def peak_megabytes() -> float:
    """Largest resident memory of this process until now."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def resident_megabytes() -> float:
    """Memory that this process holds now; the peak where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return peak_megabytes()
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024**2


class Task:
    """The work of one shape with one method."""

    def __init__(self, method: Method, shape: Shape) -> None:
        self.method, self.shape = method, shape
        self.fit = method.make()
        self.X, self.Y = shape.training_data()
        self.last: Any = None
        self.call = getattr(self, f"_prepare_{shape.work}")()

    def _fit(self) -> Fitted:
        return self.fit(self.X, self.Y, self.shape.laws, self.shape.degree)

    def _prepare_fit(self) -> Callable[[], Any]:
        return self._fit

    def _prepare_predict(self) -> Callable[[], Any]:
        fitted, points = self._fit(), self.shape.points()
        return lambda: fitted.predict(points)

    def _prepare_sobol(self) -> Callable[[], Any]:
        fitted = self._fit()
        if fitted.total_indices is None:
            raise NotSupportedError("no Sobol indices")
        return fitted.total_indices

    def _prepare_bootstrap(self) -> Callable[[], Any]:
        rows, laws, degree = self.shape.resamples(), self.shape.laws, self.shape.degree
        if self.method.bootstrap is not None:
            batched = self.method.bootstrap
            return lambda: batched(self.X, self.Y, laws, degree, rows)

        def repeat() -> Any:
            found = []
            for chosen in rows:
                fitted = self.fit(self.X[chosen], self.Y[chosen], laws, degree)
                if fitted.total_indices is None:
                    raise NotSupportedError("no Sobol indices")
                found.append(fitted.total_indices())
            return np.array(found)

        return repeat

    def first(self) -> dict[str, Any]:
        """The first call: its time, its memory and the accuracy of what it gives.

        The memory is an upper bound: the peak may be that of drawing the data.
        """
        before = resident_megabytes()
        start = time.process_time()
        self.last = self.call()
        answer = {"cpu": time.process_time() - start}
        answer["peak_mb"] = peak_megabytes() - before
        if self.shape.work == "fit":
            answer |= self.accuracy(self.last)
        self.last = None
        return answer

    def accuracy(self, fitted: Fitted) -> dict[str, float]:
        """Mean Q² over the outputs, and the largest error of a total index."""
        X_test, truth = self.shape.test_data()
        predicted = fitted.predict(X_test)
        error = np.mean((predicted - truth) ** 2, axis=0) / truth.var(axis=0)
        answer = {"relative_error": float(np.mean(error))}
        known = self.shape.total_indices
        if known is not None and fitted.total_indices is not None:
            found = np.ravel(fitted.total_indices())
            answer["index_error"] = float(np.max(np.abs(found - known)))
        return answer

    def run(self) -> dict[str, float]:
        """Seconds of one call, from as many as fill ``SHORTEST``."""
        start, calls = time.process_time(), 0
        while calls == 0 or time.process_time() - start < SHORTEST:
            self.call()
            calls += 1
        return {"cpu": (time.process_time() - start) / calls}


def answer(method: Method, task: Task | None, order: dict[str, Any]) -> Any:
    """Prepare a task, or carry it out; failures become text."""
    try:
        if order["do"] == "prepare":
            return Task(method, SHAPES[order["shape"]]), {}
        return task, getattr(task, order["do"])()
    except NotSupportedError as reason:
        failed = str(reason)
    except MemoryError:
        failed = "out of memory"
    except Exception as error:
        failed = _short(error)
    return task, {"failed": failed}


def _short(error: Exception) -> str:
    words = " ".join(str(error).split())
    if "memory" in words.lower():
        return "out of memory"
    return f"{type(error).__name__}: {words}"[:80]


def main() -> None:
    """Read orders until the input ends."""
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    limit = int(float(sys.argv[2]) * 1024**2)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    task = None
    for line in sys.stdin:
        task, found = answer(METHODS[sys.argv[1]], task, json.loads(line))
        answers.write(json.dumps(found) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
