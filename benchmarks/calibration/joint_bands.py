"""How often joint bands hold a whole policy whose law is known.

Log-ratios are linear in two normal inputs plus independent normal residuals, in twelve
steps of one width, fitted by least squares. A band of each step is to contain all
of its parts; figures are means over 300 new members, the steps and the seeds.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.calibration.joint_bands``
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from scipy.stats import norm

from benchmarks.measuring import options, table
from skpce import CompositionalPCESurrogate
from skpce.metrics import coverage_interval

LEVELS = (0.5, 0.8, 0.9, 0.95)
N_STEPS = 12
N_NEW = 300

FloatArray = NDArray[np.float64]


def joint_coverage(n_members: int, n_parts: int, seed: int) -> list[float]:
    """Return the share of new policies inside, one figure per level."""
    generator = np.random.default_rng(seed)
    slopes = generator.normal(size=(2, N_STEPS * n_parts))
    steps = (n_parts,) * N_STEPS

    def draw(size: int) -> tuple[FloatArray, FloatArray]:
        X = generator.normal(size=(size, 2))
        logits = X @ slopes + generator.normal(size=(size, slopes.shape[1]))
        policies = softmax(logits.reshape(size, N_STEPS, n_parts), axis=2)
        return X, policies.reshape(size, -1)

    surrogate = CompositionalPCESurrogate(
        1, steps=steps, distribution=norm(0, 1), solver="ols"
    ).fit(*draw(n_members))
    X, y = draw(N_NEW)
    found = []
    for level in LEVELS:
        band = surrogate.predict_interval(X, confidence_level=level, joint="step")
        covered = coverage_interval(y, *band, steps=steps, kind="joint")
        found.append(float(covered.coverage.mean()))
    return found


def main() -> None:
    """Print one row per number of members and of parts."""
    arguments = options(
        __doc__, members=[20, 50, 100], parts=[3, 6], seeds=20, first_seed=0
    )
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    rows = []
    for n_members, n_parts in product(arguments.members, arguments.parts):
        each = [joint_coverage(n_members, n_parts, seed) for seed in seeds]
        cells = [f"{value:.3f}" for value in np.mean(each, axis=0)]
        rows.append([str(n_members), str(n_parts), *cells])
    print(table(["members", "parts", *(f"{level:.0%}" for level in LEVELS)], rows))


if __name__ == "__main__":
    main()
