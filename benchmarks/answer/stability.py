"""Does an answer depend on what the user cannot choose? And what does it cost?"""

from __future__ import annotations

import itertools
import resource
import time
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

import skpce

from .ensembles import base
from .measure import answer_of

N_SHUFFLES = 12


def states_of(answer: Any, names: list[str]) -> list[str]:
    """Return the states of inputs by name."""
    inputs = map(str, answer.drivers.input_names)
    known = dict(zip(inputs, answer.drivers.state.T, strict=True))
    return ["/".join(map(str, known[name])) for name in names]


def shuffled(seed: int, n_shuffles: int = N_SHUFFLES) -> int:
    """Return how many answers a base ensemble has over rows, columns and units."""
    case = base(60, np.random.default_rng([1, seed]))
    generator = np.random.default_rng([2, seed])
    names = [f"x{i}" for i in range(case.X.shape[1])]
    found = {tuple(states_of(answer_of(case), names))}
    for _ in range(n_shuffles - 1):
        rows, columns = map(generator.permutation, case.X.shape)
        units = 10.0 ** generator.integers(-3, 4, size=len(columns))
        X = (case.X * units + generator.normal(size=len(columns)))[rows][:, columns]
        answer = skpce.explain(
            X, 10.0 * case.y[rows], inputs=[names[c] for c in columns]
        )
        found.add(tuple(states_of(answer, names)))
    return len(found)


def product_table(seed: int) -> bool:
    """Whether a grid of three inputs has one answer in its own order and shuffled."""
    generator = np.random.default_rng([3, seed])
    sizes = generator.integers(3, 6, size=3)
    X = np.array(list(itertools.product(*map(range, sizes))), dtype=float)
    y = X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + generator.normal(size=len(X))
    return _same(X, y, generator)


def grid_search(seed: int) -> bool:
    """Whether a grid search has one answer in its own order and shuffled."""
    X, y = load_diabetes(return_X_y=True)
    rows = np.random.default_rng([4, seed]).permutation(len(y))[:150]
    if seed % 2:
        model: Any = SVR()
        grid = {"C": [0.1, 1, 10, 100], "gamma": [0.1, 1, 10], "epsilon": [0.1, 1, 10]}
    else:
        model = DecisionTreeRegressor(random_state=0)
        grid = {
            "max_depth": [1, 2, 3, 5, 8],
            "min_samples_leaf": [1, 5, 20],
            "max_features": [0.3, 0.6, 1.0],
        }
    search = GridSearchCV(model, grid, cv=3).fit(X[rows], y[rows])
    results = search.cv_results_
    names = list(grid)
    table = np.column_stack([np.asarray(results[f"param_{n}"], float) for n in names])
    score = np.asarray(results["mean_test_score"])
    return _same(table, score, np.random.default_rng(seed))


def _same(X: np.ndarray, y: np.ndarray, generator: np.random.Generator) -> bool:
    names = [f"x{i}" for i in range(X.shape[1])]
    rows = generator.permutation(len(X))
    first = states_of(skpce.explain(X, y), names)
    return first == states_of(skpce.explain(X[rows], y[rows]), names)


def cost(n: int, seed: int = 0) -> float:
    """Return the CPU-seconds of an answer of n runs and eight inputs."""
    case = base(n, np.random.default_rng([5, seed]))
    start = time.process_time()
    answer_of(case)
    return time.process_time() - start


def wide(n_outputs: int) -> dict[str, float]:
    """Return CPU-seconds, memory and errors of so many real outputs, half of noise."""
    generator = np.random.default_rng(6)
    X, y = generator.normal(size=(200, 5)), generator.normal(size=(200, n_outputs))
    y[:, : n_outputs // 2] += X[:, [0]]
    start = time.process_time()
    state = skpce.explain(X, y).drivers.state
    drives = state == "drives"
    wrong = drives[:, 1:].sum() + drives[n_outputs // 2 :, 0].sum()
    return {
        "seconds": time.process_time() - start,
        "gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "wrong": int(wrong),
        "found": float(drives[: n_outputs // 2, 0].mean()),
    }


def stability_of(quick: bool) -> dict[str, Any]:
    """Return how many tables have one answer."""
    return {
        "answers of 12 shuffles": [
            shuffled(seed) for seed in range(3 if quick else 20)
        ],
        "product tables": [product_table(seed) for seed in range(30)],
        "grid searches": [grid_search(seed) for seed in range(8)],
    }


def cost_of(quick: bool) -> dict[str, Any]:
    """Return CPU-seconds of answers, and of many outputs."""
    return {
        "runs": {
            n: float(np.median([cost(n, s) for s in range(5)])) for n in (60, 200)
        },
        "outputs": {n: wide(n) for n in ((1000,) if quick else (1000, 50_000))},
    }
