"""The page of tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.measuring import table

from .measure import LAWS, LEVELS

TOLERANCE = 0.03

_HEAD = """<!-- Written by benchmarks/calibration; do not edit. -->

Made by `{command}` with numpy {numpy}, scipy {scipy}, scikit-learn {sklearn}.
Coverage is the mean over action-step pairs, held-out members and {n_draws} draws of the
ensemble, ± the standard deviation between draws; in bold further than {tolerance} from
nominal. *off*: draws in which some level is. *step*: the distance of the worst step
of a draw, mean over draws. *width*: of 90 % intervals; width and CRPS in probability.
"""


def page(results: dict[str, Any]) -> str:
    """Return the whole page; results as they are stored."""
    first = next(iter(results["draws"].values()))
    head = _HEAD.format(
        **results["record"],
        n_draws=len(next(iter(first.values()))),
        tolerance=TOLERANCE,
    )
    parts = [head]
    for n_fit in results["members"]:
        parts.append(f"### {n_fit} members to fit\n")
        parts.append(coverage_table(results["draws"], str(n_fit)))
    return "\n".join(parts)


def coverage_table(draws: dict[str, Any], n_fit: str) -> str:
    """Return the intervals of every ensemble, fitted to so many members."""
    columns = ["ensemble", "interval", *(f"{level:.0%}" for level in LEVELS)]
    columns += ["off", "step", "width", "CRPS"]
    rows = []
    for name, by_size in draws.items():
        runs = by_size[n_fit]
        for i, law in enumerate(LAWS):
            found = [run["laws"][law] for run in runs]
            coverage = np.array([one["coverage"] for one in found])
            spread = coverage.std(axis=0, ddof=1)
            cells = [
                _marked(mean, level, deviation)
                for mean, level, deviation in zip(
                    coverage.mean(axis=0), LEVELS, spread, strict=True
                )
            ]
            missed = np.abs(coverage - LEVELS).max(axis=1) > TOLERANCE
            width = np.mean([one["width"] for one in found], axis=0)
            rows.append(
                [
                    _described(name, runs) if i == 0 else "",
                    law,
                    *cells,
                    str(int(missed.sum())),
                    f"{np.mean([one['worst_step'] for one in found]):.2f}",
                    f"{width[LEVELS.index(0.9)]:.3f}",
                    f"{np.mean([one['crps'] for one in found]):.4f}",
                ]
            )
    return table(columns, rows)


def _marked(mean: float, level: float, deviation: float) -> str:
    """Return a coverage; in bold when its mean is not within the tolerance."""
    text = f"{mean:.3f}"
    if abs(mean - level) > TOLERANCE:
        text = f"**{text}**"
    return f"{text} ± {deviation:.3f}"


def _described(name: str, runs: list[dict[str, Any]]) -> str:
    q2 = np.mean([run["loo_q2"] for run in runs], axis=0)
    return f"{name} ({runs[0]['n_terms']} terms; Q² {q2.min():.2f} to {q2.max():.2f})"
