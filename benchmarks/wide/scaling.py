"""Cost as a function of size: CPU time, memory, and the exponents of the curves.

An exponent is the slope of the logarithm of the time between two sizes: 1 is linear,
below it a constant share still counts. Single sizes run in a process of their own,
whose largest memory counts.

Run: ``python -m benchmarks.wide.scaling`` (curves), ``... --goals`` (single sizes).
"""

from __future__ import annotations

import resource
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax
from scipy.stats import norm
from sklearn.base import clone

from benchmarks.measuring import cpu_seconds, numbers, options, table
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

_THOUSANDS = (1000, 4000, 16_000)
#: Degrees by the number of terms of five inputs.
_DEGREES = {56: 3, 126: 4, 252: 5, 462: 6}
#: The work, its size for a number of what grows, and these numbers.
CURVES: dict[str, tuple[str, Callable[[int], tuple[int, ...]], tuple[int, ...]]] = {
    "fit: actions, 100 members": ("fit", lambda k: (100, 1, k), _THOUSANDS),
    "fit: steps of 20 actions, 100 members": (
        "fit",
        lambda k: (100, k, 20),
        (50, 200, 800),
    ),
    "fit: members, 100 actions": ("fit", lambda n: (n, 1, 100), (500, 2000, 8000)),
    "fit: terms, 2,000 members, 20 actions": (
        "fit",
        lambda p: (2000, 1, 20, 5, _DEGREES[p]),
        tuple(_DEGREES),
    ),
    "fit: inputs at degree 1, 200 members, 20 actions": (
        "fit",
        lambda d: (200, 1, 20, d, 1),
        (250, 1000, 4000),
    ),
    "intervals: actions, 100 members": ("interval", lambda k: (100, 1, k), _THOUSANDS),
    "intervals: members, 10 actions": (
        "interval",
        lambda n: (n, 1, 10),
        (500, 1000, 2000, 4000, 8000),
    ),
    "partial_fit: members, 200 actions": (
        "stream",
        lambda n: (n, 200),
        (2500, 10_000, 40_000),
    ),
    "explain: runs, 8 inputs": (
        "explain",
        lambda n: (n, 8),
        (60, 250, 1000, 4000, 16_000),
    ),
    "explain: inputs, 300 runs": ("explain", lambda d: (300, d), (10, 40, 160)),
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


def measure(work: str, size: tuple[Any, ...]) -> tuple[float, float]:
    """Run in this process; return CPU seconds and the largest memory in GiB."""
    seconds = cpu_seconds(WORKS[work](*size))
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def curves(only: str) -> str:
    """Return the curves, all from this process."""
    rows = []
    for name, (work, size, grown) in CURVES.items():
        if only not in name:
            continue
        WORKS[work](*size(grown[0]))()  # warm
        seconds = [cpu_seconds(WORKS[work](*size(number))) for number in grown]
        slopes = np.diff(np.log(seconds)) / np.diff(np.log(grown))
        sizes = ", ".join(f"{number:,}" for number in grown)
        rows.append(
            [name, sizes, *(numbers(seconds, 2, ", "), numbers(slopes, 1, ", "))]
        )
    return table(["cost: what grows", "sizes", "CPU-s", "exponents"], rows)


def goals(only: str) -> str:
    """Return the single sizes, each of a process of its own."""
    rows = []
    for name, goal in GOALS.items():
        if only in name:
            with ProcessPoolExecutor(1, get_context("spawn")) as process:
                found = process.submit(measure, *goal).result()
            rows.append([name, *(f"{value:.2f}" for value in found)])
    return table(["work", "CPU-s", "GiB"], rows)


def main() -> None:
    """Print what is asked for."""
    given = options(__doc__, goals=False, only="")
    print(goals(given.only) if given.goals else curves(given.only))


if __name__ == "__main__":
    main()
