"""Exploration, distance to exact, and training noise in the log-ratios.

Trains the first 50 members of a finished Buchwald–Hartwig run again with other shares
of random actions and batch sizes, and compares them with their exact policies.

Run: ``python -m benchmarks.gflownet.exploration runs/buchwald-hartwig-default``
(with the data at hand, as for the run itself)
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.measuring import options
from gflownet_envs import (
    SequentialSelectionEnvironment,
    TrainingSpec,
    distance_to_exact,
    fetch_buchwald_hartwig,
    policies_along,
    solve_exact,
    train_ensemble,
    trajectory_of_actions,
)
from gflownet_envs.storage import read_arrays
from skpce.inspection import variance_decomposition

SETTINGS = ((0.0, 48), (0.02, 48), (0.05, 48), (0.05, 64), (0.1, 64), (0.3, 48))


def main() -> None:
    arguments = options(__doc__, RUN=Path, members=50)
    arrays, _ = read_arrays(arguments.run / "ensemble.safetensors")
    log_reward = arrays["log_reward"][: arguments.members]
    data = fetch_buchwald_hartwig()
    environment = SequentialSelectionEnvironment(data.levels)
    best = data.data[int(np.argmax(data.target))]
    trajectory = trajectory_of_actions(
        environment,
        [int(o + v) for o, v in zip(environment.offsets, best, strict=True)],
    )
    exact = solve_exact(environment, log_reward)
    target = policies_along(environment, exact, trajectory)
    for epsilon, batch_size in SETTINGS:
        spec = replace(
            TrainingSpec(), exploration_epsilon=epsilon, batch_size=batch_size
        )
        start = time.process_time()
        ensemble = train_ensemble(environment, log_reward, spec)
        seconds = time.process_time() - start
        distance = distance_to_exact(
            exact.graph, ensemble.log_policy_table(exact.graph), log_reward
        ).numpy()
        trained = policies_along(environment, ensemble, trajectory)
        noise = variance_decomposition(
            trained.y, exact=target.y, steps=target.steps, mask=target.mask
        ).noise_share
        print(
            f"epsilon {epsilon}, batch {batch_size}: distance {distance.mean():.4f} / "
            f"{distance.max():.4f}, noise {np.round(noise, 2).tolist()}, "
            f"{seconds / len(log_reward):.2f} CPU-s a member"
        )


if __name__ == "__main__":
    main()
