"""How far indices of dependent inputs are from the truth, and what they cost.

Three tables in Markdown go to the standard output:

- *linear*: a linear model of 3 and 5 jointly normal inputs, random covariances, against
  the closed form [1]_. The law is given, so that all error is that of sampling.
- *cost*: CPU seconds by the number of columns, for both joint laws.
- *entries*: the change that ``back_to_reward`` predicts when one entry of the reward
  rises, against the policy solved again, by the number of components of the PCA. Twelve
  correlated entries; an object is of one of three actions, which its policy takes with
  probabilities proportional to the sums of exp(entry).

References
----------
.. [1] A. B. Owen and C. Prieur, "On Shapley value for measuring importance of dependent
   inputs", SIAM/ASA Journal on Uncertainty Quantification 5 (2017), section 4.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.dependence.accuracy --seeds 20``
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from itertools import combinations, permutations

import numpy as np
from scipy.stats import norm
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from skpce import (
    CompositionalPCESurrogate,
    LogRatioTransformer,
    NatafTransformer,
    PolynomialChaosRegressor,
)
from skpce.inspection import back_to_reward, dependent_sobol_indices

KINDS = {
    "first_order": "first order",
    "total_order": "total",
    "shapley": "Shapley",
}
COLUMNS = (2, 3, 5, 8, 9, 16, 32)
COMPONENTS = (1, 2, 3, 4, 6, 8, 10, 12)


def print_table(columns: Sequence[str], rows: list[list[str]]) -> None:
    print(f"| {' | '.join(columns)} |")
    print("|" + " --- |" * len(columns))
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print(flush=True)


def expand(
    function: Callable, laws: list, degree: int, size: int
) -> tuple[PolynomialChaosRegressor, np.ndarray]:
    """Expand a function of independent inputs; its laws give the basis only."""
    rng = np.random.default_rng(0)
    X = np.column_stack([law.rvs(size=size, random_state=rng) for law in laws])
    pce = PolynomialChaosRegressor(degree, distribution=laws, solver="ols")
    return pce.fit(X, function(X)), X


def indices_of(
    values: dict[tuple[int, ...], float],  # Var E[f | x_u] of every subset
    n_inputs: int,
) -> dict[str, np.ndarray]:
    """Return first-order, total and Shapley shares from their definitions."""
    everyone = tuple(range(n_inputs))
    whole = values[everyone]
    rest = [values[everyone[:i] + everyone[i + 1 :]] for i in everyone]
    effects = np.zeros(n_inputs)
    orders = list(permutations(everyone))
    for order in orders:
        for size, i in enumerate(order):
            after, before = (tuple(sorted(order[:k])) for k in (size + 1, size))
            effects[i] += values[after] - values[before]
    return {
        "first_order": np.array([values[i,] for i in everyone]) / whole,
        "total_order": 1.0 - np.array(rest) / whole,
        "shapley": effects / len(orders) / whole,
    }


def subsets(n_inputs: int) -> list[tuple[int, ...]]:
    sizes = range(n_inputs + 1)
    return [u for size in sizes for u in combinations(range(n_inputs), size)]


def linear_values(
    beta: np.ndarray, covariance: np.ndarray
) -> dict[tuple[int, ...], float]:
    """Var E[beta x | x_u] = c' S_uu^-1 c with c = S_u beta, of jointly normal x."""
    values = {(): 0.0}
    for u in subsets(len(beta))[1:]:
        cross = covariance[list(u)] @ beta
        values[u] = cross @ np.linalg.solve(covariance[np.ix_(u, u)], cross)
    return values


def linear_table(n_seeds: int) -> None:
    rows = []
    for n_inputs in (3, 5):
        differences = {kind: [] for kind in KINDS}
        errors = {kind: [] for kind in KINDS}
        for seed in range(n_seeds):
            rng = np.random.default_rng(seed)
            A = rng.normal(size=(n_inputs, n_inputs))
            covariance = A @ A.T / n_inputs + 0.2 * np.eye(n_inputs)
            beta = rng.normal(size=n_inputs)
            scale = np.sqrt(np.diag(covariance))
            laws = [norm(0, s) for s in scale]
            pce, X = expand(lambda X, beta=beta: X @ beta, laws, 1, 100)
            law = NatafTransformer(
                laws, correlation=covariance / np.outer(scale, scale)
            )
            found = dependent_sobol_indices(pce, X, distribution=law, random_state=seed)
            exact = indices_of(linear_values(beta, covariance), n_inputs)
            for kind in KINDS:
                off = np.abs(getattr(found, kind)[0] - exact[kind])
                differences[kind].append(off)
                errors[kind].append(getattr(found, f"{kind}_standard_error")[0])
        for kind, name in KINDS.items():
            off, error = np.array(differences[kind]), np.array(errors[kind])
            within = np.mean(off <= 2.0 * error + 1e-9)
            cells = [f"{off.max():.4f}", f"{np.median(off):.5f}", f"{error.max():.4f}"]
            rows.append([str(n_inputs), name, *cells, f"{within:.0%}"])
    columns = ["inputs", "index", "largest difference", "median difference"]
    columns += ["largest standard error", "within two"]
    print_table(columns, rows)


def seconds_of(call: Callable) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


def cost_table() -> None:
    rows = []
    for n_columns in COLUMNS:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, n_columns)) + rng.normal(size=(300, 1))
        pce = PolynomialChaosRegressor(1, solver="ridge", distribution="normal").fit(
            X, X.sum(axis=1)
        )
        seconds = seconds_of(
            lambda pce=pce, X=X: dependent_sobol_indices(pce, X, random_state=0)
        )
        rows.append([str(n_columns), f"{seconds:.1f}"])
    print_table(["columns", "seconds"], rows)


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
    print_table(columns, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seeds", type=int, default=20)
    n_seeds = parser.parse_args().seeds
    linear_table(n_seeds)
    cost_table()
    entries_table(n_seeds)


if __name__ == "__main__":
    main()
