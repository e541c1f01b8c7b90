"""The tables of the comparison of fits.

Q² of every fit is clipped to [0, 1], and 0 where the fit failed. A cell is the mean
over the functions and seeds that ours has; a method that lacks some of them has a dash.
The interval of a difference is a bootstrap over functions × seeds, in pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd

from benchmarks.measuring import table

from .fits import METHODS, OURS, REMOVED
from .functions import FIRST_EIGHT, KEPT_BACK, NOTHING, OTHERS

N_RESAMPLES = 4000
UNIT = ["function", "seed"]


def page(rows: Iterable[dict[str, str]]) -> str:
    """Return the page of a record."""
    record = pd.DataFrame(rows)
    figures = ["n", "noise", "q2", "first", "total", "cpu"]
    record[figures] = record[figures].apply(pd.to_numeric)
    record["q2"] = record["q2"].clip(0, 1).fillna(0.0)
    measured = set(record["method"])
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
        found = record[record["function"].isin(known)]
        if len(found):
            parts += [f"## {title}\n", quality(found, names)]
            parts += ["Q² by function, over all cells:\n", by_function(found, names)]
            parts += [f"{losses(found, name)}\n" for name in names if name != OURS]
            for part in ("first", "total"):
                parts += [f"Mean error of {part}-order indices:\n"]
                parts += [means(found, names, part)]
    null = record[record["function"] == NOTHING.name]
    if len(null):
        parts += ["## Noise alone\n\nOne minus the share of the noise predicted:\n"]
        parts += [means(null, names, "q2")]
    parts += ["## CPU seconds of a fit, medians\n", seconds(record, names)]
    commits = sorted(set(record["commit"][record["method"] == OURS]))
    parts.append(f"Ours at commit {', '.join(commits)}.\n")
    return "\n".join(parts)


def cells(found: pd.DataFrame, figure: str) -> Iterator[tuple[list[str], pd.DataFrame]]:
    """Yield a figure cell by cell: a row a unit of ours, a column a complete method."""
    for (n, noise), cell in found.groupby(["n", "noise"]):
        counts = cell["method"].value_counts()
        first = OURS if OURS in counts else counts.index[0]
        units = pd.MultiIndex.from_frame(cell.loc[cell["method"] == first, UNIT])
        wide = cell.pivot(index=UNIT, columns="method", values=[figure, "failed"])
        wide = wide.reindex(units)
        complete = wide["failed"].notna().all()
        figures = wide[figure].loc[:, complete].astype(float)
        yield [str(n), f"{noise:g}"], figures


def shown(values: pd.Series, names: Sequence[str]) -> list[str]:
    """Return figures of methods, with a dash where there is none."""
    known = values.reindex(names)
    return ["–" if np.isnan(value) else f"{value:.3f}" for value in known]


def gain(difference: np.ndarray) -> str:
    """Return the mean of a difference, and its 95 % interval."""
    n = len(difference)
    rows = np.random.default_rng(0).integers(n, size=(N_RESAMPLES, n))
    low, high = np.percentile(difference[rows].mean(axis=1), [2.5, 97.5])
    return f"{difference.mean():+.3f} [{low:+.3f}, {high:+.3f}]"


def quality(found: pd.DataFrame, names: list[str]) -> str:
    """Mean clipped Q², and ours minus the best other, cell by cell."""
    lines = []
    for key, cell in cells(found, "q2"):
        mean = cell.mean()
        others = mean.reindex([name for name in names if name != OURS]).dropna()
        ends = ["–", "–"]
        if OURS in cell and len(others):
            best = others.idxmax()
            ends = [gain((cell[OURS] - cell[best]).to_numpy()), best]
        lines.append([*key, str(len(cell)), *shown(mean, names), *ends])
    columns = ["n", "noise", "fits", *names, "ours − best other", "best other"]
    return table(columns, lines)


def by_function(found: pd.DataFrame, names: list[str]) -> str:
    """Mean clipped Q² of every function over the cells that a method has whole."""
    every = pd.concat([cell for _, cell in cells(found, "q2")])
    mean = every.groupby("function", sort=False).mean()
    rows = [[function, *shown(row, names)] for function, row in mean.iterrows()]
    return table(["function", *names], rows)


def losses(found: pd.DataFrame, other: str, most: float = 0.02) -> str:
    """Say on how many functions of a cell ours is worse, in the mean over seeds."""
    wide = found.pivot(index=["n", "noise", *UNIT], columns="method", values="q2")
    pairs = wide.reindex(columns=[OURS, other]).dropna()
    gains = (pairs[OURS] - pairs[other]).groupby(["n", "noise", "function"]).mean()
    worse = gains[gains < -most].sort_values(kind="stable")
    words = [
        f"{name} ({n}, {noise:g}) {value:+.3f}"
        for (n, noise, name), value in worse.head(5).items()
    ]
    return (
        f"Ours is worse than {other} by more than {most:g} in {len(worse)} of "
        f"{len(gains)} cells of functions{': ' if words else ''}{'; '.join(words)}."
    )


def means(found: pd.DataFrame, names: list[str], figure: str) -> str:
    """Means over what did not fail, cell by cell."""
    lines = [[*key, *shown(cell.mean(), names)] for key, cell in cells(found, figure)]
    return table(["n", "noise", *names], lines)


def seconds(record: pd.DataFrame, names: list[str]) -> str:
    """Medians over functions, seeds and shares of noise, by number of samples."""
    middle = record.pivot_table("cpu", "n", "method", aggfunc="median")
    rows = [[str(n), *shown(row, names)] for n, row in middle.iterrows()]
    return table(["n", *names], rows)
