"""Components of variance: errors, coverage, level, time, and REML beside them.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.answer.components --write
docs/downloads/variance_components.txt``. Tables are simulated, so that the components
are known. ``--large`` takes 20 million rows too (some minutes, 8 GB). REML is that of
statsmodels, where it is installed.
"""

from __future__ import annotations

import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import numbers, options, publish, table
from skpce import variance_components

ITEMS, PROMPTS = 30, 5
#: Standard deviations of items, prompts and the residual.
SETTINGS = {
    "all act": (1.0, 0.5, 1.0),
    "prompts do nothing": (1.0, 0.0, 1.0),
    "items do nothing": (0.0, 0.5, 1.0),
    "both are weak": (0.3, 0.2, 1.0),
    "neither does anything": (0.0, 0.0, 1.0),
}
KINDS = ("balanced", "a third missing", "right or wrong", "heavy tails")


def simulated(kind: str, deviations: Any, seed: int) -> dict[str, Any]:
    """Return a table of items crossed with prompts."""
    rng = np.random.default_rng(seed)
    item, prompt = np.divmod(np.arange(ITEMS * PROMPTS), PROMPTS)
    heavy = kind == "heavy tails"
    error = rng.standard_t(4, len(item)) / np.sqrt(2) if heavy else None
    y = deviations[0] * rng.normal(size=ITEMS)[item]
    y = y + deviations[1] * rng.normal(size=PROMPTS)[prompt]
    y = y + deviations[2] * (rng.normal(size=len(item)) if error is None else error)
    if kind == "right or wrong":
        y = (y > 0).astype(float)
    table = {"item": item, "prompt": prompt, "score": y}
    if kind == "a third missing":
        kept = rng.random(len(item)) > 1 / 3
        table = {name: values[kept] for name, values in table.items()}
    return table


def asked(table: dict[str, Any]) -> Any:
    """Ask for the components of items and prompts."""
    return variance_components(table, "score", random=["item", "prompt"])


def coverage(number: int) -> str:
    """Return how often intervals hold, and what is named."""
    rows = []
    for kind, (name, deviations) in product(KINDS, SETTINGS.items()):
        truth = np.square(deviations)
        share = truth / truth.sum()
        every = [asked(simulated(kind, deviations, seed)) for seed in range(number)]
        held = [(f.variance_low <= truth) & (truth <= f.variance_high) for f in every]
        of_shares = [(f.share_low <= share) & (share <= f.share_high) for f in every]
        named = [f.supported[:2] for f in every]
        words = [
            numbers(np.mean(part, axis=0), between=" ")
            for part in (held, of_shares, named)
        ]
        if kind == "right or wrong":  # on another scale than the truth
            words[:2] = "–", "–"
        rows.append([kind, name, *words])
    columns = ["table", "components", "held: items, prompts, residual", "held: shares"]
    return table([*columns, "named: items, prompts"], rows)


def sizes(large: bool) -> str:
    """Return times and errors by the number of rows."""
    cells = [(10_000, 500, 50), (73_000, 3000, 1100), (1_000_000, 30_000, 1000)]
    if large:
        cells.append((20_000_000, 100_000, 10_000))
    rows = []
    for n_rows, n_items, n_judges in cells:
        rng = np.random.default_rng(0)
        item, judge = (rng.integers(n, size=n_rows) for n in (n_items, n_judges))
        y = rng.normal(size=n_items)[item] + 0.5 * rng.normal(size=n_judges)[judge]
        score = y + rng.normal(size=n_rows)
        start = time.process_time()
        found = asked({"item": item, "prompt": judge, "score": score})
        spent = f"{time.process_time() - start:.2f}"
        counts = [f"{n:,}" for n in (n_rows, n_items, n_judges)]
        rows.append([*counts, spent, numbers(found.variance, 3, ", ")])
    columns = ["rows", "items", "judges", "CPU s", "found (true: 1, .25, 1)"]
    return table(columns, rows)


def reml(number: int) -> str:
    """Return the largest differences to REML, and both times."""
    try:
        import pandas as pd
        import statsmodels.formula.api as smf
    except ImportError:
        return "statsmodels is not installed."
    rows, parts = [], {"item": "0 + C(item)", "prompt": "0 + C(prompt)"}
    for kind in ("balanced", "a third missing"):
        differences, times = [], np.zeros(2)
        for seed in range(number):
            scores = simulated(kind, SETTINGS["all act"], seed)
            frame = pd.DataFrame(scores | {"all": 1})
            start = time.process_time()
            fitted = smf.mixedlm(
                "score ~ 1", frame, groups="all", re_formula="0", vc_formula=parts
            ).fit(reml=True)
            middle = time.process_time()
            found = asked(scores)
            times += middle - start, time.process_time() - middle
            other = [*fitted.vcomp, fitted.scale]
            differences.append(np.abs(found.variance - other).max())
        shown = f"{np.median(differences):.1g}, {max(differences):.1g}"
        rows.append([kind, shown, *(f"{value:.3f}" for value in times / number)])
    columns = ["table", "difference of a component: median, largest"]
    return table([*columns, "CPU s: REML", "ours"], rows)


def main() -> None:
    """Measure, and print or write the page."""
    given = options(__doc__, number=400, large=False, write=Path)
    named = ", ".join(f"{name} {value}" for name, value in SETTINGS.items())
    text = f"""<!-- Written by benchmarks/answer/components.py; do not edit. -->

# Components of variance, measured

`python -m benchmarks.answer.components`. Simulated tables of {ITEMS} items crossed
with {PROMPTS} prompts, {given.number} of each kind; standard deviations of items,
prompts and residual: {named}.

## Intervals of 95 %, and what is named (Holm, 5 %)

{coverage(given.number)}

## Large tables

{sizes(given.large)}

## REML of statsmodels beside it

{reml(min(given.number, 20))}
"""
    publish(text, given.write)


if __name__ == "__main__":
    main()
