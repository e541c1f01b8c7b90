"""Compare skpce with its peers and with the floor, all in one run.

Run: ``python -m benchmarks.pce --out runs/pce.json
--write docs/downloads/benchmarks.txt`` from the root of the repository, with a Python
that has the packages of ``benchmarks/pce/requirements.txt``; packages that are missing
are reported and left out. ``--tables runs/pce.json`` writes the tables of a finished
run.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.measuring import publish

from .methods import METHODS
from .record import record
from .runner import run_all
from .shapes import SHAPES
from .tables import page


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", nargs="*", choices=sorted(SHAPES), metavar="SHAPE")
    parser.add_argument("--peers", nargs="*", choices=sorted(METHODS), metavar="PEER")
    parser.add_argument("--out", type=Path, default=Path("runs/pce.json"))
    parser.add_argument("--write", type=Path, help="the page of tables")
    parser.add_argument("--tables", type=Path, help="a finished run")
    return parser.parse_args()


def main() -> None:
    """Run and write, or write the tables of a finished run."""
    arguments = parse()
    if arguments.tables is not None:
        results = json.loads(arguments.tables.read_text(encoding="utf-8"))
    else:
        results = run(arguments)
    text = page(results)
    publish(text, arguments.write)


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the selected methods; the file grows with every shape."""
    results = {"record": record(sys.argv[1:])}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)

    def save(found: dict[str, Any]) -> None:
        results.update(found)
        arguments.out.write_text(json.dumps(results, indent=1), encoding="utf-8")

    names = list(SHAPES) if arguments.shapes is None else arguments.shapes
    run_all(names, arguments.peers, save)
    return results


if __name__ == "__main__":
    main()
