"""Coverage and Q² of held-out rewards on the grid for several draws of 50 members.

Exact policies; intervals given the inputs: mean over steps and actions, and the largest
distance of one step from nominal. Q² on the 575 held-out rewards: smallest over steps.

Run: ``python benchmarks/grid_coverage.py --seeds 8`` and, for four components,
``python benchmarks/grid_coverage.py --seeds 8 --components 4 --degree 3``
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from gflownet_envs.experiments.analysis import (
    LEVELS,
    calibrate,
    held_out_q2,
    make_pipeline,
)
from gflownet_envs.experiments.policies import make_policies
from gflownet_envs.experiments.tasks import TASKS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--components", type=int, default=2)
    parser.add_argument("--degree", type=int, default=1)
    arguments = parser.parse_args()
    task = TASKS["grid"]
    preset = replace(task.presets["default"], n_components=arguments.components)
    found = []
    for seed in range(arguments.seeds):
        study = task.prepare(
            preset, seed=seed, store=None, progress=lambda *_: None, options={}
        )
        policies = make_policies(
            study,
            preset.training,
            train=False,
            seed=seed,
            store=None,
            progress=lambda *_: None,
        )
        train, test = policies.exact.train, policies.exact.test
        pipeline = make_pipeline(train, preset, arguments.degree, seed)
        pipeline.fit(train.X, train.y)
        coverage = calibrate(pipeline, test, seed)["given the inputs"].coverage
        pooled = np.nanmean(coverage, axis=1)
        worst = np.nanmax(np.abs(coverage - np.array(LEVELS)[:, np.newaxis]))
        found.append(pooled)
        q2 = np.nanmin(held_out_q2(pipeline, test))
        print(
            f"seed {seed}: {np.round(pooled, 3).tolist()}, worst step {worst:.2f}, "
            f"smallest Q² {q2:.4f}"
        )
    print(f"mean: {np.round(np.mean(found, axis=0), 3).tolist()}")


if __name__ == "__main__":
    main()
