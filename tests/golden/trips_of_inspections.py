"""What verdicts, inspections, metrics, sizes and decisions say."""

from __future__ import annotations

import warnings
from collections import namedtuple
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVR

from skpce import (
    CompositionalPCESurrogate,
    LogRatioTransformer,
    NatafTransformer,
    PolynomialChaosRegressor,
    inspection,
    metrics,
    sample_size,
)
from skpce.decision import ThompsonPolicy
from skpce.drivers import Answer
from skpce.embedding import PLSTransformer
from skpce.inspection import Result
from tests.golden.ensembles import (
    STEPS,
    behind_pca,
    policies,
    replicates,
    targets,
    wide_policies,
)

Results = dict[str, Any]


def verdicts() -> Results:
    """With PCA and without, with replicates, behind PLS, of other estimators."""
    X, y = policies()
    wide, _ = wide_policies()
    repeated, policy, reward = replicates()
    neighbours = KNeighborsRegressor()  # rounding decides between splits of trees
    direct = CompositionalPCESurrogate(
        2, steps=STEPS, solver="ridge", distribution="normal"
    )
    pls = make_pipeline(
        PLSTransformer(2, target_transformer=LogRatioTransformer(steps=STEPS)),
        CompositionalPCESurrogate(
            1, steps=STEPS, solver="ridge", distribution="normal"
        ),
    )
    pursuit = CompositionalPCESurrogate(
        1, steps=STEPS, solver="subspace_pursuit", distribution="normal"
    )
    verdict = inspection.verdict
    return {
        "direct": said_by(verdict(direct, X, y)),
        "behind pca": said_by(verdict(behind_pca(2), wide, y)),
        "replicates": said_by(verdict(direct, repeated, policy, replicate=reward)),
        "noise given": said_by(
            verdict(direct, X, y, noise_share=[0.1, 0.6, np.nan], cv=4)
        ),
        "behind pls": said_by(verdict(pls, wide, y)),
        "subspace pursuit": said_by(verdict(pursuit, X, y)),
        "neighbours": said_by(verdict(neighbours, X, y, steps=STEPS)),
    }


def said_by(found: Answer) -> Results:
    """Return the tables of a verdict; its words are made from them."""
    tables = {"outputs": found, "drivers": found.drivers, "pairs": found.pairs}
    return {
        name: {column: np.asarray(values) for column, values in table.columns.items()}
        for name, table in tables.items()
    } | {"attributable": found.attributable}


def noise_of_training() -> Results:
    """Shares of training noise, from replicates, a control, and exact policies."""
    _, policy, reward = replicates()
    _, other = policies(30)
    return {
        "replicates": inspection.variance_decomposition(policy, reward, steps=STEPS),
        "control": inspection.variance_decomposition(
            policy, control=other[:10], steps=STEPS
        ),
        "share of replicates": inspection.variance_decomposition(
            policy, replicate=reward, steps=STEPS
        ).noise_share,
        "share of exact": inspection.variance_decomposition(
            policy, exact=other, steps=STEPS
        ).noise_share,
        "share of control": inspection.variance_decomposition(
            policy, control=other[:10], steps=STEPS
        ).noise_share,
        "fragility": metrics.policy_fragility(policy, steps=STEPS),
    }


