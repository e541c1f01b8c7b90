"""How many files a call walks through: those with a function that it executes.

    python -m benchmarks.files_walked            # the counts
    python -m benchmarks.files_walked --files    # with the files
    python -m benchmarks.files_walked --structure

Every module is imported first, and frames of modules and of class bodies do not count:
a file counts when one of its functions is entered during the call. Comprehensions,
generators and lambdas are functions of their file. The first four trips count the files
of skpce, the last those of both packages.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import pkgutil
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from benchmarks.structure import PACKAGES, ROOT, Package, describe

GOALS = {"fit": 12, "surrogate fit": 16, "predict_interval": 8, "verdict": 21}
GOALS["run grid"] = 75

_STEPS = (3, 2, 4)


def import_everything() -> None:
    """Import every module of both packages, and what they load when they draw."""
    for package in PACKAGES:
        module = importlib.import_module(package)
        for found in pkgutil.walk_packages(module.__path__, f"{package}."):
            importlib.import_module(found.name)
    importlib.import_module("matplotlib.pyplot")


def files_of(call: Callable[[], Any], packages: tuple[str, ...]) -> list[str]:
    """Return the files of packages with a function that a call executes."""
    seen: set[str] = set()

    def on_event(frame: Any, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_flags & inspect.CO_NEWLOCALS:
            seen.add(frame.f_code.co_filename)

    threading.setprofile(on_event)
    sys.setprofile(on_event)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    folders = [ROOT / package for package in packages]
    return sorted(
        str(path.relative_to(ROOT))
        for path in map(Path, seen)
        if any(path.is_relative_to(folder) for folder in folders)
    )


def ensemble() -> tuple[np.ndarray, np.ndarray]:
    """Fifty members with three inputs and policies of three steps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    logits = [X @ rng.normal(size=(3, width)) for width in _STEPS]
    return X, np.hstack([softmax(block, axis=1) for block in logits])


def run_grid() -> None:
    """Run the command line in this process."""
    from click.testing import CliRunner

    from gflownet_envs.experiments.command_line import main

    with tempfile.TemporaryDirectory() as folder:
        command = ["run", "grid", "--preset", "smoke", "--jobs", "1", "--out", folder]
        CliRunner().invoke(main, command, catch_exceptions=False)


def trips() -> dict[str, Callable[[], Any]]:
    """Return the calls that are counted."""
    from skpce import CompositionalPCESurrogate, PolynomialChaosRegressor
    from skpce.inspection import verdict

    X, y = ensemble()
    surrogate = CompositionalPCESurrogate(steps=_STEPS)
    fitted = CompositionalPCESurrogate(steps=_STEPS).fit(X, y)
    pipeline = make_pipeline(PCA(2), CompositionalPCESurrogate(steps=_STEPS))
    return {
        "fit": lambda: PolynomialChaosRegressor().fit(X, y),
        "surrogate fit": lambda: surrogate.fit(X, y),
        "predict_interval": lambda: fitted.predict_interval(X),
        "verdict": lambda: verdict(pipeline, X, y, n_permutations=99, random_state=0),
        "run grid": run_grid,
    }


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", action="store_true", help="list the files")
    parser.add_argument("--structure", action="store_true", help="figures of sources")
    chosen = parser.parse_args()
    if chosen.structure:
        print("\n\n".join(describe(Package(name)) for name in PACKAGES))
        return
    warnings.simplefilter("ignore")
    import_everything()
    for name, call in trips().items():
        packages = PACKAGES if name == "run grid" else PACKAGES[:1]
        found = files_of(call, packages)
        print(f"{name:<18}{len(found):>4} files   goal {GOALS[name]}")
        if chosen.files:
            print("\n".join(f"    {file}" for file in found))


if __name__ == "__main__":
    main()
