"""The exact answer of a complete grid, by arithmetic.

A run is a setting, drawn with equal probabilities from the grid, and a seed. With all
settings of the grid, shares of the variance of its output follow from means over the
levels. Seeds are draws: squares of means over S of them contain a part of what differs
between seeds. Products of two different seeds do not, so their mean takes the place of
a square (a U-statistic, exact where seeds change nothing and without bias elsewhere).
"""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .grids import N_SEEDS, Grid

FloatArray = NDArray[np.float64]
TABLES = Path(__file__).parent / "tables"


@dataclass(frozen=True)
class Truth:
    """Shares of the variance of a run's output.

    Attributes
    ----------
    first, total : ndarray of shape (n_inputs,)
        What an input explains alone, and in all with the others.
    pairs : ndarray of shape (n_inputs, n_inputs)
        What two inputs explain only together; symmetric, 0 on the diagonal.
    seed : float
        What differs between seeds of the same setting.
    """

    first: FloatArray
    total: FloatArray
    pairs: FloatArray
    seed: float

    def between_settings(self) -> Truth:
        """Return shares of the variance between settings, without that of seeds."""
        scale = 1 / (1 - self.seed)
        return Truth(self.first * scale, self.total * scale, self.pairs * scale, 0.0)


def table_of(grid: Grid) -> Path:
    """Return where the lines of a complete grid are."""
    return TABLES / f"{grid.name.replace(' ', '_')}.csv.gz"


def read(grid: Grid) -> dict[str, FloatArray]:
    """Return the outputs of a grid, each of shape (levels ..., n_seeds)."""
    with gzip.open(table_of(grid), "rt", encoding="utf-8", newline="") as file:
        head, *lines = csv.reader(file)
    n_given = len(grid.inputs) + 1
    values = np.array([line[n_given:] for line in lines], dtype=float)
    shape = (*grid.shape, N_SEEDS)
    return {
        name: column.reshape(shape)
        for name, column in zip(head[n_given:], values.T, strict=True)
    }


def exact(values: FloatArray) -> Truth:
    """Return the shares of an output given for all levels and seeds."""
    *shape, n_seeds = values.shape
    n_inputs = len(shape)
    values = values - values.mean()

    def squared(inputs: tuple[int, ...]) -> float:
        """Return the mean square of the means over all other inputs."""
        others = tuple(k for k in range(n_inputs) if k not in inputs)
        means = values.mean(axis=others, keepdims=True)
        if n_seeds == 1:
            return float(np.square(means).mean())
        products = np.square(means.sum(axis=-1)) - np.square(means).sum(axis=-1)
        return float(products.mean() / (n_seeds * (n_seeds - 1)))

    nothing = squared(())

    def explained(inputs: tuple[int, ...]) -> float:
        return squared(inputs) - nothing

    everything = tuple(range(n_inputs))
    settings = explained(everything)
    variance = float(np.square(values).mean()) - nothing
    first = np.array([explained((k,)) for k in everything])
    rest = [explained(tuple(i for i in everything if i != k)) for k in everything]
    pairs = np.zeros((n_inputs, n_inputs))
    for i, j in combinations(everything, 2):
        pairs[i, j] = pairs[j, i] = explained((i, j)) - first[i] - first[j]
    return Truth(
        first / variance,
        (settings - np.array(rest)) / variance,
        pairs / variance,
        1 - settings / variance,
    )
