"""Coverage of predictive intervals on held-out members of several ensembles.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.calibration --cache runs/calibration
--out runs/calibration.json --write docs/downloads/coverage.txt``; the proxies of
Buchwald-Hartwig are trained once and stored in the cache. ``--tables
runs/calibration.json`` writes the page of a finished run.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.measuring import publish

from .ensembles import ENSEMBLES, POOL_BLOCK
from .measure import measure
from .tables import page

#: Members of each draw that are held out; on the grid all other rewards are.
N_HELD_OUT = 200


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.calibration", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--ensembles", nargs="*", choices=ENSEMBLES, metavar="NAME")
    parser.add_argument("--members", nargs="*", type=int, default=[50, 100])
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--cache", type=Path, default=Path("runs/calibration"))
    parser.add_argument("--out", type=Path, default=Path("runs/calibration.json"))
    parser.add_argument("--write", type=Path, help="the page of tables")
    parser.add_argument("--tables", type=Path, help="a finished run")
    arguments = parser.parse_args()
    for n_fit in arguments.members:
        if not 2 <= n_fit <= POOL_BLOCK:
            parser.error(f"--members {n_fit}: expected 2 to {POOL_BLOCK}")
    if arguments.draws < 2:
        parser.error(f"--draws {arguments.draws}: a spread takes at least 2")
    return arguments


def main() -> None:
    """Measure and write, or write the page of a finished run."""
    arguments = parse()
    if arguments.tables is not None:
        results = json.loads(arguments.tables.read_text(encoding="utf-8"))
    else:
        results = run(arguments)
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(results, indent=1), encoding="utf-8")
    text = page(results)
    publish(text, arguments.write)


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure every draw of every ensemble."""
    draws: dict[str, dict[str, list[Any]]] = {}
    last = arguments.first_seed + arguments.draws
    for name in arguments.ensembles or ENSEMBLES:
        maker, draws[name] = ENSEMBLES[name], {}
        for n_fit in arguments.members:
            draws[name][str(n_fit)] = [
                measure(maker(n_fit, N_HELD_OUT, seed, arguments.cache), seed)
                for seed in range(arguments.first_seed, last)
            ]
            print(f"{name}, {n_fit} members: done", file=sys.stderr)
    return {"record": record(), "members": arguments.members, "draws": draws}


def record() -> dict[str, str]:
    """Return what the run stood on."""
    return {
        "command": "python -m benchmarks.calibration",
        "numpy": version("numpy"),
        "scipy": version("scipy"),
        "sklearn": version("scikit-learn"),
    }


if __name__ == "__main__":
    main()
