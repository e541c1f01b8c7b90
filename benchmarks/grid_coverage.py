"""Coverage of held-out rewards on the grid for several choices of the 50 members.

Exact policies, PCA(2), degree 1, intervals given the inputs; mean over steps and
actions, and the largest distance of one step from nominal.

Run: ``python benchmarks/grid_coverage.py --seeds 8``
"""

from __future__ import annotations

import argparse

import numpy as np

from gflownet_envs.experiments.analysis import LEVELS, calibrate, make_pipeline
from gflownet_envs.experiments.policies import make_policies
from gflownet_envs.experiments.tasks import TASKS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=8)
    arguments = parser.parse_args()
    task = TASKS["grid"]
    preset = task.presets["default"]
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
        pipeline = make_pipeline(train, preset, preset.degrees[0], seed)
        pipeline.fit(train.X, train.y)
        coverage = calibrate(pipeline, test, seed)["given the inputs"].coverage
        pooled = np.nanmean(coverage, axis=1)
        worst = np.nanmax(np.abs(coverage - np.array(LEVELS)[:, np.newaxis]))
        found.append(pooled)
        print(f"seed {seed}: {np.round(pooled, 3).tolist()}, worst step {worst:.2f}")
    print(f"mean: {np.round(np.mean(found, axis=0), 3).tolist()}")


if __name__ == "__main__":
    main()
