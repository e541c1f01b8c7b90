"""Ways to choose the next reaction, all from the same measured ones.

Every arm has ``choose`` and ``learn``. Ensembles of networks are trained anew at the
end of each batch; between, single measurements change the belief alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import logsumexp, softmax
from scipy.stats import norm
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import BayesianRidge

from benchmarks.studies.rewards import components_of
from gflownet_envs import train_yield_proxies
from gflownet_envs.rewards.gaussian_process import one_hot_levels
from gflownet_envs.rewards.proxy_training import ProxySpec
from skpce import CompositionalPCESurrogate
from skpce.decision import ThompsonPolicy, measure_next

TEMPERATURE = 4.0  # of the policies, percent


@dataclass
class Laboratory:
    """What can be measured, and what one arm of a repetition has measured.

    Attributes
    ----------
    levels : ndarray of shape (n_objects, n_components), int
        The whole table, in the order of the leaves.
    yields : ndarray of shape (n_objects,)
        NaN for reactions without a measurement: they cannot be chosen.
    measured : list of int
        In the order of the measurements.
    seed : int
    """

    levels: np.ndarray
    yields: np.ndarray
    measured: list[int]
    seed: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of levels of each component."""
        return tuple(int(size) for size in self.levels.max(axis=0) + 1)

    @property
    def is_free(self) -> np.ndarray:  # shape: (n_objects,), bool
        """Whether a reaction can be chosen."""
        free = np.isfinite(self.yields)
        free[self.measured] = False
        return free

    def measure(self, row: int) -> float:
        """Measure a reaction."""
        self.measured.append(row)
        return float(self.yields[row])

    def best_free(self, scores: np.ndarray) -> int:
        """Return the reaction of the largest score that can be chosen."""
        return int(np.argmax(np.where(self.is_free, scores, -np.inf)))

    @property
    def features(self) -> np.ndarray:  # shape: (n_objects, Σ sizes)
        """One-hot levels."""
        return one_hot_levels(self.levels, self.sizes)


