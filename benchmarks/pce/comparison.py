"""Compare fits that choose themselves on functions with known indices.

``python -m benchmarks.pce.comparison`` appends a line a fit to ``runs/fits.csv`` and
does only what is missing there, so that a run can be stopped, and done method by
method. ``--methods``, ``--functions``, ``--n``, ``--noise`` and ``--seeds`` choose a
part, ``--kept-back`` the functions that are kept back, ``--again`` drops the lines of
the chosen methods first, ``--quick`` takes two cells, three seeds and what is quick.
``--write PAGE`` writes the tables of the file, fits nothing, and keeps the file as
``benchmarks/pce/fits.csv.gz``, from which the next run goes on where there is no other.
With one thread: ``OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1``.

Q² is on 2,000 fresh points without noise. Where y is noise alone (share 1), it is one
minus the mean square of the predictions, in units of the noise. Indices of methods that
have none come from 2^10 points of their predictions. CPU seconds are those of the fit.
"""

from __future__ import annotations

import csv
import gzip
import signal
import sys
import time
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.against_commit import ROOT, commit_of
from benchmarks.measuring import options

from .comparison_page import page
from .fits import METHODS, SLOW
from .functions import (
    FIRST_EIGHT,
    KEPT_BACK,
    NOTHING,
    OTHERS,
    SUITE,
    BenchmarkFunction,
    Indices,
    pick_freeze,
)

SIZES = (40, 60, 100, 200, 500)
SHARES = (0.0, 0.05, 0.2, 0.5)
N_TEST = 2000
RECORD = Path(__file__).parent / "fits.csv.gz"
COLUMNS = (
    *("method", "function", "n", "noise", "seed"),
    *("q2", "first", "total", "cpu", "failed", "commit"),
)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise an error after so many seconds, as soon as Python is back.

    A limit of CPU time would be better, but with one the kernel counts in ticks.
    """

    def stop(*_: Any) -> None:
        raise TimeoutError(f"> {seconds:.0f} s")

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def measure(
    method: str, function: BenchmarkFunction, n: int, noise: float, seed: int
) -> dict[str, Any]:
    """Fit once and return errors and CPU seconds."""
    name, truth = zlib.crc32(function.name.encode()), function.indices
    rng = np.random.default_rng([name, n, seed])
    X = function.sample(n, rng)
    scale = 1.0 if function is NOTHING else truth.variance * noise / (1 - noise)
    y = function.evaluate(X) + np.sqrt(scale) * rng.normal(size=n)
    T, expected = function.data(N_TEST, name)
    start = time.process_time()
    predict, own = METHODS[method](X, y, function.laws)
    cpu = time.process_time() - start
    misfit = np.mean((np.ravel(predict(T)) - expected) ** 2)
    if own is None:
        found = pick_freeze(lambda Z: np.ravel(predict(Z)), function.laws, 10)
    else:
        found = Indices(0.0, *own())
    return {
        "q2": 1 - misfit / (truth.variance or scale),
        "first": np.abs(found.first - truth.first).mean(),
        "total": np.abs(found.total - truth.total).mean(),
        "cpu": cpu,
    }


def read(path: Path) -> list[dict[str, str]]:
    """Return the lines of a record."""
    if path.exists():
        text = path.read_text(encoding="utf-8")
    elif RECORD.exists():
        text = gzip.decompress(RECORD.read_bytes()).decode()
    else:
        return []
    return list(csv.DictReader(text.splitlines()))


def write(path: Path, rows: list[dict[str, Any]], mode: str) -> None:
    """Write or append lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open(mode, encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if file.tell() == 0:
            writer.writeheader()
        writer.writerows(rows)


def run(path: Path, cells: Iterator[tuple[Any, ...]], limit: float) -> None:
    """Do what the record lacks."""
    known = read(path)
    if known and not path.exists():
        write(path, known, "w")
    done = {tuple(row[name] for name in COLUMNS[:5]) for row in known}
    state, missing = commit_of(ROOT), set()
    for method, function, n, noise, seed in cells:
        row = dict.fromkeys(COLUMNS, "") | {"commit": state}
        row |= dict(zip(COLUMNS, (method, function.name, n, noise, seed), strict=False))
        key = tuple(str(row[name]) for name in COLUMNS[:5])
        if key in done or method in missing:
            continue
        try:
            with limited(limit), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = measure(method, function, n, noise, seed)
            row |= {name: f"{value:.4g}" for name, value in found.items()}
        except ImportError as error:
            print(f"{method}: {error}", file=sys.stderr)
            missing.add(method)
            continue
        except Exception as error:  # a fit that fails is a result
            row["failed"] = f"{type(error).__name__}: {error}"[:100]
            print(method, function.name, n, noise, seed, row["failed"], flush=True)
        write(path, [row], "a")


def cells(arguments: Any) -> Iterator[tuple[Any, ...]]:
    """Return what is to be done, cell by cell; the null takes part as noise alone."""
    functions = KEPT_BACK if arguments.kept_back else FIRST_EIGHT + OTHERS
    for n, noise in product(arguments.n, [*arguments.noise, 1.0]):
        for function, seed in product(functions, range(arguments.seeds)):
            chosen = function.name in arguments.functions
            if chosen and (noise == 1) == (function is NOTHING):
                for method in arguments.methods:
                    yield method, function, n, noise, seed


def main() -> None:
    """Fit, or write the page."""
    flags = dict.fromkeys(("kept_back", "again", "quick"), False)
    given = {"methods": METHODS, "functions": SUITE, "write": Path}
    sizes = {"n": SIZES, "noise": SHARES, "seeds": 5, "limit": 600.0}
    out = Path("runs/fits.csv")
    arguments = options(__doc__, out=out, **given, **sizes, **flags)
    if arguments.write is not None:
        rows = read(arguments.out)
        arguments.write.write_text(page(rows), encoding="utf-8")
        write(arguments.out, rows, "w")
        RECORD.write_bytes(gzip.compress(arguments.out.read_bytes(), mtime=0))
        return
    if arguments.quick:
        arguments.methods = [name for name in arguments.methods if name not in SLOW]
        arguments.n, arguments.noise, arguments.seeds = (60,), (0.0, 0.2), 3
    if arguments.again:
        kept = [
            row for row in read(arguments.out) if row["method"] not in arguments.methods
        ]
        write(arguments.out, kept, "w")
    run(arguments.out, cells(arguments), arguments.limit)


if __name__ == "__main__":
    main()
