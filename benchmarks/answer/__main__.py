"""Error rates, power, coverage and cost of ``skpce.explain``, as one page.

Run ``OMP_NUM_THREADS=1 python -m benchmarks.answer --write
docs/downloads/answer.txt``.
Each ensemble is written to ``--out`` when it is done: a run that was ended goes on from
there. ``--quick`` takes 20 ensembles a kind; ``--only`` some parts; ``--no-shares``
leaves the shares out where only tests are measured.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .ensembles import COVERAGE, KINDS, POWER
from .measure import generator_of, measure
from .stability import cost_of, stability_of
from .tables import page
from .textbook import DESIGNS, answer_of

PARTS = ("error", "power", "coverage", "textbook", "stability", "cost")


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.answer", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--ensembles", type=int, default=400)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--kinds", nargs="*", help="beginnings of names")
    parser.add_argument("--no-shares", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("runs/answer"))
    parser.add_argument("--write", type=Path, help="the page of tables")
    return parser.parse_args()


def main() -> None:
    """Measure what is not measured yet, and write the page."""
    arguments = parse()
    number = 20 if arguments.quick else arguments.ensembles
    arguments.out.mkdir(parents=True, exist_ok=True)
    given = ("error", KINDS), ("power", POWER), ("coverage", COVERAGE)
    for part, kinds in given:
        if part in arguments.only:
            shares = part != "error" or not arguments.no_shares
            run(part, _chosen(kinds, arguments.kinds), number, arguments.out, shares)
    for part, measured in (
        ("textbook", lambda: {k: answer_of(make()) for k, make in DESIGNS.items()}),
        ("stability", lambda: stability_of(arguments.quick)),
        ("cost", lambda: cost_of(arguments.quick)),
    ):
        path = arguments.out / f"{part}.json"
        if part in arguments.only and not path.exists():
            path.write_text(json.dumps(measured(), indent=1), encoding="utf-8")
            print(f"{part}: done", file=sys.stderr)
    if arguments.write is not None:
        arguments.write.write_text(page(arguments.out), encoding="utf-8")


def _chosen(kinds: Mapping[str, Any], given: list[str] | None) -> dict[str, Any]:
    if given is None:
        return dict(kinds)
    return {k: v for k, v in kinds.items() if any(k.startswith(g) for g in given)}


def run(
    part: str,
    kinds: Mapping[str, tuple[int, Callable[..., Any]]],
    number: int,
    out: Path,
    shares: bool,
) -> None:
    """Measure ensembles of all kinds, and append each to the file of its kind."""
    for name, (n_runs, make) in kinds.items():
        path = out / f"{part}, {name}.jsonl"
        done = len(path.read_text().splitlines()) if path.exists() else 0
        with path.open("a", encoding="utf-8") as file:
            for seed in range(done, number):
                found = measure(make(n_runs, generator_of(name, seed)), shares)
                file.write(json.dumps(found) + "\n")
                file.flush()
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        wrong = sum(one["wrong"] or one["wrong pair"] for one in lines)
        seconds = sum(one["seconds"] for one in lines) / len(lines)
        print(
            f"{part}, {name}: {wrong} of {len(lines)} wrong, {seconds:.2f} CPU-s",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
