"""Tables of the studies: cells with standard errors, and the file they stand in."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.results_page import table

__all__ = ["mean_and_error", "numbers", "publish", "study_parser", "table"]


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


def publish(sections: Sequence[str], command: str, write: Path | None) -> None:
    """Print the tables with the CPU time so far, and write them where asked."""
    spent = f"`{command}`: {time.process_time():.0f} CPU-seconds on one core."
    head = f"<!-- Written by `{command}`; do not edit. -->"
    text = "\n\n".join(part.strip() for part in (head, *sections, spent)) + "\n"
    print(text)
    if write is not None:
        write.write_text(text, encoding="utf-8")
