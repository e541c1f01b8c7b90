"""Coverage of predictive intervals on held-out members of several ensembles.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.calibration --cache runs/calibration
--out runs/calibration.json --write docs/downloads/coverage.txt``; the proxies of
Buchwald-Hartwig are trained once and stored in the cache. What ``--out`` has is not
measured again.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.measuring import options, publish, stored

from .ensembles import ENSEMBLES
from .measure import measure
from .tables import page

#: Members of each draw that are held out; on the grid all other rewards are.
N_HELD_OUT = 200


def main() -> None:
    """Measure every draw where that is not done, and write the page."""
    arguments = options(
        __doc__,
        ensembles=ENSEMBLES,
        members=[50, 100],
        draws=8,
        cache=Path("runs/calibration"),
        out=Path("runs/calibration.json"),
        write=Path,
    )
    publish(page(stored(arguments.out, lambda: measured(arguments))), arguments.write)


def measured(arguments: Any) -> dict[str, Any]:
    """Return the figures of every draw, with the versions behind them."""
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
    return {"record": record, "members": arguments.members, "draws": draws}


if __name__ == "__main__":
    main()
