"""Error rates, power, coverage and cost of ``skpce.explain``, as one page.

Run ``OMP_NUM_THREADS=1 python -m benchmarks.answer --write
docs/downloads/answer.txt``.
Each ensemble is written to ``--out`` when it is done: a run that was ended goes on from
there. ``--quick`` takes 20 ensembles a kind; ``--only`` some parts; ``--no-shares``
leaves the shares out where only tests are measured.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measuring import load, options, publish, save, stored

from .ensembles import COVERAGE, KINDS, POWER
from .measure import answers_of_shuffles, generator_of, measure
from .tables import Kinds, page
from .textbook import DESIGNS, answer_of

PARTS = ("error", "power", "coverage", "textbook", "stability")


def main() -> None:
    """Measure what is not measured yet, and write the page."""
    given = {"only": PARTS, "kinds": [""], "no_shares": False, "write": Path}
    arguments = options(
        __doc__, ensembles=400, quick=False, out=Path("runs/answer"), **given
    )
    number = 20 if arguments.quick else arguments.ensembles
    arguments.out.mkdir(parents=True, exist_ok=True)
    for part, kinds in ("error", KINDS), ("power", POWER), ("coverage", COVERAGE):
        if part in arguments.only:
            chosen = {
                name: kind
                for name, kind in kinds.items()
                if name.startswith(tuple(arguments.kinds))
            }
            shares = part != "error" or not arguments.no_shares
            run(part, chosen, number, arguments.out, shares)
    measured: dict[str, Callable[[], Any]] = {
        "textbook": lambda: {name: answer_of(one) for name, one in DESIGNS.items()},
        "stability": lambda: [
            answers_of_shuffles(seed) for seed in range(3 if arguments.quick else 20)
        ],
    }
    for part, find in measured.items():
        if part in arguments.only:
            stored(arguments.out / f"{part}.json", find)
    if arguments.write is not None:
        publish(page(arguments.out), arguments.write)


def run(part: str, kinds: Kinds, number: int, out: Path, shares: bool) -> None:
    """Measure ensembles of all kinds, each into the file of its kind."""
    for name, (n_runs, make) in kinds.items():
        path = out / f"{part}, {name}.json"
        answers = load(path) or []
        for seed in range(len(answers), number):
            answers.append(measure(make(n_runs, generator_of(name, seed)), shares))
            save(path, answers)
        wrong = sum(one["wrong"] or one["wrong pair"] for one in answers)
        print(f"{part}, {name}: {wrong} of {len(answers)} wrong", file=sys.stderr)


if __name__ == "__main__":
    main()
