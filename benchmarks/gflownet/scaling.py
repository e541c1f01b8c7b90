"""Two processes against one: wall time of training an ensemble.

The Buchwald–Hartwig shape, 150 members. Wall time is measured here, so the
machine should be quiet; the first call of each kind (which starts the processes) is
left out.

Run: ``python -m benchmarks.gflownet.scaling``
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

from gflownet_envs import SequentialSelectionEnvironment, TrainingSpec, train_ensemble
from gflownet_envs.training.convergence import NotConvergedWarning

SIZES = {"catalyst": 4, "base": 3, "aryl halide": 16, "additive": 24}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--members", type=int, default=150)
    parser.add_argument("--iterations", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", NotConvergedWarning)
    environment = SequentialSelectionEnvironment(
        {name: [str(i) for i in range(size)] for name, size in SIZES.items()}
    )
    rng = np.random.default_rng(0)
    log_reward = rng.normal(scale=3.0, size=(arguments.members, environment.n_objects))
    spec = TrainingSpec(n_iterations=arguments.iterations, check_every=0)
    times: dict[int, list[float]] = {1: [], arguments.jobs: []}
    for repeat in range(arguments.repeats + 1):
        for n_jobs, found in times.items():
            start = time.perf_counter()
            train_ensemble(environment, log_reward, spec, n_jobs=n_jobs)
            if repeat:
                found.append(time.perf_counter() - start)
    alone, shared = np.median(times[1]), np.median(times[arguments.jobs])
    print(
        f"{arguments.members} members, {arguments.iterations} iterations: 1 process "
        f"{alone:.1f} s, {arguments.jobs} processes {shared:.1f} s, ratio "
        f"{alone / shared:.2f}"
    )


if __name__ == "__main__":
    main()
