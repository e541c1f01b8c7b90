"""How many words of the paper's page another draw of the members changes.

The policies of a page that was made are measured in other draws; every word that is
another then is printed, and what share of all words they are.

Run: ``python -m benchmarks.paper.other_draws PAGE --draws 1 2 3``, where PAGE is the
folder of ``gflownet-envs paper --out PAGE`` (two to three CPU-minutes a draw).
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

from gflownet_envs.experiments.paper import make_paper
from gflownet_envs.experiments.paper.claims.answers import INCOMPARABLE
from gflownet_envs.experiments.paper.claims.claim_list import claim_list
from gflownet_envs.experiments.paper.claims.rules import answer


def words_of(pieces: Path) -> dict[str, tuple[str, str]]:
    """Return word and kind of every finding that the pieces give a word."""
    found = {
        path.stem: json.loads(path.read_text(encoding="utf-8"))["piece"]
        for path in pieces.glob("*.json")
    }
    rows = {claim.id: answer(claim, found) for claim in claim_list().claims}
    return {
        name: (row.word, row.kind)
        for name, row in rows.items()
        if row.kind or row.word == INCOMPARABLE
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("--draws", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--preset", default=None, choices=("quick", "full"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    first = words_of(arguments.page / "pieces")
    n_words = sum(word != INCOMPARABLE for word, _ in first.values())
    for draws in arguments.draws:
        make_paper(arguments.page, preset=arguments.preset, draws=draws)
        other = words_of(arguments.page / f"pieces-{draws}")
        changed = [name for name in first if other[name][0] != first[name][0]]
        kinds = sum(other[name][1] != first[name][1] for name in first)
        print(
            f"draws {draws}: {len(changed)} of {n_words} words change "
            f"({len(changed) / n_words:.1%}), {kinds} rows are of another kind",
            flush=True,
        )
        for name in changed:
            print(f"  {name}: {first[name][0]} -> {other[name][0]}", flush=True)
    make_paper(arguments.page, preset=arguments.preset, finished=True)


if __name__ == "__main__":
    main()
