"""Cost as a function of size: CPU time, memory, and the exponents of the curves.

An exponent is the slope of the logarithm of the time between two sizes: 1 is linear,
below it a constant share still counts. Single sizes run in a process of their own,
whose largest memory counts.

Run: ``python -m benchmarks.wide.scaling`` (curves), ``... --goals`` (single sizes).
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.special import softmax
from scipy.stats import norm
from sklearn.base import clone

from benchmarks.measuring import options
from skpce import CompositionalPCESurrogate, PolynomialChaosRegressor, explain
from skpce.ensembles import member_blocks

Work = Callable[[], object]


def policies(
    n_members: int, n_steps: int, n_actions: int, n_inputs: int = 3
) -> tuple[np.ndarray, np.ndarray]:
    """Draw policies whose logits are linear in the inputs, with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_members, n_inputs))
    logits = X @ rng.normal(size=(n_inputs, n_steps * n_actions))
    logits += 0.5 * rng.normal(size=logits.shape)
    shape = n_members, n_steps, n_actions
    return X, softmax(logits.reshape(shape), axis=-1).reshape(n_members, -1)


def surrogate(
    n_members: int, n_steps: int, n_actions: int, n_inputs: int = 3, degree: int = 2
) -> tuple[CompositionalPCESurrogate, np.ndarray, np.ndarray]:
    """Return a surrogate, not fitted, and its members."""
    X, y = policies(n_members, n_steps, n_actions, n_inputs)
    steps = (n_actions,) * n_steps
    return (
        CompositionalPCESurrogate(
            degree, steps=steps, random_state=0, solver="ridge", distribution="normal"
        ),
        X,
        y,
    )


def fit(*size: int) -> Work:
    model, X, y = surrogate(*size)
    return lambda: model.fit(X, y)


def interval(*size: int) -> Work:
    model, X, y = surrogate(*size)
    model.fit(X, y)
    return lambda: model.predict_interval(X)


def stream(n_members: int, n_actions: int, n_intervals: int = 0) -> Work:
    """Add up blocks of members from a file; they are drawn as they are written.

    With intervals: also indices, and the intervals of some members, in blocks, from a
    fit to 2,000 others, as sums have no residuals.
    """
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "y.npy"
    shape = n_members, n_actions
    table = np.lib.format.open_memmap(path, "w+", np.float32, shape)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_members, 3))
    effect = rng.normal(size=(3, n_actions))
    for start in range(0, n_members, 1000):
        rows = slice(start, start + 1000)
        logits = X[rows] @ effect
        table[rows] = softmax(logits + rng.normal(size=logits.shape), axis=1)
    table.flush()
    mask = np.ones(n_actions, dtype=bool)
    model = CompositionalPCESurrogate(2, distribution=norm(), mask=mask, solver="ridge")
    opened = np.load(path, mmap_mode="r")

    def work() -> None:
        for block in member_blocks(X, opened, n_rows=2000):
            model.partial_fit(*block)
        if n_intervals:
            print(model.step_total_sobol_indices_.round(3), file=sys.stderr)
            few = clone(model).fit(X[:2000], np.asarray(opened[:2000]))
            for start in range(0, n_intervals, 500):
                few.predict_interval(X[2000 + start : 2500 + start])
        folder.cleanup()

    return work


def sparse(solver: str) -> Work:
    """Fit a million rows of five inputs by a sparse solver."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 5))
    y = X[:, 0] * X[:, 1] + X[:, 2] ** 3 + rng.normal(size=len(X))
    model = PolynomialChaosRegressor(3, distribution=norm(), solver=solver)
    return lambda: model.fit(X, y)


def answer(n_runs: int, n_inputs: int) -> Work:
    """Explain runs with one output, which two of the inputs drive."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n_runs, n_inputs))
    y = np.sin(3 * X[:, 0]) + X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n_runs)
    return lambda: explain(X, y)


WORKS: dict[str, Callable[..., Work]] = {
    "explain": answer,
    "fit": fit,
    "interval": interval,
    "stream": stream,
    "sparse": sparse,
}

