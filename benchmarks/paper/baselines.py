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

import argparse
import json
import time
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from benchmarks.paper.conditional_policy import train_conditional
from gflownet_envs.block_store import BlockStore
from gflownet_envs.experiments.paper.measures import rounded
from gflownet_envs.experiments.paper.studies.surrogates import (
    METHODS,
    Split,
    evaluate,
    policy_errors,
    split_of,
)
from gflownet_envs.experiments.task import Study
from gflownet_envs.experiments.tasks import TASKS
from gflownet_envs.policy_dataset import PolicyDataset
from gflownet_envs.storage import write_bytes
from skpce import CompositionalPCESurrogate

RESULTS = Path(__file__).parent / "results"
SLOW = ("mlp",)
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
            figures = evaluate(method, split, paper.degrees[0], seed)
            row = {key: figures.get(key) for key, _, _ in SHOWN}
            row["sample_seconds"] = figures["sample_seconds"]
            known.append(rounded(row))
            save()
        print(task, dataset.source, flush=True)
    conditional(task, folder, found, n_slow, save)


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
    study: Study = TASKS[task].prepare(
        TASKS[task].presets["default"],
        seed=0,
        store=BlockStore(folder / "blocks"),
        progress=lambda *_: None,
        options={},
    )
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
            del row["q2_steps"]
            until_indices = policy.cpu_seconds + index_seconds(policy, split, study)
            row |= {
                "coverage": None,
                "fit_seconds": policy.cpu_seconds,
                "index_seconds": until_indices,
            }
            rows[source].append(rounded(row))
        save()


def write_json(path: Path, found: dict[str, Any]) -> None:
    """Write results in one line, whole or not at all."""
    text = json.dumps(found, separators=(",", ":"))
    write_bytes(path, text.encode())


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
        if not path.exists():
            continue
        found = json.loads(path.read_text(encoding="utf-8"))
        for source, methods in found.items():
            n_seeds = max(len(rows) for rows in methods.values())
            head = ["method", *(label for _, label, _ in SHOWN), "seeds"]
            lines = [head, ["---"] * len(head)]
            lines += [line(method, rows) for method, rows in methods.items() if rows]
            parts.append(
                f"## {task}, {source} policies ({n_seeds} seeds)\n\n"
                + "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
                + "\n"
            )
    return "\n".join(parts)


def line(method: str, rows: list[dict[str, Any]]) -> list[str]:
    """Return the cells of one method: means, ± standard errors over the seeds."""
    cells = [NAMES[method]]
    for key, _, digits in SHOWN:
        values = [row[key] for row in rows if row[key] is not None]
        if not values:
            cells.append("–")
            continue
        text = f"{np.mean(values):.{digits}f}"
        if len(values) > 1 and not key.endswith("seconds"):
            error = np.std(values, ddof=1) / np.sqrt(len(values))
            text += f" ± {error:.{digits}f}"
        cells.append(text)
    return [*cells, str(len(rows))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--runs", type=Path, help="folder of runs TASK-default")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--slow-seeds", type=int, default=2)
    parser.add_argument("--page", type=Path, help="the page of tables")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # of networks and processes, at their limits
    RESULTS.mkdir(exist_ok=True)
    for task in arguments.tasks:
        path = RESULTS / f"baselines_{task}.json"
        if arguments.runs is None:
            continue
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        save = partial(write_json, path, found)
        sizes = arguments.seeds, arguments.slow_seeds
        measure_task(task, arguments.runs, *sizes, found, save)
    if arguments.page is not None:
        arguments.page.write_text(tables(), encoding="utf-8")


if __name__ == "__main__":
    main()
