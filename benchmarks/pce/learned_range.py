"""Should the range of a uniform input that is learned from the data have a margin?

Run: ``python -m benchmarks.pce.learned_range``. Prints the error of total indices, Q²
of fresh inputs, and the share of fresh rows outside the range: for the range of the
data, for the unbiased estimate of its ends (a margin of range / (n - 1)), for their
99 % bound, and for the true range.
"""

from __future__ import annotations

import warnings

import numpy as np

from skpce import InputOutsideSupportWarning, PolynomialChaosRegressor

SEEDS = 60


def smooth(X):
    """Have degree two."""
    return X[:, 0] + 2 * X[:, 1] ** 2 + X[:, 0] * X[:, 2]


def ishigami(X):
    """Have no finite degree."""
    Z = np.pi * (2 * X - 1)
    return (
        np.sin(Z[:, 0])
        + 7 * np.sin(Z[:, 1]) ** 2
        + 0.1 * Z[:, 2] ** 4 * np.sin(Z[:, 0])
    )


MARGINS = {
    "range of the data": lambda n: 0.0,
    "unbiased ends": lambda n: 1.0 / (n - 1),
    "99 % bound": lambda n: 0.01 ** (-1.0 / (n - 1)) - 1.0,
}


def measure(f, degree, n, truth):
    """Return one line of figures for each way to choose the range."""
    found = {name: [] for name in (*MARGINS, "true range")}
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        X, fresh = rng.uniform(size=(n, 3)), rng.uniform(size=(500, 3))
        y = f(X) + 0.1 * f(X).std() * rng.normal(size=n)
        low, high = X.min(axis=0), X.max(axis=0)
        for name, figures in found.items():
            bounds = np.array([[0.0, 1.0]] * 3).T
            if name in MARGINS:
                margin = MARGINS[name](n) * (high - low)
                bounds = np.array([low - margin, high + margin])
            model = PolynomialChaosRegressor(
                degree, distribution=list(bounds.T), solver="ridge"
            )
            model.fit(X, y)
            error = np.abs(model.total_sobol_indices_ - truth).mean()
            missed = np.mean((model.predict(fresh) - f(fresh)) ** 2)
            outside = ((fresh < bounds[0]) | (fresh > bounds[1])).any(axis=1).mean()
            figures.append((error, 1 - missed / f(fresh).var(), outside))
    return {name: np.median(figures, axis=0) for name, figures in found.items()}


def main():
    """Print the figures."""
    warnings.simplefilter("ignore", InputOutsideSupportWarning)
    for f, degree, sizes in ((smooth, 2, (20, 50, 200)), (ishigami, 4, (60, 200))):
        many = np.random.default_rng(9).uniform(size=(4000, 3))
        exact = PolynomialChaosRegressor(
            2 * degree, distribution=(0, 1), solver="ridge"
        )
        truth = exact.fit(many, f(many)).total_sobol_indices_
        for n in sizes:
            for name, (error, q2, out) in measure(f, degree, n, truth).items():
                print(f"{f.__name__} {n} {name}: {error:.4f} {q2:.3f} {out:.1%}")


if __name__ == "__main__":
    main()
