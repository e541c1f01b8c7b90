"""Studies that somebody could have done, drawn from the complete grids.

A study is some runs of a grid, with three inputs more that do nothing: a number, a
whole number and a label. Each run has one seed, drawn at random.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from .grids import N_SEEDS, Grid
from .truth import Truth, exact

FloatArray = NDArray[np.float64]
#: Inputs that do nothing.
DUMMIES: Mapping[str, tuple[Any, ...]] = {
    "momentum": tuple(round(0.05 * k, 2) for k in range(20)),
    "workers": (1, 2, 3, 4, 5, 6, 7, 8),
    "host": ("a", "b", "c"),
}


@dataclass(frozen=True)
class Study:
    """Runs of a grid.

    Attributes
    ----------
    levels : mapping of str to tuple
        Of the inputs, those that do nothing last.
    log : tuple of str
        Inputs whose logarithms are to be taken.
    places : ndarray of shape (n_runs, n_inputs), int
        The level of each input.
    y : ndarray of shape (n_runs,)
        The output; NaN where a run failed.
    truth : Truth
        Of the inputs that do something: all levels, all seeds.
    adaptive : bool
        Whether later runs were chosen by what earlier ones gave.
    """

    levels: Mapping[str, tuple[Any, ...]]
    log: tuple[str, ...]
    places: NDArray[np.intp]
    y: FloatArray
    truth: Truth
    adaptive: bool = False

    def table(self) -> dict[str, Any]:
        """Return the runs as columns, ``y`` last."""
        columns = {
            name: [own[k] for k in self.places[:, j]]
            for j, (name, own) in enumerate(self.levels.items())
        }
        return columns | {"y": self.y}

    def is_label(self) -> list[bool]:
        """Return which inputs are labels."""
        return [isinstance(own[0], str) for own in self.levels.values()]

    def axis(self, j: int) -> FloatArray:
        """Return the levels of an input as numbers; of a label, their places."""
        name, own = list(self.levels.items())[j]
        if isinstance(own[0], str):
            return np.arange(len(own), dtype=float)
        return np.log10(own) if name in self.log else np.asarray(own, dtype=float)

    def numbers(self, places: NDArray[np.intp]) -> FloatArray:
        """Return runs as numbers."""
        columns = [self.axis(j)[own] for j, own in enumerate(places.T)]
        return np.column_stack(columns)

    def finished(self) -> Study:
        """Return the runs that did not fail."""
        kept = np.isfinite(self.y)
        return replace(self, places=self.places[kept], y=self.y[kept])


Draw = Callable[[Mapping[str, tuple[Any, ...]], int, np.random.Generator], Any]


def at_random(levels: Mapping[str, Any], n: int, rng: np.random.Generator) -> Any:
    """Draw every level by itself."""
    return np.stack([rng.integers(len(own), size=n) for own in levels.values()], axis=1)


def spread(make: Callable[[int, int, np.random.Generator], Any]) -> Draw:
    """Return a draw of points that fill space, each moved to its level."""

    def draw(levels: Mapping[str, Any], n: int, rng: np.random.Generator) -> Any:
        sizes = np.array([len(own) for own in levels.values()])
        points = make(len(sizes), n, rng)
        return np.minimum((points * sizes).astype(int), sizes - 1)

    return draw


def subset(
    levels: Mapping[str, Any], n: int, rng: np.random.Generator
) -> list[NDArray[np.intp]]:
    """Choose levels of each input that make at most ``n`` runs when crossed.

    Inputs get one level more in turn, in a random order; the ends are among them.
    """
    kept = np.ones(len(levels), dtype=int)
    sizes = np.array([len(own) for own in levels.values()])
    while True:
        more = [
            k
            for k in np.argsort(kept + rng.random(len(kept)))
            if kept[k] < sizes[k] and np.prod(kept) // kept[k] * (kept[k] + 1) <= n
        ]
        if not more:
            break
        kept[more[0]] += 1
    return [
        rng.integers(size, size=1)
        if number == 1
        else np.linspace(0, size - 1, number).round().astype(int)
        for size, number in zip(sizes, kept, strict=True)
    ]


def tree_parzen(
    levels: Mapping[str, Any], n: int, evaluate: Callable[[Any], float], seed: int
) -> Any:
    """Let Optuna's sampler choose one run after another, to make the output small."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    names = list(levels)

    def objective(trial: Any) -> float:
        places = [
            levels[name].index(trial.suggest_categorical(name, levels[name]))
            if isinstance(levels[name][0], str)
            else trial.suggest_int(name, 0, len(levels[name]) - 1)
            for name in names
        ]
        trial.set_user_attr("places", places)
        return evaluate(places)

    study.optimize(objective, n_trials=n)
    return np.array([trial.user_attrs["places"] for trial in study.trials])


DESIGNS: Mapping[str, Draw | None] = {
    "random": at_random,
    "Sobol": spread(
        lambda d, n, rng: qmc.Sobol(d, rng=rng).random_base2((n - 1).bit_length())[:n]
    ),
    "latin hypercube": spread(
        lambda d, n, rng: qmc.LatinHypercube(d, rng=rng).random(n)
    ),
    "failed runs": at_random,
    "grid": None,
    "TPE": None,
}


def draw(
    grid: Grid,
    values: Mapping[str, FloatArray],
    output: str,
    design: str,
    n: int,
    repeat: int,
) -> Study:
    """Draw a study of ``n`` runs.

    TPE makes the first output small, whichever is looked at. Of failed runs one in
    seven has no output. A grid crosses some levels, in at most ``n`` runs: its truth is
    that of these levels; an input with one level takes no part, and those that do
    nothing are drawn at random.
    """
    name = f"{grid.name}, {design}, {n}, {repeat}"
    seed = zlib.crc32(name.encode())
    rng = np.random.default_rng(seed)
    own = dict(grid.inputs)
    outputs = {key: values[key] for key in (next(iter(values)), output)}
    places = None
    if design == "grid":
        axes = subset(own, n, rng)
        outputs = {
            key: table[np.ix_(*axes, range(N_SEEDS))] for key, table in outputs.items()
        }
        varied = [k for k, axis in enumerate(axes) if len(axis) > 1]
        fixed = tuple(k for k, axis in enumerate(axes) if len(axis) == 1)
        outputs = {key: table.squeeze(axis=fixed) for key, table in outputs.items()}
        names = list(own)
        own = {names[k]: tuple(own[names[k]][i] for i in axes[k]) for k in varied}
        shape = outputs[output].shape[:-1]
        places = np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1)
        places = np.hstack([places, at_random(DUMMIES, len(places), rng)])
    levels = {**own, **DUMMIES}

    def at(places: Any, of: FloatArray) -> FloatArray:
        chosen = tuple(np.asarray(places)[..., : len(own)].T)
        return of[(*chosen, rng.integers(N_SEEDS, size=np.shape(places)[:-1]))]

    make = DESIGNS[design]
    if make is not None:
        places = make(levels, n, rng)
    elif places is None:
        wanted = next(iter(outputs.values()))
        places = tree_parzen(levels, n, lambda p: float(at(p, wanted)), seed % 2**31)
    y = at(places, outputs[output]).astype(float)
    if design == "failed runs":
        y[rng.permutation(len(y))[: len(y) // 7]] = np.nan
    return Study(
        levels, grid.log, places, y, exact(outputs[output]), adaptive=design == "TPE"
    )
