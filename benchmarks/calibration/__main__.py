"""Coverage of predictive intervals on held-out members of several ensembles.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.calibration --cache runs/calibration
--out runs/calibration.json --write docs/downloads/coverage.txt``; the proxies of
Buchwald-Hartwig are trained once and stored in the cache. ``--tables
runs/calibration.json`` writes the page of a finished run.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.measuring import load, options, publish, save

from .ensembles import ENSEMBLES
from .measure import measure
from .tables import page

#: Members of each draw that are held out; on the grid all other rewards are.
N_HELD_OUT = 200


def main() -> None:
    """Measure every draw and write, or write the page of a finished run."""
    arguments = options(
        __doc__,
        ensembles=ENSEMBLES,
        members=[50, 100],
        draws=8,
        cache=Path("runs/calibration"),
        out=Path("runs/calibration.json"),
        write=Path,
        tables=Path,
    )
    if arguments.tables is not None:
        publish(page(load(arguments.tables)), arguments.write)
        return
    draws: dict[str, dict[str, list[Any]]] = {}
    for name in arguments.ensembles:
        draws[name] = {}
        for n_fit in arguments.members:
            draws[name][str(n_fit)] = [
                measure(ENSEMBLES[name](n_fit, N_HELD_OUT, seed, arguments.cache), seed)
                for seed in range(arguments.draws)
            ]
            print(f"{name}, {n_fit} members: done", file=sys.stderr)
    packages = {"numpy": "numpy", "scipy": "scipy", "sklearn": "scikit-learn"}
    record = {name: version(package) for name, package in packages.items()}
    record["command"] = "python -m benchmarks.calibration"
    results = {"record": record, "members": arguments.members, "draws": draws}
    save(arguments.out, results, indent=1)
    publish(page(results), arguments.write)


if __name__ == "__main__":
    main()
