"""Q² per step of a fit without settings, beside the model of each task.

For every finished run of the preset ``default`` below ``--runs``: the pipeline of the
task, with its degree and solver, and the same pipeline with
``CompositionalPCESurrogate()``. Each draw takes other members to fit, as many as the
run; all others are held out. Q² per step is relative to the mean of the fitted members,
in Aitchison geometry; medians over the draws, and the range of the means over steps.

Run: ``python -m benchmarks.paper.learned --runs RUNS``. Runs with exact policies only
(``gflownet-envs run TASK --solver exact --out RUNS/TASK-default``) will do.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.pipeline import Pipeline

from benchmarks.measuring import options, table
from benchmarks.paper.baselines import datasets_of, fitted
from gflownet_envs.experiments.analysis import make_pipeline
from gflownet_envs.experiments.paper.studies.surrogates import aitchison_q2, split_of
from gflownet_envs.experiments.tasks import TASKS
from gflownet_envs.policy_dataset import PolicyDataset

COLUMNS = ("task, policies", "of the task", "without settings", "means", "CPU-s")


def without_settings(pipeline: Pipeline) -> Pipeline:
    """Return the pipeline with all settings of the surrogate learned."""
    chosen = pipeline[-1].distribution
    distribution = "auto" if isinstance(chosen, str) else chosen
    return pipeline.set_params(
        surrogate__degree=None,
        surrogate__solver=None,
        surrogate__distribution=distribution,
    )


def measure(dataset: PolicyDataset, task: str, n_draws: int) -> list[str]:
    """Return a row of the table."""
    preset = TASKS[task].presets["default"]
    degree, n_fit = preset.degrees[0], dataset.train.n_members
    quality = np.full((2, n_draws, len(dataset.steps)), np.nan)
    seconds = np.zeros((2, n_draws))
    for draw in range(n_draws):
        split = split_of(dataset, None, fitted(dataset, n_fit, draw))
        pipelines = [make_pipeline(dataset, preset, degree, draw) for _ in range(2)]
        for number, pipeline in enumerate(
            (pipelines[0], without_settings(pipelines[1]))
        ):
            started = time.process_time()
            pipeline.fit(split.X, split.y)
            seconds[number, draw] = time.process_time() - started
            quality[number, draw] = aitchison_q2(pipeline.predict(split.X_test), split)
    steps = [
        " ".join(f"{value:.2f}" for value in np.nanmedian(of, axis=0) if value == value)
        for of in quality
    ]
    means = np.nanmean(quality, axis=2)
    shown = [f"{np.median(m):.2f} ({m.min():.2f} to {m.max():.2f})" for m in means]
    name = f"{task}, {dataset.source} (degree {degree}, {preset.solver})"
    spent = " / ".join(f"{np.median(s):.2f}" for s in seconds)
    return [name, *steps, " / ".join(shown), spent]


def main() -> None:
    """Print the table."""
    arguments = options(__doc__, tasks=TASKS, runs=Path("runs"), draws=5)
    warnings.simplefilter("ignore")
    rows = []
    for task in arguments.tasks:
        for path in datasets_of(arguments.runs / f"{task}-default"):
            dataset = PolicyDataset.load(path)
            rows.append(measure(dataset, task, arguments.draws))
            print(" | ".join(rows[-1]), flush=True)
    print(table(COLUMNS, rows))


if __name__ == "__main__":
    main()
