"""Table 1 of the paper, with the rows that it lacks, on all nine tasks.

Policies are those of finished runs of the preset ``default``, exact and trained; the
inputs and the degree of the expansion are the paper's. Each seed draws the members to
fit anew among all that were trained (as many as the preset has); all others are held
out. Networks, which are slow, have fewer seeds. A reward-conditional policy is trained
too: one GFlowNet that sees the inputs.

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
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from benchmarks.measuring import (
    load,
    mean_and_error,
    options,
    publish,
    save,
    study_of,
    table,
)
from benchmarks.paper.conditional_policy import train_conditional
from gflownet_envs.experiments.analysis import sums_of_steps
from gflownet_envs.experiments.paper.measures import rounded
from gflownet_envs.experiments.paper.studies.surrogates import (
    METHODS,
    Split,
    make_surrogate,
    policy_errors,
    regressed,
    split_of,
)
from gflownet_envs.experiments.task import Study
from gflownet_envs.experiments.tasks import TASKS
from gflownet_envs.policy_dataset import PolicyDataset
from skpce import CompositionalPCESurrogate, LogRatioTransformer
from skpce.metrics import coverage_interval

RESULTS = Path(__file__).parent / "results"
SLOW = ("mlp",)
LEVEL = 0.95
N_BINS = 5  # of an input, for indices from given data
N_ITERATIONS = {"grid": 1500, "continuous-grid": 1500}
SHOWN = (
    ("mae", "MAE", 4),
    ("kl", "KL a step", 4),
    ("q2", "Q²", 2),
    ("coverage", "coverage at 95 %", 2),
    ("fit_seconds", "CPU-s to fit", 3),
    ("index_seconds", "CPU-s until indices", 3),
)
NAMES = {
    **METHODS,
    "auto": "solver and terms chosen by leave-one-out (until it went)",
    "conditional": "reward-conditional policy",
}


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
    conditional(task, folder, found, n_slow, save)


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
    found = policy_errors(np.tile(mean, (n_test, 1)), split)
    found["coverage"] = mean_coverage(split, band)
    found |= {"fit_seconds": 0.0, "index_seconds": None}
    if method == "ensemble":
        started = time.process_time()
        given_data_indices(split)
        found["index_seconds"] = time.process_time() - started
    return found


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


def given_data_indices(split: Split) -> np.ndarray:  # shape: (n_steps, n_inputs)
    """Return first-order indices from the members alone, in Aitchison geometry.

    The variance between bins of an input over the variance of all members, less what
    bins of random members would have [1]_. No model, and no total indices.

    References
    ----------
    .. [1] E. Plischke, E. Borgonovo, C. L. Smith, "Global sensitivity measures from
       given data", European Journal of Operational Research 226 (2013).
    """
    clr = LogRatioTransformer("clr", **split.shape).fit(split.y)
    values = clr.transform(split.y)
    n, n_inputs = split.X.shape
    n_bins = min(N_BINS, n // 4)
    by_chance = (n_bins - 1) / (n - 1)
    spread = sums_of_steps(values.var(axis=0), clr)
    spread[spread == 0] = np.nan
    indices = np.empty((len(split.steps), n_inputs))
    for column in range(n_inputs):
        rank = np.argsort(np.argsort(split.X[:, column], kind="stable"))
        group = rank * n_bins // n
        means = np.array([values[group == g].mean(axis=0) for g in range(n_bins)])
        weight = np.bincount(group)[:, None] / n
        between = (weight * np.square(means - values.mean(axis=0))).sum(axis=0)
        share = sums_of_steps(between, clr) / spread
        indices[:, column] = (share - by_chance) / (1 - by_chance)
    return indices


def fitted(dataset: PolicyDataset, n_fit: int, seed: int) -> np.ndarray:
    """Draw the members to fit among all; seed 0 has those of the run."""
    if seed == 0:
        return np.flatnonzero(~dataset.is_test)
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(dataset.n_members, n_fit, replace=False))


def conditional(
    task: str,
    folder: Path,
    found: dict[str, Any],
    n_seeds: int,
    save: Callable[[], None],
) -> None:
    """Train one policy for all rewards; it predicts exact and trained members."""
    rows = {source: of.setdefault("conditional", []) for source, of in found.items()}
    missing = range(min(map(len, rows.values())), n_seeds)
    if not missing:
        return
    study: Study = study_of(task, store=folder / "blocks")
    n_components = TASKS[task].presets["paper"].n_components
    splits = {
        dataset.source: split_of(dataset, n_components)
        for dataset in map(PolicyDataset.load, datasets_of(folder))
    }
    inputs = study.reward_features[: study.n_train]
    if n_components is not None:
        inputs = PCA(n_components, whiten=True, svd_solver="full").fit_transform(inputs)
    for seed in missing:
        policy = train_conditional(
            study.environment,
            study.reward.select(slice(0, study.n_train)),
            inputs,
            n_iterations=N_ITERATIONS.get(task, 3000),
            seed=seed,
        )
        for source, split in splits.items():
            predicted = policy.policies(split.X_test, study.trajectory)
            row = policy_errors(np.where(split.mask, predicted, 0.0), split)
            until_indices = policy.cpu_seconds + index_seconds(policy, split, study)
            row |= {
                "coverage": None,
                "fit_seconds": policy.cpu_seconds,
                "index_seconds": until_indices,
            }
            rows[source].append(rounded(row))
        save()


def datasets_of(folder: Path) -> list[Path]:
    """Return the files of exact and of trained policies that a run has."""
    names = ("dataset_exact.safetensors", "dataset.safetensors")
    return [folder / name for name in names if (folder / name).exists()]


def index_seconds(policy: Any, split: Split, study: Study) -> float:
    """Return what an expansion of the network's predictions takes, for its indices."""
    started = time.process_time()
    draws = np.random.default_rng(0).normal(size=(500, split.X.shape[1]))
    y = np.where(split.mask, policy.policies(draws, study.trajectory), 0.0)
    CompositionalPCESurrogate(
        3, solver="ridge", distribution="normal", **split.shape
    ).fit(draws, y)
    return time.process_time() - started


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