#: Name of the curve, the work, its sizes, and what grows.
CURVES: dict[str, tuple[str, list[tuple[int, ...]], tuple[int, ...]]] = {
    "fit: actions, 100 members": (
        "fit",
        [(100, 1, k) for k in (1000, 4000, 16000)],
        (1000, 4000, 16000),
    ),
    "fit: steps of 20 actions, 100 members": (
        "fit",
        [(100, k, 20) for k in (50, 200, 800)],
        (50, 200, 800),
    ),
    "fit: members, 100 actions": (
        "fit",
        [(n, 1, 100) for n in (500, 2000, 8000)],
        (500, 2000, 8000),
    ),
    "fit: terms, 2,000 members, 20 actions": (
        "fit",
        [(2000, 1, 20, 5, degree) for degree in (3, 4, 5, 6)],
        (56, 126, 252, 462),
    ),
    "fit: inputs at degree 1, 200 members, 20 actions": (
        "fit",
        [(200, 1, 20, d, 1) for d in (250, 1000, 4000)],
        (250, 1000, 4000),
    ),
    "intervals: actions, 100 members": (
        "interval",
        [(100, 1, k) for k in (1000, 4000, 16000)],
        (1000, 4000, 16000),
    ),
    "intervals: members, 10 actions": (
        "interval",
        [(n, 1, 10) for n in (500, 1000, 2000, 4000, 8000)],
        (500, 1000, 2000, 4000, 8000),
    ),
    "partial_fit: members, 200 actions": (
        "stream",
        [(n, 200) for n in (2500, 10000, 40000)],
        (2500, 10000, 40000),
    ),
    "explain: runs, 8 inputs": (
        "explain",
        [(n, 8) for n in (60, 250, 1000, 4000, 16000)],
        (60, 250, 1000, 4000, 16000),
    ),
    "explain: inputs, 300 runs": (
        "explain",
        [(300, d) for d in (10, 40, 160)],
        (10, 40, 160),
    ),
}

GOALS = {
    "fit, 200 × 50,000": ("fit", (200, 1, 50_000)),
    "intervals, 200 × 50,000": ("interval", (200, 1, 50_000)),
    "fit, 200 × (1,000 × 50)": ("fit", (200, 1000, 50)),
    "intervals, 200 × (1,000 × 50)": ("interval", (200, 1000, 50)),
    "partial_fit, 10⁵ × 1,000": ("stream", (100_000, 1000)),
    "and indices, and intervals of 2,000": ("stream", (100_000, 1000, 2000)),
    "subspace pursuit, 10⁶ rows, 56 terms": ("sparse", ("subspace_pursuit",)),
}


def measure(work: str, size: list) -> dict[str, float]:
    """Run in this process; return CPU seconds and the largest memory in GiB."""
    run = WORKS[work](*size)
    started = time.process_time()
    run()
    seconds = time.process_time() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"seconds": seconds, "memory": memory}


def measured(work: str, size: tuple) -> dict[str, float]:
    """Run in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.wide.scaling", "--work", work]
    command += ["--size", json.dumps(size)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def curves(only: str = "") -> None:
    """Print the curves, all from this process."""
    print("| cost: what grows | sizes | CPU-s | exponents |")
    print("| --- | --- | --- | --- |", flush=True)
    chosen = {name: curve for name, curve in CURVES.items() if only in name}
    for name, (work, sizes, grown) in chosen.items():
        WORKS[work](*sizes[0])()  # warm
        seconds = []
        for size in sizes:
            run = WORKS[work](*size)
            started = time.process_time()
            run()
            seconds.append(time.process_time() - started)
        slopes = np.diff(np.log(seconds)) / np.diff(np.log(grown))
        cells = (
            ", ".join(f"{value:,}" for value in grown),
            ", ".join(f"{value:.2f}" for value in seconds),
            ", ".join(f"{value:.1f}" for value in slopes),
        )
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def goals(only: str = "") -> None:
    """Print the single sizes."""
    print("| work | CPU-s | GiB |\n| --- | ---: | ---: |", flush=True)
    for name, (work, size) in GOALS.items():
        if only not in name:
            continue
        found = measured(work, size)
        print(
            f"| {name} | {found['seconds']:.2f} | {found['memory']:.2f} |", flush=True
        )


def main() -> None:
    """Print what is asked for."""
    arguments = options(__doc__, work=str, size=str, goals=False, only="")
    if arguments.work is not None:
        print(json.dumps(measure(arguments.work, json.loads(arguments.size))))
    elif arguments.goals:
        goals(arguments.only)
    else:
        curves(arguments.only)


if __name__ == "__main__":
    main()
