"""CPU-seconds per member: all members at once against a loop over single members.

Both train on the Buchwald–Hartwig shape (4 steps of 4, 3, 16, 24 actions, two hidden
layers of 64 units) with random rewards, in one run, on one thread, in turns; medians
of the repetitions are printed with their ratio.

Run: ``python benchmarks/gflownet/member_cost.py --iterations 1000 --repeats 3``
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from gflownet_envs import SequentialSelectionEnvironment, TrainingSpec, train_ensemble

SIZES = {"catalyst": 4, "base": 3, "aryl halide": 16, "additive": 24}


def cpu_seconds_per_member(
    environment: SequentialSelectionEnvironment,
    log_reward: np.ndarray,
    spec: TrainingSpec,
) -> float:
    """Train one call's members; return CPU time over their number."""
    start = time.process_time()
    train_ensemble(environment, log_reward, spec)
    return (time.process_time() - start) / len(log_reward)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--members", type=int, default=50)
    parser.add_argument("--singles", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    environment = SequentialSelectionEnvironment(
        {name: [str(i) for i in range(size)] for name, size in SIZES.items()}
    )
    rng = np.random.default_rng(0)
    log_reward = rng.normal(scale=3.0, size=(arguments.members, environment.n_objects))
    spec = TrainingSpec(n_iterations=arguments.iterations)
    train_ensemble(environment, log_reward[:2], TrainingSpec(n_iterations=5))  # warm up
    stacked, single = [], []
    for _ in range(arguments.repeats):
        stacked.append(cpu_seconds_per_member(environment, log_reward, spec))
        single += [
            cpu_seconds_per_member(environment, log_reward[i : i + 1], spec)
            for i in range(arguments.singles)
        ]
    together, alone = np.median(stacked), np.median(single)
    print(
        f"{arguments.iterations} iterations of batch {spec.batch_size}, CPU-seconds "
        f"per member: {arguments.members} members at once {together:.3f}, one at a "
        f"time {alone:.3f}, ratio {alone / together:.1f}"
    )


if __name__ == "__main__":
    main()
