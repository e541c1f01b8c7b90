"""What the regressor, the surrogate and the maps of inputs learn and say."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm, uniform
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor

from skpce import (
    CompositionalPCESurrogate,
    LogRatioTransformer,
    NatafTransformer,
    PolynomialChaosRegressor,
)
from tests.golden.ensembles import (
    SHOWN,
    STEPS,
    WIDTHS,
    Results,
    policies,
    policies_with_zeros,
    targets,
)
from tests.shared import ridge_pce, ridge_surrogate

SOLVERS = ("ridge", "ols", "lars", "subspace_pursuit", "paper")


def frequencies(n_samples: int) -> np.ndarray:
    """Weights 0, 1 and 2 in turn."""
    return np.arange(n_samples) % 3.0


def unit_interval(X: np.ndarray) -> np.ndarray:
    """The inputs, each from 0 to 1."""
    return (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))


# The regressor.


def solvers_of_the_regressor() -> Results:
    """Each solver, and a regressor in place of one: all that a fit learns."""
    X, y = targets()
    found: Results = {}
    for name in SOLVERS:
        found[name] = ridge_pce(2, solver=name).fit(X, y)
        found[f"{name} predicts"] = found[name].predict(SHOWN)
    linear = LinearRegression()
    found["linear"] = ridge_pce(2, regressor=linear, solver=None).fit(X, y)
    return found


def kinds_of_regressor() -> Results:
    """Laws, truncations, weights, sums, and choices by cross-validation."""
    X, y = targets()
    unit = unit_interval(X)
    levels = np.column_stack([np.arange(40) % 3, X[:, 1:]])
    laws = ["categorical", "normal", "normal"]
    sums = {"distribution": norm(0, 1), "criterion": "gcv"}
    found: Results = {
        "uniform": ridge_pce(3, distribution="uniform").fit(X, y),
        "empirical": ridge_pce(distribution="empirical").fit(X, y),
        "beta": ridge_pce(distribution="beta").fit(X, y),
        "frozen": ridge_pce(distribution=norm(0, 1)).fit(X, y),
        "hyperbolic": ridge_pce(4, truncation="hyperbolic", q=0.6).fit(X, y),
        "order one": ridge_pce(3, interaction_order=1).fit(X, y),
        "sums": ridge_pce(**sums).fit(X, y),
        "gamma": ridge_pce(distribution="gamma").fit(unit, y),
        "exponential": ridge_pce(distribution="exponential").fit(unit, y),
        "bounded": ridge_pce(distribution=uniform(0, 1)).fit(unit, y),
        "categorical": ridge_pce(distribution=laws).fit(levels, y),
        "weighted": ridge_pce(2).fit(X, y, frequencies(len(X))),
        "one target": ridge_pce(2).fit(X, y[:, 0]),
        "partial fits": ridge_pce(2, **sums),
    }
    found["weighted score"] = found["weighted"].score(X, y)
    for rows in np.array_split(np.arange(len(X)), 3):
        found["partial fits"].partial_fit(X[rows], y[rows])
    return found


def what_an_expansion_says() -> Results:
    """Every method of a fitted regressor."""
    X, y = targets()
    fitted = ridge_pce(2).fit(X, y)
    marginal = fitted.marginal([0, 2])
    return {
        "std": fitted.predict(SHOWN, return_std=True),
        "design": fitted.transform(SHOWN),
        "names": fitted.get_feature_names_out(),
        "sobol": fitted.sobol_index([0, 1]),
        "closed": fitted.closed_sobol_index(["x0", "x1"]),
        "total": fitted.total_sobol_index([1, 2]),
        "interactions": fitted.interaction_indices(3),
        "shapley": fitted.shapley_effects(),
        "aggregated": fitted.aggregated_sobol_indices(),
        "weighted": fitted.aggregated_sobol_indices([1.0, 3.0]),
        "frame": fitted.sobol_frame(order=2),
        "columns with intervals": list(fitted.sobol_frame(ci=0.9)),  # no seed
        "moments": ridge_pce(2, distribution=norm(0, 1)).fit(X, y).moments(),
        "gradient": fitted.gradient(SHOWN),
        "main effects": fitted.main_effects(SHOWN),
        "conditional": fitted.conditional_expectation(SHOWN, [0, 1]),
        "marginal predicts": marginal(SHOWN[:, [0, 2]]),
        "marginal first": marginal.sobol_indices().first_order,
        "marginal total": marginal.sobol_indices().total_order,
        "marginal coefficients": marginal.coefficients,
    }


def intervals_of_the_regressor() -> Results:
    """Both methods, for laws that are learned again in each resample and frozen."""
    X, y = targets()
    kinds: Results = {}
    for solver in ("ridge", "ols", "subspace_pursuit"):
        kinds[f"{solver} learned"] = ridge_pce(2, solver=solver)
        kinds[f"{solver} frozen"] = ridge_pce(2, solver=solver, distribution=norm(0, 1))
    for law in ("uniform", "empirical", "beta"):
        kinds[law] = ridge_pce(2, distribution=law)
    return {
        f"{name} {method}": kind.fit(X, y).sobol_interval(
            method=method, n_resamples=30, random_state=0
        )
        for name, kind in kinds.items()
        for method in ("residual", "bootstrap")
    }


# The surrogate.


def kinds_of_surrogate() -> Results:
    """Log-ratios, solvers, regressors, masks and weights: all that a fit learns."""
    X, y = policies()
    to_the_first = LogRatioTransformer("alr", reference=0)
    linear, neighbours = Ridge(), KNeighborsRegressor()
    surrogates = {
        "ilr": ridge_surrogate(2, steps=STEPS),
        "alr": ridge_surrogate(2, steps=STEPS, log_ratio="alr"),
        "alr to the first": ridge_surrogate(2, steps=STEPS, log_ratio=to_the_first),
        "clr": ridge_surrogate(2, steps=STEPS, log_ratio="clr"),
        "linear": ridge_surrogate(2, steps=STEPS, regressor=linear, solver=None),
        "neighbours": ridge_surrogate(
            1, steps=STEPS, regressor=neighbours, solver=None, random_state=0
        ),
        "uniform": ridge_surrogate(2, steps=STEPS, distribution="uniform"),
    }
    for solver in ("subspace_pursuit", "paper", "ols"):
        surrogates[solver] = ridge_surrogate(2, steps=STEPS, solver=solver)
    found: Results = {}
    for name, surrogate in surrogates.items():
        found[name] = surrogate.fit(X, y)
        found[f"{name} predicts"] = surrogate.predict(SHOWN)
        found[f"{name} scores"] = surrogate.score(X, y)
    weighted = ridge_surrogate(2, steps=STEPS)
    found["weighted"] = weighted.fit(X, y, frequencies(len(X)))
    inferred = ridge_surrogate(2, steps=WIDTHS)
    found["inferred mask"] = inferred.fit(*policies_with_zeros())
    mask = np.array([True] * 6 + [False] + [True] * 2)
    replacing = LogRatioTransformer(zero_replacement=1e-6)
    given = ridge_surrogate(2, steps=WIDTHS, mask=mask, log_ratio=replacing)
    found["given mask"] = given.fit(*policies_with_zeros())
    found["given mask predicts"] = given.predict(SHOWN)
    found["one step"] = ridge_surrogate(1).fit(X, y[:, :3])
    return found


def what_a_surrogate_says() -> Results:
    """Indices at every level, frames, and what it says of probabilities."""
    X, y = policies()
    fitted = ridge_surrogate(2, steps=STEPS, random_state=0).fit(X, y)
    found: Results = {
        "transformed": fitted.transform(SHOWN),
        "back": fitted.inverse_transform(fitted.transform(SHOWN)),
        "names": fitted.get_feature_names_out(),
        "predicted frame": fitted.predict_frame(SHOWN),
        "probabilities": fitted.probability_sobol_indices(256, random_state=0),
        "frame with intervals": fitted.sobol_frame(ci=0.9),
    }
    for level in ("coordinate", "step", "trajectory"):
        found[f"{level} indices"] = fitted.sobol_indices(level)
        found[f"{level} shapley"] = fitted.shapley_effects(level)
        found[f"{level} frame"] = fitted.sobol_frame(level)
        found[f"{level} interval"] = fitted.sobol_interval(
            level, n_resamples=20, random_state=0
        )
    alr = {"coordinates": "alr", "reference": 0}
    found["alr indices"] = fitted.sobol_indices("coordinate", **alr)
    found["alr shapley"] = fitted.shapley_effects("coordinate", **alr)
    found["alr frame"] = fitted.sobol_frame("coordinate", **alr)
    return found


def draws_of_the_surrogate() -> Results:
    """Samples and intervals, marginal and joint, given X and ignoring it."""
    X, y = policies()
    found: Results = {}
    for solver in ("ridge", "ols"):
        fitted = ridge_surrogate(2, steps=STEPS, solver=solver).fit(X, y)
        found[f"{solver} sample"] = fitted.sample(3, SHOWN, random_state=0)
        found[f"{solver} sample of inputs"] = fitted.sample(4, random_state=0)
        found[f"{solver} gaussian sample"] = fitted.sample(
            3, SHOWN, residual="gaussian", random_state=0
        )
        for joint in (None, "step", "trajectory"):
            for name, at in {"given": SHOWN, "ignoring": None}.items():
                interval = fitted.predict_interval(
                    at, joint=joint, n_samples=200, random_state=0
                )
                found[f"{solver} interval {joint} {name} the inputs"] = interval
    return found


def maps_of_inputs() -> Results:
    """Log-ratios, and maps of dependent inputs to independent ones."""
    X, _ = targets()
    dependent = X @ np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 1.0]])
    symmetric = NatafTransformer("normal", root="symmetric")
    found: Results = {"nataf": NatafTransformer(), "symmetric": symmetric}
    for name, transformer in list(found.items()):
        scores = transformer.fit(dependent).transform(dependent[:5])
        found[f"{name} scores"] = scores
        found[f"{name} back"] = transformer.inverse_transform(scores)
        found[f"{name} sample"] = transformer.sample(3, random_state=0)
    _, y = policies()
    for kind in ("ilr", "alr", "clr"):
        log_ratio = LogRatioTransformer(kind, steps=STEPS).fit(y)
        found[kind] = log_ratio.transform(y[:5])
        found[f"{kind} names"] = log_ratio.get_feature_names_out()
    return found


# Fits that learn their terms: what they say, not which terms are left.


def _said(fitted: Any, at: Any) -> Results:
    """What any expansion says, with listed terms or without."""
    return {
        "predicts": fitted.predict(at),
        "std": fitted.predict(at, return_std=True)[1],
        "first": fitted.sobol_indices_,
        "total": fitted.total_sobol_indices_,
        "shapley": fitted.shapley_effects(),
        "variance": fitted.total_variance_,
        "importances": fitted.feature_importances_,
        "alpha": fitted.alpha_,
        "q2": fitted.q2_,
        "error": fitted.loo_error_,
        "unexplained": fitted.unexplained_share_,
        "solver": fitted.solver_,
        "distributions": [type(law).__name__ for law in fitted.basis_.laws],
        "columns of the table": list(fitted.sobol_frame()),
        "interval": fitted.sobol_interval(n_resamples=30, random_state=0),
    }


def learned_regressors() -> Results:
    """One output and several, with NaN and weights, and terms cut at a degree."""
    X, y = targets()
    weights = frequencies(len(X))
    lacking = y.copy()
    lacking[4::9, 0] = np.nan
    rng = np.random.default_rng(9)
    noise = rng.normal(size=len(X))
    slices = (np.column_stack([y[:, 0], noise]) > 0).astype(float)
    unit = unit_interval(X)
    mixed = np.column_stack([X[:, 0] > 0, np.arange(40) % 3, np.exp(X[:, 2])])
    fits = {
        "one": PolynomialChaosRegressor().fit(X, y[:, 0]),
        "one with gaps": PolynomialChaosRegressor().fit(X, lacking[:, 0], weights),
        "several": PolynomialChaosRegressor().fit(X, y),
        "several with gaps": PolynomialChaosRegressor().fit(X, lacking, weights),
        "degree two": PolynomialChaosRegressor(2).fit(X, y),
        "pairs": PolynomialChaosRegressor(interaction_order=2).fit(X, y),
        "noise": PolynomialChaosRegressor().fit(X, noise),
        "binary": PolynomialChaosRegressor().fit(X, slices),
        "bounded": PolynomialChaosRegressor().fit(unit, y),
        "given": PolynomialChaosRegressor(distribution=norm(0, 1)).fit(X, y),
        "levels": PolynomialChaosRegressor().fit(mixed, y[:, 0]),
    }
    shown = {"bounded": unit[:3], "levels": mixed[:3]}
    return {
        f"{name} {what}": said
        for name, fit in fits.items()
        for what, said in _said(fit, shown.get(name, SHOWN)).items()
    }


def learned_surrogates() -> Results:
    """Policies of three steps, of one, and with parts that are never chosen."""
    X, y = policies()
    by_step = CompositionalPCESurrogate(steps=STEPS)
    surrogates = {
        "three steps": clone(by_step).fit(X, y),
        "one step": CompositionalPCESurrogate().fit(X, y[:, :3]),
        "zeros": CompositionalPCESurrogate(steps=WIDTHS).fit(*policies_with_zeros()),
        "weighted": clone(by_step).fit(X, y, frequencies(len(X))),
    }
    found: Results = {}
    for name, fitted in surrogates.items():
        found[f"{name} first"] = fitted.step_sobol_indices_
        found[f"{name} total"] = fitted.step_total_sobol_indices_
        found[f"{name} variance"] = fitted.step_total_variance_
        found[f"{name} alpha"] = fitted.alpha_
        found[f"{name} fidelity"] = fitted.fidelity_
        found[f"{name} unexplained"] = fitted.step_unexplained_share_
        found[f"{name} predicts"] = fitted.predict(SHOWN)
        found[f"{name} interval"] = fitted.predict_interval(
            SHOWN, n_samples=200, random_state=0
        )
    return found


def kernels_of_many_inputs() -> Results:
    """More terms than are listed: 150 rows of 300 inputs."""
    rng = np.random.default_rng(13)
    X = rng.normal(size=(150, 300))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 + X[:, 4:30].sum(axis=1) / 4
    y += 0.1 * rng.normal(size=150)
    fitted = PolynomialChaosRegressor().fit(X, y)
    said = _said(fitted, X[:5])
    expansion = fitted.expansion_
    return said | {
        "number of terms": expansion.basis.n_terms,
        "closed": fitted.closed_sobol_index([0, 1, 2]),
        "of a pair": fitted.sobol_index([1, 2]),
        "total of a pair": fitted.total_sobol_index([1, 2]),
        "marginal": expansion.marginal([0, 1, 2])(X[:5, :3]),
    }
