"""The same training of 1, 10, 50 and 200 members by each implementation, in turn."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.pce.tables import about, table

from .methods.base import Settings
from .registry import METHODS, Method
from .runner import Bench, say
from .shapes import SHAPES

OURS = METHODS["ours, 50 members at once"]
TORCHGFN, GFNX = METHODS["torchgfn"], METHODS["gfnx"]
TOGETHER = METHODS["gfnx, 50 members by vmap"]
#: Iterations of a run; listing states and the check at the end are in our figures.
N_ITERATIONS = {1: 3000, 10: 1000, 50: 300, 200: 100}


def run_members(
    shape: str,
    sizes: Sequence[int],
    rounds: int,
    peer_python: str,
    found: list[dict[str, Any]],
) -> None:
    """Add the CPU milliseconds of a member and iteration, run by run, to ``found``.

    Implementations that train one member at a time need the same time for each; they
    run once a round, torchgfn where there is one member.
    """
    first_turn = 1 + max((run["turn"] for run in found), default=-1)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(SHAPES[shape], peer_python, Path(folder), n_members=max(sizes))
        for turn in range(first_turn, first_turn + rounds):
            for size in sizes:
                for name, method, n_members in entries(size):
                    n_iterations = 300 if method is TORCHGFN else N_ITERATIONS[size]
                    settings = Settings(n_iterations=n_iterations)
                    seen = bench.train(method, settings, tuple(range(n_members)))
                    say(f"{shape}, {size}", name, seen)
                    cpu = 1e3 * seen.pop("cpu", float("nan")) / n_iterations
                    seen.pop("distances", None)
                    found.append({"turn": turn, "size": size, "name": name} | seen)
                    found[-1]["ms"] = cpu


def entries(size: int) -> list[tuple[str, Method, int]]:
    """Return the runs of a round: name of the row, implementation, members."""
    found = [("ours", replace(OURS, members=size), size), ("gfnx", GFNX, 1)]
    if size == 1:
        return [*found, ("torchgfn", TORCHGFN, 1)]
    return [*found, ("gfnx, by vmap", replace(TOGETHER, members=size), size)]


def page(results: dict[str, Any]) -> str:
    """Return the page: a table a shape, and the record."""
    record, settings = results["record"], Settings()
    parts = [f"<!-- Written by `{record['command']}`; do not edit. -->\n"]
    parts += [
        "CPU milliseconds of a member and iteration: trajectory balance, batch "
        f"{settings.batch_size}, hidden layers {settings.hidden} and {settings.hidden}."
        " Median of the rounds; in brackets over ours of the same round.\n"
    ]
    for shape, runs in results["shapes"].items():
        n_rounds = len({run["turn"] for run in runs})
        parts += [f"**{shape}**: {SHAPES[shape].text}, {n_rounds} rounds.\n"]
        parts += [members_table(runs)]
    versions: dict[str, str] = {}
    for runs in results["shapes"].values():
        for run in runs:
            versions |= run.get("versions", {})
    shown = {"versions": record["versions"] | versions}
    return "\n".join([*parts, about(record | shown)])


def members_table(runs: list[dict[str, Any]]) -> str:
    """A row an implementation, a column a number of members."""
    sizes = sorted({run["size"] for run in runs})
    rows = {
        "ours": "ours",
        "gfnx": "gfnx, one at a time",
        "gfnx, by vmap": "gfnx, by vmap",
        "torchgfn": "torchgfn, one at a time",
    }
    lines = []
    for name, shown in rows.items():
        cells = [shown]
        for size in sizes:
            ours = times(runs, "ours", size)
            own = times(runs, name, 1 if name == "torchgfn" else size)
            shared = ours.keys() & own.keys()
            if name == "torchgfn" and size > 1:
                over = median(own.values()) / median(ours.values())
            elif shared:
                over = median(own[turn] / ours[turn] for turn in shared)
            else:
                cells.append("–")
                continue
            cells.append(f"{median(own.values()):.3g} ({over:.3g})")
        lines.append(cells)
    heads = ["1 member" if size == 1 else f"{size} members" for size in sizes]
    return table(["implementation", *heads], lines)


def times(runs: list[dict[str, Any]], name: str, size: int) -> dict[int, float]:
    """The CPU milliseconds of a member and iteration, by round."""
    return {
        run["turn"]: run["ms"]
        for run in runs
        if (run["name"], run["size"]) == (name, size) and "failed" not in run
    }
