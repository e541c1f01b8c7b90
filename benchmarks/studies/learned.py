"""Predictions of held-out members in the studies: their models, and the learned fit.

R² of all columns together on members that were left out: centred log-ratios for
probabilities, the values themselves otherwise. Each study's model has a fixed degree,
``solver="ridge"`` and normal inputs; beside it stands the same class without settings.
Means over repetitions, with standard errors.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.studies.learned --blocks runs/studies``
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.special import softmax

from benchmarks.measuring import mean_and_error, options, table
from benchmarks.studies import bayesian_optimization as optimization
from benchmarks.studies.acquisition import N_COMPONENTS
from benchmarks.studies.bayesian_optimization import centred_logs, r_squared
from benchmarks.studies.best_of_n import N_TRAIN, answers_of, best_of, learn
from benchmarks.studies.gaussian_posterior import of_reactions, synthetic
from benchmarks.studies.rewards import ENSEMBLES, components_of, reward_ensemble
from skpce import CompositionalPCESurrogate, PolynomialChaosRegressor

Problem = tuple[str, int, np.ndarray, np.ndarray, int]
COLUMNS = ("study, what is predicted", "degree", "its model", "learned", "CPU-s")


def posteriors(repetitions: int) -> Iterator[Problem]:
    """Policies under the posterior of a Gaussian process, by five of its modes."""
    n_train = optimization.N_TRAIN
    for name, make in {"synthetic": synthetic, "reactions": of_reactions}.items():
        for seed in range(repetitions):
            rng = np.random.default_rng([seed, 7])
            modes, values = make(seed).draw(n_train + optimization.N_TEST, rng)
            policies = optimization.policies(values, optimization.TEMPERATURES[name])
            title = f"Bayesian optimisation, {name}: policy"
            yield title, 1, modes[:, :5], policies, n_train


def selections(repetitions: int) -> Iterator[Problem]:
    """Selections under learned rewards, and what they are worth, by components."""
    for seed in range(repetitions):
        models, answers = learn(seed, 40), answers_of(seed)
        rewards = models.rewards(answers)
        inputs = components_of(rewards, N_TRAIN, 5)
        for beta in (1.0, 0.25):
            chosen = softmax(rewards / beta, axis=1)
            yield f"best of n, softmax β = {beta:g}: policy", 1, inputs, chosen, N_TRAIN
        yield "best of n, best of 4: policy", 1, inputs, best_of(rewards, 4), N_TRAIN
        value = softmax(rewards / 0.5, axis=1) @ answers @ models.gold
        title = "acquisition, preferences: value"
        yield title, 2, inputs[:, :4], value[:, np.newaxis], N_TRAIN


def tasks(blocks: Path | None) -> Iterator[Problem]:
    """Utilities of actions, and values of policies, by components of rewards."""
    for name in ENSEMBLES:
        ensemble = reward_ensemble(name, blocks)
        inputs, n_train = ensemble.components(N_COMPONENTS), ensemble.n_train
        utility = ensemble.utilities()
        contrasts = utility - utility.mean(axis=1, keepdims=True)
        yield f"worth of rewards, {name}: utilities", 1, inputs, contrasts, n_train
        if ensemble.measured is not None:
            value = ensemble.policy_values()[:, np.newaxis]
            yield f"acquisition, {name}: value", 2, inputs, value, n_train


def measure(problem: Problem) -> tuple[list[float], list[float]]:
    """Return R² and CPU seconds of both fits."""
    _, degree, X, y, n_train = problem
    is_policy = y.shape[1] > 1 and np.allclose(y.sum(axis=1), 1.0)
    kind = CompositionalPCESurrogate if is_policy else PolynomialChaosRegressor
    quality, seconds = [], []
    for model in (kind(degree, solver="ridge", distribution="normal"), kind()):
        started = time.process_time()
        predicted = model.fit(X[:n_train], y[:n_train]).predict(X[n_train:])
        seconds.append(time.process_time() - started)
        pair = y[n_train:], predicted.reshape(len(X) - n_train, -1)
        quality.append(r_squared(*map(centred_logs, pair) if is_policy else pair))
    return quality, seconds


def main() -> None:
    """Print the table."""
    arguments = options(__doc__, repetitions=20, blocks=Path, no_tasks=False)
    warnings.simplefilter("ignore")
    sources = [posteriors(arguments.repetitions), selections(arguments.repetitions)]
    sources += [] if arguments.no_tasks else [tasks(arguments.blocks)]
    found: dict[tuple[str, int], list[tuple[list[float], list[float]]]] = {}
    for source in sources:
        for problem in source:
            found.setdefault(problem[:2], []).append(measure(problem))
    rows = []
    for (name, degree), results in found.items():
        quality, seconds = np.moveaxis(np.array(results), 1, 0)
        spent = " / ".join(f"{s:.2f}" for s in np.median(seconds, axis=0))
        cells = [mean_and_error(column, 3) for column in quality.T]
        rows.append([name, str(degree), *cells, spent])
    print(table(COLUMNS, rows))


if __name__ == "__main__":
    main()
