"""The page of tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta

from benchmarks.measuring import load, table

from .ensembles import COVERAGE, KINDS, POWER


def upper_limit(wrong: int, number: int) -> float:
    """Return the upper 95 % limit of a rate (Clopper and Pearson, one-sided)."""
    return 1.0 if wrong == number else float(beta.ppf(0.95, wrong + 1, number - wrong))


def page(out: Path) -> str:
    """Return the whole page."""
    same = load(out / "stability.json")
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


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def error_table(out: Path) -> str:
    """Return the error rate of each kind."""
    columns = ["ensembles", "runs", "number", "wrong", "limit", "found", "CPU-s"]
    rows = []
    for name, (n_runs, make) in KINDS.items():
        lines = _lines(out / f"error, {name}.jsonl")
        if not lines:
            continue
        drivers = make(n_runs, np.random.default_rng(0)).drivers
        wrong = sum(one["wrong"] or one["wrong pair"] for one in lines)
        found = " ".join(
            f"{np.mean([f'x{i}' in one['drives'] for one in lines]):.2f}"
            for i in drivers
        )
        rows.append(
            [
                name,
                str(n_runs),
                str(len(lines)),
                f"{wrong / len(lines):.3f}",
                f"{upper_limit(wrong, len(lines)):.3f}",
                found,
                f"{np.mean([one['seconds'] for one in lines]):.2f}",
            ]
        )
    return table(columns, rows)


def power_table(out: Path) -> str:
    """Return what is found of each kind."""
    columns = ["ensembles", "number", "found", "pair named", "wrong"]
    columns += ["nulls that do not matter", "wrongly so", "all covered"]
    rows = []
    for name, (n_runs, make) in POWER.items():
        lines = _lines(out / f"power, {name}.jsonl")
        if not lines:
            continue
        case = make(n_runs, np.random.default_rng(0))
        nulls = [i for i in range(case.X.shape[1]) if i not in case.drivers]
        named = [{"x0", "x1"} in map(set, one["pairs"]) for one in lines]
        rows.append(
            [
                name,
                str(len(lines)),
                _share_of(lines, "drives", case.drivers),
                f"{np.mean(named):.2f}",
                f"{np.mean([o['wrong'] or o['wrong pair'] for o in lines]):.3f}",
                f"{np.mean([_among(o['nothing'], nulls) for o in lines]):.2f}",
                _share_of(lines, "nothing", case.drivers),
                _covered(lines),
            ]
        )
    return table(columns, rows)


def coverage_table(out: Path) -> str:
    """Return how often intervals hold the true shares."""
    columns = ["ensembles", "number", "all", "least", "width: drivers", "nulls"]
    rows = []
    for part, kinds in (("power", POWER), ("coverage", COVERAGE)):
        for name, (n_runs, make) in kinds.items():
            lines = _lines(out / f"{part}, {name}.jsonl")
            if not lines or "covered" not in lines[0]:
                continue
            drivers = make(n_runs, np.random.default_rng(0)).drivers
            inside = np.mean([one["inside"] for one in lines], axis=0)
            width = np.mean([one["width"] for one in lines], axis=0)[1]
            acts = np.isin(np.arange(len(width)), drivers)
            means = [f"{width[a].mean():.2f}" if a.any() else "" for a in (acts, ~acts)]
            covered = np.mean([one["covered"] for one in lines])
            cells = [str(len(lines)), f"{covered:.2f}", f"{inside.min():.2f}"]
            rows.append([name, *cells, *means])
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


def _share_of(lines: list[dict[str, Any]], key: str, inputs: tuple[int, ...]) -> str:
    return " ".join(
        f"{np.mean([f'x{i}' in one[key] for one in lines]):.2f}" for i in inputs
    )


def _among(names: list[str], inputs: list[int]) -> float:
    return float(np.mean([f"x{i}" in names for i in inputs]))


def _covered(lines: list[dict[str, Any]]) -> str:
    known = [one["covered"] for one in lines if "covered" in one]
    return f"{np.mean(known):.2f}" if known else ""
