"""CPU time of the permutations of a verdict: closed form beside refits, in one run.

``python -m benchmarks.any_output.permutations``. A permutation by refits is timed on
few of them; the closed form on all.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.special import softmax

from skpce import CompositionalPCESurrogate, PolynomialChaosRegressor
from skpce.inspection import verdict

SOLVERS = ("ridge", "ols")
N_MEMBERS, N_INPUTS, DEGREE = 60, 3, 3
N_REFITTED = 19


def models(solver, rng):
    """Return what is judged: a regressor of two scores, a surrogate of two steps."""
    X = rng.normal(size=(N_MEMBERS, N_INPUTS))
    scores = np.c_[X[:, 0] + X[:, 1] ** 2, rng.normal(size=N_MEMBERS)]
    noise = 0.5 * rng.normal(size=(2, N_MEMBERS, 4))
    logits = np.c_[X, np.zeros(N_MEMBERS)] + noise
    policies = np.hstack([softmax(one, axis=1) for one in logits])
    surrogate = CompositionalPCESurrogate(
        DEGREE, steps=(4, 4), solver=solver, distribution="normal"
    )
    return {
        "regressor, 2 scores": (
            PolynomialChaosRegressor(DEGREE, solver=solver, distribution="normal"),
            X,
            scores,
        ),
        "surrogate, 2 steps of 4": (surrogate, X, policies),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--permutations", type=int, default=999)
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    print(
        f"{N_MEMBERS} members, {N_INPUTS} inputs, degree {DEGREE}, "
        f"{arguments.permutations} permutations; CPU seconds, medians of "
        f"{arguments.repetitions}\n"
    )
    print("| solver | model | closed form | refits | ratio |")
    print("| --- | --- | ---: | ---: | ---: |")
    for solver in SOLVERS:
        for name, data in models(solver, np.random.default_rng(0)).items():
            closed, refits = [], []
            for _ in range(arguments.repetitions):
                options = {"random_state": 0, "n_permutations": arguments.permutations}
                found = verdict(*data, **options)
                assert found.closed_form
                closed.append(found.cpu_seconds)
                options = {"random_state": 0, "n_permutations": N_REFITTED}
                slow = verdict(*data, **options, closed_form=False)
                refits.append(slow.cpu_seconds * arguments.permutations / N_REFITTED)
            one, many = np.median(closed), np.median(refits)
            print(f"| {solver} | {name} | {one:.2f} | {many:.1f} | {many / one:.0f} |")


if __name__ == "__main__":
    main()
