"""The pages of tables from the results of a run."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.measuring import table

from .methods.base import Settings
from .runner import DISTANCE
from .shapes import N_MEMBERS, SHAPES

OURS = "ours, 50 members at once: defaults"


def page(results: dict[str, Any]) -> str:
    """Return the page: a table a shape, and the record."""
    record = results["record"]
    parts = [f"<!-- Written by `{record['command']}`; do not edit. -->\n"]
    for name, found in results["shapes"].items():
        parts += [f"**{name}**: {SHAPES[name].text}.\n"]
        if isinstance(found, list):
            settings = Settings()
            n_rounds = len({run["turn"] for run in found})
            parts += [
                "CPU milliseconds of a member and iteration: trajectory balance, batch "
                f"{settings.batch_size}, hidden layers {settings.hidden} and "
                f"{settings.hidden}. Median of {n_rounds} rounds; in brackets over "
                "ours of the same round.\n",
                members(found),
            ]
        else:
            parts += [
                f"Shortest training with a mean total variation of at most {DISTANCE} "
                "from exact:\n",
                search(found),
            ]
    versions = ", ".join(f"{name} {own}" for name, own in record["versions"].items())
    return "\n".join([*parts, f"`{record['command']}`, {record['run']}; {versions}.\n"])


def seconds(value: float | None) -> str:
    """Three digits with a unit."""
    if value is None:
        return "not reached"
    return f"{value:.3g} s" if value >= 1 else f"{1e3 * value:.3g} ms"


def search(rows: dict[str, Any]) -> str:
    """CPU time of all members to the distance, and the ratio to our defaults.

    Where the distance is not reached, the closest that was tried is shown.
    """
    base = (rows.get(OURS, {}).get("best") or {}).get("cpu")
    lines = []
    for name, row in rows.items():
        if "failed" in row:
            lines.append([name, row["failed"], *["–"] * 4])
            continue
        shown = row["best"] or min(row["tried"], key=lambda found: found["mean"])
        spent = row["best"] and row["best"]["cpu"]
        rate = "preset" if name.endswith("defaults") else f"{shown['learning_rate']:g}"
        lines.append(
            [
                name,
                seconds(spent and N_MEMBERS * spent),
                f"{spent / base:.3g}" if spent and base else "–",
                f"{shown['n_iterations']} at {rate}",
                f"{shown['mean']:.4f} / {shown['worst']:.4f}",
                str(shown["n_members"]),
            ]
        )
    columns = [
        *("implementation", f"CPU time, {N_MEMBERS} members", "÷ our defaults"),
        *("iterations at a learning rate", "distance, mean / worst", "members trained"),
    ]
    return table(columns, lines)


def members(runs: list[dict[str, Any]]) -> str:
    """A row an implementation, a column a number of members."""

    def times(name: str, size: int) -> dict[int, float]:
        """The CPU milliseconds of a member and iteration, by round."""
        return {
            run["turn"]: run["ms"]
            for run in runs
            if (run["name"], run["size"]) == (name, size) and "failed" not in run
        }

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
            ours, own = times("ours", size), times(name, size)
            alone = times(name, 1).values()
            if name == "torchgfn" and alone:  # it ran with one member only
                own = dict.fromkeys(ours, median(alone))
            shared = ours.keys() & own.keys()
            if shared:
                over = median(own[turn] / ours[turn] for turn in shared)
                cells.append(f"{median(own.values()):.3g} ({over:.3g})")
            else:
                cells.append("–")
        lines.append(cells)
    heads = ["1 member" if size == 1 else f"{size} members" for size in sizes]
    return table(["implementation", *heads], lines)
