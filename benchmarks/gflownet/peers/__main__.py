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
import shlex
import sys
from pathlib import Path
from typing import Any

from benchmarks.measuring import publish
from benchmarks.pce.record import record

from . import members
from .runner import run_shape
from .shapes import SHAPES
from .tables import page


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", nargs="*", choices=sorted(SHAPES), metavar="SHAPE")
    parser.add_argument("--peer-python", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--out", type=Path, default=Path("runs/gflownet_peers.json"))
    parser.add_argument("--write", type=Path, help="the page of tables")
    parser.add_argument("--tables", type=Path, help="a finished run")
    parser.add_argument(
        "--members", type=int, nargs="+", choices=sorted(members.N_ITERATIONS)
    )
    parser.add_argument("--rounds", type=int, default=5, help="of --members")
    return parser.parse_args()


def main() -> None:
    """Run and write, or write the tables of a finished run."""
    arguments = parse()
    if arguments.tables is None:
        results = run(arguments)
    else:
        results = json.loads(arguments.tables.read_text(encoding="utf-8"))
    text = (members.page if "of" in results["record"] else page)(results)
    publish(text, arguments.write)


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the selected peers; the file grows with every row."""
    about_run = record([])
    about_run["command"] = command(sys.argv[1:], arguments.peer_python)
    about_run["versions"] = {}
    results: dict[str, Any] = {"record": about_run, "shapes": {}}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    if arguments.members:
        if arguments.out.exists():  # one more round for some of the sizes
            results = json.loads(arguments.out.read_text(encoding="utf-8"))
        results["record"]["of"] = "members"
        for name in SHAPES if arguments.shapes is None else arguments.shapes:
            runs = results["shapes"].setdefault(name, [])
            members.run_members(
                name, arguments.members, arguments.rounds, arguments.peer_python, runs
            )
            arguments.out.write_text(json.dumps(results, indent=1), encoding="utf-8")
        return results
    for name in SHAPES if arguments.shapes is None else arguments.shapes:

        def save(found: dict[str, Any], name: str = name) -> None:
            results["shapes"][name] = found
            arguments.out.write_text(json.dumps(results, indent=1), encoding="utf-8")

        run_shape(SHAPES[name], arguments.peer_python, save)
    return results


def command(words: list[str], peer_python: str) -> str:
    """Return the command, without the folder of this machine's peers."""
    shown = ["PEERS/bin/python" if word == peer_python else word for word in words]
    return shlex.join(["python", "-m", __package__, *shown])


if __name__ == "__main__":
    main()
