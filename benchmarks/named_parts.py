"""Effects of named parts on every task, as the report of a run has them.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.named_parts --out runs/named_parts
--write docs/downloads/named_parts.txt --write-tasks docs/tasks/named_parts``. Finished
files in the folder are not written again: delete one to find it anew. The trained
proxies are stored in ``--blocks``, in a folder for each task.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from benchmarks import measuring
from benchmarks.measuring import options, publish, stored, study_of
from gflownet_envs.experiments.part_effects import find_part_effects
from gflownet_envs.experiments.policies import make_policies
from gflownet_envs.experiments.tables import entries_table
from gflownet_envs.experiments.task import PartFindings
from gflownet_envs.experiments.tasks import TASKS

Task = dict[str, Any]
NOTE = "<!-- Written by python -m benchmarks.named_parts; do not edit. -->"
#: Parts of a choice that are listed on the page of a task, the first and others of at
#: least so much; verified entries of a choice there (the report of a run has ten).
_LISTED, _LEAST, _ENTRIES = 3, 0.05, 3


def measure(name: str, preset_name: str, seed: int, blocks: Path) -> Task:
    """Return the effects of all splits of a task."""

    def progress(stage: str, done: int, total: int) -> None:
        if done == total:
            print(f"{name}: {stage}", file=sys.stderr)

    preset = TASKS[name].presets[preset_name]
    study = study_of(name, preset, blocks / name, seed)
    quiet: dict[str, Any] = {"store": None, "progress": progress}
    policies = make_policies(study, preset.training, train=False, seed=seed, **quiet)
    with threadpool_limits(1):
        found = find_part_effects(
            study, policies, n_draws=preset.n_part_draws, seed=seed, progress=progress
        )
    return {"task": name, "splits": [split(one) for one in found]}


def split(found: PartFindings) -> dict[str, Any]:
    """Return the effects of one split, step by step."""
    effects, table = found.effects, entries_table(found)
    columns = ("first", "first_error", "variance_ratio", "variance_ratio_error")
    return {
        "title": found.named.title,
        "n_members": effects.n_members,
        "n_draws": effects.n_draws,
        "cpu_seconds": found.cpu_seconds,
        "parts": list(effects.part_names),
        "independence": effects.notes[-1],
        "steps": [
            {
                "step": step.step,
                "supported": bool(step.supported),
                **{name: getattr(effects, name)[place].tolist() for name in columns},
            }
            for place, step in enumerate(effects.steps)
            if np.isfinite(step.variance_ratio)
        ],
        "entries": None
        if table is None
        else {"caption": table.caption, "columns": table.columns, "rows": table.rows},
    }


def page(tasks: list[Task]) -> str:
    """Return the page of some tasks."""
    columns = ("task", "split", "decision", "parts", "alone", "interactions")
    columns += ("largest part", "variance ratio", "CPU-seconds of the split")
    sections = [
        NOTE,
        "## Every task",
        table(columns, [row for task in tasks for row in rows_of_task(task)]),
        "### Where nothing, or not everything, can be said",
        "\n".join(f"- {line}" for task in tasks for line in limits(task)),
    ]
    return "\n\n".join(sections) + "\n"


def rows_of_task(task: Task) -> list[list[str]]:
    """One row per split and choice, of those that are supported or not."""
    if not task["splits"]:
        return [[task["task"], *["–"] * 8]]
    rows = []
    for own in task["splits"]:
        for place, step in enumerate(own["steps"]):
            first = np.array(step["first"])
            best = int(first.argmax())
            error = step["first_error"][best]
            largest = f"{own['parts'][best]} {first[best]:.2f} ± {error:.2f}"
            rows.append(
                [
                    *(task["task"], own["title"], step["step"], str(len(own["parts"]))),
                    f"{first.sum():.2f}",
                    f"{round(1.0 - first.sum(), 2) + 0.0:.2f}",
                    largest if step["supported"] else f"({largest})",
                    ratio(step),
                    "" if place else f"{own['cpu_seconds']:.1f}",
                ]
            )
    return rows


def limits(task: Task) -> list[str]:
    """Say in one sentence each where nothing can be said, and why."""
    if not task["splits"]:
        return [f"{task['task']}: its rewards are not split into named parts."]
    lines = []
    for own in task["splits"]:
        refused = [
            f"{step['step']} ({step['variance_ratio']:.2f})"
            for step in own["steps"]
            if not step["supported"]
        ]
        if refused:
            lines.append(
                f"{task['task']}, {own['title']}: parts depend on one another, and "
                f"recombined members have another variance than the members at "
                f"{', '.join(refused)}."
            )
    return lines


def task_tables(task: Task) -> str:
    """Return a table of the leading parts for each split of one task."""
    texts = [NOTE]
    for own in task["splits"]:
        rows = []
        for step in own["steps"]:
            first, error = np.array(step["first"]), np.array(step["first_error"])
            named = ", ".join(
                f"{own['parts'][i]} {percent(first[i], error[i])}"
                for n, i in enumerate(np.argsort(-first)[:_LISTED])
                if n == 0 or first[i] >= _LEAST
            )
            rest = percent(1.0 - first.sum(), np.sqrt(np.square(error).sum()))
            said = "" if step["supported"] else ", *not supported*"
            rows.append([step["step"], named, rest, ratio(step) + said])
        title = own["title"][0].upper() + own["title"][1:]
        columns = ("decision", "first-order shares of the leading parts")
        texts += [
            f"**{title}** ({own['n_draws']} draws of {own['n_members']} members, "
            f"{own['cpu_seconds']:.0f} CPU-s):",
            table((*columns, "interactions", "variance ratio"), rows),
            own["independence"],
            *(entries(own["entries"]) if own["entries"] else ()),
        ]
    return "\n\n".join(filter(None, texts)) + "\n"


def entries(found: dict[str, Any]) -> list[str]:
    """Return the leading entries of each choice, as they were verified."""
    rows, rank = [], 0
    for row in found["rows"]:
        rank = 0 if row[0] else rank + 1
        if rank < _ENTRIES:
            rows.append(list(row))
    caption = found["caption"].replace("each step", "each decision")
    columns = tuple("decision" if n == "step" else n for n in found["columns"])
    shown = f"{caption} (the first {_ENTRIES} of each decision):"
    return [shown, table(columns, rows)]


def percent(value: float, error: float) -> str:
    """Return a share with its standard error in per cent."""
    return f"{round(100 * value) + 0:.0f} ± {100 * error:.0f} %"


def ratio(step: dict[str, Any]) -> str:
    """Return the variance ratio of a step with its standard error."""
    return f"{step['variance_ratio']:.2f} ± {step['variance_ratio_error']:.2f}"


def table(columns: tuple[str, ...], rows: list[list[str]]) -> str:
    """Return a Markdown table, in which a bar is no end of a cell."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return measuring.table(columns, cells).rstrip()


def main() -> None:
    """Measure the tasks that are not finished, and write the page."""
    runs = Path("runs/named_parts")
    given = {"tasks": TASKS, "write": Path, "write_tasks": Path}
    arguments = options(
        __doc__, preset="default", seed=0, blocks=runs / "blocks", out=runs, **given
    )
    torch.set_num_threads(1)
    how = arguments.preset, arguments.seed, arguments.blocks
    tasks = [
        stored(arguments.out / f"{name}.splits.json", partial(measure, name, *how))
        for name in arguments.tasks
    ]
    if arguments.write_tasks is not None:
        for task in tasks:
            path = arguments.write_tasks / f"{task['task']}.md"
            publish(task_tables(task), path)
    publish(page(tasks), arguments.write)


if __name__ == "__main__":
    main()
