"""What indices of dependent inputs cost, and how far predicted changes are right.

Two tables in Markdown go to the standard output:

- *cost*: CPU seconds by the number of columns.
- *entries*: the change that ``back_to_reward`` predicts when one entry of the reward
  rises, against the policy solved again, by the number of components of the PCA. Twelve
  correlated entries; an object is of one of three actions, which its policy takes with
  probabilities proportional to the sums of exp(entry).

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.dependence.accuracy --seeds 20``
"""

from __future__ import annotations

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from benchmarks.measuring import cpu_seconds, options, table
from skpce import (
    CompositionalPCESurrogate,
    LogRatioTransformer,
    PolynomialChaosRegressor,
)
from skpce.inspection import back_to_reward, dependent_sobol_indices

COLUMNS = (2, 3, 5, 8, 9, 16, 32)
COMPONENTS = (1, 2, 3, 4, 6, 8, 10, 12)


def cost_table() -> None:
    rows = []
    for n_columns in COLUMNS:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, n_columns)) + rng.normal(size=(300, 1))
        pce = PolynomialChaosRegressor(1, solver="ridge", distribution="normal").fit(
            X, X.sum(axis=1)
        )
        seconds = cpu_seconds(
            lambda pce=pce, X=X: dependent_sobol_indices(pce, X, random_state=0)
        )
        rows.append([str(n_columns), f"{seconds:.1f}"])
    print(table(["columns", "seconds"], rows))


def solve(X: np.ndarray) -> np.ndarray:
    """Return the policies of rewards: the share of each action in the exponentials."""
    action = np.arange(X.shape[1]) // 4
    weights = [np.exp(X[:, action == k]).sum(axis=1) for k in range(3)]
    policy = np.column_stack(weights)
    return policy / policy.sum(axis=1, keepdims=True)


def entries(n_components: int, seed: int) -> tuple[float, float, float]:
    """Return R² of predicted changes, the mean part retained, and Q²."""
    rng = np.random.default_rng(seed)
    source = rng.normal(size=(100, 3))
    X = 0.5 * source @ rng.normal(size=(3, 12)) + 0.5 * rng.normal(size=(100, 12))
    surrogate = CompositionalPCESurrogate(2, solver="ridge", distribution="normal")
    pipeline = make_pipeline(PCA(n_components, whiten=True), surrogate)
    found = back_to_reward(pipeline.fit(X, solve(X)), X)
    clr = LogRatioTransformer("clr").fit(solve(X))
    actual = np.empty_like(found.effect)
    for i, scale in enumerate(X.std(axis=0)):
        shift = scale * np.eye(12)[i]
        up, down = (clr.transform(solve(X + sign * shift)) for sign in (1, -1))
        actual[:, i] = 0.5 * (up - down).mean(axis=0)
    error = np.square(found.effect - actual).sum()
    r2 = 1.0 - error / np.square(actual - actual.mean()).sum()
    return r2, float(found.retained.mean()), float(1.0 - found.unexplained[0])


def entries_table(n_seeds: int) -> None:
    rows = []
    for n_components in COMPONENTS:
        runs = np.array([entries(n_components, seed) for seed in range(n_seeds)])
        middle = np.median(runs, axis=0)
        low, high = runs[:, 0].min(), runs[:, 0].max()
        cells = [f"{middle[0]:.2f}", f"{low:.2f} to {high:.2f}"]
        rows.append([str(n_components), *cells, *(f"{v:.2f}" for v in middle[1:])])
    columns = ["components", "R² of predicted changes", "smallest and largest"]
    columns += ["`retained`, mean", "leave-one-out Q²"]
    print(table(columns, rows))


def main() -> None:
    n_seeds = options(__doc__, seeds=20).seeds
    cost_table()
    entries_table(n_seeds)


if __name__ == "__main__":
    main()
