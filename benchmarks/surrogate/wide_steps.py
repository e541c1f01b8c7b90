"""Time and memory of a fit and a verdict where steps have many parts.

Each case runs in a process of its own, since the largest memory of a process is all
that can be asked for.

Run: ``python -m benchmarks.surrogate.wide_steps``
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import numpy as np
from scipy.special import softmax

from skpce import CompositionalPCESurrogate
from skpce.inspection import verdict

CASES = {"one step of 50,000": (50_000,), "1,000 steps of 50": (50,) * 1000}
N_MEMBERS, N_INPUTS = 200, 3


def members(steps: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Draw policies whose logits are linear in the inputs, with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_MEMBERS, N_INPUTS))
    logits = X @ rng.normal(size=(N_INPUTS, sum(steps)))
    logits = logits.reshape(N_MEMBERS, len(steps), -1)
    logits += 0.5 * rng.normal(size=logits.shape)
    return X, softmax(logits, axis=-1).reshape(N_MEMBERS, -1)


def measure(case: str, what: str) -> str:
    """Return a row of the table."""
    steps = CASES[case]
    X, y = members(steps)
    model = CompositionalPCESurrogate(
        2, steps=steps, solver="ridge", distribution="normal"
    )
    started = time.process_time()
    if what == "fit":
        model.fit(X, y)
    elif what == "interval":
        model.fit(X, y)
        started = time.process_time()
        model.predict_interval(X)
    else:
        verdict(model, X, y, n_permutations=199, random_state=0)
    seconds = time.process_time() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return f"| {case} | {what} | {seconds:.1f} | {memory:.2f} |"


def main() -> None:
    """Print a table; each row comes from a process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", choices=list(CASES))
    parser.add_argument("--what", choices=["fit", "interval", "verdict"])
    arguments = parser.parse_args()
    if arguments.case is not None:
        print(measure(arguments.case, arguments.what))
        return
    print("| case | what | CPU-s | GiB |\n| --- | --- | ---: | ---: |", flush=True)
    for case in CASES:
        for what in ("fit", "interval", "verdict"):
            module = [sys.executable, "-m", "benchmarks.surrogate.wide_steps"]
            subprocess.run([*module, "--case", case, "--what", what], check=True)


if __name__ == "__main__":
    main()