def inspections() -> Results:
    """Indices in the space of X, of dependent inputs, and of any estimator."""
    wide, y = wide_policies()
    X, values = targets()
    pipeline = behind_pca(2).fit(wide, y)
    linear = behind_pca(1).fit(wide, y)
    plain = make_pipeline(
        PCA(3), PolynomialChaosRegressor(2, solver="ridge", distribution="normal")
    ).fit(X, values)
    regressor = PolynomialChaosRegressor(2, solver="ridge", distribution="normal").fit(
        X, values
    )
    dependent = X @ np.array([[1.0, 0.7, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    on_dependent = PolynomialChaosRegressor(
        2, solver="ridge", distribution="normal"
    ).fit(dependent, values)
    model = SVR(C=10).fit(X, values[:, 0])
    seeded = {"random_state": 0}
    sampled = {"n_samples": 300, "random_state": 0}
    joint = {"n_samples": 2048, "random_state": 0}
    return {
        "input tests": inspection.input_tests(dependent),
        "original": inspection.original_space_indices(
            pipeline, wide, n_samples=4096, **seeded
        ),
        "original of degree one": inspection.original_space_indices(
            linear, wide, n_samples=4096, **seeded
        ),
        "original of a regressor": inspection.original_space_indices(
            plain, X, n_samples=4096, **seeded
        ),
        "back to reward": inspection.back_to_reward(pipeline, wide),
        "back to reward in groups": inspection.back_to_reward(
            linear, wide, groups={"a": [0, 1], "b": [2, 3, 4]}
        ),
        "dependent": inspection.dependent_sobol_indices(
            on_dependent, dependent, **joint
        ),
        "dependent in groups": inspection.dependent_sobol_indices(
            on_dependent,
            dependent,
            groups={"a": [0, 1], "b": [2]},
            n_resamples=5,
            **joint,
        ),
        "dependent under nataf": inspection.dependent_sobol_indices(
            pipeline[-1],
            pipeline[:-1].transform(wide),
            distribution=NatafTransformer().fit(pipeline[:-1].transform(wide)),
            **joint,
        ),
        "shapley": inspection.shapley_effects(regressor.predict, X, **sampled),
        "dependent shapley": inspection.shapley_effects(
            model, dependent, dependence="gaussian", **sampled
        ),
        "any estimator": inspection.sobol_indices(model, X, **sampled),
        "any pipeline": inspection.sobol_indices(pipeline, wide, **sampled),
    }


def embeddings_compared() -> Results:
    """Two embeddings, one of which looks at y, with and without replicates."""
    wide, y = wide_policies()
    candidates = {
        "PCA": PCA(random_state=0),
        "PLS": PLSTransformer(target_transformer=LogRatioTransformer(steps=STEPS)),
    }
    surrogate = CompositionalPCESurrogate(
        steps=STEPS, solver="ridge", distribution="normal"
    )
    choices: Results = {
        "dimensions": (1, 2),
        "degrees": (1,),
        "surrogate": surrogate,
        "cv": 3,
        "inner_cv": 3,
    }
    repeated, policy, _ = replicates()
    return {
        "members": inspection.compare_embeddings(candidates, wide, y, **choices),
        "replicates": inspection.compare_embeddings(
            candidates, repeated, policy, **choices
        ),
    }


def sizes() -> Results:
    """Bounds and required sizes of an ensemble."""
    X, y = policies()
    surrogate = CompositionalPCESurrogate(
        1, steps=STEPS, solver="ridge", distribution="normal"
    ).fit(X, y)
    inputs, values = targets()
    regressor = PolynomialChaosRegressor(1, solver="ridge", distribution="normal").fit(
        inputs, values
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return {
            "surrogate": sample_size.required_ensemble_size(surrogate),
            "regressor": sample_size.required_ensemble_size(regressor, tolerance=0.3),
            "chi2": sample_size.required_ensemble_size(regressor, method="chi2"),
        }


def _columns(found: Result, *left_out: str) -> Any:
    """Return columns and figures of a table by their names."""
    values = {**found.columns, **found.figures}
    values = {name: v for name, v in values.items() if name not in left_out}
    return namedtuple("Columns", values)(**values)


def metrics_of_predictions() -> Results:
    """Every metric, on predictions of members that were not fitted."""
    X, y = policies()
    fitted = CompositionalPCESurrogate(
        1, steps=STEPS, solver="ridge", distribution="normal"
    ).fit(X[:25], y[:25])
    truth, predicted = y[25:], fitted.predict(X[25:])
    interval = fitted.predict_interval(X[25:], n_samples=100, random_state=0)
    lower, upper = interval.lower, interval.upper
    draws = fitted.sample(50, X[25:], random_state=0)
    steps: Results = {"steps": STEPS}
    return {
        "crps": metrics.crps_score(truth, draws, **steps),
        "width": metrics.coverage_interval(truth, lower, upper, **steps).width,
        "coverage": _columns(metrics.coverage_interval(truth, lower, upper, **steps)),
        "joint coverage": _columns(
            metrics.coverage_interval(truth, lower, upper, kind="joint", **steps)
        ),
        "fragility": _columns(metrics.policy_fragility(y, **steps)),
        "total variation": metrics.total_variation_distance(truth, predicted, **steps),
        "scorer": metrics.aitchison_scorer(STEPS)(fitted, X[25:], truth),
        "kl scorer": metrics.neg_kl_divergence_scorer(fitted, X[25:], truth),
    }


def decisions() -> Results:
    """What a policy chooses, and what it believes after an observation."""
    X, y = policies()
    surrogate = CompositionalPCESurrogate(
        1, steps=STEPS, solver="ridge", distribution="normal"
    ).fit(X, y)
    found: Results = {}
    for rule in ("draw", "mean"):
        for method in ("weights", "kalman"):
            policy = ThompsonPolicy(
                surrogate, rule=rule, method=method, n_particles=100, random_state=0
            ).fit()
            name = f"{rule} {method}"
            found[f"{name} before"] = policy.choose()
            policy.update(0.7, outcome=lambda x: x[:, 0], noise_sd=0.2)
            found[f"{name} after"] = policy.choose()
            found[f"{name} belief"] = policy.belief_.to_frame()
            found[f"{name} size"] = policy.effective_sample_size_
    return found
