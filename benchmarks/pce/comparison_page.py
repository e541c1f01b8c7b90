"""The tables of the comparison of fits.

Q² of every fit is clipped to [0, 1], and 0 where the fit failed. A cell is the mean
over the functions and seeds that ours has; a method that lacks some of them has a dash.
The interval of a difference is a bootstrap over functions × seeds, in pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import table

from .fits import METHODS, OURS, REMOVED
from .functions import FIRST_EIGHT, KEPT_BACK, NOTHING, OTHERS

FloatArray = NDArray[np.float64]
Unit = tuple[str, str]
#: (n, noise) to method to (function, seed) to the line of the record.
Cells = dict[tuple[int, float], dict[str, dict[Unit, dict[str, str]]]]
N_RESAMPLES = 4000


def page(rows: Iterable[dict[str, str]]) -> str:
    """Return the page of a record."""
    rows = list(rows)
    measured = {row["method"] for row in rows}
    names = [name for name in (*METHODS, *REMOVED) if name in measured]
    parts = ["<!-- Written by benchmarks.pce.comparison; do not edit. -->\n"]
    parts.append((__doc__ or "").split("\n\n", 1)[1])
    groups = {
        "The first eight functions": FIRST_EIGHT,
        "All but those kept back": FIRST_EIGHT + OTHERS,
        "Kept back": KEPT_BACK,
    }
    for title, functions in groups.items():
        known = {function.name for function in functions if function is not NOTHING}
        found = cells(row for row in rows if row["function"] in known)
        if found:
            parts += [f"## {title}\n", quality(found, names)]
            parts += ["Q² by function, over all cells:\n", by_function(found, names)]
            parts += [f"{losses(found, name)}\n" for name in names if name != OURS]
            for part in ("first", "total"):
                parts += [f"Mean error of {part}-order indices:\n"]
                parts += [means(found, names, lambda row, part=part: number(row[part]))]
    null = cells(row for row in rows if row["function"] == NOTHING.name)
    if null:
        parts += ["## Noise alone\n\nOne minus the share of the noise predicted:\n"]
        parts += [means(null, names, clipped)]
    parts += ["## CPU seconds of a fit, medians\n", seconds(cells(rows), names)]
    commits = sorted({row["commit"] for row in rows if row["method"] == OURS})
    parts.append(f"Ours at commit {', '.join(commits)}.\n")
    return "\n".join(parts)


def cells(rows: Iterable[dict[str, str]]) -> Cells:
    """Return the lines by cell, method and unit, in the order of the cells."""
    found: Cells = {}
    for row in rows:
        cell = found.setdefault((int(row["n"]), float(row["noise"])), {})
        cell.setdefault(row["method"], {})[row["function"], row["seed"]] = row
    return dict(sorted(found.items()))


def number(text: str) -> float:
    """Read a number; NaN where there is none."""
    return float(text) if text else np.nan


def clipped(row: dict[str, str]) -> float:
    """Q² between 0 and 1."""
    return float(np.clip(np.nan_to_num(number(row["q2"]), nan=0.0), 0, 1))


def values(
    cell: dict[str, dict[Unit, dict[str, str]]], read: Callable[[Any], float]
) -> dict[str, FloatArray]:
    """Return what is read by method, in the same order of units for all."""
    units = list(cell.get(OURS) or max(cell.values(), key=len))
    return {
        name: np.array([read(lines[unit]) for unit in units])
        for name, lines in cell.items()
        if all(unit in lines for unit in units)
    }


def gain(found: dict[str, FloatArray], other: str) -> tuple[float, float, float]:
    """Return the mean of ours minus another's, and its 95 % interval."""
    difference = found[OURS] - found[other]
    rows = np.random.default_rng(0).integers(
        len(difference), size=(N_RESAMPLES, len(difference))
    )
    low, high = np.percentile(difference[rows].mean(axis=1), [2.5, 97.5])
    return float(difference.mean()), float(low), float(high)


def quality(found: Cells, names: list[str]) -> str:
    """Mean clipped Q², and ours minus the best other, cell by cell."""
    lines = []
    for (n, noise), cell in found.items():
        read = values(cell, clipped)
        line = [str(n), f"{noise:g}", str(len(next(iter(read.values()))))]
        line += [f"{read[name].mean():.3f}" if name in read else "–" for name in names]
        others = {name: read[name].mean() for name in read if name != OURS}
        if OURS in read and others:
            best = max(others, key=lambda name: others[name])
            mean, low, high = gain(read, best)
            line += [f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]", best]
        else:
            line += ["–", "–"]
        lines.append(line)
    columns = ["n", "noise", "fits", *names, "ours − best other", "best other"]
    return table(columns, lines)


def by_function(found: Cells, names: list[str]) -> str:
    """Mean clipped Q² of every function over the cells that a method has whole."""
    collected: dict[str, dict[str, list[float]]] = {}
    for cell in found.values():
        for name in values(cell, clipped):
            for (function, _), row in cell[name].items():
                places = collected.setdefault(function, {})
                places.setdefault(name, []).append(clipped(row))
    rows = [
        [
            function,
            *(f"{np.mean(read[name]):.3f}" if name in read else "–" for name in names),
        ]
        for function, read in collected.items()
    ]
    return table(["function", *names], rows)


def losses(found: Cells, other: str, most: float = 0.02) -> str:
    """Say on how many functions of a cell ours is worse, in the mean over seeds."""
    worse, n_places = [], 0
    for (n, noise), cell in found.items():
        pairs: dict[str, list[float]] = {}
        for unit in set(cell.get(OURS, ())) & set(cell.get(other, ())):
            ours, theirs = (clipped(cell[name][unit]) for name in (OURS, other))
            pairs.setdefault(unit[0], []).append(ours - theirs)
        n_places += len(pairs)
        worse += [
            (np.mean(both), f"{name} ({n}, {noise:g}) {np.mean(both):+.3f}")
            for name, both in pairs.items()
            if np.mean(both) < -most
        ]
    shown = "; ".join(text for _, text in sorted(worse)[:5])
    return (
        f"Ours is worse than {other} by more than {most:g} in {len(worse)} of "
        f"{n_places} cells of functions{': ' if shown else ''}{shown}."
    )


def means(found: Cells, names: list[str], read: Callable[[Any], float]) -> str:
    """Means over what did not fail, cell by cell."""
    lines = []
    for (n, noise), cell in found.items():
        known = values(cell, read)
        shown = {
            name: f"{np.nanmean(numbers):.3f}"
            for name, numbers in known.items()
            if not np.isnan(numbers).all()
        }
        lines.append([str(n), f"{noise:g}", *(shown.get(name, "–") for name in names)])
    return table(["n", "noise", *names], lines)


def seconds(found: Cells, names: list[str]) -> str:
    """Medians over functions, seeds and shares of noise, by number of samples."""
    lines = []
    for n in sorted({n for n, _ in found}):
        line = [str(n)]
        for name in names:
            spent = [
                number(row["cpu"])
                for (size, _), cell in found.items()
                for row in cell.get(name, {}).values()
                if size == n and row["cpu"]
            ]
            line.append(f"{np.median(spent):.3f}" if spent else "–")
        lines.append(line)
    return table(["n", *names], lines)
