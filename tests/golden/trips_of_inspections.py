"""What verdicts, inspections, metrics, sizes and decisions say."""

from __future__ import annotations

import functools
import warnings
from collections import namedtuple
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVR

from skpce import (
    LogRatioTransformer,
    NatafTransformer,
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
    Results,
    behind_pca,
    policies,
    replicates,
    targets,
    wide_policies,
)
from tests.shared import ridge_pce, ridge_surrogate


def verdicts() -> Results:
    """With PCA and without, with replicates, behind PLS, of other estimators."""
    X, y = policies()
    wide, _ = wide_policies()
    repeated, policy, reward = replicates()
    neighbours = KNeighborsRegressor()  # rounding decides between splits of trees
    direct = ridge_surrogate(2, steps=STEPS)
    log_ratio = LogRatioTransformer(steps=STEPS)
    linear = ridge_surrogate(1, steps=STEPS)
    pls = make_pipeline(PLSTransformer(2, target_transformer=log_ratio), linear)
    pursuit = ridge_surrogate(1, steps=STEPS, solver="subspace_pursuit")
    shares = [0.1, 0.6, np.nan]
    verdict = inspection.verdict
    found = {
        "direct": verdict(direct, X, y),
        "behind pca": verdict(behind_pca(2), wide, y),
        "replicates": verdict(direct, repeated, policy, replicate=reward),
        "noise given": verdict(direct, X, y, noise_share=shares, cv=4),
        "behind pls": verdict(pls, wide, y),
        "subspace pursuit": verdict(pursuit, X, y),
        "neighbours": verdict(neighbours, X, y, steps=STEPS),
    }
    return {name: said_by(answer) for name, answer in found.items()}


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
    split = functools.partial(inspection.variance_decomposition, policy, steps=STEPS)
    return {
        "replicates": split(reward),
        "control": split(control=other[:10]),
        "share of replicates": split(replicate=reward).noise_share,
        "share of exact": split(exact=other).noise_share,
        "share of control": split(control=other[:10]).noise_share,
        "fragility": metrics.policy_fragility(policy, steps=STEPS),
    }


def inspections() -> Results:
    """Effects of columns behind an embedding, and indices of dependent inputs."""
    wide, y = wide_policies()
    X, values = targets()
    pipeline = behind_pca(2).fit(wide, y)
    linear = behind_pca(1).fit(wide, y)
    dependent = X @ np.array([[1.0, 0.7, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    on_dependent = ridge_pce(2).fit(dependent, values)
    joint = functools.partial(
        inspection.dependent_sobol_indices, n_samples=2048, random_state=0
    )
    scores = pipeline[:-1].transform(wide)
    nataf = NatafTransformer().fit(scores)
    halves = {"a": [0, 1], "b": [2]}
    return {
        "input tests": inspection.input_tests(dependent),
        "back to reward": inspection.back_to_reward(pipeline, wide),
        "back to reward in groups": inspection.back_to_reward(
            linear, wide, groups={"a": [0, 1], "b": [2, 3, 4]}
        ),
        "dependent": joint(on_dependent, dependent),
        "dependent in groups": joint(
            on_dependent, dependent, groups=halves, n_resamples=5
        ),
        "dependent under nataf": joint(pipeline[-1], scores, distribution=nataf),
    }


def models() -> Results:
    """Indices and Shapley effects of models that are no expansions."""
    wide, y = wide_policies()
    X, values = targets()
    model = SVR(C=10).fit(X, values[:, 0])
    how = {"n_samples": 300, "random_state": 0}
    pipeline = behind_pca(2).fit(wide, y)
    return {
        "shapley": inspection.shapley_effects(model, X, **how),
        "any estimator": inspection.sobol_indices(model, X, **how),
        "any pipeline": inspection.sobol_indices(pipeline, wide, **how),
    }


def embeddings_compared() -> Results:
    """Two embeddings, one of which looks at y, with and without replicates."""
    wide, y = wide_policies()
    candidates = {
        "PCA": PCA(random_state=0),
        "PLS": PLSTransformer(target_transformer=LogRatioTransformer(steps=STEPS)),
    }
    compare = functools.partial(
        inspection.compare_embeddings,
        candidates,
        dimensions=(1, 2),
        degrees=(1,),
        surrogate=ridge_surrogate(steps=STEPS),
        cv=3,
        inner_cv=3,
    )
    repeated, policy, _ = replicates()
    return {"members": compare(wide, y), "replicates": compare(repeated, policy)}


def sizes() -> Results:
    """Bounds and required sizes of an ensemble."""
    surrogate = ridge_surrogate(1, steps=STEPS).fit(*policies())
    regressor = ridge_pce(1).fit(*targets())
    required = sample_size.required_ensemble_size
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return {
            "surrogate": required(surrogate),
            "regressor": required(regressor, tolerance=0.3),
        }


def _columns(found: Result) -> Any:
    """Return columns and figures of a table by their names."""
    values = {**found.columns, **found.figures}
    return namedtuple("Columns", values)(**values)


def metrics_of_predictions() -> Results:
    """Every metric, on predictions of members that were not fitted."""
    X, y = policies()
    fitted = ridge_surrogate(1, steps=STEPS).fit(X[:25], y[:25])
    truth, predicted = y[25:], fitted.predict(X[25:])
    interval = fitted.predict_interval(X[25:], n_samples=100, random_state=0)
    draws = fitted.sample(50, X[25:], random_state=0)
    steps: Results = {"steps": STEPS}
    covered = functools.partial(
        metrics.coverage_interval, truth, interval.lower, interval.upper, **steps
    )
    return {
        "crps": metrics.crps_score(truth, draws, **steps),
        "width": covered().width,
        "coverage": _columns(covered()),
        "joint coverage": _columns(covered(kind="joint")),
        "fragility": _columns(metrics.policy_fragility(y, **steps)),
        "total variation": metrics.total_variation_distance(truth, predicted, **steps),
        "scorer": metrics.aitchison_scorer(STEPS)(fitted, X[25:], truth),
        "kl scorer": metrics.neg_kl_divergence_scorer(fitted, X[25:], truth),
    }


def decisions() -> Results:
    """What a policy chooses, and what it believes after an observation."""
    surrogate = ridge_surrogate(1, steps=STEPS).fit(*policies())
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
