"""Effects of named parts on every task, from the records of runs.

Run: ``python -m benchmarks.named_parts --runs runs --write
docs/downloads/named_parts.txt --write-tasks docs/tasks/named_parts``. A run of the
preset ``default`` that is not finished there is made, as by ``benchmarks.all_tasks``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.all_tasks import finished
from benchmarks.measuring import load, options, publish, table
from gflownet_envs.experiments.tasks import TASKS
from skpce._report import percent_with_error
from skpce.inspection._input_tests import smallest_p_value

Split = dict[str, Any]
NOTE = "<!-- Written by python -m benchmarks.named_parts; do not edit. -->"
#: Parts of a choice that are listed on the page of a task, the first and others of at
#: least so much; verified entries of a choice there (the report of a run has ten).
_LISTED, _LEAST, _ENTRIES = 3, 0.05, 3


def decisions(split: Split) -> Iterator[dict[str, Any]]:
    """Yield the decisions of a split that vary: shares alone and their errors."""
    effects = split["effects"]
    for place, ratio in enumerate(effects["variance_ratio"]):
        if ratio is not None:
            row = {name: effects[name][place] for name in ("step", "supported")}
            shares = np.array(
                [effects[name][place] for name in ("first", "first_error")]
            )
            error = effects["variance_ratio_error"][place]
            yield row | {"shares": shares, "ratio": f"{ratio:.2f} ± {error:.2f}"}


def page(tasks: dict[str, list[Split]]) -> str:
    """Return the page of some tasks."""
    columns = ("task", "split", "decision", "parts", "alone", "interactions")
    columns += ("largest part", "variance ratio")
    rows, limits = [], []
    for task, splits in tasks.items():
        if not splits:
            rows.append([task, *["–"] * 7])
            limits.append(f"- {task}: its rewards are not split into named parts.")
        for split in splits:
            refused = []
            for row in decisions(split):
                largest, alone = largest_part(split, row), row["shares"][0].sum()
                if not row["supported"]:
                    largest = f"({largest})"
                    refused.append(f"{row['step']} ({row['ratio'].split()[0]})")
                rows.append(
                    [
                        *(task, split["title"], row["step"]),
                        str(len(split["effects"]["part"])),
                        *(f"{alone:.2f}", f"{round(1.0 - alone, 2) + 0.0:.2f}"),
                        *(largest, row["ratio"]),
                    ]
                )
            if refused:
                limits.append(
                    f"- {task}, {split['title']}: parts depend on one another, and "
                    f"recombined members have another variance than the members at "
                    f"{', '.join(refused)}."
                )
    title = "### Where nothing, or not everything, can be said"
    sections = [NOTE, "## Every task", table(columns, rows), title, "\n".join(limits)]
    return "\n\n".join(map(str.rstrip, sections)) + "\n"


def largest_part(split: Split, row: dict[str, Any]) -> str:
    """Return the part with the largest share alone."""
    first, error = row["shares"]
    best = int(first.argmax())
    return f"{split['effects']['part'][best]} {first[best]:.2f} ± {error[best]:.2f}"


def task_tables(splits: list[Split]) -> str:
    """Return a table of the leading parts for each split of one task."""
    texts, heads = [NOTE], ("decision", "first-order shares of the leading parts")
    for split in splits:
        rows, names = [], split["effects"]["part"]
        for row in decisions(split):
            first, error = row["shares"]
            named = ", ".join(
                f"{names[i]} {percent(first[i], error[i])}"
                for n, i in enumerate(np.argsort(-first)[:_LISTED])
                if n == 0 or first[i] >= _LEAST
            )
            rest = percent(1.0 - first.sum(), np.sqrt(np.square(error).sum()))
            said = "" if row["supported"] else ", *not supported*"
            rows.append([row["step"], named, rest, row["ratio"] + said])
        title = split["title"][0].upper() + split["title"][1:]
        texts += [
            f"**{title}** ({split['n_draws']} draws of {split['n_members']} members):",
            table((*heads, "interactions", "variance ratio"), rows),
            independence(split["dependence"]),
            *(entries(split["entries"]) if split["entries"] else ()),
        ]
    return "\n\n".join(map(str.rstrip, texts)) + "\n"


def independence(found: dict[str, Any]) -> str:
    """Say how far the parts depend on each other."""
    apart = np.array(found["distance_correlation"], dtype=float)
    largest = int(np.nanargmax(apart))
    smallest = smallest_p_value(np.array(found["p_value"], dtype=float))
    return (
        f"Independence: largest distance correlation {apart[largest]:.2f} "
        f"({found['pair'][largest]}), smallest p-value of two parts {smallest:.2g} "
        "over all pairs."
    )


def entries(found: dict[str, Any]) -> list[str]:
    """Return the leading entries of each choice, as they were verified."""
    rows = []
    for place, step in enumerate(found["step"]):
        own = {name: found[name][place] for name in found if name not in _KEYS}
        for rank, entry in enumerate(own["entry"][:_ENTRIES]):
            if entry:
                named = ["", ""] if rank else [step, own["part"][rank]]
                alone = percent_with_error(own["alone"][rank], own["alone_error"][rank])
                left = 1.0 - own["left"][rank], own["left_error"][rank]
                rows.append([*named, entry, alone, percent_with_error(*left)])
    columns = ("decision", "part", "entry", "variance if only it varies")
    said = (
        "What matters most in the leading part of each decision, verified by solving "
        f"again (the first {_ENTRIES} of each decision):"
    )
    return [said, table((*columns, "fall if it is fixed"), rows)]


_KEYS = ("step", "rank", "supported", "reasons")


def percent(value: float, error: float) -> str:
    """Return a share with its standard error in per cent."""
    return f"{round(100 * value) + 0:.0f} ± {100 * error:.0f} %"


def main() -> None:
    """Write the pages."""
    given = {"tasks": TASKS, "write": Path, "write_tasks": Path}
    arguments = options(__doc__, runs=Path("runs"), preset="default", **given)
    tasks = {}
    for task in arguments.tasks:
        folder = finished(task, arguments.preset, arguments.runs)
        tasks[task] = load(folder / "results.json")["named_parts"]
        if arguments.write_tasks is not None:
            publish(task_tables(tasks[task]), arguments.write_tasks / f"{task}.md")
    publish(page(tasks), arguments.write)


if __name__ == "__main__":
    main()
