"""What tools say of studies whose objective is pure noise.

Twelve studies of Optuna, 60 random trials each, four numeric parameters; the objective
is standard normal noise. Beside them, to see that the answer is not always no, twelve
in which the first parameter explains 60 % of the variance (linearly) and the second
20 % (a parabola). Figures: the largest importance by fANOVA and PED-ANOVA, the largest
total index of the expansion, the cross-fitted Q² and p-value of the verdict, whether
it says "attributable", and the largest total index that is reported then: 0 where the
attribution is not supported.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.any_output.noise_studies``
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skpce import PolynomialChaosRegressor
from skpce.ensembles import from_study
from skpce.inspection import verdict

FloatArray = NDArray[np.float64]

N_TRIALS, N_INPUTS = 60, 4


def objective(X: FloatArray, noise: FloatArray, has_signal: bool) -> FloatArray:
    """Return noise, or noise beside two effects; the variance is 1."""
    if not has_signal:
        return noise
    linear = np.sqrt(3) * (2 * X[:, 0] - 1)
    parabola = (linear_square(X[:, 1]) - 1) / np.sqrt(0.8)
    return np.sqrt(0.6) * linear + np.sqrt(0.2) * (parabola + noise)


def linear_square(places: FloatArray) -> FloatArray:
    """Return the square of a uniform input of mean 0 and variance 1."""
    return 3 * (2 * places - 1) ** 2


def make_study(seed: int, has_signal: bool) -> Any:
    """Return a study of random trials."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=N_TRIALS)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))

    def run(trial: Any) -> float:
        names = [f"x{column}" for column in range(N_INPUTS)]
        x = np.array([[trial.suggest_float(name, 0.0, 1.0) for name in names]])
        return float(objective(x, noise[[trial.number]], has_signal)[0])

    study.optimize(run, n_trials=N_TRIALS)
    return study


def read(seed: int, has_signal: bool) -> FloatArray:  # shape: (7,)
    """Return the figures of one study."""
    from optuna.importance import (
        FanovaImportanceEvaluator,
        PedAnovaImportanceEvaluator,
        get_param_importances,
    )

    study = make_study(seed, has_signal)
    largest = [
        max(get_param_importances(study, evaluator=evaluator).values())
        for evaluator in (
            FanovaImportanceEvaluator(seed=seed),
            PedAnovaImportanceEvaluator(),
        )
    ]
    runs = from_study(study)
    model = PolynomialChaosRegressor(2, distribution=runs.distribution, solver="ridge")
    index = model.fit(runs.X, runs.y).total_sobol_indices_.max()
    found = verdict(model, runs.X, runs.y)
    supported = bool(found.attributable[0])
    figures = (index, found.q2[0], found.p_value[0], supported, index * supported)
    return np.array([*largest, *figures], dtype=np.float64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=12)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # evaluators of Optuna are experimental
    head = (
        "study",
        "fANOVA, largest",
        "PED-ANOVA, largest",
        "total index, largest",
        "Q²",
        "p",
        "attributable",
        "reported index, largest",
    )
    for has_signal in (False, True):
        print("Two parameters explain 80 %\n" if has_signal else "Pure noise\n")
        print(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}")
        rows = np.array([read(seed, has_signal) for seed in range(arguments.studies)])
        for seed, row in enumerate(rows):
            cells = [f"{value:.2f}" for value in row]
            cells[4] = f"{row[4]:.3f}"
            cells[5] = "yes" if row[5] else "no"
            print(f"| {seed} | {' | '.join(cells)} |")
        low, high = rows.min(axis=0), rows.max(axis=0)
        spans = [f"{a:.2f}–{b:.2f}" for a, b in zip(low, high, strict=True)]
        spans[5] = f"{int(rows[:, 5].sum())} of {len(rows)}"
        print(f"| smallest–largest | {' | '.join(spans)} |\n")


if __name__ == "__main__":
    main()
