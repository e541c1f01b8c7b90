"""Effects of named parts on every task, by two routes, and checked on real data.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.named_parts --out runs/named_parts
--write docs/downloads/named_parts.txt``. Finished files in the folder are not
written again: delete one to find it anew. The trained proxies and pilots are stored
in ``--blocks``, in a folder for each task.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from benchmarks.measuring import load, options, publish, save
from gflownet_envs.experiments.tasks import TASKS

from .measure import measure
from .page import page, task_tables


def main() -> None:
    """Measure the tasks that are not finished, and write the page of all that are."""
    runs = Path("runs/named_parts")
    given = {"tasks": TASKS, "write": Path, "write_tasks": Path}
    arguments = options(
        __doc__,
        preset="default",
        draws=256,
        seed=0,
        blocks=runs / "blocks",
        out=runs,
        **given,
    )
    torch.set_num_threads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.tasks:
        sections = measure(
            name, arguments.preset, arguments.draws, arguments.seed, arguments.blocks
        )
        for section, find in sections.items():
            file = arguments.out / f"{name}.{section}.json"
            if file.exists():
                continue
            print(f"{name}: {section}", file=sys.stderr)
            started = time.process_time()
            with threadpool_limits(1):
                found = find()
            save(file, found, indent=1)
            spent = time.process_time() - started
            print(f"{name}: {section}: {spent:.0f} CPU-s", file=sys.stderr)
    known = [finished(arguments.out, name) for name in TASKS]
    if arguments.write_tasks is not None:
        arguments.write_tasks.mkdir(parents=True, exist_ok=True)
        for task in known:
            file = arguments.write_tasks / f"{task['task']}.md"
            file.write_text(task_tables(task), encoding="utf-8")
    publish(page(known), arguments.write)


def finished(folder: Path, name: str) -> dict[str, Any]:
    """Return the finished sections of a task."""
    found: dict[str, Any] = {"task": name}
    for file in sorted(folder.glob(f"{name}.*.json")):
        section = file.name.split(".")[1]
        content = load(file)
        found[section] = content["splits"] if section == "splits" else content
    return found


if __name__ == "__main__":
    main()
