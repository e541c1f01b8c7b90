"""How many words of the paper's page other draws of the members change.

The policies of a page that was made are measured in other draws: of each task those
that its words are about, without the other readings. Every word that is another then
is printed, and what share of all words they are. Before, from the shares of draws that
agree alone: how many words as many other draws are expected to change.

Run: ``python -m benchmarks.paper.other_draws PAGE --draws 1 2 3``, where PAGE is the
folder of ``gflownet-envs paper --out PAGE`` (five CPU-minutes a draw). With
``--draws`` and no number PAGE may be ``benchmarks/paper``, which keeps no policies.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.stats import betabinom

from benchmarks.measuring import load, options
from gflownet_envs.experiments.paper import make
from gflownet_envs.experiments.paper.claims.answers import (
    INCOMPARABLE,
    claim_list,
    word_of,
)
from gflownet_envs.experiments.paper.claims.rules import ARTEFACTS, answer
from gflownet_envs.experiments.paper.measures import measure
from gflownet_envs.experiments.paper.systems import FIRST, Systems


def words_of(found: Mapping[str, Any]) -> dict[str, str]:
    """Return the word of every finding that has one."""
    claims = [claim for claim in claim_list().claims if claim.kind != "setting"]
    words = {claim.id: answer(claim, found).word for claim in claims}
    return {name: word for name, word in words.items() if word != INCOMPARABLE}


def chances(found: Mapping[str, Any]) -> dict[str, float]:
    """Return the probability that as many new draws give each finding another word.

    Of n draws k agree: the share of all draws has the law Beta(a + k, b + n - k), and
    of n new ones a beta-binomial number agrees. Most rows are unanimous: a and b are
    those of the largest likelihood of all rows.
    """
    sides = {}
    for claim in claim_list().claims:
        judged = [side for side in answer(claim, found).sides.values() if side.n_draws]
        if judged and claim.rule != "repetitions":
            sides[claim.id] = judged[-1]  # what the word is about
    n = np.array([side.n_draws for side in sides.values()])
    k = np.array([side.n_agree for side in sides.values()])
    prior = minimize(
        lambda logs: -betabinom(n, *np.exp(logs)).logpmf(k).sum(),
        (-1.0, -1.0),
        method="Nelder-Mead",
    )
    a, b = np.exp(prior.x)
    changed = {}
    for name, side in sides.items():
        n_draws, n_agree = side.n_draws, side.n_agree
        law = betabinom(n_draws, a + n_agree, b + n_draws - n_agree)
        others = [i for i in range(n_draws + 1) if word_of(i / n_draws) != side.word]
        changed[name] = float(law.pmf(others).sum())
    return changed


def of_many(probabilities: Iterable[float]) -> np.ndarray:
    """Return the law of how many of independent events happen."""
    return reduce(np.convolve, [[1 - p, p] for p in probabilities])


def measured(page: Path, preset: str, seed: int, draws: int) -> dict[str, Any]:
    """Return the pieces behind the words in other draws of the same policies."""
    systems = Systems(
        quick=preset == "quick",
        folder=page / "policies",
        runs=None,
        seed=seed,
        draws=draws,
        n_jobs=1,
        progress=lambda *stage: None,
        options={},
    )
    found: dict[str, Any] = {}
    for name, (task, reading, job) in make.jobs_of(systems.quick).items():
        if reading != FIRST:
            continue
        system = systems.find(task, reading)
        source, dataset = list(system.datasets.items())[-1]  # what the words are about
        systems.last[task, reading] = replace(system, datasets={source: dataset})
        if name != f"{task}-{reading}":
            found[name] = job(systems)
            continue
        draws = systems.draws_of(make.n_draws_of(task))
        figures = measure(dataset, system.preset, seed, draws=draws, whole=False)
        found[name] = {"record": system.record, "sources": {source: figures}}
    return found


def main() -> None:
    arguments = options(__doc__, PAGE=Path, draws=[1, 2, 3])
    warnings.simplefilter("ignore")
    records = {
        path.stem: load(path) for path in (arguments.page / "pieces").glob("*.json")
    }
    records.pop(ARTEFACTS, None)  # whose repetitions are no draws of these policies
    first = words_of({name: record["piece"] for name, record in records.items()})
    law = of_many(chances({n: r["piece"] for n, r in records.items()}).values())
    expected, limit = np.arange(len(law)) @ law, len(first) // 20
    print(f"expected of as many other draws: {expected:.1f} of {len(first)} words;")
    print(f"  more than {limit}: {law[limit + 1 :].sum():.0%} of such sets", flush=True)
    key = next(iter(records.values()))["key"]
    for draws in arguments.draws:
        other = words_of(measured(arguments.page, key["preset"], key["seed"], draws))
        changed = [name for name in first if other.get(name) != first[name]]
        share = len(changed) / len(first)
        print(f"draws {draws}: {len(changed)} of {len(first)} words ({share:.1%})")
        for name in changed:
            print(f"  {name}: {first[name]}, then {other.get(name)}", flush=True)


if __name__ == "__main__":
    main()
