"""Errors of importances of six functions with known total indices, ours and peers'.

Functions: ``functions.py``. Tools: ``tools.py``; one whose package is missing is left
out. Every tool gets the same random points, 30, 60 or 120 of them, and values with
normal noise of 0, 10 or 30 % of the function's variance.

What is compared. The truth are the total Sobol indices T of the function without noise.
*As reported* is the mean over the inputs of |reported figure - T|. Tools whose figures
always add up to one cannot be right there, for totals add up to more where inputs
interact. *As shares* therefore divides the figures of every tool, and T, by their sum
first. A tool that finds nothing (all figures 0) is given equal shares. "Equal shares"
is no tool: it does not look at the data.

Ours is one setting for all functions. It was chosen among several (``--recipes``) on
other random data of the same functions, with the seeds 1000 and 1001. "As it
comes" is ``PolynomialChaosRegressor`` without any setting (degree 2, ridge). Both know
the true distributions.

CPU seconds are those of one call in this process with one thread, after a first call
that is not counted.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.any_output.importance``
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .functions import PROBLEMS, Problem
from .tools import RECIPES, TOOLS, Tool

FloatArray = NDArray[np.float64]

SIZES = (30, 60, 120)
NOISES = (0.0, 0.1, 0.3)
OURS = "skpce"
RECIPE_SEEDS = (1000, 1001)
ALL_TOOLS: dict[str, Tool] = {name: tool for name, (_, tool) in TOOLS.items()} | RECIPES
NO_TOOL = "equal shares"


def installed() -> list[str]:
    """Return the tools whose package can be imported; report the others."""
    found = []
    for name, (package, _) in TOOLS.items():
        if package is None or find_spec(package) is not None:
            found.append(name)
        else:
            print(f"{name} is left out: {package} is not installed.")
    return found


class Runs:
    """What each tool reported, as a file that a second run continues."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        exists = path is not None and path.exists()
        self.found = json.loads(path.read_text()) if exists else {}

    def of(
        self, tool: str, problem: Problem, n: int, noise: float, seed: int
    ) -> tuple[FloatArray, float]:
        """Return the figures and CPU seconds of one tool on one data set."""
        key = f"{tool}|{problem.name}|{n}|{noise:g}|{seed}"
        if key not in self.found:
            data = problem.data(n, noise, seed)
            start = time.process_time()
            figures = ALL_TOOLS[tool](problem, *data, seed)
            self.found[key] = [list(map(float, figures)), time.process_time() - start]
        figures, seconds = self.found[key]
        return np.array(figures), seconds

    def save(self) -> None:
        if self.path is not None:
            self.path.write_text(json.dumps(self.found))


def shares(figures: FloatArray) -> FloatArray:
    """Divide by the sum; equal shares where that is not positive."""
    figures = np.maximum(figures, 0.0)
    if figures.sum() <= 0:
        return np.full(len(figures), 1 / len(figures))
    return figures / figures.sum()


def measure(
    tools: list[str], seeds: Sequence[int], runs: Runs
) -> FloatArray:  # shape: (tools, functions, sizes, noises, seeds, 3)
    """Return the error as reported, as shares, and CPU seconds."""
    found = np.empty(
        (len(tools), len(PROBLEMS), len(SIZES), len(NOISES), len(seeds), 3)
    )
    for tool in tools:  # imports and compilation are not counted
        ALL_TOOLS[tool](PROBLEMS[0], *PROBLEMS[0].data(30, 0.0, 0), 0)
    for turn, seed in enumerate(seeds):
        for place in np.ndindex(found.shape[:4]):
            tool, problem = tools[place[0]], PROBLEMS[place[1]]
            n, noise = SIZES[place[2]], NOISES[place[3]]
            figures, seconds = runs.of(tool, problem, n, noise, seed)
            totals, _ = problem.truth
            found[place][turn] = (
                np.abs(figures - totals).mean(),
                np.abs(shares(figures) - shares(totals)).mean(),
                seconds,
            )
        runs.save()
    return found


def print_table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    print(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print()


def print_overall(tools: list[str], found: FloatArray) -> None:
    """Print means over everything, with the spread over data sets of a seed."""
    rows = []
    for tool, part in zip(tools, found, strict=True):
        by_seed = part.mean(axis=(0, 1, 2))  # seeds, figures
        error = by_seed.std(axis=0, ddof=1) / np.sqrt(len(by_seed))
        mean = by_seed.mean(axis=0)
        rows.append(
            (
                tool,
                f"{mean[0]:.4f} ± {error[0]:.4f}",
                f"{mean[1]:.4f} ± {error[1]:.4f}",
                f"{mean[2]:.3f}",
            )
        )
    print_table(("tool", "as reported", "as shares", "CPU-s"), rows)


def print_by(
    title: str,
    tools: list[str],
    labels: list[str],
    part_of: Callable[[int], FloatArray],  # shape: (tools, ..., 3)
    figure: int,
) -> None:
    """Print one column for each label, and how ours compares with the best peer."""
    means = np.array(
        [
            part_of(place)[..., figure].reshape(len(tools), -1).mean(axis=1)
            for place in range(len(labels))
        ]
    ).T
    print(f"**{title}**\n")
    rows = [
        (tool, *(f"{value:.3f}" for value in row))
        for tool, row in zip(tools, means, strict=True)
    ]
    peers = [i for i, tool in enumerate(tools) if tool != NO_TOOL and OURS not in tool]
    if OURS in tools and peers:
        ratio = means[tools.index(OURS)] / means[peers].min(axis=0)
        rows.append((f"{OURS} over the best peer", *(f"{v:.2f}" for v in ratio)))
    print_table(("tool", *labels), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--tools", nargs="+", choices=list(TOOLS))
    parser.add_argument("--recipes", action="store_true", help="settings of ours only")
    parser.add_argument("--records", type=Path, help="JSON file to continue from")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # peers warn of small samples
    tools = [
        tool
        for tool in installed()
        if arguments.tools is None or tool in arguments.tools
    ]
    seeds: Sequence[int] = range(arguments.seeds)
    if arguments.recipes:
        tools, seeds = list(RECIPES), RECIPE_SEEDS
    found = measure(tools, seeds, Runs(arguments.records))
    n_sets = found[0, ..., 0].size
    print(f"{n_sets} data sets, {len(seeds)} seeds; ± is the standard error\n")
    print_overall(tools, found)
    if arguments.recipes:
        return
    for figure, name in ((1, "as shares"), (0, "as reported")):
        print_by(
            f"Mean absolute error by function: {name}",
            tools,
            [problem.name for problem in PROBLEMS],
            lambda place: found[:, place],
            figure,
        )
        print_by(
            f"Mean absolute error by number of points and noise: {name}",
            tools,
            [f"{n}, {noise:.0%}" for n in SIZES for noise in NOISES],
            lambda place: found[:, :, place // len(NOISES), place % len(NOISES)],
            figure,
        )


if __name__ == "__main__":
    main()
