"""Draw the committed pictures of the tasks again, and the one of the README.

For every task the folder ``RUNS/TASK-default`` is used where it holds a finished run:
what was trained is read from it, and the surrogate, the effects of the named parts and
the pictures are made again. Where there is none, the task is run. Then the pictures are
copied to ``docs/images``: of each task its overview (``tasks/TASK.png``) and its named
parts (``tasks/TASK-parts.png``); ``demo.png`` is the named parts of the grid.

    python -m benchmarks.task_pictures --runs runs

``make pictures`` does this. ``--as-they-are`` copies the pictures of finished runs and
computes nothing.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.all_tasks import command_line
from benchmarks.measuring import options
from gflownet_envs.experiments.tasks import TASKS
from gflownet_envs.storage import write_bytes

IMAGES = Path(__file__).parents[1] / "docs" / "images"
PARTS = "parts_1.png"
#: Pictures of a run with the end of their name in the documentation.
PICTURES = {"overview.png": "", PARTS: "-parts"}
#: The task of the picture in the README.
DEMO = "grid"


def copy_pictures(task: str, folder: Path, images: Path = IMAGES) -> list[Path]:
    """Copy the pictures of a finished run, and return where they are now.

    A picture that the run does not make any more is removed there too.
    """
    figures = folder / "figures"
    if not (figures / "overview.png").is_file():
        raise ValueError(
            f"{figures} holds no overview.png: expected the folder of a finished run."
        )
    targets = {
        images / "tasks" / f"{task}{end}.png": figures / name
        for name, end in PICTURES.items()
    }
    if task == DEMO and (figures / PARTS).is_file():  # the README always needs one
        targets[images / "demo.png"] = figures / PARTS
    copied = []
    for target, source in targets.items():
        if source.is_file():
            write_bytes(target, source.read_bytes())
            copied.append(target)
        else:
            target.unlink(missing_ok=True)
    return copied


def main() -> None:
    given = {"preset": "default", "tasks": TASKS, "as_they_are": False}
    arguments = options(__doc__, runs=Path("runs"), **given)
    for task in arguments.tasks:
        folder = arguments.runs / f"{task}-{arguments.preset}"
        if not arguments.as_they_are:
            done = (folder / "results.json").exists()
            new = ["run", task, "--preset", arguments.preset, "--out", str(folder)]
            command_line(*(["report", str(folder)] if done else new))
        for path in copy_pictures(task, folder):
            print(path)


if __name__ == "__main__":
    main()
