"""The page of tables from the results of a run."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.measuring import table

from .methods import METHODS
from .shapes import SHAPES, Shape, Target

#: An error may be this much larger than that of the peer it is measured against.
TOLERANCE = 1.1


def page(results: dict[str, Any]) -> str:
    """Return the page: targets, one table a shape, record."""
    found = results["shapes"]
    parts = [f"<!-- Written by `{results['record']['command']}`; do not edit. -->\n"]
    if found:
        sections = [shape_section(SHAPES[name], rows) for name, rows in found.items()]
        parts += ["## Our targets\n", targets(found)]
        parts += ["## All methods\n", *sections]
    parts += ["## The run\n", about(results["record"])]
    return "\n".join(parts)


def seconds(value: float | None) -> str:
    """Three digits with a unit."""
    if value is None:
        return "–"
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 1 or unit == "µs":
            return f"{value * factor:.3g} {unit}"
    return "–"


def ratio(value: float | None, base: float | None) -> str:
    """Return value / base with three digits, a dash where one is missing."""
    if value is None or not base:
        return "–"
    return f"{value / base:.3g}" if value < 999.5 * base else f"{value / base:.0f}"


def q2(found: dict[str, Any]) -> str:
    """Q², or its distance from one where that is small."""
    error = found.get("relative_error")
    if error is None:
        return "–"
    return f"{1 - error:.3f}" if error > 0.01 else f"1 − {error:.1e}"


def cpu(found: dict[str, Any] | None) -> float | None:
    """Median seconds over the rounds."""
    return median(found["cpu"]) if found and "cpu" in found else None


def quickest_peer(rows: dict[str, Any]) -> tuple[str, float] | None:
    """Name and seconds of the quickest peer that finished."""
    times = {
        name: cpu(found)
        for name, found in rows.items()
        if METHODS[name].role == "peer" and "cpu" in found
    }
    return min(times.items(), key=lambda item: item[1]) if times else None


def error_of(shape: Shape, found: dict[str, Any]) -> float | None:
    """The error by which accuracy is judged: of the indices where they are known."""
    key = "relative_error" if shape.total_indices is None else "index_error"
    return found.get(key)


def reached(shape: Shape, rows: dict[str, Any], name: str) -> str:
    """Say whether one of our methods meets every part of the target."""
    target: Target = shape.target
    found = rows[name]
    if "cpu" not in found:
        return "failed"
    spent, floor = cpu(found), cpu(rows.get("floor"))
    parts = []
    if target.max_seconds is not None:
        parts.append(spent <= target.max_seconds)
    if target.max_over_floor is not None:
        if floor is None:
            return "–"
        parts.append(spent <= target.max_over_floor * floor)
    if target.min_q2 is not None:
        parts.append(1 - found["relative_error"] >= target.min_q2)
    if target.max_megabytes is not None:
        parts.append(found["peak_mb"] <= target.max_megabytes)
    if target.as_accurate_as is not None:
        limit = error_of(shape, rows.get(target.as_accurate_as, {}))
        if limit is None:
            return "–"
        parts.append(error_of(shape, found) <= TOLERANCE * limit)
    return "yes" if all(parts) else "no"


def targets(shapes: dict[str, Any]) -> str:
    """One row a shape: our quickest solver that reaches the target, or the closest.

    The page of the benchmarks includes this table, so it has six columns.
    """
    rows = []
    for shape_name, found in shapes.items():
        shape, peer = SHAPES[shape_name], quickest_peer(found)
        ours = [f"skpce {solver}" for solver in shape.solvers]
        ours = [name for name in ours if "cpu" in found.get(name, {})]
        if not ours:
            continue
        good = [name for name in ours if reached(shape, found, name) == "yes"]
        if good:
            best = min(good, key=lambda name: cpu(found[name]))
        else:
            best = min(ours, key=lambda name: error_of(shape, found[name]) or 0.0)
        spent = cpu(found[best])
        rows.append(
            [
                shape_name,
                best.removeprefix("skpce "),
                seconds(spent),
                ratio(spent, peer[1] if peer else None),
                shape.target.text,
                reached(shape, found, best),
            ]
        )
    return table(
        ["work", "our solver", "CPU time", "÷ quickest peer", "our target", "reached"],
        rows,
    )


def shape_section(shape: Shape, found: dict[str, Any]) -> str:
    """All methods on one shape; those that did not finish are named below."""
    peer, floor = quickest_peer(found), cpu(found.get("floor"))
    rows = [
        [
            name,
            seconds(cpu(row)),
            ratio(cpu(row), floor),
            ratio(cpu(row), peer[1] if peer else None),
            q2(row),
            f"{row['index_error']:.1e}" if "index_error" in row else "–",
            f"{row['peak_mb']:.0f}",
        ]
        for name, row in found.items()
        if "cpu" in row
    ]
    columns = [
        "method",
        "CPU time",
        "÷ floor",
        "÷ quickest peer",
        "Q²",
        "error of total indices",
        "peak memory, MB",
    ]
    left_out = [
        f"{name} ({row['failed']})"
        for name, row in found.items()
        if "cpu" not in row and row["failed"] != "not there yet"
    ]
    note = f"\nNo result: {'; '.join(left_out)}.\n" if left_out else ""
    return f"### {shape.name}\n\n{table(columns, rows)}{note}"


def about(record: dict[str, Any]) -> str:
    """Versions, machine, command and date."""
    versions = ", ".join(
        f"{name} {found or 'not installed'}"
        for name, found in record["versions"].items()
    )
    return (
        f"`{record['command']}` on {record['date']}, commit {record['commit']}; "
        f"one thread on a shared machine of {record['cores']} cores and "
        f"{record['memory_gb']} GB, load {record['load']} at the start. "
        f"Python {record['python']}; {versions}.\n"
    )
