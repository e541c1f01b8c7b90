"""Table 1 of the paper, with the rows that it lacks, on all nine tasks.

Policies are those of finished runs of the preset ``default``, exact and trained; the
inputs and the degree of the expansion are the paper's. Each seed draws the members to
fit anew among all that were trained (as many as the preset has); all others are held
out. Networks, which are slow, have fewer seeds.

Run: ``python -m benchmarks.paper.baselines --runs RUNS [--tasks ...] [--seeds 5]``.
What is in ``benchmarks/paper/results`` is not repeated, and each row is written when it
is measured: delete the file of a task to measure it again.
``--page docs/downloads/paper_baselines.txt`` writes the tables.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measuring import (
    load,
    mean_and_error,
    options,
    publish,
    save,
    table,
)
from gflownet_envs.experiments.paper.measures import rounded
from gflownet_envs.experiments.paper.studies.surrogates import (
    Split,
    make_surrogate,
    policy_errors,
    regressed,
    split_of,
)
from gflownet_envs.experiments.tasks import TASKS
from gflownet_envs.policy_dataset import PolicyDataset
from skpce import LogRatioTransformer
from skpce.metrics import coverage_interval

RESULTS = Path(__file__).parent / "results"
SLOW = ("mlp",)
LEVEL = 0.95
SHOWN = (
    ("mae", "MAE", 4),
    ("kl", "KL a step", 4),
    ("q2", "Q²", 2),
    ("coverage", "coverage at 95 %", 2),
    ("fit_seconds", "CPU-s to fit", 3),
    ("index_seconds", "CPU-s until indices", 3),
)
METHODS = {
    "mean": "mean policy",
    "paper": "the paper's expansion",
    "ridge1": "ridge, degree 1",
    "learned": "learned prior",
    "mlp": "network (the paper's baseline)",
    "gp": "Gaussian process",
    "ensemble": "raw ensemble",
}
NAMES = METHODS | {"auto": "auto (until it went)"}


def measure_task(
    task: str,
    runs: Path,
    n_seeds: int,
    n_slow: int,
    found: dict[str, Any],
    save: Callable[[], None],
) -> None:
    """Measure what is not known yet on exact and trained policies of one task.

    Rows are added to what was found, and saved one by one.
    """
    folder = runs / f"{task}-default"
    paper = TASKS[task].presets["paper"]
    for dataset in map(PolicyDataset.load, datasets_of(folder)):
        n_fit = dataset.train.n_members
        rows = found.setdefault(dataset.source, {method: [] for method in METHODS})
        slow_last = sorted(METHODS, key=SLOW.__contains__)
        for method, seed in product(slow_last, range(n_seeds)):
            known = rows.setdefault(method, [])
            if len(known) > seed or (method in SLOW and seed >= n_slow):
                continue
            split = split_of(dataset, paper.n_components, fitted(dataset, n_fit, seed))
            with threadpool_limits(1):
                row = (
                    without_fit(method, split)
                    if method in ("mean", "ensemble")
                    else with_fit(method, split, paper.degrees[0], seed)
                )
            known.append(rounded(row))
            save()
        print(task, dataset.source, flush=True)


def without_fit(method: str, split: Split) -> dict[str, Any]:
    """Predict the mean of the fitted members; intervals are their quantiles."""
    n_test = len(split.y_test)
    mean = split.y.mean(axis=0)
    if method == "ensemble":  # the centre in Aitchison geometry
        clr = LogRatioTransformer("clr", **split.shape).fit(split.y)
        mean = clr.inverse_transform(clr.transform(split.y).mean(0)[None])[0]
    tails = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
    ends = np.quantile(split.y, tails, axis=0, method="weibull")
    band = [np.tile(end, (n_test, 1)) for end in ends]
    return policy_errors(np.tile(mean, (n_test, 1)), split) | {
        "coverage": mean_coverage(split, band),
        "fit_seconds": 0.0,
        "index_seconds": None,
    }


def with_fit(method: str, split: Split, degree: int, seed: int) -> dict[str, Any]:
    """Fit a method; the regression alone is timed, and all until there are indices."""
    surrogate = make_surrogate(method, split, degree, seed)
    started = time.process_time()
    surrogate.fit(split.X, split.y)
    whole = fitted = time.process_time() - started
    predicted = surrogate.predict(split.X_test)
    band = surrogate.predict_interval(
        split.X_test, confidence_level=LEVEL, residual="resampled", random_state=seed
    )
    if surrogate.regressor is not None:
        started = time.process_time()
        regressed(surrogate.regressor, split)
        fitted = time.process_time() - started
    return policy_errors(predicted, split) | {
        "coverage": mean_coverage(split, band),
        "fit_seconds": fitted,
        "index_seconds": whole,
    }


def mean_coverage(split: Split, band: Any) -> float:
    """Return the coverage of the held-out members, mean over the steps."""
    found = coverage_interval(split.y_test, *band, **split.shape).coverage
    return float(np.nanmean(found))


def fitted(dataset: PolicyDataset, n_fit: int, seed: int) -> np.ndarray:
    """Draw the members to fit among all; seed 0 has those of the run."""
    if seed == 0:
        return np.flatnonzero(~dataset.is_test)
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(dataset.n_members, n_fit, replace=False))


def datasets_of(folder: Path) -> list[Path]:
    """Return the files of exact and of trained policies that a run has."""
    names = ("dataset_exact.safetensors", "dataset.safetensors")
    return [folder / name for name in names if (folder / name).exists()]


def tables() -> str:
    """Return a table of each task, from the stored results."""
    parts = []
    for task in TASKS:
        path = RESULTS / f"baselines_{task}.json"
        for source, methods in load(path).items():
            n_seeds = max(len(rows) for rows in methods.values())
            head = ["method", *(label for _, label, _ in SHOWN), "seeds"]
            lines = [line(method, rows) for method, rows in methods.items() if rows]
            title = f"## {task}, {source} policies ({n_seeds} seeds)\n\n"
            parts.append(title + table(head, lines))
    return "\n".join(parts)


def line(method: str, rows: list[dict[str, Any]]) -> list[str]:
    """Return the cells of one method: means, ± standard errors over the seeds."""
    cells = [NAMES[method]]
    for key, _, digits in SHOWN:
        values = [row[key] for row in rows if row[key] is not None]
        if not values:
            cells.append("–")
            continue
        if key.endswith("seconds"):
            values = [np.mean(values)]
        cells.append(mean_and_error(values, digits))
    return [*cells, str(len(rows))]


def main() -> None:
    given = {"tasks": TASKS, "runs": Path, "page": Path}
    arguments = options(__doc__, seeds=5, slow_seeds=2, **given)
    warnings.simplefilter("ignore")  # of networks and processes, at their limits
    for task in arguments.tasks if arguments.runs is not None else ():
        path = RESULTS / f"baselines_{task}.json"
        found = load(path)
        sizes = arguments.seeds, arguments.slow_seeds
        write = partial(save, path, found)
        measure_task(task, arguments.runs, *sizes, found, write)
    if arguments.page is not None:
        publish(tables(), arguments.page)


if __name__ == "__main__":
    main()
