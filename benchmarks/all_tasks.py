"""Run every task with some presets and write the table of ``docs/tasks/table.md``.

Each run is a process of its own, so that its memory is its own. Finished runs in the
folder are not repeated: delete a folder to run it again.

Run: ``python -m benchmarks.all_tasks --presets default paper --out runs
--write docs/tasks/table.md``
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measuring import load, options, publish, table
from benchmarks.paper.nine_tasks import RECORD, draws_of_tasks
from gflownet_envs.experiments.tasks import TASKS

COLUMNS = (
    "task",
    "states",
    "objects",
    "members",
    "CPU-s: proxy",
    "training",
    "exact",
    "surrogate",
    "verdict",
    "all",
    "peak MB",
    "distance to exact, mean / worst",
    "training noise",
    "leave-one-out Q²",
    "cross-fitted Q²",
    "coverage at 95 %",
    "steps with drivers",
    "the same, exact policies",
)


def command_line(*arguments: str) -> None:
    """Give a command in a process of its own, which prints nothing but progress."""
    program = "from gflownet_envs.experiments.command_line import main; main()"
    subprocess.run(
        [sys.executable, "-c", program, *arguments],
        check=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
    )


def finished(task: str, preset: str, runs: Path) -> Path:
    """Return the folder of a run, which is made where it is not finished."""
    folder = runs / f"{task}-{preset}"
    if not (folder / "report.html").exists():  # the last file of a run
        command_line("run", task, "--preset", preset, "--out", str(folder))
    return folder


def over_steps(values: list[float | None], digits: int = 2) -> str:
    """Return one number a step; median and range where there are many steps."""
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    if len(known) <= 6:
        return " ".join(f"{value:.{digits}f}" for value in known)
    middle, low, high = median(known), min(known), max(known)
    return (
        f"median {middle:.{digits}f}, {low:.{digits}f} to {high:.{digits}f}, "
        f"{len(known)} steps"
    )


def row(folder: Path) -> list[str]:
    """Return the row of a finished run; of its trained policies."""
    results, record = (load(folder / f"{n}.json") for n in ("results", "run_record"))
    sizes, cpu = results["sizes"], record["cpu_seconds"]
    source = results["policies"]["trained"]
    main = main_analysis(source)
    verdict = steps_with_choice(main)
    distance = results["distance_to_exact"]
    coverage = main["calibration"]["given the inputs"]["coverage"][-1]
    known = [value for value in coverage if value is not None]
    return [
        results["task"],
        count(sizes["n_states"]),
        count(sizes["n_objects"]),
        f"{sizes['n_train']} + {sizes['n_test']}",
        seconds(cpu.get("proxies", 0.0)),
        seconds(cpu["training"] + cpu.get("control", 0.0)),
        seconds(cpu["exact"]),
        f"{cpu['surrogate']:.2f}",
        seconds(cpu["verdict"]),
        seconds(sum(cpu.values())),
        f"{record['peak_memory_bytes'] / 1e6:.0f}",
        "not known"
        if distance is None
        else f"{distance['mean']:.4f} / {distance['worst']:.4f}",
        over_steps([step["noise_share"] for step in verdict]),
        over_steps(main["conditional_loo_q2"]),
        over_steps([step["q2"] for step in verdict]),
        f"{sum(known) / len(known):.2f}",
        attributable(verdict),
        attributable(steps_with_choice(main_analysis(results["policies"]["exact"]))),
    ]


def main_analysis(source: dict[str, Any]) -> dict[str, Any]:
    """Return the analysis of the degree that the preset reports."""
    return next(a for a in source["analyses"] if a["degree"] == source["main_degree"])


def steps_with_choice(analysis: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the verdicts on the steps that leave a choice."""
    return [step for step in analysis["verdict"] if step["q2"] is not None]


def attributable(verdict: list[dict[str, Any]]) -> str:
    """Count the steps whose attribution is supported."""
    return f"{sum(step['attributable'] for step in verdict)} of {len(verdict)}"


def count(number: int | None) -> str:
    """Return a number with separators."""
    return "not listed" if number is None else f"{number:,}"


def seconds(value: float) -> str:
    """Return seconds as a short number."""
    return f"{float(f'{value:.3g}'):g}"


def other_draws() -> str:
    """Say what a count of one run is worth."""
    draws = draws_of_tasks(load(RECORD))
    said = []
    for task, own in draws.groupby("task", sort=False):
        counts, n_steps = own.groupby("draw")["now"].sum(), own["place"].nunique()
        ends = " to ".join(map(str, sorted({counts.min(), counts.max()})))
        said.append(f"{task} {ends} of {n_steps}")
    return (
        "Counts of steps that some input drives are those of one draw of the members "
        "to fit.\nIn ten draws of as many, exact policies of the preset `default` "
        f"have: {', '.join(said)}\n(`python -m benchmarks.paper.nine_tasks`).\n"
    )


def page(folders: dict[str, list[Path]]) -> str:
    """Return the tables of all presets."""
    parts = [other_draws()]
    for preset, its_folders in folders.items():
        rows = [row(folder) for folder in its_folders]
        total = sum(float(line[9]) for line in rows) / 60
        parts += [
            f"### Preset `{preset}`\n",
            table(COLUMNS, rows),
            f"All together: {total:.1f} CPU-minutes.\n",
        ]
    return "\n".join(parts)


def main() -> None:
    given = {"tasks": TASKS, "out": Path("runs"), "write": Path}
    arguments = options(__doc__, presets=["default", "paper"], **given)
    folders = {
        preset: [finished(task, preset, arguments.out) for task in arguments.tasks]
        for preset in arguments.presets
    }
    publish(page(folders), arguments.write)


if __name__ == "__main__":
    main()
