"""Which tool finds the drivers of real trainings, whose shares are known exactly?

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.exact_truth``, in an environment with
``benchmarks/exact_truth/requirements.txt``. Studies are drawn from the complete grids,
and every tool is asked of every study. Lines of ``studies.csv.gz`` that are there are
not made again: ``--again TOOL`` drops those of a tool. ``results.json`` has the means.
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

import gzip
import json
import sys
import time
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
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


def lines() -> pd.DataFrame:
    """Return the lines of the record, as they are written."""
    if not LINES.exists():
        return pd.DataFrame(columns=[*KEY, *FIGURES])
    return pd.read_csv(LINES, dtype=str, keep_default_na=False)


def write(found: pd.DataFrame) -> None:
    """Write the lines, and the means that follow from them."""
    text = found.sort_values(list(KEY)).to_csv(index=False, lineterminator="\r\n")
    LINES.with_suffix(".part").write_bytes(gzip.compress(text.encode(), mtime=0))
    LINES.with_suffix(".part").replace(LINES)
    RECORD.write_text(json.dumps(means(lines()), indent=1) + "\n", encoding="utf-8")


def means(found: pd.DataFrame) -> dict[str, dict[str, dict[str, float | None]]]:
    """Return the means of each tool at each number of runs; CPU time as the median."""
    by_tool = dict(list(found.groupby("tool")))
    return {
        tool: {
            str(n): summary(own)
            for n in SIZES
            if len(own := by_tool[tool][by_tool[tool]["n"] == str(n)])
        }
        for tool in TOOLS
        if tool in by_tool
    }


def summary(own: pd.DataFrame) -> dict[str, float | None]:
    """Return the means of lines."""
    figures = own[list(FIGURES[:-1])].apply(pd.to_numeric, errors="coerce")
    middle = figures.mean()
    middle["cpu_seconds"] = figures["cpu_seconds"].median()
    row: dict[str, float | None] = {"studies": len(own)}
    for name, value in middle.items():
        row[name] = None if np.isnan(value) else float(f"{value:.4g}")
    return row | {"failed": int((own["failed"] != "").sum())}


def main() -> None:
    """Ask what is not asked yet, or repeat a part."""
    arguments = options(__doc__, tools=TOOLS, again=[""], quick=False)
    tools = [tool for tool in arguments.tools if tool in QUICK or not arguments.quick]
    recorded = lines()
    recorded = recorded[~recorded["tool"].isin(arguments.again)]
    done = set() if arguments.quick else set(recorded[list(KEY)].itertuples(False))
    fresh: list[Line] = []

    def now() -> pd.DataFrame:
        """Return the lines of this run, with figures to four digits."""
        own = pd.DataFrame(fresh, columns=[*KEY, *FIGURES])
        return own.map(
            lambda value: f"{value:.4g}" if isinstance(value, float) else str(value)
        ).replace("nan", "")

    for place, (key, make) in enumerate(studies(arguments.quick)):
        wanted = [tool for tool in tools if (tool, *map(str, key)) not in done]
        if not wanted:
            continue
        study = make()
        fresh += [
            dict(zip(KEY, (tool, *key), strict=True)) | ask(tool, study)
            for tool in wanted
        ]
        print(place, *key, file=sys.stderr, flush=True)
        if not arguments.quick and place % 20 == 19:
            write(pd.concat([recorded, now()]))
    if not arguments.quick:
        write(pd.concat([recorded, now()]))
        return
    asked = now()
    old = asked[list(KEY)].merge(recorded)
    for tool in tools:
        print(tool)
        for title, part in (("now", asked), ("record", old)):
            own = part[part["tool"] == tool]
            print(f"  {title}: {summary(own) if len(own) else 'none'}")


if __name__ == "__main__":
    main()
