"""CPU seconds of this checkout against those of another commit, side by side.

    make compare BASE=COMMIT
    make compare BASE=COMMIT HEAD=COMMIT
    python -m benchmarks.against_commit COMMIT [COMMIT] [--record]

A commit is checked out into a folder that is removed again; without a second one, this
checkout is timed as it stands, changes included.

Each round starts one process for the other checkout and one for this one, in turn, so
that both see the same machine; a process times every task several times and reports
the shortest. The ratio is the median over the rounds of new / old: below 1 is faster.
Beside it stands the ratio of the shortest times of all rounds, which a busy machine
disturbs less. Times are CPU seconds of the process, with one thread in BLAS.

``--record`` appends medians and ratios to `history.csv` beside this file. Seconds of
different machines do not compare, ratios do: those of successive commits multiply.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
HISTORY = Path(__file__).with_name("history.csv")

_STEPS = (4, 3, 16, 24)
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_IMPORT = "import time; start = time.process_time(); import skpce; "
_IMPORT += "print(time.process_time() - start)"


def make_tasks() -> dict[str, tuple[int, Callable[[], Any]]]:
    """Return, by name, how often a task is repeated in a process, and the task."""
    import numpy as np
    from scipy.special import softmax
    from sklearn.decomposition import PCA
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    from skpce import (
        CompositionalPCESurrogate,
        PolynomialChaosRegressor,
        load_model,
        save_model,
    )
    from skpce.inspection import verdict

    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 5))
    targets = X @ rng.normal(size=(5, 43)) + 0.1 * rng.normal(size=(50, 43))
    many = rng.uniform(size=(1000, 3))
    smooth = np.sin(6 * many).sum(axis=1)
    logits = [X @ rng.normal(size=(5, w)) + rng.normal(size=(50, w)) for w in _STEPS]
    policies = np.hstack([softmax(block, axis=1) for block in logits])
    wide = X @ rng.normal(size=(5, 12))
    rows = rng.normal(size=(100_000, 5))

    def pce(degree: int, solver: str = "ridge", law: str = "normal") -> Any:
        return PolynomialChaosRegressor(degree, solver=solver, distribution=law)

    def surrogate() -> CompositionalPCESurrogate:
        given: dict[str, Any] = {"solver": "ridge", "distribution": "normal"}
        return CompositionalPCESurrogate(2, steps=_STEPS, random_state=0, **given)

    fine = pce(12, law="uniform")
    fitted = surrogate().fit(X, policies)
    pipeline = make_pipeline(PCA(5), surrogate())
    few = rng.uniform(size=(60, 4))
    sparse = few[:, 0] ** 3 + few[:, 1] * few[:, 2]
    pair = rng.normal(size=(30, 2))
    outputs = np.exp(pair @ rng.normal(size=(2, 1320)) / 2)
    chosen = GridSearchCV(pce(2, law="uniform"), {"degree": [1, 2, 3]})
    model = pce(4).fit(X, targets[:, :5])
    stored = Path(tempfile.mkdtemp()) / "model"
    return {
        "regressor fit, 50 x 5, degree 3, 43 targets": (
            50,
            lambda: pce(3).fit(X, targets),
        ),
        "regressor fit, 1000 x 3, degree 12": (3, lambda: fine.fit(many, smooth)),
        "surrogate fit": (50, lambda: surrogate().fit(X, policies)),
        "bootstrap, 200 resamples": (
            3,
            lambda: surrogate().fit(X, policies).sobol_interval(n_resamples=200),
        ),
        "sparse fit by LARS, 60 x 4, degree 5": (
            5,
            lambda: pce(5, "lars", "uniform").fit(few, sparse),
        ),
        "subspace pursuit, 30 x 2, degree 5, 1320 targets": (
            1,
            lambda: pce(5, "subspace_pursuit").fit(pair, outputs),
        ),
        "fit without settings, 50 x 5, 43 targets": (
            1,
            lambda: PolynomialChaosRegressor().fit(X, targets),
        ),
        "empirical inputs, 50 x 5, degree 3": (
            20,
            lambda: pce(3, law="empirical").fit(X, targets),
        ),
        "choice of the degree": (5, lambda: chosen.fit(few, sparse)),
        "Shapley effects, five inputs": (20, lambda: model.shapley_effects()),
        "save and load a model": (
            10,
            lambda: (save_model(model, stored), load_model(stored)),
        ),
        "predict 100,000 rows": (5, lambda: fitted.predict(rows)),
        "predict_interval": (20, lambda: fitted.predict_interval(X)),
        "verdict": (2, lambda: verdict(pipeline, wide, policies)),
    }


def time_tasks() -> dict[str, float]:
    """Return the shortest CPU time of each task in this process."""
    found = {}
    warnings.simplefilter("ignore")  # of more terms than samples
    for name, (n_times, task) in make_tasks().items():
        task()
        found[name] = math.inf
        for _ in range(n_times):
            start = time.process_time()
            task()
            found[name] = min(found[name], time.process_time() - start)
    return found


def time_checkout(folder: Path) -> dict[str, float]:
    """Return the times of a checkout, each measured in processes of its own."""
    environment = os.environ | dict.fromkeys(THREADS, "1")
    environment["PYTHONPATH"] = str(folder)

    def output(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        return subprocess.check_output(command, text=True, cwd=folder, env=environment)

    imports = [float(output("-c", _IMPORT)) for _ in range(3)]
    timed = json.loads(output(str(Path(__file__).resolve()), "--time", str(folder)))
    return {"import skpce": min(imports), **timed}


@contextmanager
def checkout(commit: str | None) -> Iterator[Path]:
    """Give the folder of a commit, or of this checkout as it stands."""
    if commit is None or Path(commit).is_dir():
        yield ROOT if commit is None else Path(commit).resolve()
        return
    git = ["git", "-C", str(ROOT), "worktree"]
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "checkout"
        subprocess.run(
            [*git, "add", "--quiet", "--detach", str(folder), commit], check=True
        )
        try:
            yield folder
        finally:
            subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def commit_of(folder: Path) -> str:
    """Return the commit of a checkout, marked where files differ from it."""
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty"]
    return subprocess.check_output([*command, "--exclude=*"], text=True).strip()


def compare(base: Path, head: Path, n_rounds: int) -> list[tuple[str, str, str]]:
    """Time both checkouts in turn; print and return the medians and their ratio."""
    rounds: list[tuple[dict[str, float], dict[str, float]]] = []
    for position in range(n_rounds):
        rounds.append((time_checkout(base), time_checkout(head)))
        print(f"round {position + 1} of {n_rounds}", file=sys.stderr)
    columns = f"{'before':>9}{'now':>9}{'ratio':>7}{'shortest':>10}   of each round"
    print(f"{'CPU seconds':<46}{columns}")
    rows = []
    for name in rounds[0][0]:
        old = [before[name] for before, _ in rounds]
        new = [now[name] for _, now in rounds]
        ratios = [b / a for a, b in zip(old, new, strict=True)]
        each = " ".join(f"{ratio:.2f}" for ratio in ratios)
        print(
            f"{name:<46}{median(old):>9.4f}{median(new):>9.4f}"
            f"{median(ratios):>7.2f}{min(new) / min(old):>10.2f}   {each}"
        )
        rows.append((name, f"{median(new):.4f}", f"{median(ratios):.2f}"))
    return rows


def refuse_another_package(folder: str) -> None:
    """Stop where the package that is timed is not that of the checkout."""
    import skpce

    found = Path(skpce.__file__).resolve()
    if not found.is_relative_to(Path(folder).resolve()):
        raise SystemExit(f"timed {found}, which is not in {folder}")


def main() -> None:
    """Compare two checkouts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", nargs="?", help="a commit, or the folder of a checkout")
    parser.add_argument("head", nargs="?", help="another one; default: this checkout")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--record", action="store_true", help=f"append to {HISTORY}")
    parser.add_argument("--time", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.time is not None:
        refuse_another_package(chosen.time)
        print(json.dumps(time_tasks()))
    elif chosen.base is None:
        parser.error("a commit is needed")
    else:
        with checkout(chosen.base) as base, checkout(chosen.head) as head:
            rows = compare(base, head, chosen.rounds)
            commits = commit_of(base), commit_of(head)
        if chosen.record:
            with HISTORY.open("a", newline="", encoding="utf-8") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerows((date.today(), *commits, *row) for row in rows)


if __name__ == "__main__":
    main()
