"""How often the verdict is fooled by ensembles whose members are not what it assumes.

Null ensembles, in which the inputs explain nothing that another
independent member would share: near-copies of members, exact copies, random walks and
autoregressions over the members, batches, heavy tails, correlated outputs, PCA of many
columns, members selected after their outputs were seen. An ensemble in which all
outputs, or any, are called attributable counts as an error. Beside them ensembles with
a population Q² of 0.8 in which all outputs ought to be attributable.

Rates come with their Clopper-Pearson interval at 95 %.

Run: ``python -m benchmarks.verdict.fooled --ensembles 200 --jobs 2``
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.special import softmax
from scipy.stats import binomtest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from skpce import CompositionalPCESurrogate, PolynomialChaosRegressor
from skpce.inspection import verdict

Case = tuple[Any, np.ndarray, np.ndarray]  # pipeline, inputs, outputs


def copied(rng: np.random.Generator, jitter: float, n_inputs: int, degree: int) -> Case:
    """Twenty members, three times each."""
    X = np.repeat(rng.normal(size=(20, n_inputs)), 3, axis=0)
    y = np.repeat(rng.normal(size=(20, 1)), 3, axis=0)
    X = X + jitter * rng.normal(size=X.shape)
    return PolynomialChaosRegressor(degree, solver="ridge", distribution="normal"), X, y


def large_groups(rng: np.random.Generator, jitter: float, times: int) -> Case:
    """Twenty members, many times each, in any order."""
    X, y = (np.repeat(rng.normal(size=(20, k)), times, axis=0) for k in (2, 1))
    order = rng.permutation(len(X))
    X, y = (v[order] + jitter * rng.normal(size=v.shape) for v in (X, y))
    return PolynomialChaosRegressor(4, solver="ridge", distribution="normal"), X, y


def copied_behind_pca(rng: np.random.Generator) -> Case:
    _, X, y = copied(rng, 1e-6, 100, 2)
    pca = PCA(15, whiten=True)
    return (
        make_pipeline(
            pca, PolynomialChaosRegressor(2, solver="ridge", distribution="normal")
        ),
        X,
        y,
    )


def walks(rng: np.random.Generator) -> Case:
    X, y = (np.cumsum(rng.normal(size=(60, k)), axis=0) for k in (2, 1))
    return PolynomialChaosRegressor(2, solver="ridge", distribution="normal"), X, y


def autoregressions(rng: np.random.Generator, correlation: float = 0.8) -> Case:
    noise = rng.normal(size=(100, 3))
    values = np.zeros_like(noise)
    for t in range(1, len(noise)):
        values[t] = correlation * values[t - 1] + noise[t]
    return (
        PolynomialChaosRegressor(2, solver="ridge", distribution="normal"),
        values[:, :2],
        values[:, 2:],
    )


def short_walks(rng: np.random.Generator) -> Case:
    X, y = (np.cumsum(rng.normal(size=(30, k)), axis=0) for k in (2, 1))
    return PolynomialChaosRegressor(2, solver="ridge", distribution="normal"), X, y


def walks_with_a_clock(rng: np.random.Generator) -> Case:
    model, X, y = walks(rng)
    return model, np.column_stack([X, np.arange(60)]), y


def chains_in_turn(rng: np.random.Generator) -> Case:
    """Four chains of twenty members, of which each is saved in turn."""
    X, y = (np.cumsum(rng.normal(size=(20, 4, k)), axis=0) for k in (2, 1))
    return (
        PolynomialChaosRegressor(2, solver="ridge", distribution="normal"),
        X.reshape(80, 2),
        y.reshape(80, 1),
    )


def shared_pattern(rng: np.random.Generator, pattern: np.ndarray, other: Any) -> Case:
    """An input and an output have a pattern in time, each with noise of its own."""
    noise = rng.normal(0.0, 0.3, size=(60, 3))
    X = np.column_stack([pattern + noise[:, 0], noise[:, 1]])
    return (
        PolynomialChaosRegressor(1, solver="ridge", distribution="normal"),
        X,
        (other + noise[:, 2])[:, np.newaxis],
    )


def trends(rng: np.random.Generator) -> Case:
    time = np.linspace(-1.0, 1.0, 60)
    return shared_pattern(rng, time, time)


def turns(rng: np.random.Generator) -> Case:
    sign = np.tile([-1.0, 1.0], 30)
    return shared_pattern(rng, sign, sign)


def seasons(rng: np.random.Generator) -> Case:
    """A period of 6 to 20 members, and two phases."""
    phases, period = rng.uniform(0.0, 2 * np.pi, size=2), rng.uniform(6.0, 20.0)
    angle = 2 * np.pi * np.arange(60) / period
    return shared_pattern(rng, *(np.sin(angle + phase) for phase in phases))


def batches(rng: np.random.Generator) -> Case:
    """Twelve batches of five share a part of their inputs and of their outputs."""
    batch = np.repeat(np.arange(12), 5)
    X = rng.normal(size=(12, 2))[batch] + 0.3 * rng.normal(size=(60, 2))
    y = rng.normal(size=(12, 1))[batch] + 0.3 * rng.normal(size=(60, 1))
    return PolynomialChaosRegressor(2, solver="ridge", distribution="normal"), X, y


def shuffled_batches(rng: np.random.Generator) -> Case:
    model, X, y = batches(rng)
    order = rng.permutation(len(X))
    return model, X[order], y[order]


def heavy_tails(rng: np.random.Generator) -> Case:
    X, y = rng.standard_t(2.2, size=(60, 3)), rng.standard_t(2.2, size=(60, 2))
    return PolynomialChaosRegressor(2, solver="ridge", distribution="normal"), X, y


def correlated_outputs(rng: np.random.Generator) -> Case:
    common = rng.normal(size=(60, 1))
    y = common + 0.2 * rng.normal(size=(60, 10))
    return (
        PolynomialChaosRegressor(2, solver="ridge", distribution="normal"),
        rng.normal(size=(60, 3)),
        y,
    )


def many_columns(rng: np.random.Generator) -> Case:
    X = rng.normal(size=(60, 20)) @ rng.normal(size=(20, 1000))
    y = softmax(rng.normal(size=(60, 5)), axis=1)
    surrogate = CompositionalPCESurrogate(
        2, steps={"step": 5}, solver="ridge", distribution="normal"
    )
    return make_pipeline(PCA(5, whiten=True), surrogate), X, y


def selected(rng: np.random.Generator) -> Case:
    """The half of the members with the largest outputs is all that was saved."""
    X, y = rng.normal(size=(120, 3)), rng.normal(size=(120, 1))
    best = np.argsort(-y[:, 0])[:60]
    return (
        PolynomialChaosRegressor(2, solver="ridge", distribution="normal"),
        X[best],
        y[best],
    )


def few_members(rng: np.random.Generator) -> Case:
    X, y = rng.normal(size=(12, 2)), rng.normal(size=(12, 1))
    return PolynomialChaosRegressor(2, solver="ridge", distribution="normal"), X, y


def signal(rng: np.random.Generator, n_members: int) -> Case:
    """Population Q² of 0.8, of degree 2."""
    X = rng.normal(size=(n_members, 3))
    f = X[:, 0] + 0.7 * X[:, 1] + 0.5 * X[:, 0] * X[:, 2]
    deviation = np.sqrt((1 + 0.49 + 0.25) / 4)
    y = f + deviation * rng.normal(size=n_members)
    return (
        PolynomialChaosRegressor(2, solver="ridge", distribution="normal"),
        X,
        y[:, np.newaxis],
    )


def sorted_signal(rng: np.random.Generator) -> Case:
    model, X, y = signal(rng, 60)
    order = np.argsort(X[:, 0])
    return model, X[order], y[order]


def walking_signal(rng: np.random.Generator) -> Case:
    """Inputs are a series, and the outputs follow them with independent noise."""
    _, X, _ = autoregressions(rng)
    X = X / X.std(axis=0)
    f = X[:, 0] + 0.5 * X[:, 1]
    y = f + 0.5 * f.std() * rng.normal(size=len(X))
    return (
        PolynomialChaosRegressor(1, solver="ridge", distribution="normal"),
        X,
        y[:, np.newaxis],
    )


NULL: dict[str, Callable[[np.random.Generator], Case]] = {
    "near-copies, jitter 1e-6, degree 4": lambda rng: copied(rng, 1e-6, 2, 4),
    "near-copies, jitter 0.05, degree 4": lambda rng: copied(rng, 0.05, 2, 4),
    "near-copies, fifteen of each, jitter 0.02": lambda r: large_groups(r, 0.02, 15),
    "near-copies behind PCA(15)": copied_behind_pca,
    "exact copies": lambda rng: copied(rng, 0.0, 2, 4),
    "exact copies, ten of each": lambda rng: large_groups(rng, 0.0, 10),
    "two random walks": walks,
    "two random walks, 30 members": short_walks,
    "two random walks, and the time": walks_with_a_clock,
    "four walks saved in turn": chains_in_turn,
    "two trends": trends,
    "two that change in turn": turns,
    "two of one period": seasons,
    "autoregressions, 0.8": autoregressions,
    "batches, in order": batches,
    "batches, shuffled": shuffled_batches,
    "heavy tails (t, 2.2)": heavy_tails,
    "ten correlated outputs": correlated_outputs,
    "PCA(5) of 1,000 columns, policies": many_columns,
    "selected by the output": selected,
    "twelve members": few_members,
}
SIGNAL: dict[str, Callable[[np.random.Generator], Case]] = {
    "Q² 0.8, 50 members": lambda rng: signal(rng, 50),
    "Q² 0.8, 60 members, sorted": sorted_signal,
    "Q² 0.8, 100 members, inputs a series": walking_signal,
}


def any_attributable(make: Callable[..., Case], seed: int) -> bool:
    """Judge one ensemble."""
    model, X, y = make(np.random.default_rng(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = verdict(model, X, y)
    return any(found.attributable)


def rate(name: str, make: Callable[..., Case], n_ensembles: int, n_jobs: int) -> str:
    """Return a row of the table."""
    started = time.perf_counter()
    found = Parallel(n_jobs=n_jobs)(
        delayed(any_attributable)(make, seed) for seed in range(n_ensembles)
    )
    count = sum(found)
    interval = binomtest(count, n_ensembles).proportion_ci()
    seconds = time.perf_counter() - started
    return (
        f"| {name} | {count} of {n_ensembles} | {count / n_ensembles:.1%} | "
        f"{interval.low:.1%} to {interval.high:.1%} | {seconds:.0f} |"
    )


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ensembles", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--kinds", nargs="*", help="kinds that have one of these words")
    arguments = parser.parse_args()
    for title, cases in (("null ensemble", NULL), ("with a signal", SIGNAL)):
        print(f"\n| {title} | attributable | rate | 95 % interval | seconds |")
        print("| --- | --- | --- | --- | --- |")
        for name, make in cases.items():
            if arguments.kinds and not any(word in name for word in arguments.kinds):
                continue
            row = rate(name, make, arguments.ensembles, arguments.jobs)
            print(row, flush=True)


if __name__ == "__main__":
    main()
