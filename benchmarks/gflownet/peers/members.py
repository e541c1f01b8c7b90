"""The same training of 1, 10, 50 and 200 members by each implementation, in turn."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.pce.tables import about, ratio, seconds, table

from .methods.base import Settings
from .registry import METHODS, Method
from .runner import Bench, say
from .shapes import SHAPES

SETTINGS = Settings(n_iterations=300)
OURS = METHODS["ours, 50 members at once"]
ONE_AT_A_TIME = (METHODS["torchgfn"], METHODS["gfnx"])
TOGETHER = METHODS["gfnx, 50 members by vmap"]


def run_members(
    shape: str, sizes: Sequence[int], rounds: int, peer_python: str
) -> list[dict[str, Any]]:
    """Return the CPU-seconds of a member, run by run, and how many were trained."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(SHAPES[shape], peer_python, Path(folder), n_members=max(sizes))
        for turn in range(rounds):
            for name, method, n_members in entries(sizes):
                first = turn if n_members == 1 else 0
                members = tuple(range(first, first + n_members))
                seen = bench.train(method, SETTINGS, members)
                seen["distances"] = float(np.mean(seen.get("distances", np.nan)))
                found.append({"name": name, "n_members": n_members, **seen})
                say(f"{shape}, {n_members}", name, seen)
    return found


def entries(sizes: Sequence[int]) -> list[tuple[str, Method, int]]:
    """Return the runs of a round: name of the row, implementation, members.

    What trains members one at a time needs the same time for each of them.
    """
    found = [(method.name, method, 1) for method in ONE_AT_A_TIME]
    for size in sizes:
        found.append(("ours", replace(OURS, members=size), size))
        if size > 1:
            found.append(("gfnx, by vmap", replace(TOGETHER, members=size), size))
    return found


def page(results: dict[str, Any]) -> str:
    """Return the page: a table a shape, and the record."""
    record = results["record"]
    parts = [f"<!-- Written by `{record['command']}`; do not edit. -->\n"]
    parts += [
        f"CPU time of a member and {SETTINGS.n_iterations} iterations of trajectory "
        f"balance, batch {SETTINGS.batch_size}, hidden layers {SETTINGS.hidden} and "
        f"{SETTINGS.hidden}, median of {record['rounds']} rounds in which all take "
        "turns; in brackets the median of the ratios to ours in the same round.\n"
    ]
    for shape, runs in results["shapes"].items():
        parts += [f"**{shape}**: {SHAPES[shape].text}.\n", members_table(runs)]
    versions: dict[str, str] = {}
    for runs in results["shapes"].values():
        for run in runs:
            versions |= run.get("versions", {})
    shown = {"versions": record["versions"] | versions}
    return "\n".join([*parts, about(record | shown)])


def members_table(runs: list[dict[str, Any]]) -> str:
    """A row an implementation, a column a number of members."""
    sizes = sorted({run["n_members"] for run in runs if run["name"] == "ours"})
    names = ["ours", "gfnx", "gfnx, by vmap", "torchgfn"]
    lines = []
    for name in names:
        cells = [name if name != "gfnx" else "gfnx, one at a time"]
        for size in sizes:
            own = times(runs, name, size) or times(runs, name, 1)
            ours = times(runs, "ours", size)
            if name == "gfnx, by vmap" and not times(runs, name, size):
                cells.append("–")
            elif not own:
                cells.append("failed")
            else:
                ratios = [a / b for a, b in zip(own, ours, strict=False)]
                cells.append(f"{seconds(median(own))} ({ratio(median(ratios), 1.0)})")
        lines.append(cells)
    members = ["1 member", *(f"{size} members" for size in sizes if size > 1)]
    return table(["implementation", *members], lines)


def times(runs: list[dict[str, Any]], name: str, n_members: int) -> list[float]:
    """The CPU-seconds of a member, round by round."""
    return [
        run["cpu"]
        for run in runs
        if (run["name"], run["n_members"]) == (name, n_members) and "cpu" in run
    ]
