"""How often intervals of a fit without settings hold, and how wide they are.

``python -m benchmarks.pce.learned_coverage`` fits functions of the comparison with
known indices at several sizes and shares of noise, and prints the share of 90 %
intervals that hold the index (first order and total; all of them, and those of indices
above 0.05, with their mean width) and of intervals of predictions that hold a new noisy
value. An index counts as held within 0.002, the error of what is known of it. With one
thread: ``OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1``; ``--laws auto`` learns the
distributions of the inputs too.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Sequence
from itertools import product

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from benchmarks.measuring import options, table
from skpce import PolynomialChaosRegressor

from .functions import NOTHING, SUITE

FUNCTIONS = (
    *("Ishigami", "plateau", "Friedman", "tanh"),
    *("Sobol g", "OTL circuit", "borehole", "cantilever"),
)
LARGE, TOLERANCE, N_NEW = 0.05, 0.002, 300
COLUMNS = (
    *("function", "n", "ensembles", "indices", "indices above 0.05", "their width"),
    *("predictions",),
)


def measure(
    name: str, n: int, noise: float, seed: int, learns: bool
) -> tuple[NDArray[np.float64], float]:
    """Return held, large, width by index; and the share of new values held."""
    function = SUITE[name]
    truth = function.indices
    rng = np.random.default_rng([zlib.crc32(name.encode()), n, seed])
    X, new = function.sample(n, rng), function.sample(N_NEW, rng)
    variance = 1.0 if function is NOTHING else truth.variance * noise / (1 - noise)
    noises = np.sqrt(variance) * rng.normal(size=n + N_NEW)
    model = PolynomialChaosRegressor(
        distribution="auto" if learns else list(function.laws)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, function.evaluate(X) + noises[:n])
        interval = model.sobol_interval(0.9, random_state=0)
        low, high = model.predict_interval(new, confidence_level=0.9, random_state=0)
    rows = []
    for ends, exact in (
        (interval.first_order[:, 0], truth.first),
        (interval.total_order[:, 0], truth.total),
    ):
        held = (ends[0] - TOLERANCE <= exact) & (exact <= ends[1] + TOLERANCE)
        rows.append(np.stack([held, exact > LARGE, ends[1] - ends[0]]))
    value = function.evaluate(new) + noises[n:]
    inside = (np.ravel(low) <= value) & (value <= np.ravel(high))
    return np.hstack(rows).astype(float), float(inside.mean())


def summary(name: str, n: int, found: Sequence[tuple[NDArray, float]]) -> list[str]:
    """Return a row of the table."""
    held, large, width = np.hstack([rows for rows, _ in found])
    shown = [name, str(n), str(len(found)), f"{held.mean():.3f}"]
    some = large > 0
    shown += [
        f"{values[some].mean():.3f}" if some.any() else "–" for values in (held, width)
    ]
    predictions = np.array([share for _, share in found])
    error = predictions.std(ddof=1) / np.sqrt(len(predictions))
    return [*shown, f"{predictions.mean():.3f} ± {error:.3f}"]


def main() -> None:
    """Print the table."""
    given = {"functions": FUNCTIONS, "laws": "frozen"}
    sizes = {"n": (60, 100, 200), "noise": (0.05, 0.2, 0.5), "seeds": 17}
    arguments = options(__doc__, first_seed=1000, jobs=2, **given, **sizes)
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    rows = []
    for name, n in product(arguments.functions, arguments.n):
        noise = (1.0,) if SUITE[name] is NOTHING else arguments.noise
        found = Parallel(n_jobs=arguments.jobs)(
            delayed(measure)(name, n, share, seed, arguments.laws == "auto")
            for share, seed in product(noise, seeds)
        )
        rows.append(summary(name, n, found))
        print(" | ".join(rows[-1]), flush=True)
    print(table(COLUMNS, rows))


if __name__ == "__main__":
    main()
