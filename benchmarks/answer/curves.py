"""Drivers along an axis: errors, bands, and where inputs begin to matter.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.answer.curves --write
docs/downloads/curves.txt``. Curves are simulated, with errors that hang together along
the axis (a correlation of .95 between neighbours), so that shares and starts are known.
Beside it: each point tested alone, by Bonferroni's correction for all points and
inputs.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import skpce
from benchmarks.measuring import options, publish, table
from skpce.drivers import Design
from skpce.drivers._curves import adjusted_for_families
from skpce.drivers._exchange import Inputs, Problem

N_INPUTS, N_POINTS, START = 5, 12, 4
AXIS = np.arange(1, N_POINTS + 1)
#: Runs, size of the early and late effects, errors whose spread follows a null input.
KINDS = {
    "nothing acts, 60 runs": (60, 0.0, False),
    "nothing acts, the spread follows an input, 60 runs": (60, 0.0, True),
    "two inputs act, 60 runs": (60, 1.0, False),
    "two inputs act weakly, 120 runs": (120, 0.5, False),
}


def simulated(kind: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return inputs, curves, and shares alone and in all, (n_inputs, n_points).

    The first input begins to act after ``START``, then more and more; the second acts
    less and less, to nothing at the end; both act together late.
    """
    n_runs, size, grows = KINDS[kind]
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_runs, N_INPUTS))
    late = size * 1.5 * np.maximum(AXIS - START, 0) / (N_POINTS - START)
    early, both = size * (N_POINTS - AXIS) / (N_POINTS - 1), 0.25 * late
    errors = np.empty((n_runs, N_POINTS))
    errors[:, 0] = rng.normal(size=n_runs)
    for at in range(1, N_POINTS):
        new = np.sqrt(1 - 0.95**2) * rng.normal(size=n_runs)
        errors[:, at] = 0.95 * errors[:, at - 1] + new
    if grows:
        errors *= 0.3 + 2 * X[:, [-1]]
    a, b = (np.sqrt(12) * (X[:, [k]] - 0.5) for k in (0, 1))
    Y = 0.5 * errors + a * late + b * early + a * b * both
    whole = 0.25 + late**2 + early**2 + both**2
    alone, total = np.zeros((2, N_INPUTS, N_POINTS))
    alone[:2] = late**2 / whole, early**2 / whole
    total[:2] = alone[:2] + both**2 / whole
    return X, Y, alone, total


_BEGINS = "begins", "begins_each"


def wrong(kind: str, seed: int) -> bool:
    """Whether something is shown where nothing acts."""
    X, Y, _, _ = simulated(kind, seed)
    inputs = Inputs.of(X, np.zeros(N_INPUTS, dtype=bool))
    members = tuple((k,) for k in range(N_INPUTS))
    given = np.arange(N_POINTS), Design.of(X), members, 2 * N_INPUTS
    problem = Problem(inputs, Y, *given)
    found = np.array([problem.p_values_of_all(row) for row in range(N_INPUTS)])
    return bool((adjusted_for_families(found) <= 0.05).any())


def measured(kind: str, seed: int) -> dict[str, float]:
    """Return what is found where two inputs act."""
    X, Y, alone, total = simulated(kind, seed)
    answer = skpce.explain(X, Y)
    started = time.process_time()
    found = answer.over(AXIS)
    seconds = time.process_time() - started
    drivers, cells = answer.drivers, N_INPUTS * N_POINTS
    location = answer.findings.tested.location
    acts: Any = total > 0
    each: Any = np.array(location).T * cells <= 0.05
    ours: Any = found.p_value <= 0.05
    bands = (
        (found.first_low, alone, found.first_high),
        (found.total_low, total, found.total_high),
    )
    of_points = (
        (drivers.first_low.T, alone, drivers.first_high.T),
        (drivers.total_low.T, total, drivers.total_high.T),
    )
    row = {
        "wrong": (ours & ~acts).any(),
        "bands": all(((a <= b) & (b <= c)).all() for a, b, c in bands),
        "of_points": all(((a <= b) & (b <= c)).all() for a, b, c in of_points),
        "width": (found.total_high - found.total_low)[:2].mean(),
        "seconds": seconds,
        "power": ours[acts].mean(),
        "power_each": each[acts].mean(),
        "both": ours.any(axis=1)[:2].all(),
    }
    for name, shown in zip(_BEGINS, (ours, each), strict=True):
        row[name] = AXIS[shown[0].argmax()] if shown[0].any() else np.nan
    return {key: float(value) for key, value in row.items()}


def tables(number: int) -> str:
    """Return the tables of simulated curves."""
    errors, bands, power = [], [], []
    for kind, (_, size, _) in KINDS.items():
        if not size:
            share = np.mean([wrong(kind, seed) for seed in range(4 * number)])
            errors.append([kind, str(4 * number), f"{share:.3f}"])
            continue
        row = pd.DataFrame([measured(kind, seed) for seed in range(number)])
        mean = row.mean()
        errors.append([kind, str(number), f"{mean['wrong']:.3f}"])
        shown = [f"{mean[name]:.2f}" for name in ("bands", "of_points", "width")]
        bands.append([kind, *shown, f"{mean['seconds']:.1f}"])
        shown = [f"{mean[name]:.2f}" for name in ("power", "power_each", "both")]
        shown += [
            "{1:g} ({0:g} to {2:g})".format(*row[name].quantile([0.25, 0.5, 0.75]))
            for name in _BEGINS
        ]
        power.append([kind, *shown, f"{(row['begins'] <= START).mean():.3f}"])
    columns = ["curves", "points shown", "alone", "both inputs named"]
    columns += ["begins at (quartiles)", "alone", "too early"]
    held = ["bands hold", "intervals of each point hold at all", "width", "CPU-seconds"]
    parts = [
        f"## Simulated curves: {N_INPUTS} inputs, {N_POINTS} points\n",
        table(["curves", "ensembles", "wrong somewhere"], errors),
        "Intervals of all inputs and points together, 90 % intended; width of totals "
        "of the two inputs.\n",
        table(["curves", *held], bands),
        f"Power; the first input acts from {START + 1} on, at first with a share of "
        "the variance near 0. *Alone*: each point by itself, Bonferroni's correction."
        "\n",
        table(columns, power),
    ]
    return "\n".join(parts)


def main() -> None:
    """Measure, and print or write the page."""
    arguments = options(__doc__, ensembles=20, write=Path)
    text = f"# Drivers along an axis\n\n{tables(arguments.ensembles)}"
    publish(text, arguments.write)


if __name__ == "__main__":
    main()
