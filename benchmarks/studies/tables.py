"""Tables of the studies: cells with standard errors, and the file they stand in."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.results_page import table

__all__ = [
    "mean_and_error",
    "numbers",
    "publish",
    "stored_sections",
    "study_parser",
    "table",
]


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
        file = None if folder is None else folder / f"{study} {name}.json"
        if file is not None and file.exists():
            text, seconds = json.loads(file.read_text(encoding="utf-8"))
        else:
            started = time.process_time()
            text = make()
            seconds = time.process_time() - started
            if file is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(json.dumps([text, seconds]), encoding="utf-8")
        texts.append(text)
        spent += seconds
    return texts, spent


def publish(
    sections: Sequence[str],
    command: str,
    write: Path | None,
    seconds: float | None = None,
) -> None:
    """Print the tables with the CPU time, so far or given, and write them if asked."""
    seconds = time.process_time() if seconds is None else seconds
    spent = f"`{command}`: {seconds:.0f} CPU-seconds on one core."
    head = f"<!-- Written by `{command}`; do not edit. -->"
    text = "\n\n".join(part.strip() for part in (head, *sections, spent)) + "\n"
    print(text)
    if write is not None:
        write.write_text(text, encoding="utf-8")
