"""How much the verdict on a task depends on which members were drawn.

The exact and trained policies of a finished run of the preset ``default``; the members
that the run fitted, and draws of as many from all of them. Inputs are those of the
preset, 499 permutations each.

Run: ``python -m benchmarks.paper.verdict_draws --runs RUNS --tasks grid sachs`` (two
CPU-minutes).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline

from gflownet_envs.experiments.tasks import TASKS
from gflownet_envs.policy_dataset import PolicyDataset
from skpce import CompositionalPCESurrogate
from skpce.inspection import verdict


def members_to_fit(dataset: PolicyDataset, size: int, draws: int) -> Iterator:
    """Yield the members of the run, then those of each draw."""
    yield np.flatnonzero(~dataset.is_test)
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        yield rng.choice(dataset.n_members, size, replace=False)


def attributable(
    dataset: PolicyDataset, rows: np.ndarray, degree: int, n_components: int | None
) -> int:
    """Return how many steps the verdict calls attributable from these members."""
    surrogate = CompositionalPCESurrogate(
        degree,
        steps=dataset.steps,
        mask=dataset.mask,
        solver="ridge",
        distribution="normal",
    )
    pipeline = Pipeline([("surrogate", surrogate)])
    if n_components is not None:
        pca = PCA(n_components, whiten=True, svd_solver="full")
        pipeline.steps.insert(0, ("pca", pca))
    found = verdict(
        pipeline,
        dataset.X[rows],
        dataset.y[rows],
    )
    return int(np.sum(found.attributable))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--tasks", nargs="+", default=["grid"], choices=list(TASKS))
    parser.add_argument("--draws", type=int, default=10)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for task in arguments.tasks:
        preset = TASKS[task].presets["default"]
        size = preset.n_train
        for name in ("dataset_exact.safetensors", "dataset.safetensors"):
            dataset = PolicyDataset.load(arguments.runs / f"{task}-default" / name)
            for degree in (1, 2):
                run, *others = (
                    attributable(dataset, rows, degree, preset.n_components)
                    for rows in members_to_fit(dataset, size, arguments.draws)
                )
                print(
                    f"{task}, {dataset.source}, degree {degree}, {size} members: "
                    f"{run} of {len(dataset.steps)}; draws {sorted(others)}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
