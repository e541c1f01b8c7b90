"""What evaluating policies and bootstrapping indices cost, beside bare arithmetic.

The shape is that of Buchwald-Hartwig: 50 members, 5 normal inputs, degree 3 (56
terms), steps of 4, 3, 16 and 24 actions. Both methods of a comparison run in turn in
one process on one thread; figures are medians of CPU times after a first call that is
not counted.

- *Policies*: ``predict`` for 10,000 inputs, beside one matrix product of a given design
  with the coefficients, an exponential, and a division by the sums of each step. The
  floor neither evaluates polynomials nor checks anything.
- *Bootstrap*: ``sobol_interval`` with 200 resamples, beside a loop that clones the
  surrogate and fits it to each resample. The loop learns the input laws and the
  penalties anew, so its intervals are not the same.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.surrogate.evaluation``
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import clone

from skpce import CompositionalPCESurrogate

WIDTHS = (4, 3, 16, 24)
N_MEMBERS = 50
N_INPUTS = 5
DEGREE = 3
N_POLICIES = 10_000
N_RESAMPLES = 200

#: Table of timings of the paper: 10,000 evaluations, Buchwald-Hartwig.
PAPER_SECONDS = 0.12


def ensemble(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw inputs and policies: log-ratios linear in the inputs, and a residual."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_MEMBERS, N_INPUTS))
    blocks = []
    for width in WIDTHS:
        logits = X @ rng.normal(size=(N_INPUTS, width))
        blocks.append(softmax(logits + rng.normal(size=logits.shape), axis=1))
    return X, np.hstack(blocks)


def bare(design: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """Return policies from a design: product, exponential, division."""
    values = np.exp(design @ coefficients)
    start = 0
    for width in WIDTHS:
        block = values[:, start : start + width]
        block /= block.sum(axis=1, keepdims=True)
        start += width
    return values


def loop(surrogate: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return total step indices of every resample; (n_resamples, n_steps, n_inputs)."""
    rng = np.random.default_rng(0)
    rows = rng.integers(N_MEMBERS, size=(N_RESAMPLES, N_MEMBERS))
    return np.array(
        [clone(surrogate).fit(X[r], y[r]).step_total_sobol_indices_ for r in rows]
    )


def cpu_seconds(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Time calls in turn; return the median of each."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds + 1):
        for name, call in calls.items():
            start = time.process_time()
            call()
            if number:
                times[name].append(time.process_time() - start)
    return {name: median(values) for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=51)
    parser.add_argument("--bootstrap-rounds", type=int, default=7)
    arguments = parser.parse_args()
    X, y = ensemble()
    surrogate = CompositionalPCESurrogate(
        DEGREE, steps=WIDTHS, random_state=0, solver="ridge", distribution="normal"
    )
    surrogate.fit(X, y)
    points = np.random.default_rng(1).normal(size=(N_POLICIES, N_INPUTS))

    design = surrogate.basis_.evaluate(points)
    clr_coefficients = surrogate.geometry_.from_coordinates(surrogate.coefficients_.T)
    np.testing.assert_allclose(
        bare(design, clr_coefficients), surrogate.predict(points), atol=1e-9
    )
    policies = cpu_seconds(
        {
            "bare product and exponential": lambda: bare(design, clr_coefficients),
            "predict": lambda: surrogate.predict(points),
        },
        arguments.rounds,
    )
    bootstrap = cpu_seconds(
        {
            "sobol_interval": lambda: surrogate.sobol_interval(n_resamples=N_RESAMPLES),
            "loop of clone and fit": lambda: loop(surrogate, X, y),
        },
        arguments.bootstrap_rounds,
    )
    print("| 10,000 policies | CPU time | over the bare one |")
    print("| --- | --- | --- |")
    floor = policies["bare product and exponential"]
    for name, seconds in policies.items():
        print(f"| {name} | {1e3 * seconds:.1f} ms | {seconds / floor:.2f} |")
    print(f"| the paper's figure | {1e3 * PAPER_SECONDS:.0f} ms | another machine |")
    print("\n| 200 resamples | CPU time | over `sobol_interval` |")
    print("| --- | --- | --- |")
    floor = bootstrap["sobol_interval"]
    for name, seconds in bootstrap.items():
        print(f"| {name} | {seconds:.2f} s | {seconds / floor:.1f} |")


if __name__ == "__main__":
    main()
