"""Errors of what the surrogate says of the known ensemble, as arrays by name."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert
from scipy.special import logit
from scipy.stats import norm, qmc

from skpce import CompositionalPCESurrogate
from skpce._expansion.moments import main_effects, marginal_basis
from skpce.inspection import variance_decomposition
from skpce.metrics import policy_fragility
from skpce.plotting._effects import _probability_effects

from .known_softmax import (
    BY_STEP,
    EXPONENTS,
    PAIRS,
    STEP_OF_PART,
    WIDTHS,
    KnownSoftmax,
    blockwise,
    hermite_design,
    shares,
)

FloatArray = NDArray[np.float64]
Errors = dict[str, FloatArray]

LEVELS = (0.5, 0.8, 0.9, 0.95)
REPLICATES = 4
RESIDUAL_LAWS = {"resampled": LEVELS, "gaussian": (0.9,)}
FITS = {
    "plain": {"solver": "ols", "distribution": norm(0, 1)},
    "default": {"solver": "ridge", "distribution": "normal"},
}
POINTS = np.linspace(-2.0, 2.0, 5)
TEST_INPUTS = norm.ppf(qmc.Halton(3, rng=np.random.default_rng(5)).random(20))


def fitted(kind: str, X: FloatArray, y: FloatArray) -> CompositionalPCESurrogate:
    """Fit one of the two surrogates of degree 2."""
    surrogate = CompositionalPCESurrogate(2, steps=WIDTHS, random_state=0, **FITS[kind])
    return surrogate.fit(X, y)


def index_errors(truth: KnownSoftmax, surrogate: CompositionalPCESurrogate) -> Errors:
    """Compare the indices that have a closed form."""
    errors = {}
    levels = {"step": {}, "trajectory": {}}
    levels |= {kind: {"coordinates": kind} for kind in ("alr", "clr", "ilr")}
    for name, options in levels.items():
        level = "coordinate" if options else name
        squares = truth.squares(name)
        first, total, shapley = shares(squares)
        variance = squares.sum(axis=1) - squares[:, 0]
        found = surrogate.sobol_indices(level, **options)
        pairs = [(found.first_order, first), (found.total_order, total)]
        errors[f"indices, {name}"] = np.array([a - b for a, b in pairs])
        errors[f"variance, {name} (relative)"] = found.total_variance / variance - 1
        effects = surrogate.shapley_effects(level, **options)
        errors[f"Shapley effects, {name}"] = effects - shapley
    return errors


def effect_errors(truth: KnownSoftmax, surrogate: CompositionalPCESurrogate) -> Errors:
    """Compare main effects and conditional expectations of ilr coordinates."""
    coefficients = blockwise({k: helmert(k) for k in WIDTHS}) @ truth.coefficients
    X = np.repeat(POINTS[:, np.newaxis], 3, axis=1)
    effects = main_effects(surrogate.basis_, surrogate.coefficients_, X)
    zero = np.zeros((1, 3))
    true = np.empty_like(effects)
    for i in range(3):
        alone = ~np.delete(EXPONENTS, i, axis=1).any(axis=1) & EXPONENTS.any(axis=1)
        at = zero.repeat(len(X), 0)
        at[:, i] = POINTS
        true[:, i] = hermite_design(at)[:, alone] @ coefficients[:, alone].T
    given = []
    for pair in PAIRS:
        inside = ~np.delete(EXPONENTS, pair, axis=1).any(axis=1)
        expected = hermite_design(TEST_INPUTS)[:, inside] @ coefficients[:, inside].T
        basis, rows = marginal_basis(surrogate.basis_, list(pair))
        coefficients_given = surrogate.coefficients_[:, rows]
        found = basis.combine(TEST_INPUTS[:, list(pair)], coefficients_given)
        given.append(found - expected)
    predicted = surrogate.predict(TEST_INPUTS) - truth.policy(TEST_INPUTS)
    return {
        "main effects, log-ratio": effects - true,
        "conditional expectations, log-ratio": np.array(given),
        "predicted policies": predicted,
    }


def probability_errors(
    truth: KnownSoftmax, surrogate: CompositionalPCESurrogate, n_draws: int
) -> Errors:
    """Compare what is integrated through the softmax."""
    found = surrogate.probability_sobol_indices(n_draws)
    first, total, whole = truth.probability_indices
    by_part = [first / whole[:, np.newaxis], total / whole[:, np.newaxis]]
    step = (BY_STEP @ whole)[:, np.newaxis]
    by_step = [BY_STEP @ first / step, BY_STEP @ total / step]
    draws = surrogate.basis_.sample(n_draws, np.random.default_rng(0))
    curves = _probability_effects(surrogate._fitted, [POINTS] * 3, range(3), draws)
    return {
        "indices, probability": np.array([found.first_order, found.total_order])
        - by_part,
        "indices, probabilities of a step": np.array(
            [found.step_first_order, found.step_total_order]
        )
        - by_step,
        "variance, probability (relative)": found.variance / whole - 1,
        "main effects, probability": np.array(curves)
        - truth.probability_main_effects(POINTS),
    }


def ensemble_errors(truth: KnownSoftmax, n: int, seed: int) -> Errors:
    """Compare measures of members, which need no fit."""
    X, y = truth.draw(n, seed)
    found = policy_fragility(y, steps=WIDTHS)
    errors = {
        f"fragility, {name.replace('_', ' ')} (relative)": getattr(found, name) / true
        - 1
        for name, true in truth.fragility.items()
    }
    shares_of_noise = truth.noise_shares
    exact = truth.policy(X)
    errors["noise share, from exact policies"] = (
        variance_decomposition(y, exact=exact, steps=WIDTHS).noise_share
        - shares_of_noise["aitchison_variance"]
    )
    reward = np.arange(n) // REPLICATES
    generator = np.random.default_rng([seed, n, 1])
    X = X[: len(np.unique(reward))][reward]
    twins = truth.policy(X, generator.normal(size=y.shape))
    split = variance_decomposition(twins, reward, steps=WIDTHS)
    for name, true in shares_of_noise.items():
        errors[f"noise share, from replicates, {name.replace('_', ' ')}"] = (
            getattr(split, name).noise_share - true
        )
    return errors


class TrueIntervals:
    """Quantiles and probabilities of the law of new members at the test inputs."""

    def __init__(self, truth: KnownSoftmax, log2_draws: int = 15) -> None:
        sobol = qmc.Sobol(len(STEP_OF_PART), rng=np.random.default_rng(7))
        residual = norm.ppf(sobol.random_base2(log2_draws))[:, np.newaxis]
        given = np.sort(truth.policy(TEST_INPUTS, residual), axis=0)
        sobol = qmc.Sobol(3 + len(STEP_OF_PART), rng=np.random.default_rng(8))
        normal = norm.ppf(sobol.random_base2(log2_draws + 2))
        unknown = truth.policy(normal[:, :3], normal[:, 3:])[:, np.newaxis]
        self.laws = {
            "given the inputs": (TEST_INPUTS, given),
            "inputs unknown": (None, np.sort(unknown, axis=0)),
        }
        self.bounds = {
            (name, level): logit(
                np.quantile(law, [(1 - level) / 2, (1 + level) / 2], axis=0)
            )
            for name, (_, law) in self.laws.items()
            for level in LEVELS
        }

    def compare(
        self, surrogate: CompositionalPCESurrogate, residual: str, n_draws: int
    ) -> tuple[Errors, dict[str, FloatArray]]:
        """Return errors of the logits of the bounds, and probabilities inside."""
        errors, inside = {}, {}
        for name, (X, law) in self.laws.items():
            misses, covered = [], []
            for level in RESIDUAL_LAWS[residual]:
                found = surrogate.predict_interval(
                    X, confidence_level=level, residual=residual, n_samples=n_draws
                )
                misses.append(logit(np.array(found)) - self.bounds[name, level])
                covered.append(_probability_between(law, *found))
            errors[f"bounds, {name}, {residual}"] = np.array(misses)
            inside[f"{name}, {residual}"] = np.array(covered)
        return errors, inside


def _probability_between(
    law: FloatArray,  # shape: (n_draws, n_members, n_parts), sorted
    lower: FloatArray,
    upper: FloatArray,
) -> float:
    """Return the mean probability of an interval."""
    total = 0.0
    for row, part in np.ndindex(*lower.shape):
        column = law[:, row, part]
        ends = [lower[row, part], upper[row, part]]
        low, high = np.searchsorted(column, ends)
        total += (high - low) / len(column)
    return total / lower.size
