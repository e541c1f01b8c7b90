"""How often the bounds on the ensemble size hold, and how often Theorem A does.

Every repetition draws a new design and new noise. Least squares for the bounds, a
ridge of 1e-4 with its intercept penalised for Theorem A. Two tables in Markdown go
to the standard output.

Run: ``python -m benchmarks.sample_size.validity --seed 0``
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, uniform

from benchmarks.measuring import table
from skpce import PolynomialChaosFeatures, PolynomialChaosRegressor
from skpce.sample_size import (
    paper_ensemble_size,
    required_ensemble_size,
)
from skpce.sample_size._bounds import coefficient_error_bound, sobol_error_bound
from skpce.sample_size._required import smallest_of_gram


def of_gram(design):
    return smallest_of_gram(design.T @ design) / len(design)


LAWS = {"Hermite": norm(0, 1), "Legendre": uniform(-1, 2)}
CONFIDENCE = 0.95
RIDGE = 1e-4

# Law, inputs, degree, members per term, noise variance over signal variance.
BOUND_CASES = [
    (law, d, p, ratio, noise)
    for law in LAWS
    for d, p in ((2, 2), (2, 4), (5, 2), (5, 3))
    for ratio, noise in ((2, 0.01), (5, 0.1), (20, 1.0))
]

# Law, inputs, degree, actions, tolerance, noise variance over signal variance. The
# smallest noises give the paper's own sizes, one or few more than the terms.
PAPER_CASES = [
    (law, d, p, actions, tolerance, noise)
    for law in LAWS
    for d, p, actions, tolerance, noise in (
        (5, 3, 4, 0.05, 1.9e-6),
        (5, 3, 4, 0.05, 1e-4),
        (2, 3, 4, 0.05, 1e-5),
        (2, 5, 4, 0.05, 1e-5),
        (2, 4, 4, 0.05, 1e-3),
        (2, 2, 4, 0.1, 1e-2),
        (5, 2, 24, 0.2, 1e-2),
    )
]


@dataclass(frozen=True)
class Task:
    """A basis, its laws, and true coefficients of signal variance 1."""

    features: PolynomialChaosFeatures
    law: object
    n_inputs: int
    coefficients: np.ndarray  # shape: (n_terms, n_coordinates)

    @classmethod
    def make(cls, law_name, n_inputs, degree, n_coordinates, rng):
        law = LAWS[law_name]
        features = PolynomialChaosFeatures(degree, distribution=law)
        features.fit(law.rvs((10, n_inputs), random_state=rng))
        degrees = features.multi_indices_.sum(axis=1)
        coefficients = rng.normal(size=(len(degrees), n_coordinates))
        coefficients *= 2.0 ** -degrees[:, np.newaxis]
        coefficients /= np.linalg.norm(coefficients[1:], axis=0)
        return cls(features, law, n_inputs, coefficients)

    def design(self, n_members, rng):
        inputs = self.law.rvs((n_members, self.n_inputs), random_state=rng)
        return self.features.transform(inputs)

    def indices(self, coefficients):  # (n_terms, n_coordinates) -> (2d, n_coordinates)
        active = self.features.multi_indices_[1:] > 0
        alone = active & (active.sum(axis=1, keepdims=True) == 1)
        squares = np.square(coefficients[1:])
        return np.vstack([alone.T @ squares, active.T @ squares]) / squares.sum(axis=0)


def check_bounds(case, n_repetitions, seed):
    """Return one row of the first table."""
    law, n_inputs, degree, ratio, noise = case
    rng = np.random.default_rng(seed)
    task = Task.make(law, n_inputs, degree, 1, rng)
    truth, n_terms = task.coefficients, len(task.coefficients)
    n_members = ratio * n_terms
    indices = task.indices(truth)
    held = dict.fromkeys(("chi2", "f", "markov", "index"), 0)
    slack = {name: [] for name in held}
    eigenvalues, errors = [], []
    for _ in range(n_repetitions):
        design = task.design(n_members, rng)
        gaussian = rng.normal(size=(n_members, 1))
        skewed = rng.exponential(size=(n_members, 1)) - 1.0
        shocks = np.sqrt(noise) * np.hstack([gaussian, skewed])
        fits = np.linalg.lstsq(design, design @ truth + shocks, rcond=None)[0]
        residuals = design @ (truth - fits) + shocks
        squared = np.square(fits - truth).sum(axis=0)
        eigenvalue = of_gram(design)
        estimated = np.square(residuals[:, 0]).sum() / (n_members - n_terms)
        for name, variance, error in (
            ("chi2", noise, squared[0]),
            ("f", estimated, squared[0]),
            ("markov", noise, squared[1]),
        ):
            bound = coefficient_error_bound(
                variance,
                n_members,
                n_terms,
                smallest_eigenvalue=eigenvalue,
                confidence_level=CONFIDENCE,
                method=name,
            )
            held[name] += error <= bound
            slack[name].append(np.sqrt(bound / error))
            if name == "f":
                found = fits[:, :1]
                off = np.abs(task.indices(found) - indices).max()
                limit = sobol_error_bound(bound, np.square(found[1:]).sum())
                held["index"] += off <= limit
                slack["index"].append(limit / off)
        eigenvalues.append(eigenvalue)
        errors.append(squared[0])
    scale = n_terms * noise / (n_members - n_terms)
    shares = [f"{held[name] / n_repetitions:.3f}" for name in held]
    ratios = [f"{np.median(slack[name]):.1f}" for name in held]
    return [
        law,
        f"{n_inputs}, {degree}",
        str(n_terms),
        str(n_members),
        f"{noise:g}",
        f"{np.median(eigenvalues):.3f}",
        *(f"{share} ({ratio})" for share, ratio in zip(shares, ratios, strict=True)),
        f"{np.mean(errors) / scale:.2f}",
    ]


def ridge_errors(task, n_members, noise, n_repetitions, rng, penalty=RIDGE):
    """Return the worst error of a first-order index and the squared error."""
    indices = task.indices(task.coefficients)[: task.n_inputs]
    n_terms, n_coordinates = task.coefficients.shape
    worst, squared = np.empty(n_repetitions), np.empty(n_repetitions)
    for repetition in range(n_repetitions):
        design = task.design(n_members, rng)
        y = design @ task.coefficients
        y += np.sqrt(noise) * rng.normal(size=(n_members, n_coordinates))
        gram = design.T @ design + penalty * np.eye(n_terms)
        fit = np.linalg.solve(gram, design.T @ y)
        worst[repetition] = np.abs(task.indices(fit)[: task.n_inputs] - indices).max()
        squared[repetition] = np.square(fit - task.coefficients).sum(axis=0).mean()
    return worst, squared


def our_size(task, noise, tolerance, rng):
    """Return the members of our bound, for all coordinates together."""
    n_terms, n_coordinates = task.coefficients.shape
    law, degree = task.law, task.features.degree
    X = law.rvs((n_terms + 2, task.n_inputs), random_state=rng)
    expansion = PolynomialChaosRegressor(degree, distribution=law, solver="ridge")
    expansion.fit(X, task.features.transform(X) @ task.coefficients[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        required = required_ensemble_size(
            expansion,
            tolerance=tolerance,
            confidence_level=1.0 - (1.0 - CONFIDENCE) / n_coordinates,
            method="chi2",
            noise_variance=noise,
            signal_variance=1.0,
        )
    return int(required.n_required[0])


def check_paper(case, n_repetitions, seed):
    """Return one row of the second table."""
    law, n_inputs, degree, actions, tolerance, noise = case
    rng = np.random.default_rng(seed)
    task = Task.make(law, n_inputs, degree, actions - 1, rng)
    n_terms = len(task.coefficients)
    setting = {
        "noise_variance": noise,
        "signal_variance": 1.0,
        "n_features": n_inputs,
        "n_actions": actions,
        "tolerance": tolerance,
        "confidence_level": CONFIDENCE,
    }
    printed = paper_ensemble_size(n_terms, **setting)
    markov = paper_ensemble_size(n_terms, variant="markov", **setting)
    ours = our_size(task, noise, tolerance, rng)
    worst, squared = ridge_errors(task, printed, noise, n_repetitions, rng)
    worst_of_ours, _ = ridge_errors(task, ours, noise, n_repetitions, rng, 0.0)
    claimed = n_terms * noise / (printed - n_terms)
    return [
        law,
        f"{n_inputs}, {degree}",
        str(actions),
        f"{tolerance:g}",
        f"{noise:g}",
        str(n_terms),
        str(printed),
        f"{np.mean(worst <= tolerance):.3f}",
        f"{np.mean(squared) / claimed:.3g}",
        str(ours),
        f"{np.mean(worst_of_ours <= tolerance):.3f}",
        str(markov),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repetitions", type=int, default=1000)
    arguments = parser.parse_args()
    n_repetitions, seed = arguments.repetitions, arguments.seed
    print(
        f"Share of {n_repetitions} repetitions in which a bound held (median of bound "
        "over error)\n"
    )
    columns = ["basis", "d, p", "P", "L", "σ²/D", "λ_min", "chi2", "f", "markov"]
    columns += ["indices", "mean ‖ĉ−c‖² over Pσ²/(L−P)"]
    rows = [check_bounds(case, n_repetitions, seed) for case in BOUND_CASES]
    print(table(columns, rows))
    print(
        "Share of repetitions in which all first-order indices are within ε (claimed: "
        "0.95)\n"
    )
    columns = ["basis", "d, p", "K", "ε", "σ²/D", "P", "Theorem A", "within ε"]
    columns += ["mean ‖ĉ−c‖² over Pσ²/(L−P)", "ours", "within ε", "Theorem A by Markov"]
    rows = [check_paper(case, n_repetitions, seed) for case in PAPER_CASES]
    print(table(columns, rows))


if __name__ == "__main__":
    main()
