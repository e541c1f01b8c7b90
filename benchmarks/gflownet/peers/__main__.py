"""Compare gflownet_envs with torchgfn and gfnx, all in one run on one thread.

Run: ``python -m benchmarks.gflownet.peers --peer-python PEERS/bin/python --out
runs/gflownet_peers.json --write docs/downloads/benchmarks_gflownet.txt`` from the root
of the repository. PEERS is an environment with the packages of
``benchmarks/gflownet/peers/requirements.txt``; what it lacks is reported and left out.
``--members 1 10 50 200 --out runs/gflownet_members.json`` compares trainings of so many
members, and nothing else; where the file is there, its rounds are kept.
``--tables FILE`` writes the tables of a finished run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.against_commit import ROOT, commit_of
from benchmarks.measuring import publish

from .runner import N_ITERATIONS, Bench, entries
from .shapes import SHAPES
from .tables import page


def main() -> None:
    """Run and write, or write the tables of a finished run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", nargs="*", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--peer-python", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--out", type=Path, default=Path("runs/gflownet_peers.json"))
    parser.add_argument("--write", type=Path, help="the page of tables")
    parser.add_argument("--tables", type=Path, help="a finished run")
    parser.add_argument("--members", type=int, nargs="+", choices=N_ITERATIONS)
    parser.add_argument("--rounds", type=int, default=5, help="of --members")
    arguments = parser.parse_args()
    if arguments.tables is None:
        run(arguments)
    finished = arguments.tables or arguments.out
    results = json.loads(finished.read_text(encoding="utf-8"))
    publish(page(results), arguments.write)


def run(arguments: argparse.Namespace) -> None:
    """Run the selected peers; the file grows with every row."""
    results: dict[str, Any] = {"record": record(arguments.peer_python), "shapes": {}}
    if arguments.members and arguments.out.exists():  # more rounds for some sizes
        results = json.loads(arguments.out.read_text(encoding="utf-8"))
    arguments.out.parent.mkdir(parents=True, exist_ok=True)

    def save(*rows: dict[str, Any]) -> None:
        for row in rows:
            results["record"]["versions"] |= row.pop("versions", {})
        arguments.out.write_text(json.dumps(results, indent=1), encoding="utf-8")

    for name in arguments.shapes:
        with tempfile.TemporaryDirectory() as folder:
            size = max(arguments.members or [0])
            bench = Bench(name, arguments.peer_python, Path(folder), size)
            if arguments.members:
                runs = results["shapes"].setdefault(name, [])
                first = 1 + max((row["turn"] for row in runs), default=-1)
                for turn in range(first, first + arguments.rounds):
                    for row in bench.round_of(arguments.members, turn):
                        runs.append(row)
                        save(row)
                continue
            rows = results["shapes"].setdefault(name, {})
            for entry in entries():
                rows[entry.name] = found = bench.search(entry)
                save(*found.get("tried", []))


def record(peer_python: str) -> dict[str, Any]:
    """Return what the run stands on, without the folder of this machine's peers."""
    words = [
        "PEERS/bin/python" if word == peer_python else word for word in sys.argv[1:]
    ]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
    return {
        "command": shlex.join(["python", "-m", __package__, *words]),
        "run": f"on {date.today()}, commit {commit_of(ROOT)}; one thread on a shared "
        f"machine of {os.cpu_count()} cores and {memory:.0f} GB, load "
        f"{os.getloadavg()[0]:.1f} at the start",
        "versions": {"Python": platform.python_version()},
    }


if __name__ == "__main__":
    main()
