"""Small ensembles whose fits are recorded, and one estimator of each kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from skpce import (
    LogRatioTransformer,
    NatafTransformer,
    PolynomialChaosFeatures,
    PolynomialChaosRegressor,
)
from skpce.decision import ThompsonPolicy
from skpce.embedding import BetaVAE, NormalizingFlow, PLSTransformer
from tests.shared import ridge_pce, ridge_surrogate

Results = dict[str, Any]

WIDTHS = (3, 2, 4)
STEPS = {"first": 3, "second": 2, "third": 4}
SHORT = {"max_epochs": 3, "random_state": 0}


SHOWN = np.array([[0.0, 0.0, 0.0], [1.0, -0.5, 0.3], [-0.7, 1.2, 0.4]])
"""Inputs at which predictions are recorded."""


def targets(n_samples: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Three inputs, two targets of degree two with an interaction and noise."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n_samples, 3))
    first = 1 + X[:, 0] + 0.5 * X[:, 0] * X[:, 1] + 0.2 * X[:, 2] ** 2
    second = X[:, 1] - X[:, 2] + 0.3 * X[:, 1] ** 2
    y = np.column_stack([first, second])
    return X, y + 0.1 * rng.normal(size=y.shape)


def policies(
    n_members: int = 40, n_inputs: int = 3, noise: float = 0.3
) -> tuple[np.ndarray, np.ndarray]:
    """Compositions of three steps whose log-ratios are quadratic in the inputs."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(n_members, n_inputs))
    blocks = []
    for width in WIDTHS:
        linear = rng.normal(size=(n_inputs, width))
        square = 0.3 * rng.normal(size=(n_inputs, width))
        logits = X @ linear + (X**2 - 1) @ square
        logits += noise * rng.normal(size=(n_members, width))
        blocks.append(softmax(logits, axis=1))
    return X, np.hstack(blocks)


def policies_with_zeros() -> tuple[np.ndarray, np.ndarray]:
    """The same with one action that is never possible and one that is rarely zero."""
    X, y = policies()
    y[:, 6] = 0.0
    y[:3, 0] = 0.0
    for columns in (slice(0, 3), slice(5, 9)):
        y[:, columns] /= y[:, columns].sum(axis=1, keepdims=True)
    return X, y


def replicates(
    n_rewards: int = 15, n_replicates: int = 2
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Members of one reward with equal inputs and policies that differ by training."""
    X, y = policies(n_rewards, noise=0.0)
    rng = np.random.default_rng(3)
    reward = np.repeat(np.arange(n_rewards), n_replicates)
    log_policy = np.log(y[reward]) + 0.2 * rng.normal(size=(len(reward), y.shape[1]))
    ends = np.cumsum(WIDTHS)[:-1]
    blocks = [softmax(block, axis=1) for block in np.split(log_policy, ends, axis=1)]
    return X[reward], np.hstack(blocks), reward


def wide_policies() -> tuple[np.ndarray, np.ndarray]:
    """Five mixed columns of X behind the three inputs of the policies."""
    X, y = policies()
    mixing = np.random.default_rng(5).normal(size=(3, 5))
    return X @ mixing, y


def behind_pca(degree: int = 1) -> Any:
    """The usual pipeline: whitened components, then a surrogate."""
    surrogate = ridge_surrogate(degree, steps=STEPS, random_state=0)
    return make_pipeline(PCA(3, whiten=True, random_state=0), surrogate)


def _fit_on_targets(estimator: Any) -> Any:
    return estimator.fit(*targets())


def _fit_thompson() -> Any:
    surrogate = ridge_surrogate(1, steps=STEPS).fit(*policies())
    return ThompsonPolicy(surrogate, random_state=0).fit()


def _fit_policy_relevant() -> Any:
    from gflownet_envs import GridEnvironment
    from gflownet_envs.policy_relevant_features import PolicyRelevantFeatures

    environment = GridEnvironment(size=3, max_moves=3)
    rng = np.random.default_rng(0)
    log_reward = rng.normal(size=(8, environment.n_objects))
    return PolicyRelevantFeatures(environment).fit(log_reward)


_ON_TARGETS = {
    "PolynomialChaosFeatures": PolynomialChaosFeatures(distribution="normal"),
    "PolynomialChaosRegressor": ridge_pce(),
    "PolynomialChaosRegressor of sums": ridge_pce(criterion="gcv"),
    "PolynomialChaosRegressor that learns its terms": PolynomialChaosRegressor(),
    "PLSTransformer": PLSTransformer(2),
}
FITTED: dict[str, Callable[[], Any]] = {
    **{name: partial(_fit_on_targets, kind) for name, kind in _ON_TARGETS.items()},
    "marginal of PolynomialChaosRegressor": lambda: _fit_on_targets(
        ridge_pce()
    ).marginal([0, 1]),
    "CompositionalPCESurrogate": lambda: ridge_surrogate(steps=WIDTHS).fit(*policies()),
    "LogRatioTransformer": lambda: LogRatioTransformer(steps=WIDTHS).fit(policies()[1]),
    "NatafTransformer": lambda: NatafTransformer().fit(targets()[0]),
    "BetaVAE": lambda: BetaVAE(2, **SHORT).fit(targets()[0]),
    "NormalizingFlow": lambda: NormalizingFlow(2, **SHORT).fit(targets()[0]),
    "ThompsonPolicy": _fit_thompson,
    "PolicyRelevantFeatures": _fit_policy_relevant,
}
"""How each estimator is fitted to see which attributes it learns."""

NEEDS = {"BetaVAE": ["torch"], "NormalizingFlow": ["torch", "zuko"]}
"""Optional libraries without which an estimator of :data:`FITTED` does not fit."""
