"""What the fit without settings does beyond its samples, where inputs are normal.

``python -m benchmarks.pce.beyond`` prints the mean Q², clipped at 0, of ten functions
of four normal inputs on 2,000 fresh points, ten seeds each: where functions go on
beyond the samples as far as the prior lets an input change little, and where they keep
the values of the outermost samples. Other seeds, 0 to 3, had a part in the choice of
how far that is. ``OMP_NUM_THREADS=1``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import product
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import table
from skpce import PolynomialChaosRegressor
from skpce._basis.basis import ends_of
from skpce._learned import ridge

FloatArray = NDArray[np.float64]

SIZES, SHARES, SEEDS, N_TEST = (30, 60, 200), (0.0, 0.2), range(10, 20), 2000

FUNCTIONS: dict[str, Callable[..., FloatArray]] = {
    "tanh": lambda a, b, c, d: np.tanh(2 * a) + b / 2 + 0.3 * a * c,
    "sine": lambda a, b, c, d: np.sin(2 * a) + b / 2,
    "exponential": lambda a, b, c, d: np.exp(0.7 * a + 0.3 * b),
    "cubic": lambda a, b, c, d: a**3 / 4 + b * c,
    "steps": lambda a, b, c, d: (a > 0.5) + 0.5 * (b > 0),
    "sigmoid": lambda a, b, c, d: 1 / (1 + np.exp(b - 3 * a)),
    "kinks": lambda a, b, c, d: np.abs(a) + np.maximum(b, 0) / 2,
    "quadratic": lambda a, b, c, d: a**2 + a * b + c,
    "bump": lambda a, b, c, d: np.exp(-(a**2) - b**2 / 2),
    "logarithm": lambda a, b, c, d: np.log1p(3 * a**2) + b,
}


def q2_of(name: str, n: int, share: float, seed: int) -> float:
    """Fit one sample, and return Q² on fresh points without noise."""
    rng = np.random.default_rng(100 * seed + n)
    X, X_test = rng.normal(size=(n, 4)), rng.normal(size=(N_TEST, 4))
    truth = FUNCTIONS[name](*X_test.T)
    noise = truth.std() * np.sqrt(share / (1 - share))
    y = FUNCTIONS[name](*X.T) + noise * rng.normal(size=n)
    model = PolynomialChaosRegressor().fit(X, y)
    missed = np.square(model.predict(X_test) - truth).mean() / truth.var()
    return max(1.0 - float(missed), 0.0)


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    held = mock.patch.object(
        ridge, "_reach_of", lambda laws, inputs, *known: ends_of(inputs)
    )
    rows = []
    for n, share in product(SIZES, SHARES):
        cases = list(product(FUNCTIONS, [n], [share], SEEDS))
        going_on = np.mean([q2_of(*case) for case in cases])
        with held:
            keeping = np.mean([q2_of(*case) for case in cases])
        rows.append([f"{n}, {share:g}", f"{going_on:.3f}", f"{keeping:.3f}"])
    columns = ["n, share of noise", "functions go on", "they keep their values"]
    print(table(columns, rows))


if __name__ == "__main__":
    main()
