"""What programs share: tables, pages, CPU times, and results that are stored."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.results_page import table, table_of

__all__ = [
    "cpu_seconds",
    "mean_and_error",
    "numbers",
    "publish",
    "solved",
    "stored",
    "stored_sections",
    "study_of",
    "study_page",
    "study_parser",
    "table",
    "table_of",
]


def cpu_seconds(call: Callable[[], object]) -> float:
    """Return the CPU time of one call."""
    started = time.process_time()
    call()
    return time.process_time() - started


def publish(text: str, path: Path | None) -> None:
    """Write a page, or print it where no file is named."""
    if path is None:
        print(text)
    else:
        path.write_text(text, encoding="utf-8")


def stored(file: Path | None, make: Callable[[], Any]) -> Any:
    """Return what a file has as JSON; where it is not there, make and write it."""
    if file is not None and file.exists():
        return json.loads(file.read_text(encoding="utf-8"))
    found = make()
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return found


def mean_and_error(values: ArrayLike, digits: int = 3) -> str:
    """Return the mean over repetitions with its standard error."""
    values = np.asarray(values, dtype=float)
    mean = f"{values.mean():.{digits}f}"
    if values.size < 2:
        return mean
    return f"{mean} ± {values.std(ddof=1) / np.sqrt(values.size):.{digits}f}"


def numbers(values: ArrayLike, digits: int = 2) -> str:
    """Return numbers side by side, as ``.12 / .34``."""
    shown = (f"{value:.{digits}f}" for value in np.ravel(values))
    return " / ".join(shown).replace("-0.00", "0.00")


def study_of(
    task: str, preset: Any = "default", store: Path | None = None, seed: int = 0
) -> Any:
    """Prepare a study of a task by a preset or its name; a folder stores proxies."""
    from gflownet_envs.block_store import BlockStore
    from gflownet_envs.experiments.tasks import TASKS

    return TASKS[task].prepare(
        TASKS[task].presets[preset] if isinstance(preset, str) else preset,
        seed=seed,
        store=None if store is None else BlockStore(store),
        progress=lambda *_: None,
        options={},
    )


def solved(study: Any, preset: Any, seed: int = 0) -> Any:
    """Return the exact policies of a study along its trajectory."""
    from gflownet_envs.experiments.policies import make_policies

    spec, quiet = preset.training, {"store": None, "progress": lambda *_: None}
    return make_policies(study, spec, train=False, seed=seed, **quiet).exact


def study_parser(doc: str, repetitions: int) -> argparse.ArgumentParser:
    """Return the options that every study has."""
    parser = argparse.ArgumentParser(description=doc.split("\n", maxsplit=1)[0])
    parser.add_argument("--repetitions", type=int, default=repetitions)
    parser.add_argument("--write", type=Path, help="file of the tables, Markdown")
    return parser


def stored_sections(
    study: str, sections: Mapping[str, Callable[[], str]], folder: Path | None
) -> tuple[list[str], float]:
    """Return sections and their CPU seconds; finished ones come from the folder."""
    texts, spent = [], 0.0
    for name, make in sections.items():

        def timed(make: Callable[[], str] = make) -> tuple[str, float]:
            started = time.process_time()
            return make(), time.process_time() - started

        file = None if folder is None else folder / f"{study} {name}.json"
        text, seconds = stored(file, timed)
        texts.append(text)
        spent += seconds
    return texts, spent


def study_page(
    sections: Sequence[str], command: str, seconds: float | None = None
) -> str:
    """Return the tables with their command and the CPU time, so far or given."""
    seconds = time.process_time() if seconds is None else seconds
    spent = f"`{command}`: {seconds:.0f} CPU-seconds on one core."
    head = f"<!-- Written by `{command}`; do not edit. -->"
    return "\n\n".join(part.strip() for part in (head, *sections, spent)) + "\n"
