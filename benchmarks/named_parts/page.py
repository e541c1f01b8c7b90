"""The tables of ``docs/downloads/named_parts.txt``."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import measuring

from .routes import SOLVED


def page(tasks: list[dict[str, Any]]) -> str:
    """Return the page of some tasks."""
    sections = [
        "<!-- Written by python -m benchmarks.named_parts; do not edit. -->",
        "## Every task",
        table(
            (
                *("task", "split", "decision", "parts", "alone", "interactions"),
                *("largest part", "variance ratio", "CPU-seconds of the split"),
            ),
            [row for task in tasks for row in rows_of_task(task)],
        ),
        "### Where nothing, or not everything, can be said",
        "\n".join(f"- {line}" for task in tasks for line in limits(task)),
        "## Agreement of the routes",
        summary(tasks),
        "## Parts destroyed on real data",
        *(destroyed_summary(task) for task in tasks),
        *(text for task in tasks for text in destroyed(task)),
    ]
    return "\n\n".join(filter(None, sections)) + "\n"


def rows_of_task(task: dict[str, Any]) -> list[list[str]]:
    """One row per split and choice, of those that are supported or not."""
    if not task.get("splits"):
        return [[task["task"], *["–"] * 8]]
    rows = []
    for split in task["splits"]:
        for place, step in enumerate(split["steps"]):
            first = np.array(step["first"])
            best = int(first.argmax())
            largest = f"{split['parts'][best]} {share(step, 'first', best)}"
            rows.append(
                [
                    task["task"],
                    split["title"],
                    step["step"],
                    str(len(split["parts"])),
                    f"{first.sum():.2f}",
                    f"{round(1.0 - first.sum(), 2) + 0.0:.2f}",
                    largest if step["supported"] else f"({largest})",
                    share(step, "variance_ratio"),
                    f"{split['cpu_seconds']:.1f}" if place == 0 else "",
                ]
            )
    return rows


# Parts of a choice that are listed on the page of a task.
_LISTED, _LEAST = 3, 0.05
# Verified entries of a choice that are listed there; the report of a run has ten.
_ENTRIES = 3


def task_tables(task: dict[str, Any]) -> str:
    """Return a table of the leading parts for each split of one task."""
    head = (
        "decision",
        "first-order shares of the leading parts",
        "interactions",
        "variance ratio",
    )
    texts = ["<!-- Written by python -m benchmarks.named_parts; do not edit. -->"]
    for split in task.get("splits") or []:
        rows = []
        for step in split["steps"]:
            first, error = np.array(step["first"]), np.array(step["first_error"])
            order = np.argsort(-first)[:_LISTED]
            named = ", ".join(
                f"{split['parts'][i]} {percent(first[i], error[i])}"
                for n, i in enumerate(order)
                if n == 0 or first[i] >= _LEAST
            )
            rest = 1.0 - first.sum()
            spread = float(np.sqrt(np.square(error).sum()))
            ratio = share(step, "variance_ratio")
            if not step["supported"]:
                ratio += ", *not supported*"
            rows.append([step["step"], named, percent(rest, spread), ratio])
        texts.append(
            f"**{split['title'][0].upper()}{split['title'][1:]}** "
            f"({split['n_draws']} draws of {split['n_members']} members, "
            f"{split['cpu_seconds']:.0f} CPU-s):"
        )
        texts.append(table(head, rows))
        if split.get("independence"):
            texts.append(split["independence"])
        if split.get("entries"):
            texts += entries(split["entries"])
    return "\n\n".join(texts) + "\n"


def entries(found: dict[str, Any]) -> list[str]:
    """Return the leading entries of each choice, as they were verified."""
    rows, rank = [], 0
    for row in found["rows"]:
        rank = 0 if row[0] else rank + 1
        if rank < _ENTRIES:
            rows.append(list(row))
    caption = found["caption"].replace("each step", "each decision")
    columns = ("decision" if name == "step" else name for name in found["columns"])
    shown = f"{caption} (the first {_ENTRIES} of each decision):"
    return [shown, table(tuple(columns), rows)]


def percent(value: float, error: float) -> str:
    """Return a share with its standard error in per cent."""
    return f"{round(100 * value) + 0:.0f} ± {100 * error:.0f} %"


def limits(task: dict[str, Any]) -> list[str]:
    """Say in one sentence each where nothing can be said, and why."""
    if "splits" not in task:
        return [f"{task['task']}: not measured in this run."]
    if not task.get("splits"):
        return [f"{task['task']}: its rewards are not split into named parts."]
    lines = []
    for split in task["splits"]:
        refused = [step for step in split["steps"] if not step["supported"]]
        if refused:
            why = [f"{step['step']} ({step['variance_ratio']:.2f})" for step in refused]
            lines.append(
                f"{task['task']}, {split['title']}: parts depend on one another, and "
                f"recombined members have another variance than the members at "
                f"{', '.join(why)}."
            )
    return lines + [
        f"{task['task']}: no route through a pilot, since {why}."
        for why in task.get("routes", {}).get("missing", [])
    ]


def share(step: dict[str, Any], name: str, part: int | None = None) -> str:
    """Return a figure with its standard error."""
    value, error = step[name], step[f"{name}_error"]
    if part is not None:
        value, error = value[part], error[part]
    return f"{value:.2f} ± {error:.2f}"


def beside_solved(
    task: dict[str, Any],
) -> list[tuple[str, list[tuple[dict[str, Any], dict[str, Any]]]]]:
    """Return, for each other route, the choices as solved again and by the route."""
    if not task.get("routes"):
        return []
    solved, *others = task["routes"]["found"]
    assert solved["route"] == SOLVED
    return [
        (
            other["route"],
            [
                pair
                for pair in zip(solved["steps"], other["steps"], strict=True)
                if np.isfinite(pair[0]["total"]).all()
            ],
        )
        for other in others
    ]


def summary(tasks: list[dict[str, Any]]) -> str:
    """Return median and largest difference over the choices, a row per task."""
    cells: dict[str, dict[str, str]] = {}
    errors = {}
    for task in tasks:
        own = cells.setdefault(task["task"], {})
        for name, pairs in beside_solved(task):
            gaps = [gap(*pair) for pair in pairs]
            same = sum(leading(one) == leading(other) for one, other in pairs)
            own[name] = (
                f"{number(float(np.median(gaps)))}, {number(max(gaps))}; "
                f"{same} of {len(pairs)}"
            )
            all_errors = [max(solved["total_error"]) for solved, _ in pairs]
            errors[task["task"]] = f"{np.median(all_errors):.3f}"
    names = list(dict.fromkeys(name for own in cells.values() for name in own))
    rows = [
        [task, errors[task], *(own.get(name, "–") for name in names)]
        for task, own in cells.items()
        if own
    ]
    return table(("task", "standard error", *names), rows)


def leading(step: dict[str, Any]) -> int:
    """Return the number of the part of the largest first-order index."""
    return int(np.argmax(step["first"]))


def gap(solved: dict[str, Any], other: dict[str, Any]) -> float:
    """Return the largest difference of an index, first-order or total."""
    return float(
        max(
            np.abs(np.subtract(solved[name], other[name])).max()
            for name in ("first", "total")
        )
    )


def number(value: float) -> str:
    """Return a difference; a power of ten where it is rounding."""
    return f"{value:.3f}" if value >= 5e-4 else f"{value:.0e}"


def destroyed(task: dict[str, Any]) -> list[str]:
    """Return claims beside the fall of the variance, a row per choice and part."""
    found = task.get("destroyed", {"rows": []})["rows"]
    names = [step["step"] for step in task["splits"][0]["steps"]] if found else []
    texts = []
    for title in dict.fromkeys(row["split"] for row in found):
        own = [row for row in found if row["split"] == title]
        own.sort(key=lambda row: (names.index(row["step"]), -row["total"]))
        texts += [
            f"### {task['task']}: {title}",
            table(
                (
                    *("decision", "ratio", "part", "first", "total"),
                    *("1 − `left`", "fall", "fall, shuffled members"),
                    "fall at another member's part, shuffled",
                ),
                [destroyed_row(row) for row in own],
            ),
        ]
    return texts


#: Pairs of a measured fall and the claim that stands beside it.
CLAIMED = (
    ("fall", "total"),
    ("fall", "first"),
    ("fall_shuffled", "total"),
    ("fall_shuffled", "first"),
    ("fall_at_members", "first"),
)


def destroyed_summary(task: dict[str, Any]) -> str:
    """Return how far falls are from claims, a row per split."""
    found = task.get("destroyed", {"rows": []})["rows"]
    if not found:
        return ""
    rows = []
    for title in dict.fromkeys(row["split"] for row in found):
        own = [row for row in found if row["split"] == title]
        error = np.median([row["total_error"] for row in own])
        cells = [title, str(len(own)), f"{error:.2f}"]
        for fall, claim in CLAIMED:
            apart = np.abs([row[fall] - row[claim] for row in own])
            cells.append(f"{np.median(apart):.2f}, {apart.max():.2f}")
        rows.append(cells)
    names = ("fall − total", "fall − first", "shuffled: fall − total")
    names += ("shuffled: fall − first", "shuffled, at another member's: fall − first")
    return table(("split", "falls", "standard error of total", *names), rows)


def destroyed_row(row: dict[str, Any]) -> list[str]:
    """Return one part of one choice."""
    return [
        row["step"],
        f"{row['variance_ratio']:.2f}{'' if row['supported'] else ' (not supported)'}",
        row["part"],
        share(row, "first"),
        share(row, "total"),
        *(
            f"{value:.2f}"
            for value in (
                1.0 - row["left"],
                row["fall"],
                row["fall_shuffled"],
                row["fall_at_members"],
            )
        ),
    ]


def table(columns: tuple[str, ...], rows: list[list[str]]) -> str:
    """Return a Markdown table, in which a bar is no end of a cell."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return measuring.table(columns, cells).rstrip()
