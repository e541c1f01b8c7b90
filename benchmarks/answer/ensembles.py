"""Ensembles of which it is known which inputs do something."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product as product_of
from typing import Any

import numpy as np
from scipy.special import softmax
from scipy.stats import norm, rankdata
from scipy.stats.qmc import LatinHypercube

from benchmarks.pce.functions import FIRST_EIGHT, OTHERS

#: Shares of the variance of the first inputs of most ensembles; the rest is noise.
SHARES = (0.4, 0.2, 0.1, 0.05)
N_INPUTS = 8

Generator = np.random.Generator


@dataclass(frozen=True)
class Case:
    """One ensemble, and what is true of it.

    Attributes
    ----------
    X, y : ndarray
    drivers : tuple of int
        Inputs on whose values the mean of some output depends. All others are null.
    first, total : tuple of float
        Shares of all inputs in the variance of y, where they are known.
    options : dict
        Arguments of ``skpce.explain``.
    """

    X: np.ndarray
    y: np.ndarray
    drivers: tuple[int, ...] = ()
    first: tuple[float, ...] = ()
    total: tuple[float, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


def signal(X: np.ndarray) -> np.ndarray:
    """Return linear effects of shares .4, .2 and .05, and a quadratic one of .1."""
    quadratic = (X[:, 2] ** 2 - 1) / np.sqrt(2)
    parts = X[:, 0], X[:, 1], quadratic, X[:, 3]
    return sum(np.sqrt(s) * p for s, p in zip(SHARES, parts, strict=True))


def normal(n: int, generator: Generator, d: int = N_INPUTS) -> np.ndarray:
    """Draw independent standard normal inputs."""
    return generator.normal(size=(n, d))


def noise(n: int, generator: Generator, rows: int = 0) -> Case:
    """Return pure noise; some rows in another unit, a hundred times as large."""
    X, y = normal(n, generator), generator.normal(size=n)
    X[:rows] *= 100.0
    y[:rows] *= 100.0
    return Case(X, y)


def base(
    n: int, generator: Generator, of_noise: float = 0.25, error: Any = None
) -> Case:
    """Return four inputs that act, and four that do not."""
    X = normal(n, generator)
    scale = np.sqrt((1 - of_noise) / sum(SHARES))
    e = generator.normal(size=n) if error is None else error(n, generator)
    shares = tuple(s * scale**2 for s in SHARES) + (0.0,) * 4
    y = scale * signal(X) + np.sqrt(of_noise) * e
    return Case(X, y, (0, 1, 2, 3), shares, shares)


def heavy(n: int, generator: Generator) -> np.ndarray:
    """Draw noise of Student's distribution with three degrees of freedom."""
    return generator.standard_t(3, size=n) / np.sqrt(3)


def heavy_inputs(n: int, generator: Generator) -> Case:
    """Return inputs with infinite variance, of which y is a function of the ranks."""
    X = generator.standard_t(2, size=(n, N_INPUTS))
    scores = norm.ppf((rankdata(X, axis=0) - 0.5) / n)
    y = signal(scores) + 0.3 * X[:, 0] + 0.5 * generator.normal(size=n)
    return Case(X, y, (0, 1, 2, 3))


def lognormal(n: int, generator: Generator) -> Case:
    """Return the exponential of the base ensemble."""
    case = base(n, generator)
    return Case(case.X, np.exp(case.y), case.drivers)


def levels(n: int, generator: Generator) -> Case:
    """Return inputs with two and three levels."""
    X = generator.integers(0, [2, 3] * 4, size=(n, N_INPUTS)).astype(float)
    slopes = np.array([1.3, 0.6, 0.6, 0.3] + [0.0] * 4)
    y = X @ slopes + 0.5 * generator.normal(size=n)
    variances = np.square(slopes) * np.array([1 / 4, 2 / 3] * 4)
    shares = tuple(variances / (variances.sum() + 0.25))
    return Case(X, y, (0, 1, 2, 3), shares, shares)


