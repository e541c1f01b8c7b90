"""What programs share: options, records that are gone on with, tables and pages."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

__all__ = [
    "cpu_seconds",
    "load",
    "mean_and_error",
    "numbers",
    "options",
    "publish",
    "save",
    "solved",
    "stored",
    "study_of",
    "study_page",
    "table",
]


# Options


def options(doc: str | None, **given: Any) -> argparse.Namespace:
    """Read the command line: an option for each name, of the kind of its default.

    False is a flag; a type stands for a value that may be left out; a mapping for some
    of its keys, all by default; a tuple or list for several values. A name in capitals
    is a value without a flag.
    """
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in given.items():
        how: dict[str, Any] = {"type": type(default), "default": default}
        if default is False:
            how = {"action": "store_true"}
        elif isinstance(default, type):
            how = {"type": default}
        elif isinstance(default, Mapping):
            how = {"nargs": "*", "choices": default, "default": list(default)}
            how["metavar"] = name.upper()
        elif isinstance(default, (tuple, list)):
            how = {"nargs": "*", "type": type(default[0]), "default": default}
        if name.isupper():
            parser.add_argument(name.lower(), metavar=name, **how)
        else:
            parser.add_argument(f"--{name.replace('_', '-')}", **how)
    return parser.parse_args()


# Records


def load(file: Path) -> Any:
    """Return what a file has as JSON; an empty mapping where it is not there."""
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def save(file: Path, found: Any, indent: int | None = None) -> None:
    """Write JSON, whole or not at all."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(found, indent=indent, separators=separators)
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(file)


def stored(file: Path | None, make: Callable[[], Any]) -> Any:
    """Return what a file has as JSON; where it is not there, make and write it."""
    if file is not None and file.exists():
        return load(file)
    found = make()
    if file is not None:
        save(file, found, indent=1)
    return found


def cpu_seconds(call: Callable[[], object]) -> float:
    """Return the CPU time of one call."""
    started = time.process_time()
    call()
    return time.process_time() - started


# Tables and pages


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table, in which a bar is no end of a cell."""
    lines = [columns, ["---"] * len(columns), *rows]
    shown = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in shown) + "\n"


def mean_and_error(values: ArrayLike, digits: int = 3) -> str:
    """Return the mean over repetitions with its standard error."""
    values = np.asarray(values, dtype=float)
    mean = f"{values.mean():.{digits}f}"
    if values.size < 2:
        return mean
    return f"{mean} ± {values.std(ddof=1) / np.sqrt(values.size):.{digits}f}"


def numbers(values: ArrayLike, digits: int = 2, between: str = " / ") -> str:
    """Return numbers side by side, as ``.12 / .34``."""
    shown = (f"{value:.{digits}f}" for value in np.ravel(values))
    return between.join(shown).replace("-0.00", "0.00")


def publish(text: str, path: Path | None) -> None:
    """Write a page, or print it where no file is named."""
    if path is None:
        print(text)
    else:
        path.write_text(text, encoding="utf-8")


def study_page(
    sections: Sequence[str], command: str, seconds: float | None = None
) -> str:
    """Return the tables with their command and the CPU time, so far or given."""
    seconds = time.process_time() if seconds is None else seconds
    spent = f"`{command}`: {seconds:.0f} CPU-seconds on one core."
    head = f"<!-- Written by `{command}`; do not edit. -->"
    return "\n\n".join(part.strip() for part in (head, *sections, spent)) + "\n"


# Tasks


def study_of(
    task: str, preset: Any = "default", store: Path | None = None, seed: int = 0
) -> Any:
    """Prepare a study of a task by a preset or its name; a folder stores proxies."""
    from gflownet_envs.experiments.tasks import TASKS
    from gflownet_envs.storage import BlockStore

    return TASKS[task].prepare(
        TASKS[task].presets[preset] if isinstance(preset, str) else preset,
        seed=seed,
        store=None if store is None else BlockStore(store),
        progress=lambda *_: None,
        options={},
    )


def solved(study: Any, preset: Any, seed: int = 0) -> Any:
    """Return the exact policies of a study along its trajectory."""
    from gflownet_envs.experiments.analysis import make_policies

    spec, quiet = preset.training, {"store": None, "progress": lambda *_: None}
    return make_policies(study, spec, train=False, seed=seed, **quiet).exact
