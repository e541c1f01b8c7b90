"""Train the complete grids.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.exact_truth.make``, some 40 minutes of
one core. ``--grids`` chooses some. What is done stands in ``runs/exact_truth``,
setting by setting, so a run can be stopped and goes on where it was. A grid that is
complete is written to ``benchmarks/exact_truth/tables``, one line a setting and seed;
delete its file to train it again.
"""

from __future__ import annotations

import csv
import gzip
import sys
import time
from math import prod
from pathlib import Path

import torch

from benchmarks.measuring import options

from .grids import GRIDS, N_SEEDS, Grid, quietly
from .truth import TABLES, table_of

RUNS = Path("runs/exact_truth")


def train(grid: Grid, path: Path) -> None:
    """Do the settings that a file lacks, and append their lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = path.read_text().splitlines() if path.exists() else []
    # A run that was killed may have left a line cut short, and a part of a setting.
    n_done = max(len(lines) - 2, 0) // N_SEEDS
    kept = lines[: 1 + n_done * N_SEEDS] if n_done else []
    path.write_text("".join(f"{line}\n" for line in kept))
    total, start = prod(grid.shape), time.monotonic()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        for index in range(n_done, total):
            for seed in range(N_SEEDS):
                found = quietly(grid, index, seed)
                if file.tell() == 0:
                    writer.writerow([*grid.inputs, "seed", *found])
                values = [f"{value:.4g}" for value in found.values()]
                writer.writerow([*grid.setting(index).values(), seed, *values])
            file.flush()
            if (index + 1) % 50 == 0 or index + 1 == total:
                left = (time.monotonic() - start) / (index + 1 - n_done)
                left *= total - index - 1
                print(
                    f"{grid.name}: {index + 1} of {total}, {left / 60:.0f} min left",
                    file=sys.stderr,
                )


def main() -> None:
    """Train what is not there."""
    torch.set_num_threads(1)
    TABLES.mkdir(exist_ok=True)
    for name in options(__doc__, grids=GRIDS).grids:
        grid = GRIDS[name]
        if not table_of(grid).exists():
            path = RUNS / f"{table_of(grid).stem}"
            train(grid, path)
            # No name and no time in the head: the same lines give the same bytes.
            packed = gzip.compress(path.read_bytes(), mtime=0)
            table_of(grid).write_bytes(packed)


if __name__ == "__main__":
    main()
