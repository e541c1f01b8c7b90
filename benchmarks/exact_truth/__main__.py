"""Which tool finds the drivers of real trainings, whose shares are known exactly?

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.exact_truth``, in an environment with
``benchmarks/answer/requirements.txt``. Studies are drawn from the complete grids, and
every tool is asked of every study. Lines of ``studies.csv.gz`` that are there are not
made again: ``--again TOOL`` drops those of a tool. ``results.json`` has the means.
``--quick`` repeats a part of the studies with what is quick, in some minutes, and says
how far the means are from those of the record; it writes nothing.

Errors of shares are means of absolute differences over inputs, those that do nothing
included. A tool whose shares are of the variance between settings is compared to these;
``skpce.explain`` gives shares of all of the variance, seeds included. *Missed* counts
drivers (total share of .10 or more) that a tool does not name, *dummies* is the share
of inputs that do nothing among which it names some, *leading* the share of studies in
which the input that it ranks first is within .02 of the largest total.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
import time
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import kendalltau

from benchmarks.measuring import options

from .grids import GRIDS
from .studies import DESIGNS, DUMMIES, Study, draw
from .tools import OURS, TOOLS, Found
from .truth import read, table_of

HERE = Path(__file__).parent
LINES, RECORD = HERE / "studies.csv.gz", HERE / "results.json"
SIZES = (30, 60, 100, 200)
N_REPEATS = 2
QUICK = (OURS, "skpce, indices of the fit", "Optuna, fANOVA", "SALib, delta")
KEY = ("tool", "grid", "output", "design", "n", "repeat")
FIGURES = (
    *("error_first", "error_total", "rank", "drivers", "missed", "dummies"),
    *("leading", "leading_named", "held", "cpu_seconds", "failed"),
)
DRIVES = 0.10
#: Error of the truths, which are of three seeds, where an interval is said to hold.
OF_TRUTH = 0.01
Line = dict[str, Any]


def judge(study: Study, found: Found) -> Line:
    """Return the figures of what a tool said of a study."""
    truth = study.truth.between_settings() if found.of_settings else study.truth
    nothing = np.zeros(len(DUMMIES))
    first = np.concatenate([truth.first, nothing])
    total = np.concatenate([truth.total, nothing])
    of_y = np.concatenate([study.truth.total, nothing])
    line: Line = {
        "rank": kendalltau(found.scores, of_y).statistic,
        "drivers": int(np.sum(of_y >= DRIVES)),
        "missed": int(np.sum((of_y >= DRIVES) & ~found.named)),
        "dummies": float(found.named[-len(DUMMIES) :].mean()),
    }
    top = int(np.argmax(found.scores))
    line["leading"] = int(of_y[top] >= of_y.max() - 0.02)
    line["leading_named"] = int(line["leading"] and found.named[top])
    if found.first is not None:
        line["error_first"] = float(np.abs(found.first - first).mean())
    if found.total is not None:
        line["error_total"] = float(np.abs(found.total - total).mean())
    if found.low is not None and found.high is not None:
        whole = np.maximum(total, 0.0)
        inside = (found.low - OF_TRUTH <= whole) & (whole <= found.high + OF_TRUTH)
        line["held"] = int(inside.all())
    return line


def ask(tool: str, study: Study) -> Line:
    """Ask a tool of a study; a failure is a result, as is its time."""
    if tool != OURS:
        study = study.finished()
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = TOOLS[tool](study)
    except Exception as error:
        print(f"{tool}: {type(error).__name__}: {error}"[:200], file=sys.stderr)
        return {"failed": type(error).__name__}
    return {"cpu_seconds": time.process_time() - start} | judge(study, found)


def studies(quick: bool) -> Iterator[tuple[tuple[str, str, str, int, int], Any]]:
    """Return the studies with a function that draws each."""
    repeats, sizes = (range(1), (60,)) if quick else (range(N_REPEATS), SIZES)
    for repeat, n in product(repeats, sizes):
        for grid in GRIDS.values():
            if not table_of(grid).exists():
                continue
            values = read(grid)
            output = list(values)[repeat % len(values)]
            for design in DESIGNS:
                if quick and design == "TPE":
                    continue
                key = (grid.name, output, design, n, repeat)

                def make(
                    key: Any = key, grid: Any = grid, values: Any = values
                ) -> Study:
                    return draw(grid, values, *key[1:])

                yield key, make


def lines() -> list[Line]:
    """Return the lines of the record."""
    if not LINES.exists():
        return []
    with gzip.open(LINES, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(found: list[Line]) -> None:
    """Write the lines, and the means that follow from them."""
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, (*KEY, *FIGURES), restval="", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(sorted(found, key=lambda own: [str(own[name]) for name in KEY]))
    packed = gzip.compress(file.getvalue().encode(), mtime=0)
    LINES.with_suffix(".part").write_bytes(packed)
    LINES.with_suffix(".part").replace(LINES)
    RECORD.write_text(json.dumps(means(lines()), indent=1) + "\n", encoding="utf-8")


def means(found: list[Line]) -> dict[str, dict[str, dict[str, float | None]]]:
    """Return the means of each tool at each number of runs; CPU time as the median."""
    record: dict[str, dict[str, dict[str, float | None]]] = {}
    for tool in TOOLS:
        for n in SIZES:
            own = [x for x in found if x["tool"] == tool and int(x["n"]) == n]
            if own:
                record.setdefault(tool, {})[str(n)] = summary(own)
    return record


def summary(own: list[Line]) -> dict[str, float | None]:
    """Return the means of lines."""
    row: dict[str, float | None] = {"studies": len(own)}
    for name in FIGURES[:-1]:
        known = [float(x[name]) for x in own if x.get(name) not in ("", None, "nan")]
        middle = np.median if name == "cpu_seconds" else np.mean
        row[name] = float(f"{middle(known):.4g}") if known else None
    row["failed"] = sum(bool(x.get("failed")) for x in own)
    return row


def rounded(line: Line) -> Line:
    """Return a line with its figures to four digits."""
    return {
        name: f"{value:.4g}" if isinstance(value, float) else value
        for name, value in line.items()
    }


def main() -> None:
    """Ask what is not asked yet, or repeat a part."""
    arguments = options(__doc__, tools=TOOLS, again=[""], quick=False)
    tools = [tool for tool in arguments.tools if tool in QUICK or not arguments.quick]
    recorded = [line for line in lines() if line["tool"] not in arguments.again]
    done = {tuple(str(line[name]) for name in KEY): line for line in recorded}
    fresh: list[Line] = []
    for place, (key, make) in enumerate(studies(arguments.quick)):
        wanted = [
            tool
            for tool in tools
            if arguments.quick or (tool, *map(str, key)) not in done
        ]
        if not wanted:
            continue
        study = make()
        for tool in wanted:
            line = dict(zip(KEY, (tool, *key), strict=True)) | ask(tool, study)
            fresh.append(rounded(line))
        print(place, *key, file=sys.stderr, flush=True)
        if not arguments.quick and place % 20 == 19:
            write(recorded + fresh)
    if not arguments.quick:
        write(recorded + fresh)
        return
    for tool in tools:
        own = [line for line in fresh if line["tool"] == tool]
        keys = [tuple(str(line[name]) for name in KEY) for line in own]
        old = [done[key] for key in keys if key in done]
        print(tool)
        for title, part in (("now", own), ("record", old)):
            print(f"  {title}: {summary(part) if part else 'none'}")


if __name__ == "__main__":
    main()
