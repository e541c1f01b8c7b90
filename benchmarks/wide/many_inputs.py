"""The fit without settings against others in many inputs: error, indices, time.

Synthetic problems have samples of their own and noise-free test points; the raw reward
of Buchwald-Hartwig is cross-fitted in five folds: the inputs are the predicted log
rewards of all 4,608 reactions, the targets the leading log-ratio mode of each step of
the exact policy, their errors pooled in units of variance.

Run: ``python -m benchmarks.wide.many_inputs --out table.md`` (about half an hour;
``--only NAME`` for one problem, ``--blocks FOLDER`` for trained proxies).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from benchmarks.wide.methods import METHODS, quiet
from benchmarks.wide.problems import PROBLEMS, Problem, total_indices

SIZES = (50, 100, 200, 500)
MEMBERS = (30, 50, 100, 200, 500)
N_SEEDS = 1
N_TEST = 2000
REACTIONS = "raw rewards, 4,608 inputs"
HEAD = "| problem, n | method | relative error | index error | Q² printed | CPU s |"


def synthetic(problem: Problem, size: int, method: str, n_seeds: int = N_SEEDS) -> str:
    """Return a row: means over samples."""
    test = problem.draw(N_TEST, np.random.default_rng(5))
    truth = problem.evaluate(test)
    expected = total_indices(problem, problem.evaluate)
    rows = []
    for seed in range(n_seeds):
        X, y = problem.sample(size, 100 + seed)
        model = METHODS[method](problem.degree, list(problem.laws), X.shape[1])
        started = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - started
        error = np.mean((model.predict(test) - truth) ** 2) / truth.var()
        indices = total_indices(problem, model.predict)
        rows.append((error, np.abs(indices - expected).max(), _q2(model), seconds))
    return row(problem.name, size, method, np.mean(rows, axis=0))


def _q2(model: Any) -> float:
    """Return what a regressor says of itself; NaN if nothing."""
    return float(model.q2_[0]) if hasattr(model, "q2_") else float("nan")


def row(problem: str, size: int, method: str, figures: Iterable[float]) -> str:
    """Return a row of the table; ``–`` where there is no figure."""
    error, index, q2, seconds = (float(value) for value in figures)
    shown = [f"{error:.3f}", *("–" if np.isnan(v) else f"{v:.2f}" for v in (index, q2))]
    return f"| {problem}, {size} | {method} | {' | '.join(shown)} | {seconds:.1f} |"


def reactions(
    blocks: str | None, n_members: int = max(MEMBERS)
) -> tuple[np.ndarray, np.ndarray]:
    """Return log rewards of all reactions and the leading mode of each step."""
    from benchmarks.embedding.reactions import Reactions

    study = Reactions(blocks)
    X = study.log_reward(n_members)
    policies = study.policies(X)
    modes, start = [], 0
    for width in study.steps.values():
        logs = np.log(np.clip(policies[:, start : start + width], 1e-12, None))
        logs -= logs.mean(axis=1, keepdims=True)
        logs -= logs.mean(axis=0)
        modes.append(logs @ np.linalg.svd(logs, full_matrices=False)[2][0])
        start += width
    return X, np.column_stack(modes)


def crossed(X: np.ndarray, Y: np.ndarray, size: int, method: str) -> str:
    """Return a row of held-out errors of the first members."""
    X, Y = X[:size], Y[:size]
    error, started = 0.0, time.process_time()
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        for y in Y.T:
            model = METHODS[method](1 if method in LINEAR else 2, "normal", X.shape[1])
            model.fit(X[train], y[train])
            error += np.sum((model.predict(X[test]) - y[test]) ** 2) / y.var()
    seconds = (time.process_time() - started) / (5 * Y.shape[1])
    figures = (error / size / Y.shape[1], np.nan, np.nan, seconds)
    return row(REACTIONS, size, method, figures)


#: Methods that get linear terms alone of the reactions.
LINEAR = ("LassoCV", "RidgeCV", "composed", "subspace pursuit")


def rows(arguments: argparse.Namespace) -> Iterator[str]:
    """Yield the rows of the table."""
    chosen = [m for m in METHODS if arguments.method in (None, m)]
    for problem in PROBLEMS:
        if arguments.only in (None, problem.name):
            for size in arguments.sizes or SIZES:
                for method in chosen:
                    yield synthetic(problem, size, method, arguments.seeds)
    if arguments.only in (None, REACTIONS):
        sizes = arguments.sizes or MEMBERS
        X, Y = reactions(arguments.blocks, max(sizes))
        for size in sizes:
            for method in chosen:
                yield crossed(X, Y, size, method)


def main() -> None:
    """Print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=[*(p.name for p in PROBLEMS), REACTIONS])
    parser.add_argument("--method", choices=list(METHODS))
    parser.add_argument("--sizes", type=int, nargs="+", help="samples, or members")
    parser.add_argument(
        "--seeds", type=int, default=N_SEEDS, help="samples of each size"
    )
    parser.add_argument("--blocks", help="folder of trained networks")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    quiet()
    lines = [HEAD, "| --- | --- | ---: | ---: | ---: | ---: |"]
    print("\n".join(lines))
    for line in rows(arguments):
        print(line, flush=True)
        lines.append(line)
    if arguments.out is not None:
        arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
