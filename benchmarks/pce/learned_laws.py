"""Which distribution does ``distribution="auto"`` find, and what does it cost or gain?

Run: ``python -m benchmarks.pce.learned_laws``. Prints, as tables of a page, how often
each distribution is found, and the mean Q² of fresh inputs, clipped at 0, of
``PolynomialChaosRegressor()``: with every input normal, with the true distribution,
with every input smoothed, and with ``"auto"``. Three inputs of one kind, three
functions, noise of a tenth of the standard deviation.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.measuring import table
from skpce import PolynomialChaosRegressor
from skpce._input_laws import choose_laws

COLUMNS = 2000
SEEDS = 10
NAMES = {
    "NormalLaw": "normal",
    "UniformLaw": "uniform",
    "LogNormalLaw": "log-normal",
    "LogUniformLaw": "log-uniform",
    "SmoothedLaw": "smoothed",
    "EmpiricalLaw": "levels",
    "OrdinalLaw": "ordered levels",
}

Draw = Callable[[np.random.Generator, Any], np.ndarray]
Natural = Callable[[np.ndarray], np.ndarray]


def levels(low: int, high: int) -> Draw:
    """Return what draws whole numbers below ``high``."""
    return lambda r, s: r.integers(low, high, s) * 1.0


# How a kind is drawn, the variable in which the functions are smooth, and the true
# distribution, of the logarithm where that is named.
KINDS: dict[str, tuple[Draw, Natural, Any]] = {
    "normal": (lambda r, s: r.normal(size=s), lambda x: x, stats.norm()),
    "uniform": (lambda r, s: r.uniform(size=s), lambda x: 4 * x - 2, stats.uniform()),
    "log-uniform, 1e-5 to 0.1": (
        lambda r, s: 10 ** r.uniform(-5, -1, s),
        lambda x: np.log10(x) + 3,
        "loguniform",
    ),
    "log-normal": (lambda r, s: r.lognormal(0, 1, s), np.log, "lognormal"),
    "exponential": (lambda r, s: r.exponential(size=s), lambda x: x - 1, stats.expon()),
    "gamma of shape 10": (
        lambda r, s: r.gamma(10, size=s),
        lambda x: (x - 10) / 3,
        stats.gamma(10),
    ),
    "t of 2 degrees": (lambda r, s: r.standard_t(2, s), np.arcsinh, None),
    "two modes": (
        lambda r, s: r.choice([-2.5, 2.5], s) + 0.5 * r.normal(size=s),
        lambda x: x / 2.5,
        None,
    ),
    "binary": (levels(0, 2), lambda x: 2 * x - 1, stats.randint(0, 2)),
    "3 levels": (levels(0, 3), lambda x: x - 1, stats.randint(0, 3)),
    "5 levels, 1e-5 to 0.1": (
        lambda r, s: 10.0 ** r.integers(-5, 0, s),
        lambda x: np.log10(x) + 3,
        "ordinal",
    ),
    "integers, 1 to 100": (
        levels(1, 101),
        lambda x: (x - 50.5) / 25,
        stats.randint(1, 101),
    ),
}

FUNCTIONS = (
    lambda z: z[:, 0] + 0.5 * z[:, 1],
    lambda z: np.tanh(z[:, 0]) + 0.5 * np.tanh(z[:, 1]) * np.tanh(z[:, 2]),
    lambda z: np.sin(1.5 * z[:, 0]) + 0.3 * z[:, 1],
)


def chosen(draw, n):
    """Return the distributions that are found, the most frequent first."""
    columns = draw(np.random.default_rng(0), (n, COLUMNS))
    kinds = [NAMES[type(law).__name__] for law in choose_laws(columns, np.ones(n))]
    names, counts = np.unique(kinds, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return ", ".join(f"{names[i]} {counts[i] / COLUMNS:.3f}" for i in order)


def quality(draw, natural, true, n):
    """Return the mean Q² of each way to give the distribution."""
    ways = ["normal", true, "smoothed", "auto"]
    found = np.full((SEEDS, len(FUNCTIONS), len(ways)), np.nan)
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        X, fresh = draw(rng, (n, 3)), draw(rng, (1000, 3))
        for number, function in enumerate(FUNCTIONS):
            y, expected = function(natural(X)), function(natural(fresh))
            y = y + 0.1 * y.std() * rng.normal(size=n)
            for way, given in enumerate(ways):
                if given is None:
                    continue
                pce = PolynomialChaosRegressor(distribution=given).fit(X, y)
                try:
                    missed = np.mean((pce.predict(fresh) - expected) ** 2)
                except ValueError:  # polynomials overflow at a fresh input
                    missed = np.inf
                q2 = 1 - missed / expected.var()
                found[seed, number, way] = max(q2, 0.0)
    return found.mean(axis=(0, 1))


def main():
    """Print the tables."""
    warnings.simplefilter("ignore")
    rows = [
        [kind, *(chosen(draw, n) for n in (30, 60, 200))]
        for kind, (draw, _, _) in KINDS.items()
    ]
    print(table(["input", "n = 30", "n = 60", "n = 200"], rows))
    rows = []
    for kind, (draw, natural, true) in KINDS.items():
        for n in (60, 200):
            figures = quality(draw, natural, true, n)
            cells = ["–" if np.isnan(q2) else f"{q2:.3f}" for q2 in figures]
            rows.append([kind, str(n), *cells])
    print(table(["input", "n", "all normal", "true", "all smoothed", "auto"], rows))


if __name__ == "__main__":
    main()