class AtRandom:
    """Any reaction."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory
        self.rng = np.random.default_rng([laboratory.seed, 11])

    def choose(self) -> int:
        return self.laboratory.best_free(self.rng.random(len(self.laboratory.yields)))

    def learn(self, row: int, value: float) -> None:
        """Nothing."""

    def end_batch(self) -> None:
        """Nothing."""


class Refitted(AtRandom):
    """A model that is fitted anew before each choice."""

    def __init__(self, laboratory: Laboratory) -> None:
        super().__init__(laboratory)
        self.X = laboratory.features

    def choose(self) -> int:
        rows = self.laboratory.measured
        return self.laboratory.best_free(
            self.scores(self.X[rows], self.laboratory.yields[rows])
        )

    def scores(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        raise NotImplementedError


class Forest(Refitted):
    """Random forest: the largest mean, or the largest value of one tree."""

    def __init__(self, laboratory: Laboratory, draws: bool) -> None:
        super().__init__(laboratory)
        self.draws = draws

    def scores(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        state = int(self.rng.integers(2**31))
        if self.draws:  # trees are independent: one is enough
            forest = RandomForestRegressor(1, max_features=1 / 3, random_state=state)
        else:
            forest = RandomForestRegressor(50, max_features=1 / 3, random_state=state)
        predicted = forest.fit(X, y).predict(self.X)
        return predicted + 1e-6 * self.rng.random(len(predicted))


class Ridge(Refitted):
    """Bayesian ridge regression on one-hot levels: a draw of its coefficients."""

    def scores(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        model = BayesianRidge().fit(X, y)
        normal = partial(self.rng.multivariate_normal, model.coef_, model.sigma_)
        try:
            drawn = normal(method="cholesky")
        except np.linalg.LinAlgError:  # rounding has made it indefinite
            drawn = normal(method="eigh")
        return self.X @ drawn


class GaussianProcess(Refitted):
    """Expected improvement, kernel fitted again at the end of each batch."""

    def __init__(self, laboratory: Laboratory) -> None:
        super().__init__(laboratory)
        self.kernel = ConstantKernel() * RBF(2.0, (0.3, 30.0)) + WhiteKernel(0.1)
        self.end_batch()

    def end_batch(self) -> None:
        rows = self.laboratory.measured
        process = GaussianProcessRegressor(self.kernel, normalize_y=True)
        with warnings.catch_warnings():  # few rows take a parameter to its bound
            warnings.simplefilter("ignore", ConvergenceWarning)
            process.fit(self.X[rows], self.laboratory.yields[rows])
        self.kernel = process.kernel_

    def scores(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        process = GaussianProcessRegressor(
            self.kernel, normalize_y=True, optimizer=None
        )
        mean, deviation = process.fit(X, y).predict(self.X, return_std=True)
        z = (mean - y.max()) / deviation
        return deviation * (z * norm.cdf(z) + norm.pdf(z))


class Networks(AtRandom):
    """An ensemble of networks, each trained on its own part of the measured rows."""

    n_members, hidden, seen = 30, (32,), 0.75

    def __init__(self, laboratory: Laboratory) -> None:
        super().__init__(laboratory)
        self.end_batch()

    def end_batch(self) -> None:
        rows = np.array(self.laboratory.measured)
        proxies = train_yield_proxies(
            self.laboratory.levels[rows],
            self.laboratory.yields[rows],
            self.laboratory.levels,
            ProxySpec(train_fraction=self.seen, hidden=self.hidden),
            members=range(self.n_members),
            seed=self.laboratory.seed,
        )
        self.predictions = proxies.predictions.astype(np.float64)
        self.noise = float(np.sqrt(np.nanmean(proxies.mse_held_out)))
        self.prepare()

    def prepare(self) -> None:
        """Start from the members again."""
        self.log_weights = np.zeros(self.n_members)

    def choose(self) -> int:
        weights = softmax(self.log_weights)
        member = self.rng.choice(self.n_members, p=weights)
        return self.laboratory.best_free(self.predictions[member])

    def learn(self, row: int, value: float) -> None:
        error = (value - self.predictions[:, row]) / self.noise
        self.log_weights -= 0.5 * error**2


class Surrogate(Networks):
    """Draws of policies in all states, by components of the networks' predictions.

    A policy is expanded in every state, a step for each; a greedy draw walks to one
    reaction. Components predict all yields linearly, and a Kalman filter learns them.
    """

    n_components, n_tries = 6, 10

    def prepare(self) -> None:
        n_members = len(self.predictions)
        inputs = components_of(self.predictions, n_members, self.n_components)
        self.centre = self.predictions.mean(axis=0)
        deviations = self.predictions - self.centre
        self.slopes = np.linalg.lstsq(inputs, deviations, rcond=None)[0]
        self.left = (deviations - inputs @ self.slopes).var(axis=0)
        sizes = self.laboratory.sizes
        policies = policies_of_tree(self.predictions / TEMPERATURE, sizes)
        surrogate = CompositionalPCESurrogate(
            1, steps=node_widths(sizes), solver="ridge", distribution="normal"
        )
        self.surrogate = surrogate.fit(inputs, policies)
        self.policy = ThompsonPolicy(
            self.surrogate,
            greedy=True,
            method="kalman",
            random_state=int(self.rng.integers(2**31)),
        ).fit()

    def choose(self) -> int:
        free = self.laboratory.is_free
        for _ in range(self.n_tries):
            leaf = walk(self.policy.choose().actions, self.laboratory.sizes)
            if free[leaf]:
                return leaf
        return self.best_of_a_draw()

    def best_of_a_draw(self) -> int:
        """Return the best reaction of one draw of the predicted yields."""
        drawn = self.policy.belief_.sample(1, self.rng)
        return self.laboratory.best_free((self.centre + drawn @ self.slopes)[0])

    def learn(self, row: int, value: float) -> None:
        noise = np.sqrt(self.noise**2 + self.left[row])
        outcome = self.outcome_of(np.array([row]))
        self.policy.update(value, outcome=outcome, noise_sd=noise)

    def outcome_of(self, rows: np.ndarray):
        """Return the function from inputs to the yields of some reactions."""
        return lambda x: self.centre[rows] + x @ self.slopes[:, rows]


class Outcomes(Surrogate):
    """The best reaction of one draw of the yields, without a policy."""

    def choose(self) -> int:
        return self.best_of_a_draw()


class Measurer(Surrogate):
    """What to measure: by value, by variance, or by Sobol shares of the policies.

    All choose among the hundred reactions with the largest expected yield.
    """

    n_candidates = 100

    def __init__(self, laboratory: Laboratory, by: str) -> None:
        self.by = by
        super().__init__(laboratory)

    def choose(self) -> int:
        belief = self.policy.belief_
        expected = self.centre + (belief.weights @ belief.particles) @ self.slopes
        order = np.argsort(-np.where(self.laboratory.is_free, expected, -np.inf))
        rows = order[: min(self.n_candidates, self.laboratory.is_free.sum())]
        if self.by == "Sobol shares":
            variance = self.surrogate.step_total_variance_
            shares = variance @ self.surrogate.step_sobol_indices_ / variance.sum()
            return int(rows[np.argmax(shares @ np.square(self.slopes[:, rows]))])
        found = measure_next(
            belief,
            "variance" if self.by == "variance" else "linear_knowledge_gradient",
            outcome=self.outcome_of(rows),
            noise_sd=np.sqrt(self.noise**2 + self.left[rows]),
        )
        return int(rows[found.best])


def node_widths(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the number of actions in each state, level by level."""
    widths: list[int] = []
    n_states = 1
    for size in sizes:
        widths += [size] * n_states
        n_states *= size
    return tuple(widths)


def policies_of_tree(
    log_reward: np.ndarray,  # shape: (n_members, n_objects)
    sizes: Sequence[int],
) -> np.ndarray:  # shape: (n_members, sum of the widths)
    """Return the exact policy in every state: shares of the rewards below."""
    n_members, levels, n_nodes = len(log_reward), [], 1
    for size in sizes:
        n_nodes *= size
        flows = logsumexp(log_reward.reshape(n_members, n_nodes, -1), axis=2)
        policy = softmax(flows.reshape(n_members, -1, size), axis=2)
        levels.append(policy.reshape(n_members, -1))
    return np.hstack(levels)


def walk(actions: np.ndarray, sizes: Sequence[int]) -> int:
    """Return the object that is reached with one action given in every state."""
    first, node, n_states = 0, 0, 1
    for size in sizes:
        action = int(actions[first + node])
        first += n_states
        n_states *= size
        node = node * size + action
    return node
