"""Seconds from the start of Python to the first printed result of the three ways in.

``python -m benchmarks.first_result`` runs each script of ``examples/way_*.py`` five
times in a process of its own and prints medians: CPU and wall seconds to the first
line that it prints, and to its end.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.measuring import table

EXAMPLES = Path(__file__).parents[1] / "examples"
_N_RUNS = 5

# In the process that is timed: the first print notes the time.
_TIMED = """
import builtins, os, runpy, sys, time
begin, first, say = float(os.environ["BEGIN"]), [], print
def note(*words, **options):
    first.extend([] if first else [time.process_time(), time.time() - begin])
builtins.print = note
runpy.run_path(sys.argv[1], run_name="__main__")
say(*first, time.process_time(), time.time() - begin)
"""


def seconds_of(script: Path) -> list[float]:
    """CPU and wall seconds to the first result, and to the end."""
    environment = os.environ | {"MPLBACKEND": "Agg", "BEGIN": str(time.time())}
    command = [sys.executable, "-c", _TIMED, str(script)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    )
    return [float(word) for word in done.stdout.split()]


def main() -> None:
    """Print one row for each script."""
    rows = []
    for script in sorted(EXAMPLES.glob("way_*.py")):
        found = np.median([seconds_of(script) for _ in range(_N_RUNS)], axis=0)
        rows.append([f"`{script.name}`", *(f"{one:.1f}" for one in found)])
    columns = ["script", "first result: CPU s", "wall s", "end: CPU s", "wall s"]
    print(table(columns, rows))


if __name__ == "__main__":
    main()
