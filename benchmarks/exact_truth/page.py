"""Tables and picture of the comparison on exact truths.

Run: ``python -m benchmarks.exact_truth.page``; it reads the record and the tables of
the grids, and writes ``docs/downloads/exact_truth.txt`` and
``docs/images/exact_truth.png``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.measuring import table

from .__main__ import SIZES, lines, means, summary
from .grids import GRIDS, N_SEEDS
from .studies import DESIGNS, DUMMIES
from .tools import OURS, TOOLS
from .truth import exact, read

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "downloads" / "exact_truth.txt"
PICTURE = ROOT / "docs" / "images" / "exact_truth.png"
DRAWN = 100  # runs


def number(value: float | None, digits: int = 3) -> str:
    """Return a figure, or a dash."""
    return "–" if value is None else f"{value:.{digits}f}"


def by_size(record: dict[str, Any], name: str, digits: int = 3) -> str:
    """Return a figure of each tool at each number of runs."""
    found = {tool: [of[str(n)][name] for n in SIZES] for tool, of in record.items()}
    rows = [
        [tool, *(number(value, digits) for value in values)]
        for tool, values in found.items()
        if values != [None] * len(SIZES)
    ]
    return table(["tool", *(f"{n} runs" for n in SIZES)], rows)


def by_design(found: pd.DataFrame, name: str) -> str:
    """Return a figure of each tool for each way to draw the runs."""
    rows = []
    for tool in TOOLS:
        own = dict(list(found[found["tool"] == tool].groupby("design")))
        figures = [summary(own[design])[name] for design in DESIGNS]
        if figures != [None] * len(DESIGNS):
            rows.append([tool, *map(number, figures)])
    return table(["tool", *DESIGNS], rows)


def held(found: pd.DataFrame) -> str:
    """Return in how many studies all intervals of ours hold."""
    ours = dict(list(found[found["tool"] == OURS].groupby(["design", "n"])))
    rows = [
        [
            design,
            *(
                number(summary(ours[key])["held"], 2) if key in ours else "–"
                for key in ((design, str(n)) for n in SIZES)
            ),
        ]
        for design in DESIGNS
    ]
    return table(["design", *(f"{n} runs" for n in SIZES)], rows)


def first_size(record: dict[str, Any]) -> str:
    """Return from how many runs on a tool names the leading driver first."""
    rows = []
    for tool, sizes in record.items():
        shares = {n: sizes[str(n)]["leading_named"] or 0.0 for n in SIZES}
        enough = [str(n) for n, share in shares.items() if share >= 0.95]
        shown = [f"{share:.2f}" for share in shares.values()]
        rows.append([tool, *shown, *(enough[:1] or [f"more than {SIZES[-1]}"])])
    return table(["tool", *(f"{n} runs" for n in SIZES), "95 % from"], rows)


def truths() -> str:
    """Return the exact shares of the outputs of each grid."""
    rows = []
    for grid in GRIDS.values():
        size = f"{np.prod(grid.shape)} × {N_SEEDS}"
        for name, values in read(grid).items():
            truth = exact(values)
            shares = ", ".join(
                f"{own} {100 * total:.0f} ({100 * first:.0f})"
                for own, first, total in zip(
                    grid.inputs, truth.first, truth.total, strict=True
                )
            )
            rows.append([grid.name, size, name, shares, f"{100 * truth.seed:.0f}"])
    columns = ["grid", "trainings", "output", "in all (alone), %", "seed, %"]
    return table(columns, rows)


def text(found: pd.DataFrame) -> str:
    """Return the tables."""
    record = means(found)
    parts = ["<!-- Written by benchmarks.exact_truth.page; do not edit. -->\n"]
    for title, name, digits in (
        ("Drivers missed, of those with a share in all of .10 or more", "missed", 2),
        ("Share of the inputs that do nothing which are named", "dummies", 3),
        ("Error of shares in all", "error_total", 3),
        ("Error of shares alone", "error_first", 3),
        ("Rank agreement with shares in all (Kendall)", "rank", 2),
        ("CPU seconds, medians", "cpu_seconds", 2),
    ):
        parts += [f"## {title}\n", by_size(record, name, digits)]
    parts += ["## The leading driver is ranked first and named\n", first_size(record)]
    for title, name in (
        ("Drivers missed", "missed"),
        ("Inputs that do nothing, named", "dummies"),
        ("Error of shares in all", "error_total"),
        ("Error of shares alone", "error_first"),
    ):
        parts += [f"## {title}, by design\n", by_design(found, name)]
    parts += ["## Studies in which all of our intervals hold\n", held(found)]
    parts += ["## The truth\n", truths()]
    return "\n".join(parts)


def draw(record: dict[str, Any], path: Path) -> None:
    """Draw what each tool misses, and what it names that does nothing."""
    from matplotlib.figure import Figure

    own = pd.DataFrame({tool: of[str(DRAWN)] for tool, of in record.items()}).T
    order = np.argsort(-(own["missed"] + 3 * own["dummies"]), kind="stable")
    own = own.iloc[order]
    colors = ["#0072b2" if tool == OURS else "#9a9a9a" for tool in own.index]
    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    named = f"named, but do nothing (of {len(DUMMIES)})"
    for axes, values, title in (
        (left, own["missed"], "drivers missed"),
        (right, len(DUMMIES) * own["dummies"], named),
    ):
        bars = axes.barh(own.index, values, color=colors)
        axes.bar_label(bars, fmt="%.1f", padding=3, fontsize=8)
        axes.set_xlim(0, 1.2 * max(values))
        axes.set_title(title, fontsize=10, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    drivers = own["drivers"][OURS]
    left.set_xlabel(f"mean number, of {drivers:.1f}", fontsize=8)
    right.set_xlabel("mean number", fontsize=8)
    figure.savefig(path, dpi=140)


def main() -> None:
    """Write tables and picture."""
    found = lines()
    PAGE.write_text(text(found), encoding="utf-8")
    draw(means(found), PICTURE)


if __name__ == "__main__":
    main()
