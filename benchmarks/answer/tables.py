"""The page of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import beta

from benchmarks.measuring import load, numbers, table

from .ensembles import COVERAGE, KINDS, POWER, Case


def upper_limit(wrong: int, number: int) -> float:
    """Return the upper 95 % limit of a rate (Clopper and Pearson, one-sided)."""
    return 1.0 if wrong == number else float(beta.ppf(0.95, wrong + 1, number - wrong))


def page(out: Path) -> str:
    """Return the whole page."""
    same = load(out / "stability.json") or []
    parts = [
        "<!-- Written by benchmarks/answer; do not edit. -->\n",
        "# Is the answer right?\n",
        "Made by `python -m benchmarks.answer --write docs/downloads/answer.txt`.\n",
        "## Family-wise error\n",
        "*wrong*: answers in which some input that does nothing *drives*, or is one of "
        "a named pair; upper 95 % limit. *found*: share of the inputs that act of "
        "which it is said. Tests alone (`--no-shares`).\n",
        error_table(out),
        "## Power\n",
        power_table(out),
        "## Coverage\n",
        "*all*: answers of which every interval holds the true share, of 90 % "
        "intended. *least*: of the interval that holds it least often. Widths are "
        "those of the intervals of totals, in the mean.\n",
        coverage_table(out),
        "## Designs of textbooks\n",
        textbook_table(out),
        "## Stability\n",
        f"Twelve orders of rows and columns, in twelve units, give one answer in "
        f"{same.count(1)} of {len(same)} ensembles.\n",
    ]
    return "\n".join(parts)


Kinds = Mapping[str, tuple[int, Callable[..., Case]]]


def measured(
    out: Path, part: str, kinds: Kinds
) -> Iterator[tuple[str, int, Case, pd.DataFrame]]:
    """Yield what is measured: name of the kind, runs, a case and the answers."""
    for name, (n_runs, make) in kinds.items():
        answers = pd.DataFrame(load(out / f"{part}, {name}.json"))
        if len(answers):
            answers["wrong"] |= answers["wrong pair"]
            yield name, n_runs, make(n_runs, np.random.default_rng(0)), answers


def said_of(answers: pd.Series, inputs: Iterable[int]) -> list[float]:
    """Return in which share of the answers something is said of each input."""
    return [answers.map(lambda names, i=i: f"x{i}" in names).mean() for i in inputs]


def error_table(out: Path) -> str:
    """Return the error rate of each kind."""
    columns = ["ensembles", "runs", "number", "wrong", "limit", "found", "CPU-s"]
    rows = []
    for name, n_runs, case, answers in measured(out, "error", KINDS):
        number, wrong = len(answers), answers["wrong"].sum()
        limit = upper_limit(wrong, number)
        found = numbers(said_of(answers["drives"], case.drivers), between=" ")
        cells = [str(n_runs), str(number), f"{wrong / number:.3f}", f"{limit:.3f}"]
        rows.append([name, *cells, found, f"{answers['seconds'].mean():.2f}"])
    return table(columns, rows)


def power_table(out: Path) -> str:
    """Return what is found of each kind."""
    columns = ["ensembles", "number", "found", "pair named", "wrong"]
    columns += ["nulls that do not matter", "wrongly so", "all covered"]
    rows = []
    for name, _, case, answers in measured(out, "power", POWER):
        nulls = [i for i in range(case.X.shape[1]) if i not in case.drivers]
        named = answers["pairs"].map(lambda pairs: ["x0", "x1"] in map(sorted, pairs))
        rows.append(
            [
                name,
                str(len(answers)),
                numbers(said_of(answers["drives"], case.drivers), between=" "),
                f"{named.mean():.2f}",
                f"{answers['wrong'].mean():.3f}",
                f"{np.mean(said_of(answers['nothing'], nulls)):.2f}",
                numbers(said_of(answers["nothing"], case.drivers), between=" "),
                f"{answers['covered'].mean():.2f}" if "covered" in answers else "",
            ]
        )
    return table(columns, rows)


def coverage_table(out: Path) -> str:
    """Return how often intervals hold the true shares."""
    columns = ["ensembles", "number", "all", "least", "width: drivers", "nulls"]
    every = chain(measured(out, "power", POWER), measured(out, "coverage", COVERAGE))
    rows = []
    for name, _, case, answers in every:
        if "covered" not in answers:
            continue
        inside = np.mean(answers["inside"].tolist(), axis=0)
        width = np.mean(answers["width"].tolist(), axis=0)[1]
        acts = np.isin(np.arange(len(width)), case.drivers)
        means = [f"{width[a].mean():.2f}" if a.any() else "" for a in (acts, ~acts)]
        cells = [f"{answers['covered'].mean():.2f}", f"{inside.min():.2f}"]
        rows.append([name, str(len(answers)), *cells, *means])
    return table(columns, rows)


def textbook_table(out: Path) -> str:
    """Return states and p-values beside those of the analysis of variance."""
    columns = ["design", "input", "state", "p (Holm)", "book", "total", "agrees"]
    rows = []
    for name, found in load(out / "textbook.json").items():
        verdict = "yes" if found["agrees"] else f"no: {found['why']}"
        for place, (label, one) in enumerate(found["inputs"].items()):
            cells = [label, one["state"], f"{one['p']:.2g}", one["book"]]
            cells += [f"{one['total']:.2f}"]
            ends = ("", "") if place else (name, verdict)
            rows.append([ends[0], *cells, ends[1]])
    return table(columns, rows)
