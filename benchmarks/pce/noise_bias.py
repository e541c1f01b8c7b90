"""Bias of plain and noise-corrected partial variances and Sobol indices.

Two targets of three uniform inputs on [-1, 1], expansion of degree 2 (10 terms), noise
of variance 1:

- *noise*: no input matters, every variance is 0;
- *signal*: ``sqrt(3) x1 + 3 x1 x2`` plus noise; V_1 = 1, V_T1 = 2, V_T3 = 0, D = 2.

Bias of a variance is the mean over seeds minus the truth, with its standard error. That
of an index is the median over the seeds in which it is defined minus the truth: a
corrected total variance near 0 makes single ratios huge. "halves, chosen anew" fits
each half from scratch, penalty included, instead of keeping that of the full fit.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.pce.noise_bias``
"""

from __future__ import annotations

import argparse

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.stats import uniform
from sklearn.base import clone

from skpce import PolynomialChaosRegressor
from skpce._expansion.noise_correction import NoiseCorrectedIndices, signed_indices

FloatArray = NDArray[np.float64]

N_SPLITS = 20
COLUMNS = ("V_1", "V_T1", "V_T3", "D", "S_1", "S_T1", "S_T3")
TRUTHS = {
    "noise": (0.0, 0.0, 0.0, 0.0, np.nan, np.nan, np.nan),
    "signal": (1.0, 2.0, 0.0, 2.0, 0.5, 1.0, 0.0),
}
ESTIMATES = ("plain", "halves", "halves, chosen anew", "ols")


def data(target: str, n_samples: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Draw inputs and noisy values."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n_samples, 3))
    y = rng.normal(size=n_samples)
    if target == "signal":
        y += np.sqrt(3) * X[:, 0] + 3 * X[:, 0] * X[:, 1]
    return X, y


def estimate(target: str, solver: str, n_samples: int, seed: int) -> FloatArray:
    """Return variances and indices of each estimate, shape (n_estimates, 7)."""
    X, y = data(target, n_samples, seed)
    pce = PolynomialChaosRegressor(2, distribution=uniform(-1, 2), solver=solver)
    pce.fit(X, y)
    rows = np.full((len(ESTIMATES), 7), np.nan)
    rows[0] = _row(signed_indices(np.square(pce.coefficients_), pce.multi_indices_))
    rows[1] = _row(
        pce.noise_corrected_sobol_indices(method="halves", random_state=seed)
    )
    rows[2] = _row(_chosen_anew(pce, X, y, seed))
    if n_samples >= 3 * len(pce.multi_indices_):
        rows[3] = _row(pce.noise_corrected_sobol_indices(method="ols"))
    return rows


def _chosen_anew(
    pce: PolynomialChaosRegressor, X: FloatArray, y: FloatArray, seed: int
) -> NoiseCorrectedIndices:
    rng = np.random.default_rng(seed)
    products = np.zeros_like(pce.coefficients_)
    for _ in range(N_SPLITS):
        order = rng.permutation(len(X))
        halves = order[: len(X) // 2], order[len(X) // 2 :]
        first, second = (clone(pce).fit(X[h], y[h]).coefficients_ for h in halves)
        products += first * second / N_SPLITS
    return signed_indices(products, pce.multi_indices_)


def _row(found: NoiseCorrectedIndices) -> FloatArray:
    return np.array(
        [
            found.first_order_variance[0, 0],
            *found.total_order_variance[0, [0, 2]],
            found.total_variance[0],
            found.first_order[0, 0],
            *found.total_order[0, [0, 2]],
        ]
    )


def _bias(values: FloatArray, truth: float, column: str) -> str:
    """Return mean minus truth with its standard error; the median for an index."""
    values = values[np.isfinite(values)]
    if not np.isfinite(truth) or len(values) < 2:
        return "–"
    if column.startswith("S"):
        return f"{np.median(values) - truth:+.3f}"
    error = values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean() - truth:+.3f} ± {error:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--samples", type=int, nargs="+", default=[25, 50, 200])
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    heads = ["target", "solver", "n", "estimate", *COLUMNS, "undefined"]
    print("| " + " | ".join(heads) + " |\n" + "| --- " * len(heads) + "|")
    for target, truth in TRUTHS.items():
        for solver in ("ols", "ridge"):
            for n_samples in arguments.samples:
                found = np.array(
                    Parallel(n_jobs=arguments.jobs)(
                        delayed(estimate)(target, solver, n_samples, seed)
                        for seed in range(arguments.seeds)
                    )
                )
                for number, name in enumerate(ESTIMATES):
                    values = found[:, number]
                    if np.isnan(values[:, 3]).all():
                        continue
                    cells = [
                        _bias(*c) for c in zip(values.T, truth, COLUMNS, strict=True)
                    ]
                    undefined = f"{np.isnan(values[:, 6]).mean():.0%}"
                    head = [target, solver, str(n_samples), name]
                    print("| " + " | ".join([*head, *cells, undefined]) + " |")


if __name__ == "__main__":
    main()
