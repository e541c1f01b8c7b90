"""Posteriors of Gaussian processes over candidates, and who is said to drive them.

A draw of the posterior is ``f = m + sum_j sqrt(l_j) xi_j v_j`` with independent
standard normal ``xi``. The policy ``softmax(f / t)`` has log-ratios that are linear in
``xi``, so that all their indices have a closed form: to a candidate r, mode j has the
share ``l_j (v_jk - v_jr)^2 / sum_i l_i (v_ik - v_ir)^2`` of candidate k.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from gflownet_envs.datasets import fetch_buchwald_hartwig
from gflownet_envs.rewards.gaussian_process import (
    gaussian_process_modes,
    one_hot_levels,
)
from skpce._input_laws.families import NormalLaw
from skpce.decision._value.envelope import value_of_input


@dataclass(frozen=True)
class Posterior:
    """Mean and covariance over the candidates, in prior standard deviations.

    Attributes
    ----------
    mean : ndarray of shape (n_candidates,)
    covariance : ndarray of shape (n_candidates, n_candidates)
    """

    mean: np.ndarray
    covariance: np.ndarray

    def modes(self) -> tuple[np.ndarray, np.ndarray]:  # (K,), (K, K)
        """Return falling variances, and the modes in rows."""
        values, vectors = np.linalg.eigh(self.covariance)
        return np.clip(values[::-1], 0.0, None), vectors[:, ::-1].T

    def draw(
        self, n_draws: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:  # (n, K), (n, K)
        """Draw inputs of all modes, and functions."""
        variances, modes = self.modes()
        xi = rng.normal(size=(n_draws, len(variances)))
        return xi, self.mean + (xi * np.sqrt(variances)) @ modes


def synthetic(
    seed: int, n_candidates: int = 25, n_observed: int = 6, width: float = 0.15
) -> Posterior:
    """Draw a function on the unit interval, and observe it at some places."""
    rng = np.random.default_rng(seed)
    x = np.linspace(0.0, 1.0, n_candidates)[:, np.newaxis]
    places = rng.random((n_observed, 1))
    kernel, noise = RBF(width), 0.01
    every = np.vstack([places, x])
    root = np.linalg.cholesky(kernel(every) + 1e-9 * np.eye(len(every)))
    values = root @ rng.normal(size=len(every))
    observed = values[:n_observed] + np.sqrt(noise) * rng.normal(size=n_observed)
    process = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None)
    mean, covariance = process.fit(places, observed).predict(x, return_cov=True)
    return Posterior(mean, covariance)


def of_reactions(
    seed: int, n_candidates: int = 15, n_observed: int = 30, data: tuple | None = None
) -> Posterior:
    """Take measured reactions, and candidates among the others.

    Yields are in standard deviations of those that are observed; ``data`` is levels and
    yields, the Buchwald–Hartwig reactions by default.
    """
    rng = np.random.default_rng(seed)
    levels, yields = reactions() if data is None else data
    sizes = levels.max(axis=0) + 1
    rows = rng.permutation(len(yields))[: n_observed + n_candidates]
    seen, candidates = rows[:n_observed], rows[n_observed:]
    with warnings.catch_warnings():  # few rows take a parameter to its bound
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = gaussian_process_modes(
            one_hot_levels(levels[seen], sizes),
            yields[seen],
            one_hot_levels(levels[candidates], sizes),
            n_modes=1,
            random_state=seed,
        )
    centre, scale = yields[seen].mean(), yields[seen].std()
    return Posterior((found.mean - centre) / scale, found.covariance / scale**2)


def reactions() -> tuple[np.ndarray, np.ndarray]:
    """Return levels and measured yields."""
    data = fetch_buchwald_hartwig()
    return data.data, data.target


def slopes_of(posterior: Posterior, n_modes: int) -> np.ndarray:
    """Return how each mode moves each candidate, (n_modes, K)."""
    variances, modes = (part[:n_modes] for part in posterior.modes())
    return np.sqrt(variances)[:, np.newaxis] * modes


def by_reference(slopes: np.ndarray) -> np.ndarray:  # shape: (K, n_modes)
    """Return the mean index of the log-ratios to each candidate in turn."""
    return np.array([mean_index(slopes - column[:, np.newaxis]) for column in slopes.T])


def rankings(posterior: Posterior, n_modes: int) -> dict[str, np.ndarray]:
    """Return the share of each mode by each way to count it without a reference.

    ``"clr"`` is the mean of the indices of the centred log-ratios, ``"Aitchison"`` the
    share of their total variance, and ``"worth"`` the value of knowing the mode before
    the best candidate is taken.
    """
    slopes = slopes_of(posterior, n_modes)
    centred = slopes - slopes.mean(axis=1, keepdims=True)
    gain = np.array([worth_of(posterior.mean, slope) for slope in slopes])
    every = np.square(slopes).sum(axis=1), np.square(centred).sum(axis=1), gain
    variance, total, worth = (of / (of.sum() or 1.0) for of in every)
    clr = mean_index(centred)
    return {"variance": variance, "clr": clr, "Aitchison": total, "worth": worth}


def worth_of(mean: np.ndarray, slope: np.ndarray) -> float:
    """Return what knowing one mode is worth: ``E max(m + s z) - max m``, exact."""
    return value_of_input(NormalLaw(0.0, 1.0), np.column_stack([mean, slope])).value


def mean_index(
    slopes: np.ndarray,  # shape: (n_modes, K)
) -> np.ndarray:  # shape: (n_modes,)
    """Average the indices of linear functions over those that vary."""
    squares = np.square(slopes)
    total = squares.sum(axis=0)
    varies = total > 1e-12 * total.max()
    return (squares[:, varies] / total[varies]).mean(axis=1)
