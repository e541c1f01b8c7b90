"""The page of tables from the results of a run."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.pce.tables import about, ratio, seconds, table

from .registry import METHODS
from .runner import COST, DISTANCE
from .shapes import N_MEMBERS, SHAPES

OURS = "ours, 50 members at once"


def page(results: dict[str, Any]) -> str:
    """Return the page: two tables a shape, and the record."""
    record = results["record"]
    parts = [f"<!-- Written by `{record['command']}`; do not edit. -->\n"]
    for name, found in results["shapes"].items():
        parts += [f"## {name}\n", f"{SHAPES[name].text}.\n"]
        parts += [
            f"CPU time of {COST.n_iterations} iterations of trajectory balance, batch "
            f"{COST.batch_size}, hidden layers {COST.hidden} and {COST.hidden}:\n",
            cost(found["cost"]),
        ]
        if found["search"]:
            parts += [
                f"Shortest training with a mean total variation of at most {DISTANCE} "
                "from exact:\n",
                search(found["search"]),
            ]
    versions = {"versions": record["versions"] | packages(results)}
    parts += ["## The run\n", about(record | versions)]
    return "\n".join(parts)


def packages(results: dict[str, Any]) -> dict[str, str]:
    """The versions that the workers met."""
    found: dict[str, str] = {}
    for shape in results["shapes"].values():
        for row in shape["cost"].values():
            for run in row["runs"]:
                found |= run.get("versions", {})
    return found


def cost(rows: dict[str, Any]) -> str:
    """CPU-seconds per member, and the ratio to ours."""
    times = {
        name: median(run["cpu"] for run in row["runs"])
        for name, row in rows.items()
        if row["runs"] and failure(row["runs"]) is None
    }
    trajectories = COST.n_iterations * COST.batch_size
    lines = [
        [
            name,
            seconds(times.get(name)),
            ratio(times.get(name), times.get(OURS)),
            f"{trajectories / times[name]:,.0f}" if name in times else "–",
            compilation(row["runs"]),
            failure(row["runs"]) or f"{len(row['runs'])} × {METHODS[name].members}",
        ]
        for name, row in rows.items()
    ]
    columns = [
        "implementation",
        "CPU time a member",
        "÷ ours",
        "trajectories a CPU-second",
        "compilation, not counted",
        "runs × members",
    ]
    return table(columns, lines)


def compilation(runs: list[dict[str, Any]]) -> str:
    """The CPU time of compiling, where there is any."""
    times = [run["compile"] for run in runs if run.get("compile")]
    return seconds(median(times)) if times else "–"


def failure(runs: list[dict[str, Any]]) -> str | None:
    """Why there is no figure."""
    return next((run["failed"] for run in runs if "failed" in run), None)


def search(rows: dict[str, Any]) -> str:
    """CPU time of all members to the distance, and the ratio to our defaults."""
    best = {name: row.get("best") for name, row in rows.items()}
    base = best.get(f"{OURS}: defaults")
    lines = [
        search_line(name, row, best[name], base and base["cpu"])
        for name, row in rows.items()
    ]
    columns = [
        "implementation",
        f"CPU time, {N_MEMBERS} members",
        "÷ our defaults",
        "iterations at a learning rate",
        "distance, mean / worst",
        "members trained",
    ]
    return table(columns, lines)


def search_line(
    name: str, row: dict[str, Any], best: dict[str, Any] | None, base: float | None
) -> list[str]:
    """One row; where the distance is not reached, the closest that was tried."""
    if "failed" in row:
        return [name, row["failed"], *["–"] * 4]
    shown = best or min(row["tried"], key=lambda found: found["mean"])
    rate = "preset" if name.endswith("defaults") else f"{shown['learning_rate']:g}"
    return [
        name,
        seconds(N_MEMBERS * best["cpu"]) if best else "not reached",
        ratio(best["cpu"], base) if best else "–",
        f"{shown['n_iterations']} at {rate}",
        f"{shown['mean']:.4f} / {shown['worst']:.4f}",
        str(shown["n_members"]),
    ]