def little_noise(
    n: int, generator: Generator, of_noise: float = 0.01, together: float = 0.0
) -> Case:
    """Return two inputs that act, alone or also together, with hardly any noise.

    Without an interaction inputs have few values, of which runs repeat settings.
    """
    values = [1000] * 4 if together else [2, 4, 1000, 3]
    X = generator.integers(0, values, (n, 4)).astype(float)
    a, b = ((X - X.mean(axis=0)) / X.std(axis=0)).T[:2]
    alone = generator.normal() * a + generator.normal() * (b + 0.5 * b**2)
    f = alone + together * a * b
    return Case(X, f + of_noise * f.std() * generator.normal(size=n), (0, 1))


#: First row of the design of Plackett and Burman with 12 runs, which is turned.
PLACKETT_BURMAN = (1, 1, -1, 1, 1, 1, -1, -1, -1, 1, -1)


def arranged(n: int, generator: Generator, design: str, together: float = 0.0) -> Case:
    """Return orthogonal columns, or nearly, of which the first two act."""
    if design == "Plackett-Burman":
        rows = [np.roll(PLACKETT_BURMAN, k) for k in range(11)]
        X = np.array([*rows, -np.ones(11)])
    elif design == "factorial":
        X = np.array(list(product_of([-1.0, 1.0], repeat=4)))
    elif design == "fractional":
        X = np.array(list(product_of([-1.0, 1.0], repeat=4)))
        X = np.c_[X, X.prod(axis=1)]
        X = np.repeat(X, n // 16, axis=0)
    elif design == "Box-Behnken":
        every = np.array(list(product_of([-1.0, 0.0, 1.0], repeat=4)))
        X = np.vstack([every[np.abs(every).sum(axis=1) == 2], np.zeros((n - 24, 4))])
    else:
        sampler = LatinHypercube(5, optimization="random-cd", rng=generator)
        X = 2.0 * sampler.random(n) - 1.0
    y = 3.0 * X[:, 0] - 2.0 * X[:, 1] + 0.5 * generator.normal(size=n)
    return Case(X, y + together * X[:, 0] * X[:, 1], (0, 1))


def dependent(n: int, generator: Generator, correlation: float) -> Case:
    """Return a null that is correlated with the strongest input."""
    case = base(n, generator)
    other = np.sqrt(1 - correlation**2)
    case.X[:, 4] = correlation * case.X[:, 0] + other * case.X[:, 4]
    return case


def collinear(n: int, generator: Generator) -> Case:
    """Return two nulls that are nearly equal."""
    case = base(n, generator)
    case.X[:, 5] = case.X[:, 4] + 0.1 * case.X[:, 5]
    return case


def curved(n: int, generator: Generator) -> Case:
    """Return nulls that are curved functions of the strongest inputs, plus noise."""
    case = base(n, generator)
    case.X[:, 4] = case.X[:, 0] ** 2 + 0.5 * case.X[:, 4]
    case.X[:, 5] = np.sin(2 * case.X[:, 1]) + 0.5 * case.X[:, 5]
    return case


def twin(n: int, generator: Generator) -> Case:
    """Return a null that is almost the effect of the strongest input."""
    X = normal(n, generator)
    effect = np.sin(2 * X[:, 0])
    X[:, 4] = effect + 0.05 * X[:, 4]
    y = effect + 0.5 * X[:, 1] + 0.5 * generator.normal(size=n)
    return Case(X, y, (0, 1))


def spread(n: int, generator: Generator, which: int) -> Case:
    """Return noise whose spread follows an input: a null, or the strongest one."""
    X = normal(n, generator)
    e = generator.normal(size=n) * np.exp(0.5 * X[:, which] - 0.25)
    return Case(X, signal(X) + 0.5 * e, (0, 1, 2, 3))


def spread_in_a_grid(n: int, generator: Generator) -> Case:
    """Return a full grid of four levels whose noise grows along a null."""
    X = np.array(list(product_of(np.linspace(-1.0, 1.0, 4), repeat=3)))
    e = generator.normal(size=n) * np.exp(0.7 * X[:, 2])
    return Case(X, X[:, 0] + e, (0,))


def compositions(n: int, generator: Generator) -> Case:
    """Return two steps of probabilities."""
    X = normal(n, generator)
    logits = generator.normal(size=(n, 7)) * 0.5
    logits[:, 0] += signal(X)
    logits[:, 4] += 0.7 * X[:, 0] * X[:, 1]
    y = np.hstack([softmax(logits[:, :3], axis=1), softmax(logits[:, 3:], axis=1)])
    return Case(X, y, (0, 1, 2, 3), options={"steps": {"a": 3, "b": 4}})


def failed(n: int, generator: Generator) -> Case:
    """Return two outputs; runs failed, one of them more often where y is large."""
    case = base(n, generator)
    y = np.column_stack([case.y, generator.normal(size=n) + case.X[:, 0]])
    y[generator.random(n) < 0.1, 0] = np.nan
    y[(y[:, 1] > 0.5) & (generator.random(n) < 0.5), 1] = np.nan
    return Case(case.X, y, case.drivers)


def adaptive(n: int, generator: Generator) -> Case:
    """Return trials of a sampler that looks near the best ones, as TPE does."""
    X = generator.uniform(-2, 2, size=(n, N_INPUTS))
    y = np.empty(n)
    for i in range(n):
        if i >= 12:
            best = np.argsort(y[:i])[: max(i // 5, 3)]
            near = X[generator.choice(best, size=N_INPUTS), range(N_INPUTS)]
            drawn = near + 0.5 * generator.normal(size=N_INPUTS)
            X[i] = np.where(generator.random(N_INPUTS) < 0.8, drawn, X[i])
            X[i] = np.clip(X[i], -2, 2)
        y[i] = (X[i, 0] - 0.5) ** 2 + 0.7 * X[i, 1] + 0.5 * generator.normal()
    return Case(X, y, (0, 1))


def grouped(n: int, generator: Generator, within: bool) -> Case:
    """Return groups of five with an effect of their own; X may vary within."""
    group = np.arange(n) // 5
    n_groups = group.max() + 1
    X = generator.normal(size=(n_groups, 4))[group]
    if within:
        X = X + generator.normal(size=X.shape)
    y = X[:, 0] + generator.normal(size=n_groups)[group]
    y = y + 0.3 * generator.normal(size=n)
    return Case(X, y, (0,), options={"groups": group})


def blocked(n: int, generator: Generator, correlation: float = 0.0) -> Case:
    """Return blocks of six with an effect of their own, correlated with a null.

    Another null is correlated with the driver.
    """
    block = np.arange(n) // 6
    shift = generator.normal(size=block.max() + 1)[block]
    X = generator.normal(size=(n, 4))
    X[:, 3] += shift
    X[:, 2] = correlation * X[:, 0] + np.sqrt(1 - correlation**2) * X[:, 2]
    y = 0.8 * X[:, 0] + 2.0 * shift + 0.5 * generator.normal(size=n)
    return Case(X, y, (0,), options={"blocks": block})


def shared_seeds(n: int, generator: Generator) -> Case:
    """Return settings that share three seeds, with which alone a null acts."""
    X = np.resize(list(product_of(range(4), range(2), range(3))), (n, 3)).astype(float)
    seed = X[:, 2].astype(int)
    alone, with_null = generator.normal(size=(2, 3))[:, seed]
    y = X[:, 0] + 0.5 * alone + 0.3 * with_null * X[:, 1]
    y += 0.3 * generator.normal(size=n)
    return Case(X[:, :2], y, (0,), options={"blocks": seed})


def recurring(n: int, generator: Generator, named: str) -> Case:
    """Return settings that recur in three folds; their effect is random."""
    X = np.repeat(generator.normal(size=(n // 3, 2)), 3, axis=0)
    fold = np.tile(np.arange(3), n // 3)
    effect = np.repeat(generator.normal(size=n // 3), 3)
    y = effect + generator.normal(size=3)[fold] + 0.3 * generator.normal(size=n)
    return Case(X, y, options={named: fold})


def curves(n: int, generator: Generator) -> Case:
    """Return runs of nine settings and three seeds, on four tasks; x0, x2 act."""
    shape = (3, 3, n // 27, 3)
    X = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1)
    of_run = generator.normal(size=(3, 3, 1, 3))
    y = X[..., 0] + of_run + X[..., 2] + 0.2 * generator.normal(size=shape)
    names = {"inputs": ["x0", "x1", "x2", "seed"], "replicate": "seed"}
    return Case(X.reshape(-1, 4) + 0.0, y.ravel(), (0, 2), options=names)


def one_driver(n: int, generator: Generator, noise: float) -> Case:
    """Return two nulls beside an input that drives nearly everything."""
    X = normal(n, generator, 3)
    return Case(X, X[:, 0] + noise * generator.normal(size=n), (0,))


def random_settings(n: int, generator: Generator) -> Case:
    """Return six settings whose effect is random, and a column that counts repeats."""
    each = n // 6
    X = generator.normal(size=(6, 3))[np.repeat(np.arange(6), each)]
    seed = np.tile(np.arange(each), 6)
    y = np.repeat(generator.normal(size=6), each) + 0.5 * generator.normal(size=n)
    return Case(np.column_stack([X, seed]), y)


def mixture(n: int, generator: Generator) -> Case:
    """Return three parts that add up to one; a null beside them, and a driver."""
    parts = generator.dirichlet(np.ones(3), size=n)
    X = np.column_stack([parts, generator.normal(size=(n, 3))])
    y = 3.0 * parts[:, 0] + X[:, 3] + 0.5 * generator.normal(size=n)
    return Case(X, y, (3,))


def autoregressive(n: int, generator: Generator, told: bool, memory: float) -> Case:
    """Return series that have nothing to do with each other."""
    table = generator.normal(size=(n + 100, 5))
    for row in range(1, len(table)):
        table[row] += memory * table[row - 1]
    table = table[100:]
    options = {"order": np.arange(n)} if told else {}
    return Case(table[:, :4], table[:, 4], options=options)


def walk(n: int, generator: Generator, told: bool) -> Case:
    """Return random walks that have nothing to do with each other."""
    table = np.cumsum(generator.normal(size=(n, 5)), axis=0)
    options = {"order": np.arange(n)} if told else {}
    return Case(table[:, :4], table[:, 4], options=options)


def trending(n: int, generator: Generator) -> Case:
    """Return a series whose output has a trend that an input without effect shares."""
    X, place = generator.uniform(size=(n, 5)), np.arange(n)
    X[:, 1] = place / n + 0.3 * generator.normal(size=n)
    y = 2 * X[:, 0] + 2 * place / n + 0.5 * generator.normal(size=n)
    return Case(X, y, (0,), options={"order": place})


def one_at_a_time(n: int, generator: Generator) -> Case:
    """Return runs that change one of six inputs, all others at their defaults."""
    X = np.full((n, 6), 0.5)
    X[np.arange(n), np.arange(n) % 6] = np.linspace(0, 1, -(-n // 6)).repeat(6)[:n]
    y = 2 * X[:, 0] + 2 * X[:, 1] ** 2
    return Case(X, y + 0.3 * y.std() * generator.normal(size=n), (0, 1))


def flags(n: int, generator: Generator, shift: float = 0.0) -> Case:
    """Return an ablation table: all flags on, and each of seven off, repeated."""
    X = np.resize(np.vstack([np.ones(7), 1.0 - np.eye(7)]), (n, 7))
    y = 2 * X[:, 0] + 0.5 * X[:, 1] + 0.2 * generator.normal(size=n)
    if not shift:
        return Case(X, y, (0, 1))
    seed = np.arange(n) // 8
    y += shift * generator.normal(size=seed[-1] + 1)[seed]
    names = [f"x{i}" for i in range(7)]
    options = {"inputs": [*names, "seed"], "replicate": "seed"}
    return Case(np.column_stack([X, seed]), y, (0, 1), options=options)


def panel(n: int, generator: Generator, named: str) -> Case:
    """Return ten series with levels of their own; x0 acts, x1 is a series beside it."""
    of = np.arange(n) % 10

    def series() -> np.ndarray:
        found = generator.normal(size=n)
        for place in range(10, n):  # the row ten before is the one before of its series
            found[place] = 0.8 * found[place - 10] + 0.6 * found[place]
        return found

    X = np.column_stack([series(), series() + generator.normal(size=10)[of]])
    y = X[:, 0] + series() + generator.normal(size=10)[of]
    return Case(X, y, (0,), options={named: of, "order": np.arange(n) // 10})


def crossed(n: int, generator: Generator) -> Case:
    """Return twelve models on tasks; their size acts, and two properties do not."""
    model, task = np.arange(n) % 12, np.arange(n) // 12
    of_model = np.column_stack(
        [generator.normal(size=12), generator.permutation(12) % 2, np.zeros(12)]
    )
    of_model[:, 2] = generator.normal(size=12)
    y = 0.8 * of_model[:, 0] + 0.3 * generator.normal(size=12)
    y = y[model] + 0.7 * generator.normal(size=n // 12)[task]
    y += 0.3 * generator.normal(size=n)
    return Case(of_model[model], y, (0,), options={"groups": model, "blocks": task})


def waving(n: int, generator: Generator) -> Case:
    """Return a wave of an input with which a null is correlated."""
    X = normal(n, generator, 3)
    X[:, 1] = 0.9 * X[:, 0] + np.sqrt(0.19) * X[:, 1]
    y = np.sin(4.0 * X[:, 0]) + 0.05 * generator.normal(size=n)
    return Case(X, y, (0,))


def binned(n: int, generator: Generator) -> Case:
    """Return an input with an effect beyond a point, its quarter, and a null."""
    X = generator.uniform(size=(n, 3))
    y = np.maximum(X[:, 0] - 0.6, 0.0) + 0.012 * generator.normal(size=n)
    X[:, 1] = np.floor(4.0 * X[:, 0])
    inputs = {"x0": "auto", "x1": "categorical", "x2": "auto"}
    return Case(X, y, (0,), options={"inputs": inputs})


def composite(n: int, generator: Generator) -> Case:
    """Return a central composite design of three inputs."""
    corners = np.array(list(product_of([-1.0, 1.0], repeat=3)))
    axes = 1.682 * np.vstack([np.eye(3), -np.eye(3)])
    X = np.vstack([corners, axes, np.zeros((n - 14, 3))])
    y = X[:, 0] - 0.8 * X[:, 0] ** 2 + 0.5 * generator.normal(size=n)
    return Case(X, y, (0,))


def product(n: int, generator: Generator) -> Case:
    """Return two inputs that act only together."""
    X, e = normal(n, generator), generator.normal(size=n)
    y = np.sqrt(0.5) * (X[:, 0] * X[:, 1] + e)
    total = (0.5, 0.5) + (0.0,) * 6
    return Case(X, y, (0, 1), (0.0,) * 8, total)


def rate_times_units(n: int, generator: Generator) -> Case:
    """Return y = rate * units, where only the product matters; five nulls."""
    X = generator.uniform(-1, 1, size=(n, 7))
    y = X[:, 0] * X[:, 1] + 0.2 * generator.normal(size=n)
    return Case(X, y, (0, 1))


def nothing(n: int, generator: Generator) -> Case:
    """Return pure noise, of which all shares are 0."""
    case = noise(n, generator)
    return Case(case.X, case.y, (), (0.0,) * N_INPUTS, (0.0,) * N_INPUTS)


def leader(n: int, generator: Generator) -> Case:
    """Return one input with a share of .99."""
    X = normal(n, generator)
    y = np.sqrt(0.99) * X[:, 0] + 0.1 * generator.normal(size=n)
    shares = (0.99,) + (0.0,) * (N_INPUTS - 1)
    return Case(X, y, (0,), shares, shares)


def function(n: int, generator: Generator, name: str, of_noise: float) -> Case:
    """Return a function of which the indices are known, with noise."""
    chosen = next(f for f in FIRST_EIGHT + OTHERS if f.name == name)
    X, true = chosen.sample(n, generator), chosen.indices
    scale = np.sqrt(true.variance * of_noise / (1 - of_noise))
    y = chosen.evaluate(X) + scale * generator.normal(size=n)
    first, total = (
        (1 - of_noise) * np.maximum(each, 0.0) for each in (true.first, true.total)
    )
    drivers = tuple(np.flatnonzero(total > 1e-6).tolist())
    return Case(X, y, drivers, tuple(first), tuple(total))


#: Kinds of which the error rate is measured: number of runs, and how they are made.
KINDS: Mapping[str, tuple[int, Callable[[int, Generator], Case]]] = {
    "pure noise": (60, noise),
    "base": (60, base),
    "noise with 3 degrees of freedom": (60, partial(base, error=heavy)),
    "inputs with 2 degrees of freedom": (60, heavy_inputs),
    "lognormal y": (60, lognormal),
    "two and three levels": (60, levels),
    "null correlated .7 with a driver": (60, partial(dependent, correlation=0.7)),
    "null correlated .9 with a driver": (100, partial(dependent, correlation=0.9)),
    "null correlated .9 with a driver that waves": (300, waving),
    "a number beside its bins": (150, binned),
    "two nulls nearly equal": (60, collinear),
    "nulls that are curves of drivers": (120, curved),
    "spread follows a null": (120, partial(spread, which=5)),
    "4 x 4 x 4 grid, spread follows a null": (64, spread_in_a_grid),
    "spread follows a driver": (100, partial(spread, which=0)),
    "compositions": (60, compositions),
    "NaN in y": (80, failed),
    "adaptive samples": (80, adaptive),
    "groups": (75, partial(grouped, within=False)),
    "groups, X varies within": (75, partial(grouped, within=True)),
    "blocks": (60, blocked),
    "blocks, null correlated .8 with a driver": (60, partial(blocked, correlation=0.8)),
    "blocks are seeds, with which a null acts": (48, shared_seeds),
    "random settings in each of three folds, blocks": (
        60,
        partial(recurring, named="blocks"),
    ),
    "random settings in each of three folds, groups": (
        60,
        partial(recurring, named="groups"),
    ),
    "six random settings and a seed": (60, random_settings),
    "runs with four rows each, not told": (108, curves),
    "one driver, no noise": (40, partial(one_driver, noise=0.0)),
    "one driver, noise of .01 %": (40, partial(one_driver, noise=0.01)),
    "1 row in another unit": (60, partial(noise, rows=1)),
    "2 rows in another unit": (60, partial(noise, rows=2)),
    "4 rows in another unit": (60, partial(noise, rows=4)),
    "mixture": (60, mixture),
    "series, order told": (100, partial(autoregressive, told=True, memory=0.7)),
    "series, not told": (100, partial(autoregressive, told=False, memory=0.9)),
    "walks, not told": (100, partial(walk, told=False)),
    "trend shared with a null, order told": (120, trending),
    "ten series, blocks and order told": (200, partial(panel, named="blocks")),
    "ten series, groups and order told": (200, partial(panel, named="groups")),
    "models on tasks, groups and blocks told": (120, crossed),
    "few values, noise of 1 %": (200, little_noise),
    "an interaction, noise of 5 %": (
        60,
        partial(little_noise, of_noise=0.05, together=0.5),
    ),
    "one input at a time": (62, one_at_a_time),
    "ablation table, 5 repeats": (40, flags),
    "ablation table, 5 seeds that shift": (40, partial(flags, shift=1.0)),
    "central composite design": (20, composite),
    "null almost a driver's effect": (100, twin),
    "Plackett-Burman design": (12, partial(arranged, design="Plackett-Burman")),
    "2^4 runs, an interaction": (
        16,
        partial(arranged, design="factorial", together=2.0),
    ),
    "2^(5-1) runs": (16, partial(arranged, design="fractional")),
    "2^(5-1) settings, twice": (32, partial(arranged, design="fractional")),
    "Box-Behnken design": (27, partial(arranged, design="Box-Behnken")),
    "optimised latin hypercube": (16, partial(arranged, design="hypercube")),
}

#: Kinds of which the power is measured.
POWER: Mapping[str, tuple[int, Callable[[int, Generator], Case]]] = {
    "base, n = 100": (100, base),
    "product, n = 100": (100, product),
    "product, n = 200": (200, product),
    "rate times units, n = 100": (100, rate_times_units),
    "noise .05, n = 200": (200, partial(base, of_noise=0.05)),
}

_FUNCTIONS = (
    *(("Ishigami", 60, 0.2), ("Ishigami", 200, 0.05), ("Friedman", 60, 0.2)),
    *(("Sobol g", 100, 0.2), ("plateau", 60, 0.2), ("borehole", 100, 0.05)),
    ("OTL circuit", 100, 0.5),
)

#: Settings, beside those of ``POWER``, in which the coverage is measured.
COVERAGE: Mapping[str, tuple[int, Callable[[int, Generator], Case]]] = {
    "pure noise, n = 50": (50, nothing),
    "base, n = 60": (60, base),
    "two and three levels, n = 60": (60, levels),
    "one input of .99, n = 60": (60, leader),
    **{
        f"{name}, noise {of_noise:g}, n = {n}": (
            n,
            partial(function, name=name, of_noise=of_noise),
        )
        for name, n, of_noise in _FUNCTIONS
    },
}
