"""How often the lower bound of a value lies below the truth, and the test's errors.

    python -m benchmarks.decision.value_bound                  # both tables
    python -m benchmarks.decision.value_bound --repetitions 40 # a look

Three inputs and three actions with the utilities

    u_0 = 0,  u_1 = 0.2 + a (x_0 + 0.5 x_0 x_1),  u_2 = -0.1 + a (x_1^2 - 1) / sqrt(2),

``a = 1`` for a clear value and ``a = 0.2`` for one that is hardly any; ``x_2`` does
nothing. All three share the shift ``2 x_2``. The truth is exact from the coefficients.
Noise of each utility: none, normal of deviation one, Student's t with three degrees of
freedom of scale one, and normal of deviation ``|x_0|``. Distributions of the inputs are
learned (normal) or given; then the expansion is a control variate.

The table has, for each size, the share of bounds that lie below the truth (at most the
truth, up to rounding) over repetitions and the four rows (three inputs and all of
them), in brackets the share of the worst row, and after these the means of the bound
and of the plug-in value of all inputs over the truth.

Null ensembles have the same shift and noise, ``a = 0``, and in half of them an action
that is better by 0.5 than the others, so that the decision is clear but nothing changes
it. Counted are ensembles in which any row is supported; sizes and kinds of noise take
turns.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import norm

from skpce import DependentInputsWarning, Expansion, PolynomialChaosRegressor
from skpce.decision import value_of_information
from skpce.decision._value.bound import HeldOut
from skpce.decision._value.decision_problem import read_problem

SIZES = (30, 100, 500)
NOISES = ("none", "normal", "t, 3 df", "|x0|")
#: Words for a table in Markdown, where a bar would end the cell.
WORDS = {"|x0|": r"normal, sd $\lvert x_0 \rvert$"}
STRENGTHS = (1.0, 0.2)
N_INPUTS = 3


def regressor(known: bool) -> PolynomialChaosRegressor:
    law = norm(0, 1) if known else "normal"
    return PolynomialChaosRegressor(2, distribution=law, solver="ridge")


def means(X: np.ndarray, strength: float) -> np.ndarray:  # shape: (n, 3)
    x0, x1, _ = X.T
    return np.column_stack(
        [
            np.zeros(len(X)),
            0.2 + strength * (x0 + 0.5 * x0 * x1),
            -0.1 + strength * (x1**2 - 1.0) / np.sqrt(2.0),
        ]
    )


def noise(kind: str, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    shape = (len(X), 3)
    if kind == "none":
        return np.zeros(shape)
    if kind == "t, 3 df":
        return rng.standard_t(3, size=shape)
    scale = np.abs(X[:, :1]) if kind == "|x0|" else 1.0
    return scale * rng.normal(size=shape)


def truth(strength: float) -> np.ndarray:  # shape: (4,)
    """Return the values of knowing each input and all, from the exact expansion."""
    X = np.random.default_rng(0).normal(size=(60, N_INPUTS))
    exact = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
    expansion = exact.fit(X, means(X, strength) + X[:, [2]]).expansion_
    expansion = Expansion(expansion.basis, expansion.coefficients.round(12))
    return value_of_information(expansion, n_samples=2**20).plug_in


def bounds(
    size: int, kind: str, strength: float, known: bool, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return lower bounds and plug-in values of the rows."""
    rng = np.random.default_rng([seed, size, NOISES.index(kind)])
    X = rng.normal(size=(size, N_INPUTS))
    utility = means(X, strength) + 2.0 * X[:, [2]] + noise(kind, X, rng)
    problem = read_problem(regressor(known), X, utility)
    held_out = HeldOut.deal(problem.members, None)
    every = list(range(N_INPUTS))
    rows = [*([i] for i in every), every]
    lower = np.array([held_out.bound(row).lower for row in rows])
    found = value_of_information(problem.expansion, n_samples=2048, random_state=seed)
    return lower, found.plug_in


def any_supported(size: int, kind: str, seed: int) -> bool:
    """Whether anything is said to be worth something where nothing is."""
    rng = np.random.default_rng([seed, size, NOISES.index(kind), 1])
    X = rng.normal(size=(size, N_INPUTS))
    utility = 2.0 * X[:, [2]] + noise(kind, X, rng)
    utility[:, 2] += 0.5 * (seed % 2)
    found = value_of_information(
        *(regressor(False), X, utility),
        n_resamples=0,
        n_samples=2048,
        random_state=seed,
    )
    return any(found.supported)


def table_of_bounds(
    repetitions: int,
    n_jobs: int,
    strengths: list[float],
    laws: list[str],
    kinds: list[str],
) -> None:
    for strength in strengths:
        exact = truth(strength)
        print(f"\nTruth, a = {strength:g}: {exact.round(4).tolist()}\n")
        heads = [f"n = {size}" for size in SIZES]
        print("| distributions | noise |", " | ".join(heads), "|")
        print("| --- | --- |" + " --- |" * len(SIZES))
        for name in laws:
            known = name == "given"
            for kind in kinds:
                cells = []
                for size in SIZES:
                    tasks = (
                        delayed(bounds)(size, kind, strength, known, seed)
                        for seed in range(repetitions)
                    )
                    found = np.array(Parallel(n_jobs=n_jobs)(tasks))
                    below = (found[:, 0] <= exact + 1e-9).mean(axis=0)
                    ratio = found[:, :, -1].mean(axis=0) / exact[-1]
                    cells.append(
                        f"{below.mean():.1%} ({below.min():.1%}), "
                        f"{ratio[0]:.2f} / {ratio[1]:.2f}"
                    )
                print(
                    f"| {name} | {WORDS.get(kind, kind)} |",
                    " | ".join(cells),
                    "|",
                    flush=True,
                )


def table_of_nulls(repetitions: int, n_jobs: int) -> None:
    cells = [(size, kind) for size in SIZES for kind in NOISES[1:]]
    tasks = (
        delayed(any_supported)(*cells[seed % len(cells)], seed // len(cells))
        for seed in range(repetitions)
    )
    found = np.array(Parallel(n_jobs=n_jobs)(tasks))
    print(
        f"\nOf {repetitions} null ensembles, {found.sum()} ({found.mean():.1%}) have a "
        "row that is supported."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", choices=("bounds", "nulls"))
    parser.add_argument("--strengths", type=float, nargs="+", default=STRENGTHS)
    parser.add_argument("--laws", nargs="+", default=["learned", "given"])
    parser.add_argument("--noises", nargs="+", choices=NOISES, default=NOISES)
    options = parser.parse_args()
    warnings.simplefilter("ignore", DependentInputsWarning)
    if options.only != "nulls":
        table_of_bounds(
            *(options.repetitions, options.jobs, options.strengths, options.laws),
            options.noises,
        )
    if options.only != "bounds":
        table_of_nulls(options.repetitions, options.jobs)


if __name__ == "__main__":
    main()
