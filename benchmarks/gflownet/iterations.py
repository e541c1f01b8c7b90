"""How many iterations the preset ``default`` of a task needs.

Trains all members of the preset again with other numbers of iterations and prints a
row for each: distance to the exact law (½ Σ over the objects), the largest share of
training noise of a step (training members), and CPU-seconds a member.

Run: ``python -m benchmarks.gflownet.iterations grid 100 150 200 300 500``
or ``python -m benchmarks.gflownet.iterations buchwald-hartwig 1500 2000
--run runs/buchwald-hartwig-default`` (proxies are read from the finished run)
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from gflownet_envs.block_store import BlockStore
from gflownet_envs.experiments.analysis import training_noise
from gflownet_envs.experiments.policies import make_policies
from gflownet_envs.experiments.task import Preset, Study
from gflownet_envs.experiments.tasks import TASKS
from gflownet_envs.training.convergence import NotConvergedWarning


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=sorted(TASKS))
    parser.add_argument("iterations", type=int, nargs="+")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--run", type=Path, help="Folder of a finished run.")
    arguments = parser.parse_args()
    task = TASKS[arguments.task]
    preset = task.presets["default"]
    study = task.prepare(
        preset,
        seed=arguments.seed,
        store=None if arguments.run is None else BlockStore(arguments.run / "blocks"),
        progress=silent,
        options={},
    )
    print(
        "| iterations | distance, mean | worst | largest training noise | CPU-s a "
        "member |\n| --- | --- | --- | --- | --- |"
    )
    warnings.simplefilter("ignore", NotConvergedWarning)
    for n_iterations in arguments.iterations:
        print(measure(study, preset, n_iterations, arguments.seed), flush=True)


def silent(*progress: object) -> None:
    """Show nothing."""


def measure(study: Study, preset: Preset, n_iterations: int, seed: int) -> str:
    """Return one row of the table."""
    started = time.process_time()
    policies = make_policies(
        study,
        replace(preset.training, n_iterations=n_iterations),
        train=True,
        n_replicates=1,
        n_control=0,
        seed=seed,
        n_jobs=None,
        store=None,
        progress=silent,
    )
    seconds = (time.process_time() - started) / len(policies.distance)
    noise = training_noise(policies.trained.train, policies.exact).log_ratio_share
    return (
        f"| {n_iterations} | {policies.distance.mean():.4f} | "
        f"{policies.distance.max():.4f} | {np.nanmax(noise):.3f} | {seconds:.3f} |"
    )


if __name__ == "__main__":
    main()
